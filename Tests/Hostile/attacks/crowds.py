"""Many sessions, claimants, promises and conflicts of one account, which must not crowd out others."""

import os
import threading
import time

from attacks import attack
from attacks.assets import CHUNK, manifest
from attacks.transport import Deaf
from daemons import Failed, eventually
from peer import codec
from peer.identity import share_invite
from peer.link import Ended
from peer.member import Member, Refused, Session
from peer.zone import Author, Log

# Sessions that a node lets one account of others have.
SESSIONS = 32


def stranger_state():
    """The state of an account that nobody knows."""
    return {"genesis": {"version": 1, "signing": os.urandom(32), "recovery": os.urandom(32), "salt": os.urandom(16)},
            "certificates": [], "revocations": []}


def devices_of(scene, member, session, count):
    """More devices of a hostile account, each with what the first knows."""
    account = member.device.account
    devices = [account.device(f"d{number}") for number in range(count)]
    session.try_send("account", state=account.state())
    scene.answered(session)
    others = []
    for device in devices:
        other = Member(device)
        other.zones, other.states = member.zones, {account.id: account.state()}
        others.append(other)
    return others


@attack(alone=True)
def every_link_by_one_account(scene):
    """Opens sessions from many certified devices of one account; they may take no more places than an account has, and
    the owner's second device must still connect."""
    member, zone, session = scene.enter()
    opened = []
    for other in devices_of(scene, member, session, scene.many(60)):
        try:
            opened.append(Session(other, scene.tower.address, polite=False))
            scene.sessions.append(opened[-1])
        except (Ended, Refused, OSError, TimeoutError):
            pass
    scene.settle(2)
    standing = sum(scene.answered(each, 10) for each in opened)
    scene.tell(f"{len(opened)} sessions opened, {standing} stand")
    if standing > SESSIONS:
        raise Failed(f"one account has {standing} sessions")
    scene.laptop.stop()
    scene.laptop.serve()
    key = scene.name()
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', 'x')", key)
    eventually("a row on the laptop", lambda: scene.laptop.sql("SELECT 1 FROM tags WHERE id = ?", key), 30)
    scene.memory[scene.laptop.name] = scene.laptop.memory()


@attack("message asset has: chunks (count)", alone=True)
def chunks_promised_for_ever(scene):
    """Says every few seconds that it has all of honest BLOBs, and gives no chunk that it is asked for; the BLOBs must
    arrive from those who have them."""
    member, zone, session = scene.enter()
    members = [member] + devices_of(scene, member, session, 3)
    sizes, over = {}, threading.Event()

    def promise(liar):
        while not over.is_set() and liar.ended is None:
            for asset, count in list(sizes.items()):
                liar.try_send("asset has", zone=zone.id, asset=asset, chunks=[True] * count)
            over.wait(5)

    for liar in members:
        for node in (scene.laptop, scene.carol):
            other = scene.session(liar, node)
            threading.Thread(target=promise, args=(other,), daemon=True).start()
    scene.settle(1)
    blobs = []
    try:
        for size in (300_000, 900_000, 2_000_000):
            key, data = scene.name("blob"), scene.random.randbytes(size)
            sizes[manifest(zone, data)[1]] = -(-size // CHUNK)
            scene.tower.sql("INSERT INTO tags VALUES (?, 'root', ?)", key, data)
            blobs.append((key, size))
        for node in (scene.laptop, scene.carol):
            for key, size in blobs:
                took = eventually(f"a BLOB of {size} bytes on {node.name}", lambda: node.sql(
                    "SELECT length(CAST(name AS BLOB)) FROM tags WHERE id = ?", key) == [(size,)], 60)
                scene.tell(f"{size} bytes on {node.name} after {took:.1f} s")
    finally:
        over.set()


@attack("message asset has: chunks (count)", alone=True)
def a_holder_that_has_nothing(scene):
    """Says that it has all of a BLOB that only the owner has; the owner's file must not give up the last copy for the word
    of a participant."""
    member, zone, session = scene.enter()
    scene.laptop.stop()
    scene.carol.stop()
    key, data = scene.name("blob"), scene.random.randbytes(600_000)
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', ?)", key, data)
    _, asset = manifest(zone, data)
    over = threading.Event()

    def lie():
        while not over.is_set():
            session.try_send("asset has", zone=zone.id, asset=asset, chunks=[True] * -(-len(data) // CHUNK))
            over.wait(0.05)

    threading.Thread(target=lie, daemon=True).start()
    scene.settle(1)
    evicted = scene.tower.run("asset", "evict", "tags", key, timeout=60)
    over.set()
    left = scene.tower.sql("SELECT length(CAST(name AS BLOB)) FROM tags WHERE id = ?", key)
    scene.laptop.serve()
    scene.carol.serve()
    for node in (scene.laptop, scene.carol):
        scene.memory[node.name] = node.memory()
    if evicted.returncode == 0 or left != [(len(data),)]:
        raise Failed("the last copy of a BLOB is gone")


@attack("message account: state (length)", "message control records: records (count)", alone=True)
def states_of_strangers_and_empty_messages(scene):
    """Offers thousands of states of accounts, and then sends empty messages of control records; each must cost its own
    bytes alone."""
    member, zone, session = scene.enter()
    for _ in range(scene.many(20_000)):
        if not session.try_send("account", state=stranger_state()):
            break
    scene.answered(session, 60)
    raw = codec.message("control records", zone=zone.id, records=[])
    worked, count = scene.tower.processor(), 400
    for _ in range(count):
        session.send_raw(raw)
    scene.answered(session, 60)
    took = (scene.tower.processor() - worked) / count
    scene.tell(f"a message of {len(raw)} bytes took {took * 1_000:.1f} ms")
    # Where the states were looked at each time it took 20 ms and more.
    if took > 0.01:
        raise Failed(f"an empty message took {took * 1_000:.1f} ms")


@attack("message want: vector (count)", "message schema rules: tables (count)", alone=True)
def what_sessions_remember(scene):
    """Fills in sessions of several devices what a session may remember: states of accounts, vectors of zones that are not in
    common, rules; what one account's sessions remember must be bounded."""
    member, zone, session = scene.enter()
    states = [codec.message("account", state=stranger_state()) for _ in range(scene.many(10_000))]
    vector = sorted(({"author": {"device": os.urandom(32), "instance": 1}, "number": 1} for _ in range(8_192)),
                    key=lambda entry: entry["author"]["device"])
    wants = [codec.message("want", zone=os.urandom(32), vector=vector) for _ in range(16)]
    for other in devices_of(scene, member, session, 6):
        filled = Session(other, scene.tower.address, polite=False)
        scene.sessions.append(filled)
        filled.wait(lambda: filled.heard("hello"), what="a hello")
        try:
            for raw in wants + states:
                filled.send_raw(raw)
            scene.answered(filled, 60)
        except (Ended, OSError):
            pass
    scene.tell(f"the tower grew by {(scene.tower.memory() - scene.memory[scene.tower.name]) >> 20} MiB")


@attack(alone=True)
def claimants_that_only_look(scene):
    """Fills a log, and connects again and again with the open invite, as strangers that claim nothing and
    read nothing. Work and memory must stay bounded. Meanwhile an account with another invite must be able to
    join."""
    member, zone, session = scene.enter()
    author, parents = Author(member.device, zone), zone.heads()
    raws = [author.record((77, os.urandom(15_000)), keep=False, parents=[author.previous] if number else parents)
            for number in range(scene.many(60))]
    scene.send_records(session, zone, raws)
    scene.answered(session)
    invite, opened = share_invite(scene.invite()), []
    start = time.monotonic()
    while time.monotonic() - start < 5:
        try:
            opened.append(Session(scene.account("stranger"), scene.tower.address, proof=invite["seed"], polite=False))
            scene.sessions.append(opened[-1])
        except (Ended, OSError):
            time.sleep(0.05)
    # That invite's allowance is used up; another has its own.
    scene.open_invite = None
    scene.check_join()
    shown = sum(session.heard("control heads") > 0 for session in opened)
    scene.tell(f"{len(opened)} claimants, {shown} were shown the log")
    # 4 MiB at once and 256 kB a second, of a log of 900 kB.
    if shown > 20 + 4_400_000 // (15_000 * scene.many(60)):
        raise Failed(f"{shown} claimants were shown the log")


@attack(alone=True)
def sessions_that_come_and_go(scene):
    """Opens and ends sessions of many devices of one account as quickly as it can; honest rows must arrive."""
    member, zone, session = scene.enter()
    others = devices_of(scene, member, session, 24)
    raws = [Log(other.device, zone).insert("tags", [(scene.name(), {"note": "root", "name": "x"})], context=[])
            for other in others[:12] for _ in range(8)]
    scene.send_log(session, zone, raws)
    scene.answered(session)
    over, opened = threading.Event(), []

    def come_and_go(part):
        while not over.is_set():
            for other in part:
                try:
                    deaf = Deaf(other, scene.tower.address)
                    deaf.send("want", zone=zone.id, vector=[])
                    deaf.close()
                    opened.append(other)
                except (Ended, Refused, OSError, TimeoutError):
                    over.wait(0.02)

    threads = [threading.Thread(target=come_and_go, args=(others[first::3],), daemon=True) for first in range(3)]
    for thread in threads:
        thread.start()
    over.wait(5)
    over.set()
    for thread in threads:
        thread.join()
    scene.tell(f"{len(opened)} sessions in 5 s")


@attack(alone=True, slower=100, reason="the laptop first merges the thousands of changes that it has missed")
def conflicts_that_displace_others(scene):
    """Overwrites more values unseen than a file keeps conflicts; the conflict between honest devices must stay listed."""
    member, zone, session = scene.enter()
    key = scene.name("both")
    scene.tower.sql("INSERT INTO tags VALUES (?, 'mine', 'start')", key)
    eventually("the row on the laptop", lambda: scene.laptop.sql("SELECT 1 FROM tags WHERE id = ?", key))
    scene.laptop.stop()
    scene.tower.sql("UPDATE tags SET name = 'tower' WHERE id = ?", key)
    scene.settle(1)
    scene.laptop.sql("UPDATE tags SET name = 'laptop' WHERE id = ?", key)
    scene.laptop.serve()
    scene.memory[scene.laptop.name] = scene.laptop.memory()

    def is_listed():
        return scene.tower.sql("SELECT count(*) FROM mesh_conflict WHERE key = ?", key) != [(0,)]

    eventually("the honest conflict", is_listed)
    logs = Log(member.device, zone), Log(member.device, zone)
    for _ in range(scene.many(12)):
        keys = [scene.name() for _ in range(1_000)]
        session = scene.again(member, session)
        for log in logs:
            rows = [(each, {"note": "root", "name": os.urandom(4).hex()}) for each in keys]
            session.try_send("change sets", zone=zone.id, changeSets=[log.insert("tags", rows, context=[])])
        scene.answered(session)
    eventually("10,000 conflicts", lambda: scene.tower.sql("SELECT count(*) FROM mesh_conflict")[0][0] >= 10_000, 60)
    scene.settle(2)
    if not is_listed():
        raise Failed("an honest conflict is gone")


def arrives(writer, reader, scene, patience=30):
    """A row that one honest device writes in the share reaches another."""
    key = scene.name("honest")
    writer.sql("INSERT INTO tags VALUES (?, 'root', 'x')", key)
    return eventually(f"a row of {writer.name} on {reader.name}",
                      lambda: reader.sql("SELECT 1 FROM tags WHERE id = ?", key), patience)


def write_as_many(scene, member, session, zone, count=256):
    """Writes as so many authors of an account: 16 devices with 16 instances."""
    devices = [member.device] + [other.device for other in devices_of(scene, member, session, 15)]
    raws = [Log(devices[number % 16], zone).insert("tags", [(scene.name(), {"note": "root", "name": "x"})], context=[])
            for number in range(count)]
    for at in range(0, count, 64):
        session.try_send("change sets", zone=zone.id, changeSets=raws[at:at + 64])
    scene.answered(session, 120)
    return devices


@attack("message change sets: changeSets (count)", alone=True)
def thousands_of_authors_within_their_bounds(scene):
    """Writes as 256 authors of each of several accounts; honest rows must arrive meanwhile within seconds."""
    for number in range(scene.many(8)):
        member, zone, session = scene.enter(f"many{number}")
        write_as_many(scene, member, session, zone)
    arrives(scene.laptop, scene.tower, scene, 15)
