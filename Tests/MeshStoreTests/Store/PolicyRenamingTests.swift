import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Columns with a policy that machines rename one after the other, while programs go on counting.
@Suite struct PolicyRenamingTests {
  private static let rename = "ALTER TABLE item RENAME COLUMN n TO m"

  private func peer(_ seed: UInt8, column: String = "n") throws -> Peer {
    let peer = try Peer(
      seed, schema: "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, \(column) INTEGER, title TEXT)", track: ["item"])
    if column == "n" { try peer.store.schema.setPolicies(["item": ["n": .counter]], now: peer.now) }
    return peer
  }

  private func peers(_ count: UInt8 = 3) throws -> [Peer] {
    let peers = try (1...count).map { try peer($0) }
    try peers[0].run("INSERT INTO item VALUES ('a', 5, 't')")
    for peer in peers {
      try synchronize(peers)
      try peer.run("UPDATE item SET n = n + 1")
    }
    try synchronize(peers)
    return peers
  }

  private func policies(_ peer: Peer) throws -> [String] {
    try peer.store.schema.columnPolicies().map { "\($0.column) \($0.policy.name)" }
  }

  @Test("counts go on under a column's new name, and so does the policy")
  func renamedCounter() throws {
    let peers = try peers()
    try peers[0].run("\(Self.rename); UPDATE item SET m = m + 10")
    try peers[0].flush()
    try peers[0].run("UPDATE item SET m = m + 100")
    for peer in peers[1...] { try peer.run("UPDATE item SET n = n + 1000") }
    try synchronize(peers)
    for peer in peers[1...] { try peer.run("UPDATE item SET n = n + 1000") }
    try synchronize(peers)
    try expectEqual([peers[0]], "SELECT m FROM item", ["4118"])
    for peer in peers[1...] {
      try peer.run(Self.rename)
      try peer.run("UPDATE item SET m = m + 10000")
    }
    try synchronize(peers)
    for peer in peers { #expect(try policies(peer) == ["m counter"]) }
    for peer in peers { try peer.run("UPDATE item SET m = m + 100000") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT m FROM item", ["324118"])
    try expectNoConflicts(peers)
    #expect(
      try peers.allSatisfy { try $0.store.figures.heldCounts().isEmpty && $0.store.localWrites.pendingCount() == 0 })
    // A file that never had the former name shows the same.
    let late = try peer(9, column: "m")
    try late.pull(from: peers[1])
    try expectEqual([late] + peers, "SELECT m FROM item", ["324118"])
  }

  @Test("counters that are renamed at random moments end exact", arguments: TestSeeds.through(12 as UInt64))
  func randomRenamings(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let peers = try peers()
    var (sum, names) = (8, ["n", "n", "n"])
    func look() throws {
      for peer in peers { try peer.flush() }
    }
    for _ in 0..<40 {
      let place = Int.random(in: 0..<3, using: &generator)
      let peer = peers[place]
      switch Int.random(in: 0..<8, using: &generator) {
      case 0..<4:
        let number = Int.random(in: -9...9, using: &generator)
        sum += number
        try peer.run("UPDATE item SET \(names[place]) = \(names[place]) + \(number)")
      case 4: try peer.flush()
      case 5 where names[place] == "n":
        try peer.run(Self.rename)
        names[place] = "m"
      default: try peer.pull(from: peers[Int.random(in: 0..<3, using: &generator)])
      }
    }
    for place in 0..<3 where names[place] == "n" { try peers[place].run(Self.rename) }
    try synchronize(peers)
    try expectEqual(peers, "SELECT m FROM item", ["\(sum)"])
    try expectNoConflicts(peers)
    for peer in peers { #expect(try policies(peer) == ["m counter"] && peer.store.localWrites.pendingCount() == 0) }
    let late = try peer(9, column: "m")
    try late.pull(from: peers[1])
    try expectEqual([late], "SELECT m FROM item", ["\(sum)"])
  }

  @Test("first increments count once if another column is renamed before they are flushed", arguments: [false, true])
  func otherColumnRenamed(isRenamedFirst: Bool) throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO item VALUES ('a', 5, 't')")
    try synchronize([a, b])
    let statements = ["UPDATE item SET n = n + 10", "ALTER TABLE item RENAME COLUMN title TO name"]
    for sql in isRenamedFirst ? statements.reversed() : statements { try a.run(sql) }
    try a.run("UPDATE item SET n = n + 100")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT n FROM item", ["115"])
    #expect(try a.store.zones.digest(Peer.zone) == b.store.zones.digest(Peer.zone))
    try b.run("UPDATE item SET n = n + 1000")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT n FROM item", ["1115"])
  }

  @Test("a counter that is renamed and renamed back keeps its counts")
  func renamedBack() throws {
    let peers = try peers()
    try peers[0].run(Self.rename)
    try peers[0].flush()
    try peers[0].run("UPDATE item SET m = m + 10")
    try synchronize(peers)
    try peers[0].run("ALTER TABLE item RENAME COLUMN m TO n")
    try peers[0].flush()
    for peer in peers { try peer.run("UPDATE item SET n = n + 100") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["318"])
    for peer in peers { #expect(try policies(peer) == ["n counter"]) }
  }

  @Test("a renamed table keeps its counts and its policies")
  func renamedTable() throws {
    let peers = try peers()
    for peer in peers {
      try peer.run("UPDATE item SET n = n + 10")
      try peer.run("ALTER TABLE item RENAME TO post")
      try peer.flush()
      try peer.store.tables.untrack(["item"])
      try peer.store.tables.track(tables: ["post"], now: peer.now)
      try peer.run("UPDATE post SET n = n + 100")
    }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM post", ["338"])
    for peer in peers { try peer.run("UPDATE post SET n = n + 1000") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM post", ["3338"])
    for peer in peers { #expect(try policies(peer) == ["n counter"]) }
  }
}
