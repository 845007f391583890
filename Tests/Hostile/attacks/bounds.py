"""Attacks that fill a bound to its end. They take too long for every run of the tests, so only `tools/attack` runs them."""

import time

from attacks import attack
from attacks.crowds import arrives, write_as_many
from daemons import Failed
from peer import crypto
from peer.zone import Log, births, changes


@attack("message change sets: changeSets (count)", alone=True, slower=300,
        reason="two devices may keep different ones of the last authors, until the owner removes their account")
def the_last_authors_of_a_zone(scene):
    """Fills the places for authors with 31 accounts, and gives the last places to different authors on two honest
    devices. If honest rows don't arrive any more, they must once the owner removes the last account with everything
    that it wrote."""
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
    for node, away in ((scene.tower, scene.laptop), (scene.laptop, scene.tower)):
        if not node.alive():
            node.serve()
            scene.memory[node.name] = node.memory()
        away.stop()
        other = scene.session(member, node, zone)
        other.try_send("change sets", zone=zone.id, changeSets=[
            Log(device, zone).insert("tags", [(scene.name(), {"note": "root", "name": "x"})], context=[])
            for device in devices[:12]])
        scene.answered(other, 60)
        scene.settle(2)
        # A row that follows on what this device has merged of them.
        node.sql("INSERT INTO tags VALUES (?, 'root', 'x')", scene.name())
        scene.settle(2)
    scene.tower.serve()
    scene.memory[scene.tower.name] = scene.tower.memory()
    try:
        arrives(scene.laptop, scene.tower, scene)
        arrives(scene.tower, scene.laptop, scene)
        scene.tell(f"{heads(scene.tower)} and {heads(scene.laptop)} authors, and rows arrive")
    except Failed as error:
        scene.tell(f"{heads(scene.tower)} and {heads(scene.laptop)} authors: {error}")
        start = time.monotonic()
        account = crypto.shown("account", member.device.account.id)
        scene.tower.done("share", "remove", "--undo", "Shared", account, timeout=120)
        # The removal revokes the invite as well.
        scene.open_invite = None
        arrives(scene.laptop, scene.tower, scene, 60)
        arrives(scene.tower, scene.laptop, scene, 60)
        scene.tell(f"after its removal, rows arrived again in {time.monotonic() - start:.1f} s")


@attack("body: content<piece>.bytes (length)", alone=True, slower=100,
        reason="one value of 60 MB is one row, and so one transaction")
def long_values_in_one_unit(scene):
    """Writes one unit of several values of 60 MB in pieces; a program may not wait much longer for it than for one such
    value."""
    member, zone, session = scene.enter()
    log, size, piece = Log(member.device, zone), 60 << 20, 524_000

    def write(values):
        """One unit, with a part for each value. Returns how long a program of the first node waited to write."""
        before, part = count(), 0
        for ordinal in range(values):
            for offset in range(0, size, piece):
                send(log.change_set(
                    ("piece", {"ordinal": ordinal, "offset": offset, "bytes": b"x" * min(piece, size - offset)}), context=[],
                    header={"partIndex": part, "partPlanned": 999, "final": False}))
                part += 1
            at = log.next_time()
            row = births("tags", [(scene.name("long"), {"note": "root", "name": (6, {"ordinal": ordinal, "size": size})})],
                         {"author": 0, "time": at})
            send(log.change_set(changes([row]), time=at, context=[],
                                header={"partIndex": part, "partPlanned": 999, "final": ordinal == values - 1}))
            part += 1
        waited = 0.0
        deadline = time.monotonic() + 60
        while count() < before + values:
            if time.monotonic() > deadline:
                raise Failed("the values were not merged in 60 s")
            start = time.monotonic()
            scene.tower.sql("INSERT INTO tags VALUES (?, 'mine', 'x')", scene.name())
            waited = max(waited, time.monotonic() - start)
        return waited

    def count():
        return scene.tower.sql("SELECT count(*) FROM tags WHERE length(name) > 1000000")[0][0]

    def send(raw):
        if not session.try_send("change sets", zone=zone.id, changeSets=[raw]):
            raise Failed(f"the session ended: {session.ended}")

    alone, together = write(1), write(scene.many(4))
    scene.tell(f"a program waited {alone:.2f} s for one value, {together:.2f} s for several")
    if together > 1 + 2 * alone:
        raise Failed(f"a program waited {together:.1f} s to write, and {alone:.1f} s for one value")
