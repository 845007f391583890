"""Accounts, devices and what they sign: `ControlLog.md`, Account."""

import os
import time

from . import codec, crypto


def signed(type, value, seed, context, field="signature", before=b""):
    """Fills in a structure's last field: the signature over `before` and all fields before it."""
    text = before + codec.Struct(**{n: t for n, t in type.fields.items() if n != field}).encode(value)
    value[field] = crypto.sign(seed, context, text)
    return value


class Account:
    def __init__(self, name="mallory"):
        self.name = name
        self.seed, self.recovery = os.urandom(32), os.urandom(32)
        self.genesis = {
            "version": 1, "signing": crypto.ed25519(self.seed)[0], "recovery": crypto.ed25519(self.recovery)[0],
            "salt": os.urandom(16)}
        self.id = crypto.blake(codec.GENESIS.encode(self.genesis))
        self.certificates, self.revocations = [], []
        self.successor, self.promotions, self.demotions = None, [], []

    def device(self, name="b", listed=True, **changes):
        """Makes a device and certifies it."""
        device = Device(self, name)
        request = device.request(self.id)
        device.certificate = self.certify(request, listed=listed, **changes)
        return device

    def signer(self, authority):
        """The fields that say who signs."""
        if authority is None:
            return {"version": 1, "account": self.id, "generation": 0}
        return {"version": 2, "account": self.id, "authority": authority}

    def certify(self, request, listed=True, seed=None, authority=None, **changes):
        certificate = {
            **self.signer(authority), "request": request, "serial": os.urandom(16), "issued": int(time.time() * 1000),
            **changes}
        signed(codec.CERTIFICATE, certificate, seed or self.seed, "mesh/1/certificate")
        if listed:
            self.certificates.append(certificate)
        return certificate

    def revoke(self, device, seed=None, authority=None, **changes):
        revocation = {
            **self.signer(authority), "device": device.id, "serial": device.certificate["serial"],
            "issued": int(time.time() * 1000), **changes}
        self.revocations.append(signed(codec.REVOCATION, revocation, seed or self.seed, "mesh/1/revocation"))

    def replaced(self, generation, key, **changes):
        """A successor: the recovery key names another key."""
        successor = {"version": 1, "account": self.id, "generation": generation, "key": key, "issued": 0, **changes}
        return signed(codec.SUCCESSOR, successor, self.recovery, "mesh/1/successor")

    def promoted(self, device, seed=None, **changes):
        promotion = {"version": 1, "account": self.id, "generation": 0, "device": device, "serial": os.urandom(16),
                     "issued": 0, **changes}
        return signed(codec.PROMOTION, promotion, seed or self.seed, "mesh/1/promotion")

    def demoted(self, serial, seed=None, **changes):
        demotion = {"version": 1, "account": self.id, "generation": 0, "serial": serial, "issued": 0, **changes}
        return signed(codec.DEMOTION, demotion, seed or self.seed, "mesh/1/demotion")

    def state(self):
        by_account = [r for r in self.revocations if not (r.get("authority") or {}).get("promotion")]
        by_others = [r for r in self.revocations if (r.get("authority") or {}).get("promotion")]
        signers = None
        if self.successor or self.promotions or self.demotions:
            signers = {"version": 1, "successor": self.successor,
                       "promotions": sorted(self.promotions, key=lambda p: p["serial"]),
                       "demotions": sorted(self.demotions, key=lambda d: d["serial"])}
        return {
            "genesis": self.genesis,
            "certificates": sorted(self.certificates, key=lambda c: c["request"]["device"]),
            "revocations": sorted(by_account, key=lambda r: r["device"]) + sorted(
                by_others, key=lambda r: (r["authority"]["promotion"]["serial"], r["device"])),
            "signers": signers}

    def head(self):
        return crypto.blake(codec.STATE.encode(self.state()))


class Device:
    def __init__(self, account, name):
        self.account, self.name = account, name
        self.seed, self.session, self.sealing = os.urandom(32), os.urandom(32), os.urandom(32)
        self.id = crypto.ed25519(self.seed)[0]
        self.certificate = None

    def request(self, account):
        request = {
            "device": self.id, "session": crypto.x25519(self.session), "sealing": crypto.x25519(self.sealing),
            "name": self.name.encode()}
        return signed(codec.REQUEST, request, self.seed, "mesh/1/request", before=account)

    def hello(self, link, role=0, proof=None, **changes):
        """A hello for one link; `proof` is the seed of an invite."""
        hello = {"versions": b"\3", "certificate": self.certificate,
                 "head": self.account.head() if self.account else bytes(32), "proof": None, **changes}
        if proof:
            hello["proof"] = {"key": crypto.ed25519(proof)[0],
                              "signature": crypto.sign(proof, "mesh/1/invite", link.hash)}
        fields = {n: t for n, t in codec.HELLO.fields.items() if n != "signature"}
        text = bytes([role]) + link.hash + link.peer + codec.Struct(**fields).encode(hello)
        if "signature" not in hello:
            hello["signature"] = crypto.sign(self.seed, "mesh/1/hello", text) if hello["certificate"] else b""
        return hello


SHARE_INVITE = codec.Struct(
    version=codec.U8, seed=codec.ID, zone=codec.ID, account=codec.ID, invite=codec.ID,
    addresses=codec.List(codec.Sized(255), 8))
DEVICE_INVITE = codec.Struct(
    version=codec.U8, seed=codec.ID, account=codec.ID, expires=codec.SIGNED,
    addresses=codec.List(codec.Sized(255), 8))


def share_invite(text):
    return codec.decode(SHARE_INVITE, crypto.invite_content(text, "mesh-share-"))


def device_invite(text):
    return codec.decode(DEVICE_INVITE, crypto.invite_content(text, "mesh-device-"))


class Borrowed:
    """An account of somebody else, as one of its devices knows it: without the account's key."""

    def __init__(self, id):
        self.id, self.known = id, None

    def state(self):
        return self.known

    def head(self):
        return crypto.blake(codec.STATE.encode(self.known)) if self.known else bytes(32)
