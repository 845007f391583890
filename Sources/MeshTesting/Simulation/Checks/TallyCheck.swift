import MeshCore
import MeshReplication

/// Checks the columns with policies.
struct TallyCheck: MeshPart {
  let mesh: SimulatedMesh

  /// Checks that each counter is the sum of what all apps committed, that the greatest and the least value of all are
  /// shown, and that the last text of each device is kept.
  ///
  /// Writes of files that were replaced may be gone, and so may those of devices that were revoked and those to shares
  /// in which something was cut. Rows that two devices inserted before their first start have the count of one of them.
  /// Then the values must lie within the bounds that the other writes leave. The values of liars are unknown.
  func check(_ oracles: [ZoneID: Oracle]) throws {
    guard plan.counts > 0, !nodes.contains(where: \.isLiar) else { return }
    let isCut = try zones.all.contains { zone in
      guard zone.root != nil, let state = try zones.authority(zone) else { return zone.root != nil }
      return state.isStopped || !state.cuts.isEmpty || !state.ends.isEmpty
    }
    for record in Set(nodes.flatMap(\.tallies.keys)).sorted() {
      let places = oracles.values.compactMap { $0.states[record] }.filter(\.isAlive)
      // Two devices moved it at the same time, and it has a life in each of the zones.
      guard places.count <= 1 else {
        say(nil, "\(record) is in \(places.count) zones")
        continue
      }
      let mayBeGone = { (node: SimulatedNode) in isCut || node.isRevoked || node.isStopped || node.hasOtherHistory }
      let inserting = nodes.count { $0.tallies[record]?.mayHaveInserted == true }
      var (sure, unsure) = (TalliedWrites.Values(), TalliedWrites.Values())
      var last: [String] = []
      for node in nodes {
        guard let written = node.tallies[record] else { continue }
        unsure = unsure + written.unsure
        if mayBeGone(node) {
          unsure = unsure + written.sure
        } else {
          sure = sure + written.sure
          // If two machines insert the same row, one of the inserted counts is there.
          if inserting > 1 { unsure = unsure + sure.takeCounts(written.takenIn) }
          let isKept = !written.mayHaveInserted && written.unsure.notes.isEmpty
          if isKept, let note = written.sure.notes.last { last.append(note) }
        }
      }
      // A device whose file lacked the row may have created it again, with values that replace those of others.
      if nodes.contains(where: { $0.tallies[record] != nil && $0.hasOtherHistory }) {
        unsure = unsure + sure.withoutCounts
        sure = sure.onlyCounts
      }
      let expected = Expected(sure, unsure)
      say(nil, "\(record) is to have \(expected)")
      for node in honest {
        guard let row = try node.database.contents([AppSchema.tally.name])[record] else { continue }
        for fault in expected.faults(row) { violate("n\(node.index) shows \(fault) in \(record)") }
      }
      guard let state = places.first else { continue }
      let kept = state.cells.filter { ColumnPart(name: $0.key)?.policy == .keepBoth }.map(\.value.value)
      for note in last where !kept.contains(.text(note)) {
        violate("the last note \(note) of a device is not kept in \(record)")
      }
    }
  }

  /// The values that a row may show.
  private struct Expected: CustomStringConvertible {
    let count: ClosedRange<Int>
    /// The values that were written, of which those up to the bound are beaten for sure.
    let best: (values: Set<Int>, bound: Int?)
    let least: (values: Set<Int>, bound: Int?)

    init(_ sure: TalliedWrites.Values, _ unsure: TalliedWrites.Values) {
      let sum = sure.counts.reduce(0, +)
      count =
        sum + unsure.counts.reduce(0) { $0 + min(0, $1) }...sum + unsure.counts.reduce(0) { $0 + max(0, $1) }
      best = (Set(sure.best + unsure.best), sure.best.max())
      least = (Set(sure.least + unsure.least), sure.least.min())
    }

    var description: String {
      func text(_ value: Int?) -> String { value.map { "\($0)" } ?? "none" }
      return "count \(count), best \(text(best.bound)), least \(text(least.bound))"
    }

    func faults(_ row: [String: Value]) -> [String] {
      var faults: [String] = []
      let number = { (column: String) -> Int? in
        if case .integer(let value) = row[column] ?? .null { Int(value) } else { nil }
      }
      if !(number("count").map(count.contains) ?? false) { faults.append("count \(row["count"]?.shown ?? "nothing")") }
      if !Self.fits(number("best"), best, { $0 >= $1 }) { faults.append("best \(row["best"]?.shown ?? "nothing")") }
      if !Self.fits(number("least"), least, { $0 <= $1 }) { faults.append("least \(row["least"]?.shown ?? "nothing")") }
      return faults.map { "\($0), which is to be within \(self)," }
    }

    private static func fits(
      _ shown: Int?, _ expected: (values: Set<Int>, bound: Int?), _ beats: (Int, Int) -> Bool
    ) -> Bool {
      guard let shown else { return expected.bound == nil }
      return expected.values.contains(shown) && expected.bound.map { beats(shown, $0) } ?? true
    }
  }
}
