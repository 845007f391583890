import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Several small units in one transaction of the merge.
@Suite struct MergedTogetherTests {
  private let peer: Peer
  private let time: HybridTime

  init() throws {
    peer = try Peer(1, schema: "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)", track: ["t"])
    time = HybridTime(milliseconds: peer.now - 1_000)
    try peer.apply()
  }

  private func store(_ changeSets: [ChangeSet]) throws {
    let outcomes = try peer.store.store(changeSets, zone: Peer.zone, now: peer.now)
    #expect(outcomes == changeSets.map { _ in .stored })
  }

  private func time(_ index: Int) -> HybridTime { HybridTime(time.value + UInt64(index)) }

  private func keys() throws -> [String] { try peer.rows("SELECT id FROM t ORDER BY id") }

  @Test("small units of several authors that build on each other are merged in one transaction")
  func together() throws {
    var (one, two) = (try Forger(10), try Forger(11))
    for index in 0..<20 {
      // Each unit names the other author's last one, so no order but this one is possible.
      var past: [Author: CausalContext.Seen] = [:]
      let number = UInt64(index / 2)
      if index % 2 == 1 { past[one.author] = .init(number: number + 1, time: time(index - 1)) }
      if index % 2 == 0, index > 0 { past[two.author] = .init(number: number, time: time(index - 1)) }
      let births =
        index % 2 == 0
        ? one.births([index], .value(.null), time: time(index)) : two.births([index], .value(.null), time: time(index))
      let context = CausalContext(past)
      let changeSet =
        index % 2 == 0
        ? try one.make(births, time: time(index), context: context)
        : try two.make(births, time: time(index), context: context)
      try store([changeSet])
    }
    let commits = peer.store.commits
    try peer.apply()
    #expect(try keys().count == 20)
    #expect(peer.store.commits == commits + 1)
    let vector = try peer.store.mergedVector(Peer.zone)
    #expect(vector[one.author] == 10 && vector[two.author] == 10)
    let order = try peer.rows("SELECT author, number FROM mesh_order ORDER BY position")
    #expect(order.count == 20 && Set(order).count == 20)
  }

  @Test("what an author wrote before a unit that breaks a rule is merged, whatever is merged with it")
  func beforeAMalformedUnit() throws {
    var (one, other) = (try Forger(10), try Forger(11))
    for index in 0..<3 {
      try store([try one.make(one.births([index], .value(.null), time: time(index)), time: time(index))])
    }
    // A stamp that is later than its change set.
    try store([try one.make(one.births([7], .value(.null), time: time(9)), time: time(3))])
    try store([try one.make(one.births([8], .value(.null), time: time(4)), time: time(4))])
    try store([try other.make(other.births([9], .value(.null), time: time(0)), time: time(0))])
    try peer.apply()
    #expect(try keys() == ["0", "1", "2", "9"])
    #expect(try peer.store.mergedVector(Peer.zone)[one.author] == 3)
    #expect(try peer.rows("SELECT malformed IS NOT NULL FROM mesh_head ORDER BY malformed") == ["0", "1"])
  }
}
