"""A well-behaved participant: it dials, says hello, joins a share, reads change sets and writes them."""

import os
import queue
import threading
import time

from . import codec, crypto
from .identity import Borrowed, Device, device_invite, share_invite
from .link import Ended, Link
from .zone import Author, Log, Zone, now


class Refused(Exception):
    """The peer said goodbye: (code, text)."""


def zone_tag(zone, role, hash):
    return crypto.blake(b"mesh/1/zonetag" + bytes([role]) + hash, 16, key=zone)


class Session:
    """One session with a node. A thread reads what comes, answers what an honest peer answers, and keeps the rest."""

    def __init__(self, member, address, proof=None, hello=True, polite=True, **link):
        self.member, self.polite = member, polite
        self.link = Link(address, member.device.session, **link)
        self.ended, self.goodbye = None, None
        self.peer_certificate = None
        self.said = queue.Queue()   # (name, fields) of all that came, but change sets
        self.counts = {}            # name → how many came
        self._arrived = threading.Condition()
        if hello:
            self.send("hello", **member.device.hello(self.link, proof=proof))
        threading.Thread(target=self._read, daemon=True).start()

    # --- Out

    def send(self, name, **fields):
        self.link.send(codec.message(name, **fields))

    def send_raw(self, message):
        self.link.send(message)

    def try_send(self, name, **fields):
        """Sends unless the session has ended; returns whether it could."""
        try:
            self.send(name, **fields)
            return True
        except (Ended, OSError):
            return False

    def close(self):
        self.link.close()

    # --- In

    def _read(self):
        try:
            while True:
                self._heard(codec.decode(codec.MESSAGE, self.link.receive()))
        except Exception as error:  # Whatever ends the reading ends the session; attacks end many.
            with self._arrived:
                self.ended = error
                self._arrived.notify_all()

    def _heard(self, message):
        name, fields = message
        if name == "hello":
            self.peer_certificate = fields["certificate"]
        if self.polite:
            self.member.answer(self, name, fields)
        if name == "goodbye":
            self.goodbye = (fields["code"], fields["text"].decode(errors="replace"))
        with self._arrived:
            self.counts[name] = self.counts.get(name, 0) + 1
            if name != "change sets":
                self.said.put(message)
            self._arrived.notify_all()

    def wait(self, condition, timeout=30, what="an answer"):
        """Waits until a condition holds; fails when the session ends or the time is over."""
        deadline = time.monotonic() + timeout

        def holds():
            # The thread that reads changes what conditions look at.
            with self.member.lock:
                return condition()

        with self._arrived:
            while not holds():
                if self.ended is not None:
                    raise Refused(self.goodbye or (0, f"no goodbye: {self.ended!r}"))
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{what} did not come within {timeout} s; heard {self.counts}")
                self._arrived.wait(min(left, 0.5))

    def wait_end(self, timeout=10):
        """Waits until the peer ends the session; returns its goodbye, or None when it stays open."""
        deadline = time.monotonic() + timeout
        with self._arrived:
            while self.ended is None and time.monotonic() < deadline:
                self._arrived.wait(0.2)
        return (self.goodbye or (0, "closed")) if self.ended is not None else None

    def heard(self, name):
        return self.counts.get(name, 0)


class Member:
    """One device of an account and what it knows of its shares. `write` and `rows` are what a program would do."""

    def __init__(self, device):
        self.device = device
        self.states = {device.account.id: device.account.state()}
        self.zones = {}
        self.logs = {}
        self.lock = threading.RLock()

    # --- What an honest device answers

    def answer(self, session, name, fields):
        zone = self.zones.get(fields.get("zone")) if isinstance(fields, dict) else None
        if name == "ping":
            session.send("pong", number=fields["number"])
        elif name == "account":
            state = fields["state"]
            with self.lock:
                self.states[crypto.blake(codec.GENESIS.encode(state["genesis"]))] = state
        elif name == "control records":
            with self.lock:
                self.zones.setdefault(fields["zone"], Zone(fields["zone"])).merge_records(
                    [codec.RECORD.encode(record) for record in fields["records"]])
        elif name == "keys" and zone:
            for key in fields["keys"]:
                if key["epoch"] not in zone.keys:
                    zone.keep_key(key["epoch"], crypto.unseal(
                        self.device.sealing, key["sealed"], key["epoch"], zone.id, self.device.id))
        elif name == "change sets":
            for raw in fields["changeSets"]:
                if zone:
                    with self.lock:
                        zone.merge_change_set(raw)
            session.send("credit", bytes=sum(map(len, fields["changeSets"])))
        elif name == "want" and zone:
            self.push(session, zone, {(v["author"]["device"], v["author"]["instance"]): v["number"]
                                      for v in fields["vector"]})
        elif name in ("acknowledgement", "have") and zone and session.heard("up to date"):
            # A peer pushes what its own device wrote, and announces the rest.
            if any(v["number"] > zone.number(v["author"]) for v in fields["vector"]):
                session.send("want", zone=zone.id, vector=zone.vector())
        elif name == "key request" and zone:
            self.give_keys(session, zone, fields["epochs"])
        elif name == "account heads":
            theirs = {h["account"]: h["hash"] for h in fields["heads"]}
            for account, state in list(self.states.items()):
                if theirs.get(account) not in (None, crypto.blake(codec.SENT_STATE.data(state))):
                    session.send("account", state=state)

    def push(self, session, zone, vector):
        """Sends what of this device's own change sets a vector lacks."""
        raws = [raw for author, numbers in list(zone.change_sets.items()) if author[0] == self.device.id
                for number, raw in sorted(numbers.items()) if number > vector.get(author, 0)]
        for raw in raws:
            session.send("change sets", zone=zone.id, changeSets=[raw])
        session.send("up to date", zone=zone.id, vector=zone.vector())

    def give_keys(self, session, zone, epochs):
        certificate = session.peer_certificate
        if certificate is None:
            return
        keys = [{"epoch": epoch, "sealed": crypto.seal(
            os.urandom(32), certificate["request"]["sealing"], zone.keys[epoch], epoch, zone.id,
            certificate["request"]["device"])} for epoch in sorted(set(epochs)) if epoch in zone.keys]
        for start in range(0, len(keys), 64):
            session.send("keys", zone=zone.id, keys=keys[start : start + 64])

    # --- What an honest device does by itself

    def join(self, text, address=None):
        """Joins a share by its invite, as the document's section has it. Returns the zone."""
        invite = share_invite(text)
        address = address or invite["addresses"][0].decode()
        session = Session(self, address, proof=invite["seed"])
        try:
            zone = self.zones.setdefault(invite["zone"], Zone(invite["zone"]))
            session.wait(lambda: session.heard("control heads") > 0, what="the offer")
            if invite["invite"] not in zone.records:
                raise Refused((0, "the invite is not in the log"))
            self.claim(session, invite)
            session.wait(lambda: zone.words(self.device.account.id), what="the admission")
        finally:
            session.close()
        return zone

    def claim(self, session, invite, /, **changes):
        session.send("account", state=self.device.account.state())
        session.send("share claim", zone=invite["zone"], claim=self.make_claim(invite, **changes))

    def make_claim(self, invite, /, **changes):
        certificate = self.device.certificate
        text = invite["invite"] + invite["zone"] + crypto.blake(codec.CERTIFICATE.encode(certificate))
        return {"invite": invite["invite"], "key": crypto.ed25519(invite["seed"])[0],
                "genesis": self.device.account.genesis, "certificate": certificate,
                "byInvite": crypto.sign(invite["seed"], "mesh/1/claim", text),
                "byDevice": crypto.sign(self.device.seed, "mesh/1/claim", text), **changes}

    def connect(self, address, **options):
        """Opens a session as a member: hello, heads, zones, clock; then control heads, keys and change sets of each zone."""
        session = Session(self, address, **options)
        session.wait(lambda: session.heard("hello"), what="the hello")
        self.open(session)
        return session

    def open(self, session, role=0):
        peer = session.peer_certificate["account"]
        heads = [{"account": id, "hash": crypto.blake(codec.SENT_STATE.data(state))}
                 for id, state in sorted(list(self.states.items())) if id != peer]
        session.send("account heads", heads=heads)
        session.send("zones", tags=[zone_tag(id, role, session.link.hash) for id in self.zones])
        session.send("clock", now=int(time.time() * 1000))
        for zone in list(self.zones.values()):
            session.send("control heads", zone=zone.id, heads=zone.heads()[:1_024])

    def catch_up(self, session, zone, timeout=30):
        """Fetches the control log, the keys and the change sets of a zone."""
        session.wait(lambda: zone.epochs(), timeout, "an epoch")
        before = session.heard("keys")
        lacking = sorted(set(zone.epochs()) - set(zone.keys))
        for start in range(0, len(lacking), 64):
            session.send("key request", zone=zone.id, epochs=lacking[start : start + 64])
        session.wait(lambda: session.heard("keys") > before or zone.current_epoch(), timeout, "the keys")
        before = session.heard("up to date")
        session.send("want", zone=zone.id, vector=zone.vector())
        session.wait(lambda: session.heard("up to date") > before, timeout, "up to date")

    def log(self, zone, device=None, fresh=False):
        """The log that this device writes in a zone; `fresh` begins another instance."""
        device = device or self.device
        if fresh or (zone.id, device.id) not in self.logs:
            self.logs[zone.id, device.id] = Log(device, zone)
        return self.logs[zone.id, device.id]

    def write(self, session, zone, table, rows):
        raw = self.log(zone).insert(table, rows)
        with self.lock:
            zone.merge_change_set(raw)
        session.send("change sets", zone=zone.id, changeSets=[raw])
        return raw

    def acknowledge(self, session, zone, vector=None, **changes):
        fields = {"zone": zone.id, "device": self.device.id, "time": now(),
                  "vector": zone.vector() if vector is None else vector, "heads": zone.heads()[:64], **changes}
        type = codec.MESSAGES["acknowledgement"][1]
        text = codec.Struct(**{n: t for n, t in type.fields.items() if n != "signature"}).encode(fields)
        fields.setdefault("signature", crypto.sign(self.device.seed, "mesh/1/acknowledgement", text))
        session.try_send("acknowledgement", **fields)

    def author(self, zone):
        return Author(self.device, zone)


class Linked(Member):
    """A device that came into an account by a device invite."""

    def __init__(self, text, address=None, name="thief"):
        invite = device_invite(text)
        device = Device(Borrowed(invite["account"]), name)
        self.device, self.states, self.zones, self.logs, self.lock = device, {}, {}, {}, threading.RLock()
        address = address or invite["addresses"][0].decode()
        session = Session(self, address, hello=False)
        session.send("hello", **device.hello(session.link, proof=invite["seed"], certificate=None, head=bytes(32)))
        session.wait(lambda: self.states.get(device.account.id), what="the account")
        request = device.request(invite["account"])
        text = crypto.ed25519(invite["seed"])[0] + invite["account"] + codec.REQUEST.encode(request)
        session.send("claim", request=request, byInvite=crypto.sign(invite["seed"], "mesh/1/claim", text),
                     byDevice=crypto.sign(device.seed, "mesh/1/claim", text))
        session.wait(lambda: session.heard("admitted"), what="the certificate")
        session.close()

    def answer(self, session, name, fields):
        super().answer(session, name, fields)
        account = self.device.account
        if name == "account" and account.id in self.states:
            account.known = self.states[account.id]
        if name == "admitted":
            self.device.certificate = fields["certificate"]
            self.device.certificate["request"]["device"] = self.device.id
