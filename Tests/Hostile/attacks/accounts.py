"""Account states that are huge, repeated, or about devices of others."""

import os

from attacks import attack
from daemons import Failed
from peer import codec, crypto
from peer.identity import Account, signed
from peer.zone import Log


@attack("account state: certificates (count)", "account state: revocations (count)")
def the_largest_account(scene):
    """Sends an account state of 512 certificates and 512 revocations again and again; honest rows must pass."""
    member, zone, session = scene.enter()
    account = member.device.account
    devices = [account.device("x" * 64) for _ in range(511)]
    for device in devices:
        account.revoke(device)
    state = account.state()
    for _ in range(scene.many(8)):
        session = scene.again(member, session)
        session.try_send("account", state=state)
    scene.answered(session, 60)


@attack("revocation: issued", "revocation: generation", "certificate: generation")
def certificates_of_devices_of_others(scene):
    """Certifies and revokes honest devices as devices of its own account; they must stay who they are."""
    member, zone, session = scene.enter()
    account = member.device.account
    honest = session.peer_certificate["request"]
    request = {**honest}
    variants = [
        {**account.state(), "certificates": sorted([*account.certificates, account.certify(request, listed=False)],
                                                   key=lambda c: c["request"]["device"])},
        {**account.state(), "certificates": sorted(
            [*account.certificates, account.certify(signed(codec.REQUEST, dict(request), member.device.seed,
                                                           "mesh/1/request", before=account.id), listed=False)],
            key=lambda c: c["request"]["device"])},
    ]
    revocation = {"version": 1, "account": account.id, "generation": 0, "device": honest["device"],
                  "serial": bytes(16), "issued": 2**63 - 1}
    variants.append({**account.state(), "revocations": [
        signed(codec.REVOCATION, revocation, account.seed, "mesh/1/revocation")]})
    for state in variants:
        session = scene.again(member, session)
        session.try_send("account", state=state)
        scene.answered(session)
    for node in scene.honest:
        if node.report("status")["device"] not in str(node.report("device", "list")):
            raise Failed(f"{node.name} is no device of its account any more")


@attack("message account: state (length)", alone=True)
def states_of_made_up_accounts(scene):
    """Sends the states of a thousand accounts that no zone names; they must not be kept."""
    member, zone, session = scene.enter()
    before = scene.tower.disk()
    for number in range(scene.many(400)):
        made_up = Account(f"made-up-{number}")
        made_up.device("x")
        session = scene.again(member, session)
        session.try_send("account", state=made_up.state())
    scene.answered(session, 60)
    if scene.tower.disk() - before > 20 << 20:
        raise Failed("states of strangers were kept")


@attack("account state: certificates (count)", "message account: state (length)")
def a_state_that_grows_one_by_one(scene):
    """Adds one certificate at a time and sends each state, so that each is verified and passed on whole; honest rows
    must pass."""
    member, zone, session = scene.enter()
    for number in range(scene.many(80)):
        member.device.account.device(f"d{number}")
        session = scene.again(member, session)
        session.try_send("account", state=member.device.account.state())
    scene.answered(session, 60)


@attack("certificate request: name (length)")
def names_that_play_tricks(scene):
    """Takes device names with control characters, direction marks and the names of honest devices; what people see
    must be clean, and no verb may take it for the honest one."""
    member, zone, session = scene.enter()
    for name in ("laptop", "\x1b[2Jx", "a\u202eb", "", " ", "\n", "x" * 65, "tower"):
        device = member.device.account.device(name)
        session = scene.again(member, session)
        session.try_send("account", state={**member.device.account.state(), "certificates": sorted(
            [member.device.certificate, device.certificate], key=lambda c: c["request"]["device"])})
        scene.answered(session)
    for verb in (("peers",), ("share", "show", "Shared"), ("status",), ("doctor",)):
        if "\x1b[2J" in scene.tower.run(*verb).stdout:
            raise Failed(f"mesh {' '.join(verb)} prints a peer's control characters")


@attack("message account: state (length)", "message admitted", "message claim", alone=True)
def guesses_at_device_invites(scene):
    """Claims a place in the owner's account with proofs of invites that it made up; no device may be certified."""
    from peer.member import Member, Session
    before = str(scene.tower.report("device", "list"))
    for _ in range(scene.many(20)):
        stranger = scene.account("stranger")
        guessing = Session(stranger, scene.tower.address, hello=False, polite=False)
        scene.sessions.append(guessing)
        seed = os.urandom(32)
        guessing.try_send("hello", **stranger.device.hello(guessing.link, proof=seed, certificate=None, head=bytes(32)))
        owner = scene.random.randbytes(32)
        request = stranger.device.request(owner)
        text = crypto.ed25519(seed)[0] + owner + codec.REQUEST.encode(request)
        guessing.try_send("claim", request=request, byInvite=crypto.sign(seed, "mesh/1/claim", text),
                          byDevice=crypto.sign(stranger.device.seed, "mesh/1/claim", text))
        if guessing.wait_end(5) is None:
            raise Failed("an invite that nobody made was not refused")
    if str(scene.tower.report("device", "list")) != before:
        raise Failed("a device was certified by an invite that nobody made")
