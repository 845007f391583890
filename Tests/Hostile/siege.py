"""Random combinations of attacks for as long as asked: what `tools/attack` runs."""

import random
import secrets
import threading
import time

import attacks
from daemons import Failed, Mesh
from peer.link import Ended
from peer.member import Refused
from scene import SLOWER, Calm, Pace, Scene, Slower

# Rounds after which the daemons restart, and after which they are made anew: what one share may keep of hostile accounts
# is bounded by quotas, and a mesh whose quotas are full shows less.
RESTART, RENEW = 4, 12


class Round:
    def __init__(self, seed, arguments):
        self.seed = seed
        names = arguments.only or [name for name, attack in attacks.ATTACKS.items()
                                   if arguments.known or not attack.expected_failure]
        chance = random.Random(seed)
        count = chance.randint(1, max(1, min(arguments.at_once, len(names))))
        self.attacks = [attacks.ATTACKS[name] for name in chance.sample(sorted(names), count)]
        alone = [attack for attack in self.attacks if attack.alone]
        if alone:
            self.attacks = alone[:1]

    def run(self, scene):
        """Runs the attacks side by side. Returns what kept one of them from going on, by name."""
        notes, failures = {}, []

        def one(attack):
            try:
                attack.run(scene)
            except (Refused, Ended, TimeoutError, OSError) as error:
                # The nodes may refuse and end whatever hostile members say: what counts is checked afterwards.
                notes[attack.name] = str(error)
            except Exception as error:
                failures.append((attack.name, error))

        threads = [threading.Thread(target=one, args=(attack,), daemon=True) for attack in self.attacks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            name, error = failures[0]
            raise Failed(f"{name}: {error!r}") from error
        return notes

    def command(self, arguments):
        text = f"tools/attack --seed {self.seed} --rounds 1"
        if arguments.size != 1:
            text += f" --size {arguments.size:g}"
        if arguments.at_once != 3:
            text += f" --at-once {arguments.at_once}"
        if arguments.known:
            text += " --known"
        return text + "".join(f" --only {name}" for name in arguments.only or [])


def siege(arguments):
    """Returns the exit code."""
    seed = arguments.seed if arguments.seed is not None else secrets.randbelow(1 << 31)
    deadline = time.monotonic() + arguments.minutes * 60
    mesh = scene = calm = None
    done = failed = 0
    again = False
    slowest = 0.0
    print(f"seed {seed}", flush=True)
    while (done < arguments.rounds) if arguments.rounds else (time.monotonic() < deadline):
        round = Round(seed + done, arguments)
        names = " + ".join(attack.name for attack in round.attacks)
        try:
            if mesh is None:
                mesh = Mesh().__enter__()
                mesh.start()
                scene = Scene(mesh, round.seed, arguments.size)
                calm = calm or Calm()
            scene.random.seed(round.seed)
            scene.memory = {node.name: node.memory() for node in scene.honest}
            start = time.monotonic()
            try:
                with Pace(scene, calm) as pace:
                    notes = round.run(scene)
            finally:
                took = time.monotonic() - start
                scene.close()
            synced = scene.check()
            pace.check(max(attack.slower or SLOWER for attack in round.attacks))
            scene.check_join()
            if done % RESTART == RESTART - 1 or arguments.rounds == done + 1:
                scene.restart(kill=round.seed % 2 == 0)
                scene.check()
            slowest = max(slowest, pace.ratio)
            memory = max(node.memory() for node in scene.honest) >> 20
            print(f"ok      seed {round.seed}: {names}: {took:.1f} s; {pace}, "
                  f"longest write {pace.attacked.longest_write * 1000:.0f} ms, "
                  f"{memory} MiB; honest rows after it in {synced:.2f} s", flush=True)
            for name, note in notes.items():
                print(f"        {name} was turned away: {note}", flush=True)
        except Slower as error:
            # A busy machine has its moments: what was slow is tried once more.
            if not again:
                print(f"        seed {round.seed} again: {names}: {error}", flush=True)
                again = True
                continue
            failed += 1
            print(f"FAILED  seed {round.seed}: {names}: {error}\n        again: {round.command(arguments)}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAILED  seed {round.seed}: {names}: {error if isinstance(error, Failed) else repr(error)}\n"
                  f"        again: {round.command(arguments)}", flush=True)
            if mesh is not None:
                scene and scene.close()
                mesh.__exit__(None, None, None)
            mesh = scene = None
        again = False
        done += 1
        if mesh is not None and done % RENEW == 0:
            mesh.__exit__(None, None, None)
            mesh = scene = None
    if mesh is not None:
        mesh.__exit__(None, None, None)
    if calm is not None:
        calm.close()
    print(f"{done} rounds, {failed} failed; honest rows took at most {slowest:.1f} × as long as in a calm mesh", flush=True)
    return 1 if failed else 0
