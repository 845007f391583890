"""Real daemons to attack: homes in a temporary directory, verbs of the command line, rows by sqlite3."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("MESH_BINARY", f"{ROOT}/.build/debug/mesh")
SCHEMA = """
    CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, text TEXT, stars INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE tags (id TEXT PRIMARY KEY NOT NULL, note TEXT REFERENCES notes(id) ON DELETE CASCADE, name TEXT);
    """


# Outlives this process, and ends the daemons that it left behind.
REAPER = """
import os, shutil, signal, sys
alive = set()
for line in sys.stdin:
    (alive.add if line[0] == "+" else alive.discard)(int(line[1:]))
for pid in alive:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


class Failed(Exception):
    """A verb or a daemon did not do what it was asked."""


def eventually(what, condition, timeout=30, every=0.05):
    """Looks again and again until a condition holds; returns the seconds that it took."""
    start = time.monotonic()
    while True:
        value = condition()
        if value:
            return time.monotonic() - start
        if time.monotonic() - start > timeout:
            raise Failed(f"{what}: not within {timeout} s")
        time.sleep(every)


class Node:
    """One home, its database, and its daemon while it runs."""

    def __init__(self, directory, name, reaper):
        self.reaper = reaper
        self.name, self.directory = name, f"{directory}/{name}"
        os.mkdir(self.directory, 0o700)
        self.home, self.database = f"{self.directory}/home", f"{self.directory}/data.db"
        self.daemon, self.address, self.starts = None, None, 0
        # The monotonic time since which the daemon accepts requests. A test that stops it makes this infinite.
        self.accepting_since = 0.0

    @property
    def environment(self):
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        return {"MESH_HOME": self.home, "HOME": self.directory, "PATH": "/usr/bin:/bin",
                "SWIFT_BACKTRACE": "enable=no", **kept}

    def run(self, *arguments, input="", timeout=60):
        return subprocess.run([BINARY, *arguments], env=self.environment, input=input, capture_output=True, text=True,
                              timeout=timeout)

    def start(self, *arguments, input=""):
        """Starts a verb that may wait, and returns its process."""
        process = subprocess.Popen([BINARY, *arguments], env=self.environment, stdin=subprocess.PIPE, text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.stdin.write(input)
        process.stdin.close()
        return process

    def done(self, *arguments, input="", timeout=60):
        finished = self.run(*arguments, input=input, timeout=timeout)
        if finished.returncode != 0:
            raise Failed(f"{self.name}: mesh {' '.join(arguments)}: {finished.stdout}{finished.stderr}")
        return finished.stdout

    def report(self, *arguments, timeout=60):
        finished = self.run(*arguments, "--json", timeout=timeout)
        try:
            return json.loads(finished.stdout)
        except ValueError:
            raise Failed(f"{self.name}: mesh {' '.join(arguments)}: {finished.stdout}{finished.stderr}") from None

    def sql(self, text, *values, timeout=20):
        """Runs one statement as an ordinary program would; returns its rows."""
        connection = sqlite3.connect(self.database, timeout=timeout, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = 1")
            return connection.execute(text, values).fetchall()
        finally:
            connection.close()

    def script(self, text):
        connection = sqlite3.connect(self.database, timeout=20)
        connection.executescript(text)
        connection.close()

    def serve(self, wait=True, peers=()):
        """Starts the daemon; `peers` are addresses to dial beside those that it knows."""
        self.starts += 1
        self.log = open(f"{self.directory}/log-{self.starts}", "w")
        listen = self.address or "127.0.0.1:0"
        more = [word for peer in peers for word in ("--peer", peer)]
        self.daemon = subprocess.Popen([BINARY, "serve", "--listen", listen, *more], env=self.environment, stdout=self.log,
                                       stderr=self.log, stdin=subprocess.DEVNULL)
        self.tell("+")
        if wait:
            self.accepts()
        return self

    def accepts(self, timeout=60):
        def ready():
            if self.daemon.poll() is not None:
                raise Failed(f"{self.name}: mesh serve ended with {self.daemon.returncode}: {self.tail()}")
            finished = self.run("status", "--json")
            if finished.returncode != 0:
                return False
            status = json.loads(finished.stdout)
            self.address = status.get("listen") or self.address
            return status["running"]
        eventually(f"{self.name} accepts", ready, timeout)
        self.accepting_since = time.monotonic()

    def alive(self):
        return self.daemon is not None and self.daemon.poll() is None

    def tell(self, sign):
        self.reaper.stdin.write(f"{sign}{self.daemon.pid}\n")
        self.reaper.stdin.flush()

    def stop(self, kill=False):
        if self.alive():
            self.accepting_since = math.inf
            self.daemon.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            try:
                self.daemon.wait(20)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
                raise Failed(f"{self.name} did not stop within 20 s of SIGTERM: {self.tail()}") from None
            finally:
                self.tell("-")

    def tail(self, lines=4):
        self.log.flush()
        with open(self.log.name, errors="replace") as file:
            return "\n".join(file.read().split("\n")[-lines:])

    def turns(self):
        """Seconds for which the daemon's threads ran, and for which they waited for a processor."""
        ran = waited = 0
        for task in os.listdir(f"/proc/{self.daemon.pid}/task"):
            try:
                with open(f"/proc/{self.daemon.pid}/task/{task}/schedstat") as file:
                    numbers = file.read().split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            ran, waited = ran + int(numbers[0]), waited + int(numbers[1])
        return ran / 1e9, waited / 1e9

    def memory(self):
        """Resident bytes of the daemon."""
        with open(f"/proc/{self.daemon.pid}/status") as file:
            for line in file:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) << 10
        return 0

    def processor(self):
        """Seconds of processor that the daemon has used."""
        with open(f"/proc/{self.daemon.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def disk(self):
        total = 0
        for folder, _, files in os.walk(self.directory):
            for name in files:
                try:
                    total += os.lstat(f"{folder}/{name}").st_size
                except FileNotFoundError:
                    pass
        return total

    def found(self, account, device=None):
        self.script(SCHEMA)
        self.done("init", "--database", self.database, "--account", account, "--device", device or self.name)
        self.done("track", "notes", "tags")
        return self.serve()

    def link(self, host):
        invite = host.done("device", "invite").strip().split("\n")[-1]
        self.done("init", "--database", self.database, "--link", "-", "--adopt-schema", "--device", self.name,
                  input=invite + "\n")
        return self.serve()

    def invite(self, share="Shared", permission="read-write", *more):
        return self.done("share", "invite", share, "--permission", permission, *more).strip().split("\n")[-1]


class Mesh:
    """Owner A with the devices `tower` and `laptop`, and the participant C with `carol`. All ends with the scope."""

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="mesh-", dir="/tmp")
        self.nodes = []
        self.reaper = subprocess.Popen([sys.executable, "-c", REAPER, self.directory], stdin=subprocess.PIPE, text=True,
                                       start_new_session=True)
        return self

    def node(self, name):
        self.nodes.append(Node(self.directory, name, self.reaper))
        return self.nodes[-1]

    def __exit__(self, *_):
        for node in self.nodes:
            if node.alive():
                node.daemon.kill()
                node.daemon.wait()
        # With nothing left to end, it removes the directory.
        for node in self.nodes:
            if node.daemon is not None:
                node.tell("-")
        self.reaper.stdin.close()
        self.reaper.wait()

    def start_owner(self):
        """The owner's devices alone, and their share."""
        self.tower = self.node("tower").found("alice")
        self.laptop = self.node("laptop").link(self.tower)
        self.tower.sql("INSERT INTO notes VALUES ('root', 'milk', 1), ('mine', 'private', 0)")
        self.tower.done("share", "create", "notes", "root", "--title", "Shared")
        eventually("laptop has the rows", lambda: len(self.laptop.sql("SELECT 1 FROM notes")) == 2)
        return self

    def start(self):
        self.start_owner()
        self.carol = self.node("carol").found("carol")
        self.carol.done("share", "join", "-", "--yes", input=self.tower.invite() + "\n")
        eventually("carol has the root", lambda: self.carol.sql("SELECT 1 FROM notes WHERE id = 'root'"))
        return self
