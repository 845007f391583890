import MeshCore
import Testing

@testable import MeshStore

/// Rows of many columns, which say little and are large in the memory of whoever reads them.
@Suite struct WideTableTests {
  private static let columns = 200
  private static let schema =
    "CREATE TABLE wide (id INTEGER PRIMARY KEY NOT NULL, "
    + (0..<columns).map { "c\($0) INTEGER" }.joined(separator: ", ") + ")"

  private static let fill =
    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 330) INSERT INTO wide(id) SELECT n FROM i"

  private func peer(_ seed: UInt8) throws -> Peer { try Peer(seed, schema: Self.schema, track: ["wide"]) }

  private func bodies(_ peer: Peer) throws -> [ChangeSetBody] {
    try peer.store.log.changeSets(Peer.zone, beyond: VersionVector(), of: nil, after: 0, maximumBytes: 64 << 20)
      .changeSets.map {
        let changeSet = try ChangeSet($0, with: peer.cryptography)
        let plain = try #require(changeSet.body(key: Peer.key, with: peer.cryptography))
        return try ChangeSetBody(plain, author: changeSet.header.author)
      }
  }

  @Test("330 wide rows are split into two parts within the bound on elements")
  func manyWideRowsAreSplitIntoPartsThatAReaderTakes() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run(Self.fill)
    try b.pull(from: a)
    let parts = try bodies(a)
    #expect(parts.reduce(0) { $0 + $1.elementCount } > 330 * Self.columns)
    #expect(parts.allSatisfy { $0.elementCount <= Limits.elements })
    // As few parts as the bound allows.
    #expect(parts.count == 2)
    #expect(try b.rows("SELECT count(*) FROM wide") == ["330"])
    #expect(try a.digest() == b.digest())
  }

  @Test("a list of columns is found by an index, because rows of others may have any number of lists")
  func listsOfColumnsAreFound() throws {
    let plan = try peer(1).rows("EXPLAIN QUERY PLAN SELECT id FROM mesh_layout WHERE tbl = 1 AND columns = '[1]'")
    #expect(plan.count == 1 && plan[0].contains("USING COVERING INDEX"))
  }

  @Test("names are in the order of their bytes, the shorter first", arguments: ["", "a", "ab", "b", "\u{0}", "ä"])
  func orderOfNames(name: String) {
    for other in ["", "a", "aa", "ab", "abc", "b", "\u{0}a", "z", "ä", "ö"] {
      let (left, right) = (Array(name.utf8), Array(other.utf8))
      #expect(ColumnName.areInOrder(left, right) == left.lexicographicallyPrecedes(right))
      #expect(ColumnName.areInOrder(right, left) == right.lexicographicallyPrecedes(left))
    }
  }

  @Test("a table with as many columns as SQLite allows may be in a share that is read-only here")
  func readOnlyShare() throws {
    let columns = (0..<1_999).map { "c\($0) INTEGER" }.joined(separator: ", ")
    let peer = try Peer(1, schema: "CREATE TABLE wide (id TEXT PRIMARY KEY NOT NULL, \(columns))", track: ["wide"])
    let other = ZoneID([UInt8](repeating: 9, count: 32)).unsafe
    try peer.store.zones.setStandings([
      ZoneStanding(zone: Peer.zone, role: .privateZone),
      ZoneStanding(zone: other, role: .readOnly, root: RecordName(table: "wide", key: .text("L"))),
    ])
    #expect(
      try peer.rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'mesh_permit_%_update'") == ["1"])
    try peer.run("INSERT INTO wide (id) VALUES ('mine'); UPDATE wide SET c1998 = 1")
    #expect(try peer.rows("SELECT c1998 FROM wide") == ["1"])
  }

  @Test("wide rows that are written again after a revert stay within the bound")
  func whatIsWrittenAgainAfterACutIsWithinTheBoundToo() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run(Self.fill)
    try b.pull(from: a)
    let first = a.author
    for (peer, aftermath) in [(a, Aftermath.writtenAgain), (b, .kept)] {
      peer.cuts = [first: 0]
      try peer.store.merges.revert(
        peer.cuts, aftermath: [first: aftermath], zone: Peer.zone, peer.reader, now: peer.now)
    }
    try a.renew(InstanceID(77))
    var parts = 0
    while try a.store.localWrites.writeAgain(a.writer, now: a.now) != nil { parts += 1 }
    #expect(parts > 1)
    try b.pull(from: a)
    #expect(try bodies(a).allSatisfy { $0.elementCount <= Limits.elements })
    #expect(try b.rows("SELECT count(*) FROM wide") == ["330"])
    #expect(try a.digest() == b.digest())
  }
}
