"""The primitives of the protocol: BLAKE2b from hashlib, everything else from libsodium by ctypes."""

import base64
import ctypes
import ctypes.util
import functools
import hashlib
import zlib

sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
if sodium.sodium_init() < 0:
    raise OSError("libsodium does not start")


def blake(message, size=32, key=b""):
    return hashlib.blake2b(message, digest_size=size, key=key).digest()


@functools.lru_cache(maxsize=4_096)
def ed25519(seed):
    """Returns the public key and the 64-byte secret key of a 32-byte seed."""
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    sodium.crypto_sign_seed_keypair(public, secret, seed)
    return public.raw, secret.raw


def sign(seed, context, message):
    """Signs `length of the context ‖ context ‖ message`."""
    context = context.encode()
    text = bytes([len(context)]) + context + message
    signature = ctypes.create_string_buffer(64)
    sodium.crypto_sign_detached(signature, None, text, ctypes.c_ulonglong(len(text)), ed25519(seed)[1])
    return signature.raw


def verify(public, context, message, signature):
    context = context.encode()
    text = bytes([len(context)]) + context + message
    return sodium.crypto_sign_verify_detached(signature, text, ctypes.c_ulonglong(len(text)), public) == 0


def x25519(secret):
    public = ctypes.create_string_buffer(32)
    sodium.crypto_scalarmult_base(public, secret)
    return public.raw


def agree(secret, public):
    shared = ctypes.create_string_buffer(32)
    if sodium.crypto_scalarmult(shared, secret, public) != 0:
        raise ValueError("the agreement is zero")
    return shared.raw


def encrypt(key, nonce, associated, text):
    """XChaCha20-Poly1305 (IETF): ciphertext and tag."""
    out, length = ctypes.create_string_buffer(len(text) + 16), ctypes.c_ulonglong()
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        out, ctypes.byref(length), text, ctypes.c_ulonglong(len(text)), associated,
        ctypes.c_ulonglong(len(associated)), None, nonce, key)
    return out.raw


def decrypt(key, nonce, associated, text):
    if len(text) < 16:
        raise ValueError("too short for a tag")
    out, length = ctypes.create_string_buffer(max(1, len(text) - 16)), ctypes.c_ulonglong()
    if sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, ctypes.byref(length), None, text, ctypes.c_ulonglong(len(text)), associated,
            ctypes.c_ulonglong(len(associated)), nonce, key) != 0:
        raise ValueError("the tag does not match")
    return out.raw[:length.value]


def seal(secret, recipient, text, epoch, zone, device):
    """Seals an epoch's key to a device, with `secret` as the ephemeral key."""
    ephemeral = x25519(secret)
    key = blake(b"mesh/1/seal" + ephemeral + recipient + epoch, key=agree(secret, recipient))
    return ephemeral + encrypt(key, bytes(24), zone + epoch + device, text)


def unseal(secret, sealed, epoch, zone, device):
    key = blake(b"mesh/1/seal" + sealed[:32] + x25519(secret) + epoch, key=agree(secret, sealed[:32]))
    return decrypt(key, bytes(24), zone + epoch + device, sealed[32:])


def shown(kind, id):
    """Returns the text in which an id is displayed."""
    beginning = id[:13]
    check = zlib.crc32(kind.encode() + beginning) & 0xFFFF
    return f"{kind}-" + base64.b32encode(beginning + check.to_bytes(2, "big")).decode().lower()


def invite_text(content, prefix):
    """Returns the text of an invite with this content."""
    data = content + zlib.crc32(content).to_bytes(4, "big")
    return prefix + base64.b32encode(data).decode().lower().rstrip("=")


def invite_content(text, prefix):
    """Returns the content of an invite: base32, without padding, of content ‖ u32 CRC-32 of the content."""
    text = "".join(text.split()).lower()
    if not text.startswith(prefix):
        raise ValueError(f"no {prefix} invite")
    text = text[len(prefix):].upper()
    data = base64.b32decode(text + "=" * (-len(text) % 8))
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
        raise ValueError("the invite's checksum is wrong")
    return data[:-4]
