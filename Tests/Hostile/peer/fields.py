"""Goes through every field of the wire format: names them, and replaces one by a forged value.

A field's name is `SECTION: path`. A section is a message, an act, or a structure that several of them contain.
"""

from . import codec
from .codec import Forged, Says

SECTIONS = {
    **{f"message {name}": type for name, (_, type) in codec.MESSAGES.items()},
    **{f"act {name}": type for name, (_, type) in codec.ACTS.items()},
    "control record": codec.RECORD,
    "genesis": codec.GENESIS,
    "certificate request": codec.REQUEST,
    "certificate": codec.CERTIFICATE,
    "revocation": codec.REVOCATION,
    "account state": codec.STATE,
    "successor": codec.SUCCESSOR,
    "promotion": codec.PROMOTION,
    "demotion": codec.DEMOTION,
    "authority": codec.AUTHORITY,
    "claim": codec.CLAIM,
    "value": codec.VALUE,
    "manifest": codec.MANIFEST,
    "header": codec.HEADER,
    "body": codec.BODY,
    "table": codec.TABLE,
    "row": codec.TABLE.fields["rows"].element,
    "expression": codec.EXPRESSION,
}
_SHARED = {id(SECTIONS[name]): name for name in SECTIONS if not name.startswith(("message", "act"))}
_SHARED[id(codec.SIGNED_HEADER)] = None
KINDS = ("u8", "u16", "u32", "u64", "varint", "signed", "flag", "count", "length")


def _skips(type):
    """Whether another section has what this type contains."""
    return id(type) in _SHARED


def numbers(type, path="", top=True):
    """The numeric fields of a type: (path, kind)."""
    if isinstance(type, codec.If):
        type = type.type
    if not top and _skips(type):
        return
    own = {"count": " (count)", "length": " (length)"}.get(type.kind, "")
    if isinstance(type, codec.Variant):
        own = " (tag)"
    if isinstance(type, codec.Value):
        own = " (tag)"
    if isinstance(type, codec.Optional):
        own = " (is there)"
    if type.kind:
        yield (path + own).strip(), type.kind
    for name, child in type.children():
        if isinstance(type, codec.Variant) and name == "length":
            yield f"{path} (length)".strip(), "length"
            continue
        if isinstance(type, codec.Variant) and type in (codec.MESSAGE,):
            continue
        if isinstance(type, codec.Variant) and type is codec.RECORD.fields["act"]:
            continue
        inner = path + name if name.startswith(("[", "<")) or not path or not name else f"{path}.{name}"
        yield from numbers(child, inner, False)


def declared():
    """Every numeric field of the wire format: name → kind. A message or act that has none stands for itself."""
    found = {}
    for section, type in SECTIONS.items():
        paths = list(numbers(type))
        for path, kind in paths:
            found[f"{section}: {path}"] = kind
        if not paths and section.startswith(("message", "act")):
            found[section] = "no number"
    return found


def leaves(type, value, path="", top=True):
    """The numeric fields of a value: (path, kind, function from a forged value to the whole value with it)."""
    if isinstance(type, codec.If):
        type = type.type
        if value is None:
            return
    if not top and _skips(type):
        return

    def below(child, inner, name, rebuild):
        for p, kind, make in leaves(child, inner, name, False):
            yield p, kind, lambda forged, make=make: rebuild(make(forged))

    def joined(name):
        return f"{path}.{name}" if path else name

    if isinstance(type, codec.Row):
        yield joined("flags"), "u8", lambda forged: {**value, "flags": forged}
        yield joined("generation"), "varint", lambda forged: {**value, "generation": forged}
        yield joined("gaps (count)"), "count", lambda forged: {**value, "gaps": Says(forged, value["gaps"])}
        yield joined("gaps[]"), "varint", lambda forged: {**value, "gaps": [forged] + value["gaps"][1:]}
        for part, kind in (("author", "varint"), ("time", "u64")):
            yield joined(f"stamp.{part}"), kind, lambda forged, part=part: {
                **value, "stamp": {**value["stamp"], part: forged}}
            yield joined(f"own.{part}"), kind, lambda forged, part=part: {
                **value, "flags": value["flags"] | 8,
                "own": [{"author": 1, "time": 1, part: forged}] + [None] * (len(value["values"]) - 1)}
    elif isinstance(type, codec.Value):
        yield (path + " (tag)").strip(), "u8", lambda forged: Forged(
            bytes(forged) if isinstance(forged, Forged) else bytes([forged]) + codec.VALUE.encode(value)[1:])
        yield joined("integer"), "signed", lambda forged: (1, codec.SIGNED.encode(forged))
        yield joined("double"), "u64", lambda forged: (2, codec.U64.encode(forged))
        for tag, name in ((3, "text"), (4, "blob")):
            yield joined(f"{name} (length)"), "length", lambda forged, tag=tag: (
                tag, codec.Sized(0).encode(Says(forged, b"abc")))
        for name in ("ordinal", "size"):
            yield joined(f"long.{name}"), "varint", lambda forged, name=name: (
                6, {"ordinal": 0, "size": 20_000, name: forged})
    elif isinstance(type, codec.Variant):
        name, fields = value
        tag = type.cases[name][0]
        content = type.cases[name][1]
        if type.sized:
            encoded = content.encode(fields)
            yield (path + " (tag)").strip(), "u8", lambda forged: Forged(
                codec.U8.encode(forged) + codec.Sized(0).encode(encoded))
            yield (path + " (length)").strip(), "length", lambda forged: Forged(
                bytes([tag]) + codec.Sized(0).encode(Says(forged, encoded)))
        else:
            yield (path + " (tag)").strip(), "u8", lambda forged: Forged(codec.U8.encode(forged) + content.encode(fields))
        if type is not codec.RECORD.fields["act"]:
            yield from below(content, fields, f"{path}<{name}>", lambda inner: (name, inner))
    elif isinstance(type, codec.Inside):
        yield (path + " (length)").strip(), "length", lambda forged: Says(forged, type.type.encode(value))
        yield from below(type.type, value, path, lambda inner: inner)
    elif isinstance(type, codec.Optional):
        yield (path + " (is there)").strip(), "flag", lambda forged: Forged(
            codec.U8.encode(forged) + (type.type.encode(value) if value is not None else b""))
        if value is not None:
            yield from below(type.type, value, path, lambda inner: inner)
    elif isinstance(type, (codec.List, codec.Chunks)):
        yield (path + " (count)").strip(), "count", lambda forged: Says(forged, value)
        if isinstance(type, codec.List) and value:
            yield from below(type.element, value[0], f"{path}[]", lambda inner: [inner, *value[1:]])
    elif isinstance(type, codec.Sized):
        yield (path + " (length)").strip(), "length", lambda forged: Says(forged, value)
    elif isinstance(type, codec.Struct):
        for name, child in type.fields.items():
            if name in value:
                yield from below(child, value[name], joined(name), lambda inner, name=name: {**value, name: inner})
    elif type.kind:
        yield path, type.kind, lambda forged: forged


def extremes(kind, thorough=True):
    """Values at the edges of a kind of number, and bytes that are no such number."""
    few = {
        "u8": [255, 0], "u16": [65_535], "u32": [2**32 - 1], "u64": [2**64 - 1, 0], "varint": [2**64 - 1, 0],
        "signed": [2**63 - 1, -(2**63)], "flag": [Forged(b"\xff")], "count": [2**64 - 1], "length": [2**64 - 1]}
    more = {
        "u8": [1, 127, 128], "u64": [1, 2**63 - 1, 2**63, (2**48 - 1) << 16],
        "varint": [1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 2, Forged(b"\x80\x00"), Forged(b"\xff" * 10)],
        "signed": [0, -1, 2**32, Forged(b"\xff" * 10)], "flag": [Forged(b"\x02")],
        "count": [0, 2, 65_537, 2**31, 2**63, Forged(b"\xff" * 10)],
        "length": [0, 2, 2**20 + 1, 2**31, 2**63, Forged(b"\xff" * 10)]}
    return few[kind] + (more.get(kind, []) if thorough else [])
