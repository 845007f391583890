"""The other side of a Noise XX session, on an independent implementation.

    noise_peer.py dialler|listener STATIC_PRIVATE_KEY_HEX

Messages on standard input and output have a 16-bit big-endian length before them. After the handshake it sends one frame
with its handshake hash and the static key it saw, then answers every transport message with the reversed plaintext.
"""

import struct
import sys

try:
    from noise.connection import Keypair, NoiseConnection
except ImportError:
    sys.exit("the Python module noiseprotocol is missing; tools/test installs it")


def read():
    header = sys.stdin.buffer.read(2)
    if len(header) < 2:
        sys.exit(0)
    return sys.stdin.buffer.read(struct.unpack(">H", header)[0])


def write(message):
    sys.stdout.buffer.write(struct.pack(">H", len(message)) + bytes(message))
    sys.stdout.buffer.flush()


def main(role, private_key):
    connection = NoiseConnection.from_name(b"Noise_XX_25519_ChaChaPoly_BLAKE2b")
    connection.set_prologue(b"mesh/1")
    if role == "dialler":
        connection.set_as_initiator()
    else:
        connection.set_as_responder()
    connection.set_keypair_from_private_bytes(Keypair.STATIC, bytes.fromhex(private_key))
    connection.start_handshake()
    handshake = connection.noise_protocol.handshake_state

    own_turn = role == "dialler"
    while not connection.handshake_finished:
        if own_turn:
            write(connection.write_message())
        else:
            connection.read_message(read())
        own_turn = not own_turn

    write(connection.get_handshake_hash() + handshake.rs.public_bytes)
    while True:
        write(connection.encrypt(bytes(reversed(connection.decrypt(read())))))


main(*sys.argv[1:])
