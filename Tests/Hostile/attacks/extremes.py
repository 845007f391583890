"""Every numeric field of every object at the edges of what it can hold, signed as if it were honest."""

import os

from attacks import attack
from peer import codec, crypto, fields
from peer.identity import signed
from peer.link import Ended
from peer.member import Refused
from peer.zone import Author, Log, births, changes

DECLARED = fields.declared()


def of(*beginnings):
    return tuple(name for name in DECLARED if name.startswith(beginnings))


def sample_messages(scene, member, zone, peer):
    """One valid message of each kind, for a session of `member`."""
    someone = {"device": os.urandom(32), "instance": 7}
    vector = [{"author": someone, "number": 3}]
    log = Log(member.device, zone)
    raw = log.insert("tags", [(scene.name(), {"note": "root", "name": "x"})])
    reader = codec.Reader(raw)
    header = codec.HEADER.read(reader)
    proof = {"header": header, "body": crypto.blake(raw[reader.at : -64]), "signature": raw[-64:]}
    record, _ = zone.records[zone.heads()[0]]
    state = member.device.account.state()
    claim = member.make_claim({"invite": bytes(32), "zone": zone.id, "seed": bytes(32)})
    column = {"name": b"id", "type": b"TEXT", "flags": 2, "collation": 0, "default": 5}
    table = {"name": b"notes", "flags": 0, "columns": [column], "key": 0, "foreignKeys": [
        {"column": 0, "parent": b"notes", "onDelete": 0, "onUpdate": 0}]}
    tag = ("column", {"name": b"name"})
    rules = {"defaults": [{"column": b"text", "expression": ("apply", {"operation": 4, "operands": []})}],
             "checks": [{"name": b"c", "expression": tag}],
             "indexes": [{"name": b"i", "flags": 2, "terms": [{"descending": True, "expression": tag}], "condition": tag}],
             "leftOut": [{"part": 1, "name": b"x", "reason": 1, "detail": b"regexp"}]}
    link = type("Link", (), {"hash": bytes(64), "peer": bytes(32)})
    return {
        "hello": member.device.hello(link, proof=bytes(32)),
        "goodbye": {"code": 1, "text": b"stopping"},
        "account": {"state": state},
        "claim": {"request": member.device.certificate["request"], "byInvite": bytes(64), "byDevice": bytes(64)},
        "admitted": {"certificate": member.device.certificate},
        "zones": {"tags": [bytes(16)]},
        "control heads": {"zone": zone.id, "heads": zone.heads()},
        "control records": {"zone": zone.id, "records": [record]},
        "key request": {"zone": zone.id, "epochs": [zone.current_epoch()]},
        "keys": {"zone": zone.id, "keys": [{"epoch": zone.current_epoch(), "sealed": bytes(80)}]},
        "want": {"zone": zone.id, "vector": vector},
        "change sets": {"zone": zone.id, "changeSets": [raw]},
        "up to date": {"zone": zone.id, "vector": vector},
        "have": {"zone": zone.id, "vector": vector},
        "announce only": {"zone": zone.id},
        "credit": {"bytes": 1},
        "acknowledgement": {"zone": zone.id, "device": member.device.id, "time": 1, "vector": vector,
                            "heads": zone.heads(), "signature": bytes(64)},
        "digest": {"zone": zone.id, "vector": vector, "records": 1, "hash": bytes(16), "unsent": 0},
        "digest request": {"zone": zone.id},
        "schema": {"tables": [table]},
        "ping": {"number": 1},
        "pong": {"number": 1},
        "tips": {"zone": zone.id, "tips": [{"author": someone, "number": 1, "id": bytes(16)}]},
        "excerpt request": {"zone": zone.id, "author": someone, "number": 1},
        "excerpt": {"zone": zone.id, "headers": [proof]},
        "clock": {"now": 1},
        "account heads": {"heads": [{"account": bytes(32), "hash": bytes(32)}]},
        "share claim": {"zone": zone.id, "claim": claim},
        "asset want": {"zone": zone.id, "asset": bytes(32), "first": 0, "count": 1},
        "asset chunk": {"zone": zone.id, "asset": bytes(32), "index": 0, "bytes": b"x"},
        "asset has": {"zone": zone.id, "asset": bytes(32), "chunks": [True]},
        "account name": {"title": b"mallory"},
        "schema rules": {"tables": [{"table": b"tags", "rules": rules}]},
        "column policies": {"tables": [{"table": b"tags", "policies": [{"column": b"name", "policy": 3, "time": 1}]}]},
        "former names": {"tables": [
            {"table": b"tags", "former": [b"labels"], "columns": [{"column": b"name", "former": b"title"}]}]},
        "asset backlog": {"zone": zone.id, "coming": {"assets": 0, "bytes": 0}, "absent": {"assets": 0, "bytes": 0}},
    }


def forge(scene, section, type, value, only=None):
    """Every variant of a value with one number of it forged: (field, variant, bytes). Notes what is sent."""
    for path, kind, make in fields.leaves(type, value):
        name = f"{section}: {path}"
        if only is not None and name not in only:
            continue
        for extreme in fields.extremes(kind, thorough=scene.size > 1):
            scene.sent_fields.add(name)
            yield name, make(extreme)


def resigned(message, fields, device):
    """What is signed for this session alone is signed again, so that the number is what is looked at."""
    if message == "acknowledgement":
        type = codec.MESSAGES[message][1]
        text = codec.Struct(**{n: t for n, t in type.fields.items() if n != "signature"}).encode(fields)
        return {**fields, "signature": crypto.sign(device.seed, "mesh/1/acknowledgement", text)}
    return fields


class Sender:
    """Sends messages over sessions, and opens another one each time that the node has ended the last."""

    def __init__(self, scene, member):
        self.scene, self.member, self.session = scene, member, None

    def send(self, message):
        if self.session is None or self.session.ended is not None:
            self.session = self.scene.session(self.member)
        try:
            self.session.send_raw(message)
            self.scene.answered(self.session, 20)
        except (Ended, Refused):
            pass


@attack(*of("message"))
def every_number_of_every_message(scene):
    """Sends every message with each of its numbers, counts and lengths at its extremes; nothing but the session it
    comes on may end."""
    member, zone, session = scene.enter()
    sender = Sender(scene, member)
    for name, sample in sample_messages(scene, member, zone, session.link.peer).items():
        type = codec.MESSAGES[name][1]
        variants = list(forge(scene, f"message {name}", type, sample))
        if not variants:
            scene.sent_fields.add(f"message {name}")
            variants = [(name, sample)]
        for _, variant in variants:
            fields = resigned(name, variant, member.device)
            sender.send(codec.U8.encode(codec.MESSAGES[name][0]) + type.encode(fields))


@attack(*of("expression"))
def every_number_of_an_expression(scene):
    """Sends CHECKs with each number of an expression at its extremes; nothing but the session they come on may end."""
    member, zone, session = scene.enter()
    sender = Sender(scene, member)
    column = ("column", {"name": b"name"})
    for sample in (("literal", {"value": 5}), column, ("collate", {"collation": 1, "operand": column}),
                   ("cast", {"type": 1, "operand": column}), ("apply", {"operation": 48, "operands": [column]})):
        for _, variant in forge(scene, "expression", codec.EXPRESSION, sample):
            rules = {"defaults": [], "checks": [{"name": b"", "expression": variant}], "indexes": [], "leftOut": []}
            sender.send(codec.message("schema rules", tables=[{"table": b"tags", "rules": rules}]))


@attack(*of("genesis", "certificate", "revocation", "account state", "certificate request"))
def every_number_of_an_account(scene):
    """Signs certificates and revocations with each number at its extremes and sends them as account states; no honest
    account or device may be affected."""
    member, zone, session = scene.enter()
    sender = Sender(scene, member)
    account = member.device.account
    account.device("second")
    account.revoke(account.device("third"))
    state = account.state()
    sections = (("account state", codec.STATE, lambda forged: forged),
                ("genesis", codec.GENESIS, lambda forged: {**state, "genesis": forged}))
    for section, type, whole in sections:
        value = state if section == "account state" else state["genesis"]
        for _, variant in forge(scene, section, type, value):
            sender.send(codec.message("account", state=whole(variant)))
    own = member.device.certificate
    others = [c for c in state["certificates"] if c is not own]

    def show(certificate):
        sender.send(codec.message("account", state={**state, "certificates": sorted(
            [certificate, *others], key=lambda c: bytes(c["request"]["device"]))}))

    for _, variant in forge(scene, "certificate", codec.CERTIFICATE, own):
        show(signed(codec.CERTIFICATE, dict(variant), account.seed, "mesh/1/certificate"))
    for _, variant in forge(scene, "certificate request", codec.REQUEST, own["request"]):
        request = signed(codec.REQUEST, dict(variant), member.device.seed, "mesh/1/request", before=account.id)
        show(signed(codec.CERTIFICATE, {**own, "request": request}, account.seed, "mesh/1/certificate"))
    for _, variant in forge(scene, "revocation", codec.REVOCATION, state["revocations"][0]):
        sender.send(codec.message("account", state={**state, "revocations": [
            signed(codec.REVOCATION, dict(variant), account.seed, "mesh/1/revocation")]}))


@attack(*of("successor", "promotion", "demotion", "authority", "account state: signers"))
def every_number_of_the_signers_of_an_account(scene):
    """Signs successors, promotions, demotions and what they authorize with each number at its extremes, each for an account of
    its own; no honest account or device may be affected."""
    def fresh():
        """An account that has all of it: (member, session, state, signers, seed of its key)."""
        member, _, session = scene.enter()
        account, seed = member.device.account, os.urandom(32)
        successor = account.replaced(1, crypto.ed25519(seed)[0])
        promotion = account.promoted(member.device.id, seed, generation=1)
        signers = {"version": 1, "successor": successor, "promotions": [promotion],
                   "demotions": [account.demoted(os.urandom(16), seed, generation=1)]}
        certificate = account.certify(
            member.device.certificate["request"], listed=False, seed=seed, authority={"parts": 1, "successor": successor})
        return member, session, {**account.state(), "certificates": [certificate], "signers": signers}, signers, seed

    def each(section, type, choose, change):
        """Sends a state for each number of a structure in it."""
        sample = choose(*fresh()[2:4])
        for index, _ in enumerate(list(forge(scene, section, type, sample))):
            member, session, state, signers, seed = fresh()
            _, variant = list(forge(scene, section, type, choose(state, signers)))[index]
            session.try_send("account", state=change(member.device.account, variant, state, signers, seed))
            scene.answered(session)

    def signer(place, type, context, is_list):
        def change(account, variant, state, signers, seed):
            by = account.recovery if place == "successor" else seed
            made = signed(type, dict(variant), by, f"mesh/1/{context}")
            return {**state, "signers": {**signers, place: [made] if is_list else made}}
        return change

    def authorized(account, variant, state, signers, seed):
        certificate = {**state["certificates"][0], "authority": variant}
        return {**state, "certificates": [signed(codec.CERTIFICATE, certificate, seed, "mesh/1/certificate")]}

    each("successor", codec.SUCCESSOR, lambda _, signers: signers["successor"],
         signer("successor", codec.SUCCESSOR, "successor", False))
    each("promotion", codec.PROMOTION, lambda _, signers: signers["promotions"][0],
         signer("promotions", codec.PROMOTION, "promotion", True))
    each("demotion", codec.DEMOTION, lambda _, signers: signers["demotions"][0],
         signer("demotions", codec.DEMOTION, "demotion", True))
    each("authority", codec.AUTHORITY, lambda state, _: state["certificates"][0]["authority"], authorized)
    each("account state", codec.Struct(signers=codec.STATE.fields["signers"]), lambda state, _: {"signers": state["signers"]},
         lambda account, variant, state, signers, seed: {**state, **variant})


def sample_acts(scene, member, zone):
    device, account = member.device, member.device.account
    author = {"device": device.id, "instance": 5}
    cut = {"device": device.id, "number": 1, "record": bytes(32),
           "ends": [{"instance": 5, "number": 3, "id": bytes(32)}]}
    cuts = [{"author": author, "number": 3, "id": bytes(32)}]
    log = Log(device, zone)
    proofs = []
    for name in ("x", "y"):
        raw = log.insert("tags", [(scene.name(), {"note": "root", "name": name})], advance=False)
        reader = codec.Reader(raw)
        header = codec.HEADER.read(reader)
        proofs.append({"header": header, "body": crypto.blake(raw[reader.at : -64]), "signature": raw[-64:]})
    successor = {"version": 1, "account": account.id, "generation": 1, "key": bytes(32), "issued": 0, "signature": bytes(64)}
    promotion = {"version": 1, "account": account.id, "generation": 1, "device": device.id, "serial": bytes(16), "issued": 0,
                 "signature": bytes(64)}
    return {
        "genesis": {"account": account.id, "nonce": bytes(32)},
        "epoch": {"commitment": bytes(32)},
        "cut": {"cut": cut},
        "title": {"time": 1, "title": b"Mine"},
        "fork": {"first": proofs[0], "second": proofs[1]},
        "end": {"instance": 5, "number": 1},
        "share genesis": {"account": account.id, "nonce": bytes(32), "table": b"notes", "key": "root"},
        "invite": {"key": bytes(32), "permission": 2, "expiry": 0, "uses": 1, "redeemer": device.id,
                   "only": account.id[:13]},
        "revoke invite": {"invite": bytes(32), "staying": [account.id]},
        "participant": {"account": account.id, "permission": 2, "invite": bytes(32), "cuts": cuts},
        "admission": {"claim": member.make_claim({"invite": bytes(32), "zone": zone.id, "seed": bytes(32)})},
        "leave": {"cuts": cuts},
        "stop": {},
        "excess": {"beginnings": proofs[:1]},
        "authorized cut": {"authority": {"parts": 3, "successor": successor, "promotion": promotion}, "cut": cut},
    }


@attack(*of("act", "control record", "claim"))
def every_number_of_every_act(scene):
    """Signs control records of every act with each of its numbers at its extremes; the share's log and its members stay
    as they are for everybody else."""
    member, zone, session = scene.enter()
    account, devices, records = member.device.account, 0, 0

    def fresh():
        nonlocal devices
        devices += 1
        device = account.device(f"d{devices}")
        return Author(device, zone)

    sender = Sender(scene, member)
    samples = sample_acts(scene, member, zone)
    # Last, since it ends the account's membership.
    samples["leave"] = samples.pop("leave")
    author = Author(member.device, zone)

    def send(act=None, **changes):
        nonlocal author
        number, previous = author.number, author.previous
        raw = author.record(act or ("epoch", {"commitment": os.urandom(32)}), keep=False, **changes)
        # What is refused leaves the author where it was.
        author.number, author.previous = number, previous
        sender.send(codec.message("control records", zone=zone.id, records=[codec.Forged(codec.varint(len(raw)) + raw)]))

    for name, sample in samples.items():
        type = codec.ACTS[name][1]
        variants = list(forge(scene, f"act {name}", type, sample))
        if not variants:
            scene.sent_fields.add(f"act {name}")
            variants = [(name, sample)]
        for _, variant in variants:
            if "cut" in variant:
                cut = dict(variant["cut"]) if not isinstance(variant["cut"], codec.Forged) else variant["cut"]
                variant = {**variant, "cut": signed(codec.DEVICE_CUT, cut, account.seed, "mesh/1/cut", before=zone.id)}
            content = type.encode(variant)
            send((codec.ACTS[name][0], content))
    record = {"version": 1, "zone": zone.id, "parents": zone.heads(), "author": member.device.id, "number": 1,
              "previous": bytes(32), "act": ("epoch", {"commitment": bytes(32)})}
    for _, variant in forge(scene, "control record", codec.RECORD, record):
        raw = codec.RECORD.encode(signed(codec.RECORD, dict(variant), member.device.seed, "mesh/1/control"))
        sender.send(codec.message("control records", zone=zone.id, records=[codec.Forged(codec.varint(len(raw)) + raw)]))


@attack(*of("header", "body", "table", "row", "value", "manifest"))
def every_number_of_a_change_set(scene):
    """Encrypts and signs change sets with each number of the header, the body, rows and values at its extremes, each by
    an author of its own; at most that author may stop."""
    member, zone, session = scene.enter()
    sender = Sender(scene, member)
    account, used, device = member.device.account, 0, member.device

    def author():
        """Every device has a few instances."""
        nonlocal used, device
        used += 1
        if used % 14 == 0:
            device = account.device(f"d{used}")
            sender.send(codec.message("account", state=account.state()))
        return Log(device, zone)

    def send(body, **options):
        sender.send(codec.message("change sets", zone=zone.id, changeSets=[author().change_set(body, **options)]))

    def row(**changes):
        stamp = {"author": 0, "time": 1}
        return {**births("tags", [(scene.name(), {"note": "root", "name": "x"})], stamp)["rows"][0], **changes}

    def table(rows):
        return {"table": b"tags", "columns": [b"name", b"note"], "rows": rows}

    def body(tables, context=()):
        return codec.BODY.encode({"context": list(context), "content": changes(tables)})

    someone = {"device": os.urandom(32), "instance": 7}
    header = {"version": 1, "author": {"device": member.device.id, "instance": 1}, "number": 1, "time": 1, "partIndex": 0,
              "partPlanned": 1, "final": True, "size": 40}
    for name, variant in forge(scene, "header", codec.Struct(**{
            n: t for n, t in codec.HEADER.fields.items() if n in header}), header):
        path = name.split(": ")[1].split(".")[0]
        log = author()
        forged = variant[path]
        if path == "author":
            forged = {"device": log.device.id, "instance": variant["author"]["instance"]}
        raw = log.change_set(changes([table([row()])]), header={path: forged})
        sender.send(codec.message("change sets", zone=zone.id, changeSets=[raw]))
    sample = {"context": [{"author": someone, "number": 1, "time": 1}],
              "content": ("changes", {"authors": [someone], "tables": [table([row()])]})}
    for _, variant in forge(scene, "body", codec.BODY, sample):
        send(codec.BODY.encode(variant))
    piece = {"context": [], "content": ("piece", {"ordinal": 1, "offset": 0, "bytes": b"piece"})}
    for _, variant in forge(scene, "body", codec.BODY, piece, only=of("body: content<piece>")):
        send(codec.BODY.encode(variant), header={"final": False})
    for _, variant in forge(scene, "table", codec.TABLE, table([row()])):
        send(body([variant]))
    for _, variant in forge(scene, "row", fields.SECTIONS["row"], row()):
        send(body([table([variant])]))
    for _, variant in forge(scene, "value", codec.VALUE, "text"):
        send(body([table([row(values=["n", variant])])]))
        send(body([table([row(key=variant)])]))
    manifest = {"key": bytes(32), "size": 20_000, "hashes": bytes(32)}
    for _, variant in forge(scene, "manifest", codec.MANIFEST, manifest):
        send(body([table([row(values=[(5, variant), "root"])])]))
