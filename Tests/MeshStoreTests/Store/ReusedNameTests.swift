import MeshCore
import Testing

@testable import MeshStore

/// Columns that get the name that another column of their table had before.
@Suite struct ReusedNameTests {
  private func pair() throws -> (Peer, Peer) {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('1', 'a1', 'b1'), ('2', 'a2', 'b2'), ('3', 'a3', 'b3')")
    try a.flush()
    try a.run("UPDATE t SET a = 'a2x' WHERE id = '2'")
    try synchronize([a, b])
    return (a, b)
  }

  enum Look: CaseIterable {
    case none, step, look, steps, flush

    func take(_ peer: Peer) throws {
      switch self {
      case .none: break
      case .step: _ = try peer.store.capture.upkeep({ _ in peer.reader }, now: peer.now)
      case .look: try peer.upkeep()
      // The node was flushing when a program changed the table again.
      case .steps:
        try peer.upkeep()
        _ = try peer.store.localWrites.flush(peer.writer, now: peer.now)
      case .flush: try peer.flush()
      }
    }
  }

  private static let rename = "ALTER TABLE t RENAME COLUMN a TO z"
  private static let add = "ALTER TABLE t ADD COLUMN a TEXT DEFAULT 'new'"

  private func migrate(_ peer: Peer, _ look: Look) throws {
    try peer.run(Self.rename)
    try look.take(peer)
    try peer.run(Self.add)
    try peer.flush()
  }

  @Test("a new column with a renamed column's former name has its own values", arguments: Look.allCases, Look.allCases)
  func newColumn(_ look: Look, _ other: Look) throws {
    let (a, b) = try pair()
    let rows = ["\"1\"|\"a1\"|\"new\"", "\"2\"|\"a2x\"|\"new\"", "\"3\"|\"a3\"|\"new\""]
    try migrate(a, look)
    #expect(try a.rows("SELECT id, z, a FROM t ORDER BY id") == rows)
    try synchronize([a, b])
    try migrate(b, other)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, z, a FROM t ORDER BY id", rows)
    try expectNoConflicts([a, b])
  }

  @Test("edits of a new column and of the renamed one go on apart")
  func editedApart() throws {
    let (a, b) = try pair()
    try migrate(a, .none)
    try synchronize([a, b])
    try migrate(b, .look)
    try a.run("UPDATE t SET z = 'old from a' WHERE id = '1'; UPDATE t SET a = 'new from a' WHERE id = '2'")
    try a.flush()
    try b.run("UPDATE t SET a = 'new from b' WHERE id = '1'; UPDATE t SET z = 'old from b' WHERE id = '2'")
    try synchronize([a, b])
    try expectEqual(
      [a, b], "SELECT id, z, a FROM t ORDER BY id",
      ["\"1\"|\"old from a\"|\"new from b\"", "\"2\"|\"old from b\"|\"new from a\"", "\"3\"|\"a3\"|\"new\""])
    try expectNoConflicts([a, b])
  }

  @Test(
    "the names of two columns are exchanged in three statements, and the node looks in between",
    arguments: Look.allCases, Look.allCases)
  func exchanged(_ first: Look, _ second: Look) throws {
    let (a, b) = try pair()
    let rows = ["\"1\"|\"b1\"|\"a1\"", "\"2\"|\"b2\"|\"a2x\"", "\"3\"|\"b3\"|\"a3\""]
    try a.run("ALTER TABLE t RENAME COLUMN a TO x")
    try first.take(a)
    try a.run("ALTER TABLE t RENAME COLUMN b TO a")
    try second.take(a)
    try a.run("ALTER TABLE t RENAME COLUMN x TO b")
    try a.flush()
    #expect(try a.rows("SELECT id, a, b FROM t ORDER BY id") == rows)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, a, b FROM t ORDER BY id", rows)
    try expectNoConflicts([a, b])
  }
}
