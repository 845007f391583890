import Foundation

/// Measures new rows from the commit on one node until they are in the other's table, compared with a plain insert of
/// the same rows. The floor is the work of both daemons that is SQLite's (see `Floors`).
struct Replication {
  let workshop: Workshop
  let rows: Int
  let rounds: Int

  func measure() throws -> [Figure] {
    let items = Items(rows)
    var plain: [Double] = []
    var replicated: [Double] = []
    var plainWork: [Double] = []
    var work: [Double] = []
    var copied: [Double] = []
    var copiedWork: [Double] = []
    for _ in 0..<rounds {
      let database = try workshop.plainDatabase()
      let insert = try Machine.cost { try items.insertAll(database) }
      plain.append(insert.time)
      plainWork.append(insert.work)
      let copy = try Floors(workshop: workshop).copying(items)
      copied.append(copy.time)
      copiedWork.append(copy.work)
      let pair = try workshop.pair()
      let arrival = try Arrival(pair.b, rows: rows)
      let before = try processorTime(pair)
      try items.insertAll(try pair.a.open())
      replicated.append(try Machine.time { try arrival.wait() })
      work.append(try processorTime(pair) - before)
      pair.stop()
    }
    return [
      Figure(
        what: "replicate \(rows) rows, commit on A to commit on B / plain insert", ours: replicated.median * 1e3,
        theirs: plain.median * 1e3, floor: copied.median * 1e3, unit: "ms", aim: .ratio(3)),
      Figure(
        what: "  of it processor time of both daemons / of the plain insert", ours: work.median * 1e3,
        theirs: plainWork.median * 1e3, floor: copiedWork.median * 1e3, unit: "ms", aim: .ratio(4)),
    ]
  }

  private func processorTime(_ pair: Pair) throws -> Double {
    try pair.a.processorTime() + pair.b.processorTime()
  }
}

/// Reports when a node's table has a number of rows.
struct Arrival {
  private let database: Database
  private let last: Prepared
  private let rows: Int

  init(_ node: BenchNode, rows: Int) throws {
    database = try node.open()
    // This is the number of rows as long as rows are only added. It needs no counting.
    last = try Prepared(database, "SELECT max(rowid) FROM items")
    self.rows = rows
  }

  func wait() throws {
    try Machine.wait("the rows do not arrive") { try last.integer() ?? 0 >= rows }
    let count = try database.integer("SELECT count(*) FROM items")
    guard count == rows else { throw Trouble("\(count) rows arrived of \(rows)") }
  }
}
