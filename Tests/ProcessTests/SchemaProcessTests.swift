import MeshControl
import Testing

extension Daemons {
  @Suite struct SchemaTests {
    @Test("records of a missing table are held and shown after schema --apply")
    func aTableThatOneSideLacksIsKeptAndShownOnceItIsThere() async throws {
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

    @Test("values of a missing column are kept and shown after schema --apply")
    func aColumnThatOneSideLacksIsKeptAndShownOnceItIsThere() async throws {
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
        // An edit by a node that doesn't know the column leaves the column unchanged.
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

    static let events = """
      CREATE TABLE events (id TEXT PRIMARY KEY NOT NULL, starts INTEGER, stops INTEGER, made TEXT DEFAULT CURRENT_TIMESTAMP,
        kind TEXT DEFAULT 'a' CHECK (kind IN ("a", 'b')),
        CHECK (stops >= starts), CHECK (replace(id, 'x', '') <> ''));
      CREATE INDEX events_starts ON events (starts);
      """

    @Test("a joined device gets the defaults, CHECKs and indexes of the tables, and is told which parts it doesn't get")
    func rulesOfTablesAreAdopted() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (tower, laptop) = (nodes[0], nodes[1])
        try await tower.sqlite(Self.events)
        try await tower.done("init", "--database", tower.database, "--account", "alice", "--device", "tower")
        try await tower.done("track", "events")
        _ = try await tower.serve()
        let invite = String(try #require(try await tower.done("device", "invite").stdout.split(separator: "\n").last))
        let joined = try await laptop.done(
          "init", "--database", laptop.database, "--device", "laptop", "--adopt-schema", "--link", "-", input: invite)
        let leftOut = "CHECK on events: it calls replace()"
        #expect(joined.stdout.contains(leftOut))
        _ = try await laptop.serve()
        try await laptop.sqlite("INSERT INTO events (id, starts, stops) VALUES ('e1', 1, 2)")
        let all = "SELECT * FROM events"
        try await eventually("the row arrives") { try await tower.sqlite(all) == laptop.sqlite(all) }
        #expect(try await tower.number("SELECT count(*) FROM events WHERE made IS NOT NULL") == 1)
        await #expect(throws: (any Error).self) {
          try await laptop.sqlite("INSERT INTO events (id, starts, stops) VALUES ('e2', 2, 1)")
        }
        await #expect(throws: (any Error).self) {
          try await laptop.sqlite("INSERT INTO events (id, starts, stops, kind) VALUES ('e2', 1, 2, 'c')")
        }
        #expect(try await laptop.number("SELECT count(*) FROM sqlite_schema WHERE name = 'events_starts'") == 1)
        let report = try await laptop.report(SchemaReport.self, "schema")
        #expect(report.leftOut == [leftOut] && report.different.isEmpty && report.missing.isEmpty)
        #expect(try await laptop.run("doctor").stdout.contains(leftOut))
        #expect(try await tower.report(SchemaReport.self, "schema").different.isEmpty)
        try await tower.sqlite("DROP INDEX events_starts")
        try await eventually("the index is missed") {
          try await laptop.report(SchemaReport.self, "schema").different.map(\.here)
            == [#"CREATE INDEX "events_starts" ON "events" ("starts")"#]
        }
      }
    }

    @Test("a table that an app rebuilds while the daemon runs stays in sync")
    func anAppThatMigratesItsTableUnderARunningDaemonGoesOn() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<200, prefix: "n")
        try await tower.settled(with: "laptop")
        // An app may change a table in ways that ALTER TABLE doesn't support.
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
        #expect(try await laptop.sqlite("SELECT text FROM notes WHERE id IN ('n5', 'n6')") == "migrated\n")
        try await laptop.done("schema", "--apply")
        try await eventually("the column is filled") {
          try await laptop.number("SELECT count(*) FROM notes WHERE mood = 'calm'") == 199
        }
        #expect(try await laptop.sqlite("SELECT mood FROM notes WHERE id = 'after'") == "glad\n")
        #expect(try await tower.status().complaints.isEmpty)
      }
    }

    @Test("wait and verify include the rows that a migration rewrote")
    func whatAMigrationWroteIsWaitedFor() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<8_000, prefix: "n")
        try await tower.settled(with: "laptop")
        func migrate(to text: String) async throws {
          try await tower.sqlite(
            """
            BEGIN IMMEDIATE;
            CREATE TABLE new_notes (id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL DEFAULT '', stars INTEGER);
            INSERT INTO new_notes SELECT id, '\(text)', stars FROM notes;
            DROP TABLE notes;
            ALTER TABLE new_notes RENAME TO notes;
            COMMIT;
            """)
        }
        try await migrate(to: "migrated")
        try await tower.done("wait", "--timeout", "120s")
        #expect(try await laptop.number("SELECT count(*) FROM notes WHERE text = 'migrated'") == 8_000)
        try await tower.done("verify")
        // The other machine is also told about changes that are not captured there.
        try await migrate(to: "again")
        try await laptop.done("verify", "--timeout", "120s")
        #expect(try await laptop.number("SELECT count(*) FROM notes WHERE text = 'again'") == 8_000)
      }
    }

    @Test("verify fails on both machines if a row is too long to be sent")
    func aRowThatIsTooLongToBeSentIsNotCalledEqual() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("INSERT INTO notes (id, text) VALUES ('long', printf('%.*c', 70000000, 'x'))")
        let (here, there) = (try await tower.run("verify"), try await laptop.run("verify"))
        #expect(here.status == ExitStatus.no.rawValue && here.stdout.contains("rows here are not sent"))
        #expect(there.status == ExitStatus.no.rawValue && there.stdout.contains("rows there are not sent"))
        try await tower.sqlite("UPDATE notes SET text = 'short' WHERE id = 'long'")
        try await tower.settled(with: "laptop")
      }
    }

    @Test("schema --apply says which column it renames, and which it creates")
    func aRenamedColumnIsCalledRenamed() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<3, prefix: "n")
        try await tower.settled(with: "laptop")
        try await tower.sqlite("ALTER TABLE notes RENAME COLUMN text TO body; ALTER TABLE notes ADD COLUMN mood TEXT")
        try await tower.settled(with: "laptop")
        let missing = try await laptop.done("schema").stdout
        #expect(missing.contains("missing  columns of notes: mood\n"))
        #expect(missing.contains("missing  column body of notes, which is text here\n"))
        let applied = try await laptop.done("schema", "--apply").stdout
        #expect(applied.contains("created  columns of notes: mood\nrenamed  column text of notes to body\n"))
      }
    }

    @Test("a column that is renamed or dropped while the daemon runs loses no edit")
    func aColumnThatIsRenamedOrDroppedUnderARunningDaemonLosesNothing() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<50, prefix: "n")
        try await tower.settled(with: "laptop")
        try await tower.sqlite("ALTER TABLE notes RENAME COLUMN text TO body")
        try await tower.sqlite("UPDATE notes SET body = 'edited' WHERE id = 'n1'")
        try await laptop.sqlite("UPDATE notes SET text = 'old name' WHERE id = 'n2'")
        try await tower.settled(with: "laptop")
        try await laptop.settled(with: "tower")
        try await laptop.sqlite("ALTER TABLE notes RENAME COLUMN text TO body")
        try await laptop.settled(with: "tower")
        let notes = "SELECT * FROM notes ORDER BY id"
        #expect(try await laptop.sqlite(notes) == tower.sqlite(notes))
        let edited = "SELECT body FROM notes WHERE id IN ('n1', 'n2') ORDER BY id"
        #expect(try await laptop.sqlite(edited) == "edited\nold name\n")
        try await laptop.sqlite("DROP TRIGGER mesh_capture_1_update; ALTER TABLE notes DROP COLUMN stars")
        try await laptop.sqlite("INSERT INTO notes (id, body) VALUES ('new', 'from the laptop')")
        try await laptop.settled(with: "tower")
        #expect(try await tower.number("SELECT count(*) FROM notes WHERE id = 'new'") == 1)
        #expect(try await tower.status().complaints.isEmpty)
      }
    }

    @Test("a dropped table keeps its rows on the other machine and is refilled when recreated")
    func aTableThatIsDroppedKeepsItsRowsElsewhereAndIsFilledAgain() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<2_500, prefix: "n")
        try await tower.settled(with: "laptop")
        let table = try await laptop.sqlite("SELECT sql FROM sqlite_schema WHERE name = 'notes'")
        // The table is recreated immediately, and then with a check in between.
        try await laptop.sqlite("BEGIN; DROP TABLE notes; \(table); COMMIT")
        try await eventually("the rows are back") { try await laptop.number("SELECT count(*) FROM notes") == 2_500 }
        try await laptop.sqlite("DROP TABLE notes")
        try await eventually("the records are held") { try await laptop.status().held == ["unknown-table": 2_500] }
        try await laptop.settled(with: "tower")
        try await laptop.sqlite(table)
        try await eventually("the rows are back") { try await laptop.number("SELECT count(*) FROM notes") == 2_500 }
        try await laptop.settled(with: "tower")
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await tower.number("SELECT count(*) FROM notes") == 2_500)
      }
    }

    @Test("mesh reverts a trigger's writes to merged rows, and the doctor names the trigger")
    func aTriggerThatWritesMergedRowsOfItsOwnIsTakenBackAndNamed() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await laptop.sqlite(
          "CREATE TRIGGER touch AFTER INSERT ON notes BEGIN UPDATE notes SET stars = stars + 100 WHERE id = NEW.id; END"
        )
        try await tower.insertNotes(0..<20, prefix: "n")
        try await tower.settled(with: "laptop")
        #expect(try await laptop.rows() == tower.rows())
        let doctor = try await laptop.run("doctor")
        #expect(doctor.status == 1)
        #expect(doctor.stdout.contains("touch") && doctor.stdout.contains("IS NOT 1"))
        // The trigger handles writes of the app itself.
        try await laptop.sqlite("INSERT INTO notes (id, stars) VALUES ('own', 1)")
        try await laptop.settled(with: "tower")
        #expect(try await tower.sqlite("SELECT stars FROM notes WHERE id = 'own'") == "101\n")
      }
    }

    @Test("rescan finds the changes that no trigger captured") func whatNoTriggerSawIsFoundOnDemand() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<1_200, prefix: "n")
        try await tower.settled(with: "laptop")
        // No event tells the daemon, because the mark is set and removed in one transaction.
        try await tower.sqlite(
          """
          BEGIN; UPDATE mesh_state SET applying = 1; UPDATE notes SET text = 'quiet' WHERE id = 'n7';
          DELETE FROM notes WHERE id = 'n8'; INSERT INTO notes (id, text) VALUES ('q', 'quiet');
          UPDATE mesh_state SET applying = 0; COMMIT;
          """)
        #expect(
          try await tower.report(RescanReport.self, "rescan")
            == RescanReport(tables: ["notes", "tags"], rows: 1_200, differences: 3))
        try await tower.settled(with: "laptop")
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await laptop.sqlite("SELECT text FROM notes WHERE id IN ('n7', 'n8')") == "quiet\n")
        #expect(try await tower.report(RescanReport.self, "rescan", "notes").differences == 0)
        let unknown = try await tower.run("rescan", "nothing")
        #expect(unknown.status == 5 && unknown.stderr.contains("nothing"))
      }
    }

    @Test("an untracked table stays unchanged and catches up when it is tracked again")
    func aTableThatIsNotSynchronizedAnyMoreStaysAsItIs() async throws {
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
