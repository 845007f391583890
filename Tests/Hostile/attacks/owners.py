"""A hostile owner, in whose share an honest account takes part: what it says may concern its own share alone."""

import os
import subprocess
import time
from contextlib import contextmanager

from attacks import attack
from attacks.assets import manifest
from attacks.claims import flood
from daemons import Failed, eventually
from peer import codec, crypto
from peer.identity import Account
from peer.member import Member
from peer.owner import Owner
from peer.zone import Log, births, changes, now, record_id

KEY = {"name": b"id", "type": b"TEXT", "flags": 1, "collation": 0}
NOTES = {"name": b"notes", "flags": 0, "key": 0, "foreignKeys": [], "columns": [
    KEY, {"name": b"text", "type": b"TEXT", "flags": 0, "collation": 0},
    {"name": b"stars", "type": b"INTEGER", "flags": 3, "collation": 0, "default": 0}]}
TAGS = {"name": b"tags", "flags": 0, "key": 0, "columns": [
    KEY, {"name": b"note", "type": b"TEXT", "flags": 0, "collation": 0},
    {"name": b"name", "type": b"TEXT", "flags": 0, "collation": 0}],
    "foreignKeys": [{"column": 1, "parent": b"notes", "onDelete": 4, "onUpdate": 0}]}
NO_RULES = {"defaults": [], "checks": [], "indexes": [], "leftOut": []}
LATEST = 2**48 - 1


# Seconds in which a verb returns, whatever other devices say and don't send.
VERB = 12


@contextmanager
def shared(scene, key=None, silent=False):
    """A share of a hostile owner in which carol takes part: (owner, session, the root's key). Carol leaves it at the end.
    A silent owner acknowledges nothing, and the verb that joins its share must return promptly."""
    key = key or scene.name("evil")
    owner = Owner(Account("eve").device("eve"), key)
    owner.acknowledges = not silent
    try:
        log = owner.log(owner.share)
        owner.share.merge_change_set(log.insert("notes", [(key, {"text": "hers", "stars": 0})]))
        joining = scene.carol.start("share", "join", "-", "--yes", input=owner.invite() + "\n")
        try:
            eventually("carol merges her share", lambda: scene.carol.sql(
                "SELECT 1 FROM mesh_zone z JOIN mesh_head h ON h.zone = z.id WHERE z.zone = ? AND h.applied > 0",
                owner.share.id))
            if silent:
                prompt("share join", joining.wait)
        finally:
            # It would wait a while for what the owner doesn't send.
            joining.kill()
            joining.wait()
        yield owner, owner.guest(), key
        scene.check_alive()
        private_rows_stay(scene)
    finally:
        listed = scene.carol.report("share", "list")["shares"]
        owners = [one["id"] for one in listed if one["id"] == crypto.shown("zone", owner.share.id)]
        for id in owners:
            scene.carol.done("share", "leave", id)
        owner.close()


def prompt(verb, run, *arguments):
    """Runs a verb, or waits for its end. It must end within some seconds."""
    try:
        return run(*arguments, timeout=VERB)
    except subprocess.TimeoutExpired:
        raise Failed(f"mesh {verb} did not return in {VERB} s") from None


def private_rows_stay(scene):
    """What a program writes to carol's private rows is what it reads later, whatever an owner says of the table."""
    rows = []
    for text, stars in (("b", 5), ("a", 9), ("c", 2)):
        key = scene.name("private")
        scene.carol.sql("INSERT INTO notes VALUES (?, 'm', 7)", key)
        rows.append((key, text, stars))
    flushed(scene.carol)
    for key, text, stars in rows:
        scene.carol.sql("UPDATE notes SET text = ?, stars = ? WHERE id = ?", text, stars, key)
    flushed(scene.carol)
    for key, text, stars in rows:
        found = scene.carol.sql("SELECT text, stars FROM notes WHERE id = ?", key)
        if found != [(text, stars)]:
            raise Failed(f"a private row that was written as {text}, {stars} is {found}")


def guest(owner, session):
    """The session, or the next one that carol opens when she has ended it."""
    return session if session.ended is None else owner.guest()


def flushed(node, timeout=30):
    eventually(f"{node.name} has sent its writes", lambda: node.sql("SELECT count(*) FROM mesh_pending") == [(0,)], timeout)


def setting(column, policy, time):
    return {"column": column, "policy": policy, "time": time}


def describe(owner, session, policies=None, rules=None, tables=(NOTES, TAGS)):
    """Tells rules, policies and tables, as an owner does."""
    if rules:
        session.try_send("schema rules", tables=rules)
    if policies:
        session.try_send("column policies", tables=policies)
    session.try_send("schema", tables=list(tables))


@attack("message have: vector[].number", "message up to date: vector[].number")
def an_owner_that_acknowledges_nothing(scene):
    """Lets an account join, says that it has change sets without end, and neither sends nor acknowledges any; the verbs
    that take in rows of others must return all the same."""
    with shared(scene, silent=True) as (owner, session, key):
        authors = sorted((entry["author"] for entry in owner.share.vector()), key=lambda a: (a["device"], a["instance"]))
        for name in ("have", "up to date"):
            session.try_send(name, zone=owner.share.id, vector=[{"author": author, "number": 2**62} for author in authors])
        scene.answered(session)
        own, theirs = (scene.name(word).replace("-", "_") for word in ("own", "theirs"))
        scene.carol.sql(f'CREATE TABLE "{own}" (id TEXT PRIMARY KEY NOT NULL)')
        prompt("track", lambda timeout: scene.carol.done("track", own, timeout=timeout))
        up = {"name": b"up", "type": b"TEXT", "flags": 0, "collation": 0}
        describe(owner, session, tables=[NOTES, TAGS, {
            "name": theirs.encode(), "flags": 0, "key": 0, "columns": [KEY, up],
            "foreignKeys": [{"column": 1, "parent": b"notes", "onDelete": 4, "onUpdate": 0}]}])
        scene.answered(session)
        prompt("schema --apply", lambda timeout: scene.carol.done("schema", "--apply", timeout=timeout))
        scene.carol.done("untrack", own, theirs)
        for table in (own, theirs):
            scene.carol.sql(f'DROP TABLE "{table}"')


@attack("message column policies: tables[].policies[].time", "message column policies: tables[].policies[].policy")
def policies_of_an_owner_at_the_end_of_time(scene):
    """Sets every policy on every column as the owner of a share, at the end of time and in turns; private rows of the
    participant, and those of another's share, must stay what programs write."""
    with shared(scene) as (owner, session, key):
        at = int(time.time() * 1000)
        for policy, when in ((1, 1), (2, at - 5), (3, at - 4), (0, at - 3), (4, at - 2), (1, at), (1, LATEST), (9, 1)):
            describe(owner, session, [
                {"table": b"notes", "policies": [setting(column, policy, when) for column in (b"id", b"text", b"stars")]},
                {"table": b"tags", "policies": [setting(column, policy, when) for column in (b"note", b"name")]}])
            scene.answered(session)
            session = guest(owner, session)
            if policy in (1, 2):
                private_rows_stay(scene)
        # Another owner's share.
        tag = scene.name("greatest")
        scene.carol.sql("INSERT INTO tags VALUES (?, 'root', 'z')", tag)
        flushed(scene.carol)
        scene.carol.sql("UPDATE tags SET name = 'a' WHERE id = ?", tag)
        eventually("the lesser name on the tower", lambda: scene.tower.sql(
            "SELECT name FROM tags WHERE id = ?", tag) == [("a",)])
    eventually("the policies go with the share", lambda: scene.carol.report("schema")["policies"] == [])


@attack("message column policies: tables (count)", "message column policies: tables[].policies (count)",
        "message schema: tables (count)")
def policies_by_the_thousand_of_an_owner(scene):
    """Sets thousands of policies on made-up tables and columns, and changes them again and again; the node stays
    responsive, and what it keeps of one owner is bounded."""
    with shared(scene) as (owner, session, key):
        columns = [{"name": f"c{n}".encode(), "type": b"INTEGER", "flags": 0, "collation": 0} for n in range(256)]
        tables = [{"name": f"evil{n}".encode(), "flags": 0, "key": 0, "columns": [KEY, *columns, {
            "name": b"up", "type": b"TEXT", "flags": 0, "collation": 0}], "foreignKeys": [
                {"column": 257, "parent": b"notes", "onDelete": 4, "onUpdate": 0}]} for n in range(20)]
        for turn in range(scene.many(3)):
            policies = [{"table": table["name"], "policies": [setting(c["name"], 3 - turn % 3, 10 + turn) for c in columns]}
                        for table in tables]
            describe(owner, session, policies, tables=[NOTES, TAGS, *tables])
            scene.answered(session, 60)
        for turn in range(scene.many(60)):
            describe(owner, session, [{"table": b"notes", "policies": [setting(b"text", 1 + turn % 2, 100 + turn)]}])
        scene.answered(session, 60)
        kept = scene.carol.sql("SELECT count(*) FROM mesh_policy")[0][0]
        if kept > 4_096 + 100:
            raise Failed(f"{kept} policies are kept")
        share = crypto.shown("zone", owner.share.id)
        told = [quota for quota in scene.carol.report("status")["quotas"] if quota["what"] == "policies"]
        if [quota["share"] for quota in told] != [share]:
            raise Failed(f"the status names {told} as who fills the policies")
        ways = [check["wayOut"] for check in scene.carol.report("doctor")["checks"] if check["name"] == "quota"]
        if not any(way and f"mesh share leave {share}" in way for way in ways):
            raise Failed(f"the doctor does not say how to free the policies: {ways}")


@attack("message former names: tables (count)", "message former names: tables[].former (count)",
        "message former names: tables[].columns (count)")
def former_names_by_the_thousand_of_an_owner(scene):
    """Says that the shared table and its columns had thousands of other names, also those of carol's own tables; her
    records go on under her names, and her node keeps none of them."""
    with shared(scene) as (owner, session, key):
        names = lambda: scene.carol.sql("SELECT (SELECT count(*) FROM mesh_table), (SELECT count(*) FROM mesh_column)")
        before, own = names(), scene.name("own")
        scene.carol.sql("INSERT INTO tags VALUES (?, ?, 'kept')", own, key)
        for turn in range(scene.many(20)):
            columns = [{"column": b"text" if n == 0 else f"f{turn}-{n - 1}".encode(), "former": f"f{turn}-{n}".encode()}
                       for n in range(256)]
            columns[1:3] = [{"column": b"text", "former": b"stars"}, {"column": b"stars", "former": b"text"}]
            session.try_send("former names", tables=[
                {"table": b"notes", "former": [b"tags", b"notes"] + [f"t{turn}-{n}".encode() for n in range(14)],
                 "columns": columns}] + [
                {"table": f"evil{n}".encode(), "former": [b"notes"], "columns": columns} for n in range(20)])
            describe(owner, session)
        scene.answered(session, 60)
        if names() != before:
            raise Failed(f"names are kept that an owner has made up: {names()} instead of {before}")
        if scene.carol.sql("SELECT count(*) FROM mesh_column WHERE origin IS NOT NULL") != [(0,)]:
            raise Failed("an owner has renamed columns of another account")
        eventually("carol's row is there", lambda: scene.carol.sql("SELECT name FROM tags WHERE id = ?", own) == [("kept",)])


@attack("message schema rules: tables[].rules.checks (count)", "message schema rules: tables[].rules.indexes (count)",
        "message schema rules: tables[].rules.defaults (count)", slower=300,
        reason="a person adopts what the owner describes meanwhile")
def rules_of_an_owner_that_refuse_everything(scene):
    """Describes a table as the owner of the share, with as many CHECKs and indexes as there can be, all slow
    or never true. A person adopts it, and nothing but that table may become slow."""
    def column(name):
        return "column", {"name": name}

    def apply(operation, *operands):
        return "apply", {"operation": operation, "operands": list(operands)}

    table = scene.name("evil").replace("-", "_").encode()
    up = {"name": b"up", "type": b"TEXT", "flags": 0, "collation": 0}
    text = {"name": b"t", "type": b"TEXT", "flags": 0, "collation": 0}
    described = {"name": table, "flags": 0, "key": 0, "columns": [KEY, up, text],
                 "foreignKeys": [{"column": 1, "parent": b"notes", "onDelete": 4, "onUpdate": 0}]}
    like = apply(54, column(b"t"), ("literal", {"value": "%a%b%c"}))
    checks = [{"name": f"c{n}".encode(), "expression": like} for n in range(200)]
    never = [{"name": b"never", "expression": apply(1)}]
    with shared(scene) as (owner, session, key):
        for rules in ({**NO_RULES, "checks": checks}, {**NO_RULES, "checks": never}, {**NO_RULES, "indexes": [
                {"name": f"i{n}".encode(), "flags": 0, "terms": [{"descending": False, "expression": column(b"t")}] * 64}
                for n in range(64)]}):
            describe(owner, session, rules=[{"table": table, "rules": rules}, {"table": b"notes", "rules": rules},
                                            {"table": b"tags", "rules": rules}], tables=[NOTES, TAGS, described])
            scene.answered(session, 60)
        scene.carol.run("schema", "--apply", timeout=120)
        for name in ("notes", "tags"):
            text = scene.carol.sql("SELECT sql FROM sqlite_schema WHERE name = ?", name)[0][0]
            if "CHECK" in text:
                raise Failed(f"the owner's rules are in {name}, which was there before: {text}")
    scene.carol.sql(f'DROP TABLE IF EXISTS "{table.decode()}"')


@attack("act title: time", "act participant: permission", "act share genesis: table (length)")
def an_owner_that_changes_its_mind(scene):
    """Lowers and raises its participant hundreds of times, renames and opens its share again, and names roots that are the
    participant's own rows; the participant goes on elsewhere."""
    with shared(scene) as (owner, session, key):
        account = scene.carol.report("status")["account"]
        carol = session.peer_certificate["account"]
        raws = []
        for turn in range(scene.many(120)):
            raws.append(owner.act("participant", account=carol, permission=1 + turn % 2, invite=None, cuts=[]))
            if turn % 10 == 0:
                raws.append(owner.act("title", time=now() + turn, title=f"\u202e\x1b[31m{turn}".encode()[:64]))
                raws.append(owner.act("share genesis", account=owner.device.account.id, nonce=os.urandom(32),
                                      table=b"tags", key="root"))
        scene.send_records(session, owner.share, raws)
        scene.answered(session, 60)
        if "\x1b[31m" in scene.carol.run("share", "list").stdout:
            raise Failed("a title has control characters")
        if not account:
            raise Failed("no account")


@attack("act share genesis: table (length)", "message change sets: changeSets (count)")
def a_share_of_a_record_that_is_somebody_elses(scene):
    """Makes a share whose root has the key of the participant's private row, and writes and deletes it there; the participant's
    row stays its own."""
    key = scene.name("own")
    scene.carol.sql("INSERT INTO notes VALUES (?, 'private', 3)", key)
    flushed(scene.carol)
    with shared(scene, key) as (owner, session, _):
        log = owner.log(owner.share)
        for text, generation in (("stolen", 1), ("again", 3)):
            session.try_send("change sets", zone=owner.share.id, changeSets=[
                log.insert("notes", [(key, {"text": text, "stars": 99})], generation=generation),
                log.insert("tags", [(scene.name(), {"note": key, "name": "hers"})])])
        scene.answered(session)
        scene.settle(1)
        found = scene.carol.sql("SELECT text, stars FROM notes WHERE id = ?", key)
        if found != [("private", 3)]:
            raise Failed(f"the private row {key} is {found}")
    if scene.carol.sql("SELECT text, stars FROM notes WHERE id = ?", key) != [("private", 3)]:
        raise Failed(f"the private row {key} went with the hostile share")


@attack("act epoch", "message keys: keys (count)")
def an_owner_that_keeps_its_keys(scene):
    """Opens epochs whose keys it gives to nobody, or gives other bytes for, while it names them as current; the participant
    writes elsewhere as before."""
    with shared(scene) as (owner, session, key):
        raws, given = [], dict(owner.share.keys)
        for _ in range(scene.many(40)):
            raw, epoch = owner.acts.mint()
            raws.append(raw)
            del owner.share.keys[epoch]
        scene.send_records(session, owner.share, raws)
        epochs = sorted(set(owner.share.epochs()) - set(given))
        for start in range(0, len(epochs), 64):
            session.try_send("keys", zone=owner.share.id, keys=[
                {"epoch": epoch, "sealed": os.urandom(80)} for epoch in epochs[start:start + 64]])
        scene.answered(session)
        scene.carol.sql("INSERT INTO tags VALUES (?, ?, 'in her share')", scene.name(), key)
        scene.check_sync()
        owner.share.keys.update(given)
    # What waits for a key of hers goes with the share.
    flushed(scene.carol)


@attack("act participant: cuts (count)", "act stop", "act revoke invite: staying (count)")
def an_owner_that_throws_everybody_out(scene):
    """Removes its participant with cuts that take everything back, lets it in again, stops the share and goes on writing; the
    participant loses that share and nothing else."""
    with shared(scene) as (owner, session, key):
        carol = session.peer_certificate["account"]
        for number in range(20):
            scene.carol.sql("INSERT INTO tags VALUES (?, ?, 'x')", scene.name(), key)
        flushed(scene.carol)
        for permission in (0, 2, 0, 1, 2):
            session = guest(owner, session)
            raw = owner.act("participant", account=carol, permission=permission, invite=None, cuts=[])
            scene.send_records(session, owner.share, [raw])
            scene.settle(0.5)
        session = guest(owner, session)
        raws = [owner.act("revoke invite", invite=owner.invitation, staying=[]), owner.act("stop")]
        scene.send_records(session, owner.share, raws)
        session.try_send("change sets", zone=owner.share.id, changeSets=[
            owner.log(owner.share).insert("notes", [(key, {"text": "after the end"})])])
        scene.settle(1)
    if scene.carol.sql("SELECT text FROM notes WHERE id = ?", key) == [("after the end",)]:
        raise Failed("a stopped share is still written")


@attack("act invite: uses", "act invite: expiry")
def an_owner_with_thousands_of_invites(scene):
    """Makes as many invites, titles and admissions of made-up accounts as its numbers allow; the participant's other share is as
    quick as before."""
    with shared(scene) as (owner, session, key):
        raws = []
        for number in range(scene.many(900)):
            raws.append(owner.act("invite", parents=[owner.acts.previous], key=os.urandom(32), permission=number % 2 + 1,
                                  expiry=number % 3 - 1, uses=0, only=os.urandom(13)))
        owner.share.merge_records(raws)
        scene.send_records(session, owner.share, raws)
        scene.answered(session, 60)
        scene.tower.done("share", "rename", "Shared", "Shared")


@attack("message have: vector[].number", "message digest: records")
def an_owner_that_says_what_its_guest_has(scene):
    """Acknowledges, digests and announces as the owner what its participant never wrote, and replays the participant's own change
    sets under other numbers; the participant writes on as the same instance."""
    with shared(scene) as (owner, session, key):
        for number in range(5):
            scene.carol.sql("INSERT INTO tags VALUES (?, ?, 'x')", scene.name(), key)
        flushed(scene.carol)
        eventually("her change sets", lambda: any(device == session.peer_certificate["request"]["device"]
                                                  for device, _ in list(owner.share.tips)))
        device = session.peer_certificate["request"]["device"]
        author = next(author for author in list(owner.share.tips) if author[0] == device)
        named = {"device": author[0], "instance": author[1]}
        for number in (1, 2**32, 2**64 - 1):
            for name in ("have", "up to date"):
                session.try_send(name, zone=owner.share.id, vector=[{"author": named, "number": number}])
            session.try_send("tips", zone=owner.share.id, tips=[{"author": named, "number": number, "id": os.urandom(16)}])
            session.try_send("digest", zone=owner.share.id, vector=owner.share.vector(), records=number, hash=os.urandom(16), unsent=0)
        raw = owner.share.change_sets[author][1]
        session.try_send("change sets", zone=owner.share.id, changeSets=[raw] * 50)
        owner.acknowledge(session, owner.share, vector=[{"author": named, "number": 2**63}])
        scene.answered(session)
        later = scene.name()
        scene.carol.sql("INSERT INTO tags VALUES (?, ?, 'later')", later, key)
        flushed(scene.carol)
        scene.settle(1)
        if len({author for author in list(owner.share.tips) if author[0] == device}) > 2:
            raise Failed("the participant began instance after instance")


@attack("manifest: size", "message asset has: chunks (count)")
def an_owner_whose_blobs_never_come(scene):
    """Writes thousands of BLOBs that it never gives into its share, and overwrites them again and again; a BLOB of the
    participant's other share must arrive."""
    with shared(scene) as (owner, session, key):
        log = owner.log(owner.share)
        for turn in range(scene.many(40)):
            value, asset = manifest(owner.share, os.urandom(40_000))
            session.try_send("change sets", zone=owner.share.id, changeSets=[
                log.insert("tags", [(f"blob{number}-{key}", {"note": key, "name": value}) for number in range(20)])])
            session.try_send("asset has", zone=owner.share.id, asset=asset, chunks=[True])
        scene.answered(session, 60)
        blob, data = scene.name("blob"), scene.random.randbytes(300_000)
        scene.tower.sql("INSERT INTO tags VALUES (?, 'root', ?)", blob, data)
        eventually("the BLOB on carol", lambda: scene.carol.sql(
            "SELECT length(CAST(name AS BLOB)) FROM tags WHERE id = ?", blob) == [(len(data),)], 30)


@attack("message schema: tables[].columns (count)", "act participant: permission", slower=300,
        reason="a person adopts what the owner describes meanwhile")
def a_table_as_wide_as_there_can_be(scene):
    """Describes a table with as many columns as there can be, which a person adopts, and then takes the permission away, and the share;
    the participant goes on elsewhere, and can leave."""
    table = scene.name("evil").replace("-", "_").encode()
    columns = [{"name": f"c{n}".encode(), "type": b"TEXT", "flags": 0, "collation": 0} for n in range(1_990)]
    up = {"name": b"up", "type": b"TEXT", "flags": 0, "collation": 0}
    wide = {"name": table, "flags": 0, "key": 0, "columns": [KEY, up, *columns],
            "foreignKeys": [{"column": 1, "parent": b"notes", "onDelete": 4, "onUpdate": 0}]}
    with shared(scene) as (owner, session, key):
        describe(owner, session, tables=[NOTES, TAGS, wide])
        scene.answered(session, 60)
        scene.carol.done("schema", "--apply", timeout=120)
        carol = session.peer_certificate["account"]
        for permission in (1, 2, 1):
            scene.send_records(session, owner.share, [
                owner.act("participant", account=carol, permission=permission, invite=None, cuts=[])])
            scene.answered(session)
        eventually("the share is read-only", lambda: scene.carol.sql(
            "SELECT role FROM mesh_zone WHERE zone = ?", owner.share.id) == [(3,)])
        scene.check_sync()
    scene.carol.sql(f'DROP TABLE "{table.decode()}"')
