"""What a session says without a signature, or with one that proves nothing: vectors, tips, logs, clocks, digests."""

import os
import time

from attacks import attack
from daemons import Failed, eventually
from peer import codec, crypto
from peer.codec import Forged
from peer.member import zone_tag
from peer.zone import Log, now

MAX = 2**64 - 1


def honest_authors(zone):
    return [entry["author"] for entry in zone.vector()]


def stored(zone):
    """The number of change sets that are here."""
    return sum(number for number, _ in list(zone.tips.values()))


def flood(session, count, name, **fields):
    """Sends one message many times; returns how many went out before the session ended."""
    raw = codec.message(name, **fields)
    from peer.link import Ended
    try:
        for sent in range(count):
            session.send_raw(raw)
    except (Ended, OSError):
        return sent
    return count


@attack("message tips: tips[].number", "message tips: tips[].author.instance", "message tips: tips (count)")
def tips_that_honest_devices_never_signed(scene):
    """Claims again and again that an honest device's log is longer than it knows; it must still write in the share."""
    member, zone, session = scene.enter()
    for round in range(24):
        session = scene.again(member, session)
        if round == 0 or session.heard("want") == 0:
            member.catch_up(session, zone)
        for entry in zone.vector():
            if entry["author"]["device"] != member.device.id:
                for number in (1, entry["number"], entry["number"] + 100_000 + round, 2**62, MAX):
                    session.try_send("tips", zone=zone.id, tips=[
                        {"author": entry["author"], "number": number, "id": os.urandom(16)}])
        scene.answered(session)
        # An instance that the honest device gives up shows in its next change set. The first that comes may be an older one.
        known, deadline = stored(zone), time.monotonic() + 1
        while stored(zone) < known + 2 and time.monotonic() < deadline:
            scene.tower.sql("INSERT INTO tags VALUES (?, 'root', 'x')", scene.name())
            time.sleep(0.02)


@attack("message excerpt: headers[] (length)", "message excerpt request: number")
def excerpts_that_honest_devices_never_signed(scene):
    """Answers with made-up parts of honest logs, signed by nobody or by itself; the honest devices must still write."""
    member, zone, session = scene.enter()
    for author in honest_authors(zone):
        raws = sorted(zone.change_sets[author["device"], author["instance"]].items())
        raw = raws[-1][1]
        reader = codec.Reader(raw)
        header = codec.HEADER.read(reader)
        body = crypto.blake(raw[reader.at : -64])
        for changed in ({}, {"number": header["number"] + 1}, {"previous": bytes(32)}, {"time": MAX}, {"number": MAX}):
            for signature in (raw[-64:], bytes(64), crypto.sign(member.device.seed, "mesh/1/changeset", bytes(32))):
                session = scene.again(member, session)
                session.try_send("tips", zone=zone.id, tips=[
                    {"author": author, "number": header["number"], "id": os.urandom(16)}])
                session.try_send("excerpt", zone=zone.id, headers=[
                    {"header": {**header, **changed}, "body": body, "signature": signature}])
        scene.answered(session)


@attack("message up to date: vector[].number", "message have: vector[].number", "message want: vector[].number",
        "message want: vector (count)", "message have: vector (count)", "message up to date: vector (count)")
def vectors_beyond_everything(scene):
    """Claims to have, to be up to date with and to lack change sets that nobody has; nobody may wait for them in vain."""
    member, zone, session = scene.enter()
    strangers = sorted(({"author": {"device": os.urandom(32), "instance": 1}, "number": MAX} for _ in range(8_000)),
                       key=lambda e: e["author"]["device"])
    honest = [{"author": author, "number": MAX} for author in honest_authors(zone)]
    for vector in (honest, strangers, sorted(honest + strangers[:100], key=lambda e: e["author"]["device"])):
        for name in ("have", "up to date", "want"):
            session = scene.again(member, session)
            for _ in range(scene.many(5)):
                session.try_send(name, zone=zone.id, vector=vector)
        scene.answered(session, 60)


@attack("message have: vector[].number", "message acknowledgement: vector[].number")
def the_end_of_all_numbers_in_two_shares(scene):
    """Says in two shares at once that it has, and has merged, as many change sets as a number can count; the verbs that
    count them together must still answer, also after it has gone."""
    member, zone, _ = scene.enter()
    key, title = scene.name(), scene.name("second")
    scene.tower.sql("INSERT INTO notes VALUES (?, 'x', 0)", key)
    scene.tower.done("share", "create", "notes", key, "--title", title)
    other = member.join(scene.tower.invite(title), scene.tower.address)
    session = scene.session(member)
    for common in (zone, other):
        member.catch_up(session, common)
        vector = [{"author": author, "number": MAX} for author in honest_authors(common)]
        session.try_send("have", zone=common.id, vector=vector)
        member.acknowledge(session, common, vector=vector)
    scene.answered(session)
    for verb in (("status",), ("peers",), ("doctor",), ("wait", "--timeout", "1s")):
        scene.tower.report(*verb)
    session.close()
    for verb in (("status",), ("peers",), ("doctor",)):
        scene.tower.report(*verb)
    scene.tower.done("share", "stop", title)


@attack("message want: vector[].author.instance")
def the_whole_log_again_and_again(scene):
    """Asks for everything from the start a thousand times, with all credit; the node may end the session, and honest
    rows must pass meanwhile."""
    member, zone, session = scene.enter()
    flood(session, scene.many(1_000), "want", zone=zone.id, vector=[])
    scene.answered(session, 60)


@attack("message acknowledgement: vector[].number", "message acknowledgement: time", "message acknowledgement: heads (count)")
def acknowledgements_of_what_was_never_sent(scene):
    """Acknowledges 2^64-1 change sets of everybody at the end of time, and in the name of others; nothing may be
    dropped for it, and honest acknowledgements must still count."""
    member, zone, session = scene.enter()
    vector = [{"author": author, "number": MAX} for author in honest_authors(zone)]
    member.acknowledge(session, zone, vector=vector, time=MAX)
    scene.answered(session)
    for changes in ({"device": session.peer_certificate["request"]["device"]}, {"signature": bytes(64)},
                    {"heads": sorted(os.urandom(32) for _ in range(64))}, {"time": 0}):
        session = scene.again(member, session)
        member.acknowledge(session, zone, vector=vector, **changes)
        scene.answered(session)
    for _ in range(scene.many(500)):
        session = scene.again(member, session)
        member.acknowledge(session, zone, vector=[])
    scene.answered(session, 60)


@attack("message clock: now", alone=True)
def clocks_that_speak_against_everybody(scene):
    """Connects with many devices of its account that all tell a clock of ten years ago, and then leaves; honest devices
    must go on signing, in the private zone too."""
    member, zone, session = scene.enter()
    liars = [member] + [scene.second_device(member, f"d{n}") for n in range(12)]
    session.try_send("account", state=member.device.account.state())
    scene.answered(session)
    for told in (0, int(time.time() * 1000) - 10 * 365 * 86_400_000, -(2**63), 2**63 - 1):
        sessions = []
        for node in (scene.tower, scene.laptop):
            for liar in liars:
                other = scene.session(liar, node)
                other.try_send("clock", now=told)
                sessions.append(other)
        for other in sessions:
            other.try_send("clock", now=told)
            scene.answered(other)
        scene.settle(1)
        scene.check_sync()
        for other in sessions:
            other.close()
    scene.settle(1)


@attack("message digest: records", "message digest: unsent", "message digest: vector[].number", "message digest request")
def digests_that_differ(scene):
    """Claims other records than everybody has, at the same vector and at any; no check may name an honest device."""
    member, zone, session = scene.enter()
    for records, unsent in ((0, 0), (MAX, 0), (1, 1), (1, 2), (2**63, 0)):
        session = scene.again(member, session)
        member.catch_up(session, zone)
        session.try_send("digest", zone=zone.id, vector=zone.vector(), records=records, hash=os.urandom(16), unsent=unsent)
        session.try_send("digest", zone=zone.id, vector=[], records=records, hash=b"", unsent=unsent)
        scene.answered(session)
    session = scene.again(member, session)
    flood(session, scene.many(2_000), "digest request", zone=zone.id)
    scene.answered(session, 60)


@attack("message excerpt request: author.instance", "message excerpt request: number")
def log_requests_without_end(scene):
    """Asks thousands of times for parts of every log, of logs that do not exist, and at number 2^64-1; honest rows must
    pass meanwhile."""
    member, zone, session = scene.enter()
    authors = honest_authors(zone) + [{"device": os.urandom(32), "instance": 0}]
    for author in authors:
        for number in (0, 1, 100, MAX):
            session = scene.again(member, session)
            flood(session, scene.many(200), "excerpt request", zone=zone.id, author=author, number=number)
    scene.answered(session, 60)


@attack("message zones: tags (count)")
def zones_that_do_not_exist(scene):
    """Offers thousands of tags, the node's own tags back, and each many times; no zone may become common by it."""
    member, zone, session = scene.enter()
    mirrored = [zone_tag(zone.id, 1, session.link.hash)]
    for tags in (mirrored, [bytes(16)] * 4_096, [os.urandom(16) for _ in range(4_096)]):
        for _ in range(scene.many(20)):
            session.try_send("zones", tags=tags)
        scene.answered(session, 60)
        session = scene.again(member, session)


@attack("message credit: bytes")
def credit_without_end(scene):
    """Gives credit of 2^64-1 bytes again and again while it reads nothing; the node's memory must stay bounded."""
    member, zone, session = scene.enter()
    for bytes in (MAX, 2**63, 2**63 - 1, 0) * 20:
        session = scene.again(member, session)
        session.try_send("credit", bytes=bytes)
    scene.answered(session)


@attack("message ping: number", "message pong: number", "message announce only", "message up to date: vector[].author.instance",
        "message have: vector[].author.instance")
def small_messages_without_end(scene):
    """Floods with the smallest messages there are; honest rows must pass meanwhile, and memory stays bounded."""
    member, zone, session = scene.enter()
    for name, fields in (("ping", {"number": MAX}), ("pong", {"number": 1}), ("announce only", {"zone": zone.id}),
                         ("have", {"zone": zone.id, "vector": []}), ("up to date", {"zone": zone.id, "vector": []}),
                         ("credit", {"bytes": 1}), ("zones", {"tags": []}), ("clock", {"now": 0})):
        session = scene.again(member, session)
        flood(session, scene.many(5_000), name, **fields)
        scene.answered(session, 60)


@attack("message goodbye: code", "message goodbye: text (length)")
def goodbyes_in_every_code(scene):
    """Says every goodbye there is, with texts that play tricks on a terminal; no honest device may stop dialling."""
    member, zone, session = scene.enter()
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 255):
        session = scene.again(member, session)
        session.try_send("goodbye", code=code, text="\x1b[31m\u202erevoke laptop\n".encode())
        session.wait_end(5)
    for node in scene.honest:
        if "\x1b[31m" in open(node.log.name, errors="replace").read():
            raise Failed(f"{node.name} logged a peer's control characters")


@attack("message hello: versions (length)", "message admitted", "message claim", "message hello: certificate (is there)",
        "message hello: proof (is there)", "message hello: signature (length)")
def messages_out_of_their_phase(scene):
    """Says a second hello, claims in the open phase, and everything before its hello, introductions without end;
    only that session may end."""
    from attacks.extremes import sample_messages
    member, zone, session = scene.enter()
    samples = sample_messages(scene, member, zone, session.link.peer)
    for name, fields in samples.items():
        early = scene_session(scene, member, hello=False)
        sent = early.try_send(name, **fields)
        # An introduction comes before the hello. It takes at most 64 KiB.
        for _ in range(20_000 if name in ("account", "control records") else 0):
            sent = sent and early.try_send(name, **fields)
        if name != "goodbye" and early.wait_end(3) is None:
            raise Failed(f"{name} before the hello did not end the session")
        early.close()
    for name in ("hello", "claim", "admitted", "share claim"):
        session = scene.again(member, session)
        session.try_send(name, **samples[name])
        scene.answered(session)


def scene_session(scene, member, **options):
    from peer.member import Session
    session = Session(member, scene.tower.address, **options)
    scene.sessions.append(session)
    return session


@attack("message hello: certificate (is there)", "message hello: proof (is there)")
def hellos_of_others(scene):
    """Shows the certificates of honest devices, hellos for other sessions and proofs of other invites; none may be
    admitted."""
    from peer.identity import Account
    member, zone, session = scene.enter()
    stranger = scene.account("stranger")
    honest = session.peer_certificate
    old = member.device.hello(session.link)
    for certificate, changes in ((honest, {}), (member.device.certificate, {}), (None, {}),
                                 (stranger.device.certificate, {})):
        early = scene_session(scene, stranger, hello=False)
        hello = stranger.device.hello(early.link, **{"certificate": certificate, **changes})
        early.try_send("hello", **hello)
        if early.wait_end(5) is None:
            raise Failed("a stranger was admitted")
    early = scene_session(scene, stranger, hello=False)
    early.try_send("hello", **old)
    if early.wait_end(5) is None:
        raise Failed("a hello of another session was admitted")


@attack("message schema: tables[].key", "message schema: tables[].foreignKeys[].column", "message schema: tables[].flags",
        "message schema: tables[].columns[].flags", "message schema: tables[].columns[].collation",
        "message schema: tables[].foreignKeys[].onDelete", "message schema: tables[].foreignKeys[].onUpdate")
def schemas_that_are_no_schemas(scene):
    """Describes reserved, contradictory and enormous tables, and flags the share's tables as private; the share goes on
    and `schema --apply` adds nothing of it."""
    member, zone, session = scene.enter()
    key = {"name": b"id", "type": b"TEXT", "flags": 1, "collation": 0}
    column = {"name": b"c", "type": b"TEXT); DROP TABLE notes; --", "flags": 0, "collation": 0}
    tables = [
        {"name": b"notes", "flags": 15, "columns": [key], "key": 0, "foreignKeys": []},
        {"name": b"tags", "flags": 8, "columns": [key], "key": 0, "foreignKeys": []},
        {"name": b"mesh_zone", "flags": 0, "columns": [key], "key": 0, "foreignKeys": []},
        {"name": b"sqlite_master", "flags": 0, "columns": [key], "key": 0, "foreignKeys": []},
        {"name": b"evil", "flags": 0, "columns": [key, column], "key": 0, "foreignKeys": []},
        {"name": b"evil", "flags": 0, "columns": [key, key], "key": 0, "foreignKeys": []},
        {"name": b"evil", "flags": 0, "columns": [key], "key": MAX, "foreignKeys": []},
        {"name": b"evil", "flags": 0, "columns": [], "key": 0, "foreignKeys": []},
        {"name": b"evil", "flags": 0, "columns": [key], "key": 0, "foreignKeys": [
            {"column": MAX, "parent": b"notes", "onDelete": 4, "onUpdate": 4}]},
        {"name": b"tags", "flags": 0, "columns": [key, {**column, "name": b"note", "type": b"TEXT"}], "key": 0,
         "foreignKeys": [{"column": 1, "parent": b"notes", "onDelete": 0, "onUpdate": 0}] * 256},
        {"name": b"evil", "flags": 0, "columns": [key, {**key, "name": b"d", "flags": 2, "default": "x" * 4_097}],
         "key": 0, "foreignKeys": []}]
    for table in tables:
        session = scene.again(member, session)
        session.try_send("schema", tables=[table])
        scene.answered(session)
    session = scene.again(member, session)
    session.try_send("schema", tables=[{"name": f"t{n}".encode(), "flags": 0, "columns": [key], "key": 0, "foreignKeys": []}
                                       for n in range(2_000)])
    scene.answered(session, 60)
    scene.tower.run("schema", "--apply", timeout=240)
    names = [name for (name,) in scene.tower.sql("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    if "evil" in names or "t1" in names:
        raise Failed(f"schema --apply made tables that have no part in the share: {len(names)}")


@attack("message schema: tables[].columns (count)", slower=30,
        reason="rows wait for each step in which a person adopts columns")
def columns_that_a_person_adopts(scene):
    """Describes hundreds of columns of the root record's table, and a person adopts them; rows go on meanwhile."""
    member, zone, session = scene.enter()
    key = {"name": b"id", "type": b"TEXT", "flags": 1, "collation": 0}
    names = [f"adopted{n}" for n in range(min(1_900, scene.many(300)))]
    columns = [{"name": name.encode(), "type": b"TEXT", "flags": 0, "collation": 0} for name in names]
    session.try_send("schema", tables=[{"name": b"notes", "flags": 0, "columns": [key, *columns], "key": 0, "foreignKeys": []}])
    scene.answered(session, 60)
    scene.tower.run("schema", "--apply", timeout=600)
    found = {name for (name,) in scene.tower.sql("SELECT name FROM pragma_table_info('notes')")}
    if not found.issuperset(names):
        raise Failed(f"{len(set(names) - found)} of {len(names)} columns were not adopted")


@attack("message column policies: tables (count)", "message column policies: tables[].policies (count)",
        "message column policies: tables[].policies[].policy", "message column policies: tables[].policies[].time")
def policies_that_nobody_gave(scene):
    """Sends policies of columns as a participant, who may set none, with unknown policies, columns and times; the
    tower's columns keep theirs."""
    member, zone, session = scene.enter()
    key = {"name": b"id", "type": b"TEXT", "flags": 1, "collation": 0}
    note = {"name": b"note", "type": b"TEXT", "flags": 0, "collation": 0}
    text = {"name": b"name", "type": b"TEXT", "flags": 0, "collation": 0}
    tags = {"name": b"tags", "flags": 0, "columns": [key, note, text], "key": 0,
            "foreignKeys": [{"column": 1, "parent": b"notes", "onDelete": 4, "onUpdate": 0}]}
    good = {"column": b"name", "policy": 1, "time": 2**48 - 1}
    for tables in ([{"table": b"tags", "policies": [good]}], [{"table": b"tags", "policies": [{**good, "policy": 9}]}],
                   [{"table": b"tags", "policies": [{**good, "time": 2**64 - 1}]}],
                   [{"table": b"tags", "policies": [{**good, "column": b"no column"}] * 256}],
                   [{"table": b"tags", "policies": [good] * 257}],
                   [{"table": f"t{n}".encode(), "policies": [good] * 16} for n in range(2_000)]):
        session = scene.again(member, session)
        session.try_send("column policies", tables=tables)
        session.try_send("schema", tables=[tags])
        scene.answered(session, 60)
    found = scene.tower.report("schema", timeout=60)["policies"]
    if found or scene.tower.sql("SELECT count(*) FROM mesh_policy") != [(0,)]:
        raise Failed(f"a participant set policies: {found}")


@attack("message schema rules: tables (count)", "message schema rules: tables[].rules.checks (count)",
        "message schema rules: tables[].rules.defaults (count)", "message schema rules: tables[].rules.indexes (count)",
        "message schema rules: tables[].rules.indexes[].flags", "message schema rules: tables[].rules.leftOut (count)",
        "expression: (tag)", "expression: <column>.name (length)", "expression: <apply>.operation",
        "expression: <apply>.operands (count)")
def expressions_that_are_no_expressions(scene):
    """Sends rules whose expressions are too deep, too large, slow or of no grammar, and honest ones that only an owner
    may send; the node stays responsive and its tables compute nothing of it."""
    member, zone, session = scene.enter()

    def apply(operation, *operands):
        return "apply", {"operation": operation, "operands": list(operands)}

    def literal(value):
        return "literal", {"value": value}

    def nested(operation, depth):
        expression = column
        for _ in range(depth):
            expression = apply(operation, expression)
        return expression

    none = {"defaults": [], "checks": [], "indexes": [], "leftOut": []}
    column, size, like, instr, upper = ("column", {"name": b"name"}), 64, 54, 79, 67
    is_null, add, concatenate, random, randomblob = 48, 30, 35, 90, 91
    checks = [
        nested(8, 33), Forged(b"\4\x08\1" * 100_000), nested(upper, 31), apply(255, column), apply(size), apply(is_null, column, column),
        apply(add, *[column] * 257), apply(add, *[literal(1)] * 255), Forged(b"\xff"), literal(b"x" * 5_000),
        ("column", {"name": b"no column"}), ("column", {"name": b"name\0"}), ("column", {"name": b"x\" OR 1); --"}),
        apply(like, column, literal("%a" * 30)), apply(like, column, literal("a" * 60_000)), apply(like, column, column),
        apply(instr, column, column), apply(concatenate, *[column] * 200), apply(random), apply(randomblob, literal(2**62)),
        literal("a\0b"), literal(float("inf")), ("cast", {"type": 9, "operand": column}),
        ("collate", {"collation": 3, "operand": column})]
    variants = [{**none, "checks": [{"name": b"", "expression": check}]} for check in checks]
    valid = {"name": b"mallory", "expression": apply(is_null, column)}
    index = {"name": b"mallory", "flags": 0, "terms": [{"descending": False, "expression": column}]}
    variants += [
        {**none, "checks": [valid] * 257}, {**none, "checks": [{**valid, "name": b"mesh_x"}]},
        {**none, "checks": [{**valid, "expression": nested(upper, 30)}] * 256},
        {**none, "defaults": [{"column": b"name", "expression": column}]},
        {**none, "defaults": [{"column": b"no column", "expression": apply(random)}]},
        {**none, "indexes": [index] * 65}, {**none, "indexes": [{**index, "flags": 255}]},
        {**none, "indexes": [{**index, "flags": 1}]}, {**none, "indexes": [{**index, "name": b"sqlite_x"}]},
        {**none, "indexes": [{**index, "terms": []}]},
        {**none, "leftOut": [{"part": 9, "name": b"x", "reason": 99, "detail": b""}]},
        {**none, "leftOut": [{"part": 1, "name": b"\x1b[2J", "reason": 1, "detail": b"\x1b]0;"}] * 32},
        {**none, "leftOut": [{"part": 1, "name": b"x", "reason": 1, "detail": b"x" * 65}]},
        {"defaults": [{"column": b"name", "expression": apply(4)}], "checks": [valid], "indexes": [index], "leftOut": []}]
    key = {"name": b"id", "type": b"TEXT", "flags": 1, "collation": 0}
    text = {"name": b"name", "type": b"TEXT", "flags": 0, "collation": 0}
    note = {"name": b"note", "type": b"TEXT", "flags": 0, "collation": 0}
    tags = {"name": b"tags", "flags": 0, "columns": [key, note, text], "key": 0,
            "foreignKeys": [{"column": 1, "parent": b"notes", "onDelete": 4, "onUpdate": 0}]}
    for rules in variants:
        session = scene.again(member, session)
        session.try_send("schema rules", tables=[{"table": b"tags", "rules": rules}])
        session.try_send("schema", tables=[tags])
        scene.answered(session)
    start = time.monotonic()
    session = scene.again(member, session)
    session.try_send("schema rules", tables=[{"table": f"t{n}".encode(), "rules": variants[-1]} for n in range(2_000)])
    session.try_send("schema", tables=[tags])
    scene.answered(session, 60)
    scene.tower.report("status", timeout=60)
    if time.monotonic() - start > 20:
        raise Failed(f"two thousand rules took {time.monotonic() - start:.0f} s")
    scene.tower.run("schema", "--apply", timeout=240)
    made = [sql for (sql,) in scene.tower.sql("SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'mesh%'") if sql and "mallory" in sql]
    if made or "mallory" in scene.tower.run("schema").stdout:
        raise Failed(f"a participant's expressions were taken: {made}")


@attack("message account name: title (length)")
def a_name_that_is_somebody_elses(scene):
    """Calls its account by the owner's name, by nothing, by control characters and by ten thousand others; the first counts for
    a session, and a name that two accounts have removes nobody."""
    member, zone, session = scene.enter()
    other, _, second = scene.enter("other")
    # Earlier runs on this mesh have left theirs.
    twin = scene.name("twin")[:64]
    for name in (b"", b"x" * 65, b"\x1b[2J", b"a\0b", b"\xff"):
        session = scene.again(member, session)
        session.try_send("account name", title=name)
        scene.answered(session)
    session = scene.again(member, session)
    for name in [twin.encode()] + [f"name {n}".encode() for n in range(10_000)]:
        session.try_send("account name", title=name)
    scene.answered(session, 60)
    second.try_send("account name", title=twin.encode())
    scene.answered(second)
    people = [one for listed in scene.tower.report("share", "list")["shares"] for one in listed["participants"]]
    if len([one for one in people if one["name"] == twin]) != 2:
        raise Failed(f"the participants are called {[one['name'] for one in people]}")
    titles = [listed["id"] for listed in scene.tower.report("share", "list")["shares"]
              if any(one["name"] == twin for one in listed["participants"])]
    refused = scene.tower.run("share", "remove", titles[0], twin)
    if refused.returncode == 0 or "give the account's id" not in refused.stdout + refused.stderr:
        raise Failed(f"a name of two accounts was taken: {refused.stdout} {refused.stderr}")


@attack("message account heads: heads (count)")
def accounts_that_do_not_exist(scene):
    """Asks about sixteen thousand accounts and names the honest ones with other states, again and again; nothing may
    be answered about strangers."""
    member, zone, session = scene.enter()
    heads = sorted(({"account": os.urandom(32), "hash": os.urandom(32)} for _ in range(16_000)), key=lambda h: h["account"])
    for _ in range(scene.many(5)):
        session = scene.again(member, session)
        session.try_send("account heads", heads=heads)
    honest = [{"account": account, "hash": bytes(32)} for account in sorted(zone.accounts())]
    session = scene.again(member, session)
    flood(session, scene.many(200), "account heads", heads=honest)
    scene.answered(session, 60)


@attack("message asset backlog: coming.assets", "message asset backlog: absent.bytes")
def a_backlog_that_never_ends(scene):
    """Says that it lacks 2^50 assets and keeps changing the number; `mesh status` must still answer."""
    member, zone, session = scene.enter()
    for number in range(scene.many(2_000)):
        if not session.try_send("asset backlog", zone=zone.id, coming={"assets": 2**50 - number, "bytes": 2**50},
                                absent={"assets": 2**50, "bytes": 2**50}):
            break
    scene.answered(session, 60)
    scene.tower.report("peers")


@attack("message schema: tables (count)", "message schema: tables[].columns (count)")
def schemas_of_every_column(scene):
    """Describes tables of 2,000 columns from twenty devices; the node must stay responsive and adopt none by itself."""
    member, zone, session = scene.enter()
    others = [scene.second_device(member, f"d{n}") for n in range(scene.many(20))]
    session.try_send("account", state=member.device.account.state())
    scene.answered(session)
    for number, other in enumerate(others):
        other_session = scene.session(other)
        columns = [{"name": f"c{number}-{n}".encode(), "type": b"TEXT", "flags": 0, "collation": 0} for n in range(1_990)]
        key = {"name": b"id", "type": b"TEXT", "flags": 1, "collation": 0}
        for table in (b"tags", b"notes"):
            other_session.try_send("schema", tables=[
                {"name": table, "flags": 0, "columns": [key, *columns], "key": 0, "foreignKeys": []}])
        scene.answered(other_session, 60)
    start = time.monotonic()
    scene.tower.report("status", timeout=60)
    if time.monotonic() - start > 10:
        raise Failed(f"status took {time.monotonic() - start:.0f} s")
