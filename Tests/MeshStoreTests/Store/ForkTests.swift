import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

private let schema = """
  CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, note TEXT);
  CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list(id) ON DELETE CASCADE, done INTEGER)
  """

/// What becomes of files when an author's line forks: in every order equal, and nothing lost.
@Suite struct ForkTests {
  private func peer(_ seed: UInt8) throws -> Peer { try Peer(seed, schema: schema, track: ["list", "item"]) }

  /// Two files of one device, and three devices, that share a first unit.
  private struct World {
    let one: Peer
    let other: Peer
    let peers: [Peer]
    var readers: [Peer] { Array(peers[2...]) }
    let limit: UInt64

    init(_ make: (UInt8) throws -> Peer) throws {
      one = try make(1)
      other = try make(1)
      peers = try [one, other] + (2...4).map { try make($0) }
      try one.run(
        "INSERT INTO list VALUES ('a', 'first', NULL), ('b', 'first', NULL); INSERT INTO item VALUES ('x', 'b', 0)")
      for peer in peers[1...] { try peer.pull(from: one) }
      limit = try one.store.log.mergedVector(Peer.zone)[one.author]
    }

    /// As a node does it once it knows the proof.
    func cut(_ peer: Peer) throws {
      try peer.flush()
      let fork = Author(device: one.author.device, instance: InstanceID(1))
      peer.cuts = [fork: limit]
      try peer.store.merges.revert(
        peer.cuts, aftermath: [fork: peer.author == fork ? .writtenAgain : .kept], zone: Peer.zone, peer.reader,
        now: peer.now)
      guard peer.author == fork else { return }
      try peer.renew(InstanceID(peer === one ? 101 : 102))
      while try peer.store.localWrites.writeAgain(peer.writer, now: peer.now) != nil {}
    }
  }

  private static let rows = "SELECT * FROM list ORDER BY id"
  private static let items = "SELECT * FROM item ORDER BY id"

  private func expectEqual(_ peers: [Peer], _ location: SourceLocation = #_sourceLocation) throws {
    for peer in peers.dropFirst() {
      #expect(try peer.digest() == peers[0].digest(), sourceLocation: location)
      #expect(try peer.rows(Self.rows) == peers[0].rows(Self.rows), sourceLocation: location)
      #expect(try peer.rows(Self.items) == peers[0].rows(Self.items), sourceLocation: location)
      #expect(try peer.store.figures.heldCounts().isEmpty, sourceLocation: location)
    }
  }

  @Test("a reverted delete is listed as a conflict until the record is deleted")
  func aDeleteThatIsCutIsKeptWhileTheRecordIsThere() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO list VALUES ('a', 'first', NULL)")
    try b.pull(from: a)
    try b.run("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.rows(Self.rows).isEmpty && a.store.conflicts.list(limit: 10).allSatisfy { $0.column != nil })
    a.cuts = [b.author: 0]
    try a.store.merges.revert(a.cuts, aftermath: [b.author: .kept], zone: Peer.zone, a.reader, now: a.now)
    #expect(try a.rows(Self.rows).count == 1)
    let lost = try a.store.conflicts.list(limit: 10).filter { $0.column == nil }
    #expect(lost.map(\.key) == [.text("a")] && lost.map(\.loser.author) == [b.author])
    try a.run("DELETE FROM list WHERE id = 'a'")
    try a.flush()
    #expect(try a.store.conflicts.list(limit: 10).allSatisfy { $0.column != nil })
  }

  @Test(
    "both branches of a fork are reverted and written again, whatever the order",
    arguments: TestSeeds.through(24 as UInt64))
  func branchesAreTakenBackAndWrittenAgainInAnyOrder(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let world = try World(peer)
    let (one, other, readers) = (world.one, world.other, world.readers)
    try one.run("INSERT INTO list VALUES ('one', 'new', 'n'); UPDATE list SET title = 'one' WHERE id = 'a'")
    try one.run("DELETE FROM item WHERE id = 'x'; INSERT INTO item VALUES ('y', 'one', 1)")
    try other.run("INSERT INTO list VALUES ('other', 'new', NULL); UPDATE list SET note = 'other' WHERE id = 'a'")
    try other.run("INSERT INTO item VALUES ('z', 'other', 0)")
    // The first reader merges one branch, the second the other, the third neither; they write on top of it.
    try readers[0].pull(from: one)
    try readers[1].pull(from: other)
    try readers[0].run("UPDATE list SET note = 'on top' WHERE id = 'one'; INSERT INTO item VALUES ('on', 'one', 2)")
    try readers[1].run("UPDATE list SET note = 'on top' WHERE id = 'other'; UPDATE item SET done = 9 WHERE id = 'z'")
    try readers[2].run("UPDATE list SET title = 'aside' WHERE id = 'b'")
    var uncut = world.peers.shuffled(using: &generator)
    while let next = uncut.last {
      if Int.random(in: 0..<3, using: &generator) == 0 {
        try world.cut(next)
        uncut.removeLast()
      } else if let a = world.peers.randomElement(using: &generator),
        let b = world.peers.randomElement(using: &generator),
        a !== b
      {
        try a.pull(from: b)
      }
    }
    try synchronize(world.peers)
    try synchronize(world.peers)
    try expectEqual(world.peers)
    #expect(
      try one.rows(Self.rows) == [
        "\"a\"|\"one\"|\"other\"", "\"b\"|\"aside\"|NULL", "\"one\"|\"new\"|\"on top\"", "\"other\"|\"new\"|\"on top\"",
      ])
    #expect(try one.rows(Self.items) == ["\"on\"|\"one\"|2", "\"y\"|\"one\"|1", "\"z\"|\"other\"|9"])
    for peer in world.peers { #expect(try peer.rows("SELECT * FROM mesh_rewrite").isEmpty) }
  }

  @Test("a reverted branch stays in the conflicts until its writer writes it again")
  func aBranchWhoseWriterIsGoneIsKeptWithTheConflicts() throws {
    let world = try World(peer)
    try world.one.run("UPDATE list SET title = 'lost' WHERE id = 'a'; INSERT INTO list VALUES ('new', 'lost', NULL)")
    try world.readers[0].pull(from: world.one)
    try world.cut(world.readers[0])
    let conflicts = try world.readers[0].store.conflicts.list(limit: 10)
    #expect(conflicts.filter { $0.loserValue == .text("lost") }.count == 2)
    #expect(conflicts.contains { $0.key == .text("a") && $0.winnerValue == .text("first") })
    #expect(try world.readers[0].digest() == world.readers[2].digest())
    // Its writer comes back after all.
    try world.cut(world.one)
    try world.readers[0].pull(from: world.one)
    #expect(try world.readers[0].store.conflicts.list(limit: 10).allSatisfy { $0.loserValue != .text("lost") })
  }

  @Test("a row that a cut took away comes back by the number of its conflict")
  func lostRowIsRestored() throws {
    let world = try World {
      try Peer(
        $0, schema: schema + "; CREATE TABLE tag (id TEXT PRIMARY KEY NOT NULL)", track: ["list", "item", "tag"])
    }
    let reader = world.readers[0]
    try world.one.run("INSERT INTO list VALUES ('new', 'lost', 'note'); INSERT INTO tag VALUES ('alone')")
    try reader.pull(from: world.one)
    try world.cut(reader)
    #expect(try reader.rows("SELECT * FROM list WHERE id = 'new'").isEmpty && reader.rows("SELECT * FROM tag").isEmpty)
    let conflicts = try reader.store.conflicts.list(limit: 10)
    for key in ["new", "alone"] {
      let number = try #require(conflicts.first { $0.key == .text(Array(key.utf8)) }?.id)
      _ = try reader.store.history.restore(.conflict(number)) { _ in reader.reader }
    }
    #expect(try reader.rows("SELECT * FROM list WHERE id = 'new'") == ["\"new\"|\"lost\"|\"note\""])
    #expect(try reader.rows("SELECT * FROM tag") == ["\"alone\""])
    try reader.flush()
    #expect(try reader.store.conflicts.list(limit: 10).isEmpty, "what came back is not lost any more")
  }

  @Test("a revert removes a unit of many parts, and its writers write it again")
  func aForkInsideAUnitOfManyPartsEndsBeforeTheUnit() throws {
    let world = try World(peer)
    for (peer, name) in [(world.one, "p"), (world.other, "q")] {
      try peer.run(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO list SELECT '\(name)' || i, i, NULL FROM n
        """)
    }
    try world.readers[0].pull(from: world.one)
    // The second reader is in the middle of the other's unit.
    try world.other.flush()
    try world.readers[1].receive(from: world.other)
    world.readers[1].now = world.other.now
    #expect(
      try world.readers[1].store.merges.apply(Peer.zone, world.readers[1].reader, now: world.other.now)
        == .merged(records: 1_000, unitEnded: false))
    for peer in world.peers.reversed() { try world.cut(peer) }
    for reader in world.readers { #expect(try reader.rows("SELECT count(*) FROM list") == ["2"]) }
    try synchronize(world.peers)
    try expectEqual(world.peers)
    #expect(try world.one.rows("SELECT count(*) FROM list") == ["5002"])
  }

  @Test("long values and rows of an untracked, dropped table are written again after a revert")
  func whatWasDroppedHereMeanwhileAndLongValuesAreWrittenAgain() throws {
    let world = try World(peer)
    try world.one.run(
      "INSERT INTO list VALUES ('long', hex(randomblob(400000)), NULL); INSERT INTO item VALUES ('new', 'a', 1)")
    try world.one.flush()
    let long = try world.one.rows("SELECT title FROM list WHERE id = 'long'")
    try world.one.store.tables.untrack(["item"])
    try world.one.run("DROP TABLE item")
    try world.cut(world.one)
    try world.readers[0].pull(from: world.one)
    #expect(try world.readers[0].rows("SELECT title FROM list WHERE id = 'long'") == long)
    #expect(try world.readers[0].rows("SELECT id FROM item") == ["\"new\"", "\"x\""])
    #expect(try world.readers[0].digest() == world.one.digest())
  }

  @Test("a revert of change sets dated ahead sets the zone's clock back")
  func aCutThatTakesBackTimesAheadSetsTheClockBack() throws {
    let world = try World(peer)
    let (one, reader) = (world.one, world.readers[0])
    let now = one.now
    one.now = now + 3_600_000
    try one.run("UPDATE list SET title = 'ahead' WHERE id = 'a'")
    try one.flush()
    one.now = now
    let end = try one.store.log.unitEnd(
      Peer.zone, one.author, notLaterThan: HybridTime(milliseconds: now + Choices.clockBound))
    #expect(end == world.limit)
    try world.cut(one)
    let head = try #require(try one.store.log.mergedTips(Peer.zone)[one.author])
    #expect(head.time.milliseconds <= one.now)
    try reader.pull(from: one)
    #expect(try reader.rows("SELECT title FROM list WHERE id = 'a'") == ["\"ahead\""])
  }

  @Test("a change set waits if its time is one millisecond beyond the clock bound") func theBoundOnTimesAheadIsExact()
    throws
  {
    for (lead, waits) in [(Choices.clockBound - 1, false), (Choices.clockBound, false), (Choices.clockBound + 1, true)]
    {
      let (a, b) = (try peer(1), try peer(2))
      let now = b.now
      a.now = now + lead - 10  // a flush adds 10
      try a.run("INSERT INTO list VALUES ('a', 'x', NULL)")
      try a.flush()
      try b.receive(from: a)
      #expect(try b.apply() == (waits ? [.futureTime: 1] : [:]), "\(lead)")
      b.now = now + 1
      #expect(try b.apply() == [:])
      #expect(try b.rows("SELECT id FROM list") == ["\"a\""])
    }
  }
}
