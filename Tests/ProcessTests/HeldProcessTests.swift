import MeshControl
import Testing

extension Daemons {
  @Suite struct HeldTests {
    private static let books = "CREATE TABLE books (id TEXT PRIMARY KEY NOT NULL, price INTEGER, note TEXT)"

    /// The tower has a book that the laptop's table refuses.
    private func refused(_ body: (_ tower: MeshProcess, _ laptop: MeshProcess) async throws -> Void) async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite(Self.books)
        try await laptop.sqlite(
          "CREATE TABLE books (id TEXT PRIMARY KEY NOT NULL, price INTEGER CHECK (price < 100), note TEXT NOT NULL)")
        for node in [tower, laptop] { try await node.done("track", "books") }
        try await tower.sqlite("INSERT INTO books VALUES ('cheap', 5, 'x'), ('dear', 500, 'x'), ('bare', 7, NULL)")
        try await tower.settled(with: "laptop")
        try await body(tower, laptop)
      }
    }

    @Test("held lists each record that a constraint rejects with SQLite's message")
    func whatATableRefusesIsListedWithSQLitesWordsAndTheOthersGoOn() async throws {
      try await refused { tower, laptop in
        #expect(try await laptop.sqlite("SELECT id FROM books") == "cheap\n")
        let held = try await laptop.report(HeldReport.self, "held")
        #expect(held.counts == ["constraint": 2] && held.complete)
        #expect(held.records.map(\.key) == [.text("bare"), .text("dear")])
        #expect(held.records[0].hold.message?.contains("NOT NULL") == true)
        #expect(held.records[1].hold.message?.contains("CHECK") == true)
        #expect(held.records.allSatisfy { $0.hold.since != nil && !$0.hold.wayOut.isEmpty })
        let listed = try await laptop.done("held").stdout
        #expect(listed.contains("dear") && listed.contains("CHECK") && listed.contains("mesh held resolve books"))
        let explained = try await laptop.report(RecordReport.self, "explain", "record", "books", "dear")
        #expect(explained.records.map(\.hold) == [held.records[1].hold])
        #expect(try await laptop.done("explain", "record", "books", "dear").stdout.contains("SQLite says"))
        #expect(try await tower.done("held").stdout.contains("Nothing is held"))
        // One record is fixed on the other machine, and the other by a migration here.
        try await tower.sqlite("UPDATE books SET note = 'filled' WHERE id = 'bare'")
        try await tower.settled(with: "laptop")
        try await laptop.sqlite(
          """
          BEGIN; CREATE TABLE new_books (id TEXT PRIMARY KEY NOT NULL, price INTEGER, note TEXT NOT NULL);
          INSERT INTO new_books SELECT * FROM books; DROP TABLE books; ALTER TABLE new_books RENAME TO books; COMMIT;
          """)
        try await eventually("the book is shown") { try await laptop.number("SELECT count(*) FROM books") == 3 }
        #expect(try await laptop.report(HeldReport.self, "held").records.isEmpty)
        try await laptop.settled(with: "tower")
        #expect(
          try await laptop.sqlite("SELECT * FROM books ORDER BY id") == tower.sqlite("SELECT * FROM books ORDER BY id"))
      }
    }

    @Test("edits that together break a CHECK keep both rows, and a command that names both values settles them")
    func refusedEditsAreSettledByAVerb() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let schema = """
          CREATE TABLE spans (id TEXT PRIMARY KEY NOT NULL, start INTEGER, stop INTEGER, CHECK (start < stop));
          CREATE TABLE marks (id TEXT PRIMARY KEY NOT NULL, span TEXT NOT NULL REFERENCES spans (id) ON DELETE CASCADE);
          """
        for node in [tower, laptop] {
          try await node.sqlite(schema)
          try await node.done("track", "spans", "marks")
        }
        try await tower.sqlite("INSERT INTO spans VALUES ('e', 5, 10); INSERT INTO marks VALUES ('m', 'e')")
        try await tower.settled(with: "laptop")
        #expect(try await daemons.laptop.terminate().status == 0)
        try await tower.sqlite("UPDATE spans SET start = 8")
        try await laptop.sqlite("UPDATE spans SET stop = 7")
        _ = try await laptop.serve()
        try await laptop.connected(to: "tower")
        try await tower.settled(with: "laptop")
        #expect(try await tower.sqlite("SELECT start, stop FROM spans") == "8|10\n")
        #expect(try await laptop.sqlite("SELECT start, stop FROM spans") == "5|7\n")
        for node in [tower, laptop] { #expect(try await node.sqlite("SELECT id FROM marks") == "m\n") }
        #expect(try await tower.done("verify").stdout.contains("1 row is older here than the merged version"))
        let verified = try await tower.report(VerifyReport.self, "verify")
        #expect(verified.equal && verified.olderCount == 1 && verified.older.map(\.key) == [.text("e")])
        let listed = try await tower.done("held").stdout
        #expect(listed.contains("mesh held resolve spans e --column stop --value VALUE"), "\(listed)")
        #expect(listed.contains("REFUSED") && listed.contains("start < stop"))
        let refused = try await tower.run("held", "resolve", "spans", "e", "--column", "stop", "--value", "1")
        #expect(refused.status == ExitStatus.refused.rawValue && refused.stderr.contains("CHECK constraint failed"))
        #expect(try await tower.run("held", "resolve", "spans", "e").status == ExitStatus.usage.rawValue)
        let wrong = [
          (["nothing", "e", "--column", "stop"], "nothing"), (["spans", "f", "--column", "stop"], "no record"),
          (["spans", "e", "--column", "end"], "no column end"), (["spans", "e", "--column", "id"], "no column id"),
          (["marks", "m", "--column", "span"], "refuses no value"),
        ]
        for (arguments, words) in wrong {
          let finished = try await tower.run(["held", "resolve"] + arguments + ["--value", "12"])
          #expect(finished.status == ExitStatus.refused.rawValue && finished.stderr.contains(words), "\(finished)")
        }
        #expect(try await tower.sqlite("SELECT start, stop FROM spans") == "8|10\n")
        let report = try await tower.report(
          ResolveReport.self, "held", "resolve", "spans", "e", "--column", "stop", "--value", "12")
        #expect(report.values == ["stop": .integer(12)])
        try await tower.settled(with: "laptop")
        for node in [tower, laptop] {
          #expect(try await node.sqlite("SELECT start, stop FROM spans") == "8|12\n")
          #expect(try await node.report(HeldReport.self, "held").counts.isEmpty)
        }
      }
    }

    @Test(
      "two devices that settle a record at once get one result, and a node killed meanwhile keeps all or nothing")
    func resolvingTwiceAndKilled() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        for node in [tower, laptop] {
          try await node.sqlite(
            "CREATE TABLE spans (id TEXT PRIMARY KEY NOT NULL, start INTEGER, stop INTEGER, CHECK (start < stop))")
          try await node.done("track", "spans")
        }
        try await tower.sqlite("INSERT INTO spans VALUES ('e', 5, 10), ('f', 5, 10)")
        try await tower.settled(with: "laptop")
        await daemons.laptop.kill()
        try await tower.sqlite("UPDATE spans SET start = 8")
        try await laptop.sqlite("UPDATE spans SET stop = 7")
        let daemon = try await laptop.serve()
        try await tower.settled(with: "laptop")
        async let first = tower.run("held", "resolve", "spans", "e", "--column", "stop", "--value", "12")
        async let second = tower.run("held", "resolve", "spans", "e", "--column", "stop", "--value", "13")
        async let third = laptop.run("held", "resolve", "spans", "e", "--column", "stop", "--value", "14")
        let statuses = try await [first, second, third].map(\.status)
        #expect(statuses.allSatisfy { [ExitStatus.done, .refused].map(\.rawValue).contains($0) }, "\(statuses)")
        async let killed = laptop.run("held", "resolve", "spans", "f", "--keep", "shown")
        await daemon.kill()
        _ = try await killed
        _ = try await laptop.serve()
        try await tower.settled(with: "laptop")
        // The record may or may not have been settled before the kill.
        let row = "SELECT start, stop FROM spans WHERE id = 'f'"
        let shown = [try await tower.sqlite(row), try await laptop.sqlite(row)]
        let held = try await laptop.report(HeldReport.self, "held").records.map(\.key).contains(.text("f"))
        #expect(shown == [held ? "8|10\n" : "5|7\n", "5|7\n"])
        // Afterwards it is settled.
        _ = try await laptop.run("held", "resolve", "spans", "f", "--keep", "shown")
        try await tower.settled(with: "laptop")
        let rows = try await tower.sqlite("SELECT * FROM spans ORDER BY id")
        #expect(rows.hasPrefix("e|8|1") && rows.hasSuffix("f|5|7\n"), "\(rows)")
        #expect(try await laptop.sqlite("SELECT * FROM spans ORDER BY id") == rows)
        for node in [tower, laptop] { #expect(try await node.report(HeldReport.self, "held").counts.isEmpty) }
      }
    }

    @Test("discarding asks first, and deletes nothing without an answer")
    func discardingAsks() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("INSERT INTO tags VALUES ('t1', 'n9', 'early')")
        try await tower.settled(with: "laptop")
        // What can't be discarded is refused without a question.
        let refused = try await laptop.run("held", "discard", "tags", "t9")
        #expect(refused.status == ExitStatus.refused.rawValue && !refused.stderr.contains("[y/N]"))
        #expect(refused.stderr.contains("no record with the key 't9'"))
        let asked = try await laptop.run("held", "discard", "tags", "t1")
        #expect(asked.status == ExitStatus.no.rawValue && asked.stderr.contains("on every machine?"))
        #expect(try await laptop.report(HeldReport.self, "held").records.map(\.key) == [.text("t1")])
      }
    }

    @Test("held retry shows records once the trigger that rejected them accepts them")
    func aTriggerThatHadItsReasonElsewhereIsAskedAgain() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await laptop.sqlite(
          """
          CREATE TABLE settings (closed); INSERT INTO settings VALUES (1);
          CREATE TRIGGER door BEFORE INSERT ON notes WHEN EXISTS (SELECT 1 FROM settings)
          BEGIN SELECT RAISE(ABORT, 'the door is closed'); END
          """)
        try await tower.insertNotes(0..<3, prefix: "n")
        try await tower.settled(with: "laptop")
        #expect(
          try await laptop.report(HeldReport.self, "held").records.map(\.hold.message) == [
            "the door is closed", "the door is closed", "the door is closed",
          ])
        #expect(try await laptop.report(RetryReport.self, "held", "retry") == RetryReport(tried: 3, shown: 0))
        try await laptop.sqlite("DELETE FROM settings")
        #expect(try await laptop.report(RetryReport.self, "held", "retry") == RetryReport(tried: 3, shown: 3))
        try await laptop.settled(with: "tower")
        #expect(try await laptop.rows() == tower.rows())
        // The command also works on the home alone.
        #expect(try await daemons.laptop.terminate().status == 0)
        #expect(try await laptop.report(RetryReport.self, "held", "retry") == RetryReport(tried: 0, shown: 0))
      }
    }

    @Test("a discarded record is deleted on both machines and can be restored")
    func aRecordThatNobodyWantsIsDiscardedEverywhere() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("INSERT INTO tags VALUES ('t1', 'n9', 'early'), ('t2', 'n9', 'late')")
        try await tower.settled(with: "laptop")
        let report = try await laptop.report(DiscardReport.self, "held", "discard", "tags", "t1", "--yes")
        #expect(report.discarded.map(\.key) == [.text("t1")])
        try await laptop.settled(with: "tower")
        for node in [tower, laptop] {
          #expect(try await node.report(HeldReport.self, "held").records.map(\.key) == [.text("t2")])
        }
        let again = try await laptop.run("held", "discard", "tags", "t1", "--yes")
        #expect(again.status == ExitStatus.refused.rawValue && again.stderr.contains("is not held"))
        let discarded = try await laptop.done("held", "discard", "tags", "t2", "--yes")
        #expect(discarded.stdout.contains("deleted everywhere  tags t2"))
        #expect(discarded.stderr.contains("mesh restore tags t2"))
        try await laptop.settled(with: "tower")
        try await tower.done("restore", "tags", "t1")
        try await tower.settled(with: "laptop")
        #expect(try await laptop.report(HeldReport.self, "held").records.map(\.key) == [.text("t1")])
      }
    }

    @Test("held names the tables that are not synchronized any more, and restore the way out")
    func untrackedRecords() async throws {
      try await MeshProcess.scope { mesh in
        _ = try await mesh.found()
        try await mesh.sqlite(
          "INSERT INTO notes VALUES ('n1', 'milk', 1); INSERT INTO tags VALUES ('t1', 'n1', 'fresh')")
        try await mesh.done("untrack", "tags")
        let held = try await mesh.done("held").stdout
        #expect(held.contains("1 record is kept") && held.contains("mesh track tags"), "\(held)")
        let restored = try await mesh.run("restore", "tags", "t1")
        #expect(restored.status == ExitStatus.refused.rawValue && restored.stderr.contains("mesh track tags"))
      }
    }

    @Test("held names the missing parent of a child record on both machines")
    func aChildThatWaitsNamesItsParent() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("INSERT INTO tags VALUES ('t1', 'n9', 'early')")
        try await tower.settled(with: "laptop")
        // The machine that wrote it with foreign keys turned off shows it.
        #expect(try await tower.sqlite("SELECT id FROM tags") == "t1\n")
        #expect(try await laptop.sqlite("SELECT id FROM tags") == "")
        for (node, reason) in [(tower, "shown-here-only"), (laptop, "missing-parent")] {
          let held = try await node.report(HeldReport.self, "held")
          #expect(held.records.map(\.hold.reason) == [reason])
          #expect(held.records.first?.hold.waitsFor == [.init(table: "notes", key: .text("n9"), zone: nil)])
        }
        try await laptop.sqlite("INSERT INTO notes VALUES ('n9', 'late', 1)")
        try await laptop.settled(with: "tower")
        #expect(try await tower.report(HeldReport.self, "held").records.isEmpty)
        #expect(try await tower.rows() == laptop.rows())
      }
    }
  }
}
