"""A hostile device of the owner's own account, before and after it is revoked, and hostile administrators."""

import os
import time
from contextlib import contextmanager

from attacks import attack
from attacks.owners import LATEST, NOTES, TAGS, setting
from daemons import Failed, eventually
from peer import codec, crypto
from peer.identity import Account, Device, signed
from peer.link import Ended
from peer.member import Linked, Refused
from peer.zone import Author, Log, now


@contextmanager
def thief(scene):
    """A device of the owner's account: (device, session, private zone, share). It is revoked at the end."""
    invite = scene.tower.done("device", "invite").strip().split("\n")[-1]
    device = Linked(invite, scene.tower.address, scene.name("thief"))
    try:
        session = scene.session(device)
        session.wait(lambda: len(ready(device)) > 1, what="both zones")
        private = next(zone for zone in ready(device) if zone.acts("genesis"))
        share = next(zone for zone in ready(device) if zone.acts("share genesis"))
        for zone in (private, share):
            device.catch_up(session, zone)
        yield device, session, private, share
    finally:
        scene.tower.run("device", "revoke", crypto.shown("device", device.device.id))


def ready(device):
    return [zone for zone in list(device.zones.values()) if zone.epochs()]


def revoke(scene, device):
    scene.tower.done("device", "revoke", crypto.shown("device", device.device.id))


def again(scene, device, session, node=None):
    """The session, or a new one if a node still admits the device; None if it does not."""
    if session is not None and session.ended is None:
        return session
    try:
        return scene.session(device, node)
    except (Refused, Ended, TimeoutError, OSError):
        return None


def row(scene, zone, key, name="x"):
    return [(key, {"note": "mine" if zone.acts("genesis") else "root", "name": name})]


@attack("message change sets: changeSets (count)", "act epoch", "message acknowledgement: vector[].number", alone=True)
def a_device_that_goes_on_after_it_was_revoked(scene):
    """Is revoked, and goes on at every honest device: with the change sets it had ready, backdated ones, records, epochs, keys and
    acknowledgements; nothing of it may be taken, and it learns nothing more."""
    with thief(scene) as (device, session, private, share):
        logs = {zone.id: Log(device.device, zone) for zone in (private, share)}
        for zone in (private, share):
            session.try_send("change sets", zone=zone.id, changeSets=[logs[zone.id].insert("tags", row(scene, zone, scene.name()))])
        ready_before = [(zone, logs[zone.id].insert("tags", row(scene, zone, scene.name("ready")))) for zone in (private, share)]
        author = {zone.id: Author(device.device, zone) for zone in (private, share)}
        records = [(zone, author[zone.id].record(("epoch", {"commitment": os.urandom(32)}), keep=False)) for zone in (private, share)]
        scene.answered(session)
        eventually("what it wrote as a device", lambda: scene.tower.sql("SELECT count(*) FROM tags WHERE id LIKE 'h%' AND name = 'x'")[0][0] > 1)
        revoke(scene, device)
        session.wait_end(10)
        secret = scene.name("secret")
        scene.settle(1)
        for node in scene.honest:
            other = again(scene, device, None, node)
            for zone, raw in ready_before:
                key = scene.name("late")
                late = logs[zone.id].insert("tags", row(scene, zone, key), time=now() - (3_600_000 << 16))
                if other is not None:
                    other.try_send("change sets", zone=zone.id, changeSets=[raw, late])
            for zone, raw in records:
                if other is not None:
                    scene.send_records(other, zone, [raw])
            if other is not None:
                for zone in (private, share):
                    device.acknowledge(other, zone, vector=[{**entry, "number": 2**40} for entry in zone.vector()])
                scene.answered(other, 5)
        scene.tower.sql("INSERT INTO tags VALUES (?, 'mine', 'secret')", secret)
        scene.check_sync()
        for node in scene.honest:
            taken = node.sql("SELECT id FROM tags WHERE id LIKE 'ready%' OR id LIKE 'late%'")
            if taken:
                raise Failed(f"{node.name} took {taken} of a revoked device")
        for zone in (private, share):
            if any(secret in str(zone.rows("tags")) for zone in (private, share)):
                raise Failed("a revoked device learned a private row")


@attack("message column policies: tables[].policies[].time", "message schema: tables[].flags", alone=True)
def policies_of_a_stolen_device(scene):
    """Sets policies at the end of time as a device of the account, on every column, before it is revoked; the account can set
    another policy afterwards, on every device."""
    with thief(scene) as (device, session, private, share):
        for policy, when in ((2, LATEST), (3, LATEST), (1, 2**47)):
            session.try_send("column policies", tables=[
                {"table": b"notes", "policies": [setting(column, policy, when) for column in (b"text", b"stars")]},
                {"table": b"tags", "policies": [setting(b"name", policy, when)]}])
            session.try_send("schema", tables=[NOTES, TAGS])
            scene.answered(session)
    for node in (scene.tower, scene.laptop):
        node.done("track", "notes", "tags", "--policy", "notes.text=last", "--policy", "notes.stars=counter", "--policy", "tags.name=last")
        eventually(f"the account's policies on {node.name}", lambda: {
            (one["column"], one["policy"]) for one in node.report("schema")["policies"]} <= {("stars", "counter")}, 20)


@attack("act fork", "message excerpt request: number", alone=True)
def a_stolen_device_with_two_lives(scene):
    """Forks its own logs in the private zone and the share before it is revoked, tells each honest device another branch, and gives the
    other branches to a participant; honest devices agree."""
    relay, zone_of_relay, _ = scene.enter("relay")
    with thief(scene) as (device, session, private, share):
        other = scene.session(device, scene.laptop)
        keys = []
        for zone in (private, share):
            for _ in range(4):
                log = Log(device.device, zone)
                log.insert("tags", row(scene, zone, scene.name()))
                place = (log.number - 1, bytes(32), 0)
                branches = []
                for branch in range(2):
                    log.number, log.previous, log.time = place
                    key = scene.name("branch")
                    keys.append(key)
                    branches.append([log.insert("tags", row(scene, zone, key)) for _ in range(3)])
                for each, raws in ((session, branches[0]), (other, branches[1])):
                    each.try_send("change sets", zone=zone.id, changeSets=raws)
                if zone is share:
                    carol = scene.session(relay, scene.carol)
                    carol.try_send("change sets", zone=share.id, changeSets=branches[1])
        scene.answered(session)
        scene.tell(f"{scene.tower.sql('SELECT count(*) FROM tags WHERE id LIKE ?', 'branch%')[0][0]} rows of branches")
        revoke(scene, device)
        scene.settle(1)
    scene.check_sync()

    def tags(node):
        return sorted(node.sql("SELECT id FROM tags WHERE id LIKE 'branch%' AND note = 'root'"))
    eventually("the honest devices agree on the branches", lambda: tags(scene.tower) == tags(scene.laptop) == tags(scene.carol), 30)


@attack("promotion: generation", "demotion: generation", "successor: generation", "authority: parts", "certificate: version",
        "revocation: version", "account state: signers.version", "account state: signers.promotions (count)",
        "account state: signers.demotions (count)", "account state: signers.successor (is there)", alone=True)
def statements_for_an_account_that_is_not_its_own(scene):
    """Sends states of the owner's account with promotions, demotions, successors and revocations that its own keys signed; no
    device of the owner may fall, and none may rise."""
    member, zone, session = scene.enter()
    account = member.device.account
    session.wait(lambda: session.peer_certificate, what="a certificate")
    alice = session.peer_certificate["account"]
    session.wait(lambda: member.states.get(alice), what="the owner's state")
    state, before = member.states[alice], str(scene.tower.report("device", "list"))
    mine, theirs = account.id, {"account": alice}
    honest = [c["request"]["device"] for c in state["certificates"]]
    successor = account.replaced(1, crypto.ed25519(account.seed)[0], **theirs)
    promotion = account.promoted(member.device.id, **theirs)
    demotion = account.demoted(os.urandom(16), **theirs)
    nobody = {"version": 1, "successor": None, "promotions": [], "demotions": []}
    authorities = ({"parts": 1, "successor": successor}, {"parts": 2, "promotion": promotion},
                   {"parts": 3, "successor": successor, "promotion": promotion}, {"parts": 0}, {"parts": 4})

    def revocation(authority):
        fields = {"version": 2, "account": alice, "authority": authority, "device": honest[0],
                  "serial": state["certificates"][0]["serial"], "issued": 0}
        return signed(codec.REVOCATION, fields, member.device.seed, "mesh/1/revocation")

    forged = [{**state, "signers": {**nobody, "successor": successor}}, {**state, "signers": {**nobody, "promotions": [promotion]}},
              {**state, "signers": {**nobody, "demotions": [demotion]}}, {**state, "signers": nobody},
              *[{**state, "revocations": [revocation(authority)]} for authority in authorities]]
    for each in forged:
        for node in (scene.tower, scene.laptop, scene.carol):
            other = scene.session(member, node)
            other.try_send("account", state=each)
            scene.answered(other, 10)
    if str(scene.tower.report("device", "list")) != before or mine == alice:
        raise Failed("the owner's devices have changed")


@attack("successor: version", "promotion: version", "demotion: version", "authority: parts", alone=True)
def an_account_that_changes_its_key_again_and_again(scene):
    """Replaces its own key hundreds of times, shows different keys of one generation to different devices, promotes and demotes
    its own, and has each of them cut the others; honest rows must pass."""
    member, zone, session = scene.enter()
    account = member.device.account
    devices = [account.device(f"d{n}") for n in range(6)]
    original = list(account.certificates)
    sessions = {node.name: scene.session(member, node) for node in scene.honest}
    for generation in list(range(1, scene.many(60))) + [65_535, 65_536, 2**63]:
        states = []
        for branch in range(2):
            seed = os.urandom(32)
            account.successor = account.replaced(generation, crypto.ed25519(seed)[0])
            authority = {"parts": 1, "successor": account.successor}
            account.certificates = [account.certify(each["request"], listed=False, seed=seed, authority=authority)
                                    for each in original[:1 + generation % 6]]
            account.promotions = [account.promoted(each["request"]["device"], seed, generation=generation) for each in original[:8]]
            account.demotions = [account.demoted(each["serial"], seed, generation=generation) for each in account.promotions[:4]]
            by = {"parts": 3, "successor": account.successor, "promotion": account.promotions[-1]}
            account.revocations = []
            account.revoke(devices[0], seed=devices[-1].seed, authority=by)
            states.append(account.state())
        for index, node in enumerate(scene.honest):
            each = sessions[node.name]
            if each.ended is not None:
                try:
                    member.device.certificate = account.certificates[0]
                    each = sessions[node.name] = scene.session(member, node)
                except (Refused, Ended, TimeoutError, OSError):
                    continue
            each.try_send("account", state=states[index % 2])
    scene.settle(2)
    scene.check_sync()


@attack("promotion: issued", "certificate: version", alone=True)
def an_administrator_gone_bad(scene):
    """Is promoted, certifies devices, more than it can, and writes as them, promotes, demotes and replaces the key by its own
    signature; once it is demoted and its devices are revoked, everything honest goes on."""
    with thief(scene) as (device, session, private, share):
        text = crypto.shown("device", device.device.id)
        scene.tower.done("device", "promote", text)
        account, seed = device.device.account, device.device.seed
        session.wait(lambda: (account.state().get("signers") or {}).get("promotions"), what="the promotion")
        state = account.state()
        promotion = next(each for each in state["signers"]["promotions"] if each["device"] == device.device.id)
        authority, signer, fresh = {"parts": 2, "promotion": promotion}, Account("stub"), []
        signer.id = account.id
        for number in range(40):
            fresh.append(Device(account, f"made{number}"))
            fresh[-1].certificate = signer.certify(fresh[-1].request(account.id), seed=seed, authority=authority)
        signers = state["signers"]
        claimed = [{**signers, "promotions": sorted([promotion, signer.promoted(fresh[0].id, seed)], key=lambda p: p["serial"])},
                   {**signers, "demotions": [signer.demoted(promotion["serial"], seed)]},
                   {**signers, "successor": signer.replaced(1, device.device.id)}, signers]
        for count, said in [(3, each) for each in claimed] + [(40, signers)]:
            session = scene.again(device, session)
            certificates = state["certificates"] + [made.certificate for made in fresh[:count]]
            session.try_send("account", state={
                **state, "signers": said, "certificates": sorted(certificates, key=lambda c: bytes(c["request"]["device"]))})
            scene.answered(session)
        for zone in (private, share):
            for made in fresh[:3]:
                session = scene.again(device, session)
                raw = Log(made, zone).insert("tags", row(scene, zone, scene.name("bad")))
                session.try_send("change sets", zone=zone.id, changeSets=[raw])
        eventually("the rows of the made-up devices", lambda: scene.tower.sql(
            "SELECT count(*) FROM tags WHERE id LIKE 'bad%'")[0][0] >= 6)
        scene.tower.done("device", "demote", text)
        revoke(scene, device)
        for made in fresh[:3]:
            scene.tower.done("device", "revoke", crypto.shown("device", made.id))
    states = {one["name"]: one for one in scene.tower.report("device", "list")["devices"]}
    if states["laptop"]["revoked"] or states["tower"]["revoked"]:
        raise Failed("an honest device is revoked")
