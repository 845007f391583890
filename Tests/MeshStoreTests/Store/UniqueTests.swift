import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// A `UNIQUE` that appeared after tracking: which of the rows that can't be together are shown does not depend on the order.
@Suite struct UniqueTests {
  private static let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT COLLATE NOCASE, w INTEGER)"

  private func peer(_ seed: UInt8) throws -> Peer {
    let peer = try Peer(seed, schema: Self.schema, track: ["t"])
    try peer.run("CREATE UNIQUE INDEX one ON t (v); CREATE UNIQUE INDEX two ON t (w, v)")
    try peer.upkeep()
    return peer
  }

  @Test("a UNIQUE index that appears or disappears is no fault, unlike a dropped trigger")
  func anIndexThatComesOrGoesIsNoDamage() throws {
    let peer = try peer(1)
    #expect(try peer.store.capture.repairs.triggers.isEmpty && peer.store.capture.faults().isEmpty)
    try peer.run("DROP INDEX two; DROP INDEX one; CREATE UNIQUE INDEX other ON t (w)")
    #expect(try peer.store.capture.faults().isEmpty, "nobody has looked yet, and all is captured")
    try peer.upkeep()
    try peer.run("DROP INDEX other")
    try peer.upkeep()
    #expect(peer.store.capture.repairs.triggers.isEmpty)
    try peer.run("DROP TRIGGER mesh_capture_1_update")
    #expect(try peer.store.capture.faults() == [.triggers("t")])
    try peer.upkeep()
    #expect(peer.store.capture.repairs.triggers == ["t": 1])
  }

  private func shown(_ peer: Peer) throws -> [String] { try peer.rows("SELECT id, v FROM t ORDER BY id") }

  @Test("of two rows with one UNIQUE value, the row with the lesser key is shown")
  func theLesserKeyIsShownWhoeverCameFirst() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO t VALUES ('a', 'x', 1), ('d', 'y', 1)")
    try b.run("INSERT INTO t VALUES ('b', 'X', 2), ('c', 'y', 2)")
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(try shown(peer) == ["\"a\"|\"x\"", "\"c\"|\"y\""])
      let held = try peer.store.held.list(limit: 9)
      #expect(held.map(\.reason) == [.constraint, .constraint])
      #expect(held.allSatisfy { $0.message?.contains("UNIQUE") == true })
    }
    // What was in the way changes, or goes: the next one is shown, at once.
    try b.run("UPDATE t SET v = 'free' WHERE id = 'a'")
    try a.run("DELETE FROM t WHERE id = 'c'")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try shown(peer) == ["\"a\"|\"free\"", "\"b\"|\"X\"", "\"d\"|\"y\""]) }
    #expect(try a.digest() == b.digest() && a.store.figures.status().held.isEmpty)
    #expect(try a.flush() == 0 && b.flush() == 0)
  }

  @Test("both rows with the same value appear when the UNIQUE index is dropped") func withoutTheIndexAllAreShown()
    throws
  {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO t VALUES ('a', 'x', 1)")
    try b.run("INSERT INTO t VALUES ('b', 'x', 2)")
    try synchronize([a, b])
    for peer in [a, b] {
      try peer.run("DROP INDEX one")
      try peer.upkeep()
      try peer.apply()
      #expect(try shown(peer) == ["\"a\"|\"x\"", "\"b\"|\"x\""])
    }
  }

  /// Of the merged state, in the order of keys.
  private func greedy(_ peer: Peer) throws -> [String] {
    let loose = try Peer(99, schema: Self.schema, track: ["t"])
    try loose.pull(from: peer)
    var taken: Set<String> = []
    return try loose.rows("SELECT id, v, lower(v) FROM t ORDER BY id").compactMap { row in
      let parts = row.split(separator: "|").map(String.init)
      guard parts[2] == "NULL" || taken.insert(parts[2]).inserted else { return nil }
      return parts[0] + "|" + parts[1]
    }
  }

  @Test("random histories end with the rows that the order of keys determines", arguments: TestSeeds.through(30))
  func anyHistoryEndsWithWhatTheOrderOfKeysSays(seed: Int) throws {
    var dice = Dice(state: UInt64(seed) &* 0x9e37_79b9_7f4a_7c15)
    let peers = try (1...3).map { try peer(UInt8($0)) }
    for _ in 0..<50 {
      let peer = peers[dice.roll(3)]
      peer.now += Int64(dice.roll(40))
      let (key, value) = ("k\(dice.roll(7))", dice.roll(6) == 0 ? "NULL" : "'\(["x", "y", "z", "X"][dice.roll(4)])'")
      switch dice.roll(10) {
      case 0...3: try? peer.run("INSERT INTO t VALUES ('\(key)', \(value), \(dice.roll(3)))")
      case 4, 5: try? peer.run("UPDATE t SET v = \(value) WHERE id = '\(key)'")
      case 6: try? peer.run("DELETE FROM t WHERE id = '\(key)'")
      case 7: try peer.flush()
      default: try peer.pull(from: peers[dice.roll(3)])
      }
    }
    try synchronize(peers)
    #expect(Set(try peers.map { try $0.digest() }).count == 1)
    let expected = try greedy(peers[0])
    for peer in peers { #expect(try shown(peer) == expected) }
  }

  /// SQLite tells no trigger of what `REPLACE` deletes.
  @Test(
    "a row that REPLACE displaces is deleted on both peers",
    arguments: [
      "REPLACE INTO t VALUES ('z', 'X', 9)", "UPDATE OR REPLACE t SET v = 'X' WHERE id = 'b'",
      "INSERT OR REPLACE INTO t SELECT id, 'X', 8 FROM t WHERE id = 'b'",
    ],
    [
      "", "UPDATE t SET w = 5 WHERE id = 'a'", "UPDATE t SET v = 'other' WHERE id = 'a'",
      "DELETE FROM t WHERE id = 'a'",
    ])
  func aRowThatReplaceDisplacedIsDeletedEverywhere(replace: String, meanwhile: String) throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO t VALUES ('a', 'x', 1), ('b', 'y', 2)")
    try synchronize([a, b])
    if !meanwhile.isEmpty { try b.run(meanwhile) }
    try a.run(replace)
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT id FROM t WHERE id = 'a'").isEmpty) }
    #expect(try a.digest() == b.digest())
    #expect(try shown(a) == shown(b))
  }

  @Test("an insert that is ignored, refused or equal sends nothing") func whatDisplacesNothingSaysNothing() throws {
    let a = try peer(1)
    try a.run("INSERT INTO t VALUES ('a', 'x', 1), ('b', 'y', 2)")
    try a.flush()
    try a.run("INSERT OR IGNORE INTO t VALUES ('z', 'x', 9)")
    #expect(throws: (any Error).self) { try a.run("INSERT INTO t VALUES ('z', 'x', 9)") }
    try a.run("INSERT INTO t VALUES ('a', 'x', 1) ON CONFLICT (v) DO UPDATE SET w = excluded.w")
    #expect(try a.flush() == 0 && a.store.localWrites.pendingCount() == 0)
  }
}
