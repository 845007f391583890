"""What one account shows differently to different honest devices, beyond what it can have."""

import os
import threading

from attacks import attack
from attacks.crowds import arrives, devices_of
from daemons import Failed, eventually
from peer import codec
from peer.identity import share_invite
from peer.link import Ended
from peer.member import Refused, Session
from peer.zone import Author, Log, now


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


@attack("act fork", alone=True)
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


@attack("message account: state (length)", alone=True)
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


@attack("message account: state (length)", alone=True)
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


@attack("message control records: records (count)", alone=True)
def relayed_records_beyond_the_bound(scene):
    """Fills what others may relay of one account's control records, with different records on three honest devices; the
    owner's next records must arrive on all."""
    writer, zone, session = scene.enter("writer")
    relay, other, to_tower = scene.enter("relay")
    sessions = [to_tower, *(scene.session(relay, node, other) for node in (scene.laptop, scene.carol))]
    devices = [each.device for each in devices_of(scene, writer, session, 9)]
    heads = zone.heads()[:64]

    def chain(device, count):
        author = Author(device, zone)
        author.number, author.previous = 0, bytes(32)
        return [author.record((77, os.urandom(15_900)), keep=False, parents=[author.previous] if number else heads)
                for number in range(count)]

    common = [raw for device in devices[:6] for raw in chain(device, 146)]
    scene.send_records(to_tower, other, common)
    scene.answered(to_tower, 120)
    scene.settle(6)
    last = ((16 << 20) - sum(map(len, common))) // 16_000 + 3
    packed = [[codec.message("control records", zone=zone.id, records=[
        codec.Forged(codec.varint(len(raw)) + raw) for raw in raws[at:at + 60]]) for at in range(0, last, 60)]
        for raws in (chain(device, last) for device in devices[6:])]
    sessions = [scene.again(relay, session, node) for session, node in zip(sessions, (scene.tower, scene.laptop, scene.carol))]
    send_at_once(*zip(sessions, packed))
    scene.settle(3)
    scene.tower.done("share", "rename", "Shared", "Renamed")
    try:
        for node in (scene.laptop, scene.carol):
            eventually(f"the title on {node.name}",
                       lambda: node.report("share", "list")["shares"][0]["title"] == "Renamed", 15, every=1)
    finally:
        scene.tower.done("share", "rename", "Renamed", "Shared")


@attack("message account: state (length)", alone=True)
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


@attack("act admission", alone=True)
def more_accounts_than_a_share_has(scene):
    """Admits more accounts than a share can have by its own word; an account with an invite of the owner must still be able
    to join."""
    member, zone, session = scene.enter()
    invite, author, parents = share_invite(scene.invite()), Author(member.device, zone), zone.heads()[:64]
    raws = [author.record(("admission", {"claim": scene.account(f"made-up{number}").make_claim(invite)}), keep=False,
                          parents=[author.previous] if number else parents) for number in range(1_100)]
    scene.send_records(session, zone, raws)
    scene.answered(session, 120)
    scene.settle(2)
    try:
        scene.account("newcomer").join(scene.tower.invite(), scene.tower.address)
    except (Refused, Ended, TimeoutError) as error:
        raise Failed(f"an honest account can't join: {error}") from error
