"""The owner of a share: listens, lets accounts in by an open invite, and says what an owner's device says."""

import os
import socket
import threading
import time

from . import codec, crypto
from .identity import SHARE_INVITE
from .link import Ended
from .member import Member, Session
from .zone import Author, Zone, record_id


class Owner(Member):
    """A device of an account that has made a share of one record."""

    def __init__(self, device, key, table="notes"):
        super().__init__(device)
        account, nonce = device.account.id, os.urandom(32)
        self.share = self.zones[crypto.blake(account + nonce)] = Zone(crypto.blake(account + nonce))
        self.acts = Author(device, self.share)
        self.act("share genesis", account=account, nonce=nonce, table=table.encode(), key=key, parents=[])
        self.acts.mint()
        self.secret = os.urandom(32)
        self.invitation = record_id(self.act(
            "invite", key=crypto.ed25519(self.secret)[0], permission=2, expiry=0, uses=0, only=None))
        self.listening = []
        # Whether it acknowledges what others send.
        self.acknowledges = True
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def act(self, name, parents=None, **fields):
        """Appends a record."""
        more = {} if parents is None else {"parents": parents}
        return self.acts.record((name, fields), **more)

    def invite(self):
        """The text of the open invite."""
        return crypto.invite_text(SHARE_INVITE.encode({
            "version": 1, "seed": self.secret, "zone": self.share.id, "account": self.device.account.id,
            "invite": self.invitation, "addresses": [self.address.encode()]}), "mesh-share-")

    # --- Sessions that others open

    def _accept(self):
        while True:
            try:
                stream, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream):
        try:
            session = Session(self, None, hello=False, stream=stream, is_dialler=False)
            self.listening.append(session)
        except (Ended, OSError):
            stream.close()

    def answer(self, session, name, fields):
        if name == "hello":
            session.send("hello", **self.device.hello(session.link, role=1))
            if fields["proof"]:
                session.send("account", state=self.device.account.state())
                self.tell_records(session)
            else:
                self.open(session, role=1)
                session.send("want", zone=self.share.id, vector=self.share.vector())
        elif name == "share claim":
            self.act("admission", claim=fields["claim"])
            self.tell_records(session)
        elif name == "control heads":
            self.tell_records(session, heads=False)
        else:
            super().answer(session, name, fields)
            if name == "want" and fields["zone"] == self.share.id and self.acknowledges:
                self.acknowledge(session, self.share)
                nothing = {"assets": 0, "bytes": 0}
                session.send("asset backlog", zone=self.share.id, coming=nothing, absent=nothing)

    def tell_records(self, session, heads=True):
        """Sends the whole log, and what it ends with."""
        raws = [raw for _, raw in list(self.share.records.values())]
        for start in range(0, len(raws), 64):
            session.send("control records", zone=self.share.id, records=[
                codec.Forged(codec.varint(len(raw)) + raw) for raw in raws[start:start + 64]])
        if heads:
            session.send("control heads", zone=self.share.id, heads=self.share.heads()[:1_024])

    def guest(self, timeout=30):
        """The newest open session of a member, once there is one."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = [each for each in list(self.listening) if each.ended is None and each.heard("zones")]
            if found:
                return found[-1]
            time.sleep(0.05)
        raise TimeoutError("nobody dialled the owner")

    def close(self):
        self._socket.close()
        for session in self.listening:
            session.close()
