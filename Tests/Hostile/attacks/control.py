"""Control records that flood, that claim what is not their author's to say, and members who were removed."""

import os
import time

from attacks import attack
from daemons import Failed, eventually
from peer import codec, crypto
from peer.identity import Account, signed
from peer.link import Ended
from peer.member import Member, Refused, Session
from peer.zone import Author, Log, record_id

MAX = 2**64 - 1


def epoch_act():
    return "epoch", {"commitment": os.urandom(32)}


def tower_device(session):
    return session.peer_certificate["request"]["device"]


def join_in_time(scene, limit=20):
    start = time.monotonic()
    newcomer = scene.account("newcomer")
    zone = newcomer.join(scene.invite(), scene.tower.address)
    if not zone.words(newcomer.device.account.id) or time.monotonic() - start > limit:
        raise Failed(f"a new account took {time.monotonic() - start:.0f} s to join")


@attack("act title: time", "act participant: permission", "act invite: uses", "act stop", "act genesis", "act share genesis: table (length)", alone=True)
def acts_of_the_owner(scene):
    """Grants, removes, invites, renames, stops and opens the share again as a participant; nothing of it may
    hold."""
    member, zone, session = scene.enter()
    carol = scene.carol.report("status")
    title = scene.tower.report("share", "list")["shares"][0]["title"]
    owner = zone.acts("share genesis")[0][2]
    others = [account for account in zone.accounts() if account != member.device.account.id]
    acts = [("title", {"time": MAX, "title": b"Mine"}), ("stop", {}), ("share genesis", owner),
            ("genesis", {"account": member.device.account.id, "nonce": bytes(32)}),
            ("invite", {"key": os.urandom(32), "permission": 2, "expiry": 0, "uses": 0, "only": None})]
    acts += [("participant", {"account": account, "permission": 0, "invite": None, "cuts": []}) for account in others]
    acts += [("revoke invite", {"invite": id, "staying": []}) for id, _, _ in zone.acts("invite")]
    for act in acts:
        session = scene.again(member, session)
        raw = Author(member.device, zone).record(act, keep=False)
        scene.send_records(session, zone, [raw])
        scene.answered(session)
    share = scene.tower.report("share", "list")["shares"][0]
    if share["title"] != title or share["stopped"]:
        raise Failed(f"a participant changed the share: {share['title']}, stopped {share['stopped']}")


@attack("act cut: cut.number", "act cut: cut.ends[].number", "act end: instance", "act end: number")
def ends_of_others(scene):
    """Cuts and ends the logs of honest devices with its own word; they must still write."""
    member, zone, session = scene.enter()
    for entry in zone.vector():
        author = entry["author"]
        for ends in ([], [{"instance": author["instance"], "number": 1, "id": os.urandom(32)}]):
            cut = signed(codec.DEVICE_CUT, {"device": author["device"], "number": 0, "ends": ends},
                         member.device.account.seed, "mesh/1/cut", before=zone.id)
            session = scene.again(member, session)
            scene.send_records(session, zone, [Author(member.device, zone).record(("cut", {"cut": cut}), keep=False)])
            scene.answered(session)
        session = scene.again(member, session)
        scene.send_records(session, zone, [Author(member.device, zone).record(
            ("end", {"instance": author["instance"], "number": 0}), keep=False)])
        scene.answered(session)


@attack("act fork")
def forks_that_nobody_made(scene):
    """Proves forks of honest logs with signatures of its own, and with one header twice; honest logs must go on."""
    member, zone, session = scene.enter()
    for (device, instance), numbers in list(zone.change_sets.items()):
        raw = numbers[max(numbers)]
        reader = codec.Reader(raw)
        header = codec.HEADER.read(reader)
        proof = {"header": header, "body": crypto.blake(raw[reader.at : -64]), "signature": raw[-64:]}
        forged = {"header": header, "body": os.urandom(32), "signature": crypto.sign(
            member.device.seed, "mesh/1/changeset", bytes(32))}
        for pair in ([proof, proof], [proof, forged], [forged, proof]):
            session = scene.again(member, session)
            scene.send_records(session, zone, [Author(member.device, zone).record(
                ("fork", {"first": pair[0], "second": pair[1]}), keep=False)])
            scene.answered(session)


@attack("act end: number", "act end: instance")
def ever_lower_ends(scene):
    """Writes a log of large change sets and ends it at ever lower numbers; each end must cost its own bytes alone."""
    member, zone, session = scene.enter()
    log = Log(member.device, zone)
    count = scene.many(30)
    raws = [log.insert("tags", [(scene.name(), {"note": "root", "name": "x" * 100_000})], context=[]) for _ in range(count)]
    scene.send_log(session, zone, raws)
    scene.answered(session, 60)
    author = Author(member.device, zone)
    for number in range(count - 1, 0, -1):
        session = scene.again(member, session)
        scene.send_records(session, zone, [author.record(("end", {"instance": log.instance, "number": number}))])
    scene.answered(session, 60)


@attack("message keys: keys[].sealed (length)", "message keys: keys (count)", "act epoch")
def epochs_by_the_thousand(scene):
    """Mints hundreds of epochs, or thousands, and gives every key; honest writes must not wait for them, and restarts stay quick."""
    member, zone, session = scene.enter()
    author = Author(member.device, zone)
    minted = [author.mint() for _ in range(scene.many(300))]
    scene.send_records(session, zone, [raw for raw, _ in minted])
    epochs = sorted(id for _, id in minted)
    for start in range(0, len(epochs), 500):
        if session.ended is None:
            member.give_keys(session, zone, epochs[start : start + 500])
    scene.answered(session, 120)


@attack("message keys: keys (count)")
def keys_that_are_no_keys(scene):
    """Gives other keys than an epoch commits to, keys of unknown epochs and random bytes; honest keys must stay."""
    member, zone, session = scene.enter()
    session.wait(lambda: session.peer_certificate, what="a certificate")
    sealing = session.peer_certificate["request"]["sealing"]
    epochs = sorted(zone.epochs())
    for make in (lambda epoch: os.urandom(80), lambda epoch: b"", lambda epoch: os.urandom(256),
                 lambda epoch: crypto.seal(os.urandom(32), sealing, os.urandom(32), epoch, zone.id, tower_device(session)),
                 lambda epoch: crypto.seal(os.urandom(32), sealing, b"", epoch, zone.id, tower_device(session)),
                 lambda epoch: bytes(32) + os.urandom(48)):
        for ids in (epochs, sorted(os.urandom(32) for _ in range(64)), sorted(os.urandom(32) for _ in range(1_000))):
            session = scene.again(member, session)
            session.try_send("keys", zone=zone.id, keys=[{"epoch": id, "sealed": make(id)} for id in ids])
            scene.answered(session)


@attack("message key request: epochs (count)")
def key_requests_without_end(scene):
    """Asks for as many keys as fit in each of a thousand messages, known ones and unknown ones; honest rows must pass."""
    member, zone, session = scene.enter()
    known = (zone.epochs() * 64)[:64]
    for epochs in (known, [os.urandom(32) for _ in range(64)], [os.urandom(32) for _ in range(64)]):
        session = scene.again(member, session)
        for _ in range(scene.many(1_000)):
            if not session.try_send("key request", zone=zone.id, epochs=epochs):
                break
        scene.answered(session, 60)


@attack("message control heads: heads (count)")
def heads_that_nobody_has(scene):
    """Names a thousand unknown heads again and again, so that the whole log is the answer; memory stays bounded."""
    member, zone, session = scene.enter()
    for _ in range(scene.many(200)):
        if not session.try_send("control heads", zone=zone.id, heads=[os.urandom(32) for _ in range(1_024)]):
            break
    scene.answered(session, 60)


@attack("message control records: records[] (length)")
def records_without_their_parents(scene):
    """Sends records whose parents never come, in the wrong order and each many times; they must not be kept."""
    member, zone, session = scene.enter()
    for _ in range(scene.many(8)):
        author = Author(member.device, zone)
        raws = [author.record(epoch_act(), keep=False, parents=sorted(os.urandom(32) for _ in range(64)))
                for _ in range(100)]
        session = scene.again(member, session)
        if not scene.send_records(session, zone, list(reversed(raws)) * 2):
            continue
    scene.answered(session, 60)


@attack("message zones: tags (count)", "message control heads: heads (count)", alone=True)
def a_removed_member_that_never_names_its_zones(scene):
    """Is removed, connects without ever sending `zones`, and listens; it may learn of no record and no account that
    came after its removal."""
    member, zone, session = scene.enter()
    account = crypto.shown("account", member.device.account.id)
    scene.tower.done("share", "remove", "Shared", account)
    session.wait_end(10)
    silent = Session(member, scene.tower.address, polite=False)
    scene.sessions.append(silent)
    try:
        silent.wait(lambda: silent.heard("hello"), 10, "the hello")
    except (Refused, Ended):
        return
    while not silent.said.empty():
        silent.said.get()
    newcomer = scene.account("newcomer")
    # By another invite: the removal revoked the one by which the account came.
    scene.open_invite = None
    newcomer.join(scene.invite(), scene.tower.address)
    scene.tower.done("share", "rename", "Shared", "Secret")
    scene.settle(1)
    learned = []
    while not silent.said.empty():
        name, fields = silent.said.get()
        if name in ("control records", "account", "account heads", "keys", "control heads", "schema"):
            learned.append((name, fields))
    scene.tower.done("share", "rename", "Secret", "Shared")
    text = str(learned)
    if str(newcomer.device.account.genesis["salt"]) in text or "Secret" in text:
        raise Failed(f"a removed member learned of what came after: {sorted({name for name, _ in learned})}")


@attack("act leave: cuts (count)", "act admission")
def leaving_and_joining_again(scene):
    """Leaves and joins again many times by an open invite; the log may grow with it, and honest devices must keep up."""
    member, zone = scene.member()
    for _ in range(scene.many(15)):
        session = scene.session(member)
        scene.send_records(session, zone, [Author(member.device, zone).record(("leave", {"cuts": []}))])
        scene.answered(session)
        session.close()
        try:
            member.join(scene.invite(), scene.tower.address)
        except (Refused, Ended, TimeoutError):
            break


@attack("message share claim", "act admission", "certificate: issued")
def many_accounts_by_one_invite(scene):
    """Lets dozens of made-up accounts in by one open invite; joining must stay quick for the next honest one."""
    for number in range(scene.many(40)):
        scene.member(f"sybil-{number}")
    join_in_time(scene)


@attack("message share claim")
def claims_of_others(scene):
    """Claims a place for another account, with another device's certificate, and with signatures of another zone; no
    honest account may be admitted or changed by it."""
    from peer.identity import share_invite
    member, zone, session = scene.enter()
    invite = share_invite(scene.invite())
    other = scene.account("other")
    stranger = scene.account("stranger")
    variants = [{"certificate": other.device.certificate}, {"genesis": other.device.account.genesis},
                {"byInvite": bytes(64)}, {"byDevice": bytes(64)}, {"key": bytes(32)}, {"invite": os.urandom(32)}]
    for changes in variants:
        claiming = Session(stranger, scene.tower.address, proof=invite["seed"])
        scene.sessions.append(claiming)
        claiming.wait(lambda: claiming.heard("control heads"), what="the offer")
        claiming.try_send("account", state=stranger.device.account.state())
        claiming.try_send("share claim", zone=invite["zone"], claim=stranger.make_claim(invite, **changes))
        claiming.wait_end(1)
        claiming.close()
    shares = scene.tower.report("share", "list")["shares"][0]
    for member in (other, stranger):
        if crypto.shown("account", member.device.account.id) in str(shares):
            raise Failed("an account was admitted by a claim that proves nothing")


@attack("control record: number", "control record: parents (count)")
def a_flood_of_control_records(scene):
    """Appends thousands of control records by one device; its own quota may end it, and honest acts must still be
    taken: a new account can join, within seconds."""
    member, zone, session = scene.enter()
    author = Author(member.device, zone)
    parents = zone.heads()
    raws = [author.record(epoch_act(), keep=False, parents=parents if n == 0 else [author.previous])
            for n in range(scene.many(2_500))]
    scene.send_records(session, zone, raws)
    scene.answered(session, 60)
    join_in_time(scene)


@attack("control record: parents (count)", "message control records: records (count)", alone=True)
def a_flood_through_other_devices(scene):
    """Appends thousands of records as several devices and brings them through another device of the account.
    The quota is the account's, no matter which device brings them, and a new account can join."""
    member, zone, session = scene.enter()
    account = member.device.account
    devices = [account.device(f"d{n}") for n in range(8)]
    session.try_send("account", state=account.state())
    raws, parents = [], zone.heads()
    for device in devices:
        author = Author(device, zone)
        raws += [author.record(epoch_act(), keep=False, parents=parents if n == 0 else [author.previous])
                 for n in range(scene.many(2_500))]
    scene.send_records(session, zone, raws)
    scene.answered(session, 120)
    join_in_time(scene)


@attack("control record: parents (count)")
def records_with_as_many_parents_as_there_can_be(scene):
    """Weaves a graph in which every record has up to 64 parents; what the node computes must stay linear."""
    member, zone, session = scene.enter()
    account = member.device.account
    devices = [account.device(f"d{n}") for n in range(24)]
    session.try_send("account", state=account.state())
    layer, raws = zone.heads(), []
    authors = [Author(device, zone) for device in devices]
    for _ in range(scene.many(40)):
        made = [author.record(epoch_act(), keep=False, parents=sorted(layer)[:64]) for author in authors]
        raws += made
        layer = [record_id(raw) for raw in made]
    scene.send_records(session, zone, raws)
    scene.answered(session, 60)
    join_in_time(scene)


@attack("control record: act (length)")
def the_longest_records(scene):
    """Appends control records of 16 KiB each; a new account must still be able to join, and honest rows pass."""
    member, zone, session = scene.enter()
    author = Author(member.device, zone)
    parents = zone.heads()
    raws = [author.record((77, os.urandom(15_000)), keep=False, parents=parents if n == 0 else [author.previous])
            for n in range(scene.many(250))]
    scene.send_records(session, zone, raws)
    scene.answered(session, 60)
    join_in_time(scene)


@attack("message control records: records (count)", "control record: number")
def records_one_by_one(scene):
    """Appends hundreds of control records and sends each in a message of its own, and many at once in messages that are too long;
    the whole log must not be read for each."""
    member, zone, session = scene.enter()
    author = Author(member.device, zone)
    parents = zone.heads()
    raws = [author.record(epoch_act(), keep=False, parents=parents if n == 0 else [author.previous])
            for n in range(scene.many(800))]
    scene.send_records(session, zone, raws, at_once=1)
    scene.answered(session, 60)
    scene.send_records(session, zone, raws, at_once=1_024)
    join_in_time(scene)


@attack("message control heads: heads (count)")
def the_log_again_and_again(scene):
    """Fills its part of the log, and asks for all of it again and again in messages of some bytes, over several sessions; what its
    devices are sent is bounded."""
    member, zone, session = scene.enter()
    author = Author(member.device, zone)
    parents = zone.heads()
    raws = [author.record((77, os.urandom(15_000)), keep=False, parents=parents if n == 0 else [author.previous])
            for n in range(scene.many(100))]
    scene.send_records(session, zone, raws)
    scene.answered(session, 60)
    size = sum(map(len, raws)) + sum(len(raw) for _, raw in zone.records.values())
    start, sessions = time.monotonic(), [scene.session(member, polite=False) for _ in range(4)]
    for session in sessions:
        for _ in range(200):
            if not session.try_send("control heads", zone=zone.id, heads=[]):
                break
    scene.settle(5)
    received = sum(session.link.received for session in sessions)
    allowed = max(4 << 20, 2 * size) + 2 * size + 256_000 * (time.monotonic() - start) + (2 << 20)
    if received > allowed:
        raise Failed(f"the log of {size} bytes was asked for again and again, and {received} bytes came")


@attack("control record: parents (count)", "control record: number", "message control heads: heads (count)")
def more_branches_than_a_message_names(scene):
    """Forks the log at one record into more branches than a message of heads can name; sessions between honest devices must stand,
    and a new account can join."""
    member, zone, session = scene.enter()
    parents = zone.heads()[:64]
    author = Author(member.device, zone)
    raws = [author.record(epoch_act(), keep=False, parents=parents, number=1, previous=bytes(32))
            for _ in range(scene.many(1_200))]
    scene.send_records(session, zone, raws)
    scene.answered(session, 60)
    scene.settle(1)
    join_in_time(scene)
    for node in (scene.laptop, scene.carol):
        if not any(peer["connected"] for peer in node.report("peers")["peers"]):
            raise Failed(f"{node.name} has no session any more")


@attack("act leave: cuts (count)", "control record: parents (count)")
def leaves_by_the_thousand(scene):
    """Leaves a thousand times side by side, by another account that passes it on; what the node computes must stay linear."""
    member, zone, session = scene.enter()
    relay, other, passing = scene.enter("relay")
    parents = other.heads()[:64]
    author = Author(member.device, zone)
    raws = [author.record(("leave", {"cuts": [
        {"author": {"device": os.urandom(32), "instance": number}, "number": 1, "id": os.urandom(32)}]}),
        keep=False, parents=parents, number=1, previous=bytes(32)) for number in range(scene.many(1_000))]
    scene.send_records(passing, other, raws)
    scene.answered(passing, 60)
    join_in_time(scene)


@attack("message acknowledgement: heads (count)")
def acknowledgements_of_records_that_do_not_exist(scene):
    """Acknowledges control records that nobody has, again and again; each answer must be worth its question."""
    member, zone, session = scene.enter()
    before = session.link.received
    for number in range(scene.many(300)):
        member.acknowledge(session, zone, heads=[os.urandom(32) for _ in range(64)])
    scene.answered(session, 60)
    if session.heard("control heads") > 20 + 2 * 30:
        raise Failed(f"{session.heard('control heads')} answers came to {scene.many(300)} acknowledgements")
