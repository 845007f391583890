import CAllocations
import Foundation
import GRDB
import GRDBSQLite
import SQLiteData

/// Measures queries beside the C interface of SQLite and beside GRDB, in one run.
///
/// With the names of works as arguments (`read`, `find`, `insert`, `build`, `allocate`, `observe`) it measures those.
@main
enum BenchQueries {
  static let rowCount = 100_000
  static let rounds = 7

  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == OtherProcess.argument { return try OtherProcess.run(arguments) }
    func isAsked(_ work: String) -> Bool { arguments.isEmpty || arguments.contains(work) }
    let directory = FileManager.default.temporaryDirectory.appending(path: "bench-queries-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appending(path: "bench.db").path
    let database = try defaultDatabase(path: path)
    try await database.write { db in
      try db.execute(sql: Wide.creation)
      try db.execute(sql: "CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
      try db.execute(sql: "CREATE TABLE owners (id INTEGER PRIMARY KEY, listID INTEGER NOT NULL)")
    }
    let samples = (1...rowCount).map(Wide.init(sample:))
    let c = try CAPI(path: path)
    try c.insert(samples)

    print("| work | ways: median time, ratio to the last one (lowest–highest) | aim |\n|---|---|---|")
    if isAsked("read") { print(try reading(database, c).measured(rounds: rounds)) }
    if isAsked("allocate") { print(try allocating(database)) }
    if isAsked("find") { print(try finding(database, c).measured(rounds: rounds)) }
    if isAsked("insert") { print(try inserting(database, c, samples).measured(rounds: rounds)) }
    if isAsked("build") { print(building()) }
    if isAsked("observe") {
      try await print(observing(database, by: "the same process", aim: "p99 ≤ 5 ms") { try await database.add() })
      let other = try OtherProcess(database: path)
      try await print(observing(database, by: "another process", aim: "p99 ≤ 50 ms") { try other.add() })
    }
  }

  static func reading(_ database: any DatabaseWriter, _ c: CAPI) throws -> Comparison {
    Comparison(
      work: "\(rowCount) rows of 12 columns into structs", aim: "≤ 1.25; GRDB Codable ≥ 2 × slower",
      ways: [
        ("SQLiteData", { _ = try database.read { try Wide.fetchAll($0) } }),
        ("GRDB init(row:)", { _ = try database.read { try WideByHand.fetchAll($0, sql: Wide.selection) } }),
        ("GRDB Codable", { _ = try database.read { try Wide.fetchAll($0, sql: Wide.selection) } }),
        ("C", { _ = try c.fetchAll() }),
      ])
  }

  static func finding(_ database: any DatabaseWriter, _ c: CAPI) throws -> Comparison {
    Comparison(
      work: "one row by key, \(rowCount) times", aim: "≤ 1.5",
      ways: [
        (
          "SQLiteData",
          {
            try database.read { db in
              for id in 1...rowCount { _ = try Wide.find(db, key: id) }
            }
          }
        ),
        (
          "GRDB init(row:)",
          {
            try database.read { db in
              let statement = try db.cachedStatement(sql: Wide.selection + " WHERE \"id\" = ?")
              for id in 1...rowCount { _ = try WideByHand.fetchOne(statement, arguments: [id]) }
            }
          }
        ),
        (
          "C",
          {
            try c.execute("BEGIN")
            _ = try c.find(1..<rowCount + 1)
            try c.execute("COMMIT")
          }
        ),
      ])
  }

  static func inserting(_ database: any DatabaseWriter, _ c: CAPI, _ samples: [Wide]) throws -> Comparison {
    let drafts = samples.map { sample in
      var draft = Wide.Draft(sample)
      draft.id = nil
      return draft
    }
    func clear() throws { try database.write { try $0.execute(sql: "DELETE FROM wides") } }
    return Comparison(
      work: "\(rowCount) drafts inserted in one transaction", aim: "≤ 1.3",
      ways: [
        (
          "SQLiteData, one statement a draft",
          {
            try clear()
            try database.write { db in
              for draft in drafts { try Wide.insert { draft }.execute(db) }
            }
          }
        ),
        (
          "SQLiteData, seed",
          {
            try clear()
            try database.write { db in
              try db.seed {
                for draft in drafts { draft }
              }
            }
          }
        ),
        (
          // The least time of an `insert` on a connection of GRDB: see the article Speed.
          "C on GRDB's cached statement",
          {
            try clear()
            try database.write { db in
              for row in samples {
                let statement = try db.cachedStatement(sql: CAPI.insertion)
                sqlite3_reset(statement.sqliteStatement)
                CAPI.bind(row, to: statement.sqliteStatement)
                _ = try Steps(statement).next()
              }
            }
          }
        ),
        (
          "GRDB, one prepared statement",
          {
            try clear()
            try database.write { db in
              let statement = try db.cachedStatement(sql: CAPI.insertion)
              for row in samples { try statement.execute(arguments: row.arguments) }
            }
          }
        ),
        (
          "C",
          {
            try clear()
            try c.insert(samples)
          }
        ),
      ])
  }

  /// Counts the allocations of decoding rows of numbers. Two lengths, so that what a query costs once doesn't count.
  static func allocating(_ database: any DatabaseWriter) throws -> String {
    func count(_ rows: Int) throws -> Int {
      try database.read { db in
        let before = allocations()
        var sum = 0
        let cursor = try WideNumbers.limit(rows).fetchCursor(db)
        while let row = try cursor.next() { sum += row.rank }
        return Int(allocations() - before)
      }
    }
    _ = try count(1)
    let each = Double(try count(11_000) - count(1_000)) / 10_000
    return "| allocations to decode a row of 8 fixed-width columns | \(rounded(each)) | 0 |"
  }

  static func building() -> String {
    let count = 10_000
    var length = 0
    var times: [Double] = []
    for round in 0...rounds {
      length = 0
      let time = processorTime {
        for number in 0..<count {
          length +=
            Wide
            .join(WideList.all) { $0.listID.eq($1.id) }
            .join(WideOwner.all) { $1.id.eq($2.listID) }
            .join(WideMember.all) { $2.id.eq($3.ownerID) }
            .where { wides, lists, owners, _ in wides.rank.gt(number) && lists.title.neq("") && owners.id.gt(0) }
            .order { wides, lists, _, _ in (lists.title, wides.position.desc()) }
            .select { wides, lists, owners, members in (wides.title, lists.title, owners.id, members.name) }
            .query.sql.utf8.count
        }
      }
      // The first round warms up and doesn't count.
      if round > 0 { times.append(time * 1e6 / Double(count)) }
    }
    return
      "| making the SQL of a query with three joins (\(length / count) bytes) | \(spread(of: times)) µs | ≤ 20 µs |"
  }

  static let addition = "INSERT INTO lists (title) VALUES ('x')"

  /// Measures the time from the end of a commit to the observer's new value.
  static func observing(
    _ database: any DatabaseWriter, by writer: String, aim: String, _ add: @Sendable () async throws -> Void
  ) async throws -> String {
    let lists = FetchOne(wrappedValue: 0, WideList.count(), database: database)
    let clock = ContinuousClock()
    var delays: [Duration] = []
    var values = lists.values.makeAsyncIterator()
    var count = try await values.next() ?? 0
    for _ in 0..<500 {
      try await add()
      let committed = clock.now
      while let value = try await values.next(), value <= count {}
      delays.append(clock.now - committed)
      count += 1
    }
    let (median, worst) = (percentile(0.5, of: delays), percentile(0.99, of: delays))
    return """
      | commit by \(writer) to an observer's update | p50 \(rounded(median / .milliseconds(1))) ms, \
      p99 \(rounded(worst / .milliseconds(1))) ms | \(aim) |
      """
  }
}

extension DatabaseWriter {
  fileprivate func add() async throws {
    try await write { try $0.execute(sql: BenchQueries.addition) }
  }
}

/// Steps through a statement as GRDB wants it, so that it can watch the transaction.
private final class Steps: DatabaseCursor {
  typealias Element = OpaquePointer

  var _isDone = false
  let _statement: GRDB.Statement

  init(_ statement: GRDB.Statement) { _statement = statement }

  func _element(sqliteStatement: OpaquePointer) throws -> OpaquePointer { sqliteStatement }
}
