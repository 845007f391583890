import MeshNode
import Testing

extension Daemons {
  @Suite struct SchemaTests {
    @Test func aTableThatOneSideLacksIsKeptAndShownOnceItIsThere() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL, title TEXT DEFAULT 'new')")
        try await tower.done("track", "lists")
        try await tower.sqlite("INSERT INTO lists VALUES ('l1', 'shopping'); INSERT INTO lists(id) VALUES ('l2')")
        try await tower.settled(with: "laptop")
        #expect(try await laptop.status().held == ["unknown-table": 2])
        let missing = try await laptop.report(SchemaReport.self, "schema")
        #expect(missing.missing.map(\.table) == ["lists"])
        #expect(missing.missing.map(\.columns) == [["id", "title"]])
        #expect(!missing.applied)
        try await laptop.done("schema", "--apply")
        try await eventually("the rows are shown") { try await laptop.number("SELECT count(*) FROM lists") == 2 }
        #expect(try await laptop.status().held.isEmpty)
        try await laptop.sqlite("UPDATE lists SET title = 'food' WHERE id = 'l1'")
        try await laptop.settled(with: "tower")
        #expect(try await tower.sqlite("SELECT * FROM lists ORDER BY id") == "l1|food\nl2|new\n")
        #expect(try await laptop.run("schema").stdout.contains("Nothing is missing"))
      }
    }

    @Test func aColumnThatOneSideLacksIsKeptAndShownOnceItIsThere() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<3, prefix: "n")
        try await tower.settled(with: "laptop")
        try await tower.sqlite("ALTER TABLE notes ADD COLUMN done INTEGER NOT NULL DEFAULT 0")
        try await tower.sqlite("UPDATE notes SET done = 1 WHERE id = 'n1'; INSERT INTO notes VALUES ('n3', 'x', 1, 1)")
        try await tower.settled(with: "laptop")
        #expect(try await laptop.rows() == tower.rows())
        let missing = try await laptop.report(SchemaReport.self, "schema")
        #expect(missing.missing.map(\.table) == ["notes"])
        #expect(missing.missing.map(\.columns) == [["done"]])
        // An edit by a node that does not know the column leaves it alone.
        try await laptop.sqlite("UPDATE notes SET text = 'edited' WHERE id = 'n1'")
        try await laptop.settled(with: "tower")
        try await laptop.done("schema", "--apply")
        try await eventually("the column is filled") {
          try await laptop.sqlite("SELECT id || done FROM notes ORDER BY id") == "n00\nn11\nn20\nn31\n"
        }
        #expect(try await tower.sqlite("SELECT text, done FROM notes WHERE id = 'n1'") == "edited|1\n")
        try await laptop.settled(with: "tower")
      }
    }

    @Test func anAppThatMigratesItsTableUnderARunningDaemonGoesOn() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<200, prefix: "n")
        try await tower.settled(with: "laptop")
        // As an app changes a table in ways that ALTER TABLE does not know.
        try await tower.sqlite(
          """
          PRAGMA foreign_keys = OFF;
          BEGIN IMMEDIATE;
          CREATE TABLE new_notes (id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL DEFAULT '', stars INTEGER, mood TEXT);
          INSERT INTO new_notes SELECT id, text, stars, 'calm' FROM notes;
          DROP TABLE notes;
          ALTER TABLE new_notes RENAME TO notes;
          UPDATE notes SET text = 'migrated' WHERE id = 'n5';
          COMMIT;
          """)
        try await tower.sqlite(
          "INSERT INTO notes VALUES ('after', 'after', 1, 'glad'); DELETE FROM notes WHERE id = 'n6'")
        try await tower.settled(with: "laptop")
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await laptop.number("SELECT count(*) FROM notes") == 200)
        try await laptop.done("schema", "--apply")
        try await eventually("the column is filled") {
          try await laptop.number("SELECT count(*) FROM notes WHERE mood = 'calm'") == 199
        }
        #expect(try await laptop.sqlite("SELECT mood FROM notes WHERE id = 'after'") == "glad\n")
        #expect(try await tower.status().alarms.isEmpty)
      }
    }

    @Test func aTableThatIsNotSynchronizedAnyMoreStaysAsItIs() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<3, prefix: "n")
        try await tower.settled(with: "laptop")
        try await laptop.done("untrack", "tags", "notes")
        try await tower.insertNotes(3..<5, prefix: "n")
        try await tower.settled(with: "laptop")
        #expect(try await laptop.number("SELECT count(*) FROM notes") == 3)
        try await laptop.done("track", "notes", "tags")
        try await laptop.settled(with: "tower")
        #expect(try await laptop.rows() == tower.rows())
      }
    }
  }
}
