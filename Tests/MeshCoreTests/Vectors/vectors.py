"""Writes the annotated vectors from the specification alone, on hashlib and `cryptography`: a second implementation.

`vectors.py FILE` prints the text of that file. A test compares it with the committed one.
"""

import hashlib
import struct
import sys
import zlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

# --- Primitives


def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def zigzag(n):
    return varint((n << 1) ^ (n >> 63) if n >= 0 else ((-n) << 1) - 1)


def u64(n):
    return struct.pack(">Q", n)


def sized(b):
    return varint(len(b)) + b


def text(s):
    return sized(s.encode())


def blake(message, count=32, key=b""):
    return hashlib.blake2b(message, digest_size=count, key=key).digest()


def sign(seed, context, message):
    context = context.encode()
    return Ed25519PrivateKey.from_private_bytes(seed).sign(bytes([len(context)]) + context + message)


def ed25519(seed):
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def x25519(secret):
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def hchacha20(key, nonce):
    """The 32-byte subkey of XChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2)."""
    s = list(struct.unpack("<16I", b"expand 32-byte k" + key + nonce))

    def quarter(a, b, c, d):
        for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xFFFFFFFF
            mixed = s[z] ^ s[x]
            s[z] = (mixed << turn | mixed >> (32 - turn)) & 0xFFFFFFFF

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<8I", *(s[:4] + s[12:]))


def encrypt(plaintext, key, nonce, associated):
    cipher = ChaCha20Poly1305(hchacha20(key, nonce[:16]))
    return cipher.encrypt(bytes(4) + nonce[16:], plaintext, associated)


def base32(b):
    bits = "".join(f"{byte:08b}" for byte in b)
    bits += "0" * (-len(bits) % 5)
    return "".join("abcdefghijklmnopqrstuvwxyz234567"[int(bits[i : i + 5], 2)] for i in range(0, len(bits), 5))


def displayed(kind, identifier):
    head = identifier[:13]
    check = zlib.crc32(kind.encode() + head) & 0xFFFF
    return kind + "-" + base32(head + struct.pack(">H", check))


# --- The people and places of the vectors: every seed is one byte, repeated


def fill(byte, count=32):
    return bytes([byte]) * count


class Device:
    def __init__(self, first, name):
        self.seed, session, sealing = fill(first), fill(first + 1), fill(first + 2)
        self.id, self.session, self.sealing = ed25519(self.seed), x25519(session), x25519(sealing)
        self.name = name


account_seed, recovery_seed = fill(0x01), fill(0x02)
genesis = b"\x01" + ed25519(account_seed) + ed25519(recovery_seed) + fill(0x03, 16)
account = blake(genesis)
desk, lap = Device(0x11, "desk"), Device(0x21, "lap")
zone_nonce = fill(0x41)
zone = blake(account + zone_nonce)
epoch_key = fill(0x51)
handshake_hash = fill(0x61, 64)
device_invite_seed = fill(0x31)
share_invite_seed = fill(0x32)
NOW = 1_800_000_000_000  # milliseconds
INSTANCES = {desk.id: 0x0102030405060708, lap.id: 0x1112131415161718}


def author(device):
    return device.id + u64(INSTANCES[device.id])


def time(milliseconds, counter=0):
    return u64(milliseconds << 16 | counter)


# --- Annotated output

lines = []


def section(name, *notes):
    lines.append("")
    lines.append(f"[{name}]")
    lines.extend("# " + note for note in notes)


def row(b, note):
    """Prints up to 32 bytes a line, the note beside the first; returns the bytes."""
    chunks = [b[i : i + 32].hex() for i in range(0, len(b), 32)] or [""]
    lines.append(f"{chunks[0]}  # {note}")
    lines.extend(chunks[1:])
    return b


def shown(s):
    lines.append("= " + s)


def rows(*pairs):
    return b"".join(row(b, note) for b, note in pairs)


# --- Identifiers and accounts


def author_rows(device):
    return [(device.id, f"device: {device.name}"), (u64(INSTANCES[device.id]), "instance")]


def request_rows(device):
    unsigned = [
        (device.id, "device: Ed25519 public key"),
        (device.session, "X25519 public key of sessions"),
        (device.sealing, "X25519 public key of sealing"),
        (text(device.name), "name: length, UTF-8"),
    ]
    signature = sign(device.seed, "mesh/1/request", account + joined(unsigned))
    return unsigned + [(signature, "signature by the device, over the account and all before")]


def certificate_rows(device):
    unsigned = [
        (b"\x01", "version"),
        (account, "account"),
        (varint(0), "generation of the signing key"),
        *request_rows(device),
        (fill(device.id[0], 16), "serial"),
        (zigzag(NOW), "issued, milliseconds: zigzag varint"),
    ]
    signature = sign(account_seed, "mesh/1/certificate", b"".join(b for b, _ in unsigned))
    return unsigned + [(signature, "signature by the account")]


def revocation_rows(device):
    unsigned = [
        (b"\x01", "version"),
        (account, "account"),
        (varint(0), "generation of the signing key"),
        (device.id, "device"),
        (fill(device.id[0], 16), "serial of its certificate"),
        (zigzag(NOW + 1), "issued, milliseconds: zigzag varint"),
    ]
    signature = sign(account_seed, "mesh/1/revocation", b"".join(b for b, _ in unsigned))
    return unsigned + [(signature, "signature by the account")]


def genesis_rows():
    return [
        (b"\x01", "version"),
        (ed25519(account_seed), "signing key"),
        (ed25519(recovery_seed), "recovery key"),
        (fill(0x03, 16), "salt"),
    ]


def state_rows():
    ordered = sorted((desk, lap), key=lambda device: device.id)
    result = genesis_rows() + [(varint(2), "certificates")]
    for device in ordered:
        result += certificate_rows(device)
    return result + [(varint(1), "revocations")] + revocation_rows(lap)


next_seed = fill(0x05)


def successor_rows():
    unsigned = [
        (b"\x01", "version of the successor"),
        (account, "account"),
        (varint(1), "generation of the key"),
        (ed25519(next_seed), "signing key"),
        (zigzag(NOW + 2), "issued, milliseconds: zigzag varint"),
    ]
    return unsigned + [(sign(recovery_seed, "mesh/1/successor", joined(unsigned)), "signature by the recovery key")]


def promotion_rows(device):
    unsigned = [
        (b"\x01", "version of the promotion"),
        (account, "account"),
        (varint(1), "generation of the key that signs"),
        (device.id, "device"),
        (fill(0x44, 16), "serial"),
        (zigzag(NOW + 3), "issued, milliseconds: zigzag varint"),
    ]
    return unsigned + [(sign(next_seed, "mesh/1/promotion", joined(unsigned)), "signature by the account's key")]


def demotion_rows():
    unsigned = [
        (b"\x01", "version of the demotion"),
        (account, "account"),
        (varint(1), "generation of the key that signs"),
        (fill(0x44, 16), "serial of the promotion"),
        (zigzag(NOW + 4), "issued, milliseconds: zigzag varint"),
    ]
    return unsigned + [(sign(next_seed, "mesh/1/demotion", joined(unsigned)), "signature by the account's key")]


def authority_rows(administrator=None):
    if administrator is None:
        return [(b"\x01", "authority: a successor")] + successor_rows()
    return [(b"\x03", "authority: a successor and a promotion")] + successor_rows() + promotion_rows(administrator)


def authorized_rows(device, administrator=None):
    """A certificate by a later key, or by an administrator."""
    unsigned = [
        (b"\x02", "version"),
        (account, "account"),
        *authority_rows(administrator),
        *request_rows(device),
        (fill(device.id[0], 16), "serial"),
        (zigzag(NOW), "issued, milliseconds: zigzag varint"),
    ]
    seed = administrator.seed if administrator else next_seed
    return unsigned + [(sign(seed, "mesh/1/certificate", joined(unsigned)), "signature by that key")]


def authorized_revocation_rows(device, administrator):
    unsigned = [
        (b"\x02", "version"),
        (account, "account"),
        *authority_rows(administrator),
        (device.id, "device"),
        (fill(device.id[0], 16), "serial of its certificate"),
        (zigzag(NOW + 1), "issued, milliseconds: zigzag varint"),
    ]
    return unsigned + [(sign(administrator.seed, "mesh/1/revocation", joined(unsigned)), "signature by that key")]


def later_state_rows():
    certificates = {desk.id: authorized_rows(desk), lap.id: authorized_rows(lap, desk)}
    result = genesis_rows() + [(varint(2), "certificates")]
    for device in sorted(certificates):
        result += certificates[device]
    result += [(varint(1), "revocations")] + authorized_revocation_rows(lap, desk)
    result += [(b"\x01", "version of what follows"), (b"\x01", "a successor follows"), *successor_rows()]
    result += [(varint(1), "promotions"), *promotion_rows(desk)]
    return result + [(varint(0), "demotions")]


def joined(pairs):
    return b"".join(b for b, _ in pairs)


def primitives():
    for number in (0, 1, 127, 128, 300, 2**32, 2**63, 2**64 - 1):
        section(f"varint {number}")
        row(varint(number), str(number))
    for number in (0, -1, 1, -64, 64, 2**63 - 1, -(2**63)):
        section(f"signed {number}")
        row(zigzag(number), str(number))
    section("uint16 258")
    row(struct.pack(">H", 258), "big-endian")
    section("uint32 16909060")
    row(struct.pack(">I", 16909060), "big-endian")
    section("uint64 72623859790382856")
    row(u64(72623859790382856), "big-endian")
    section("signed bytes", "what a signature in context mesh/1/hello covers, of the two bytes ab cd")
    rows((b"\x0c", "length of the context"), (b"mesh/1/hello", "context"), (b"\xab\xcd", "the bytes"))


def identifiers():
    section("account")
    row(account, "BLAKE2b-256 of the genesis")
    shown(displayed("account", account))
    section("device")
    row(desk.id, "Ed25519 public key of the seed 11…11")
    shown(displayed("device", desk.id))
    section("zone")
    row(zone, "BLAKE2b-256(account ‖ 41…41)")
    shown(displayed("zone", zone))
    section("author")
    rows(*author_rows(desk))
    shown(displayed("device", desk.id) + "/102030405060708")


def accounts():
    section("genesis")
    rows(*genesis_rows())
    section("request")
    rows(*request_rows(desk))
    section("certificate desk")
    rows(*certificate_rows(desk))
    section("certificate lap")
    rows(*certificate_rows(lap))
    section("revocation lap")
    rows(*revocation_rows(lap))
    section("state", "certificates, then revocations, each ascending by device")
    rows(*state_rows())
    section("head", "BLAKE2b-256 of the state")
    row(blake(joined(state_rows())), "head")
    section("certificate desk by a later key")
    rows(*authorized_rows(desk))
    section("certificate lap by an administrator")
    rows(*authorized_rows(lap, desk))
    section("revocation lap by an administrator")
    rows(*authorized_revocation_rows(lap, desk))
    section("demotion")
    rows(*demotion_rows())
    section("state of a later key", "certificates, revocations, then who signs")
    rows(*later_state_rows())


# --- Values and change sets


def values():
    def real(number):
        return b"\x02" + struct.pack(">d", number)

    for name, b in (
        ("null", b"\x00"),
        ("integer zero", b"\x01" + zigzag(0)),
        ("integer minus one", b"\x01" + zigzag(-1)),
        ("integer greatest", b"\x01" + zigzag(2**63 - 1)),
        ("integer least", b"\x01" + zigzag(-(2**63))),
        ("real zero", real(0.0)),
        ("real minus zero", real(-0.0)),
        ("real one and a half", real(1.5)),
        ("real infinity", real(float("inf"))),
        ("text empty", b"\x03" + sized(b"")),
        ("text with NUL", b"\x03" + sized(b"a\0b")),
        ("text not UTF-8", b"\x03" + sized(b"\xff\xfe")),
        ("blob empty", b"\x04" + sized(b"")),
        ("blob", b"\x04" + sized(b"\x00\x01\x02")),
    ):
        section(name)
        row(b, "tag, then the payload")
    for name, b in (
        ("refused: NaN", b"\x02" + bytes.fromhex("7ff8000000000000")),
        ("refused: NaN with a sign and a payload", b"\x02" + bytes.fromhex("fff0000000000001")),
        ("refused: reserved tag 5", b"\x05"),
        ("refused: reserved tag 7", b"\x07"),
        ("refused: varint longer than needed", b"\x01\x80\x00"),
        ("refused: text that ends too early", b"\x03\x05ab"),
    ):
        section(name)
        row(b, "")


def header_rows(size):
    return [
        (b"\x01", "version"),
        (zone, "zone"),
        *author_rows(desk),
        (varint(2), "number"),
        (fill(0x81), "id of the author's change set before"),
        (time(NOW, 7), "hybrid time: 48 bits of milliseconds, 16 of counter"),
        (fill(0x91), "epoch"),
        (varint(0), "part: index"),
        (varint(3), "part: planned"),
        (b"\x00", "part: final flag"),
        (varint(size), "bytes of nonce, ciphertext and tag"),
    ]


def context_rows():
    return [
        (varint(1), "context: entries"),
        *author_rows(lap),
        (varint(300), "number"),
        (time(NOW - 1000), "hybrid time of that change set"),
    ]


def body_rows():
    first = time(NOW, 1)
    return context_rows() + [
        (b"\x00", "kind: changes"),
        (varint(1), "other authors"),
        *author_rows(lap),
        (varint(2), "tables"),
        (text("lists"), "table"),
        (varint(2), "columns"),
        (text("title"), "column 0"),
        (text("position"), "column 1"),
        (varint(3), "rows"),
        (b"\x01", "row 1: a birth"),
        (b"\x03" + text("a"), "key: text"),
        (varint(1), "generation"),
        (varint(2), "fields"),
        (varint(0) + varint(0), "columns 0 and 1, as gaps"),
        (varint(0) + first, "stamp: own author, time"),
        (b"\x03" + text("Milk"), "title"),
        (b"\x01" + zigzag(1), "position"),
        (b"\x07", "row 2: a birth, shape and stamp as before"),
        (b"\x03" + text("b"), "key: text"),
        (b"\x03" + text(""), "title"),
        (b"\x00", "position: NULL"),
        (b"\x0b", "row 3: a birth, shape as before, fields with stamps of their own"),
        (b"\x01" + zigzag(-3), "key: integer"),
        (varint(0) + time(NOW, 2), "stamp: own author, time"),
        (varint(0), "title: the row's stamp"),
        (b"\x06" + varint(0) + varint(2_000_000), "title: long text 0, of 2,000,000 bytes"),
        (varint(2) + time(NOW - 5000), "position: a stamp of other author 1"),
        (b"\x02" + struct.pack(">d", -0.0), "position"),
        (text("Items é"), "table"),
        (varint(3), "columns"),
        (text("x"), "column 0"),
        (text("y"), "column 1"),
        (text("z"), "column 2"),
        (varint(2), "rows"),
        (b"\x00", "row 1: an edit"),
        (b"\x04" + sized(b"\x00\xff"), "key: blob"),
        (varint(3), "generation"),
        (varint(2), "fields"),
        (varint(0) + varint(1), "columns 0 and 2, as gaps"),
        (varint(0) + first, "stamp: own author, time"),
        (b"\x04" + sized(b""), "x: empty blob, which is not NULL"),
        (b"\x00", "z: NULL"),
        (b"\x05", "row 2: a delete, stamp as before"),
        (b"\x03" + text("c"), "key: text"),
        (varint(2), "generation"),
        (varint(0), "fields"),
    ]


def piece_rows():
    return [
        (varint(0), "context: entries"),
        (b"\x01", "kind: piece"),
        (varint(4), "ordinal of the long value in its unit"),
        (varint(524_288), "offset"),
        (sized(b"last bytes"), "bytes"),
    ]


# An asset of two chunks.
CHUNK = 262_144
content = bytes(i % 251 for i in range(300_000))
asset_key = blake(b"mesh/1/asset" + zone)
chunk_hashes = [blake(content[i : i + CHUNK], 32, asset_key) for i in range(0, len(content), CHUNK)]
asset = blake(b"mesh/1/asset" + u64(len(content)) + b"".join(chunk_hashes), 32, asset_key)


def manifest_rows():
    return [
        (asset_key, "key of all hashes below"),
        (varint(len(content)), "size"),
        *((h, f"chunk {i}: keyed BLAKE2b-256 of its bytes") for i, h in enumerate(chunk_hashes)),
    ]


def asset_body_rows():
    return [
        (varint(0), "context: entries"),
        (b"\x00", "kind: changes"),
        (varint(0), "other authors"),
        (varint(1), "tables"),
        (text("photos"), "table"),
        (varint(1), "columns"),
        (text("image"), "column 0"),
        (varint(1), "rows"),
        (b"\x01", "row 1: a birth"),
        (b"\x03" + text("a"), "key: text"),
        (varint(1), "generation"),
        (varint(1), "fields"),
        (varint(0), "column 0, as gap"),
        (varint(0) + time(NOW, 1), "stamp: own author, time"),
        (b"\x05", "image: an asset"),
        *manifest_rows(),
    ]


def change_sets():
    section("header", "a first part of three, whose body has 40 bytes")
    rows(*header_rows(40))
    section("body")
    rows(*body_rows())
    section("piece")
    rows(*piece_rows())
    section("asset key")
    row(asset_key, "BLAKE2b-256(mesh/1/asset ‖ zone)")
    section("manifest", "of 300,000 bytes; the byte at i is i modulo 251")
    rows(*manifest_rows())
    section("asset id", "BLAKE2b-256(mesh/1/asset ‖ u64 size ‖ hashes), keyed")
    row(asset, "id")
    section("body with an asset")
    rows(*asset_body_rows())
    section("epoch key")
    row(epoch_key, "symmetric key of the epoch")
    section("commitment")
    row(blake(b"mesh/1/commit" + epoch_key), "BLAKE2b-256(mesh/1/commit ‖ key)")
    body_key, nonce_key = (blake(label, 32, epoch_key) for label in (b"mesh/1/body", b"mesh/1/nonce"))
    section("body key")
    row(body_key, "BLAKE2b-256(mesh/1/body), keyed with the epoch key")
    section("nonce key")
    row(nonce_key, "BLAKE2b-256(mesh/1/nonce), keyed with the epoch key")
    section("change set", "header of above, and body of above encrypted")
    body = joined(body_rows())
    header = header_rows(24 + len(body) + 16)
    head = joined(header)
    nonce = blake(head + body, 24, nonce_key)
    ciphertext = encrypt(body, body_key, nonce, head)
    identifier = blake(head + blake(nonce + ciphertext))
    rows(
        *header,
        (nonce, "nonce: BLAKE2b-192(header ‖ body), keyed with the nonce key"),
        (ciphertext[:-16], "ciphertext: XChaCha20-Poly1305, associated data is the header"),
        (ciphertext[-16:], "tag"),
        (sign(desk.seed, "mesh/1/changeset", identifier), "signature of the id by the device"),
    )
    section("id", "BLAKE2b-256(header ‖ BLAKE2b-256(nonce ‖ ciphertext ‖ tag))")
    row(identifier, "id")


# --- Control log


def control_rows(parents, number, previous, tag, act):
    unsigned = [
        (b"\x01", "version"),
        (zone, "zone"),
        (varint(len(parents)), "parents, ascending"),
        *[(parent, "parent") for parent in sorted(parents)],
        (desk.id, "author"),
        (varint(number), "number"),
        (previous, "the author's record before; zero for none"),
        (bytes([tag]), "act"),
        (varint(len(joined(act))), "bytes of the act"),
        *act,
    ]
    return unsigned + [(sign(desk.seed, "mesh/1/control", joined(unsigned)), "signature by the author")]


def control_id(pairs):
    return blake(joined(pairs)[:-64])


def control_records():
    opening = control_rows([], 1, bytes(32), 1, [(account, "account"), (zone_nonce, "nonce")])
    first = control_id(opening)
    epoch = control_rows(
        [first], 2, first, 2, [(blake(b"mesh/1/commit" + epoch_key), "commitment to the key of the epoch")]
    )
    second = control_id(epoch)
    points = [
        (lap.id, "device"),
        (varint(9), "number of its last control record"),
        (fill(0xA3), "id of that record"),
        (varint(2), "instances, ascending"),
        (u64(5), "instance"),
        (varint(1), "last number"),
        (fill(0xA1), "id of that change set"),
        (u64(INSTANCES[lap.id]), "instance"),
        (varint(300), "last number"),
        (fill(0xA2), "id of that change set"),
    ]
    points.append((sign(account_seed, "mesh/1/cut", zone + joined(points)), "signature by the account, over the zone and the act"))
    cut = control_rows([second, fill(0xB1)], 3, second, 3, points)
    third = control_id(cut)
    title = control_rows([third], 4, third, 4, [(time(NOW, 3), "hybrid time"), (text("Home"), "title")])
    fork = control_rows([control_id(title)], 5, control_id(title), 5, fork_rows())
    end = control_rows(
        [control_id(fork)], 6, control_id(fork), 6, [(u64(INSTANCES[desk.id]), "instance"), (varint(7), "last number")]
    )
    share_nonce = [(account, "account"), (zone_nonce, "nonce")]
    root = [*share_nonce, (text("lists"), "table of the root record"), (b"\x03" + text("a"), "its key: text")]
    acts = [
        ("share genesis", 7, root),
        ("open invite", 8, invite_rows(1, [(varint(0), "uses: open")], [(b"\x00", "any account")])),
        (
            "invite",
            8,
            invite_rows(
                2,
                [(varint(3), "uses"), (desk.id, "the device that redeems")],
                [(b"\x01", "an account follows"), (fill(0xD1)[:13], "the only account that it lets in: the beginning of its id")],
            ),
        ),
        ("revoke invite", 9, [(fill(0xB2), "invite"), (varint(1), "accounts that stay, ascending"), (fill(0xD1), "account")]),
        (
            "participant",
            10,
            [(fill(0xD1), "account"), (b"\x02", "permission: read-write"), (b"\x01", "an invite follows"), (fill(0xB2), "invite"), (varint(0), "cuts")],
        ),
        (
            "removal",
            10,
            [(fill(0xD1), "account"), (b"\x00", "permission: none"), (b"\x00", "no invite"), *cuts_rows()],
        ),
        ("leave", 12, cuts_rows()),
        ("stop", 13, []),
    ]
    made = {}
    previous, number = end, 7
    for name, tag, act in acts:
        made[name] = control_rows([control_id(previous)], number, control_id(previous), tag, act)
        previous, number = made[name], number + 1
    claim = claim_of_share_rows(control_id(made["invite"]))
    made["admission"] = control_rows([control_id(previous)], number, control_id(previous), 11, claim)
    previous, number = made["admission"], number + 1
    unknown = control_rows([control_id(previous)], number, control_id(previous), 200, [(b"\x01\x02\x03", "an act of the future")])
    return {
        "genesis": opening,
        "epoch": epoch,
        "cut": cut,
        "title": title,
        "fork": fork,
        "end": end,
        **made,
        "unknown act": unknown,
    }


def invite_rows(permission, use, bound):
    return [
        (ed25519(share_invite_seed), "public half of the secret"),
        (bytes([permission]), "permission"),
        (zigzag(NOW + 900_000), "expires, milliseconds: zigzag varint"),
        *use,
        *bound,
    ]


def cuts_rows():
    return [
        (varint(1), "cuts, ascending by author"),
        *author_rows(lap),
        (varint(300), "last number"),
        (fill(0xA2), "id of that change set"),
    ]


def claim_of_share_rows(invite):
    certificate = joined(certificate_rows(lap))
    claimed = invite + zone + blake(certificate)
    return [
        (invite, "invite"),
        (ed25519(share_invite_seed), "public half of its secret"),
        *genesis_rows(),
        *certificate_rows(lap),
        (sign(share_invite_seed, "mesh/1/claim", claimed), "signature by the invite, over its id, the zone and the certificate's hash"),
        (sign(lap.seed, "mesh/1/claim", claimed), "signature by the device, over the same"),
    ]


def fork_rows():
    def branch(text):
        head = joined(header_rows(40 + len(text)))
        body = blake(fill(0x00, 40) + text)
        identifier = blake(head + body)
        signature = sign(desk.seed, "mesh/1/changeset", identifier)
        return identifier, [(head, "header"), (body, "hash of what is sealed"), (signature, "signature by its author")]

    branches = sorted([branch(b"one"), branch(b"other")])
    return branches[0][1] + branches[1][1]


def control():
    for name, pairs in control_records().items():
        section(name)
        rows(*pairs)
        section(name + " id", "BLAKE2b-256 of all but the signature")
        row(control_id(pairs), "id")
    section("fork proof", "the act of above alone")
    rows(*fork_rows())


# --- Sessions


def hello_rows():
    unsigned = [
        (sized(b"\x03"), "versions"),
        (b"\x01", "a certificate follows"),
        *certificate_rows(desk),
        (blake(joined(state_rows())), "head of the account"),
        (b"\x00", "no proof of an invite"),
    ]
    binding = b"\x00" + handshake_hash + lap.session
    signature = sign(desk.seed, "mesh/1/hello", binding + joined(unsigned))
    return unsigned + [(sized(signature), "signature by the device: length, bytes")]


def proof_rows():
    return [
        (ed25519(device_invite_seed), "public half of the invite"),
        (sign(device_invite_seed, "mesh/1/invite", handshake_hash), "signature of the handshake hash by the invite"),
    ]


def joining_rows():
    return [
        (sized(b"\x03"), "versions"),
        (b"\x00", "no certificate"),
        (bytes(32), "head of the account: not known"),
        (b"\x01", "a proof follows"),
        *proof_rows(),
        (varint(0), "no signature"),
    ]


def claim_rows():
    request = joined(request_rows(lap))
    claimed = ed25519(device_invite_seed) + account + request
    return request_rows(lap) + [
        (sign(device_invite_seed, "mesh/1/claim", claimed), "signature by the invite"),
        (sign(lap.seed, "mesh/1/claim", claimed), "signature by the device"),
    ]


def vector_rows():
    ordered = sorted((desk, lap), key=lambda device: device.id)
    result = [(varint(2), "authors, ascending")]
    for device in ordered:
        result += author_rows(device) + [(varint({desk.id: 2, lap.id: 300}[device.id]), "number")]
    return result


def acknowledgement_rows():
    unsigned = [
        (zone, "zone"),
        (desk.id, "device"),
        (time(NOW, 9), "hybrid time"),
        *vector_rows(),
        (varint(1), "control heads"),
        (control_id(control_records()["epoch"]), "control record"),
    ]
    return unsigned + [(sign(desk.seed, "mesh/1/acknowledgement", joined(unsigned)), "signature by the device")]


def sealed_key(epoch):
    ephemeral = X25519PrivateKey.from_private_bytes(fill(0x71))
    point = x25519(fill(0x71))
    agreement = ephemeral.exchange(X25519PublicKey.from_public_bytes(lap.sealing))
    key = blake(b"mesh/1/seal" + point + lap.sealing + epoch, 32, agreement)
    return point + encrypt(epoch_key, key, bytes(24), zone + epoch + lap.id)


def schema_rows():
    return [
        (varint(1), "tables"),
        (text("items"), "name"),
        (b"\x03", "flags: STRICT 1, WITHOUT ROWID 2, AUTOINCREMENT 4, private 8"),
        (varint(3), "columns"),
        (text("id") + text("TEXT") + b"\x01\x00", "name, declared type, flags: NOT NULL 1, collation: BINARY 0"),
        (text("list") + text("TEXT") + b"\x00\x01", "collation: NOCASE 1"),
        (text("done") + text("INTEGER") + b"\x03\x00", "flags: NOT NULL 1, default 2"),
        (b"\x01" + zigzag(0), "default: a value"),
        (varint(0), "column of the key"),
        (varint(1), "foreign keys"),
        (varint(1) + text("lists") + b"\x04\x00", "column, parent, on delete: CASCADE 4, on update: none 0"),
    ]


def rules_rows():
    return [
        (varint(1), "tables"),
        (text("items"), "name"),
        (varint(1) + text("list"), "defaults: column"),
        (b"\x04\x04" + varint(0), "operation: CURRENT_TIMESTAMP, operands"),
        (varint(1) + text("ordered"), "CHECKs: name"),
        (b"\x04\x10" + varint(2), "operation: OR, operands"),
        (b"\x04\x30" + varint(1) + b"\x01" + text("list"), "operation: ISNULL, operands: column"),
        (b"\x04\x18" + varint(2) + b"\x01" + text("done") + b"\x00\x01" + zigzag(-1), "operation: >, operands: column, literal"),
        (varint(1) + text("by_list"), "indexes: name"),
        (b"\x02", "flags: condition 2"),
        (varint(1) + b"\x01", "terms: descending"),
        (b"\x02\x01\x01" + text("list"), "collate: NOCASE, of a column"),
        (b"\x04\x36" + varint(2), "condition: operation LIKE, operands"),
        (b"\x03\x01\x01" + text("done"), "cast: to TEXT, of a column"),
        (b"\x00\x03" + text("1%"), "literal: a value"),
        (varint(1) + b"\x01" + text("") + b"\x01" + text("regexp"), "left out: a CHECK, name, reason: a function, its name"),
    ]


def device_invite_bytes():
    content = b"\x01" + device_invite_seed + account + zigzag(NOW + 900_000)
    content += varint(2) + text("192.0.2.7:7404") + text("[2001:db8::7]:7404")
    return content


def zone_tag(role):
    return blake(b"mesh/1/zonetag" + bytes([role]) + handshake_hash, 16, zone)


def session():
    records = control_records()
    epoch = control_id(records["epoch"])
    genesis_record, epoch_record = joined(records["genesis"]), joined(records["epoch"])
    at_zone = (zone, "zone")
    of_asset = (asset, "asset")
    messages = (
        ("hello", 1, hello_rows()),
        ("hello of a joining device", 1, joining_rows()),
        ("goodbye", 2, [(b"\x03", "code: revoked"), (text("the account revoked this device"), "text")]),
        ("account", 3, [(varint(len(joined(state_rows()))), "bytes of the state"), *state_rows()]),
        ("claim", 4, claim_rows()),
        ("admitted", 5, certificate_rows(lap)),
        ("zones", 6, [(varint(2), "tags"), (zone_tag(0), "of the zone, from the dialler"), (fill(0xC1, 16), "another")]),
        ("control heads", 7, [at_zone, (varint(1), "heads"), (epoch, "control record")]),
        (
            "control records",
            8,
            [
                at_zone,
                (varint(2), "records, parents first"),
                (sized(genesis_record), "genesis: length, bytes"),
                (sized(epoch_record), "epoch: length, bytes"),
            ],
        ),
        ("key request", 9, [at_zone, (varint(1), "epochs"), (epoch, "epoch")]),
        (
            "keys",
            10,
            [at_zone, (varint(1), "epochs, ascending"), (epoch, "epoch"), (sized(sealed_key(epoch)), "key, sealed to lap")],
        ),
        ("want", 11, [at_zone, *vector_rows()]),
        ("change sets", 12, [at_zone, (varint(2), "change sets"), (sized(b"\x01\x02"), "bytes"), (sized(b"\x03"), "bytes")]),
        ("up to date", 13, [at_zone, *vector_rows()]),
        ("have", 14, [at_zone, *vector_rows()]),
        ("announce only", 15, [at_zone]),
        ("credit", 16, [(varint(2_097_152), "bytes")]),
        ("acknowledgement", 17, acknowledgement_rows()),
        (
            "digest",
            18,
            [
                at_zone,
                *vector_rows(),
                (varint(1000), "live records"),
                (sized(fill(0xD1, 16)), "hash: length, bytes"),
                (b"\x02", "unsent: rows that cannot be sent"),
            ],
        ),
        ("digest request", 19, [at_zone]),
        ("schema", 20, schema_rows()),
        ("ping", 21, [(u64(15), "any number")]),
        ("pong", 22, [(u64(15), "the ping's number")]),
        (
            "tips",
            23,
            [at_zone, (varint(1), "authors, ascending"), *author_rows(desk), (varint(2), "number"), (fill(0x81, 16), "beginning of the id")],
        ),
        ("excerpt request", 24, [at_zone, *author_rows(desk), (varint(2), "number")]),
        ("excerpt", 25, [at_zone, (varint(1), "change sets"), (sized(b"\x01\x02"), "header, hash, signature")]),
        ("clock", 26, [(zigzag(NOW), "milliseconds: zigzag varint")]),
        (
            "account heads",
            27,
            [(varint(1), "accounts, ascending"), (account, "account"), (blake(joined(state_rows())), "head of its state")],
        ),
        ("share claim", 28, [at_zone, *claim_of_share_rows(control_id(records["invite"]))]),
        ("asset want", 29, [at_zone, of_asset, (varint(130), "first chunk"), (varint(8), "chunks")]),
        ("asset chunk", 30, [at_zone, of_asset, (varint(130), "index"), (sized(b"\x01\x02\x03"), "bytes")]),
        (
            "asset has",
            31,
            [at_zone, of_asset, (varint(10), "chunks of the asset"), (b"\x85\x02", "those that are here: 0, 2, 7 and 9")],
        ),
        (
            "asset backlog",
            32,
            [
                at_zone,
                (varint(3) + varint(900_000_000), "coming: assets, bytes"),
                (varint(1) + varint(20_000), "absent: assets, bytes"),
            ],
        ),
        ("schema rules", 33, rules_rows()),
        ("account name", 34, [(text("Zoë"), "what the sender's account is called")]),
        (
            "column policies",
            35,
            [
                (varint(1), "tables"),
                (text("items"), "name"),
                (varint(2) + text("done") + b"\x03" + varint(NOW), "policies: column, counter 3, milliseconds"),
                (text("list") + b"\x00" + varint(1), "column, last 0, milliseconds"),
            ],
        ),
        (
            "owner policies",
            36,
            [
                (account, "account"),
                (varint(1), "tables"),
                (text("items"), "name"),
                (varint(1) + text("done") + b"\x04" + varint(NOW), "policies: column, keepBoth 4, milliseconds"),
            ],
        ),
        (
            "former names",
            37,
            [
                (varint(1), "tables"),
                (text("items"), "name"),
                (varint(2) + text("things") + text("entries"), "former names: things, entries"),
                (varint(1) + text("done") + text("isDone"), "columns: done was isDone"),
            ],
        ),
        ("asset has of none", 31, [at_zone, of_asset, (varint(0), "no record of the zone uses such an asset here")]),
    )
    for name, tag, pairs in messages:
        section(name)
        rows((bytes([tag]), "tag"), *pairs)
    section("zone tag of the listener")
    row(zone_tag(1), "BLAKE2b-128(mesh/1/zonetag ‖ role ‖ handshake hash), keyed with the zone's id")
    section("device invite")
    content = device_invite_bytes()
    check = struct.pack(">I", zlib.crc32(content))
    rows(
        (b"\x01", "version"),
        (device_invite_seed, "seed"),
        (account, "account"),
        (zigzag(NOW + 900_000), "expires, milliseconds: zigzag varint"),
        (varint(2), "addresses"),
        (text("192.0.2.7:7404"), "address"),
        (text("[2001:db8::7]:7404"), "address"),
        (check, "CRC-32 of all before"),
    )
    shown("mesh-device-" + base32(content + check))
    section("share invite")
    invite = control_id(records["invite"])
    content = b"\x01" + share_invite_seed + zone + account + invite + varint(1) + text("192.0.2.7:7404")
    check = struct.pack(">I", zlib.crc32(content))
    rows(
        (b"\x01", "version"),
        (share_invite_seed, "seed"),
        (zone, "zone"),
        (account, "owner"),
        (invite, "control record of the invite"),
        (varint(1), "addresses"),
        (text("192.0.2.7:7404"), "address"),
        (check, "CRC-32 of all before"),
    )
    shown("mesh-share-" + base32(content + check))


FILES = {
    "primitives.txt": primitives,
    "identifiers.txt": identifiers,
    "accounts.txt": accounts,
    "values.txt": values,
    "changesets.txt": change_sets,
    "control.txt": control,
    "session.txt": session,
}

if __name__ == "__main__":
    lines.append("# Written by vectors.py. Hexadecimal bytes; # begins a comment, [ ] a vector, = its displayed text.")
    FILES[sys.argv[1]]()
    print("\n".join(lines))
