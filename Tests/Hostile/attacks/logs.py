"""Control logs that are as large as several accounts can make them: too slow to run with every test."""

import os
import time

from attacks import attack
from attacks.crowds import devices_of
from daemons import Failed
from peer.identity import share_invite
from peer.member import Member
from peer.zone import Author, record_id


@attack("message control records: records (count)", alone=True)
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


@attack("act admission", alone=True)
def admissions_that_are_weighed_against_each_other(scene):
    """Lets one account in by thousands of words side by side, out once, and in again by thousands of words that have seen
    them all; the owner's acts must stay quick."""
    member, zone, session = scene.enter()
    account, invite = member.device.account, share_invite(scene.invite())
    first, second, third = (account.device(name) for name in ("one", "two", "three"))
    made_up = scene.account("made-up")
    claims = [Member(made_up.device.account.device(f"x{number}")).make_claim(invite) for number in range(40)]
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
