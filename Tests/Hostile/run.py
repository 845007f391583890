"""Runs attacks against real daemons and checks the honest devices after each. `tools/attack` and the tests call it."""

import argparse
import os
import random
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemons import Failed, Mesh  # noqa: E402
from scene import SLOWER, Calm, Pace, Scene, Slower  # noqa: E402
import attacks  # noqa: E402


class Arena:
    """A mesh that attacks share until one of them breaks it or asks for a fresh one."""

    def __init__(self, seed, size):
        self.seed, self.size = seed, size
        self.mesh = self.scene = self.calm = None
        self.used = 0

    def open(self):
        if self.scene is None:
            self.mesh = Mesh().__enter__()
            self.mesh.start()
            self.scene = Scene(self.mesh, self.seed, self.size)
            self.calm = self.calm or Calm()
            self.used = 0
        return self.scene

    def close(self):
        if self.mesh is not None:
            if self.scene is not None:
                self.scene.close()
            self.mesh.__exit__(None, None, None)
        self.mesh = self.scene = None

    def end(self):
        self.close()
        if self.calm is not None:
            self.calm.close()
        self.calm = None

    def finish(self):
        """What must hold after all attacks on a mesh: the daemons restart and agree."""
        if self.scene is None or not self.used:
            return
        self.scene.close()
        self.scene.restart()
        self.scene.check()
        for node in self.scene.honest:
            verdict = node.run("verify", "--timeout", "30")
            if verdict.returncode == 1 and "UNEQUAL" in verdict.stdout.upper().replace("NOT EQUAL", "UNEQUAL"):
                raise Failed(f"{node.name}: {verdict.stdout}")

    def run(self, attack):
        """Runs one attack and its checks. Returns (seconds of the attack, of the check, the pace, seconds of processor)."""
        scene = self.open()
        scene.memory = {node.name: node.memory() for node in scene.honest}
        self.used += 1
        worked = {node.name: node.processor() for node in scene.honest}
        start = time.monotonic()
        try:
            with Pace(scene, self.calm) as pace:
                attack.run(scene)
            took = time.monotonic() - start
        finally:
            scene.close()
        synced = scene.check()
        pace.check(attack.slower or SLOWER)
        # A daemon that was restarted began at zero.
        return took, synced, pace, max(abs(node.processor() - worked[node.name]) for node in scene.honest)


def one(arena, attack, tries=3):
    """Runs an attack; returns None or the failure. What was slow is tried again, on a fresh mesh: a busy machine has its
    moments, and the first try may have left work behind."""
    try:
        took, synced, pace, processor = arena.run(attack)
    except Slower as error:
        if tries > 1:
            print(f"        {attack.name} again: {error}", flush=True)
            arena.close()
            return one(arena, attack, tries - 1)
        arena.close()
        return error
    except Exception as error:
        arena.close()
        if not isinstance(error, (Failed, AssertionError, TimeoutError)):
            traceback.print_exc()
        return error
    print(f"ok      {attack.name}: {took:.1f} s; honest rows after it in {synced:.2f} s; during it {pace}, "
          f"longest write {pace.attacked.longest_write:.2f} s, processor {processor:.1f} s", flush=True)
    if attack.slower:
        print(f"        may take {attack.slower:g} ×: {attack.reason}", flush=True)
    for text in arena.scene.told:
        print(f"        {text}", flush=True)
    arena.scene.told = []
    return None


def suite(names, size, seed, known=False):
    """Runs attacks one after the other, as the tests do. Returns the number of failures that nobody expected."""
    arena, failures = Arena(seed, size), 0
    for attack in [attacks.ATTACKS[name] for name in names]:
        if attack.expected_failure and not known:
            print(f"known   {attack.name}: not run: {attack.expected_failure}", flush=True)
            continue
        failure = one(arena, attack)
        failures += report(attack, failure)
    try:
        arena.finish()
    except Failed as error:
        print(f"FAILED  after all attacks: {error}", flush=True)
        failures += 1
    arena.end()
    return failures


def report(attack, failure):
    if failure is None:
        if attack.expected_failure:
            print(f"        {attack.name} was expected to succeed against the mesh: remove its expected_failure")
        return 0
    if attack.expected_failure:
        print(f"known   {attack.name}: {attack.expected_failure}\n        ({failure})", flush=True)
        return 0
    print(f"FAILED  {attack.name}: {failure}\n        it {attack.sentence[0].lower()}{attack.sentence[1:]}", flush=True)
    return 1


def main():
    attacks.load()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="attacks, or modules of attacks; all if none is named")
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--known", action="store_true", help="also run attacks that are known to succeed")
    arguments = parser.parse_args()
    names = [name for name, attack in attacks.ATTACKS.items()
             if not arguments.names or {name, attack.run.__module__.split(".")[1]} & set(arguments.names)]
    if not names:
        parser.error("there is no such attack")
    sys.exit(1 if suite(names, arguments.size, arguments.seed, arguments.known) else 0)


if __name__ == "__main__":
    main()
