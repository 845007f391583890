"""Change sets that lie about generations, pasts, authors, times, sizes and names."""

import os

from attacks import attack
from daemons import Failed, eventually
from peer import codec, crypto
from peer.zone import Log, births, change_set_id, changes, now

MAX = 2**64 - 1


def own(log, number, time=1):
    return [{"author": log.author, "number": number, "time": time}]


def takes(scene, key, sql, *values):
    """An honest device changes a row that the attack touched, and the others follow."""
    scene.tower.sql(sql, *values)


def expect_row(scene, node, key, here=True, timeout=30):
    eventually(f"{key} {'is on' if here else 'has left'} {node.name}",
               lambda: bool(node.sql("SELECT 1 FROM tags WHERE id = ?", key)) == here, timeout)


def overtake(scene, generation, *claims):
    """Births a row with a generation that only the author's own entry in its context could explain."""
    member, zone, session = scene.enter()
    key = scene.name()
    for claim in claims:
        log = Log(member.device, zone)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[log.insert(
            "tags", [(key, {"note": "root", "name": "x"})], generation=generation, context=own(log, claim))])
        scene.answered(session)
    scene.settle()
    # If it was taken, an honest device edits it and deletes it, which must work.
    if scene.tower.sql("SELECT 1 FROM tags WHERE id = ?", key):
        scene.tower.sql("UPDATE tags SET name = 'edited' WHERE id = ?", key)
        scene.tower.sql("DELETE FROM tags WHERE id = ?", key)
    scene.settle()


@attack("row: generation", "body: context[].number", "body: context[].author.instance")
def generation_at_the_maximum(scene):
    """Births a row with generation 2^64-1 under a context that names its own author; no daemon may crash when the row
    is deleted."""
    overtake(scene, MAX, MAX, 2**63, 2**63 - 1)


@attack("row: generation", "body: context[].number")
def generation_beyond_a_million(scene):
    """Births a row with generation 1,000,001 under a context that names its own author; honest edits of the row must
    still be taken everywhere."""
    overtake(scene, 1_000_001, 1_000_001)


@attack("body: context[].number", "row: generation")
def generation_explained_by_a_departed_author(scene):
    """Names an author that has left with number 2^63 in the context, to justify a generation of a million; honest edits
    of the row must still be taken everywhere."""
    departing, zone, session = scene.enter("departing")
    departing.write(session, zone, "tags", [(scene.name(), {"note": "root", "name": "x"})])
    ghost = departing.log(zone).author
    scene.answered(session)
    scene.send_records(session, zone, [departing.author(zone).record(("leave", {"cuts": []}))])
    scene.answered(session)
    member, zone, session = scene.enter()
    key = scene.name()
    log = Log(member.device, zone)
    raw = log.insert("tags", [(key, {"note": "root", "name": "x"})], generation=1_000_001,
                     context=[{"author": ghost, "number": 2**63, "time": 1}])
    session.try_send("change sets", zone=zone.id, changeSets=[raw])
    scene.answered(session)
    scene.settle()
    if scene.tower.sql("SELECT 1 FROM tags WHERE id = ?", key):
        scene.tower.sql("UPDATE tags SET name = 'edited' WHERE id = ?", key)
        scene.laptop.sql("UPDATE tags SET name = 'again' WHERE id = ?", key)
        scene.tower.sql("DELETE FROM tags WHERE id = ?", key)


@attack("row: generation")
def generations_as_far_as_allowed(scene):
    """Raises one row by the greatest generation that the rule allows in each of 200 change sets; deletes and edits by
    honest devices must still win."""
    member, zone, session = scene.enter()
    key, log = scene.name(), Log(member.device, zone)
    for number in range(1, scene.many(200) + 1):
        raw = log.insert("tags", [(key, {"note": "root", "name": "x"})], generation=2 * number - 1, context=[])
        session.try_send("change sets", zone=zone.id, changeSets=[raw])
    scene.answered(session)
    expect_row(scene, scene.laptop, key)
    scene.settle(2)
    scene.tower.sql("DELETE FROM tags WHERE id = ?", key)
    expect_row(scene, scene.laptop, key, here=False)


@attack("body: context[].author.instance", "body: context (count)")
def a_past_that_nobody_has(scene):
    """Names 8,000 authors that do not exist in a context; the change set may wait permanently, and no other
    may."""
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    context = sorted(({"author": {"device": os.urandom(32), "instance": 1}, "number": 1, "time": 1}
                      for _ in range(8_000)), key=lambda e: e["author"]["device"])
    for number in range(scene.many(3)):
        session.try_send("change sets", zone=zone.id, changeSets=[
            Log(member.device, zone).insert("tags", [(scene.name(), {"note": "root", "name": "x"})], context=context)])
    scene.answered(session)


@attack("body: context[].number", "body: context[].time")
def a_past_that_honest_devices_never_wrote(scene):
    """Names the honest devices in a context with number and time 2^64-1; what they write must still arrive and win."""
    member, zone, session = scene.enter()
    honest = [entry["author"] for entry in zone.vector()]
    key = scene.name()
    for number, time in ((MAX, MAX), (MAX, 1), (1, MAX), (2**63, 2**63)):
        context = [{"author": author, "number": number, "time": time} for author in honest]
        log = Log(member.device, zone)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert("tags", [(key, {"note": "root", "name": "x"})], context=context)])
        scene.answered(session)


@attack("header: time", "row: stamp.time")
def signed_at_the_end_of_time(scene):
    """Signs change sets with times of 2^64-1, and just within five minutes with a full counter; honest clocks must not
    run out and honest edits must win later."""
    member, zone, session = scene.enter()
    key = scene.name()
    for time in (MAX, MAX - 1, ((now() >> 16) + 299_000 << 16) | 0xFFFF, ((now() >> 16) + 280_000 << 16) | 0xFFFE):
        log = Log(member.device, zone)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert("tags", [(key, {"note": "root", "name": "x"})], time=time, context=[])])
        scene.answered(session)
    scene.settle()
    if scene.tower.sql("SELECT 1 FROM tags WHERE id = ?", key):
        scene.tower.sql("UPDATE tags SET name = 'honest' WHERE id = ?", key)
        eventually("the honest edit wins", lambda: scene.laptop.sql("SELECT name FROM tags WHERE id = ?", key) == [("honest",)])


@attack("row: stamp.author", "row: own.author", "row: own.time", "body: content<changes>.authors[].instance")
def stamps_of_somebody_else(scene):
    """Births a row whose stamps name an honest device as their author; `explain record` must name the signer."""
    member, zone, session = scene.enter()
    victim = zone.vector()[0]["author"]
    key, log = scene.name(), Log(member.device, zone)
    raw = log.insert("tags", [(key, {"note": "root", "name": "forged"})], stamp={"author": 1, "time": now() - (1 << 26)},
                     authors=[victim])
    session.try_send("change sets", zone=zone.id, changeSets=[raw])
    if not scene.answered(session):
        return
    scene.settle()
    if not scene.tower.sql("SELECT 1 FROM tags WHERE id = ?", key):
        return
    mine = crypto.shown("device", member.device.id)
    report = scene.tower.report("explain", "record", "tags", key)
    if mine not in str(report):
        raise Failed(f"explain record names only the devices that the stamps claim: {report['records'][0]['by']}")


@attack("header: number", "header: author.instance")
def change_sets_in_another_name(scene):
    """Signs change sets that name honest devices as authors, and continues their logs; they must still write, and
    nothing of it may be kept."""
    member, zone, session = scene.enter()
    for entry in zone.vector():
        for number in (1, entry["number"], entry["number"] + 1, MAX):
            log = Log(member.device, zone)
            raw = log.insert("tags", [(scene.name("forged"), {"note": "root", "name": "x"})], header={
                "author": entry["author"], "number": number})
            session = scene.again(member, session)
            session.try_send("change sets", zone=zone.id, changeSets=[raw])
            scene.answered(session)
    for node in scene.honest:
        if node.sql("SELECT 1 FROM tags WHERE id LIKE 'forged%'"):
            raise Failed(f"{node.name} took a change set in another's name")


@attack("message change sets: changeSets (count)")
def unsigned_change_sets(scene):
    """Sends change sets of its own and of honest authors with broken signatures; honest authors must still write."""
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    raws = [raw for numbers in zone.change_sets.values() for raw in numbers.values()][:20]
    raws.append(log.insert("tags", [(scene.name(), {"note": "root", "name": "x"})]))
    for raw in raws:
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[raw[:-1] + bytes([raw[-1] ^ 1])])
        scene.answered(session)


@attack("header: partIndex", "header: partPlanned", "header: final", "body: content<piece>.offset",
        "body: content<piece>.bytes (length)", "value: long.size")
def a_long_value_in_many_parts(scene):
    """Writes one unit of many pieces before its end; the write lock must stay short, since each part costs its own
    bytes alone."""
    member, zone, session = scene.enter()
    piece, parts = 48_000, scene.many(250)
    log = Log(member.device, zone)
    content = os.urandom(piece)
    raws = []
    for index in range(parts):
        raws.append(log.change_set(("piece", {"ordinal": 0, "offset": index * piece, "bytes": content}), header={
            "partIndex": index, "partPlanned": parts + 1, "final": False}))
    time = log.next_time()
    row = births("tags", [(scene.name(), {"note": "root", "name": (6, {"ordinal": 0, "size": piece * parts})})],
                 {"author": 0, "time": time})
    raws.append(log.change_set(changes([row]), time=time, header={"partIndex": parts, "partPlanned": parts + 1}))
    scene.send_log(session, zone, raws)
    scene.answered(session, 60)


@attack("header: final", "header: partIndex", "header: partPlanned")
def units_that_never_end(scene):
    """Begins a unit with every instance of several devices and never ends one; what waits must stay bounded,
    and must not make others wait."""
    member, zone, session = scene.enter()
    account = member.device.account
    devices = [member.device] + [account.device(f"d{n}") for n in range(scene.many(4))]
    session.try_send("account", state=account.state())
    for device in devices:
        for _ in range(15):
            log = Log(device, zone)
            scene.send_log(session, zone, [
                log.change_set(("piece", {"ordinal": 0, "offset": index * 50_000, "bytes": os.urandom(50_000)}),
                               header={"partIndex": index, "partPlanned": MAX if index % 2 else 0, "final": False})
                for index in range(scene.many(3))])
    scene.answered(session, 60)


@attack("value: long.ordinal", "body: content<piece>.ordinal")
def pieces_that_overlap_and_leave_gaps(scene):
    """Sends pieces that overlap, leave gaps or belong to no field; at most their author may stop."""
    member, zone, session = scene.enter()
    for pieces in ([(0, 0), (0, 10)], [(0, 0), (0, 500)], [(MAX, 0)], [(0, MAX - 50)], [(0, 2**26 - 50)], [(7, 0), (6, 0)]):
        log = Log(member.device, zone)
        raws = [log.change_set(("piece", {"ordinal": ordinal, "offset": offset, "bytes": bytes(100)}), header={
            "partIndex": index, "partPlanned": 3, "final": False}) for index, (ordinal, offset) in enumerate(pieces)]
        row = births("tags", [(scene.name(), {"note": "root", "name": (6, {"ordinal": 0, "size": 200})})],
                     {"author": 0, "time": log.next_time()})
        raws.append(log.change_set(changes([row]), header={"partIndex": len(pieces), "partPlanned": 3}))
        session = scene.again(member, session)
        scene.send_log(session, zone, raws)
        scene.answered(session)


@attack("table: rows (count)")
def many_rows_that_wait_for_parents(scene):
    """Writes tens of thousands of rows whose parents never come; they may be held, and honest rows must not wait."""
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    for batch in range(scene.many(10)):
        rows = [(scene.name(), {"note": f"none-{batch}-{n}", "name": "x"}) for n in range(1_000)]
        session.try_send("change sets", zone=zone.id, changeSets=[log.insert("tags", rows)])
    scene.answered(session, 60)


@attack("table: table (length)")
def rows_of_tables_that_are_not_shared(scene):
    """Writes into tables of the mesh and of SQLite, under names that differ in case alone, and over a private row; no
    table may change that has no part in the share."""
    member, zone, session = scene.enter()
    for table in ("mesh_zone", "MESH_table", "sqlite_master", "sqlite_sequence", "NOTES", "notes ", "no\0tes", "", "x" * 255,
                  "notes"):
        log = Log(member.device, zone)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert(table, [("mine", {"text": "taken", "stars": 9})])])
        scene.answered(session)
    scene.settle()
    for node in (scene.tower, scene.laptop):
        if node.sql("SELECT text FROM notes WHERE id = 'mine'") != [("private",)]:
            raise Failed(f"a private row of {node.name} was overwritten through the share")


@attack("table: table (length)", "table: columns[] (length)")
def names_that_readers_read_differently(scene):
    """Writes under names that differ after U+0000, in how they compose a letter, in case or in spaces at
    their end. Then it forks a log, so that all of it is read again. Honest devices must agree on what is one
    name."""
    member, zone, session = scene.enter()
    names = ["n\0a", "n\0b", "caf\u00e9", "cafe\u0301", "CAF\u00c9", "K", "\u212a", "x ", "x", "x\t", "mesh_\u0301", "\ufeff"]
    for table, columns in [(name, ["a"]) for name in names] + [("tags", ["note", name]) for name in names]:
        session = scene.again(member, session)
        log = Log(member.device, zone)
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert(table, [(scene.name(), {column: "root" for column in columns})])])
        scene.answered(session)
    log, rows = Log(member.device, zone), [(scene.name(), {"note": "root", "name": "x"})]
    session = scene.again(member, session)
    session.try_send("change sets", zone=zone.id, changeSets=[
        log.insert("tags", rows, advance=False, context=[]), log.insert("tags", rows, context=[])])
    scene.answered(session)


@attack("value: text (length)", "value: blob (length)", "value: integer", "value: double")
def values_of_every_size(scene):
    """Writes keys and values at the edges: the longest texts, NaN, broken UTF-8, empty keys; honest rows pass."""
    member, zone, session = scene.enter()
    values = ["", "x" * 500_000, b"", bytes(16_384), (3, codec.Sized(0).encode(b"\xff\xfe\0")), float("inf"), -0.0,
              (2, codec.U64.encode(2**64 - 1)), 2**63 - 1, -(2**63), (7, b""), (9, b""), None]
    for value in values:
        log = Log(member.device, zone)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert("tags", [(scene.name(), {"note": "root", "name": value})])])
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[
            Log(member.device, zone).insert("tags", [(value, {"note": "root", "name": "key"})])])
        scene.answered(session)


@attack("header: number", "header: size")
def change_sets_that_wait_by_many_devices(scene):
    """Fills the room for waiting change sets from many devices of one account; honest change sets must find room."""
    member, zone, session = scene.enter()
    account = member.device.account
    devices = [account.device(f"d{n}") for n in range(scene.many(8))]
    session.try_send("account", state=account.state())
    missing = [{"author": {"device": os.urandom(32), "instance": 1}, "number": 1, "time": 1}]
    for device in devices:
        log = Log(device, zone)
        raws = []
        for _ in range(8):
            rows = [(scene.name(), {"note": "root", "name": "x" * 400_000}) for _ in range(2)]
            raws.append(log.insert("tags", rows, context=missing if not raws else []))
        scene.send_log(session, zone, raws)
    scene.answered(session, 60)


@attack("header: number")
def logs_that_begin_in_the_middle(scene):
    """Sends change sets with numbers 0, 2, a million and 2^64-1 without those before; only their author may wait."""
    member, zone, session = scene.enter()
    for number in (0, 2, 1_000_000, 2**63, MAX):
        log = Log(member.device, zone)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert("tags", [(scene.name(), {"note": "root", "name": "x"})], header={"number": number})])
        scene.answered(session)


@attack("header: size", "message change sets: changeSets[] (length)")
def bytes_that_are_no_change_sets(scene):
    """Sends ciphertexts that do not open, other nonces, cut and random bytes; only the session or the author may end."""
    member, zone, session = scene.enter()
    rows = [(scene.name(), {"note": "root", "name": "x"})]
    good = Log(member.device, zone).insert("tags", rows)
    variants = [b"", b"\0", good[:-1], good + b"\0", os.urandom(300), good[:100] + os.urandom(len(good) - 100),
                Log(member.device, zone).insert("tags", rows, nonce=os.urandom(24)),
                Log(member.device, zone).insert("tags", rows, key=os.urandom(32)),
                Log(member.device, zone).change_set(b""), Log(member.device, zone).change_set(os.urandom(500))]
    for raw in variants:
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[raw])
        scene.answered(session)


@attack("header: author.instance")
def more_instances_than_a_device_has(scene):
    """Writes as 60 instances of one device, and without a grant in the instance; the honest devices keep theirs."""
    member, zone, session = scene.enter()
    for number in range(60):
        session = scene.again(member, session)
        log = Log(member.device, zone, instance=None if number % 2 else number)
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert("tags", [(scene.name(), {"note": "root", "name": "x"})])])
        scene.answered(session)


@attack("header: author.instance", "message account: state (length)", alone=True)
def authors_by_the_thousand(scene):
    """Writes as hundreds of certificates with 16 instances each; the honest devices must still find room in their
    vectors and stay connected with each other."""
    member, zone, session = scene.enter()
    account = member.device.account
    devices = [member.device] + [account.device(f"d{n}") for n in range(min(511, scene.many(511)))]
    session.try_send("account", state=account.state())
    scene.answered(session, 60)
    for device in devices:
        session = scene.again(member, session)
        raws = [Log(device, zone).insert("tags", [(scene.name(), {"note": "root", "name": "x"})], context=[])
                for _ in range(16)]
        session.try_send("change sets", zone=zone.id, changeSets=raws)
    scene.answered(session, 120)
    scene.settle(2)
    # The vectors that the honest devices exchange are read when they meet again.
    scene.restart()


@attack("header: number", "message excerpt: headers (count)")
def a_log_that_forks_everywhere(scene):
    """Forks its own logs at many places, shows both branches, and names an honest device in a made-up proof; only its
    own logs may end."""
    member, zone, session = scene.enter()
    for _ in range(scene.many(5)):
        log = Log(member.device, zone)
        for _ in range(8):
            rows = [(scene.name(), {"note": "root", "name": "x"})]
            pair = [log.insert("tags", rows, advance=False, context=[]), log.insert("tags", rows, context=[])]
            session = scene.again(member, session)
            session.try_send("change sets", zone=zone.id, changeSets=pair)
            scene.answered(session)


@attack("header: number")
def a_replay_of_everybodys_log(scene):
    """Sends every change set that it was given back, many times; nothing may be merged twice or kept twice."""
    member, zone, session = scene.enter()
    raws = [raw for numbers in zone.change_sets.values() for raw in numbers.values() if len(raw) < 4_000][:300]
    for _ in range(scene.many(10)):
        scene.send_log(session, zone, raws)
    scene.answered(session, 60)


@attack("body: content (tag)")
def deletes_of_everything(scene):
    """Deletes and births the rows of honest devices again and again; a member may do that, and sync must go on."""
    member, zone, session = scene.enter()
    keys = list(zone.rows("tags"))[:500]
    log = Log(member.device, zone)
    for generation in (2, 3, 4, 5):
        time = log.next_time()
        rows = [(key, {} if generation % 2 == 0 else {"note": "root", "name": "again"}) for key in keys]
        if rows:
            session.try_send("change sets", zone=zone.id, changeSets=[
                log.insert("tags", rows, generation=generation, time=time)])
    scene.answered(session, 60)


# The doctor takes seconds with as many names as there can be, so these come last.

@attack("body: content<changes>.tables (count)", "table: table (length)", alone=True,
        slower=300, reason="each of the thousands of tables in one change set gets a number, and rows wait for that transaction")
def table_names_that_nobody_has(scene):
    """Writes rows into tens of thousands of tables that nobody has; the honest files must not grow without bound."""
    member, zone, session = scene.enter()
    log, stamp = Log(member.device, zone), {"author": 0, "time": 1}
    before = scene.tower.disk()
    names = 2_000
    for batch in range(scene.many(10)):
        tables = [{**births("x", [(1, {"a": 1})], stamp), "table": f"t{batch}-{n}-".encode() + b"x" * 200}
                  for n in range(names)]
        if not session.try_send("change sets", zone=zone.id, changeSets=[log.change_set(changes(tables))]):
            break
    scene.answered(session, 60)
    growth = scene.tower.disk() - before
    if growth > 60 << 20:
        raise Failed(f"the owner's files grew by {growth >> 20} MiB")


@attack("table: columns (count)", "table: columns[] (length)", "row: gaps[]")
def columns_that_nobody_has(scene):
    """Writes thousands of columns that nobody has into a table of the share; honest rows must still pass quickly."""
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    for batch in range(scene.many(5)):
        cells = {f"c{batch}-{n:04}": n for n in range(1_990)}
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert("tags", [(scene.name(), {**cells, "note": "root", "name": "x"})])])
    scene.answered(session, 60)
