import MeshCore
import Testing

@testable import MeshStore

/// A synchronized table that is altered, dropped or made anew under us: what is merged stays what it was, and only what
/// somebody wrote is sent.
@Suite struct SchemaChangeTests {
  private static let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT)"

  /// Both have three rows, some edited more than once, one edited on each side.
  private func peers() throws -> (Peer, Peer) {
    let a = try Peer(1, schema: Self.schema, track: ["t"])
    let b = try Peer(2, schema: Self.schema, track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', 'a1', 'b1'), ('l', 'a2', 'b2'), ('m', 'a3', 'b3')")
    try a.flush()
    try a.run("UPDATE t SET a = 'a4' WHERE id = 'k'")
    try b.pull(from: a)
    try b.run("UPDATE t SET a = 'a5' WHERE id = 'l'; UPDATE t SET b = 'b6' WHERE id = 'm'")
    try synchronize([a, b])
    #expect(try a.digest() == b.digest())
    return (a, b)
  }

  private static let merged = ["\"k\"|\"a4\"|\"b1\"", "\"l\"|\"a5\"|\"b2\"", "\"m\"|\"a3\"|\"b6\""]

  private func rows(_ peer: Peer) throws -> [String] { try peer.rows("SELECT id, a, b FROM t ORDER BY id") }

  @Test(
    "a dropped column sends nothing and regains its merged values when it returns",
    arguments: [
      "DROP TRIGGER mesh_capture_1_update; ALTER TABLE t DROP COLUMN a",
      "CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL, b TEXT); INSERT INTO n SELECT id, b FROM t; DROP TABLE t;"
        + "ALTER TABLE n RENAME TO t",
    ])
  func aDroppedColumnKeepsItsMergedValues(_ change: String) throws {
    let (a, b) = try peers()
    try a.run(change)
    #expect(try a.upkeep() != nil)
    #expect(try a.flush() == 0, "nobody wrote a value")
    #expect(try a.digest() == b.digest())
    // Rows can still be edited on both sides, and deleted.
    try a.run("UPDATE t SET b = 'new' WHERE id = 'k'; DELETE FROM t WHERE id = 'm'")
    try b.run("UPDATE t SET a = 'seen by b only' WHERE id = 'l'")
    try synchronize([a, b])
    #expect(try rows(b) == ["\"k\"|\"a4\"|\"new\"", "\"l\"|\"seen by b only\"|\"b2\""])
    #expect(try a.digest() == b.digest())
    // The column returns, and its values with it.
    try a.run("ALTER TABLE t ADD COLUMN a TEXT")
    try a.apply()
    #expect(try rows(a) == rows(b))
    #expect(try a.flush() == 0)
    #expect(try a.digest() == b.digest())
  }

  @Test("a renamed column sends its values once, and they do not overwrite later edits")
  func aRenamedColumnIsAnotherWhoseValuesAreSentOnce() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t RENAME COLUMN a TO c")
    #expect(try a.flush() == 1)
    try b.pull(from: a)
    #expect(try a.digest() == b.digest())
    #expect(try rows(b) == Self.merged)
    // What is written under the new name before the other side has renamed is not beaten by its values.
    try a.run("UPDATE t SET c = 'edited' WHERE id = 'k'")
    try a.flush()
    try b.run("ALTER TABLE t RENAME COLUMN a TO c")
    try b.flush()
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(
        try peer.rows("SELECT id, c, b FROM t ORDER BY id")
          == ["\"k\"|\"edited\"|\"b1\"", "\"l\"|\"a5\"|\"b2\"", "\"m\"|\"a3\"|\"b6\""])
    }
    #expect(try a.digest() == b.digest())
  }

  @Test("a dropped table deletes no rows of its peers and is filled again when it returns")
  func aDroppedTableDeletesNothingElsewhereAndIsFilledWhenItReturns() throws {
    let (a, b) = try peers()
    try a.run("DROP TABLE t")
    let notices = try #require(try a.upkeep())
    #expect(notices.count == 1 && notices[0].contains("dropped"))
    #expect(try a.upkeep() == nil)
    #expect(try a.flush() == 0)
    #expect(try a.store.figures.status().held == [.unknownTable: 3])
    #expect(try a.digest() == b.digest())
    try b.run("UPDATE t SET b = 'meanwhile' WHERE id = 'm'; DELETE FROM t WHERE id = 'l'")
    try synchronize([a, b])
    #expect(try a.digest() == b.digest())
    try a.run(Self.schema)
    try a.upkeep()
    try a.apply()
    #expect(try rows(a) == ["\"k\"|\"a4\"|\"b1\"", "\"m\"|\"a3\"|\"meanwhile\""])
    #expect(try a.flush() == 0)
    try b.pull(from: a)
    #expect(try a.digest() == b.digest())
    #expect(try rows(b) == rows(a))
  }

  @Test("a table that is dropped and recreated is filled with its merged rows")
  func aTableThatIsMadeAnewBetweenTwoLooksIsFilledAgain() throws {
    let (a, b) = try peers()
    // One row was deleted by hand, and one is in the new table with another value.
    try a.run("DELETE FROM t WHERE id = 'm'; UPDATE t SET b = 'never flushed' WHERE id = 'k'")
    try a.run("DROP TABLE t; \(Self.schema); INSERT INTO t VALUES ('l', 'a5', 'written')")
    try a.upkeep()
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"k\"|\"a4\"|\"b1\"", "\"l\"|\"a5\"|\"written\""]) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a rebuilt table with the same values sends nothing") func aTableThatIsRebuiltSendsOnlyRealChanges() throws {
    let (a, b) = try peers()
    try a.run(
      """
      CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL, b TEXT NOT NULL DEFAULT 'x', a TEXT, c INTEGER DEFAULT 7);
      INSERT INTO n (id, a, b) SELECT id, a, b FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
      """)
    #expect(try a.flush() == 0)
    #expect(try a.digest() == b.digest())
    try a.run("UPDATE t SET c = 8 WHERE id = 'k'")
    try b.pull(from: a)
    #expect(try rows(b) == Self.merged)
    #expect(try a.digest() == b.digest())
  }

  @Test("a rebuilt table sends only the columns whose values changed", arguments: [true, false])
  func aTableThatIsRebuiltSendsOnlyTheColumnsThatChanged(isTakenIn: Bool) throws {
    let insert = "INSERT INTO t SELECT value, 'a' || value, 'b' || value FROM generate"
    let rows =
      "WITH RECURSIVE generate(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM generate WHERE value < 2500)"
    let schema = "CREATE TABLE first (id INTEGER PRIMARY KEY, a, b); CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)"
    let filling = "\(rows) \(insert); INSERT INTO first SELECT * FROM t"
    let a = try Peer(1, schema: isTakenIn ? "\(schema); \(filling)" : schema, track: ["first", "t"], integerKeys: true)
    let b = try Peer(2, schema: schema, track: ["first", "t"], integerKeys: true)
    if !isTakenIn { try a.run(filling) }
    try a.run("UPDATE t SET b = 'second' WHERE id % 2 = 0")
    try b.pull(from: a)
    try b.run("UPDATE t SET b = 'edited'")
    try b.flush()
    try a.run(
      """
      CREATE TABLE n (id INTEGER PRIMARY KEY, a, b); INSERT INTO n SELECT id, upper(a), b FROM t;
      DROP TABLE t; ALTER TABLE n RENAME TO t;
      """)
    try a.upkeep()
    try a.flush()
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(try peer.rows("SELECT count(*) FROM t WHERE a = 'A' || id AND b = 'edited'") == ["2500"])
      #expect(try peer.store.conflicts.list(limit: 10).isEmpty)
    }
    #expect(try a.digest() == b.digest())
  }

  @Test("a row that is deleted after a rebuild is deleted on the other peer")
  func aRowThatIsDeletedAfterARebuildIsDeletedEverywhere() throws {
    let (a, b) = try peers()
    try a.run(
      """
      CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT); INSERT INTO n SELECT * FROM t;
      DROP TABLE t; ALTER TABLE n RENAME TO t;
      """)
    try a.run("DELETE FROM t WHERE id = 'l'; UPDATE t SET a = 'quiet' WHERE id = 'k'")
    try b.pull(from: a)
    #expect(try rows(b) == ["\"k\"|\"quiet\"|\"b1\"", "\"m\"|\"a3\"|\"b6\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a row that is deleted while the triggers are missing is deleted on the other peer")
  func rowsThatAreDeletedWhileTheTriggersAreGoneAreDeletedEverywhere() throws {
    let (a, b) = try peers()
    try a.run(
      "DROP TRIGGER mesh_capture_1_insert; DROP TRIGGER mesh_capture_1_update; DROP TRIGGER mesh_capture_1_delete;"
        + "DROP TRIGGER mesh_capture_1_move; DELETE FROM t WHERE id = 'l'; UPDATE t SET a = 'quiet' WHERE id = 'k'")
    try b.pull(from: a)
    #expect(try rows(b) == ["\"k\"|\"quiet\"|\"b1\"", "\"m\"|\"a3\"|\"b6\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a notice names the new name of a renamed table, and nothing is sent") func aRenamedTableIsNamed() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t RENAME TO other")
    let notices = try #require(try a.upkeep())
    #expect(notices.count == 1 && notices[0].contains("renamed to other"))
    #expect(try a.digest() == b.digest())
    try a.run("ALTER TABLE other RENAME TO t")
    try b.pull(from: a)
    try a.apply()
    #expect(try rows(a) == Self.merged)
    #expect(try a.flush() == 0)
    #expect(try a.digest() == b.digest())
  }

  @Test("an edit wins over a later value that a migration fills in") func aColumnThatAMigrationFillsLosesAgainstEdits()
    throws
  {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t ADD COLUMN n TEXT")
    try a.upkeep()
    try a.run("UPDATE t SET n = 'typed' WHERE id = 'k'")
    try a.flush()
    // Offline, later, the other side migrates and fills the column by a rule of its own.
    b.now += 1_000_000
    try b.run("ALTER TABLE t ADD COLUMN n TEXT; UPDATE t SET n = 'by rule'")
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(try peer.rows("SELECT n FROM t ORDER BY id") == ["\"typed\"", "\"by rule\"", "\"by rule\""])
    }
    #expect(try a.digest() == b.digest())
  }

  @Test("a column that is filled during its migration does not overwrite an edit of another column")
  func anEditOfOneColumnThatNoTriggerSawLeavesAnUnstampedOneAlone() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t ADD COLUMN n TEXT; UPDATE t SET n = 'filled' WHERE id = 'k'")
    #expect(try a.flush() == 1)
    try b.run("UPDATE t SET a = 'newer' WHERE id = 'k'")
    try synchronize([a, b])
    #expect(try a.rows("SELECT a, n FROM t WHERE id = 'k'") == ["\"newer\"|\"filled\""])
    #expect(try a.store.conflicts.list(limit: 9).isEmpty)
    #expect(try a.digest() == b.digest())
  }

  @Test("flushes and merges wait until a changed table has been compared")
  func nothingIsFlushedOrMergedBeforeTheValuesAreBack() throws {
    let (a, b) = try peers()
    try b.run("UPDATE t SET b = 'incoming' WHERE id = 'm'")
    try b.flush()
    try a.receive(from: b)
    try a.run("UPDATE t SET b = 'pending' WHERE id = 'k'; ALTER TABLE t RENAME COLUMN a TO c")
    #expect(
      try a.store.localWrites.flush(a.writer, now: a.now)
        == FlushProgress(zone: Peer.zone, head: nil, records: 0, hasMore: true))
    #expect(try a.store.merges.apply(Peer.zone, a.reader, flushing: [Peer.zone: a.writer], now: a.now) == .flushFirst)
    try synchronize([a, b])
    #expect(try b.rows("SELECT b FROM t ORDER BY id") == ["\"pending\"", "\"b2\"", "\"incoming\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a recreated table shows the merged value of a column it had lost")
  func aTableMadeAnewAfterAColumnWentShowsTheColumnAsItIsMerged() throws {
    let (a, b) = try peers()
    try a.run("DROP TRIGGER mesh_capture_1_update; ALTER TABLE t DROP COLUMN b")
    try a.upkeep()
    try a.run("DROP TABLE t")
    try a.upkeep()
    try a.run("\(Self.schema); INSERT INTO t VALUES ('k', 'new', 'filled')")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT a, b FROM t WHERE id = 'k'") == ["\"new\"|\"b1\""]) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a column that returns before the comparison shows all its merged values")
  func aColumnThatReturnsBeforeItsValuesAreBackHasThemAll() throws {
    let (a, b) = try peers()
    try a.run("DROP TRIGGER mesh_capture_1_update; ALTER TABLE t DROP COLUMN b")
    // Only the schema is looked at.
    guard case .schemaChanged = try a.store.capture.upkeep({ _ in a.reader }, now: a.now) else {
      Issue.record("the change is not seen")
      return
    }
    try a.run("ALTER TABLE t ADD COLUMN b TEXT")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == Self.merged) }
    #expect(try a.digest() == b.digest())
  }

  @Test("rows of a recreated table are sent once the device has a zone")
  func rowsOfATableMadeAnewBeforeThereIsAZoneAreSentWhenThereIsOne() throws {
    let a = try Peer(1, schema: Self.schema, track: ["t"], begins: false)
    try a.run("DROP TABLE t; \(Self.schema); INSERT INTO t VALUES ('k', 'a', 'b')")
    try a.upkeep()
    try a.renew(a.author.instance)
    #expect(try a.flush() == 1)
    let b = try Peer(2, schema: Self.schema, track: ["t"])
    try b.pull(from: a)
    #expect(try rows(b) == ["\"k\"|\"a\"|\"b\""])
  }

  @Test("a comparison that is interrupted by reopening the store loses nothing")
  func aCrashBetweenTwoStepsLosesNothing() throws {
    let (a, b) = try peers()
    try a.run("DROP TABLE t; \(Self.schema)")
    for _ in 0..<1_000 {
      try a.reopen()
      if try a.store.capture.upkeep({ _ in a.reader }, now: a.now) == .done { break }
    }
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == Self.merged) }
    #expect(try a.digest() == b.digest())
  }

  /// - Parameter others: Records that are edited as well: so many that they are more than one part.
  @Test("a column added together with an edit of its row shows the merged value", arguments: [0, 1_500])
  func aColumnThatComesTogetherWithAnEditShowsWhatIsMerged(others: Int) throws {
    let a = try Peer(1, schema: "CREATE TABLE part (id TEXT PRIMARY KEY NOT NULL, name TEXT)", track: ["part"])
    let b = try Peer(
      2, schema: "CREATE TABLE part (id TEXT PRIMARY KEY NOT NULL, name TEXT, size TEXT)", track: ["part"])
    try b.run("INSERT INTO part VALUES ('p', 'bolt', 'M8')")
    try a.pull(from: b)
    try a.run("ALTER TABLE part ADD COLUMN size TEXT; UPDATE part SET name = 'nut' WHERE id = 'p'")
    try a.run(
      """
      WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(others))
      INSERT INTO part (id, name) SELECT 'q' || i, 'washer' FROM n WHERE i <= \(others)
      """)
    try a.upkeep()
    for _ in 0..<10 { _ = try a.store.merges.apply(Peer.zone, a.reader, flushing: [Peer.zone: a.writer], now: a.now) }
    try a.flush()
    try a.apply()
    #expect(try a.rows("SELECT name, size FROM part WHERE id = 'p'") == ["\"nut\"|\"M8\""])
    try b.pull(from: a)
    #expect(try b.rows("SELECT name, size FROM part WHERE id = 'p'") == ["\"nut\"|\"M8\""])
    #expect(try a.digest() == b.digest())
  }
}
