import MeshCore
import Testing

@testable import MeshStore

/// Writes that no trigger is told of: whatever is merged before somebody compares the rows, digests stay equal, and what was written
/// is sent.
@Suite struct UnnoticedTests {
  private static let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a REAL, b TEXT)"

  private func peers() throws -> (Peer, Peer) {
    let (a, b) = (
      try Peer(1, schema: Self.schema, track: ["t"]), try Peer(2, schema: Self.schema, track: ["t"])
    )
    try a.run("INSERT INTO t VALUES ('k', 0.0, 'b1'), ('l', 0.0, 'b2'), ('n', NULL, NULL)")
    try synchronize([a, b])
    return (a, b)
  }

  /// Triggers and schema are as before: nothing tells the node.
  private func unnoticed(_ peer: Peer, _ sql: String) throws {
    try peer.run("UPDATE mesh_state SET applying = 1; \(sql); UPDATE mesh_state SET applying = 0")
    #expect(try peer.store.localWrites.pendingCount() == 0)
  }

  private func rows(_ peer: Peer) throws -> [String] { try peer.rows("SELECT id, a, b FROM t ORDER BY id") }

  @Test(
    "a merge finds an unnoticed write to the same record first",
    arguments: [
      "DELETE FROM t WHERE id IN ('k', 'n')", "UPDATE t SET a = 5.5 WHERE id = 'k'",
    ])
  func itIsFoundBeforeAnythingIsMergedIntoTheRecord(write: String) throws {
    let (a, b) = try peers()
    try unnoticed(a, write)
    try b.run("UPDATE t SET b = 'meanwhile' WHERE id = 'k'; UPDATE t SET b = 'meanwhile' WHERE id = 'n'")
    try synchronize([a, b])
    #expect(try a.digest() == b.digest())
    #expect(try rows(a) == rows(b))
    try a.store.capture.rescan()
    try synchronize([a, b])
    #expect(try a.digest() == b.digest())
    #expect(try b.rows("SELECT a FROM t WHERE id = 'k'") == (write.hasPrefix("DELETE") ? [] : ["5.5"]))
  }

  @Test("a retry of records finds an unnoticed delete first") func itIsFoundBeforeARecordIsShownAnew() throws {
    let (a, b) = try peers()
    try b.run("ALTER TABLE t ADD COLUMN c TEXT; UPDATE t SET c = 'c1' WHERE id = 'k'")
    try b.upkeep()
    try b.run("UPDATE t SET c = 'c2' WHERE id = 'l'")
    try synchronize([a, b])
    try unnoticed(a, "DELETE FROM t WHERE id = 'k'")
    try a.store.held.retry()
    try synchronize([a, b])
    #expect(try a.digest() == b.digest())
    #expect(try rows(a) == rows(b) && rows(a).map { $0.prefix(3) } == ["\"l\"", "\"n\""])
  }

  @Test("a wrong hash of a record does not stop merges or schema changes") func aHashThatFitsNothingStopsNobody() throws
  {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n TEXT)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', 'v')")
    try b.pull(from: a)
    try b.run("UPDATE mesh_record SET hash = zeroblob(16)")
    try a.run("UPDATE t SET n = 'w'")
    try b.pull(from: a)
    try b.store.held.retry()
    try b.apply()
    try b.run("ALTER TABLE t ADD COLUMN n TEXT")
    try b.flush()
    try b.apply()
    #expect(try b.rows("SELECT n FROM t") == ["\"w\""])
  }

  private static let family = """
    CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE c (id TEXT PRIMARY KEY NOT NULL, p TEXT NOT NULL REFERENCES p(id), v TEXT,
      d TEXT REFERENCES p(id) ON DELETE SET NULL)
    """

  /// A parent and a child that refers to it in the column `p`, and to another parent in `d`.
  private func families() throws -> (Peer, Peer) {
    let (a, b) = (
      try Peer(1, schema: Self.family, track: ["p", "c"]), try Peer(2, schema: Self.family, track: ["p", "c"])
    )
    try a.run("INSERT INTO p VALUES ('p1'), ('p2'); INSERT INTO c VALUES ('c1', 'p1', 'v0', 'p2')")
    try synchronize([a, b])
    return (a, b)
  }

  @Test("an unnoticed edit survives when its row is hidden or reset with its parent", arguments: ["p1", "p2"])
  func itIsFoundBeforeARowIsWithdrawnOrResetBecauseItsParentIsGone(parent: String) throws {
    let (a, b) = try families()
    try unnoticed(a, "UPDATE c SET v = 'v1'")
    try b.run("PRAGMA foreign_keys = OFF; DELETE FROM p WHERE id = '\(parent)'")
    try synchronize([a, b])
    try b.run("INSERT INTO p VALUES ('\(parent)')")
    try synchronize([a, b])
    #expect(try a.digest() == b.digest())
    #expect(try b.rows("SELECT v FROM c") == ["\"v1\""])
    #expect(try a.rows("SELECT v FROM c") == ["\"v1\""])
  }

  @Test("a dropped share leaves a receipt of an unnoticed edit") func itIsInAReceiptWhenItsShareLeavesTheMachine()
    throws
  {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try converge([alice, bob])
    try bob.run(
      """
      UPDATE mesh_state SET applying = 1; UPDATE reminders SET title = 'mine' WHERE id = 'r1';
      UPDATE mesh_state SET applying = 0
      """)
    try bob.drop(SharedList.share)
    #expect(try bob.rows("SELECT id FROM reminders").isEmpty)
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(receipts.map(\.record.key) == [.text("r1")], "the other rows were not written")
    #expect(receipts.first?.values?["title"] == .text("mine"))
  }

  @Test("an unnoticed edit survives when another record takes its row's UNIQUE value")
  func itIsFoundBeforeAnotherRecordTakesItsUniqueValue() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, u TEXT, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('k2', 'u', 'v0')")
    try synchronize([a, b])
    for peer in [a, b] {
      try peer.run("CREATE UNIQUE INDEX i ON t (u)")
      try peer.upkeep()
    }
    try synchronize([a, b])
    try unnoticed(a, "UPDATE t SET v = 'v1'")
    try b.run("UPDATE t SET u = 'w' WHERE id = 'k2'; INSERT INTO t VALUES ('k1', 'u', 'x')")
    try b.flush()
    try b.run("UPDATE t SET u = 'z' WHERE id = 'k1'; UPDATE t SET u = 'u' WHERE id = 'k2'")
    try synchronize([a, b])
    #expect(try a.digest() == b.digest())
    #expect(try b.rows("SELECT v FROM t WHERE id = 'k2'") == ["\"v1\""])
  }

  @Test("rows that a program replaces by their rowid are counted until a rescan, which sends their deletes")
  func rowsReplacedByTheirRowID() throws {
    let (a, b) = try peers()
    #expect(try a.store.capture.vanishedRows().isEmpty)
    try a.run("REPLACE INTO t (rowid, id, a) SELECT rowid, 'new', 1 FROM t WHERE id = 'k'")
    try synchronize([a, b])
    #expect(try a.store.capture.vanishedRows().map(\.rows) == [1] && b.store.capture.vanishedRows().isEmpty)
    try a.store.capture.rescan(tables: ["t"])
    try synchronize([a, b])
    #expect(try a.store.capture.vanishedRows().isEmpty)
    try expectEqual([a, b], "SELECT id FROM t ORDER BY id", ["\"l\"", "\"n\"", "\"new\""])
  }
}
