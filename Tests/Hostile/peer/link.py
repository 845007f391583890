"""An encrypted link: frames over TCP and the Noise handshake, as `Framing.md` has them."""

import itertools
import os
import socket
import struct
import threading

from noise.connection import Keypair, NoiseConnection

PIECE = 65_518
# A listener counts the connections of an address: each link comes from another one of the loopback network.
_sources = itertools.count(int.from_bytes(os.urandom(2), "big"))


class Ended(Exception):
    """The peer closed the connection."""


def connect(address, source=None, timeout=10):
    """Opens a TCP connection to `HOST:PORT`, from an address of its own unless `source` names one."""
    host, port = address.rsplit(":", 1)
    if source is None:
        number = next(_sources) % 60_000
        source = f"127.1.{number // 250 + 1}.{number % 250 + 1}"
    stream = socket.create_connection((host, int(port)), timeout, (source, 0))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def frame(message):
    return struct.pack(">H", len(message)) + bytes(message)


def read_exactly(stream, count):
    data = b""
    while len(data) < count:
        try:
            more = stream.recv(count - len(data))
        except (ConnectionError, socket.timeout, OSError) as error:
            raise Ended(str(error)) from None
        if not more:
            raise Ended("end of the stream")
        data += more
    return data


def read_frame(stream):
    return read_exactly(stream, struct.unpack(">H", read_exactly(stream, 2))[0])


def handshake(stream, secret, is_dialler=True):
    noise = NoiseConnection.from_name(b"Noise_XX_25519_ChaChaPoly_BLAKE2b")
    noise.set_prologue(b"mesh/1")
    noise.set_as_initiator() if is_dialler else noise.set_as_responder()
    noise.set_keypair_from_private_bytes(Keypair.STATIC, secret)
    noise.start_handshake()
    state = noise.noise_protocol.handshake_state
    own_turn = is_dialler
    while not noise.handshake_finished:
        if own_turn:
            stream.sendall(frame(noise.write_message()))
        else:
            noise.read_message(read_frame(stream))
        own_turn = not own_turn
    return noise, noise.get_handshake_hash(), state.rs.public_bytes


class Link:
    """Whole mesh messages in both directions. `hash` is the handshake's, `peer` the listener's static key."""

    def __init__(self, address, secret, source=None, stream=None, is_dialler=True):
        self.stream = stream or connect(address, source)
        self.noise, self.hash, self.peer = handshake(self.stream, secret, is_dialler)
        self.stream.settimeout(60)
        self._sending = threading.Lock()
        self.sent = self.received = 0

    def send(self, message):
        with self._sending:
            for start in range(0, max(1, len(message)), PIECE):
                last = start + PIECE >= len(message)
                self.send_frame(bytes([last]) + message[start : start + PIECE])

    def send_frame(self, plaintext):
        """Encrypts and sends one transport message, whatever its plaintext is."""
        data = frame(self.noise.encrypt(plaintext))
        try:
            self.stream.sendall(data)
        except (ConnectionError, socket.timeout, OSError) as error:
            raise Ended(str(error)) from None
        self.sent += len(data)

    def receive(self):
        message = b""
        while True:
            piece = self.noise.decrypt(read_frame(self.stream))
            self.received += len(piece)
            message += piece[1:]
            if piece[0] == 1:
                return message

    def close(self):
        try:
            self.stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.stream.close()
