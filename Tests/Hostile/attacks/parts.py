"""Parts of columns with policies: cells that any author with permission may write, in the name of any other."""

import os
import time

from attacks import attack
from daemons import Failed, eventually
from peer import codec
from peer.zone import Log, births, changes, now

MAX = 2**63 - 1


def part(policy, author, column):
    """The name of an author's part of a column."""
    device, instance = author
    return f"mesh_{policy}_{device.hex()}{instance:016x}_{column}"


def counted(scene):
    """A row of the share whose stars are a counter and whose text keeps the last values, on every honest device."""
    for node in (scene.tower, scene.carol):
        node.done("track", "notes", "--policy", "stars=counter", "--policy", "text=keepBoth")
    key = scene.name("tag")
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', 'x')", key)
    scene.tower.sql("UPDATE notes SET stars = 0, text = 'milk' WHERE id = 'root'")
    for node in scene.honest:
        eventually(f"the stars on {node.name}", lambda: stars(node) == 0)


def stars(node):
    return node.sql("SELECT stars FROM notes WHERE id = 'root'")[0][0]


def agree(scene, timeout=30):
    """All honest devices show the same row, soon."""
    eventually("the honest devices agree", lambda: len({str(node.sql("SELECT * FROM notes WHERE id = 'root'"))
                                                        for node in scene.honest}) == 1, timeout)


def edits(scene, log, cells, generation, key="root", context=None):
    """A change set that edits columns of the root without a birth."""
    at = log.next_time()
    table = births("notes", [(key, cells)], {"author": 0, "time": at}, generation, flags=0)
    return log.change_set(changes([table]), time=at, context=context)


def generation(scene):
    """The generation of the root in its share. In the private zone that it came from, it is deleted, so its generation is even."""
    return scene.tower.sql("SELECT generation FROM mesh_record r JOIN mesh_table t ON t.id = r.tbl "
                           "WHERE t.name = 'notes' AND r.key = 'root' AND generation % 2 = 1")[0][0]


def all_count(scene, before):
    """Each honest device counts once, and every one shows it."""
    for node in scene.honest:
        node.sql("UPDATE notes SET stars = stars + 1 WHERE id = 'root'")
    eventually("three increments everywhere", lambda: all(stars(node) == before + 3 for node in scene.honest), 30)


@attack("value: integer")
def parts_of_somebody_else(scene):
    """Writes the parts of honest authors, at the ends of 64 bits and as texts, BLOBs and NULL; all devices show the same, and later
    increments of honest devices still count."""
    counted(scene)
    member, zone, session = scene.enter()
    all_count(scene, 0)
    authors = [author for author in list(zone.tips)] + [(os.urandom(32), 5)]
    log = Log(member.device, zone)
    for value in (MAX, -MAX - 1, "text", b"x" * 100, None, 1.5, float("inf"), 0):
        for policy in ("counter", "greatest", "least", "keepboth"):
            for author in authors[:6]:
                session = scene.again(member, session)
                session.try_send("change sets", zone=zone.id, changeSets=[
                    edits(scene, log, {part(policy, author, "stars"): value}, generation(scene))])
        scene.answered(session)
        agree(scene)
        scene.tower.sql("UPDATE notes SET stars = stars + 1 WHERE id = 'root'")
        scene.carol.sql("UPDATE notes SET stars = stars - 1 WHERE id = 'root'")
        agree(scene)
    # An assignment takes what others have forged back.
    scene.tower.sql("UPDATE notes SET stars = 10 WHERE id = 'root'")
    agree(scene)
    eventually("the assignment", lambda: all(stars(node) == 10 for node in scene.honest))
    all_count(scene, 10)


@attack("value: integer", "table: columns[] (length)")
def sums_beyond_sixty_four_bits(scene):
    """Writes the greatest increments as many authors, so that the sum is beyond 64 bits; nothing may trap, all devices show the
    same, and an assignment sets the counter."""
    counted(scene)
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    # The sum is exact, and then limited to 64 bits.
    for value, total in ((MAX, MAX), (-MAX - 1, -300)):
        for start in range(0, 300, 100):
            session = scene.again(member, session)
            session.try_send("change sets", zone=zone.id, changeSets=[edits(scene, log, {
                part("counter", (bytes([value & 255]) + os.urandom(31), n), "stars"): value for n in range(start, start + 100)},
                generation(scene))])
        scene.answered(session)
        eventually("the sum of all parts", lambda: all(stars(node) == total for node in scene.honest))
        agree(scene)
    for node in scene.honest:
        node.sql("UPDATE notes SET stars = 5 WHERE id = 'root'")
        agree(scene)


@attack("table: columns (count)")
def names_that_are_almost_parts(scene):
    """Writes columns whose names are nearly those of parts: in capitals, with a column that nobody has, of
    the key, of a reference, of a part, with 255 bytes, without a column. At most their author may stop, and
    rows stay."""
    counted(scene)
    member, zone, session = scene.enter()
    author = next(iter(zone.tips))
    good = part("counter", author, "stars")
    names = [good.upper(), good[:-6] + "id", good[:-6] + "no such column", good[:-5], good[:-6], part("counter", author, good)[:255],
             part("counter", author, "s" * 160)[:255], good.replace("counter", "last"), good.replace("counter", "evil"),
             good.replace("mesh", "mush"), "mesh_", "mesh_counter_", "mesh_counter_" + "0" * 80 + "_", good + " ", " " + good,
             good.replace("counter", "keepBoth"), good.replace("_stars", "_STARS"), "mesh_counter_" + "g" * 80 + "_stars"]
    for name in names:
        log = Log(member.device, zone)
        if len(names) > 14 and names.index(name) == 13:
            member = scene.second_device(member, "more")
            session = scene.session(member)
            session.try_send("account", state=member.device.account.state())
            scene.answered(session)
            log = Log(member.device, zone)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[edits(scene, log, {name: 4}, generation(scene))])
        scene.answered(session)
    agree(scene)
    scene.tower.sql("UPDATE notes SET stars = 1 WHERE id = 'root'")
    eventually("the assignment", lambda: all(stars(node) == 1 for node in scene.honest))
    all_count(scene, 1)


@attack("row: generation", "row: gaps (count)")
def parts_of_other_lives(scene):
    """Writes parts in generations that are over, that are yet to come, and as deletes and births without the column itself;
    honest devices agree and count on."""
    counted(scene)
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    at = generation(scene)
    name = part("counter", (member.device.id, log.instance), "stars")
    for life, flags in ((1, 0), (at - 2, 0), (at + 2, 1), (at + 4, 0), (at + 1, 1)):
        if life < 1:
            continue
        when = log.next_time()
        cells = {name: 3} if life % 2 else {}
        table = births("notes", [("root", cells)], {"author": 0, "time": when}, life, flags=flags)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[log.change_set(changes([table]), time=when)])
        scene.answered(session)
    eventually("the root", lambda: all(node.sql("SELECT 1 FROM notes WHERE id = 'root'") for node in scene.honest), 10)
    scene.tower.sql("UPDATE notes SET stars = 2, text = 'milk' WHERE id = 'root'")
    agree(scene)
    all_count(scene, stars(scene.tower))


@attack("table: columns (count)", "row: gaps[]", alone=True, slower=100,
        reason="an edit of a record reads all of its cells, and this record has thousands")
def a_record_with_all_columns_that_there_can_be(scene):
    """Gives one record thousands of parts and columns that nobody has, and edits it again and again by small change sets; rows of others
    must pass, and the record stays usable."""
    counted(scene)
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    key, used = scene.name("wide"), scene.tower.processor()
    raws = [log.insert("notes", [(key, {"text": "w", "stars": 0})])]
    for start in range(0, scene.many(4_000), 1_000):
        cells = {part("counter", (member.device.id, n), "stars"): 1 for n in range(start, start + 1_000)}
        raws.append(edits(scene, log, cells, 1, key))
    scene.send_log(session, zone, raws)
    for number in range(scene.many(60)):
        session.try_send("change sets", zone=zone.id, changeSets=[
            edits(scene, log, {part("counter", (member.device.id, 0), "stars"): number}, 1, key)])
    scene.settle(5)
    scene.tell(f"the tower used {scene.tower.processor() - used:.1f} s of processor for it")


@attack("value: text (length)", "manifest: size")
def kept_values_of_every_size(scene):
    """Writes kept values of every kind and size in the names of others: long texts, BLOBs that nobody has, NULL; the row shows the
    last edit, and the verbs that list kept values answer."""
    from attacks.assets import manifest
    counted(scene)
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    values = ["x" * 60_000, manifest(zone, size=10**8)[0], b"\0" * 16_384, None, "\x1b[31m\u202e", float("-inf"), -0.0]
    for index, value in enumerate(values):
        author = (os.urandom(32), index)
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[
            edits(scene, log, {part("keepboth", author, "text"): value, part("greatest", author, "text"): value}, generation(scene))])
        scene.answered(session)
    for node in scene.honest:
        explained = node.run("explain", "record", "notes", "root")
        if explained.returncode not in (0, 1) or "\x1b[31m" in explained.stdout:
            raise Failed(f"explain on {node.name}: {explained.stdout[-500:]} {explained.stderr}")
    scene.carol.sql("UPDATE notes SET text = 'bread' WHERE id = 'root'")
    eventually("the last edit", lambda: all(node.sql("SELECT text FROM notes WHERE id = 'root'") == [("bread",)]
                                            for node in scene.honest))


@attack("row: gaps[]", "row: gaps (count)", "table: rows (count)", alone=True)
def births_with_every_choice_of_columns(scene):
    """Births thousands of rows, each with columns that no other row has together; each must cost its own bytes alone."""
    member, zone, session = scene.enter()
    log, used, before = Log(member.device, zone), scene.tower.processor(), scene.tower.disk()
    names, number = [f"c{n:02}" for n in range(16)], 0
    for _ in range(scene.many(10)):
        rows = []
        for _ in range(1_000):
            number += 1
            chosen = {names[bit]: None for bit in range(16) if number >> bit & 1}
            rows.append((scene.name("t"), {"name": "x", "note": "root", **chosen}))
        session = scene.again(member, session)
        session.try_send("change sets", zone=zone.id, changeSets=[log.insert("tags", rows)])
    started = time.monotonic()
    eventually("the rows", lambda: scene.carol.sql("SELECT count(*) FROM tags WHERE name = 'x'")[0][0] >= number, 120)
    scene.tell(f"{number} rows took {time.monotonic() - started:.1f} s; the tower used {scene.tower.processor() - used:.1f} s "
               f"of processor and {(scene.tower.disk() - before) >> 10} KiB")
