import Dependencies
import DependenciesTestSupport
import Foundation
import GRDB
import SQLiteData
import Synchronization
import Testing

@SQLiteData.Table
struct Measurement: Equatable, Sendable {
  let id: Int
  var weight: Double?
  var text: String?
  var bytes: [UInt8]?
  var when: Date?
  var count: Int?
  var isDone: Bool?
}

@SQLiteData.Table
struct Seat: Equatable, Sendable {
  let id: ID
  var guest = ""

  @Selection
  struct ID: Hashable, Sendable {
    let row: Int
    let number: Int
  }
}

/// Calls the query that called it, on the same connection.
@DatabaseFunction
private func countDown(_ number: Int) -> Int {
  guard number > 0, let db = Recursion.shared.connection else { return 1 }
  return ((try? Recursion.query(number - 1).fetchOne(db)) ?? -10) + 1
}

/// It is `@unchecked`, because only the test's own database access uses it.
private final class Recursion: @unchecked Sendable {
  static let shared = Recursion()
  var connection: Database?

  static func query(_ number: Int) -> some SQLiteDataQueries.Statement<Int> { Values($countDown(number)) }
}

@Suite("Statements")
struct StatementTests {
  private let database: DatabaseQueue

  init() throws {
    var configuration = Configuration()
    configuration.prepareDatabase { $0.add(function: $countDown) }
    database = try DatabaseQueue(configuration: configuration)
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE measurements (id INTEGER PRIMARY KEY, weight REAL, text TEXT, bytes BLOB, "when" TEXT,
            count INTEGER, isDone INTEGER);
          CREATE TABLE seats (row INTEGER, number INTEGER, guest TEXT NOT NULL, PRIMARY KEY (row, number))
          """)
    }
  }

  @Test("NULL is nil, and zero and empty values aren't NULL")
  func nulls() throws {
    try database.write { (db) throws in
      let empty = Measurement(id: 1)
      let zero = Measurement(
        id: 2, weight: 0, text: "", bytes: [], when: Date(timeIntervalSince1970: 0), count: 0, isDone: false)
      try Measurement.insert {
        empty
        zero
      }.execute(db)
      try db.seed { Measurement.Draft(zero).replacing(id: 3) }
      #expect(try Measurement.order(by: \.id).limit(2).fetchAll(db) == [empty, zero])
      #expect(try Measurement.find(db, key: 3).text == "")
      #expect(try Measurement.where { $0.text.is(nil) }.select(\.id).fetchAll(db) == [1])
      #expect(try Measurement.where { $0.bytes.is(nil) }.select(\.id).fetchAll(db) == [1])
      #expect(try Measurement.order(by: \.id).select(\.weight).fetchAll(db) == [nil, 0, 0])
      let first = try Measurement.order { ($0.count.desc(nulls: .first), $0.id) }.select(\.id).fetchAll(db)
      let last = try Measurement.order { ($0.count.asc(nulls: .last), $0.id) }.select(\.id).fetchAll(db)
      #expect(first == [1, 2, 3] && last == [2, 3, 1])
    }
  }

  @Test("a column that may be NULL is compared with a bound, which belongs to the range or doesn't")
  func optionalBounds() throws {
    try database.write { (db) throws in
      try db.seed { for id in 1...4 { Measurement(id: id, count: id < 4 ? id : nil) } }
      let conditions: [(Where<Measurement>, [Int])] = [
        (Measurement.where { $0.count.gt(2) }, [3]), (Measurement.where { $0.count > 2 }, [3]),
        (Measurement.where { $0.count.gte(2) }, [2, 3]), (Measurement.where { $0.count >= 2 }, [2, 3]),
        (Measurement.where { $0.count.lt(2) }, [1]), (Measurement.where { $0.count < 2 }, [1]),
        (Measurement.where { $0.count.lte(2) }, [1, 2]), (Measurement.where { $0.count <= 2 }, [1, 2]),
        (Measurement.where { $0.id.lte($0.count) }, [1, 2, 3]), (Measurement.where { $0.id.gt($0.count) }, []),
        (Measurement.where { $0.id.lt($0.count) }, []), (Measurement.where { $0.id.gte($0.count) }, [1, 2, 3]),
        (Measurement.where { $0.id > 2 }, [3, 4]), (Measurement.where { $0.id >= 2 }, [2, 3, 4]),
        (Measurement.where { $0.id < 2 }, [1]), (Measurement.where { $0.id <= 2 }, [1, 2]),
      ]
      for (condition, ids) in conditions {
        #expect(try condition.order(by: \.id).select(\.id).fetchAll(db) == ids, "\(condition.query.debugDescription)")
      }
    }
  }

  @Test("a limit keeps the offset that was set before it, and an offset the limit")
  func limitsAndOffsets() throws {
    try database.write { (db) throws in
      try db.seed { for id in 1...4 { Measurement(id: id) } }
      let ids = Measurement.order(by: \.id).select(\.id)
      #expect(try ids.offset(1).limit(2).fetchAll(db) == [2, 3])
      #expect(try ids.limit(2).offset(1).fetchAll(db) == [2, 3])
      #expect(try ids.limit(2, offset: 1).limit(1).fetchAll(db) == [2])
      #expect(try ids.limit(2, offset: 1).limit(2, offset: 2).fetchAll(db) == [3, 4])
      #expect(try ids.offset(3).fetchAll(db) == [4])
    }
  }

  @Test("a row with a key of several columns is found, updated, overwritten and deleted")
  func compositeKeys() throws {
    try database.write { (db) throws in
      let first = Seat.ID(row: 1, number: 2)
      let second = Seat.ID(row: 2, number: 1)
      try db.seed {
        Seat(id: first, guest: "a")
        Seat(id: second, guest: "b")
      }
      try Seat.update(Seat(id: first, guest: "c")).execute(db)
      #expect(try Seat.find(db, key: first).guest == "c")
      #expect(try Seat.find(db, key: second).guest == "b")
      try Seat.upsert { Seat(id: second, guest: "d") }.execute(db)
      #expect(try Seat.find([first, second]).order(by: \.guest).select(\.guest).fetchAll(db) == ["c", "d"])
      #expect(try Seat.find([Seat.ID]()).fetchAll(db).isEmpty)
      try Seat.delete(Seat(id: first)).execute(db)
      #expect(try Seat.fetchAll(db).map(\.id) == [second])
    }
  }

  @Test("a function may run the query that calls it")
  func reentrance() throws {
    try database.write { (db) throws in
      Recursion.shared.connection = db
      defer { Recursion.shared.connection = nil }
      #expect(try Recursion.query(3).fetchOne(db) == 4)
      #expect(try Recursion.query(3).fetchAll(db) == [4])
    }
  }

  @Test("rows of a query are inserted or update others")
  func insertFromQuery() throws {
    try database.write { (db) throws in
      try db.seed {
        Seat(id: Seat.ID(row: 1, number: 1), guest: "a")
        Seat(id: Seat.ID(row: 1, number: 2), guest: "b")
      }
      for _ in 0..<2 {
        try Measurement.insert {
          ($0.id, $0.text)
        } select: {
          Seat.select { ($0.id.number, $0.guest.asOptional()) }
        } onConflictDoUpdate: {
          $0.text = #sql("\($1.text) || '!'")
        }.execute(db)
      }
      #expect(try Measurement.order(by: \.id).select(\.text).fetchAll(db) == ["a!", "b!"])
    }
  }

  @Test("a tuple of an outer join is nil only if all columns of its row are NULL")
  func outerJoins() throws {
    enum Other: AliasName {}
    try database.write { (db) throws in
      try db.execute(
        sql: "CREATE TABLE things (label TEXT, size INTEGER); INSERT INTO things VALUES (NULL, 7), ('x', 8)")
      try db.seed { Measurement(id: 7, count: 7) }
      let rows = try Measurement.leftJoin(Thing.all) { $0.count.eq($1.size) }.fetchAll(db)
      #expect(rows.map(\.1) == [Thing(label: nil, size: 7)])
      let missing = try Measurement.leftJoin(Thing.all) { $0.id.eq($1.size) && $1.label.eq("y") }.fetchAll(db)
      #expect(missing.map(\.1) == [nil])
    }
  }
}

@SQLiteData.Table
struct Thing: Equatable, Sendable {
  var label: String?
  var size: Int
}

extension Measurement.Draft {
  fileprivate func replacing(id: Int?) -> Self {
    var draft = self
    draft.id = id
    return draft
  }
}

@Suite("Observations that fail", .dependency(\.defaultDatabase, try sampleDatabase()))
struct FailingObservationTests {
  @Dependency(\.defaultDatabase) var database

  @Test("an observation that met a busy database fetches again without a commit")
  func busy() async throws {
    struct BusyOnce: FetchKeyRequest {
      static let count = Atomic(0)
      func fetch(_ db: Database) throws -> Int {
        let count = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        if count < 3 { throw DatabaseError(resultCode: .SQLITE_BUSY) }
        return try Item.fetchCount(db)
      }
    }
    @Fetch(BusyOnce()) var count = 0
    #expect($count.loadError is DatabaseError)
    #expect(await eventually { count == 5 && $count.loadError == nil })
  }

  @Test("a load that finishes after a later one doesn't replace its result")
  func overtaken() async throws {
    struct Slow: FetchKeyRequest {
      static let isRunning = Atomic(false)
      static let mayEnd = Atomic(false)
      func fetch(_ db: Database) throws -> String {
        Self.isRunning.store(true, ordering: .relaxed)
        for _ in 0..<5_000 where !Self.mayEnd.load(ordering: .relaxed) { usleep(1_000) }
        return "slow"
      }
    }
    struct Quick: FetchKeyRequest {
      func fetch(_ db: Database) throws -> String { "quick" }
    }
    @Fetch var value = ""
    let projected = $value
    let slow = Task { try await projected.load(Slow()) }
    #expect(await eventually { Slow.isRunning.load(ordering: .relaxed) })
    try await projected.load(Quick())
    #expect(value == "quick")
    Slow.mayEnd.store(true, ordering: .relaxed)
    _ = try await slow.value
    #expect(value == "quick" && !projected.isLoading)
    try await projected.load()
    #expect(value == "quick")
  }

  @Test("a task that is cancelled before its load leaves the earlier query")
  func cancelledBefore() async throws {
    @FetchAll(Item.order(by: \.id)) var items
    let projected = $items
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await projected.load(Item.where { $0.id.eq(1) })
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(items.count == 5)
    try await database.write { db in try Item.find(2).delete().execute(db) }
    #expect(await eventually { items.count == 4 })
  }
}
