"""Proves the peer honest: it joins a share of a real daemon, reads rows, and writes one that reaches other devices."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemons import Failed, Mesh, eventually  # noqa: E402
from peer.identity import Account  # noqa: E402
from peer.member import Member  # noqa: E402


def main():
    with Mesh() as mesh:
        mesh.start()
        for options in ((), ("--open",)):
            member = Member(Account("peer").device("peer"))
            zone = member.join(mesh.tower.invite("Shared", "read-write", *options), mesh.tower.address)
            session = member.connect(mesh.tower.address)
            member.catch_up(session, zone)
            rows = zone.rows("notes")
            if rows != {"root": {"text": "milk", "stars": 1}}:
                raise Failed(f"the peer read {rows}")
            key = f"tag{len(options)}"
            member.write(session, zone, "tags", [(key, {"note": "root", "name": "fresh"})])
            for node in (mesh.tower, mesh.laptop, mesh.carol):
                eventually(f"the peer's row on {node.name}", lambda: node.sql("SELECT name FROM tags WHERE id = ?", key))
            mesh.carol.sql("UPDATE tags SET name = 'edited' WHERE id = ?", key)
            eventually("the peer reads what others wrote", lambda: zone.rows("tags").get(key, {}).get("name") == "edited")
            before = session.heard("acknowledgement")
            member.acknowledge(session, zone)
            mesh.tower.sql("INSERT INTO tags VALUES (?, 'root', 'x')", f"other{len(options)}")
            session.wait(lambda: session.heard("acknowledgement") > before, what="an acknowledgement")
            session.close()
        for node in (mesh.tower, mesh.laptop, mesh.carol):
            bad = [check for check in node.report("doctor")["checks"] if check["state"] != "ok"]
            if bad:
                raise Failed(f"doctor on {node.name}: {bad}")
    print("The peer joined, read and wrote; other devices received its rows.")


if __name__ == "__main__":
    main()
