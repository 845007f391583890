import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Machines that migrate one after the other, or whose tables were not synchronized for a while.
  @Suite struct MigrationTests {
    /// Both machines have the notes n1, n2 and n3 with a tag each. Then the laptop's daemon is stopped.
    private func apart(
      _ body: (_ tower: MeshProcess, _ laptop: MeshProcess, _ towerDaemon: Child) async throws -> Void
    ) async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.sqlite(
          """
          INSERT INTO notes VALUES ('n1', 'milk', 1), ('n2', 'bread', 2), ('n3', 'salt', 3);
          INSERT INTO tags VALUES ('t1', 'n1', 'fresh'), ('t2', 'n2', 'stale'), ('t3', 'n3', 'white');
          """)
        try await tower.settled(with: "laptop")
        #expect(try await daemons.laptop.terminate().status == 0)
        try await body(tower, laptop, daemons.tower)
      }
    }

    private func flushed(_ node: MeshProcess) async throws {
      try await eventually("\(node.directory) has flushed") { try await node.status().pending == 0 }
    }

    private func expect(_ nodes: [MeshProcess], _ sql: String, _ expected: String) async throws {
      for node in nodes { #expect(try await node.sqlite(sql) == expected) }
    }

    private func conflicts(_ node: MeshProcess, _ options: String...) async throws -> ConflictsReport {
      let finished = try await node.run(["conflicts", "--json"] + options)
      return try ControlJSON.decode(ConflictsReport.self, from: Array(finished.stdout.utf8))
    }

    // MARK: Names

    @Test("an edit under a column's old name survives a renaming in stages", arguments: [true, false])
    func renamedColumn(_ isOff: Bool) async throws {
      let rename = "ALTER TABLE notes RENAME COLUMN text TO body"
      try await apart { tower, laptop, _ in
        try await tower.sqlite(rename)
        try await flushed(tower)
        if !isOff { _ = try await laptop.serve() }
        try await laptop.sqlite("UPDATE notes SET text = 'soy milk' WHERE id = 'n1'")
        if !isOff {
          try await laptop.settled(with: "tower")
          try await eventually("the tower shows it under the new name") {
            try await tower.sqlite("SELECT body FROM notes WHERE id = 'n1'") == "soy milk\n"
          }
        }
        try await laptop.sqlite(rename)
        if isOff { _ = try await laptop.serve() }
        try await laptop.settled(with: "tower")
        try await tower.settled(with: "laptop")
        try await expect([tower, laptop], "SELECT body FROM notes ORDER BY id", "soy milk\nbread\nsalt\n")
        for node in [tower, laptop] { #expect(try await conflicts(node).total == 0) }
      }
    }

    @Test("a table that each machine renames keeps edits and deletes of the old name")
    func renamedTable() async throws {
      try await apart { tower, laptop, _ in
        try await tower.sqlite("ALTER TABLE notes RENAME TO memos")
        try await tower.done("untrack", "notes")
        try await tower.done("track", "memos")
        try await flushed(tower)
        try await laptop.sqlite(
          """
          PRAGMA foreign_keys = ON;
          UPDATE notes SET text = 'soy milk' WHERE id = 'n1';
          DELETE FROM notes WHERE id = 'n2';
          """)
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        try await laptop.sqlite("ALTER TABLE notes RENAME TO memos")
        try await laptop.done("untrack", "notes")
        try await laptop.done("track", "memos")
        try await laptop.settled(with: "tower")
        let rows = "SELECT id, text FROM memos ORDER BY id; SELECT id FROM tags ORDER BY id"
        try await eventually("the edit and the delete are on the tower") {
          try await tower.sqlite(rows) == "n1|soy milk\nn3|salt\nt1\nt3\n"
        }
        try await expect([tower, laptop], rows, "n1|soy milk\nn3|salt\nt1\nt3\n")
        for node in [tower, laptop] {
          #expect(try await conflicts(node).total == 0)
          #expect(try await node.status().held.isEmpty)
        }
        try await tower.sqlite("DELETE FROM memos WHERE id = 'n3'")
        try await tower.settled(with: "laptop")
        #expect(try await laptop.sqlite("SELECT id FROM memos") == "n1\n")
      }
    }

    // MARK: Untracked

    @Test("no data of an untracked table is lost without a listed conflict")
    func untracked() async throws {
      try await apart { tower, laptop, _ in
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        try await laptop.done("untrack", "notes", "tags")
        try await laptop.sqlite(
          """
          UPDATE notes SET text = 'laptop' WHERE id = 'n1';
          UPDATE notes SET stars = 9 WHERE id = 'n3';
          DELETE FROM notes WHERE id = 'n2';
          INSERT INTO notes VALUES ('n4', 'new', 4);
          """)
        try await tower.sqlite("UPDATE notes SET text = 'tower' WHERE id IN ('n1', 'n3')")
        try await tower.settled(with: "laptop")
        try await laptop.done("track", "notes", "tags")
        try await laptop.settled(with: "tower")
        try await expect(
          [tower, laptop], "SELECT * FROM notes ORDER BY id", "n1|tower|1\nn3|tower|9\nn4|new|4\n")
        let listed = try await conflicts(laptop)
        #expect(listed.conflicts.map(\.loser.value) == [.text("laptop")])
        #expect(try await conflicts(tower).total == 0)
        let number = try #require(listed.conflicts.first?.id)
        try await laptop.done("restore", "--conflict", "\(number)")
        try await laptop.settled(with: "tower")
        try await expect([tower, laptop], "SELECT text FROM notes WHERE id = 'n1'", "laptop\n")
      }
    }

    // MARK: Migrations

    @Test("an edit of a new column wins against the backfill of both machines", arguments: 0..<6)
    func backfill(_ run: Int) async throws {
      let fill = "ALTER TABLE notes ADD COLUMN mood TEXT; UPDATE notes SET mood = 'calm'"
      try await apart { tower, laptop, daemon in
        let address = try await tower.address()
        #expect(try await daemon.terminate().status == 0)
        let isFirst = run.isMultiple(of: 2)
        if !isFirst { try await laptop.sqlite(fill) }
        try await tower.sqlite(fill)
        try await tower.sqlite("UPDATE notes SET mood = 'glad' WHERE id = 'n1'")
        if isFirst { try await laptop.sqlite(fill) }
        if run % 3 == 0 { _ = try await laptop.serve() }
        _ = try await tower.serve("--listen", address)
        if run % 3 != 0 { _ = try await laptop.serve() }
        try await laptop.settled(with: "tower")
        try await tower.settled(with: "laptop")
        try await expect([tower, laptop], "SELECT mood FROM notes ORDER BY id", "glad\ncalm\ncalm\n")
        #expect(try await conflicts(tower).total == 0)
      }
    }

    @Test("a read-only participant adds a column and fills it in one transaction")
    func readOnly() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        for (node, name) in [(alice, "alice"), (bob, "bob")] {
          try await node.sqlite(MeshProcess.schema)
          try await node.done("init", "--database", node.database, "--account", name, "--device", name)
          try await node.done("track", "notes", "tags")
          _ = try await node.serve()
        }
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1)")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        let invited = try await alice.done("share", "invite", "Shared", "--permission", "read-only")
        let invite = try #require(invited.stdout.split(separator: "\n").last)
        try await bob.done("share", "join", "-", "--yes", input: invite + "\n")
        try await eventually("bob has the note") { try await bob.number("SELECT count(*) FROM notes") == 1 }
        try await bob.sqlite("BEGIN; ALTER TABLE notes ADD COLUMN mood TEXT; UPDATE notes SET mood = 'calm'; COMMIT")
        try await flushed(bob)
        try await alice.sqlite("UPDATE notes SET text = 'oat milk'")
        try await eventually("alice's edit comes") { try await bob.sqlite("SELECT text FROM notes") == "oat milk\n" }
        #expect(try await bob.sqlite("SELECT mood FROM notes") == "calm\n")
        #expect(try await bob.status().receipts.isEmpty)
        await #expect(throws: (any Error).self) { try await bob.sqlite("UPDATE notes SET text = 'his'") }
      }
    }

    // MARK: Joining

    @Test("a joiner's older copy loses, and its first serve counts the values that differ")
    func olderCopy() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (tower, laptop) = (nodes[0], nodes[1])
        try await tower.sqlite(MeshProcess.schema)
        try await tower.sqlite("INSERT INTO notes VALUES ('n1', 'now', 1), ('n2', 'same', 2)")
        try await tower.done("init", "--database", tower.database, "--account", "alice", "--device", "tower")
        try await tower.done("track", "notes", "tags")
        _ = try await tower.serve()
        try await laptop.sqlite(MeshProcess.schema)
        try await laptop.sqlite("INSERT INTO notes VALUES ('n1', 'older', 0), ('n2', 'same', 2), ('n3', 'mine', 3)")
        try await laptop.join(tower, device: "laptop")
        try await laptop.done("track", "notes", "tags")
        let daemon = try await laptop.serve()
        try await laptop.settled(with: "tower")
        try await expect([tower, laptop], "SELECT * FROM notes ORDER BY id", "n1|now|1\nn2|same|2\nn3|mine|3\n")
        let listed = try await conflicts(laptop)
        #expect(Set(listed.conflicts.map(\.loser.value)) == [.text("older"), .integer(0)])
        #expect(listed.conflicts.allSatisfy { $0.loser.imported && $0.loser.deviceName == "laptop" })
        #expect(try await conflicts(tower).total == 0)
        try await eventually("the log counts them") {
          daemon.log.contains("2 values that this file had before its tables or columns were tracked differ")
        }
      }
    }

    @Test("a key that is a text here and a number there is held and reported")
    func differentKeys() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        for table in ["part", "tool"] {
          try await tower.sqlite("CREATE TABLE \(table) (id TEXT PRIMARY KEY NOT NULL, name TEXT)")
          try await laptop.sqlite("CREATE TABLE \(table) (id INTEGER PRIMARY KEY NOT NULL, name TEXT)")
        }
        try await tower.done("track", "tool")
        try await eventually("laptop knows tower's table") {
          try await laptop.done("schema").stdout.contains("re-create the table here")
        }
        let refused = try await laptop.run("track", "tool", "--integer-keys")
        #expect(
          refused.status == 5 && refused.stderr.contains("would not agree which rows are one record"), "\(refused)")
        #expect(refused.stderr.contains("TEXT") && !refused.stderr.contains("--integer-keys"))
        // Apart, neither knows the other's table.
        #expect(try await daemons.laptop.terminate().status == 0)
        try await laptop.done("track", "part", "--integer-keys")
        try await tower.done("track", "part")
        _ = try await laptop.serve()
        try await tower.sqlite("INSERT INTO part VALUES ('1', 'bolt'), ('abc', 'screw')")
        try await laptop.sqlite("INSERT INTO part VALUES (1, 'nut')")
        try await laptop.settled(with: "tower")
        try await tower.settled(with: "laptop")
        #expect(try await tower.sqlite("SELECT quote(id), name FROM part") == "'1'|bolt\n'abc'|screw\n")
        #expect(try await laptop.sqlite("SELECT quote(id), name FROM part") == "1|nut\n")
        for (node, count) in [(tower, 1), (laptop, 2)] {
          #expect(try await node.status().held == ["constraint": count])
          let held = try await node.done("held").stdout
          #expect(held.contains("copy the rows into a table of another name") && !held.contains("mesh held resolve"))
          #expect(
            held.contains("part") && held.contains("the table has another key on the machine that wrote the record"))
          let doctor = try await node.run("doctor")
          #expect(doctor.status == 1 && doctor.stdout.contains("The key of part is"))
        }
        try await laptop.done("held", "discard", "part", "'1'", "--yes")
        try await laptop.settled(with: "tower")
        #expect(try await tower.sqlite("SELECT id FROM part") == "abc\n")
        #expect(try await laptop.sqlite("SELECT quote(id), name FROM part") == "1|nut\n")
      }
    }

    // MARK: Conflicts

    @Test("2,500 conflicts are listed page by page, and by table, zone, device and time")
    func manyConflicts() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.insertNotes(0..<2_500, prefix: "n")
        try await tower.sqlite("INSERT INTO tags VALUES ('t1', 'n1', 'one')")
        try await tower.settled(with: "laptop")
        #expect(try await daemons.laptop.terminate().status == 0)
        try await tower.sqlite("UPDATE notes SET text = 'tower'; UPDATE tags SET name = 'tower'")
        try await flushed(tower)
        try await laptop.sqlite("UPDATE notes SET text = 'laptop'; UPDATE tags SET name = 'laptop'")
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        var (numbers, after): ([Int64], Int64?) = ([], nil)
        repeat {
          let page = try await conflicts(
            tower, "--table", "notes", "--limit", "1000", "--after", "\(after ?? Int64.max)")
          #expect(page.total == 2_500)
          numbers += page.conflicts.map(\.id)
          after = page.next
        } while after != nil
        #expect(numbers.count == 2_500 && Set(numbers).count == 2_500)
        #expect(try await conflicts(tower, "--limit", "1").total == 2_501)
        #expect(try await conflicts(tower, "--table", "tags").conflicts.map(\.loser.value) == [.text("tower")])
        #expect(try await conflicts(tower, "--device", "laptop", "--limit", "1").total == 2_501)
        #expect(try await conflicts(tower, "--since", "1h", "--limit", "1").total == 2_501)
        let zone = try #require(try await tower.status().zones.first?.id)
        #expect(try await conflicts(tower, "--zone", zone, "--limit", "1").total == 2_501)
        try await Task.sleep(for: .seconds(2))
        #expect(try await conflicts(tower, "--since", "1s").total == 0)
        let text = try await tower.done("conflicts", "--table", "notes", "--limit", "2").stdout
        #expect(text.contains("2 of 2500 conflicts. For older ones: mesh conflicts --table 'notes' --limit 2 --after"))
        let unknown = try await tower.run("conflicts", "--table", "none")
        #expect(unknown.status == ExitStatus.refused.rawValue && unknown.stderr.contains("none"))
      }
    }
  }
}
