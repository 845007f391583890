"""One zone as a member sees it: the control log, the keys of epochs, change sets, and an author's own log."""

import os
import time

from . import codec, crypto
from .identity import signed

KEYS = {name: f"mesh/1/{name}".encode() for name in ("body", "nonce", "commit")}


def record_id(raw):
    return crypto.blake(raw[:-64])


def change_set_id(header, sealed):
    return crypto.blake(header + crypto.blake(sealed))


def now():
    """A hybrid time: 48 bits of milliseconds, 16 of counter."""
    return int(time.time() * 1000) << 16


class Zone:
    def __init__(self, id):
        self.id = id
        self.records = {}      # id → (decoded, raw), in the order in which they came
        self.keys = {}         # epoch → key
        self.change_sets = {}  # author → {number: raw}
        self.tips = {}         # author → (number, time) of what is stored here without a gap

    # --- The control log

    def merge_records(self, raws):
        for raw in raws:
            self.records.setdefault(record_id(raw), (codec.decode(codec.RECORD, raw), raw))

    def heads(self):
        named = {parent for record, _ in list(self.records.values()) for parent in record["parents"]}
        return sorted(set(self.records) - named)

    def acts(self, name):
        """The acts with a tag: (id, author, fields), in the order in which they came."""
        return [(id, record["author"], record["act"][1]) for id, (record, _) in list(self.records.items())
                if record["act"][0] == name]

    def words(self, account):
        """What participant acts and admissions say of an account: (id, permission)."""
        said = [(id, act["permission"]) for id, _, act in self.acts("participant") if act["account"] == account]
        invites = {id: act for id, _, act in self.acts("invite")}
        for id, _, act in self.acts("admission"):
            genesis = codec.GENESIS.encode(act["claim"]["genesis"])
            if crypto.blake(genesis) == account and act["claim"]["invite"] in invites:
                said.append((id, invites[act["claim"]["invite"]]["permission"]))
        return said

    def accounts(self):
        """The accounts that the log names."""
        named = {act["account"] for name in ("genesis", "share genesis") for _, _, act in self.acts(name)}
        named |= {act["account"] for _, _, act in self.acts("participant")}
        return named | {crypto.blake(codec.GENESIS.encode(act["claim"]["genesis"]))
                        for _, _, act in self.acts("admission")}

    def epochs(self):
        return [id for id, _, _ in self.acts("epoch")]

    def current_epoch(self):
        """The newest epoch whose key is here: enough for a peer that does not outlive a removal."""
        known = [id for id in self.epochs() if id in self.keys]
        return known[-1] if known else None

    def keep_key(self, epoch, key):
        for id, _, act in self.acts("epoch"):
            if id == epoch and act["commitment"] == crypto.blake(KEYS["commit"] + key):
                self.keys[epoch] = key

    # --- Change sets

    def merge_change_set(self, raw):
        reader = codec.Reader(raw)
        header = codec.HEADER.read(reader)
        author = (header["author"]["device"], header["author"]["instance"])
        self.change_sets.setdefault(author, {})[header["number"]] = raw
        number, _ = self.tips.get(author, (0, 0))
        if header["number"] == number + 1:
            self.tips[author] = (header["number"], header["time"])

    def number(self, author):
        """The number of an author's last change set that is here."""
        return self.tips.get((author["device"], author["instance"]), (0, None))[0]

    def vector(self):
        return [{"author": {"device": device, "instance": instance}, "number": number}
                for (device, instance), (number, _) in sorted(list(self.tips.items()))]

    def read(self, raw):
        """Decrypts a change set: (header, body)."""
        reader = codec.Reader(raw)
        header = codec.HEADER.read(reader)
        associated = raw[: reader.at]
        nonce, sealed, signature = reader.take(24), reader.take(header["size"] - 24), reader.take(64)
        reader.end()
        if not crypto.verify(header["author"]["device"], "mesh/1/changeset",
                             change_set_id(associated, nonce + sealed), signature):
            raise codec.Invalid("signature")
        key = self.keys[header["epoch"]]
        text = crypto.decrypt(crypto.blake(KEYS["body"], key=key), nonce, associated, sealed)
        if nonce != crypto.blake(associated + text, 24, key=crypto.blake(KEYS["nonce"], key=key)):
            raise codec.Invalid("nonce")
        return header, codec.decode(codec.BODY, text)

    def rows(self, table):
        """What the readable change sets say of a table: key → {column: value}, by the greatest generation and stamp."""
        found = {}
        for author, numbers in sorted(list(self.change_sets.items())):
            for _, raw in sorted(numbers.items()):
                header, body = self.read(raw)
                kind, content = body["content"]
                for part in content["tables"] if kind == "changes" else []:
                    if part["table"].decode() != table:
                        continue
                    names = [name.decode() for name in part["columns"]]
                    for row in part["rows"]:
                        state = found.setdefault(row["key"], {"generation": 0, "cells": {}})
                        if row["generation"] < state["generation"]:
                            continue
                        if row["generation"] > state["generation"]:
                            state.update(generation=row["generation"], cells={})
                        at = -1
                        for gap, value, own in zip(row["gaps"], row["values"], row["own"]):
                            at += gap + 1
                            time = (own or row["stamp"])["time"]
                            stamp = (time, *author)
                            if state["cells"].get(names[at], ((-1,), None))[0] < stamp:
                                state["cells"][names[at]] = (stamp, value)
        return {key: {name: value for name, (_, value) in state["cells"].items()}
                for key, state in found.items() if state["generation"] % 2}


class Log:
    """The log of one author: a device and an instance whose first four bytes are the grant's."""

    def __init__(self, device, zone, grant=None, instance=None):
        self.device, self.zone = device, zone
        words = zone.words(device.account.id)
        self.grant = grant if grant is not None else words[-1][0] if words else bytes(32)
        self.instance = instance if instance is not None else int.from_bytes(self.grant[:4] + os.urandom(4), "big")
        self.number, self.previous, self.time = 0, self.grant, 0
        self.context = {}

    @property
    def author(self):
        return {"device": self.device.id, "instance": self.instance}

    def seen(self):
        """The context that is new since the last change set: all that is stored here."""
        fresh = {author: tip for author, tip in list(self.zone.tips.items())
                 if tip[0] > self.context.get(author, (0, 0))[0] and author != (self.device.id, self.instance)}
        self.context.update(fresh)
        return [{"author": {"device": d, "instance": i}, "number": n, "time": t} for (d, i), (n, t) in sorted(fresh.items())]

    def next_time(self):
        return max(now(), self.time + 1)

    def change_set(self, content, context=None, header=None, advance=True, time=None, nonce=None, key=None, epoch=None):
        """Signs one change set. `header` replaces fields of the header, `content` may be a forged body."""
        epoch = epoch or self.zone.current_epoch()
        key = key or self.zone.keys[epoch]
        time = time or self.next_time()
        if isinstance(content, bytes):
            body = content
        else:
            body = codec.BODY.encode({"context": self.seen() if context is None else context, "content": content})
        fields = {
            "version": 1, "zone": self.zone.id, "author": self.author, "number": self.number + 1,
            "previous": self.previous, "time": time, "epoch": epoch, "partIndex": 0, "partPlanned": 1, "final": True,
            "size": len(body) + 40, **(header or {})}
        associated = codec.HEADER.encode(fields)
        nonce = nonce or crypto.blake(associated + body, 24, key=crypto.blake(KEYS["nonce"], key=key))
        sealed = nonce + crypto.encrypt(crypto.blake(KEYS["body"], key=key), nonce, associated, body)
        id = change_set_id(associated, sealed)
        if advance:
            self.number += 1
            self.previous, self.time = id, time
        return associated + sealed + crypto.sign(self.device.seed, "mesh/1/changeset", id)

    def insert(self, table, rows, time=None, generation=1, stamp=None, authors=(), **more):
        """A change set that births rows: [(key, {column: value})]."""
        time = time or self.next_time()
        return self.change_set(
            changes([births(table, rows, stamp or {"author": 0, "time": time}, generation)], authors), time=time, **more)


def births(table, rows, stamp, generation=1, flags=1):
    columns = sorted({name for _, cells in rows for name in cells})
    encoded, before = [], None
    for key, cells in rows:
        gaps, last = [], -1
        for index, name in enumerate(columns):
            if name in cells:
                gaps.append(index - last - 1)
                last = index
        shape = (generation, tuple(gaps))
        bits = flags
        if before is not None:
            bits |= 4 | (2 if shape == before else 0)
        before = shape
        encoded.append({"flags": bits, "key": key, "generation": generation, "gaps": gaps, "stamp": stamp,
                        "values": [cells[name] for name in columns if name in cells]})
    return {"table": table.encode(), "columns": [name.encode() for name in columns], "rows": encoded}


def changes(tables, authors=()):
    return "changes", {"authors": list(authors), "tables": tables}


class Author:
    """Writes control records of one device in one zone."""

    def __init__(self, device, zone):
        self.device, self.zone = device, zone
        self.number, self.previous = 0, bytes(32)
        for id, (record, _) in list(zone.records.items()):
            if record["author"] == device.id and record["number"] > self.number:
                self.number, self.previous = record["number"], id

    def record(self, act, keep=True, **changes):
        parents = changes["parents"] if "parents" in changes else self.zone.heads()[:64]
        fields = {
            "version": 1, "zone": self.zone.id, "parents": parents, "author": self.device.id, "number": self.number + 1,
            "previous": self.previous, "act": act, **changes}
        raw = codec.RECORD.encode(signed(codec.RECORD, fields, self.device.seed, "mesh/1/control"))
        self.number += 1
        self.previous = record_id(raw)
        if keep:
            self.zone.merge_records([raw])
        return raw

    def mint(self):
        """Opens an epoch: (its record, its id)."""
        key = os.urandom(32)
        raw = self.record(("epoch", {"commitment": crypto.blake(KEYS["commit"] + key)}))
        self.zone.keys[record_id(raw)] = key
        return raw, record_id(raw)
