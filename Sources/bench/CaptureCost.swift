import Foundation

/// Measures the cost of capture for a writer: the same writes into the same table with and without the triggers of
/// mesh, without a daemon. The floor is the same table with triggers that only write a note.
struct CaptureCost {
  let workshop: Workshop
  let rows: Int
  let rounds: Int
  /// The number of transactions of one row.
  private static let singles = 2_000

  private struct Times {
    var insert: [Double] = []
    var update: [Double] = []
    var singleInserts: [Double] = []
    var singleUpdates: [Double] = []
  }

  func measure() throws -> [Figure] {
    let items = Items(rows)
    let more = Items(Self.singles)
    let captured = try workshop.capturedDatabase().path
    var plainTimes = Times()
    var capturedTimes = Times()
    var notedTimes = Times()
    for _ in 0..<rounds {
      try round(try workshop.plainDatabase(), items, more, &plainTimes)
      let copy = workshop.newPath("captured.db")
      try FileManager.default.copyItem(atPath: captured, toPath: copy)
      try round(try Database(copy), items, more, &capturedTimes)
      try round(try Floors(workshop: workshop).notedDatabase(), items, more, &notedTimes)
    }
    func figure(_ what: String, _ aim: Double, _ times: KeyPath<Times, [Double]>) -> Figure {
      Figure(
        what: "\(what), captured / plain", ours: capturedTimes[keyPath: times].median * 1e3,
        theirs: plainTimes[keyPath: times].median * 1e3, floor: notedTimes[keyPath: times].median * 1e3, unit: "ms",
        aim: .ratio(aim))
    }
    return [
      figure("insert \(rows) rows in one transaction", 1.6, \.insert),
      figure("update one column of \(rows) rows by key in one transaction", 1.6, \.update),
      figure("\(Self.singles) transactions of one insert", 1.25, \.singleInserts),
      figure("\(Self.singles) transactions of one update", 1.25, \.singleUpdates),
    ]
  }

  private func round(_ database: Database, _ items: Items, _ more: Items, _ times: inout Times) throws {
    times.insert.append(try Machine.time { try items.insertAll(database) })
    let update = try Prepared(database, Items.updating)
    times.update.append(
      try Machine.time {
        try database.run("BEGIN IMMEDIATE")
        try items.update(0..<items.count, to: "changed", update)
        try database.run("COMMIT")
      })
    let insert = try Prepared(database, Items.insertion)
    times.singleInserts.append(
      try Machine.time { for index in 0..<more.count { try more.insert(index..<index + 1, insert) } })
    times.singleUpdates.append(
      try Machine.time { for index in 0..<more.count { try more.update(index..<index + 1, to: "later", update) } })
  }
}
