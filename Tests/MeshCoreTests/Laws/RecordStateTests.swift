import MeshCore
import Testing

/// The merge of records is the join of a lattice.
@Suite struct RecordStateTests {
  typealias State = RecordState<Int>

  private static let authors: [Author] = {
    var generator = Generator(seed: 21)
    return (0..<3).map { _ in generator.author() }
  }()

  /// A stamp stands for one value, everywhere: so its value is made from it.
  private static func cell(_ stamp: Stamp, _ column: Int) -> State.Cell {
    State.Cell(stamp: stamp, value: .text("\(stamp.time.value) \(stamp.author) \(column)"))
  }

  private static func joined(_ states: some Sequence<State>) -> State {
    states.reduce(into: State()) { $0.merge($1) }
  }

  // MARK: Exhaustively

  /// Two columns, three stamps of three authors and none, generations 0 to 3, born by either of two stamps or not known.
  private static let small: [State] = {
    let stamps = authors.map { Stamp(time: HybridTime(5), author: $0) }
    let choices: [Stamp?] = [nil] + stamps
    var states: Set<State> = []
    for generation in UInt64(0)...3 {
      for life in generation == 0 ? [nil] : choices.dropLast() {
        for first in choices {
          for second in choices {
            var cells: [Int: State.Cell] = [:]
            if let first { cells[0] = cell(first, 0) }
            if let second { cells[1] = cell(second, 1) }
            states.insert(State(generation: generation, life: life, cells: cells))
          }
        }
      }
    }
    return Array(states)
  }()

  @Test("merging 100 small states is idempotent, commutative and associative")
  func theLawsHoldForEveryPairAndTripleOfASmallModel() throws {
    let states = Self.small
    #expect(states.count == 100)
    let places = Dictionary(uniqueKeysWithValues: states.enumerated().map { ($1, $0) })
    // What two of these states make is one of them, so that triples are looked up.
    let joins = try states.map { a in try states.map { b in try #require(places[Self.joined([a, b])]) } }
    var failures = 0
    for a in states.indices {
      if joins[a][a] != a { failures += 1 }
      for b in states.indices {
        if joins[a][b] != joins[b][a] || joins[joins[a][b]][b] != joins[a][b] { failures += 1 }
        for c in states.indices where joins[joins[a][b]][c] != joins[a][joins[b][c]] { failures += 1 }
      }
    }
    #expect(failures == 0)
  }

  // MARK: At random

  /// What single writes of several authors to one record look like, before anything is merged.
  private static func history(_ generator: inout Generator) -> [State] {
    var used: Set<Stamp> = []
    return (0..<generator.below(12) + 2).compactMap { _ in
      let generation = UInt64(generator.below(5) + 1)
      let stamp = Stamp(time: HybridTime(UInt64(generator.below(40))), author: generator.pick(authors))
      guard used.insert(stamp).inserted else { return nil }
      let columns = generation.isAlive ? (0..<4).filter { _ in generator.flag() } : []
      return State(
        generation: generation, life: generator.flag() || !generation.isAlive ? stamp : nil,
        cells: Dictionary(uniqueKeysWithValues: columns.map { ($0, cell(stamp, $0)) }))
    }
  }

  @Test("a history merges to the same state in any order and grouping")
  func anyOrderAndGroupingOfAHistoryGivesTheSameState() {
    var generator = Generator(seed: 22)
    for _ in 0..<2_000 {
      let history = Self.history(&generator)
      let expected = Self.joined(history)
      let shuffled = history.shuffled(using: &generator) + history.prefix(generator.below(history.count))
      #expect(Self.joined(shuffled) == expected)
      let cut = generator.below(shuffled.count)
      #expect(Self.joined([Self.joined(shuffled[cut...]), Self.joined(shuffled[..<cut])]) == expected)
    }
  }

  private struct Lost: Hashable {
    let column: Int
    let loser: Stamp
  }

  @Test("a merge reports each overwritten cell once in any order of writes")
  func everyBeatenCellIsReportedOnceInWhateverOrderTheWritesCome() {
    var generator = Generator(seed: 23)
    for _ in 0..<2_000 {
      let history = Self.history(&generator)
      var state = State()
      var losses: [Lost] = []
      for write in history.shuffled(using: &generator) {
        losses += state.merge(write).map { Lost(column: $0.column, loser: $0.loser.stamp) }
      }
      let written = history.flatMap { write in write.cells.map { Lost(column: $0.key, loser: $0.value.stamp) } }
      let standing = Set(state.cells.map { Lost(column: $0.key, loser: $0.value.stamp) })
      #expect(Set(losses).count == losses.count)
      #expect(Set(losses) == Set(written).subtracting(standing))
    }
  }

  @Test("both sides of a merge report the same lost values") func bothSidesOfAMergeReportTheSameLosses() {
    var generator = Generator(seed: 24)
    for _ in 0..<2_000 {
      let history = Self.history(&generator)
      let cut = generator.below(history.count)
      let (a, b) = (Self.joined(history[..<cut]), Self.joined(history[cut...]))
      var (left, right) = (a, b)
      let here = Set(left.merge(b))
      let there = Set(
        right.merge(a).map { loss in
          var mirrored = loss
          mirrored.wasLocal.toggle()
          return mirrored
        })
      #expect(here == there)
    }
  }

  @Test("a state merged with itself stays the same and loses no value")
  func aStateMergedAgainReportsNoLossOfWhatStands() {
    var generator = Generator(seed: 25)
    for _ in 0..<500 {
      let state = Self.joined(Self.history(&generator))
      var again = state
      #expect(again.merge(state).isEmpty && again == state)
    }
  }

  @Test("a deleted or unborn row has no cells") func aDeletedGenerationHasNoColumns() {
    let stamp = Stamp(time: HybridTime(1), author: Self.authors[0])
    let deleted = State(generation: 2, life: stamp, cells: [0: Self.cell(stamp, 0)])
    #expect(deleted.cells.isEmpty && !deleted.isAlive)
    #expect(State(generation: 0, cells: [0: Self.cell(stamp, 0)]).cells.isEmpty)
  }
}
