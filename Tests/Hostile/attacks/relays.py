"""A participant that passes on what others said: late, reordered, in part, to the wrong ones, and with a change."""

import os
import time

from attacks import attack
from attacks.assets import CHUNK, manifest
from daemons import Failed, eventually
from peer import codec, crypto



def others(zone, member):
    """The change sets of everybody else: [(author, number, bytes)]."""
    return [(author, number, raw) for author, numbers in list(zone.change_sets.items()) if author[0] != member.device.id
            for number, raw in sorted(numbers.items())]


def everywhere(scene, member, zone):
    """A session with each honest device, once it knows the account."""
    account = crypto.shown("account", member.device.account.id)
    for node in scene.honest:
        eventually(f"{node.name} knows the account", lambda: account in str(node.report("share", "list")))
    return {node.name: scene.session(member, node, zone) for node in scene.honest}


@attack("message account: state (length)", "message account heads: heads (count)")
def states_of_others_from_before(scene):
    """Passes on older and smaller states of honest accounts, without one device or its revocation, and claims that theirs are old;
    who was revoked stays so, and who is certified too."""
    member, zone, session = scene.enter()
    sessions = everywhere(scene, member, zone)
    eventually("the owner's state", lambda: len(member.states) > 1)
    for id, state in list(member.states.items()):
        if id == member.device.account.id:
            continue
        smaller = [{**state, "certificates": state["certificates"][:count]} for count in range(len(state["certificates"]))]
        smaller += [{**state, "revocations": []}, {**state, "signers": None}]
        for each in sessions.values():
            for old in smaller:
                each.try_send("account", state=old)
            each.try_send("account heads", heads=[{"account": id, "hash": os.urandom(32)}])
            scene.answered(each)
    states = scene.tower.report("device", "list")["devices"]
    if any(one["revoked"] for one in states if one["name"] in ("tower", "laptop")):
        raise Failed(f"the owner's devices are {states}")


@attack("message acknowledgement: time", "message acknowledgement: vector (count)")
def acknowledgements_of_others_again(scene):
    """Keeps the acknowledgements of honest devices and sends them again later, to others, and with one byte changed; nobody may count
    them for a device that has less."""
    member, zone, session = scene.enter()
    sessions = everywhere(scene, member, zone)
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', 'x')", scene.name())
    scene.settle(1)
    kept = [fields for each in list(sessions.values()) for name, fields in list(each.said.queue) if name == "acknowledgement"]
    if not kept:
        raise Failed("no acknowledgement was heard")
    scene.carol.stop()
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', 'x')", scene.name())
    for fields in kept[-20:]:
        signature = bytearray(fields["signature"])
        signature[0] ^= 1
        for changes in ({}, {"time": fields["time"] + (1 << 40)}, {"vector": zone.vector()}, {"signature": bytes(signature)}):
            for name in ("tower", "laptop"):
                node = scene.tower if name == "tower" else scene.laptop
                sessions[name] = scene.again(member, sessions[name], node)
                sessions[name].try_send("acknowledgement", **{**fields, **changes})
                scene.answered(sessions[name])
    waiting = scene.tower.run("wait", "--timeout", "2")
    scene.carol.serve()
    scene.memory[scene.carol.name] = scene.carol.memory()
    if waiting.returncode == 0:
        raise Failed("a participant that is not there was taken for one that has everything")


@attack("message change sets: changeSets[] (length)", "header: number", "header: partIndex")
def rows_of_others_in_every_order(scene):
    """Passes on the change sets of honest devices backwards, twice, cut short, with one bit changed anywhere, and under another zone; only
    sessions may end."""
    member, zone, session = scene.enter()
    for number in range(10):
        for node in (scene.tower, scene.carol):
            node.sql("INSERT INTO tags VALUES (?, 'root', 'x')", scene.name())
    scene.settle(1)
    sessions = everywhere(scene, member, zone)
    everybody = [raw for _, _, raw in others(zone, member)][-40:]
    forged = list(reversed(everybody)) * 2
    for raw in everybody[:12]:
        for place in sorted({1, 40, 70, 80, 110, len(raw) // 2, len(raw) - 70, len(raw) - 1}):
            if place < len(raw):
                forged.append(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1:])
        forged += [raw[:-1], raw + b"\0", raw[:64]]
    for node in scene.honest:
        for raw in forged:
            sessions[node.name] = scene.again(member, sessions[node.name], node)
            sessions[node.name].try_send("change sets", zone=zone.id, changeSets=[raw])
        sessions[node.name].try_send("change sets", zone=os.urandom(32), changeSets=everybody)
        scene.answered(sessions[node.name])


@attack("message control records: records (count)", "control record: parents (count)")
def records_of_others_in_every_order(scene):
    """Passes on the control log backwards, one by one, with changed bits, as another's, and under another zone, to each honest device;
    the members stay who they are."""
    member, zone, session = scene.enter()
    def members(node):
        return str([(one["title"], one["stopped"], one["epoch"], sorted((each["account"], each["permission"], each["status"])
                                                                       for each in one["participants"]))
                    for one in node.report("share", "list")["shares"]])

    sessions = everywhere(scene, member, zone)
    before = {node.name: members(node) for node in scene.honest}
    raws = [raw for _, raw in list(zone.records.values())][-60:]
    forged = list(reversed(raws))
    for raw in raws[-15:]:
        forged += [raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1:] for place in (0, 5, 40, len(raw) // 2, len(raw) - 1)]
        forged.append(raw[:-64] + crypto.sign(member.device.seed, "mesh/1/control", raw[:-64]))
    for node in scene.honest:
        for raw in forged:
            sessions[node.name] = scene.again(member, sessions[node.name], node)
            scene.send_records(sessions[node.name], zone, [raw])
        sessions[node.name].try_send("control heads", zone=zone.id, heads=sorted(os.urandom(32) for _ in range(64)))
        scene.answered(sessions[node.name], 60)
    for node in scene.honest:
        if members(node) != before[node.name]:
            raise Failed(f"the share on {node.name} was {before[node.name]} and is {members(node)}")


@attack("message asset chunk: index", "message asset has: chunks (count)")
def chunks_with_one_bit_changed(scene):
    """Says that it has a BLOB of an honest device. It gives each chunk with one bit changed, too short, or
    that of another BLOB, while the honest device gives it as well. The BLOB must arrive whole."""
    member, zone, session = scene.enter()
    sessions = [scene.session(member, node, zone) for node in (scene.laptop, scene.carol)]
    data = scene.random.randbytes(3 * CHUNK + 1_000)
    _, asset = manifest(zone, data)
    chunks = [data[at:at + CHUNK] for at in range(0, len(data), CHUNK)]
    key = scene.name("blob")
    scene.tower.sql("INSERT INTO tags VALUES (?, 'root', ?)", key, data)
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        for place, each in enumerate(sessions):
            node = (scene.laptop, scene.carol)[place]
            each = sessions[place] = scene.again(member, each, node)
            each.try_send("asset has", zone=zone.id, asset=asset, chunks=[True] * len(chunks))
            for index, chunk in enumerate(chunks):
                wrong = (bytes([chunk[0] ^ 1]) + chunk[1:], chunk[:-1], chunks[index - 1])[index % 3]
                each.try_send("asset chunk", zone=zone.id, asset=asset, index=index, bytes=wrong)
        time.sleep(0.3)
    for node in (scene.laptop, scene.carol):
        eventually(f"the BLOB on {node.name}", lambda: node.sql("SELECT name FROM tags WHERE id = ?", key) == [(data,)], 30)


@attack("message keys: keys[].sealed (length)", "message key request: epochs (count)")
def keys_of_one_zone_for_another(scene):
    """Gives keys of the share as keys of other zones and epochs, seals them to others, and asks for keys of
    zones that it only knows by name. Nothing may be given, and writes must not wait."""
    member, zone, session = scene.enter()
    for node in scene.honest:
        each = scene.session(member, node, zone)
        device = each.peer_certificate["request"]
        for target in (zone.id, os.urandom(32), crypto.blake(zone.id)):
            for epoch, key in list(zone.keys.items()):
                for recipient in (device["sealing"], os.urandom(32)):
                    sealed = crypto.seal(os.urandom(32), crypto.x25519(recipient) if recipient is not device["sealing"] else recipient,
                                         os.urandom(32), epoch, target, device["device"])
                    each = scene.again(member, each, node)
                    each.try_send("keys", zone=target, keys=[{"epoch": epoch, "sealed": sealed}])
            before = each.heard("keys")
            each.try_send("key request", zone=target, epochs=[os.urandom(32)])
            scene.answered(each)
            if target != zone.id and each.heard("keys") > before:
                raise Failed("a key of a zone that is not common was given")


@attack("message announce only", "message want: vector (count)")
def announcements_instead_of_rows(scene):
    """Tells every honest device to stop pushing and asks for everything, in turns and many times, while it announces what it does not
    have; rows between honest devices must pass."""
    member, zone, session = scene.enter()
    sessions = everywhere(scene, member, zone)
    for turn in range(scene.many(60)):
        for node in scene.honest:
            each = sessions[node.name] = scene.again(member, sessions[node.name], node)
            each.try_send("announce only", zone=zone.id)
            each.try_send("have", zone=zone.id, vector=[{**entry, "number": entry["number"] + turn} for entry in zone.vector()])
            if turn % 3 == 0:
                each.try_send("want", zone=zone.id, vector=zone.vector())
        if turn % 20 == 0:
            scene.check_sync()
    for each in sessions.values():
        scene.answered(each)
