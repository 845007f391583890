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
    let outcomes = try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
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
    let vector = try peer.store.log.mergedVector(Peer.zone)
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
    #expect(try peer.store.log.mergedVector(Peer.zone)[one.author] == 3)
    #expect(try peer.rows("SELECT malformed IS NOT NULL FROM mesh_head ORDER BY malformed") == ["0", "1"])
  }

  @Test("a unit that fits into a transaction is merged in one, though smaller ones come before it")
  func wholeUnits() throws {
    var (small, large) = (try Forger(10), try Forger(11))
    for index in 0..<100 {
      try store([try small.make(small.births([index], .value(.null), time: time(index)), time: time(index))])
    }
    let rows = Choices.slice - 10
    try store([try large.make(large.births(1_000..<1_000 + rows, .value(.null), time: time), time: time)])
    var counts: Set<Int> = []
    while case .merged = try peer.store.merges.apply(Peer.zone, peer.reader, now: peer.now) {
      counts.insert(try peer.rows("SELECT id FROM t WHERE id >= 1000").count)
      #expect(try peer.rows("SELECT 1 FROM mesh_head WHERE applied > merged OR applied_rows > 0").isEmpty)
    }
    #expect(try keys().count == 100 + rows)
    #expect(counts.isSubset(of: [0, rows]))
  }

  @Test("a large unit has its turn, however many small ones arrive")
  func largeUnitsHaveTurns() throws {
    var (small, large) = (try Forger(10), try Forger(11))
    let rows = 3 * Choices.slice
    let parts = stride(from: 0, to: rows, by: Choices.slice / 2).map { $0..<$0 + Choices.slice / 2 }
    for (index, part) in parts.enumerated() {
      let births = large.births(part.map { $0 + 10_000 }, .value(.null), time: time)
      let place = ChangeSetHeader.Part(
        index: UInt64(index), planned: UInt64(parts.count), isFinal: index == parts.count - 1)
      try store([try large.make(births, time: time(index), part: place)])
    }
    var index = 0
    func flood() throws {
      for _ in 0..<10 {
        try store([try small.make(small.births([index], .value(.null), time: time(index)), time: time(index))])
        index += 1
      }
    }
    try flood()
    for _ in 0..<12 {
      _ = try peer.store.merges.apply(Peer.zone, peer.reader, now: peer.now)
      try flood()
    }
    #expect(try peer.rows("SELECT id FROM t WHERE id >= 10000").count == rows)
  }

  @Test("edits of a record with thousands of cells are merged in several transactions")
  func wideRecords() throws {
    var author = try Forger(10)
    func change(_ columns: [String], isLife: Bool, at time: HybridTime) throws -> ChangeSet {
      let fields = columns.indices.map { RowChange.Field(column: $0, value: .value(.integer(Int64(time.value & 7)))) }
      let row = RowChange(
        key: .integer(1), generation: 1, isLife: isLife, stamp: Stamp(time: time, author: author.author), fields: fields
      )
      return try author.make(.changes([TableChanges(table: "t", columns: columns, rows: [row])]), time: time)
    }
    let columns = (0..<2_000).map { "c\(1_000 + $0)" }
    try store([try change(columns, isLife: true, at: time(0))])
    try peer.apply()
    for index in 1...50 { try store([try change([columns[0]], isLife: false, at: time(index))]) }
    let commits = peer.store.commits
    try peer.apply()
    #expect(try peer.store.log.mergedVector(Peer.zone)[author.author] == 51)
    #expect(peer.store.commits >= commits + 50 * 2_000 / StoreLimits.cellsTogether)
  }
}
