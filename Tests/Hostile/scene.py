"""What an attack works with, and what must hold after it."""

import os
import random
import sqlite3
import threading
import time

from daemons import Failed, Mesh, eventually
from peer import crypto
from peer.identity import Account
from peer.link import Ended
from peer.member import Member, Refused

# Seconds in which a row must reach every honest device after an attack.
PATIENCE = 30
# Seconds that one honest write may wait for the lock of its file. A busy machine takes a few; what is quadratic takes minutes.
WRITE_LOCK = 10.0
# Bytes by which a daemon may grow over what it had before the attack. A debug build keeps most of what it ever used.
GROWTH = 300 << 20
# How many times as long honest rows may take as in a mesh beside it that nobody attacks. It is measured during the attack, so it
# has the same machine with the same processes.
SLOWER = 3
# Seconds below which no ratio counts, on a processor that the daemons have to themselves: a few ticks and messages. Where they
# wait for their turns, as the kernel tells, it is as much more.
PROMPT = 0.75
# Seconds before an attack in which the calm mesh is watched as well: many attacks are over after a few rows.
BEFORE = 10


class Watch(threading.Thread):
    """Writes rows on one device all the time, and measures how long each takes to be written and to be seen on another.

    The time in which one of the two daemons is stopped doesn't count: a row that was written before waits from when both
    accept requests again.
    """

    def __init__(self, writer, reader, every=0.1):
        super().__init__(daemon=True)
        self.writer, self.reader, self.every = writer, reader, every
        # When each row was seen, or given up, and after how long.
        self.seen, self.written, self.failed = [], [], None
        self._over = threading.Event()
        self._prefix = os.urandom(4).hex()

    def run(self):
        writing = sqlite3.connect(self.writer.database, timeout=60, isolation_level=None)
        reading = sqlite3.connect(self.reader.database, timeout=60, isolation_level=None)
        number, waiting = 0, {}
        due = time.monotonic()
        try:
            while not self._over.is_set():
                if time.monotonic() >= due:
                    number += 1
                    key, note = f"w{self._prefix}-{number}", "root" if number % 2 else "mine"
                    start = time.monotonic()
                    writing.execute("INSERT INTO tags VALUES (?, ?, 'watch')", (key, note))
                    self.written.append(time.monotonic() - start)
                    waiting[key] = time.monotonic()
                    due = time.monotonic() + self.every
                for key in [key for (key,) in reading.execute(
                        "SELECT id FROM tags WHERE id IN (SELECT value FROM json_each(?))",
                        ('["' + '","'.join(list(waiting)[:500]) + '"]',))] if waiting else []:
                    self.see(waiting.pop(key))
                time.sleep(0.01)
        except sqlite3.Error as error:
            self.failed = error
        for start in waiting.values():
            self.see(start)
        writing.close()
        reading.close()

    def see(self, start):
        now = time.monotonic()
        begin = max(start, self.writer.accepting_since, self.reader.accepting_since)
        self.seen.append((now, max(0.0, now - begin)))

    def finish(self):
        self._over.set()
        self.join()
        return self

    def p99(self, since=0.0):
        times = sorted(took for at, took in list(self.seen) if at >= since)
        return times[min(len(times) - 1, int(len(times) * 0.99))] if times else 0.0

    @property
    def longest_write(self):
        return max(self.written, default=0.0)


class Slower(Failed):
    """Honest rows took too many times as long as in a mesh that nobody attacks."""


class Calm:
    """A mesh that nobody attacks, on the same machine, watched all the time."""

    def __init__(self):
        self.mesh, self.watch = Mesh().__enter__(), None
        try:
            self.mesh.start_owner()
            self.watch = Watch(self.mesh.tower, self.mesh.laptop)
            self.watch.start()
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.watch is not None:
            self.watch.finish()
        self.mesh.__exit__(None, None, None)


class Pace:
    """Watches honest rows of a mesh, and of a calm one beside it."""

    def __init__(self, scene, calm):
        self.calm = calm
        self.attacked = Watch(scene.tower, scene.laptop)

    def __enter__(self):
        self.start = time.monotonic()
        self.turns = self.count_turns()
        self.attacked.start()
        return self

    def count_turns(self):
        """For each daemon of both meshes, seconds that it ran and that it waited for a processor."""
        nodes = [self.attacked.writer, self.attacked.reader, self.calm.mesh.tower, self.calm.mesh.laptop]
        return {node.daemon.pid: node.turns() for node in nodes if node.alive()}

    def __exit__(self, *_):
        self.attacked.finish()
        if self.calm.watch.failed:
            raise Failed(f"the calm mesh has failed: {self.calm.watch.failed}")
        self.p99, self.calm_p99 = self.attacked.p99(), self.calm.watch.p99(self.start - BEFORE)
        self.ratio = self.p99 / max(self.calm_p99, 0.001)
        # Daemons that were restarted are others.
        turns = [(ran - self.turns[pid][0], waited - self.turns[pid][1])
                 for pid, (ran, waited) in self.count_turns().items() if pid in self.turns]
        ran, waited = (max(0.001, sum(column)) for column in zip(*turns)) if turns else (1, 0)
        self.prompt = PROMPT * (1 + waited / ran)

    def __str__(self):
        return f"p99 {self.p99:.2f} s ({self.ratio:.1f} × the {self.calm_p99:.2f} s of a calm mesh)"

    def check(self, slower=SLOWER):
        if self.attacked.failed:
            raise Failed(f"an honest program could not write: {self.attacked.failed}")
        if self.attacked.longest_write > WRITE_LOCK:
            raise Failed(f"a program waited {self.attacked.longest_write:.1f} s for the write lock")
        if self.p99 > max(self.prompt, slower * self.calm_p99):
            raise Slower(f"honest rows were slow: {self}; at most {slower:g} × is expected, or {self.prompt:.2f} s")


class Scene:
    """One mesh of daemons, and the hostile accounts that join its share.

    `size` scales the attacks: 1 is what the tests run, more is what `tools/attack` runs.
    """

    def __init__(self, mesh, seed=0, size=1.0):
        self.mesh, self.size = mesh, size
        self.random = random.Random(seed)
        self.open_invite = None
        self.sessions = []
        self.sent_fields = set()
        self.memory = {node.name: node.memory() for node in self.honest}
        self._names = 0
        self.told = []

    @property
    def tower(self):
        return self.mesh.tower

    @property
    def laptop(self):
        return self.mesh.laptop

    @property
    def carol(self):
        return self.mesh.carol

    @property
    def honest(self):
        return [self.mesh.tower, self.mesh.laptop, self.mesh.carol]

    def many(self, count):
        """A count of things for the size of this run."""
        return max(1, int(count * self.size))

    def name(self, prefix="h"):
        """A key that no other row has."""
        self._names += 1
        return f"{prefix}{self._names}-{self.random.getrandbits(40):x}"

    # --- Hostile accounts

    def invite(self):
        if self.open_invite is None:
            self.open_invite = self.tower.invite("Shared", "read-write", "--open")
        return self.open_invite

    def account(self, name="mallory"):
        """A member of a new account that has not joined."""
        return Member(Account(name).device(name))

    def member(self, name="mallory"):
        """A member of a new account, joined with permission to write: (member, zone)."""
        member = self.account(name)
        for _ in range(3):
            try:
                return member, member.join(self.invite(), self.tower.address)
            except (Ended, Refused):
                # The node may still be at what the last attack has left. A person tries again.
                time.sleep(1)
        return member, member.join(self.invite(), self.tower.address)

    def session(self, member, node=None, zone=None, **options):
        """An open session with a node, caught up in a zone if one is given."""
        session = member.connect((node or self.tower).address, **options)
        self.sessions.append(session)
        if zone is not None:
            member.catch_up(session, zone)
        return session

    def enter(self, name="mallory", node=None):
        """A new hostile account at its usual work: (member, zone, session)."""
        member, zone = self.member(name)
        return member, zone, self.session(member, node, zone)

    def again(self, member, session, node=None):
        """The session, or a new one when the node ended it."""
        return session if session.ended is None else self.session(member, node)

    def second_device(self, member, name="second", states=True):
        """Another device of a hostile account, which knows what the first one knows."""
        other = Member(member.device.account.device(name))
        other.zones, other.states = member.zones, member.states
        other.states[member.device.account.id] = member.device.account.state()
        return other

    def send_log(self, session, zone, raws, batch=200):
        """Sends change sets until the session ends; returns how many went out."""
        sent = 0
        for raw in raws:
            if not session.try_send("change sets", zone=zone.id, changeSets=[raw]):
                break
            sent += 1
        return sent

    def send_records(self, session, zone, raws, at_once=64):
        """Sends control records in messages of as many as there may be."""
        from peer import codec
        raws = [codec.Forged(codec.varint(len(raw)) + raw) for raw in raws]
        return all(session.try_send("control records", zone=zone.id, records=raws[start : start + at_once])
                   for start in range(0, len(raws), at_once))

    def tell(self, text):
        """A figure to print beside the attack's."""
        self.told.append(text)

    def settle(self, seconds=0.5):
        """Gives the daemons time to do what the attack made them do."""
        time.sleep(seconds)

    def answered(self, session, timeout=PATIENCE):
        """Waits until the node has worked off all that was sent before; returns whether the session still stands."""
        try:
            before = session.heard("pong")
            session.send("ping", number=7)
            session.wait(lambda: session.heard("pong") > before, timeout, "a pong")
            return True
        except (Refused, Ended):
            return False

    def close(self):
        for session in self.sessions:
            session.close()
        self.sessions = []

    # --- What must hold

    def check_sync(self, patience=PATIENCE):
        """Rows go from every honest device to every other, in the share and in the private zone. Returns seconds."""
        self.check_alive()
        tower, laptop, carol = self.honest
        expected = []
        for node, shared in ((tower, True), (tower, False), (laptop, True), (laptop, False), (carol, True)):
            key = self.name("check")
            start = time.monotonic()
            node.sql("INSERT INTO tags VALUES (?, ?, 'check')", key, "root" if shared else "mine", timeout=patience)
            took = time.monotonic() - start
            if took > WRITE_LOCK:
                raise Failed(f"a write on {node.name} waited {took:.1f} s for the lock")
            readers = [other for other in self.honest if other is not node and (shared or other is not carol)]
            expected += [(node, reader, key, shared) for reader in readers]
        deadline, slowest = time.monotonic() + patience, 0.0
        start = time.monotonic()
        for node, reader, key, shared in expected:
            while not reader.sql("SELECT 1 FROM tags WHERE id = ?", key, timeout=patience):
                self.check_alive()
                if time.monotonic() > deadline:
                    place = "the share" if shared else "the private zone"
                    raise Failed(f"a row that {node.name} wrote in {place} did not reach {reader.name} in {patience} s")
                time.sleep(0.02)
            slowest = max(slowest, time.monotonic() - start)
        return slowest

    def check_alive(self):
        for node in self.honest:
            if not node.alive():
                raise Failed(f"{node.name} died with {node.daemon.returncode}: {node.tail()}")

    def check_memory(self):
        for node in self.honest:
            growth = node.memory() - self.memory[node.name]
            if growth > GROWTH * max(1, self.size):
                raise Failed(f"{node.name} grew by {growth >> 20} MiB")

    def check_doctor(self):
        """No check that isn't ok names an honest device, by its name or by its id."""
        names = self.honest_names()
        for node in self.honest:
            for check in node.report("doctor", timeout=PATIENCE)["checks"]:
                text = f"{check['what']} {check['wayOut'] or ''}"
                blamed = [name for name in names if name in text]
                if check["state"] != "ok" and blamed and check["name"] != "peer":
                    raise Failed(f"doctor on {node.name} blames {blamed[0]}: {check['name']}: {text}")

    def honest_names(self):
        if not hasattr(self, "_honest"):
            self._honest = []
            for node in self.honest:
                status = node.report("status")
                self._honest += [status["device"], status["account"]]
        return self._honest

    def check(self):
        seconds = self.check_sync()
        self.check_memory()
        self.check_doctor()
        return seconds

    def check_join(self):
        """A new account is let in, within the same time."""
        newcomer, start = self.account("newcomer"), time.monotonic()
        while True:
            try:
                return newcomer.join(self.invite(), self.tower.address)
            except (Refused, Ended, TimeoutError, OSError) as error:
                # A removal may have revoked the invite.
                self.open_invite = None
                if time.monotonic() - start > PATIENCE:
                    raise Failed(f"a new account could not join in {PATIENCE} s: {error}") from error
                time.sleep(0.5)

    def restart(self, kill=False):
        """Stops and starts every honest daemon, at the same addresses."""
        for node in self.honest:
            node.stop(kill=kill)
        for node in self.honest:
            node.serve(wait=False)
        for node in self.honest:
            node.accepts()
        self.memory = {node.name: max(self.memory[node.name], node.memory()) for node in self.honest}
