import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// A `UNIQUE` that appeared after tracking, and references: a row that was displaced for a while, and all that refers to it, is shown
/// as if nothing had been in its way.
@Suite struct UniqueParentTests {
  private static let tables = ["p", "ch", "m", "n"]
  private static func schema(_ action: String) -> String {
    """
    CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE ch (id TEXT PRIMARY KEY NOT NULL, pid TEXT REFERENCES p ON DELETE CASCADE, v TEXT);
    CREATE TABLE m (id TEXT PRIMARY KEY NOT NULL, r TEXT REFERENCES ch ON DELETE \(action), v TEXT);
    CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL, r TEXT REFERENCES m ON DELETE CASCADE)
    """
  }
  private static let indexes = "CREATE UNIQUE INDEX uv ON ch (v); CREATE UNIQUE INDEX uw ON m (v)"

  /// - Parameter order: Of the tables, in which their records are looked at.
  private func peer(_ seed: UInt8, order: [String] = tables) throws -> Peer {
    let peer = try Peer(
      seed,
      schema: """
        CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL); CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL, r TEXT);
        CREATE TABLE ch (id TEXT PRIMARY KEY NOT NULL, pid TEXT, v TEXT);
        CREATE TABLE m (id TEXT PRIMARY KEY NOT NULL, r TEXT, v TEXT)
        """)
    for table in order { try peer.store.tables.track(tables: [table], now: peer.now) }
    return peer
  }

  private func makeAnew(_ peer: Peer, _ action: String = "CASCADE") throws {
    try peer.run("DROP TABLE n; DROP TABLE m; DROP TABLE ch; DROP TABLE p;" + Self.schema(action) + ";" + Self.indexes)
    try peer.upkeep()
    try peer.apply()
  }

  private func shown(_ peer: Peer) throws -> [String] {
    try peer.rows(
      """
      SELECT 'p', id, NULL FROM p UNION ALL SELECT 'ch', id, pid FROM ch UNION ALL SELECT 'm', id, r FROM m
      UNION ALL SELECT 'n', id, r FROM n
      """
    ).map { $0.replacing("\"", with: "") }.sorted()
  }

  private static let rows = """
    INSERT INTO ch VALUES ('k1', 'nobody', 'same'), ('k2', NULL, 'same');
    INSERT INTO m VALUES ('x', 'k2', 'x'), ('y', 'k1', 'y'); INSERT INTO n VALUES ('z', 'x')
    """
  private static let expected = ["ch|k2|NULL", "m|x|k2", "n|z|x"]

  @Test(
    "rows that refer to a displaced row return with it", arguments: ["CASCADE", "SET NULL", "NO ACTION"],
    [tables, tables.reversed()])
  func whatRefersToADisplacedRowReturnsWithIt(action: String, order: [String]) throws {
    let expected = Self.expected + (action == "SET NULL" ? ["m|y|NULL"] : [])
    let peer = try peer(1, order: order)
    try peer.run(Self.rows)
    try peer.flush()
    try makeAnew(peer, action)
    #expect(try shown(peer) == expected.sorted())
    // Whoever looks at what is held displaces it again, and again it returns.
    try peer.store.held.retry()
    try peer.apply()
    #expect(try shown(peer) == expected.sorted())
    try peer.reopen()
    try peer.store.held.retry()
    try peer.apply()
    #expect(try shown(peer) == expected.sorted())
    #expect(try peer.flush() == 0)
  }

  @Test("the rows shown under a UNIQUE index do not depend on their order of arrival", arguments: [false, true])
  func whoeverComesFirst(isReversed: Bool) throws {
    let (a, b) = (try peer(1), try peer(2))
    try makeAnew(b)
    let statements = [
      "INSERT INTO p VALUES ('q')", "INSERT INTO ch VALUES ('k2', NULL, 'same')",
      "INSERT INTO m VALUES ('x', 'k2', 'x')",
      "INSERT INTO n VALUES ('z', 'x')", "INSERT INTO ch VALUES ('k1', 'q', 'same')",
      "INSERT INTO m VALUES ('y', 'k1', 'y')",
    ]
    for statement in isReversed ? statements.reversed() : statements {
      try a.run(statement)
      try b.pull(from: a)
    }
    #expect(try shown(b) == ["ch|k1|q", "m|y|k1", "p|q|NULL"])
    // The row that was in the way loses its parent later.
    try a.run("DELETE FROM p")
    try b.pull(from: a)
    #expect(try shown(b) == Self.expected)
    try a.run("INSERT INTO p VALUES ('q')")
    try b.pull(from: a)
    #expect(try shown(b) == ["ch|k1|q", "m|y|k1", "p|q|NULL"])
  }

  /// A reference that is shown as NULL takes nobody's place, and one that is back does.
  @Test("a UNIQUE reference shown as NULL displaces no row, and a restored one does")
  func aReferenceThatIsUniqueItself() throws {
    let schema = """
      CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE ch (id TEXT PRIMARY KEY NOT NULL, pid TEXT REFERENCES p ON DELETE SET NULL)
      """
    let (a, b) = (try Peer(1, schema: schema, track: ["p", "ch"]), try Peer(2, schema: schema, track: ["p", "ch"]))
    try b.run("CREATE UNIQUE INDEX one ON ch (pid)")
    try b.upkeep()
    try a.run("INSERT INTO ch VALUES ('k1', 'q'), ('k2', 'q'), ('k3', 'q')")
    try b.pull(from: a)
    let all = ["\"k1\"|NULL", "\"k2\"|NULL", "\"k3\"|NULL"]
    #expect(try b.rows("SELECT * FROM ch ORDER BY id") == all)
    try a.run("INSERT INTO p VALUES ('q')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM ch ORDER BY id") == ["\"k1\"|\"q\""])
    try a.run("DELETE FROM p")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM ch ORDER BY id") == all)
  }

  /// A row can't be shown instead of one that it refers to.
  @Test("a row does not displace its own ancestor under a UNIQUE index", arguments: [false, true])
  func aRowInTheWayOfItsOwnParent(isReversed: Bool) throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t ON DELETE CASCADE, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try b.run("CREATE UNIQUE INDEX one ON t (v)")
    try b.upkeep()
    let rows = ["('k9', NULL, 'same')", "('k5', 'k9', 'other')", "('k1', 'k5', 'same')", "('k0', 'k1', 'more')"]
    for row in isReversed ? rows.reversed() : rows {
      try a.run("INSERT INTO t VALUES \(row)")
      try b.pull(from: a)
    }
    #expect(try b.rows("SELECT id FROM t ORDER BY id") == ["\"k5\"", "\"k9\""])
    try b.store.held.retry()
    try b.apply()
    #expect(try b.rows("SELECT id FROM t ORDER BY id") == ["\"k5\"", "\"k9\""])
    try a.run("UPDATE t SET v = 'free' WHERE id = 'k9'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t ORDER BY id") == ["\"k0\"", "\"k1\"", "\"k5\"", "\"k9\""])
  }

  /// It ends, with the rows that can be there.
  @Test("rows in a cycle that a UNIQUE index forbids are held until their values differ")
  func rowsThatNeedEachOtherAndCantBeTogether() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t ON DELETE CASCADE, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try b.run("CREATE UNIQUE INDEX one ON t (v)")
    try b.upkeep()
    try a.run(
      "INSERT INTO t VALUES ('k1', 'k2', 'same'), ('k2', 'k1', 'same'), ('k3', 'k1', 'x'), ('k4', NULL, 'same')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t") == ["\"k4\""])
    try b.store.held.retry()
    try b.apply()
    #expect(try b.rows("SELECT id FROM t") == ["\"k4\""])
    try a.run("UPDATE t SET v = id")
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*) FROM t") == ["4"])
  }

  /// Of the merged state: parents before children, lesser keys before greater.
  private func expected(_ peer: Peer) throws -> [String] {
    let loose = try self.peer(99)
    try loose.pull(from: peer)
    var (found, taken): ([String], Set<String>) = ([], [])
    for (table, columns, parent) in [
      ("p", "NULL, NULL", ""), ("ch", "pid, v", "p"), ("m", "r, v", "ch"), ("n", "r, NULL", "m"),
    ] {
      for row in try loose.rows("SELECT id, \(columns) FROM \(table) ORDER BY id") {
        let parts = row.replacing("\"", with: "").split(separator: "|").map(String.init)
        let isPresent = parts[1] == "NULL" || found.contains { $0.hasPrefix("\(parent)|\(parts[1])|") }
        guard isPresent, parts[2] == "NULL" || taken.insert("\(table)|\(parts[2])").inserted else { continue }
        found.append("\(table)|\(parts[0])|\(parts[1])")
      }
    }
    return found.sorted()
  }

  @Test("random histories end with the rows that parents and key order determine", arguments: TestSeeds.through(60))
  func anyHistoryEndsWithWhatParentsAndKeysSay(seed: Int) throws {
    var dice = Dice(state: UInt64(seed) &* 0x9e37_79b9_7f4a_7c15)
    let orders = [Self.tables, Self.tables.reversed(), ["m", "p", "n", "ch"]]
    let peers = try (0..<3).map { try peer(UInt8($0 + 1), order: orders[$0]) }
    try makeAnew(peers[0])
    for _ in 0..<60 {
      let peer = peers[1 + dice.roll(2)]
      peer.now += Int64(dice.roll(40))
      let (table, key) = (Self.tables[dice.roll(4)], "k\(dice.roll(6))")
      let (parent, value) = (dice.roll(4) == 0 ? "NULL" : "'k\(dice.roll(6))'", "'\(["x", "y", "z"][dice.roll(3)])'")
      let values = ["p": "", "ch": ", \(parent), \(value)", "m": ", \(parent), \(value)", "n": ", \(parent)"]
      switch dice.roll(12) {
      case 0...4: try? peer.run("INSERT INTO \(table) VALUES ('\(key)'\(values[table] ?? ""))")
      case 5: try? peer.run("UPDATE ch SET v = \(value), pid = \(parent) WHERE id = '\(key)'")
      case 6: try? peer.run("UPDATE m SET v = \(value), r = \(parent) WHERE id = '\(key)'")
      case 7, 8: try? peer.run("DELETE FROM \(table) WHERE id = '\(key)'")
      case 9: try peers[0].pull(from: peer)
      case 10: try peers[1].pull(from: peers[2])
      default: try peers[2].pull(from: peers[1])
      }
    }
    try synchronize(peers)
    let expected = try expected(peers[0])
    #expect(try shown(peers[0]) == expected, "as it came")
    for peer in peers.dropFirst() {
      try makeAnew(peer)
      #expect(try shown(peer) == expected, "made anew")
    }
    for peer in peers {
      try peer.store.held.retry()
      try peer.apply()
      #expect(try shown(peer) == expected, "tried again")
      #expect(try peer.flush() == 0 && peer.digest() == peers[0].digest())
    }
  }
}
