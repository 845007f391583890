import MeshCore
import Testing

@testable import MeshStore

/// A merge that flushes the local writes of several zones in its transaction.
@Suite struct FlushInMergeTests {
  private typealias Heads = [ZoneID: [UInt64]]

  private let zones = [SharedList.home, SharedList.share]

  /// Flushes and merges until nothing is left. Returns the numbers of the change sets to announce.
  private func finish(_ member: Member) throws -> Heads {
    var heads: Heads = [:]
    for zone in zones {
      for _ in 0..<100 {
        let progress = try member.store.localWrites.flush(member.writers(), now: member.now)
        if let zone = progress.zone, let head = progress.head { heads[zone, default: []].append(head.number) }
        if progress.hasMore { continue }
        let merge = try member.store.merges.apply(
          zone, member.reader(zone), flushing: member.writers(), now: member.now)
        if case .idle = merge { break }
        guard case .merged(_, _, let flushed) = merge else { continue }
        for (zone, head) in flushed { heads[zone, default: []].append(head.number) }
      }
    }
    return heads
  }

  private func stored(_ member: Member) throws -> [ZoneID: UInt64] {
    try zones.reduce(into: [:]) { $0[$1] = try member.store.log.storedVector($1)[member.author($1)] }
  }

  @Test("writes of two zones that a merge flushes are announced with it")
  func together() throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    try converge([alice, laptop])
    try laptop.run("UPDATE reminders SET title = 'of the laptop' WHERE id = 'r1'")
    try laptop.settle()
    try alice.store(of: SharedList.share, from: laptop)
    try alice.run("INSERT INTO reminders VALUES ('r3', 'M', 'new', 0); UPDATE steps SET title = 'new' WHERE id = 's1'")
    let before = try stored(alice)
    let merge = try alice.store.merges.apply(
      SharedList.share, alice.reader(SharedList.share), flushing: alice.writers(), now: alice.now)
    guard case .merged(1, unitEnded: true, let flushed) = merge else {
      Issue.record("\(merge)")
      return
    }
    #expect(flushed.mapValues(\.number) == before.mapValues { $0 + 1 })
    #expect(try stored(alice) == before.mapValues { $0 + 1 })
    try converge([alice, laptop])
    #expect(try alice.contents() == laptop.contents())
  }

  @Test("if the second zone needs a flush of its own, the first one's writes are announced once and none is lost")
  func secondNeedsItsOwn() throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    try converge([alice, laptop])
    try laptop.run("UPDATE reminders SET title = 'of the laptop' WHERE id = 'r1'")
    try laptop.settle()
    try alice.store(of: SharedList.share, from: laptop)
    // A long value is sent in pieces, each in a transaction of its own.
    let long = String(repeating: "x", count: 3 << 20)
    try alice.run(
      "INSERT INTO reminders VALUES ('r3', 'M', 'new', 0); UPDATE steps SET title = '\(long)' WHERE id = 's1'")
    let (before, pending) = (try stored(alice), try alice.store.localWrites.pendingCount())
    let digests = try zones.map(alice.store.zones.digest)

    #expect(
      try alice.store.merges.apply(
        SharedList.share, alice.reader(SharedList.share), flushing: alice.writers(), now: alice.now) == .flushFirst)
    #expect(try stored(alice) == before)
    #expect(try alice.store.localWrites.pendingCount() == pending)
    #expect(try zones.map(alice.store.zones.digest) == digests)

    let heads = try finish(alice)
    let after = try stored(alice)
    #expect(heads[SharedList.home] == [before[SharedList.home].unsafe + 1])
    #expect(after[SharedList.home] == before[SharedList.home].unsafe + 1)
    // The pieces have numbers as well, and the unit is announced at its end.
    #expect(heads[SharedList.share] == [after[SharedList.share].unsafe])
    #expect(after[SharedList.share].unsafe > before[SharedList.share].unsafe + 1)
    #expect(try alice.store.localWrites.pendingCount() == 0)

    try converge([alice, laptop])
    #expect(try alice.contents() == laptop.contents())
    let texts = "SELECT title FROM reminders WHERE id IN ('r1', 'r3') ORDER BY id"
    #expect(try laptop.rows(texts) == ["of the laptop", "new"])
    #expect(try laptop.rows("SELECT length(title) FROM steps WHERE id = 's1'") == ["\(long.count)"])
    for zone in zones {
      #expect(try alice.store.log.mergedVector(zone) == laptop.store.log.mergedVector(zone))
      #expect(try alice.store.zones.digest(zone) == laptop.store.zones.digest(zone))
    }
  }
}
