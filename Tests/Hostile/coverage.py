"""Which attack forges which field, and whether the peer's description of the wire is that of the documents."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import attacks  # noqa: E402
from daemons import ROOT  # noqa: E402
from peer import codec, fields  # noqa: E402

DOCUMENT = f"{ROOT}/Tests/Hostile/Coverage.md"
ARTICLES = f"{ROOT}/Sources/MeshCore/MeshCore.docc"
# What the documents describe in a table of its own, so a row names it only.
NAMED = (codec.VECTOR, codec.CUTS, codec.AUTHOR, codec.VALUE, codec.DEVICE_CUT, codec.AUTHORITY, codec.CLAIM, codec.CERTIFICATE, codec.REQUEST,
         codec.SIGNED_HEADER, codec.STATE, codec.GENESIS, codec.RECORD, codec.HELLO, codec.DESCRIPTION)


def covering():
    """Every field → the names of the attacks on it."""
    found = {name: [] for name in fields.declared()}
    for attack in attacks.load().values():
        for name in attack.covers:
            if name not in found:
                raise SystemExit(f"{attack.name} covers {name}, which no document describes")
            found[name].append(attack.name)
    return found


def document():
    kinds, lines = fields.declared(), [
        "# What the attacks forge", "",
        "Each message, act and structure of the wire format, each number in it, and the attacks that",
        "forge it. `tools/attack --table` writes this file. A test fails when a field has no attack, or",
        "when this file is old.", ""]
    section = None
    for name, found in covering().items():
        this, _, path = name.partition(": ")
        if this != section:
            section = this
            lines += ["", f"## {section}", "", "| field | type | attacks |", "|---|---|---|"]
        lines.append(f"| {path or 'the whole'} | {kinds[name]} | {', '.join(found)} |")
    lines += ["", "## The attacks", "", "| attack | it |", "|---|---|"]
    for attack in attacks.ATTACKS.values():
        lines.append(f"| {attack.name} | {attack.sentence} |")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


# --- The documents


def table(article, heading):
    """The rows of the first table below a heading, as lists of cells."""
    text = open(f"{ARTICLES}/{article}").read().split(f"\n{heading}\n", 1)[1]
    rows = []
    for line in text.split("\n"):
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[2:]


WORDS = re.compile(r"\b(list|sized|text)(?:,? \(?([\d,]*\d)( [KM]iB)?)?|\b(varint|u8|u64|signed|flag)\b")
UNITS = {"": 1, " KiB": 1 << 10, " MiB": 1 << 20}


def said(text):
    """The numeric types that a row of a document names, in order."""
    text = text.replace("signed header", "").replace("signed expiry", "signed")
    return [(("list" if word == "list" else "sized"), int((count or "0").replace(",", "")) * UNITS[unit]) if word else number
            for word, count, unit, number in WORDS.findall(text)]


def described(type, top=True):
    """The same of a type here."""
    if isinstance(type, codec.If):
        type = type.type
    if not top and any(type is named for named in NAMED):
        return []
    if isinstance(type, codec.Struct):
        return [word for child in type.fields.values() for word in described(child, False)]
    if isinstance(type, codec.List):
        return [("list", type.limit)] + described(type.element, False)
    if isinstance(type, (codec.Inside, codec.Sized)):
        return [("sized", type.limit)]
    if isinstance(type, codec.Optional):
        return ["flag"] + described(type.type, False)
    if isinstance(type, codec.Chunks):
        return ["varint"]
    return [type.kind] if type.kind else []


def differences():
    """What the documents' tables have and the descriptions here have not, or the other way round."""
    found = []
    for what, rows, cases in (("message", table("Session.md", "## Messages"), codec.MESSAGES),
                              ("act", acts(), codec.ACTS)):
        listed = {row[1].replace("**", ""): (int(row[0]), row[2]) for row in rows}
        for name in listed.keys() ^ cases.keys():
            found.append(f"the {what} {name} is described {'in the document' if name in listed else 'here'} alone")
        for name in listed.keys() & cases.keys():
            tag, text = listed[name]
            if tag != cases[name][0]:
                found.append(f"the {what} {name} has the tag {tag} in the document and {cases[name][0]} here")
            if any(cases[name][1] is named for named in NAMED) or name in ("hello", "schema", "schema rules", "acknowledgement"):
                continue
            if said(text) != described(cases[name][1]):
                found.append(f"the {what} {name}: the document says {said(text)}, this description {described(cases[name][1])}")
    return found


def acts():
    text = open(f"{ARTICLES}/ControlLog.md").read().split("| tag | act |", 1)[1]
    rows = []
    for line in text.split("\n")[2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def problems():
    found = differences()
    for name, by in covering().items():
        if not by:
            found.append(f"no attack forges {name}")
    if not os.path.exists(DOCUMENT) or open(DOCUMENT).read() != document():
        found.append("Coverage.md is old: run tools/attack --table")
    if len(attacks.ATTACKS) < 40:
        found.append(f"there are {len(attacks.ATTACKS)} attacks only")
    return found


def main():
    for problem in problems():
        print(problem)
    sys.exit(1 if problems() else 0)


if __name__ == "__main__":
    main()
