import MeshCore
import Testing

@testable import MeshStore

/// What no body may say, each rule at its bound and one beyond.
@Suite struct ChangeRulesTests {
  private let own: Author
  private let other: Author
  private let time = HybridTime(milliseconds: 1_800_000_000_000)

  init() throws {
    own = try Forger(1).author
    other = try Forger(2).author
  }

  private func row(
    generation: UInt64 = 1, isLife: Bool = true, stamp: Stamp? = nil, fields: [RowChange.Field] = []
  ) -> RowChange {
    RowChange(
      key: .integer(1), generation: generation, isLife: isLife, stamp: stamp ?? Stamp(time: time, author: own),
      fields: fields)
  }

  private func isRefused(
    _ rows: [RowChange], table: String = "t", columns: [String] = ["v"], time: HybridTime? = nil
  ) -> Bool {
    let header = ChangeSetHeader(
      zone: Peer.zone, author: own, number: 1, previous: nil, time: time ?? self.time, epoch: Peer.epoch, part: .only)
    let body = ChangeSetBody(
      context: CausalContext(), content: .changes([TableChanges(table: table, columns: columns, rows: rows)]))
    do {
      try ChangeRules.check(body, header)
      return false
    } catch {
      return true
    }
  }

  @Test("names are those of tables and columns that an app can have")
  func namesAreThoseOfTablesAndColumnsThatAnAppCanHave() {
    #expect(!isRefused([row()]))
    for name in ["", "mesh_log", "MESH_x", "mesh_\u{301}", "sqlite_master", "t\0", "t\0a"] {
      #expect(isRefused([row()], table: name), "\(name)")
    }
    for columns in [[""], ["v", "v"], ["v", "w", "V"], ["v\0"], ["v", "\0"]] {
      #expect(isRefused([row()], columns: columns), "\(columns)")
    }
    #expect(!isRefused([row()], columns: ["v", "w", "ä", "Ä"]), "SQLite folds ASCII alone")
    #expect(!isRefused([row()], columns: ["\u{e4}", "a\u{308}"]), "two names for SQLite, one text for Swift")
  }

  @Test("no stamp is later than its change set") func noStampIsLaterThanItsChangeSet() {
    let late = Stamp(time: time.next, author: own)
    #expect(isRefused([row(stamp: late)]))
    #expect(isRefused([row(fields: [.init(column: 0, stamp: late, value: .value(.null))])]))
    let earlier = Stamp(time: HybridTime(time.value - 1), author: own)
    #expect(!isRefused([row(stamp: earlier)]))
    #expect(!isRefused([row(fields: [.init(column: 0, stamp: earlier, value: .value(.null))])]))
  }

  @Test("another's stamps come with a birth alone") func anothersStampsComeWithABirthAlone() {
    let foreign = Stamp(time: time, author: other)
    let field = RowChange.Field(column: 0, stamp: foreign, value: .value(.null))
    #expect(!isRefused([row(stamp: foreign, fields: [field])]), "a record that moved")
    #expect(isRefused([row(isLife: false, stamp: foreign)]), "an edit")
    #expect(isRefused([row(isLife: false, fields: [field])]), "an edit of one column")
    #expect(isRefused([row(generation: 2, stamp: foreign)]), "a delete")
  }

  @Test("a generation is at most twice the time at which it was signed", arguments: [1, 3, 1_800_000_000_000 << 16])
  func boundsGenerationsByTime(time: UInt64) {
    func isRefused(_ generation: UInt64) -> Bool {
      let stamp = Stamp(time: HybridTime(time), author: own)
      return self.isRefused([row(generation: generation, stamp: stamp)], time: HybridTime(time))
    }
    #expect(!isRefused(2 * time))
    #expect(isRefused(2 * time + 1))
    #expect(isRefused(.max))
  }

  @Test("a later change set may always raise what an earlier one was allowed to write")
  func leavesRoomAboveEachGeneration() {
    for time in [1, 77, time.value, UInt64.max / 2 - 1] {
      let greatest = HybridTime(time).greatestGeneration
      #expect(greatest.nextLife <= HybridTime(time).next.greatestGeneration)
    }
    #expect(HybridTime(.max).greatestGeneration == .max)
    #expect(UInt64.max.nextLife == .max && UInt64.max.nextGeneration == .max)
  }

  @Test("the long values of a part are bounded together") func theLongValuesOfAPartAreBoundedTogether() {
    func fields(_ sizes: Int...) -> [RowChange.Field] {
      sizes.enumerated().map { .init(column: $0, value: .long(ordinal: UInt64($0), size: $1, isText: true)) }
    }
    let columns = ["v", "w"]
    #expect(!isRefused([row(fields: fields(Limits.longValue - 1, 1))], columns: columns))
    #expect(isRefused([row(fields: fields(Limits.longValue, 1))], columns: columns))
    #expect(isRefused([row(fields: fields(Limits.longValue)), row(fields: fields(1))], columns: columns))
  }
}
