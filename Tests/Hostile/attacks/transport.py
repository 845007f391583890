"""Connections that are half open, slow, garbled, never read, or too many."""

import os
import socket
import struct
import threading
import time

from attacks import attack
from daemons import Failed, eventually
from peer import codec
from peer.link import Ended, connect, frame
from peer.member import Refused, Session
from peer.zone import Log


class Crowd:
    """Connections that are held open from many addresses, each at some stage, and opened again as soon as they are closed."""

    def __init__(self, address, count, stage, at_once=16):
        self.address, self.stage, self.at_once = address, stage, at_once
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._hold, args=(range(start, count, 8),), daemon=True) for start in range(8)]
        for thread in self._threads:
            thread.start()

    def _open(self, number):
        try:
            stream = connect(self.address, source=f"127.2.{number // self.at_once + 1}.1")
            stream.settimeout(0)
            self.stage(stream)
            return stream
        except (OSError, Ended, ValueError):
            return None

    def _hold(self, numbers):
        held = {}
        while not self._over.is_set():
            for number in numbers:
                stream = held.get(number)
                try:
                    if stream is not None and stream.recv(1_000):
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                if stream is not None:
                    stream.close()
                held[number] = self._open(number)
            self._over.wait(0.05)
        for stream in held.values():
            if stream is not None:
                stream.close()

    def __enter__(self):
        time.sleep(2)
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()


def comes_back(scene, node):
    """Restarts a node's daemon; returns the seconds from then to a row that comes by its session."""
    node.stop()
    node.serve()
    start = time.monotonic()
    scene.memory[node.name] = node.memory()
    key = scene.name("back")
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', 'x')", key)
    eventually(f"a row on {node.name}", lambda: node.sql("SELECT 1 FROM tags WHERE id = ?", key), timeout=30)
    scene.tell(f"{node.name} was back after {time.monotonic() - start:.1f} s")


@attack(alone=True)
def half_open_connections(scene):
    """Holds hundreds of connections open from many addresses and says nothing; honest devices must still connect."""
    with Crowd(scene.tower.address, scene.many(256), lambda stream: None):
        comes_back(scene, scene.laptop)
        scene.check_sync()


@attack(alone=True)
def handshakes_that_drip(scene):
    """Holds many connections open that have begun a handshake and do not go on; honest devices must still connect."""
    with Crowd(scene.tower.address, scene.many(256), lambda stream: stream.sendall(frame(os.urandom(32))[:20])):
        comes_back(scene, scene.carol)
        scene.check_sync()


@attack("message hello: versions (length)", alone=True)
def links_that_never_say_hello(scene):
    """Completes hundreds of handshakes and says nothing in the session; honest devices must still connect."""
    from peer.link import handshake

    def complete(stream):
        stream.settimeout(5)
        handshake(stream, os.urandom(32))
        stream.settimeout(0)

    with Crowd(scene.tower.address, scene.many(640), complete, at_once=8):
        comes_back(scene, scene.laptop)
        scene.check_sync()


@attack()
def garbage_before_the_handshake(scene):
    """Sends frames of every length, web requests and random bytes before the handshake; only that connection ends."""
    for data in (b"GET / HTTP/1.1\r\n\r\n", frame(b""), frame(bytes(31)), frame(bytes(32)), frame(bytes(33)),
                 frame(os.urandom(32)) * 5, b"\xff\xff" + bytes(65_535), os.urandom(100_000), b"\0"):
        try:
            stream = connect(scene.tower.address)
            stream.sendall(data)
            stream.settimeout(0.2)
            stream.recv(1_000)
        except OSError:
            pass
        finally:
            stream.close()


@attack("message ping: number")
def frames_that_break_the_rules(scene):
    """Sends empty pieces, pieces that are not full, other flags, messages beyond the limit and frames that do not
    decrypt; only that session may end."""
    member, zone = scene.member()
    full = bytes(65_518)
    for plaintexts in ([b""], [b"\1"], [b"\2x"], [b"\0" + full[:-1]], [b"\0" + full] * 18, [b"\0" + full, b"\3"],
                       [b"\1" + bytes([200]) + b"unknown"], [b"\1\0"], [b"\1" + bytes([21])]):
        session = scene.session(member)
        try:
            for plaintext in plaintexts:
                session.link.send_frame(plaintext)
        except Ended:
            pass
        scene.answered(session, 5)
    session = scene.session(member)
    session.link.stream.sendall(frame(os.urandom(50)))
    if session.wait_end(10) is None:
        raise Failed("a frame that does not decrypt did not end the session")


@attack("message want: vector (count)")
def a_peer_that_never_reads(scene):
    """Asks for everything over many sessions and never reads; the node must drop it and keep its memory."""
    member, zone, session = scene.enter()
    scene.tower.sql("INSERT INTO tags SELECT ? || value, 'root', hex(randomblob(2000)) FROM json_each(?)",
                    scene.name("bulk"), str(list(range(300))))
    scene.answered(session)
    streams = []
    for number in range(scene.many(8)):
        other = scene.second_device(member, f"d{number}")
        if number == 0:
            session.try_send("account", state=member.device.account.state())
        deaf = Deaf(other, scene.tower.address)
        streams.append(deaf)
        for _ in range(20):
            deaf.send("want", zone=zone.id, vector=[])
            deaf.send("control heads", zone=zone.id, heads=[])
            deaf.send("credit", bytes=2**40)
    scene.check_sync()
    for deaf in streams:
        deaf.close()


class Deaf:
    """A session that says its hello and what an open session says, and reads nothing behind the handshake."""

    def __init__(self, member, address):
        from peer.link import Link
        from peer.member import zone_tag
        self.link = Link(address, member.device.session)
        self.link.stream.settimeout(2)
        self.send("hello", **member.device.hello(self.link))
        self.send("zones", tags=[zone_tag(id, 0, self.link.hash) for id in member.zones])
        for zone in member.zones.values():
            self.send("control heads", zone=zone.id, heads=zone.heads()[:1_024])

    def send(self, name, **fields):
        try:
            self.link.send(codec.message(name, **fields))
        except (Ended, OSError):
            pass

    def close(self):
        self.link.close()


@attack()
def sessions_without_end(scene):
    """Opens hundreds of sessions of the same device one after the other and at once; the honest sessions must stand."""
    member, zone = scene.member()
    for _ in range(scene.many(60)):
        try:
            scene.sessions.append(Session(member, scene.tower.address))
        except (Ended, OSError):
            scene.settle(0.1)
    scene.settle(1)


@attack()
def connections_that_end_at_once(scene):
    """Connects and disconnects again and again at every stage; the node must forget each."""
    member, zone = scene.member()
    for number in range(scene.many(150)):
        try:
            stream = connect(scene.tower.address)
            if number % 3 == 1:
                stream.sendall(frame(os.urandom(32)))
            stream.close()
        except OSError:
            scene.settle(0.05)
    for _ in range(scene.many(30)):
        session = scene.session(member)
        session.close()


@attack("message hello: versions (length)")
def a_stranger_that_floods(scene):
    """Completes handshakes without being anybody and says hello with every certificate it can make; strangers must be
    refused and cost nothing lasting."""
    for number in range(scene.many(60)):
        stranger = scene.account("stranger")
        try:
            session = Session(stranger, scene.tower.address)
        except (Ended, OSError):
            continue
        scene.sessions.append(session)
        if number % 10 == 0 and session.wait_end(10) is None:
            raise Failed("a stranger was admitted")
