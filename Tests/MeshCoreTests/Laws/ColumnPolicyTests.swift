import MeshCore
import Testing

/// What a row shows of a column with parts is a function of the merged cells.
@Suite struct ColumnPolicyTests {
  private typealias State = RecordState<String>

  private static let authors: [Author] = {
    var generator = Generator(seed: 35)
    return (0..<4).map { _ in generator.author() }
  }()

  private static func shown(_ state: State) -> Value? {
    var fold = ColumnFold(base: state.cells["n"]?.value ?? .null, since: state.cells["n"]?.stamp)
    for (column, cell) in state.cells {
      if let part = ColumnPart(name: column), part.column == "n" { fold.add(part.policy, cell.stamp, cell.value) }
    }
    return fold.shown
  }

  @Test("the name of a part says its policy, author and column, and no other name does")
  func names() throws {
    var generator = Generator(seed: 36)
    for _ in 0..<200 {
      let policy = generator.pick([ColumnPolicy.greatest, .least, .counter, .keepBoth])
      let part = ColumnPart(
        policy, author: generator.author(),
        column: generator.pick(["n", "Likes", "a_b", "mesh_counter", "é\"'", String(repeating: "x", count: 128)]),
        place: policy == .keepBoth ? generator.below(ColumnPart.keptValues) : 0)
      #expect(ColumnPart(name: part.name) == part)
      #expect(part.name.utf8.count <= Limits.name)
      for count in 0..<90 { #expect(ColumnPart(name: String(part.name.prefix(count))) == nil) }
      #expect(ColumnPart(name: part.name.uppercased()) == nil && ColumnPart(name: "x" + part.name) == nil)
    }
    let digits = String(repeating: "0", count: 80)
    let others = ["mesh_counter1_\(digits)_n", "mesh_keepboth0_\(digits)_n", "mesh_keepboth8_\(digits)_n"]
    for name in others + [
      "mesh_last_\(digits)_n", "mesh_counter_\(digits)_", "mesh_counter_\(digits)n", "mesh_counter__n",
    ] {
      #expect(ColumnPart(name: name) == nil)
    }
    #expect(ColumnPart(name: "mesh_counter_\(digits)_" + String(repeating: "x", count: 129)) == nil)
  }

  /// Each author counts and assigns with what it has merged. All merge in any order, and some twice.
  @Test("in whatever order increments and assignments are merged, all show the same", arguments: 1...100)
  func anyOrder(seed: UInt64) throws {
    var generator = Generator(seed: seed)
    let base = State.Cell(stamp: Stamp(time: HybridTime(1), author: Self.authors[0]), value: .integer(10))
    var states = Array(repeating: State(generation: 1, life: base.stamp, cells: ["n": base]), count: Self.authors.count)
    var clock: UInt64 = 1
    var sum: Int64 = 10
    for _ in 0..<30 {
      let place = generator.below(Self.authors.count)
      clock += UInt64(generator.below(3))
      if generator.flag() {
        states[place].merge(states[generator.below(states.count)])
        continue
      }
      let name = ColumnPart(.counter, author: Self.authors[place], column: "n").name
      let known: Int64 = if case .integer(let own)? = states[place].cells[name]?.value { own } else { 0 }
      let increment = Int64(generator.below(19)) - 9
      sum += increment
      clock += 1
      let stamp = Stamp(time: HybridTime(clock), author: Self.authors[place])
      states[place].merge(
        State(generation: 1, cells: [name: State.Cell(stamp: stamp, value: .integer(known + increment))]))
    }
    for turn in states.indices {
      var joined = State()
      for place in states.indices { joined.merge(states[(place + turn) % states.count]) }
      joined.merge(states[turn])
      #expect(Self.shown(joined) == .integer(sum))
    }
  }

  @Test("sums are exact beyond 64 bits, and what is shown is limited to them")
  func limits() {
    let stamp = Stamp(time: HybridTime(1), author: Self.authors[0])
    func shown(_ base: Value, _ parts: [Int64]) -> Value? {
      var fold = ColumnFold(base: base, since: stamp)
      for part in parts { fold.add(.counter, stamp, .integer(part)) }
      return fold.shown
    }
    #expect(shown(.integer(.max), [.max, .max]) == .integer(.max))
    #expect(shown(.integer(.min), [.min, .min]) == .integer(.min))
    #expect(shown(.integer(.max), [.max, .min, -5]) == .integer(.max - 6))
    #expect(shown(.null, [5]) == .null && shown(.text("x"), [5]) == .text("x"))
    var kept = ColumnFold(base: .text("x"), since: nil)
    kept.add(.keepBoth, stamp, .text("y"))
    #expect(kept.shown == .text("x"))
    #expect(shown(.real(1.5), [5]) == .real(1.5) && shown(.blob([1]), [5]) == nil)
  }

  @Test("the greatest and the least part win if they are later than the assigned value")
  func greatestAndLeast() {
    func stamp(_ time: UInt64) -> Stamp { Stamp(time: HybridTime(time), author: Self.authors[0]) }
    func shown(_ policy: ColumnPolicy, _ base: Value, _ parts: [(UInt64, Value)]) -> Value? {
      var fold = ColumnFold(base: base, since: stamp(10))
      for (time, value) in parts { fold.add(policy, stamp(time), value) }
      return fold.shown
    }
    #expect(shown(.greatest, .integer(5), [(11, .integer(7)), (12, .integer(6)), (9, .integer(99))]) == .integer(7))
    #expect(shown(.greatest, .integer(5), [(11, .integer(4)), (12, .null), (13, .blob([1]))]) == .integer(5))
    #expect(shown(.greatest, .integer(5), [(11, .text("a")), (12, .integer(.max))]) == .text("a"))
    #expect(shown(.least, .integer(5), [(11, .integer(7)), (12, .real(4.5)), (9, .integer(-99))]) == .real(4.5))
    #expect(shown(.least, .null, [(11, .integer(7)), (12, .integer(8))]) == .integer(7))
  }
}
