import Foundation

/// Measures a node that merges edits of rows that it has edited itself, without either side having seen the other's.
///
/// The time runs from the first change set that it stores until all rows show the later edit. Plain SQLite updates the
/// same rows in one transaction, and inserts the lost value of each into a second table.
struct ConflictMerge {
  let workshop: Workshop
  let rows: Int
  let rounds: Int

  func measure() throws -> [Figure] {
    let items = Items(rows)
    var (merged, plain, work, plainWork): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for _ in 0..<rounds {
      let alone = try plainly(items)
      plain.append(alone.time)
      plainWork.append(alone.work)
      let merge = try merging(items)
      merged.append(merge.time)
      work.append(merge.work)
    }
    return [
      Figure(
        what: "merge \(rows) conflicting updates / plain updates and lost values", ours: merged.median * 1e3,
        theirs: plain.median * 1e3, unit: "ms", aim: .ratio(3)),
      Figure(
        what: "  of it processor time of the merging daemon / of plain SQLite", ours: work.median * 1e3,
        theirs: plainWork.median * 1e3, unit: "ms", aim: .none),
    ]
  }

  /// Returns what B takes to merge A's edits, which are later than its own.
  private func merging(_ items: Items) throws -> (time: Double, work: Double) {
    let pair = try workshop.pair()
    defer { pair.stop() }
    try items.insertAll(try pair.a.open())
    try pair.wait()
    pair.stop()
    try update(items, to: "earlier", try pair.b.open())
    try update(items, to: "later", try pair.a.open())
    // Each makes its change sets while the other is away.
    try flush(pair.b)
    pair.b.stop()
    try flush(pair.a)
    let replica = try pair.b.open()
    let last = try Prepared(replica, "SELECT max(id) FROM mesh_log")
    let before = try last.integer()
    // It stops at the first row that B has not merged.
    let unmerged = try Prepared(replica, "SELECT 1 FROM items WHERE status <> 'later' LIMIT 1")
    // A has another port than before.
    try pair.b.start(peers: [try pair.a.status().listen].compactMap(\.self))
    try Machine.wait("A's edits do not arrive") { try last.integer() != before }
    let workBefore = try pair.b.processorTime()
    let time = try Machine.time { try Machine.wait("A's edits are not merged") { try unmerged.integer() == nil } }
    let work = try pair.b.processorTime() - workBefore
    // B keeps the newest 10,000 lost values.
    guard try replica.integer("SELECT max(id) FROM mesh_conflict") == rows else { throw Trouble("no conflicts") }
    return (time, work)
  }

  /// Returns what plain SQLite takes.
  private func plainly(_ items: Items) throws -> (time: Double, work: Double) {
    let database = try workshop.plainDatabase()
    try items.insertAll(database)
    try database.run("CREATE TABLE lost (number INTEGER PRIMARY KEY, value TEXT, id TEXT)")
    try update(items, to: "earlier", database)
    let update = try Prepared(database, Items.updating)
    // It takes the same parameters as the update.
    let insert = try Prepared(database, "INSERT INTO lost (value, id) VALUES (?, ?)")
    return try Machine.cost {
      try database.run("BEGIN IMMEDIATE")
      for index in 0..<items.count {
        try items.update(index..<index + 1, to: "later", update)
        try items.update(index..<index + 1, to: "earlier", insert)
      }
      try database.run("COMMIT")
    }
  }

  private func update(_ items: Items, to status: String, _ database: Database) throws {
    let update = try Prepared(database, Items.updating)
    try database.run("BEGIN IMMEDIATE")
    try items.update(0..<items.count, to: status, update)
    try database.run("COMMIT")
  }

  /// Starts the daemon, and waits until it has made change sets of everything that was written.
  private func flush(_ node: BenchNode) throws {
    try node.serve()
    let pending = try Prepared(try node.open(), "SELECT 1 FROM mesh_pending LIMIT 1")
    try Machine.wait("a node does not flush") { try pending.integer() == nil }
  }
}
