import MeshCore
import Testing

@testable import MeshStore

/// Dropping a table says nothing about its rows; what somebody deleted before says it, be the table gone when the node looks.
@Suite struct DeletedThenDroppedTests {
  private func peers(key: String) throws -> (Peer, Peer) {
    let schema = "CREATE TABLE t (id \(key) PRIMARY KEY NOT NULL, a TEXT)"
    let a = try Peer(1, schema: schema, track: ["t"])
    let b = try Peer(2, schema: schema, track: ["t"])
    try a.run("INSERT INTO t VALUES ('K', 'a1'), ('l', 'a2'), ('m', 'a3')")
    try synchronize([a, b])
    return (a, b)
  }

  @Test(
    "rows deleted before their table is dropped are deleted on the other peer",
    arguments: ["TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", ""])
  func itIsDeletedEverywhere(key: String) throws {
    let (a, b) = try peers(key: key)
    try a.run("DELETE FROM t WHERE id IN ('K', 'l'); DROP TABLE t")
    try synchronize([a, b])
    #expect(try b.rows("SELECT id FROM t") == ["\"m\""])
    #expect(try a.digest() == b.digest())
    #expect(try a.store.figures.status().held == [.unknownTable: 1])
    try a.run("CREATE TABLE t (id \(key) PRIMARY KEY NOT NULL, a TEXT)")
    try synchronize([a, b])
    #expect(try a.rows("SELECT id FROM t") == ["\"m\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a row that is inserted again before its table is dropped stays on the other peer")
  func whatWasWrittenAgainAfterTheDeleteStays() throws {
    let (a, b) = try peers(key: "TEXT")
    try a.run("DELETE FROM t; INSERT INTO t VALUES ('K', 'again'); DELETE FROM t; INSERT INTO t VALUES ('l', 'again')")
    try a.run("DROP TABLE t")
    try synchronize([a, b])
    #expect(try b.rows("SELECT id, a FROM t") == ["\"l\"|\"a2\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("unsent inserts and edits of a dropped table are forgotten") func whatNobodyEverSentIsForgotten() throws {
    let (a, b) = try peers(key: "TEXT")
    try a.run("INSERT INTO t VALUES ('n', 'new'); DELETE FROM t WHERE id = 'n'; UPDATE t SET a = 'b'; DROP TABLE t")
    try a.flush()
    #expect(try a.store.localWrites.pendingCount() == 0)
    try synchronize([a, b])
    #expect(try b.rows("SELECT id, a FROM t") == ["\"K\"|\"a1\"", "\"l\"|\"a2\"", "\"m\"|\"a3\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a delete before a drop wins over an edit that arrives before the flush")
  func itIsDeletedBeforeWhatComesIsMerged() throws {
    let (a, b) = try peers(key: "TEXT")
    try b.run("UPDATE t SET a = 'meanwhile' WHERE id = 'K'")
    try b.flush()
    try a.run("DELETE FROM t WHERE id = 'K'; DROP TABLE t")
    try a.upkeep()
    try a.receive(from: b)
    for _ in 0..<10 { _ = try a.store.merges.apply(Peer.zone, a.reader, flushing: [Peer.zone: a.writer], now: a.now) }
    try synchronize([a, b])
    #expect(try b.rows("SELECT id FROM t") == ["\"l\"", "\"m\""])
    #expect(try a.digest() == b.digest())
  }

  /// A file of the format before did not say how keys are compared.
  @Test("a file of format 4 learns the key's collation when it is opened")
  func aFileOfAnEarlierFormatLearnsItWhenItIsOpened() throws {
    let (a, b) = try peers(key: "TEXT COLLATE NOCASE")
    try a.run(
      """
      ALTER TABLE mesh_table DROP COLUMN collation; ALTER TABLE mesh_held DROP COLUMN since;
      ALTER TABLE mesh_show DROP COLUMN done; ALTER TABLE mesh_import DROP COLUMN done; UPDATE mesh_state SET format = 4
      """)
    try a.reopen()
    try a.upkeep()
    try a.run("DELETE FROM t WHERE id = 'K'; DROP TABLE t")
    try synchronize([a, b])
    #expect(try b.rows("SELECT id FROM t") == ["\"l\"", "\"m\""])
  }

  @Test("a deleted root in a dropped table is reported and the participant sends nothing")
  func theRootOfAnothersShareIsLeftAndOnesOwnEnds() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try converge([alice, bob])
    let tables = "DROP TABLE steps; DROP TABLE reminders; DROP TABLE lists"
    try bob.run("DELETE FROM lists WHERE id = 'L'; \(tables)")
    try bob.settle()
    #expect(bob.deletedRoots == [SharedList.share])
    #expect(try bob.store.log.storedVector(SharedList.share).authors.count == 1, "nothing was sent")
    try alice.run("DELETE FROM lists WHERE id = 'L'; \(tables)")
    for _ in 0..<100 where alice.deletedRoots.isEmpty { _ = try alice.step() }
    #expect(alice.deletedRoots == [SharedList.share])
  }

  /// The state of a comparison or an import that is under way.
  private func task(_ peer: Peer) throws -> [String] {
    try peer.rows("SELECT task, layout, exchanged FROM mesh_import")
  }

  @Test("a comparison of tables that exchanged their names goes on after an update of mesh")
  func exchangedBeforeTheUpdate() throws {
    let (a, _) = try peers(key: "TEXT")
    try a.run(
      """
      INSERT INTO mesh_import (tbl, task, layout) VALUES (1, 2, -7);
      ALTER TABLE mesh_import DROP COLUMN exchanged; UPDATE mesh_state SET format = 17
      """)
    try a.reopen()
    #expect(try task(a) == ["2|7|1"])
  }

  @Test("what is known of a comparison is not taken for what is known of an import")
  func requests() throws {
    let (a, _) = try peers(key: "TEXT")
    let again = TableSlice.again
    func request(_ task: TableSlice.Purpose, _ layout: Int64, isExchanged: Bool = false) throws {
      try a.store.access.write { try $0.work.request(task, 1, layout: layout, isExchanged: isExchanged) }
    }
    try request(.compare, 0)
    try request(.compareRecreated, 7, isExchanged: true)
    try request(.compare, 8)
    #expect(try task(a) == ["2|7|1"], "the first of several changes counts, and what was exchanged stays so")
    try request(.takeIn, 0)
    #expect(try task(a) == ["4|0|1"])
    try request(.compare, 8)
    #expect(try task(a) == ["4|0|1"])
    try request(.takeIn, again)
    #expect(try task(a) == ["4|\(again)|1"])
  }
}
