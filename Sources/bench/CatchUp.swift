import CSQLite
import Foundation

/// Measures a device that was away while another one made many small change sets.
///
/// The time runs from the first change set that it stores until all are merged. Plain SQLite inserts their bytes and
/// updates the same rows in one transaction.
struct CatchUp {
  let workshop: Workshop
  let changeSets: Int
  let rounds: Int
  /// The time between two commits in microseconds. The node flushes each one by itself.
  private static let rest: UInt32 = 11_000

  func measure() throws -> [Figure] {
    var (merged, plain, work, plainWork): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    let items = Items(changeSets)
    let pair = try workshop.pair()
    defer { pair.stop() }
    try items.insertAll(try pair.a.open())
    try pair.wait()
    for round in 0..<rounds {
      pair.b.stop()
      let status = "away\(round)"
      let sizes = try change(items, to: status, on: pair.a)
      let replica = try pair.b.open()
      let first = try Prepared(
        replica,
        "SELECT 1 WHERE (SELECT count(*) FROM mesh_log) > \(try replica.integer("SELECT count(*) FROM mesh_log"))")
      let count = try Prepared(replica, "SELECT count(*) FROM items WHERE status = '\(status)'")
      try pair.b.start()
      try poll { try first.integer() != nil }
      let start = Machine.seconds()
      let before = try pair.b.processorTime()
      try poll { try count.integer() == Int64(changeSets) }
      merged.append(Machine.seconds() - start)
      work.append(try pair.b.processorTime() - before)
      let alone = try plainly(items, to: status, sizes)
      plain.append(alone.time)
      plainWork.append(alone.work)
    }
    return [
      Figure(
        what: "merge \(changeSets) change sets of one edit each / their bytes and edits in one transaction",
        ours: merged.median * 1e3, theirs: plain.median * 1e3, unit: "ms", aim: .ratio(3)),
      Figure(
        what: "  of it processor time of the merging daemon / of plain SQLite", ours: work.median * 1e3,
        theirs: plainWork.median * 1e3, unit: "ms", aim: .none),
    ]
  }

  /// Updates each row in a transaction of its own. Returns the sizes of the change sets.
  private func change(_ items: Items, to status: String, on node: BenchNode) throws -> [Int64] {
    let database = try node.open()
    let last = try database.integer("SELECT max(rowid) FROM mesh_log")
    let update = try Prepared(database, Items.updating)
    let pending = try Prepared(database, "SELECT 1 FROM mesh_pending LIMIT 1")
    for index in 0..<items.count {
      try items.update(index..<index + 1, to: status, update)
      usleep(Self.rest)
      try poll { try pending.integer() == nil }
    }
    let sizes = try Prepared(database, "SELECT length(bytes) FROM mesh_log WHERE rowid > \(last)")
    var found: [Int64] = []
    while try sizes.step() { found.append(sqlite3_column_int64(sizes.handle, 0)) }
    guard found.count == items.count else { throw Trouble("\(found.count) change sets instead of \(items.count)") }
    return found
  }

  /// Returns what plain SQLite takes for the same bytes and edits.
  private func plainly(_ items: Items, to status: String, _ sizes: [Int64]) throws -> (time: Double, work: Double) {
    let database = try workshop.plainDatabase()
    try items.insertAll(database)
    try database.run("CREATE TABLE log (number INTEGER PRIMARY KEY, bytes BLOB)")
    let insert = try Prepared(database, "INSERT INTO log VALUES (?, ?)")
    let update = try Prepared(database, Items.updating)
    let bytes = [UInt8](repeating: 1, count: Int(sizes.max() ?? 0))
    return try Machine.cost {
      try database.run("BEGIN IMMEDIATE")
      for (index, size) in sizes.enumerated() {
        sqlite3_bind_int64(insert.handle, 1, Int64(index))
        // The value nil is SQLITE_STATIC: the bytes outlive the statement's run.
        try bytes.withUnsafeBytes {
          sqlite3_bind_blob(insert.handle, 2, $0.baseAddress, Int32(size), nil)
          try insert.execute()
        }
        try items.update(index..<index + 1, to: status, update)
      }
      try database.run("COMMIT")
    }
  }

  private func poll(_ condition: () throws -> Bool) throws {
    try Machine.wait("the change sets do not arrive", until: condition)
  }
}
