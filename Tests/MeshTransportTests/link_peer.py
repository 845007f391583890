"""The other end of a link, on an independent implementation of Noise, framing written from its specification.

    link_peer.py dial STATIC_PRIVATE_KEY_HEX PORT
    link_peer.py listen STATIC_PRIVATE_KEY_HEX        prints the port it took

Answers every mesh message with the reversed one until the stream ends between two frames.
"""

import socket
import struct
import sys

try:
    from noise.connection import Keypair, NoiseConnection
except ImportError:
    sys.exit("the Python module noiseprotocol is missing; tools/test installs it")

PIECE = 65518


class Ended(Exception):
    pass


def read_exactly(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise Ended
    return data


def read_frame(stream):
    return read_exactly(stream, struct.unpack(">H", read_exactly(stream, 2))[0])


def write_frame(stream, message):
    stream.write(struct.pack(">H", len(message)) + bytes(message))
    stream.flush()


def handshake(stream, is_dialler, private_key):
    connection = NoiseConnection.from_name(b"Noise_XX_25519_ChaChaPoly_BLAKE2b")
    connection.set_prologue(b"mesh/1")
    if is_dialler:
        connection.set_as_initiator()
    else:
        connection.set_as_responder()
    connection.set_keypair_from_private_bytes(Keypair.STATIC, bytes.fromhex(private_key))
    connection.start_handshake()
    own_turn = is_dialler
    while not connection.handshake_finished:
        if own_turn:
            write_frame(stream, connection.write_message())
        else:
            connection.read_message(read_frame(stream))
        own_turn = not own_turn
    return connection


def read_message(stream, connection):
    message = b""
    while True:
        plaintext = connection.decrypt(read_frame(stream))
        message += plaintext[1:]
        if plaintext[0] == 1:
            return message
        assert plaintext[0] == 0 and len(plaintext) == 1 + PIECE


def write_message(stream, connection, message):
    for start in range(0, len(message), PIECE):
        last = start + PIECE >= len(message)
        write_frame(stream, connection.encrypt(bytes([last]) + message[start : start + PIECE]))


def main(role, private_key, port=None):
    if role == "dial":
        connected = socket.create_connection(("127.0.0.1", int(port)))
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        connected, _ = listener.accept()
    stream = connected.makefile("rwb")
    connection = handshake(stream, role == "dial", private_key)
    try:
        while True:
            write_message(stream, connection, read_message(stream, connection)[::-1])
    except (Ended, ConnectionError):
        pass


main(*sys.argv[1:])
