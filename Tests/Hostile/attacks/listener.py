"""Hostile listeners: an honest node dials an address where somebody answers who is not what it says."""

import os
import socket
import threading
import time

from attacks import attack
from attacks.transport import frame
from daemons import Failed, eventually
from peer import codec
from peer.link import Link


class Trap:
    """Listens, and treats each connection with a function until that returns."""

    def __init__(self, behave):
        self.behave = behave
        self.dialled = 0
        self._streams = []
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                stream, _ = self._socket.accept()
            except OSError:
                return
            self.dialled += 1
            self._streams.append(stream)
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream):
        try:
            stream.settimeout(60)
            self.behave(stream)
        except Exception:  # Whatever the node does to a connection ends it.
            pass
        stream.close()

    def close(self):
        self._socket.close()
        for stream in self._streams:
            stream.close()


def silent(stream):
    stream.recv(1_000)
    time.sleep(60)


def garbage(stream):
    while True:
        stream.sendall(os.urandom(65_536))


def a_page(stream):
    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 1_000_000)


def huge_frames(stream):
    while True:
        stream.sendall(b"\xff\xff" + bytes(65_535))


def drips(stream):
    for byte in frame(os.urandom(96)):
        stream.sendall(bytes([byte]))
        time.sleep(1)


def closes(stream):
    stream.recv(10)


def echoes(stream):
    while True:
        stream.sendall(stream.recv(65_536))


class Listeners:
    """What somebody says who completes the handshake as the one who was dialled."""

    def __init__(self, member, honest):
        self.member, self.honest = member, honest

    def _link(self, stream):
        link = Link(None, self.member.device.session, stream=stream, is_dialler=False)
        link.receive()
        return link

    def never_says_hello(self, stream):
        self._link(stream)
        time.sleep(60)

    def talks_before_hello(self, stream):
        link = self._link(stream)
        while True:
            link.send(codec.message("ping", number=1))

    def sends_messages_without_end(self, stream):
        link = self._link(stream)
        while True:
            link.send_frame(b"\0" + bytes(65_517))

    def says_that_it_is_another(self, stream):
        """With the certificate of an honest device, and without its key."""
        link = self._link(stream)
        link.send(codec.message("hello", **self.member.device.hello(link, role=1, certificate=self.honest)))
        time.sleep(60)

    def never_reads(self, stream):
        link = self._link(stream)
        link.send(codec.message("hello", **self.member.device.hello(link, role=1)))
        for _ in range(100_000):
            link.send(codec.message("ping", number=1))
        time.sleep(60)

    def every(self):
        return [self.never_says_hello, self.talks_before_hello, self.sends_messages_without_end, self.says_that_it_is_another,
                self.never_reads]


@attack("message hello: versions (length)", "message hello: certificate (is there)", alone=True)
def addresses_of_hostile_listeners(scene):
    """Listens at addresses that an honest node dials: silent, dripping, endless, with garbage, with another device's certificate,
    as a member that never reads; the node must go on with everybody else."""
    member, zone, session = scene.enter()
    session.wait(lambda: session.peer_certificate, what="a certificate")
    traps = [Trap(behave) for behave in (
        silent, garbage, a_page, huge_frames, drips, closes, echoes,
        *Listeners(member, session.peer_certificate).every())]
    try:
        scene.carol.stop()
        scene.carol.serve(peers=[trap.address for trap in traps])
        scene.memory[scene.carol.name] = scene.carol.memory()
        start = scene.carol.processor()
        scene.check_sync()
        scene.settle(15)
        scene.check_sync()
        for trap in traps:
            if not trap.dialled:
                raise Failed(f"{trap.behave.__name__} was never dialled")
        scene.tell(f"carol used {scene.carol.processor() - start:.1f} s of processor in 15 s and was dialling "
                   f"{sum(trap.dialled for trap in traps)} times")
    finally:
        for trap in traps:
            trap.close()
        scene.carol.stop()
        scene.carol.serve()


@attack("message hello: versions (length)", alone=True)
def invites_with_hostile_addresses(scene):
    """Puts hostile addresses before the true one of an invite; the share must still be joined, within a bounded time."""
    member, zone, session = scene.enter()
    session.wait(lambda: session.peer_certificate, what="a certificate")
    traps = [Trap(behave) for behave in (garbage, huge_frames, Listeners(member, session.peer_certificate).talks_before_hello)]
    dave = scene.mesh.node(f"dave{scene.name()}").found("dave")
    try:
        peers = [word for trap in traps for word in ("--peer", trap.address)]
        start = time.monotonic()
        dave.done("share", "join", "-", "--yes", *peers, input=scene.invite() + "\n", timeout=120)
        eventually("dave has the root", lambda: dave.sql("SELECT 1 FROM notes WHERE id = 'root'"))
        scene.tell(f"the share was joined after {time.monotonic() - start:.1f} s")
    finally:
        for trap in traps:
            trap.close()
        dave.stop()
