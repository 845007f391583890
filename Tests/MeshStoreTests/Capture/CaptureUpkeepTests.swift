import Foundation
import GRDB
import Testing

@testable import MeshStore

/// Triggers are kept as they should be, whatever happens to the schema.
@Suite struct CaptureUpkeepTests {
  static let table = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b)"

  private func update(_ bench: CaptureBench) throws -> [CaptureFinding] {
    try bench.file.write { try Capture.update($0) }
  }

  private func triggers(_ bench: CaptureBench) throws -> [String] {
    try bench.file.read {
      try String.fetchAll($0, sql: "SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name")
    }
  }

  @Test("installing and updating again changes nothing") func installingAndUpdatingAgainChangesNothing() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    let before = try triggers(bench)
    #expect(before.count == 4, "nothing is UNIQUE beside the key")
    let version = try bench.file.read { try Int.fetchOne($0, sql: "PRAGMA schema_version") }
    #expect(try bench.file.read { try Capture.needsUpdate($0) } == false)
    let again = try bench.file.write { try Capture.install($0, tables: ["T"]) }
    #expect(again.map(\.name) == ["t"])
    #expect(try bench.file.write { try Capture.update($0, force: true) }.isEmpty)
    #expect(try triggers(bench) == before)
    #expect(try bench.file.read { try Int.fetchOne($0, sql: "PRAGMA schema_version") } == version)
  }

  @Test("an added column is captured after an update, and older rows keep their layout", arguments: Writer.allCases)
  func anAddedColumnIsCapturedAfterAnUpdateAndOlderRowsKeepTheirLayout(writer: Writer) throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try writer.run(
      [
        "INSERT INTO t VALUES ('k', 1, 2)", "UPDATE t SET b = 3", "ALTER TABLE t ADD COLUMN c DEFAULT 7",
        "UPDATE t SET c = 8",
      ], on: bench.path)
    #expect(try bench.file.read { try Capture.needsUpdate($0) })
    let findings = try update(bench)
    #expect(findings.map(\.name) == ["t"])
    #expect(findings.map(\.reasons) == [[.layoutChanged, .triggersAltered]])
    #expect(findings.allSatisfy { $0.needsRescan })
    #expect(try update(bench).isEmpty)
    try writer.run(["UPDATE t SET b = 4, c = 9"], on: bench.path)
    // The write to the column that the trigger did not know yet is noted without a column.
    #expect(try bench.noted() == ["t insert 'k'", "t update 'k' [b]", "t update 'k' []", "t update 'k' [b c]"])
  }

  @Test("a column with a reserved name is left out, and named, if it is added later")
  func reservedColumn() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try bench.execute("ALTER TABLE t ADD COLUMN mesh_c DEFAULT 7")
    _ = try update(bench)
    try bench.execute("INSERT INTO t (id, a, mesh_c) VALUES ('k', 1, 2); UPDATE t SET mesh_c = 8")
    #expect(try bench.noted() == ["t insert 'k'"])
    #expect(
      try bench.file.read { try TrackingRules.laterViolations($0) }.map(\.text) == [
        "the column mesh_c is not synchronized, because names that begin with mesh_ or sqlite_ are reserved; rename it"
      ])
  }

  @Test("a re-created table gets its triggers back") func aReCreatedTableGetsItsTriggersBack() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try bench.execute(
      """
      CREATE TABLE new (id TEXT PRIMARY KEY NOT NULL, b, a); INSERT INTO new SELECT id, b, a FROM t;
      DROP TABLE t; ALTER TABLE new RENAME TO t;
      """)
    #expect(try update(bench).map(\.reasons) == [[.layoutChanged, .triggersMissing, .recreated]])
    try bench.execute("INSERT INTO t VALUES ('k', 1, 1); UPDATE t SET a = 2")
    #expect(try bench.noted() == ["t insert 'k'", "t update 'k' [a]"])
  }

  @Test("a dropped table is reported, and captured again when it returns")
  func aDroppedTableIsReportedAndCapturedAgainWhenItReturns() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try bench.execute("DROP TABLE t")
    let gone = try update(bench)
    #expect(gone.map(\.reasons) == [.tableMissing])
    #expect(gone.allSatisfy { !$0.needsRescan })
    #expect(try update(bench).isEmpty)
    try bench.execute(Self.table)
    #expect(try update(bench).map(\.reasons) == [[.triggersMissing, .returned]])
    try bench.execute("INSERT INTO t VALUES ('k', 1, 1)")
    #expect(try bench.noted() == ["t insert 'k'"])
  }

  @Test("a table that is dropped and made again is told from one that lost its triggers")
  func aTableThatIsDroppedAndMadeAgainIsToldFromOneThatLostItsTriggers() throws {
    // The last object of the schema: without one of ours behind it, SQLite would give its place again.
    let bench = try CaptureBench("CREATE TABLE other (id TEXT PRIMARY KEY NOT NULL); \(Self.table)", track: ["t"])
    let triggers = CaptureTriggers.Event.allCases.map { "DROP TRIGGER IF EXISTS mesh_capture_1_\($0.rawValue);" }
      .joined()
    for _ in 0..<3 {
      try bench.execute(triggers)
      #expect(try update(bench).map(\.reasons) == [.triggersMissing])
      try bench.execute("DROP TABLE t; \(Self.table)")
      #expect(try update(bench).map(\.reasons) == [[.triggersMissing, .recreated]])
      try bench.execute("VACUUM")
      #expect(try update(bench).isEmpty)
    }
  }

  @Test("a renamed table takes no triggers with it") func aRenamedTableTakesNoTriggersWithIt() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try bench.execute("ALTER TABLE t RENAME TO other")
    let findings = try update(bench)
    #expect(findings.map(\.reasons) == [.tableMissing])
    #expect(findings.map(\.newName) == ["other"])
    #expect(try triggers(bench).isEmpty)
    try bench.execute("ALTER TABLE other RENAME TO t")
    #expect(try update(bench).map(\.reasons) == [[.triggersMissing, .returned]])
  }

  @Test("a renamed column is another column") func aRenamedColumnIsAnotherColumn() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try bench.execute("INSERT INTO t VALUES ('k', 1, 1); UPDATE t SET a = 2; ALTER TABLE t RENAME COLUMN a TO z")
    #expect(try update(bench).map(\.reasons) == [[.layoutChanged, .triggersAltered, .columnsLost]])
    try bench.execute("UPDATE t SET z = 3")
    #expect(try bench.noted() == ["t insert 'k'", "t update 'k' [a]", "t update 'k' [z]"])
  }

  @Test("a column can be dropped in one of two documented ways") func aColumnCanBeDroppedInOneOfTwoDocumentedWays()
    throws
  {
    let bench = try CaptureBench("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b, c)", track: ["t"])
    #expect(throws: DatabaseError.self) { try bench.execute("ALTER TABLE t DROP COLUMN a") }
    try bench.execute("PRAGMA legacy_alter_table = ON; ALTER TABLE t DROP COLUMN a; PRAGMA legacy_alter_table = OFF")
    #expect(try update(bench).map(\.reasons) == [[.layoutChanged, .triggersAltered, .columnsLost]])
    try bench.execute("DROP TRIGGER mesh_capture_1_update; ALTER TABLE t DROP COLUMN b")
    #expect(try update(bench).map(\.reasons) == [[.layoutChanged, .triggersAltered, .triggersMissing, .columnsLost]])
  }

  @Test("a trigger that somebody dropped or edited is restored") func aTriggerThatSomebodyDroppedOrEditedIsRestored()
    throws
  {
    let bench = try CaptureBench(Self.table, track: ["t"])
    let before = try triggers(bench)
    try bench.execute("DROP TRIGGER mesh_capture_1_delete")
    #expect(try update(bench).map(\.reasons) == [.triggersMissing])
    try bench.execute(
      """
      DROP TRIGGER mesh_capture_1_insert; CREATE TRIGGER mesh_capture_1_insert AFTER INSERT ON t BEGIN SELECT 1; END;
      CREATE TRIGGER mesh_capture_9_insert AFTER INSERT ON t BEGIN SELECT 1; END;
      """)
    #expect(try update(bench).map(\.reasons) == [.triggersAltered])
    #expect(try triggers(bench) == before)
  }

  @Test("a key that became composite stops capture, with a report")
  func aKeyThatBecameCompositeStopsCaptureWithAReport() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try bench.execute("DROP TABLE t; CREATE TABLE t (id TEXT NOT NULL, a NOT NULL, b, PRIMARY KEY (id, a))")
    #expect(try update(bench).map(\.reasons) == [.keyUnfit])
    #expect(try triggers(bench).isEmpty)
  }

  @Test("a key column of another name is another layout") func aKeyColumnOfAnotherNameIsAnotherLayout() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try bench.execute("ALTER TABLE t RENAME COLUMN id TO k")
    #expect(try update(bench).map(\.reasons).first?.contains(.layoutChanged) == true)
    try bench.execute("INSERT INTO t VALUES ('k', 1, 1); UPDATE t SET b = 2")
    #expect(try bench.noted() == ["t insert 'k'", "t update 'k' [b]"])
  }

  @Test(
    "another key stops capture, with a report, till it is what it was",
    arguments: [
      "CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL, id, b)",
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, a, b)",
      "CREATE TABLE t (id INT PRIMARY KEY NOT NULL, a, b)", "CREATE TABLE t (id BLOB PRIMARY KEY NOT NULL, a, b)",
    ])
  func anotherKeyStopsCaptureWithAReportTillItIsWhatItWas(schema: String) throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    try bench.execute("DROP TABLE t; \(schema)")
    #expect(try update(bench).map(\.reasons) == [.keyChanged])
    #expect(try triggers(bench).isEmpty)
    try bench.execute("DROP TABLE t; \(Self.table)")
    #expect(try update(bench).map(\.reasons).first?.contains(.returned) == true)
    #expect(try !triggers(bench).isEmpty)
  }

  @Test("a table that is no longer tracked is left alone, and keeps its number")
  func aTableThatIsNoLongerTrackedIsLeftAloneAndKeepsItsNumber() throws {
    let bench = try CaptureBench(Self.table, track: ["t"])
    let id = try bench.file.read { try TrackedTable.read($0, name: "t")?.id }
    #expect(try bench.file.write { try Capture.remove($0, table: "T") })
    #expect(try bench.file.write { try Capture.remove($0, table: "t") } == false)
    try bench.execute("INSERT INTO t VALUES ('k', 1, 1)")
    #expect(try bench.noted().isEmpty)
    #expect(try triggers(bench).isEmpty)
    let again = try bench.file.write { try Capture.install($0, tables: [], private: ["t"]) }
    #expect(again.map(\.id) == [id])
    #expect(again.map(\.isPrivate) == [true])
  }

  @Test("a private table stays private when it is tracked again, until a person says that it is shareable")
  func aPrivateTableStaysPrivateWhenItIsTrackedAgainUntilAPersonSaysThatItIsShareable() throws {
    let bench = try CaptureBench(Self.table)
    try bench.file.write { db in
      try Capture.install(db, tables: [], private: ["t"])
      #expect(throws: StoreError.self) { try Capture.install(db, tables: [], shareable: ["t"]) }
      _ = try Capture.remove(db, table: "t")
      #expect(try Capture.install(db, tables: ["T"]).map(\.isPrivate) == [true])
      _ = try Capture.remove(db, table: "t")
      #expect(try Capture.install(db, tables: [], private: ["t"], shareable: ["T"]).map(\.isPrivate) == [true])
      _ = try Capture.remove(db, table: "t")
      #expect(try Capture.install(db, tables: [], shareable: ["T"]).map(\.isPrivate) == [false])
    }
  }

  @Test("a private table stays private under a new name", arguments: [false, true])
  func aPrivateTableStaysPrivateUnderANewName(isShareable: Bool) throws {
    let bench = try CaptureBench(Self.table)
    try bench.file.write { db in _ = try Capture.install(db, tables: [], private: ["t"]) }
    try bench.execute("ALTER TABLE t RENAME TO u")
    try bench.file.write { db in
      _ = try Capture.update(db)
      _ = try Capture.remove(db, table: "t")
      let installed = try Capture.install(db, tables: isShareable ? [] : ["u"], shareable: isShareable ? ["u"] : [])
      #expect(installed.map(\.isPrivate) == [!isShareable])
    }
  }

  @Test("what is rolled back is not remembered") func whatIsRolledBackIsNotRemembered() throws {
    let bench = try CaptureBench(Self.table)
    try bench.file.queue.inTransaction { db in
      try Capture.install(db, tables: ["t"])
      return .rollback
    }
    #expect(try bench.file.read { try TrackedTable.all($0) }.isEmpty)
    #expect(try triggers(bench).isEmpty)
  }

  @Test("the update triggers of earlier formats are replaced, and no write is looked for", arguments: [0, 1])
  func earlierUpdateTriggers(index: Int) throws {
    let bench = try CaptureBench("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, b)", track: ["t"])
    let (wanted, earlier) = try bench.file.read { db in
      let table = try #require(try TrackedTable.read(db, name: "t"))
      let schema = try #require(table.schema)
      let triggers = try #require(CaptureTriggers(schema, table: table.id, layout: table.layout ?? 0))
      return (try #require(triggers.sql(.update)), triggers.earlier(.update)[index])
    }
    #expect(wanted != earlier)
    try bench.execute("DROP TRIGGER mesh_capture_1_update; \(earlier); UPDATE mesh_state SET schema_version = 0")
    #expect(try update(bench).isEmpty)
    #expect(try triggers(bench).contains(wanted))
  }

  @Test("a column without an affinity is noted if only the type of its value changes")
  func aColumnWithoutAnAffinityIsNotedIfOnlyTheTypeOfItsValueChanges() throws {
    let bench = try CaptureBench("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n INTEGER, r REAL, b)", track: ["t"])
    try bench.execute("INSERT INTO t VALUES ('k', 1, 1, 1)")
    _ = try bench.noted()
    try bench.execute("UPDATE t SET n = 1.0, r = 1")
    #expect(try bench.noted() == [])
    try bench.execute("UPDATE t SET b = 1.0")
    #expect(try bench.noted().count == 1)
  }

  @Test("tables of a later format are refused and left as they are")
  func tablesOfALaterFormatAreRefusedAndLeftAsTheyAre() throws {
    let bench = try CaptureBench(Self.table)
    try bench.execute("UPDATE mesh_state SET format = \(MeshTables.format + 1)")
    let error = #expect(throws: StoreError.self) { try bench.file.write { try MeshTables.create($0) } }
    #expect(error?.code == .formatTooNew)
    #expect(throws: StoreError.self) { try bench.file.write { try Capture.install($0, tables: ["t"]) } }
    #expect(try triggers(bench).isEmpty)
  }

  @Test("the specification shows every table and index as it is created")
  func specification() throws {
    let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../Sources/MeshStore/MeshStore.docc/Tables.md")
    let text = try String(contentsOf: article, encoding: .utf8)
    for sql in MeshTables.all + MeshTables.replication + MeshTables.indexes {
      let shown = text.contains(sql.replacingOccurrences(of: "IF NOT EXISTS ", with: "") + ";")
      #expect(shown, "\(sql.prefix { $0 != "(" })")
    }
    // A file has no other tables and indexes.
    let created = try Peer(1).rows(
      """
      SELECT upper(type) || ' ' || name FROM sqlite_schema
      WHERE name GLOB 'mesh_*' AND type IN ('table', 'index') AND sql NOTNULL
      """)
    #expect(created.count > 30)
    for name in created { #expect(text.contains("CREATE \(name.filter { $0 != "\"" }) "), "\(name)") }
  }
}
