"""Attacks that succeed. Each says why; whoever mends one removes its `expected_failure`."""

import os
import threading
import time

from attacks import attack
from attacks.crowds import devices_of
from daemons import Failed, eventually
from peer import codec, crypto
from peer.identity import share_link
from peer.link import Ended
from peer.member import Member, Refused, Session
from peer.zone import Author, Log, births, changes, now, record_id

BOUND = "what a node keeps of it is bounded by the order in which it came, so two honest nodes keep different parts"
COST = "reading or merging what the accounts may write takes more than linear time"


def records_of(device, zone):
    """How many control records of a device are in the log."""
    return sum(record["author"] == device for record, _ in list(zone.records.values()))


def fill(account, certificates=511, revocations=512):
    """Gives an account as many certificates and revocations as it can have."""
    for device in [account.device("x" * 64) for _ in range(certificates)][:revocations]:
        account.revoke(device)


def send_at_once(*sent):
    """Sends messages in several sessions at the same time."""
    threads = [threading.Thread(target=lambda session=session, raws=raws: [session.send_raw(raw) for raw in raws])
               for session, raws in sent]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def arrives(writer, reader, scene, patience=30):
    """A row that one honest device writes in the share reaches another."""
    key = scene.name("honest")
    writer.sql("INSERT INTO tags VALUES (?, 'root', 'x')", key)
    return eventually(f"a row of {writer.name} on {reader.name}",
                      lambda: reader.sql("SELECT 1 FROM tags WHERE id = ?", key), patience)


@attack("act fork", alone=True, expected_failure=(
    "a device proves each fork with a record of its own, so forks use up the numbers with which the owner acts"))
def forks_that_use_up_the_owners_numbers(scene):
    """Forks many of its own instances; the proofs may not use up the numbers with which the owner's device acts."""
    member, zone, session = scene.enter()
    session.wait(lambda: session.peer_certificate, what="a certificate")
    tower = session.peer_certificate["request"]["device"]
    before = records_of(tower, zone)
    for other in devices_of(scene, member, session, scene.many(2)):
        for _ in range(15):
            log, rows, raws, places = Log(other.device, zone), [(scene.name(), {"note": "root", "name": "x"})], [], []
            for _ in range(9):
                places.append((log.number, log.previous, log.time))
                raws.append(log.insert("tags", rows, context=[]))
            session = scene.again(member, session)
            session.try_send("change sets", zone=zone.id, changeSets=raws)
            for log.number, log.previous, log.time in reversed(places[1:]):
                branch = log.insert("tags", [(scene.name(), {"note": "root", "name": "y"})], context=[],
                                    time=max(now(), log.time + 1), advance=False)
                session = scene.again(member, session)
                session.try_send("change sets", zone=zone.id, changeSets=[branch])
    scene.answered(session, 60)
    scene.settle(1)
    made = records_of(tower, zone) - before
    if made > 64:
        raise Failed(f"the owner's device wrote {made} records")


def certificates_apart(scene, member, session, other):
    """Two honest nodes take the last certificates of an account that it can have, each others: (of one, of the other)."""
    account = member.device.account
    for _ in range(505):
        account.device("common")
    for each in (session, other):
        each.try_send("account", state=account.state())
        scene.answered(each, 60)
    common, states, devices = list(account.certificates), [], []
    for name in ("one", "two"):
        account.certificates = list(common)
        devices.append([account.device(name) for _ in range(512 - len(common))])
        states.append(codec.message("account", state=account.state()))
    send_at_once((session, states[:1]), (other, states[1:]))
    for each in (session, other):
        scene.answered(each, 60)
    scene.settle(1)
    return devices


@attack("message account: state (length)", alone=True, expected_failure=f"{BOUND}: of certificates")
def records_by_certificates_that_others_lack(scene):
    """Signs more certificates than an account can have, gives two honest devices different ones, and writes control records
    by each; honest sessions must stand, and honest rows arrive."""
    member, zone, session = scene.enter()
    other = scene.session(member, scene.laptop, zone)
    for devices, each in zip(certificates_apart(scene, member, session, other), (session, other)):
        for device in devices:
            raw = Author(device, zone).record(("epoch", {"commitment": os.urandom(32)}), keep=False)
            scene.send_records(each, zone, [raw])
        scene.answered(each)
    scene.settle(3)
    arrives(scene.laptop, scene.tower, scene)
    arrives(scene.tower, scene.laptop, scene)


@attack("message account: state (length)", alone=True, expected_failure=f"{BOUND}: of certificates")
def rows_by_certificates_that_others_lack(scene):
    """Signs more certificates than an account can have, gives two honest devices different ones, and writes rows that only
    one of them takes; what that one writes later must arrive."""
    member, zone, session = scene.enter()
    other = scene.session(member, scene.laptop, zone)
    _, devices = certificates_apart(scene, member, session, other)
    for device in devices:
        raw = Log(device, zone).insert("tags", [(scene.name(), {"note": "root", "name": "x"})], context=[])
        other.try_send("change sets", zone=zone.id, changeSets=[raw])
    scene.answered(other)
    scene.settle(2)
    arrives(scene.laptop, scene.tower, scene)


@attack("message account: state (length)", alone=True, expected_failure=(
    "a joiner takes 8 MiB of states of accounts, and 36 accounts with all the certificates that they can have are more"))
def states_too_large_to_join(scene):
    """Lets accounts in by the open invite, each with the largest state; the next honest account must be able to join."""
    scene.enter()
    for number in range(36):
        member, _ = scene.member(f"large{number}")
        fill(member.device.account)
        session = Session(member, scene.tower.address, polite=False)
        session.wait(lambda: session.heard("hello"), what="a hello")
        session.try_send("account", state=member.device.account.state())
        scene.answered(session, 60)
        session.close()
    newcomer = scene.mesh.node(f"dave{scene.name()}").found("dave")
    try:
        joined = newcomer.run("share", "join", "-", "--yes", input=scene.tower.invite() + "\n", timeout=60)
        if joined.returncode != 0:
            raise Failed(f"an honest account can't join: {joined.stderr}")
    finally:
        newcomer.stop()


@attack("act admission", alone=True, expected_failure=(
    "an open invite lets a participant bring in as many accounts as a share can have, and the owner has to remove it"))
def more_accounts_than_a_share_has(scene):
    """Admits more accounts than a share can have by its own word; an account with an invite of the owner must still be able
    to join."""
    member, zone, session = scene.enter()
    link, author, parents = share_link(scene.link()), Author(member.device, zone), zone.heads()[:64]
    raws = [author.record(("admission", {"claim": scene.account(f"made-up{number}").make_claim(link)}), keep=False,
                          parents=[author.previous] if number else parents) for number in range(1_100)]
    scene.send_records(session, zone, raws)
    scene.answered(session, 120)
    scene.settle(2)
    try:
        scene.account("newcomer").join(scene.tower.invite(), scene.tower.address)
    except (Refused, Ended, TimeoutError) as error:
        raise Failed(f"an honest account can't join: {error}") from error


@attack("message control records: records (count)", alone=True, expected_failure=f"{BOUND}: of relayed control records")
def relayed_records_beyond_the_bound(scene):
    """Fills what others may relay of one account's control records, with different records on two honest devices; the
    owner's next records must arrive on both."""
    writer, zone, session = scene.enter("writer")
    relay, other, to_tower = scene.enter("relay")
    to_laptop = scene.session(relay, scene.laptop, other)
    devices = [each.device for each in devices_of(scene, writer, session, 16)]
    heads = zone.heads()[:64]

    def chain(device, count):
        author = Author(device, zone)
        author.number, author.previous = 0, bytes(32)
        return [author.record((77, os.urandom(15_900)), keep=False, parents=[author.previous] if number else heads)
                for number in range(count)]

    common = [raw for device in devices[:14] for raw in chain(device, 146)]
    scene.send_records(to_tower, other, common)
    scene.answered(to_tower, 120)
    scene.settle(6)
    last = ((32 << 20) - sum(map(len, common))) // 16_000 + 3
    packed = [[codec.message("control records", zone=zone.id, records=[codec.Forged(codec.varint(len(raw)) + raw) for raw in raws])]
              for raws in (chain(devices[14], last), chain(devices[15], last))]
    to_tower, to_laptop = scene.again(relay, to_tower), scene.again(relay, to_laptop, scene.laptop)
    send_at_once((to_tower, packed[0]), (to_laptop, packed[1]))
    scene.settle(3)
    scene.tower.done("share", "rename", "Shared", "Renamed")
    try:
        for node in (scene.laptop, scene.carol):
            eventually(f"the title on {node.name}",
                       lambda: node.report("share", "list")["shares"][0]["title"] == "Renamed", 15, every=1)
    finally:
        scene.tower.done("share", "rename", "Renamed", "Shared")


def write_as_many(scene, member, session, zone, count=256):
    """Writes as so many authors of an account: 16 devices with 16 instances."""
    devices = [member.device] + [other.device for other in devices_of(scene, member, session, 15)]
    raws = [Log(devices[number % 16], zone).insert("tags", [(scene.name(), {"note": "root", "name": "x"})], context=[])
            for number in range(count)]
    for at in range(0, count, 64):
        session.try_send("change sets", zone=zone.id, changeSets=raws[at:at + 64])
    scene.answered(session, 120)
    return devices


@attack("message change sets: changeSets (count)", alone=True, expected_failure=f"{BOUND}: of authors")
def the_last_authors_of_a_zone(scene):
    """Fills the places for authors with 31 accounts, and gives the last places to different authors on two honest devices;
    honest rows must still arrive."""
    def heads(node):
        return node.sql("SELECT count(*) FROM mesh_head WHERE stored > 0")[0][0]

    for number in range(30):
        member, zone, session = scene.enter(f"many{number}")
        write_as_many(scene, member, session, zone)
        session.close()
        scene.sessions.remove(session)
    member, zone, session = scene.enter("last")
    devices = write_as_many(scene, member, session, zone, max(0, 7_936 - heads(scene.tower) - 2))
    scene.settle(4)
    other = scene.session(member, scene.laptop, zone)
    packed = [[codec.message("change sets", zone=zone.id, changeSets=[
        Log(device, zone).insert("tags", [(scene.name(), {"note": "root", "name": "x"})], context=[])
        for device in devices[:12]])] for _ in range(2)]
    send_at_once((session, packed[0]), (other, packed[1]))
    scene.settle(3)
    arrives(scene.laptop, scene.tower, scene)
    arrives(scene.tower, scene.laptop, scene)


@attack("message change sets: changeSets (count)", alone=True, expected_failure=f"{COST}: rows of thousands of authors")
def thousands_of_authors_within_their_bounds(scene):
    """Writes as 256 authors of each of several accounts; honest rows must arrive meanwhile within seconds."""
    for number in range(scene.many(8)):
        member, zone, session = scene.enter(f"many{number}")
        write_as_many(scene, member, session, zone)
    arrives(scene.laptop, scene.tower, scene, 15)


@attack("message control records: records (count)", alone=True, expected_failure=f"{COST}: logs of thousands of records")
def records_of_many_accounts(scene):
    """Fills the control records of several accounts; the owner's acts must stay quick."""
    for number in range(scene.many(3)):
        member, zone, session = scene.enter(f"filler{number}")
        for device in [member.device] + [other.device for other in devices_of(scene, member, session, 1)]:
            author, heads = Author(device, zone), zone.heads()[:64]
            raws = [author.record(("epoch", {"commitment": os.urandom(32)}), keep=False,
                                  parents=[author.previous] if place else heads) for place in range(2_040 - author.number)]
            scene.send_records(session, zone, raws)
            scene.answered(session, 120)
    scene.settle(5)
    start = time.monotonic()
    scene.tower.done("share", "rename", "Shared", "Renamed")
    scene.tower.done("share", "rename", "Renamed", "Shared")
    took = time.monotonic() - start
    if took > 1:
        raise Failed(f"two renames took {took:.1f} s")


@attack("act admission", alone=True, expected_failure=f"{COST}: admissions that have not seen each other")
def admissions_that_are_weighed_against_each_other(scene):
    """Lets one account in by thousands of words side by side, out once, and in again by thousands of words that have seen
    them all; the owner's acts must stay quick."""
    member, zone, session = scene.enter()
    account, link = member.device.account, share_link(scene.link())
    first, second, third = (account.device(name) for name in ("one", "two", "three"))
    made_up = scene.account("made-up")
    claims = [Member(made_up.device.account.device(f"x{number}")).make_claim(link) for number in range(40)]
    for each in (account, made_up.device.account):
        session.try_send("account", state=each.state())
        scene.answered(session, 60)
    count, heads, raws, layer, chain = scene.many(1_800), zone.heads()[:64], [], [], []
    # Each claim comes once behind each link of a chain, so that no two records are equal, and none sees another.
    author = Author(third, zone)
    for number in range(count // len(claims) + 1):
        raws.append(author.record(("epoch", {"commitment": os.urandom(32)}), keep=False,
                                  parents=[author.previous] if number else heads))
        chain.append(record_id(raws[-1]))
    author = Author(first, zone)
    for number in range(count):
        raws.append(author.record(("admission", {"claim": claims[number % len(claims)]}), keep=False,
                                  parents=[chain[number // len(claims)]], number=1, previous=bytes(32)))
        layer.append(record_id(raws[-1]))
    author = Author(second, zone)
    while len(layer) > 1:
        above = []
        for at in range(0, len(layer), 64):
            raws.append(author.record(("epoch", {"commitment": os.urandom(32)}), keep=False, parents=sorted(layer[at:at + 64])))
            above.append(record_id(raws[-1]))
        layer = above
    raws.append(Author(made_up.device, zone).record(
        ("leave", {"cuts": []}), keep=False, parents=layer, number=1, previous=bytes(32)))
    top = record_id(raws[-1])
    for number in range(count):
        raws.append(author.record(("admission", {"claim": claims[number % len(claims)]}), keep=False,
                                  parents=[author.previous] if number else [top]))
    scene.send_records(session, zone, raws)
    scene.answered(session, 120)
    scene.settle(8)
    start = time.monotonic()
    scene.tower.done("share", "rename", "Shared", "Renamed")
    scene.tower.done("share", "rename", "Renamed", "Shared")
    took = time.monotonic() - start
    if took > 1:
        raise Failed(f"two renames took {took:.1f} s")


@attack("body: content<piece>.bytes (length)", alone=True, expected_failure=(
    "a unit with several values of 60 MB is merged in one transaction, and programs wait for seconds to write"))
def long_values_in_one_unit(scene):
    """Writes one unit of several values of 60 MB in pieces; a program may not wait for seconds to write."""
    member, zone, session = scene.enter()
    log, size, piece, values = Log(member.device, zone), 60 << 20, 524_000, scene.many(3)
    parts, index = values * -(-size // piece) + 1, 0
    for ordinal in range(values):
        for offset in range(0, size, piece):
            raw = log.change_set(
                ("piece", {"ordinal": ordinal, "offset": offset, "bytes": b"x" * min(piece, size - offset)}), context=[],
                header={"partIndex": index, "partPlanned": parts, "final": False})
            session.try_send("change sets", zone=zone.id, changeSets=[raw])
            index += 1
    at = log.next_time()
    rows = births("tags", [(scene.name("long"), {"note": "root", "name": (6, {"ordinal": ordinal, "size": size})})
                           for ordinal in range(values)], {"author": 0, "time": at})
    last = log.change_set(changes([rows]), time=at, context=[], header={"partIndex": index, "partPlanned": parts})
    over, waited = threading.Event(), [0.0]

    def write():
        while not over.is_set():
            start = time.monotonic()
            scene.laptop.sql("INSERT INTO tags VALUES (?, 'mine', 'x')", scene.name())
            waited[0] = max(waited[0], time.monotonic() - start)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    session.try_send("change sets", zone=zone.id, changeSets=[last])
    try:
        eventually("the values", lambda: scene.laptop.sql(
            "SELECT count(*) FROM tags WHERE length(name) > 1000000")[0][0] == values, 60)
    finally:
        over.set()
        writer.join()
    if waited[0] > 1:
        raise Failed(f"a program waited {waited[0]:.1f} s to write")
