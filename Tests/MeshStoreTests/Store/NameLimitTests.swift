import MeshCore
import Testing

@testable import MeshStore

/// Names of tables and columns that nobody here has.
@Suite struct NameLimitTests {
  private static let table = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)"

  /// Change sets of one author, each with a table of so many columns.
  private func flood(_ forger: inout Forger, tables: Int, columns: Int, _ peer: Peer) throws -> [ChangeSet] {
    try (0..<tables).map { index in
      let time = HybridTime(milliseconds: peer.now + Int64(index) - 1_000)
      let row = RowChange(
        key: .integer(1), generation: 1, isLife: true, stamp: Stamp(time: time, author: forger.author),
        fields: [.init(column: 0, value: .value(.integer(1)))])
      let names = (0..<columns).map { "column \($0)" }
      return try forger.make(
        .changes([TableChanges(table: "unknown \(index)", columns: names, rows: [row])]), time: time)
    }
  }

  private func count(_ table: String, _ peer: Peer) throws -> Int {
    Int(try peer.rows("SELECT count(*) FROM \(table)")[0]) ?? -1
  }

  @Test("an author that names too many tables and columns ends there, alike on every device, and nobody else does")
  func tooManyNames() throws {
    var forger = try Forger(2)
    let (one, other) = (try Peer(1, schema: Self.table, track: ["t"]), try Peer(3, schema: Self.table, track: ["t"]))
    let changeSets = try flood(&forger, tables: 10, columns: 2_000, one)
    for peer in [one, other] {
      // One takes them at once, the other one by one.
      for slice in peer === one ? [changeSets] : changeSets.map({ [$0] }) {
        _ = try peer.store.log.store(slice, zone: Peer.zone, now: peer.now)
        try peer.apply()
      }
      #expect(try peer.store.log.mergedVector(Peer.zone)[forger.author] == 8)
      #expect(try peer.store.figures.status().malformed[forger.author]?.contains("names more") == true)
      #expect(try peer.store.figures.quotas().names[Peer.zone]?[forger.author] == 8 * 2_001)
    }
    #expect(try one.digest() == other.digest())
    try other.run("INSERT INTO t VALUES (1, 'honest')")
    try one.pull(from: other)
    #expect(try one.rows("SELECT v FROM t") == ["\"honest\""])
  }

  @Test("an author may use as many names as the limit says, and not one more", arguments: [0, 1])
  func exactlyAsManyNames(excess: Int) throws {
    var forger = try Forger(2)
    let peer = try Peer(1, schema: Self.table, track: ["t"])
    // The name of each table counts as well.
    let (tables, columns) = (Limits.names / (Limits.columns + 1), Limits.names % (Limits.columns + 1) - 1 + excess)
    var changeSets = try flood(&forger, tables: tables, columns: Limits.columns, peer)
    let time = HybridTime(milliseconds: peer.now)
    let row = RowChange(
      key: .integer(1), generation: 1, isLife: true, stamp: Stamp(time: time, author: forger.author),
      fields: [.init(column: 0, value: .value(.integer(1)))])
    let last = TableChanges(table: "the rest", columns: (0..<columns).map { "column \($0)" }, rows: [row])
    changeSets.append(try forger.make(.changes([last]), time: time))
    _ = try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
    try peer.apply()
    #expect(try peer.store.log.mergedVector(Peer.zone)[forger.author] == UInt64(tables + (excess == 0 ? 1 : 0)))
    #expect(try (peer.store.figures.status().malformed[forger.author] == nil) == (excess == 0))
  }

  @Test("a cut passes over rows that were never merged, of tables that have no number here")
  func cutsBesideUnknownTables() throws {
    var (quiet, cut) = (try Forger(2), try Forger(3))
    let peer = try Peer(1, schema: Self.table, track: ["t"])
    let time = HybridTime(milliseconds: peer.now - 1_000)
    let stamp = Stamp(time: time, author: quiet.author)
    // Its table was known, and is forgotten with the last record that used it.
    let empty = TableChanges(table: "unknown", columns: ["a"], rows: [])
    let row = RowChange(
      key: .integer(1), generation: 1, isLife: true, stamp: stamp,
      fields: [.init(column: 0, value: .value(.integer(1)))])
    let changeSets = [
      try quiet.make(.changes([empty, TableChanges(table: "t", columns: ["v"], rows: [row])]), time: time),
      try cut.make(cut.births(2...3, .value(.integer(2)), time: time), time: time),
    ]
    _ = try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
    try peer.apply()
    #expect(try count("t", peer) == 3)
    peer.cuts = [cut.author: 0]
    try peer.store.merges.revert(peer.cuts, zone: Peer.zone, peer.reader, now: peer.now)
    #expect(try peer.rows("SELECT id FROM t") == ["1"])
  }

  @Test("names that Swift takes for equal and SQLite doesn't are two")
  func namesAreBytes() throws {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, \(composed) TEXT, \(decomposed) TEXT)"
    let (one, other) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try one.run("INSERT INTO t VALUES (1, 'composed', 'decomposed')")
    try one.flush()
    try other.pull(from: one)
    #expect(try other.rows("SELECT \(composed), \(decomposed) FROM t") == [#""composed"|"decomposed""#])
    try other.run("UPDATE t SET \(decomposed) = 'two'")
    try other.flush()
    try one.pull(from: other)
    #expect(try one.rows("SELECT \(composed), \(decomposed) FROM t") == [#""composed"|"two""#])
    #expect(try one.digest() == other.digest())
  }

  @Test("names go when what used them is taken back") func namesAreFreed() throws {
    var forger = try Forger(2)
    let peer = try Peer(1, schema: Self.table, track: ["t"])
    try peer.run("INSERT INTO t VALUES (1, 'own')")
    try peer.flush()
    let before = (try count("mesh_table", peer), try count("mesh_column", peer))
    _ = try peer.store.log.store(try flood(&forger, tables: 50, columns: 3, peer), zone: Peer.zone, now: peer.now)
    try peer.apply()
    #expect(try count("mesh_table", peer) == before.0 + 50)
    peer.cuts = [forger.author: 0]
    try peer.store.merges.revert(peer.cuts, zone: Peer.zone, peer.reader, now: peer.now)
    #expect(try count("mesh_table", peer) == before.0 && count("mesh_column", peer) == before.1)
    #expect(try count("mesh_named", peer) == 0)
    try peer.run("UPDATE t SET v = 'still here'")
    try peer.flush()
    #expect(try peer.rows("SELECT v FROM t") == ["\"still here\""])
  }
}
