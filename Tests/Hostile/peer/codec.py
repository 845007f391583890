"""Every object of the wire format as a declarative description, with one encoder and one decoder for all of them.

`MESSAGES`, `ACTS` and the structures below follow the tables of `WireFormat.md`, `ControlLog.md` and `Session.md`. A
value is a dict for a structure, a list for a list, an int for a number and bytes for anything else. In the place of any
value the encoder also takes `Forged(bytes)`, which it writes as it is, and `Says(count, value)`, which it writes with
another count or length than is true.
"""

import struct
from dataclasses import dataclass


class Forged(bytes):
    """Bytes to write in the place of a value."""


@dataclass
class Says:
    """A list or string that claims to have `count` elements or bytes."""

    count: object
    value: object


class Invalid(Exception):
    """The bytes are not what the documents describe."""


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise Invalid("truncated")
        self.at += count
        return self.data[self.at - count : self.at]

    def end(self):
        if self.at != len(self.data):
            raise Invalid("trailing")


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


class Type:
    """`kind` names a numeric type; None for one that has no number of its own."""

    kind = None

    def encode(self, value):
        return bytes(value) if isinstance(value, Forged) else self.write(value)

    def children(self):
        """The parts that can hold numbers: (name, type)."""
        return []


class Fixed(Type):
    def __init__(self, kind, code):
        self.kind, self.code = kind, code

    def write(self, value):
        return struct.pack(self.code, value)

    def read(self, reader):
        return struct.unpack(self.code, reader.take(struct.calcsize(self.code)))[0]


U8, U16, U32, U64 = Fixed("u8", ">B"), Fixed("u16", ">H"), Fixed("u32", ">I"), Fixed("u64", ">Q")


class Varint(Type):
    kind = "varint"

    def write(self, value):
        return varint(value)

    def read(self, reader):
        n = shift = 0
        while True:
            byte = reader.take(1)[0]
            n |= (byte & 0x7F) << shift
            if byte < 0x80:
                if n >> 64 or (byte == 0 and shift):
                    raise Invalid("varint")
                return n
            shift += 7
            if shift > 63:
                raise Invalid("varint")


class Signed(Varint):
    kind = "signed"

    def write(self, value):
        return varint((value << 1) ^ (value >> 63))

    def read(self, reader):
        n = super().read(reader)
        return (n >> 1) ^ -(n & 1)


class Flag(Type):
    kind = "flag"

    def write(self, value):
        return bytes([int(value)])

    def read(self, reader):
        byte = reader.take(1)[0]
        if byte > 1:
            raise Invalid("flag")
        return bool(byte)


class Bytes(Type):
    def __init__(self, size):
        self.size = size

    def write(self, value):
        return bytes(value)

    def read(self, reader):
        return reader.take(self.size)


class Sized(Type):
    """A byte string with its length; `limit` bytes at most."""

    kind = "length"

    def __init__(self, limit):
        self.limit = limit

    def write(self, value):
        count = len(value)
        if isinstance(value, Says):
            count, value = value.count, value.value
        return (bytes(count) if isinstance(count, Forged) else varint(count)) + bytes(value)

    def read(self, reader):
        count = VARINT.read(reader)
        if count > self.limit:
            raise Invalid("limit")
        return reader.take(count)


Says.__len__ = lambda self: len(self.value)


class List(Type):
    kind = "count"

    def __init__(self, element, limit):
        self.element, self.limit = element, limit

    def write(self, value):
        count = len(value)
        if isinstance(value, Says):
            count, value = value.count, value.value
        return (bytes(count) if isinstance(count, Forged) else varint(count)) + b"".join(map(self.element.encode, value))

    def read(self, reader):
        count = VARINT.read(reader)
        if count > self.limit:
            raise Invalid("limit")
        return [self.element.read(reader) for _ in range(count)]

    def children(self):
        return [("[]", self.element)]


class Optional(Type):
    """A flag, then the value if the flag is 1."""

    kind = "flag"

    def __init__(self, type):
        self.type = type

    def write(self, value):
        return b"\0" if value is None else b"\1" + self.type.encode(value)

    def read(self, reader):
        return self.type.read(reader) if FLAG.read(reader) else None

    def children(self):
        return [("", self.type)]


class If(Type):
    """A value that is there if a condition on the fields before it holds."""

    def __init__(self, condition, type):
        self.condition, self.type, self.kind = condition, type, type.kind

    def children(self):
        return self.type.children()


class Rest(If):
    """A value that is there unless the bytes end before it."""

    def __init__(self, type):
        super().__init__(None, type)


class Struct(Type):
    def __init__(self, **fields):
        self.fields = fields

    def write(self, value):
        out = b""
        for name, type in self.fields.items():
            if isinstance(type, If):
                if name not in value or value[name] is None:
                    continue
                type = type.type
            try:
                out += type.encode(value[name])
            except (KeyError, TypeError, struct.error) as error:
                raise ValueError(f"{name}: {error!r}") from error
        return out

    def read(self, reader):
        value = {}
        for name, type in self.fields.items():
            if isinstance(type, Rest):
                value[name] = type.type.read(reader) if reader.at < len(reader.data) else None
            elif isinstance(type, If):
                value[name] = type.type.read(reader) if type.condition(value) else None
            else:
                value[name] = type.read(reader)
        return value

    def children(self):
        return list(self.fields.items())


class Received(dict):
    """A structure that was read, with its bytes. Nobody changes it: several members may have the same one."""

    def __init__(self, fields, data):
        super().__init__(fields)
        self.data = data


class Inside(Type):
    """A structure as a sized byte string."""

    kind = "length"
    # Bytes above which a structure is decoded once, however often it comes.
    LARGE = 16_384

    def __init__(self, type, limit):
        self.type, self.limit = type, limit
        self.large = {}

    def write(self, value):
        says = None
        if isinstance(value, Says):
            says, value = value.count, value.value
        data = bytes(value) if isinstance(value, bytes) else self.data(value)
        return Sized(self.limit).write(Says(says, data) if says is not None else data)

    def data(self, value):
        return value.data if isinstance(value, Received) else self.type.encode(value)

    def read(self, reader):
        data = Sized(self.limit).read(reader)
        if len(data) < self.LARGE:
            return decode(self.type, data)
        if data not in self.large:
            self.large[data] = Received(decode(self.type, data), data)
        return self.large[data]

    def children(self):
        return [("", self.type)]


class Variant(Type):
    """A u8 tag, then the fields of that tag; `sized` puts them into a byte string. A value is (name, fields)."""

    kind = "u8"

    def __init__(self, cases, sized=None):
        self.cases, self.sized = cases, sized
        self.names = {tag: name for name, (tag, _) in cases.items()}

    def write(self, value):
        name, fields = value
        if isinstance(name, int):
            tag, content = name, bytes(fields)
        else:
            tag, type = self.cases[name]
            content = type.encode(fields)
        return bytes([tag]) + (Sized(self.sized).write(content) if self.sized else content)

    def read(self, reader):
        tag = reader.take(1)[0]
        data = Sized(self.sized).read(reader) if self.sized else None
        if tag not in self.names:
            return tag, data if self.sized else reader.take(len(reader.data) - reader.at)
        name = self.names[tag]
        type = self.cases[name][1]
        return name, decode(type, data) if self.sized else type.read(reader)

    def children(self):
        inner = [(f"<{name}>", type) for name, (_, type) in self.cases.items()]
        return inner + ([("length", Sized(self.sized))] if self.sized else [])


VARINT, SIGNED, FLAG = Varint(), Signed(), Flag()
ID = Bytes(32)
SIGNATURE = Bytes(64)


def decode(type, data):
    reader = Reader(data)
    value = type.read(reader)
    reader.end()
    return value


# --- WireFormat.md

AUTHOR = Struct(device=ID, instance=U64)


class Value(Type):
    """A tag, then what it says. In Python: None, int, float, str, bytes, or (tag, fields) for the other tags."""

    kind = "u8"
    FORMS = {1: SIGNED, 2: U64, 3: Sized(1 << 26), 4: Sized(16_384)}
    LONG = Struct(ordinal=VARINT, size=VARINT)

    def write(self, value):
        if isinstance(value, tuple):
            tag, content = value
            if isinstance(content, (bytes, bytearray)):
                return bytes([tag]) + bytes(content)
            if tag in self.FORMS:
                return bytes([tag]) + self.FORMS[tag].encode(content)
            return bytes([tag]) + (MANIFEST if tag == 5 else self.LONG).encode(content)
        if value is None:
            return b"\0"
        if isinstance(value, int):
            return b"\1" + SIGNED.write(value)
        if isinstance(value, float):
            return b"\2" + struct.pack(">d", value)
        if isinstance(value, str):
            return b"\3" + self.FORMS[3].write(value.encode(errors="surrogateescape"))
        return b"\4" + self.FORMS[4].write(value)

    def read(self, reader):
        tag = reader.take(1)[0]
        if tag == 0:
            return None
        if tag == 1:
            return SIGNED.read(reader)
        if tag == 2:
            return struct.unpack(">d", reader.take(8))[0]
        if tag == 3:
            return self.FORMS[3].read(reader).decode(errors="surrogateescape")
        if tag == 4:
            return self.FORMS[4].read(reader)
        if tag == 5:
            return 5, MANIFEST.read(reader)
        if tag in (6, 8):
            return tag, self.LONG.read(reader)
        raise Invalid(f"value tag {tag}")

    def children(self):
        return [("integer", SIGNED), ("double", U64), ("text", Sized(0)), ("blob", Sized(0)),
                ("manifest", MANIFEST), ("long", self.LONG)]


CHUNK = 262_144


class Manifest(Struct):
    def __init__(self):
        super().__init__(key=ID, size=VARINT, hashes=Bytes(0))

    def read(self, reader):
        key, size = ID.read(reader), VARINT.read(reader)
        if not 16_384 < size <= 10**9:
            raise Invalid("limit")
        return {"key": key, "size": size, "hashes": reader.take(32 * -(-size // CHUNK))}


MANIFEST = Manifest()
VALUE = Value()

HEADER = Struct(
    version=U8, zone=ID, author=AUTHOR, number=VARINT, previous=ID, time=U64, epoch=ID, partIndex=VARINT,
    partPlanned=VARINT, final=FLAG, size=VARINT)
SIGNED_HEADER = Struct(header=HEADER, body=ID, signature=SIGNATURE)
CONTEXT = List(Struct(author=AUTHOR, number=VARINT, time=U64), 8_192)


class Row(Type):
    """A row. Its form depends on the row before it; the encoder here repeats everything unless the flags say otherwise.

    {"flags", "key", "generation", "gaps", "stamp": {"author", "time"}, "values", "own": [(author, time) or None]}
    """

    GENERATION = Struct(generation=VARINT, gaps=List(VARINT, 2_000))
    STAMP = Struct(author=VARINT, time=U64)
    OWN = Struct(author=VARINT, time=U64)

    def write(self, row):
        flags = row["flags"]
        out = U8.encode(flags) + VALUE.encode(row["key"])
        bits = flags[0] if isinstance(flags, Forged) else flags
        if not bits & 2:
            out += VARINT.encode(row["generation"]) + List(VARINT, 2_000).encode(row["gaps"])
        if not bits & 4:
            out += self.STAMP.encode(row["stamp"])
        for index, value in enumerate(row["values"]):
            if bits & 8:
                own = row["own"][index] if row.get("own") else None
                out += b"\0" if own is None else self.OWN.encode(own)
            out += VALUE.encode(value)
        return out

    def read(self, reader, before=None):
        flags = U8.read(reader)
        row = {"flags": flags, "key": VALUE.read(reader)}
        if flags & 2:
            row["generation"], row["gaps"] = before["generation"], before["gaps"]
        else:
            row.update(self.GENERATION.read(reader))
        row["stamp"] = before["stamp"] if flags & 4 else self.STAMP.read(reader)
        row["values"], row["own"] = [], []
        for _ in row["gaps"]:
            own = None
            if flags & 8:
                author = VARINT.read(reader)
                own = {"author": author, "time": U64.read(reader)} if author else None
            row["own"].append(own)
            row["values"].append(VALUE.read(reader))
        return row

    def children(self):
        return [("flags", U8), ("key", VALUE), *self.GENERATION.children(), ("stamp", self.STAMP), ("own", self.OWN),
                ("value", VALUE)]


class Rows(List):
    def __init__(self):
        super().__init__(Row(), 65_536)

    def read(self, reader):
        rows, before = [], None
        for _ in range(VARINT.read(reader)):
            before = self.element.read(reader, before)
            rows.append(before)
        return rows


TABLE = Struct(table=Sized(255), columns=List(Sized(255), 2_000), rows=Rows())
BODY = Struct(context=CONTEXT, content=Variant({
    "changes": (0, Struct(authors=List(AUTHOR, 8_192), tables=List(TABLE, 2_000))),
    "piece": (1, Struct(ordinal=VARINT, offset=VARINT, bytes=Sized(524_288))),
}))

# --- ControlLog.md

GENESIS = Struct(version=U8, signing=ID, recovery=ID, salt=Bytes(16))
REQUEST = Struct(device=ID, session=ID, sealing=ID, name=Sized(64), signature=SIGNATURE)
SUCCESSOR = Struct(version=U8, account=ID, generation=VARINT, key=ID, issued=SIGNED, signature=SIGNATURE)
PROMOTION = Struct(
    version=U8, account=ID, generation=VARINT, device=ID, serial=Bytes(16), issued=SIGNED, signature=SIGNATURE)
DEMOTION = Struct(version=U8, account=ID, generation=VARINT, serial=Bytes(16), issued=SIGNED, signature=SIGNATURE)
AUTHORITY = Struct(
    parts=U8, successor=If(lambda v: v["parts"] & 1, SUCCESSOR), promotion=If(lambda v: v["parts"] & 2, PROMOTION))
# The key of the genesis signs version 1, any other signer version 2.
SIGNER = {"generation": If(lambda v: v["version"] != 2, VARINT), "authority": If(lambda v: v["version"] == 2, AUTHORITY)}
CERTIFICATE = Struct(
    version=U8, account=ID, **SIGNER, request=REQUEST, serial=Bytes(16), issued=SIGNED, signature=SIGNATURE)
REVOCATION = Struct(
    version=U8, account=ID, **SIGNER, device=ID, serial=Bytes(16), issued=SIGNED, signature=SIGNATURE)
SIGNERS = Struct(version=U8, successor=Optional(SUCCESSOR), promotions=List(PROMOTION, 8), demotions=List(DEMOTION, 8))
STATE = Struct(
    genesis=GENESIS, certificates=List(CERTIFICATE, 768), revocations=List(REVOCATION, 768), signers=Rest(SIGNERS))
SENT_STATE = Inside(STATE, 1_114_112)

CUTS = List(Struct(author=AUTHOR, number=VARINT, id=ID), 8_192)
DEVICE_CUT = Struct(
    device=ID, number=VARINT, record=If(lambda v: v["number"], ID),
    ends=List(Struct(instance=U64, number=VARINT, id=ID), 8_192), signature=SIGNATURE)
CLAIM = Struct(
    invite=ID, key=ID, genesis=GENESIS, certificate=CERTIFICATE, byInvite=SIGNATURE, byDevice=SIGNATURE)
ACTS = {
    "genesis": (1, Struct(account=ID, nonce=ID)),
    "epoch": (2, Struct(commitment=ID)),
    "cut": (3, Struct(cut=DEVICE_CUT)),
    "title": (4, Struct(time=U64, title=Sized(64))),
    "fork": (5, Struct(first=SIGNED_HEADER, second=SIGNED_HEADER)),
    "end": (6, Struct(instance=U64, number=VARINT)),
    "share genesis": (7, Struct(account=ID, nonce=ID, table=Sized(255), key=VALUE)),
    "invite": (8, Struct(
        key=ID, permission=U8, expiry=SIGNED, uses=VARINT, redeemer=If(lambda v: v["uses"], ID),
        only=Optional(Bytes(13)))),
    "revoke invite": (9, Struct(invite=ID, staying=List(ID, 1_024))),
    "participant": (10, Struct(account=ID, permission=U8, invite=Optional(ID), cuts=CUTS)),
    "admission": (11, Struct(claim=CLAIM)),
    "leave": (12, Struct(cuts=CUTS)),
    "stop": (13, Struct()),
    "excess": (14, Struct(beginnings=List(SIGNED_HEADER, 40))),
    "authorized cut": (15, Struct(authority=AUTHORITY, cut=DEVICE_CUT)),
}
RECORD = Struct(
    version=U8, zone=ID, parents=List(ID, 64), author=ID, number=VARINT, previous=ID, act=Variant(ACTS, sized=16_384),
    signature=SIGNATURE)

# --- Session.md

VECTOR = List(Struct(author=AUTHOR, number=VARINT), 8_192)
HELLO = Struct(
    versions=Sized(16), certificate=Optional(CERTIFICATE), head=ID,
    proof=Optional(Struct(key=ID, signature=SIGNATURE)), signature=Sized(64))



COLUMN = Struct(
    name=Sized(255), type=Sized(64), flags=U8, collation=U8, default=If(lambda v: v["flags"] & 2, VALUE))
DESCRIPTION = Struct(
    name=Sized(255), flags=U8, columns=List(COLUMN, 2_000), key=VARINT,
    foreignKeys=List(Struct(column=VARINT, parent=Sized(255), onDelete=U8, onUpdate=U8), 256))


# Operands are expressions again.
EXPRESSION = Variant({"literal": (0, Struct(value=VALUE)), "column": (1, Struct(name=Sized(255)))})
for _name, _tag, _fields in (("collate", 2, Struct(collation=U8, operand=EXPRESSION)),
                             ("cast", 3, Struct(type=U8, operand=EXPRESSION)),
                             ("apply", 4, Struct(operation=U8, operands=List(EXPRESSION, 256)))):
    EXPRESSION.cases[_name], EXPRESSION.names[_tag] = (_tag, _fields), _name
RULES = Struct(
    defaults=List(Struct(column=Sized(255), expression=EXPRESSION), 2_000),
    checks=List(Struct(name=Sized(255), expression=EXPRESSION), 256),
    indexes=List(Struct(
        name=Sized(255), flags=U8, terms=List(Struct(descending=FLAG, expression=EXPRESSION), 64),
        condition=If(lambda v: v["flags"] & 2, EXPRESSION)), 64),
    leftOut=List(Struct(part=U8, name=Sized(255), reason=U8, detail=Sized(64)), 32))


class Chunks(Type):
    """The chunks that are there: a count, then a bit for each. In Python a list of bools."""

    kind = "count"

    def write(self, value):
        count = len(value)
        if isinstance(value, Says):
            count, value = value.count, value.value
        bits = bytearray(-(-len(value) // 8))
        for index, bit in enumerate(value):
            bits[index // 8] |= bool(bit) << index % 8
        return (bytes(count) if isinstance(count, Forged) else varint(count)) + bytes(bits)

    def read(self, reader):
        count = VARINT.read(reader)
        bits = reader.take(-(-count // 8))
        return [bool(bits[index // 8] >> index % 8 & 1) for index in range(count)]


BACKLOG = Struct(assets=VARINT, bytes=VARINT)
MESSAGES = {
    "hello": (1, HELLO),
    "goodbye": (2, Struct(code=U8, text=Sized(1_024))),
    "account": (3, Struct(state=SENT_STATE)),
    "claim": (4, Struct(request=REQUEST, byInvite=SIGNATURE, byDevice=SIGNATURE)),
    "admitted": (5, Struct(certificate=CERTIFICATE)),
    "zones": (6, Struct(tags=List(Bytes(16), 4_096))),
    "control heads": (7, Struct(zone=ID, heads=List(ID, 1_024))),
    "control records": (8, Struct(zone=ID, records=List(Inside(RECORD, 16_384), 64))),
    "key request": (9, Struct(zone=ID, epochs=List(ID, 64))),
    "keys": (10, Struct(zone=ID, keys=List(Struct(epoch=ID, sealed=Sized(256)), 64))),
    "want": (11, Struct(zone=ID, vector=VECTOR)),
    "change sets": (12, Struct(zone=ID, changeSets=List(Sized(1 << 20), 65_536))),
    "up to date": (13, Struct(zone=ID, vector=VECTOR)),
    "have": (14, Struct(zone=ID, vector=VECTOR)),
    "announce only": (15, Struct(zone=ID)),
    "credit": (16, Struct(bytes=VARINT)),
    "acknowledgement": (17, Struct(
        zone=ID, device=ID, time=U64, vector=VECTOR, heads=List(ID, 64), signature=SIGNATURE)),
    "digest": (18, Struct(zone=ID, vector=VECTOR, records=VARINT, hash=Sized(32), unsent=U8)),
    "digest request": (19, Struct(zone=ID)),
    "schema": (20, Struct(tables=List(DESCRIPTION, 2_000))),
    "ping": (21, Struct(number=U64)),
    "pong": (22, Struct(number=U64)),
    "tips": (23, Struct(zone=ID, tips=List(Struct(author=AUTHOR, number=VARINT, id=Bytes(16)), 8_192))),
    "excerpt request": (24, Struct(zone=ID, author=AUTHOR, number=VARINT)),
    "excerpt": (25, Struct(zone=ID, headers=List(Inside(SIGNED_HEADER, 512), 64))),
    "clock": (26, Struct(now=SIGNED)),
    "account heads": (27, Struct(heads=List(Struct(account=ID, hash=ID), 16_384))),
    "share claim": (28, Struct(zone=ID, claim=CLAIM)),
    "asset want": (29, Struct(zone=ID, asset=ID, first=VARINT, count=VARINT)),
    "asset chunk": (30, Struct(zone=ID, asset=ID, index=VARINT, bytes=Sized(CHUNK))),
    "asset has": (31, Struct(zone=ID, asset=ID, chunks=Chunks())),
    "asset backlog": (32, Struct(zone=ID, coming=BACKLOG, absent=BACKLOG)),
    "schema rules": (33, Struct(tables=List(Struct(table=Sized(255), rules=RULES), 2_000))),
    "account name": (34, Struct(title=Sized(64))),
    "column policies": (35, Struct(tables=List(Struct(
        table=Sized(255), policies=List(Struct(column=Sized(255), policy=U8, time=VARINT), 256)), 2_000))),
    "owner policies": (36, Struct(account=ID, tables=List(Struct(
        table=Sized(255), policies=List(Struct(column=Sized(255), policy=U8, time=VARINT), 256)), 2_000))),
    "former names": (37, Struct(tables=List(Struct(
        table=Sized(255), former=List(Sized(255), 16),
        columns=List(Struct(column=Sized(255), former=Sized(255)), 256)), 2_000))),
}
MESSAGE = Variant(MESSAGES)


def message(name, **fields):
    return MESSAGE.encode((name, fields))
