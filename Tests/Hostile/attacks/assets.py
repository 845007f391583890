"""Requests, claims and chunks of BLOBs that are huge, missing or wrong."""

import os

from attacks import attack
from daemons import Failed, eventually
from peer import codec, crypto
from peer.zone import Log

CHUNK = codec.CHUNK


def manifest(zone, data=None, size=None, hashes=None):
    """A manifest of real bytes, or of bytes that nobody has: (value, asset id)."""
    key = crypto.blake(b"mesh/1/asset" + zone.id)
    if data is not None:
        size = len(data)
        hashes = b"".join(crypto.blake(data[at : at + CHUNK], key=key) for at in range(0, size, CHUNK))
    elif hashes is None:
        hashes = os.urandom(32 * -(-size // CHUNK))
    id = crypto.blake(b"mesh/1/asset" + codec.U64.encode(size) + hashes, key=key)
    return (5, {"key": key, "size": size, "hashes": hashes}), id


def blob_of_the_owner(scene, zone, session, member, size):
    """A BLOB that an honest device has: its asset id."""
    key = scene.name("blob")
    data = scene.random.randbytes(size)
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', ?)", key, data)
    _, id = manifest(zone, data)
    scene.answered(session)
    scene.settle(1)
    return id


@attack("message asset want: first", "message asset want: count")
def wants_of_the_maximum_without_reading(scene):
    """Asks for 64 chunks of a large BLOB again and again and reads nothing; the queue must stay bounded and the node
    alive."""
    member, zone, session = scene.enter()
    id = blob_of_the_owner(scene, zone, session, member, 6 << 20)
    for first in (0, 1, 3_750, 3_814):
        session = scene.again(member, session)
        for _ in range(scene.many(25)):
            if not session.try_send("asset want", zone=zone.id, asset=id, first=first, count=min(64, 3_815 - first)):
                break
        scene.answered(session, 30)


@attack("message asset want: count")
def wants_of_what_nobody_has(scene):
    """Asks thousands of times for assets that do not exist and in zones that are not common; nothing may be told."""
    member, zone, session = scene.enter()
    for _ in range(scene.many(1_500)):
        if not session.try_send("asset want", zone=zone.id, asset=os.urandom(32), first=0, count=64):
            break
    session = scene.again(member, session)
    session.try_send("asset want", zone=os.urandom(32), asset=os.urandom(32), first=0, count=64)
    scene.answered(session, 60)


@attack("manifest: size", "message asset has: chunks (count)", "message asset chunk: index", "message asset chunk: bytes (length)")
def promises_of_enormous_blobs(scene):
    """Writes rows with BLOBs of a gigabyte that nobody has, claims to have them all, and sends wrong chunks; honest
    BLOBs must still be fetched."""
    member, zone, session = scene.enter()
    log, ids = Log(member.device, zone), []
    for _ in range(scene.many(12)):
        value, id = manifest(zone, size=10**9)
        ids.append(id)
        session.try_send("change sets", zone=zone.id, changeSets=[
            log.insert("tags", [(scene.name(), {"note": "root", "name": value})])])
    scene.answered(session)
    for id in ids:
        session = scene.again(member, session)
        session.try_send("asset has", zone=zone.id, asset=id, chunks=[True] * 3_815)
        for index in (0, 1, 3_814, 2**64 - 1):
            session.try_send("asset chunk", zone=zone.id, asset=id, index=index, bytes=os.urandom(CHUNK))
    scene.answered(session, 60)
    key, data = scene.name("blob"), os.urandom(600_000)
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', ?)", key, data)
    for node in (scene.laptop, scene.carol):
        eventually(f"an honest BLOB reaches {node.name}", lambda: node.sql(
            "SELECT length(CAST(name AS BLOB)) FROM tags WHERE id = ?", key) == [(len(data),)], 30)


@attack("message asset has: chunks (count)")
def assets_that_come_and_go(scene):
    """Says thousands of times that it has all and nothing of an asset; honest rows must pass."""
    member, zone, session = scene.enter()
    value, id = manifest(zone, size=900_000)
    session.try_send("change sets", zone=zone.id, changeSets=[
        Log(member.device, zone).insert("tags", [(scene.name(), {"note": "root", "name": value})])])
    for number in range(scene.many(2_000)):
        if not session.try_send("asset has", zone=zone.id, asset=id, chunks=[number % 2 == 0] * 4):
            break
    scene.answered(session, 60)


@attack("message asset chunk: index", "message asset chunk: bytes (length)", alone=True)
def chunks_that_nobody_asked_for(scene):
    """Sends hundreds of chunks that were not asked for; they must be dropped without a trace."""
    member, zone, session = scene.enter()
    before = scene.tower.disk()
    for index in range(scene.many(150)):
        if not session.try_send("asset chunk", zone=zone.id, asset=os.urandom(32), index=index, bytes=bytes(CHUNK)):
            break
    scene.answered(session, 60)
    if scene.tower.disk() - before > 20 << 20:
        raise Failed("chunks that nobody asked for were kept")


@attack("manifest: size")
def manifests_by_the_thousand(scene):
    """Writes rows with thousands of small BLOBs that nobody has; honest BLOBs must still be fetched."""
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    for _ in range(scene.many(2)):
        rows = [(scene.name(), {"note": "root", "name": manifest(zone, size=20_000)[0]}) for _ in range(900)]
        session.try_send("change sets", zone=zone.id, changeSets=[log.insert("tags", rows)])
    scene.answered(session, 60)
    key, data = scene.name("blob"), os.urandom(300_000)
    scene.laptop.sql("INSERT INTO tags VALUES (?, 'root', ?)", key, data)
    eventually("an honest BLOB reaches the owner", lambda: scene.tower.sql(
        "SELECT length(CAST(name AS BLOB)) FROM tags WHERE id = ?", key) == [(len(data),)], 30)


@attack("manifest: size")
def manifests_that_do_not_fit(scene):
    """Writes manifests of 16,384 bytes, of 10^9 + 1 and of 2^64-1, and with too few and too many hashes; at most the
    author may stop."""
    member, zone, session = scene.enter()
    for size, count in ((16_384, 1), (10**9 + 1, 3_815), (2**64 - 1, 1), (0, 0), (20_000, 0), (20_000, 2), (10**9, 1)):
        session = scene.again(member, session)
        value, _ = manifest(zone, size=size, hashes=os.urandom(32 * count))
        session.try_send("change sets", zone=zone.id, changeSets=[
            Log(member.device, zone).insert("tags", [(scene.name(), {"note": "root", "name": value})])])
        scene.answered(session)
