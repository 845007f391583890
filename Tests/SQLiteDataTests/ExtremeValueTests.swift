import Dependencies
import DependenciesTestSupport
import Foundation
import GRDB
import GRDBSQLite
import SQLiteData
import Testing

/// Names that have to be quoted, and that contain what SQL gives a meaning.
@SQLiteData.Table("odd \"names\", 'all'")
private struct Odd: Equatable {
  @Column("sel\"ect") let id: Int
  @Column("order, by") var order = ""
  @Column("💥") var boom: String?
  @Column("new\nline") var newline = 0
  @Column("a]b`c'd") var bracket: Double?
  @Column("?1") var parameter = ""
}

@SQLiteData.Table
private struct Extreme: Equatable {
  let id: Int
  var integer: Int64 = 0
  var real: Double?
  var text = ""
  var bytes: [UInt8] = []
  var when: Date?
}

@SQLiteData.Table
private struct Visit: Equatable {
  let id: Int
  var when = Date(timeIntervalSince1970: 0)
  var place: URL?
  var key: UUID?
  var mood = Mood.good
  var stay: Stay?

  enum Mood: String, QueryBindable { case good, bad }

  @Selection
  struct Stay: Equatable {
    var nights = 1
    var room: Room?
  }
  @Selection
  struct Room: Equatable {
    var number: Int?
    var floor: Int?
  }
}

@Suite("Extreme values")
struct ExtremeValueTests {
  private let database: DatabaseQueue

  init() throws {
    database = try DatabaseQueue()
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE extremes (id INTEGER PRIMARY KEY, integer INTEGER NOT NULL, real REAL, text TEXT NOT NULL,
            bytes BLOB NOT NULL, "when" TEXT);
          CREATE TABLE visits (id INTEGER PRIMARY KEY, "when" TEXT NOT NULL, place TEXT, "key" TEXT, mood TEXT NOT NULL,
            nights INTEGER, number INTEGER, floor INTEGER)
          """)
      let columns = Odd.TableColumns.allColumns.map { QueryFragment(quote: $0.name) }.joined(separator: ", ")
      try SQLQueryExpression("CREATE TABLE \(Odd.self) (\(columns), PRIMARY KEY (\(quote: "sel\"ect")))").execute(db)
    }
  }

  @Test("names with quotes, commas, brackets, line breaks and emoji work in every kind of statement")
  func names() throws {
    try database.write { (db) throws in
      try Odd.createTemporaryTrigger(
        after: .insert { new in
          Odd.find(new.id).update { $0.newline = new.newline + 1 }
        } when: {
          $0.order.neq("?")
        }
      ).execute(db)
      let row = Odd(id: 1, order: "a, b", boom: "é", newline: 2, bracket: 0.5, parameter: "?")
      let inserted = try Odd.insert { row }.returning { ($0.order, $0.parameter) }.fetchOne(db)
      #expect(try #require(inserted) == ("a, b", "?"))
      #expect(try Odd.find(db, key: 1).newline == 3)
      try Odd.upsert { row }.execute(db)
      #expect(try Odd.all.fetchAll(db) == [row])
      let updated = try Odd.where { $0.boom.eq("é") }.update { $0.order += "!" }.returning(\.self).fetchAll(db)
      #expect(updated.map(\.order) == ["a, b!"])
      let both = Odd.where { $0.id.in(Odd.where { $0.parameter.eq("?") }.select(\.id)) }
      #expect(try both.order { ($0.order, $0.bracket.desc()) }.fetchCount(db) == 1)
      let joined = Odd.join(Odd.as(Other.self).all) { $0.id.eq($1.id) }.select { ($0.boom, $1.newline) }
      let pair = try #require(try joined.fetchOne(db))
      #expect(pair.0 == "é" && pair.1 == 2)
      try Odd.delete(row).execute(db)
      #expect(try Odd.fetchCount(db) == 0)
    }
  }

  private enum Other: AliasName {}

  // A failed expectation describes its values, and Foundation can't describe every one of these dates. So the rows are
  // compared outside of the expectations.
  private static let rows = [
    Extreme(id: 1, integer: .min, real: -.infinity, text: "a\0b\0", bytes: [0], when: .distantPast),
    Extreme(id: 2, integer: .max, real: .infinity, text: "\0", bytes: [0x27, 0x22, 0], when: .distantFuture),
    Extreme(
      id: 3, real: .greatestFiniteMagnitude, text: "'\"\n;--", when: Date(timeIntervalSince1970: 253_402_300_799.999)),
    Extreme(id: 4, real: .leastNonzeroMagnitude, text: "\u{FEFF}", when: Date(timeIntervalSince1970: -62_167_219_200)),
  ]

  @Test("bounds, infinities, NUL characters and dates of long ago are stored as they are")
  func bounds() throws {
    try database.write { (db) throws in
      try Extreme.insert { Self.rows }.execute(db)
      for row in Self.rows {
        let hasRow = try Extreme.find(db, key: row.id) == row
        #expect(hasRow, "row \(row.id)")
        #expect(try Extreme.where { $0.text.eq(row.text) }.select(\.id).fetchAll(db) == [row.id])
        #expect(try Extreme.where { $0.when.eq(row.when) }.select(\.id).fetchAll(db) == [row.id])
      }
      // Texts of dates have the order of the dates.
      #expect(try Extreme.order(by: \.when).select(\.id).fetchAll(db) == [4, 1, 2, 3])
      try Extreme.find(1).update { $0.real = #bind(.nan) }.execute(db)
      #expect(try Extreme.find(1).select(\.real).fetchAll(db) == [nil])
    }
  }

  @Test("a trigger and a view hold the same values, although nothing can be bound in them")
  func literals() throws {
    try database.write { (db) throws in
      for row in Self.rows {
        let trigger = Visit.createTemporaryTrigger(after: .insert { _ in Extreme.insert { row } })
        try trigger.execute(db)
        try Visit.insert { Visit(id: row.id) }.execute(db)
        try trigger.drop().execute(db)
      }
      for row in Self.rows {
        let hasRow = try Extreme.find(db, key: row.id) == row
        #expect(hasRow, "row \(row.id)")
      }
      let nan = Visit.createTemporaryTrigger(after: .insert { _ in Extreme.update { $0.real = #bind(.nan) } })
      try nan.execute(db)
      try Visit.insert { Visit(id: 9) }.execute(db)
      #expect(try Extreme.where { $0.real.isNot(nil) }.fetchCount(db) == 0)
    }
  }

  @Test("a date that has no text in four digits is refused when it is written")
  func datesOutOfRange() throws {
    try database.write { (db) throws in
      for seconds in [253_402_300_800, -62_167_219_200.001, 1e15, .infinity, -.infinity, .nan] {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(throws: DateRangeError.self) { try Visit.insert { Visit(id: 1, when: date) }.execute(db) }
        #expect(throws: DateRangeError.self) { try db.seed { Visit(id: 1, when: date) } }
        #expect(throws: DateRangeError.self) { try Visit.where { $0.when > date }.select(\.id).fetchAll(db) }
        #expect(throws: (any Error).self) { try Values(#bind([date], as: [Date].JSONRepresentation.self)).fetchOne(db) }
      }
      #expect(try Visit.fetchCount(db) == 0)
    }
  }

  @Test("empty and large BLOBs and texts are stored as they are")
  func sizes() throws {
    let large = Extreme(
      id: 2, text: String(repeating: "é\0", count: 3_000_000), bytes: [UInt8](repeating: 0xAB, count: 10_000_000))
    try database.write { (db) throws in
      try db.seed {
        Extreme(id: 1)
        large
      }
      #expect(try Extreme.order(by: \.id).fetchAll(db) == [Extreme(id: 1), large])
      #expect(try Extreme.select { $0.bytes.length() }.order(by: \.id).fetchAll(db) == [0, 10_000_000])
    }
  }

  @Test(
    "a column that can't be read is named, with its index and the SQL",
    arguments: [
      ("when", 1, "'yesterday'"), ("when", 1, "x'00FF'"), ("when", 1, "12"), ("when", 1, "''"), ("place", 2, "''"),
      ("key", 3, "'DEADBEEF'"), ("key", 3, "x'00112233445566778899aabbccddeeff'"), ("mood", 4, "'fine'"),
    ])
  func malformed(column: String, index: Int, value: String) throws {
    try database.write { (db) throws in
      try Visit.insert { Visit(id: 1) }.execute(db)
      try db.execute(sql: "UPDATE visits SET \"\(column)\" = \(value)")
      let query = Visit.order(by: \.id)
      for read in [{ try query.fetchAll(db) }, { [try #require(try query.fetchOne(db))] }] {
        let error = #expect(throws: ColumnDecodingError.self) { try read() }
        #expect(error?.name == column && error?.column == index && error?.sql == query.query.sql)
        #expect(error?.description.contains("column \(index) (\"\(column)\")") == true)
      }
    }
  }

  @Test("a group whose columns are all NULL is nil, at each level")
  func optionalGroups() throws {
    try database.write { (db) throws in
      let rows = [
        Visit(id: 1), Visit(id: 2, stay: .init(nights: 3)), Visit(id: 3, stay: .init(room: .init(number: 4))),
        Visit(id: 4, stay: .init(room: .init(floor: 0))),
      ]
      try Visit.insert { rows }.execute(db)
      #expect(try Visit.order(by: \.id).fetchAll(db) == rows)
      #expect(try Visit.order(by: \.id).select(\.stay).fetchAll(db) == rows.map(\.stay))
      #expect(try Visit.where { $0.stay.is(nil) }.select(\.id).fetchAll(db) == [1])
      #expect(try Visit.where { $0.stay.room.is(nil) }.order(by: \.id).select(\.id).fetchAll(db) == [1, 2])
      try Visit.find(3).update { $0.stay = nil }.execute(db)
      #expect(try Visit.find(db, key: 3).stay == nil)
    }
  }

  @Test("more values than SQLite binds are an error, and as many as it binds aren't")
  func bindings() throws {
    try database.write { (db) throws in
      try db.seed { for id in 1...5 { Extreme(id: id) } }
      sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_VARIABLE_NUMBER, 40_000)
      #expect(try Extreme.where { $0.id.in(1...40_000) }.fetchCount(db) == 5)
      #expect(try Extreme.find(1...40_000).fetchAll(db).count == 5)
      #expect(throws: DatabaseError.self) { try Extreme.where { $0.id.in(1...40_001) }.fetchCount(db) }
      #expect(try Extreme.where { $0.id.in([Int]()) }.fetchCount(db) == 0)
      #expect(try Extreme.where { !$0.id.in([Int]()) }.fetchCount(db) == 5)
    }
  }

  @Test("binary JSON with very many elements inside each other is an error")
  func deepBinaryJSON() throws {
    for depth in [511, 200_000] {
      let bytes = (0..<depth).flatMap { level -> [UInt8] in
        let size = UInt32(5 * (depth - 1 - level))
        return [0xEB] + withUnsafeBytes(of: size.bigEndian) { Array($0) }
      }
      try database.read { (db) throws in
        let error = #expect(throws: ColumnDecodingError.self) {
          try SQLQueryExpression("SELECT \(bind: bytes)", as: [String].JSONBRepresentation.self).fetchOne(db)
        }
        #expect((error?.underlyingError is QueryDecodingError) == (depth > 512))
      }
    }
  }

  @Test("a query with an order or a limit is combined with another one")
  func orderedCompounds() throws {
    try database.write { (db) throws in
      try db.seed { for id in 1...5 { Extreme(id: id, text: "\(id % 2)") } }
      let last = Extreme.order { $0.id.desc() }.limit(2).select(\.id)
      let first = Extreme.where { $0.id.lt(2) }.select(\.id)
      #expect(try last.union(all: true, first).fetchAll(db) == [5, 4, 1])
      #expect(try last.union(first).order(byColumn: 1).limit(2).union(all: true, first).fetchAll(db) == [1, 4, 1])
      #expect(try last.except(first.union(last)).fetchAll(db).isEmpty)
      let named = With {
        Numbers(number: 7)
      } query: {
        Numbers.select(\.number)
      }
      #expect(try first.union(all: true, named).fetchAll(db) == [1, 7])
      #expect(try named.union(all: true, first).fetchAll(db) == [7, 1])
      #expect(try Extreme.order { $0.id.desc() }.limit(1).union(Extreme.find(1)).fetchAll(db).map(\.id) == [1, 5])
    }
  }

  @Selection
  fileprivate struct Numbers {
    let number: Int
  }

  @Test("a condition that keeps no row leaves none in a query that has other clauses")
  func nothing() throws {
    try database.write { (db) throws in
      try db.seed { Extreme(id: 1) }
      #expect(try Extreme.order(by: \.id).and(Extreme.none).fetchAll(db).isEmpty)
      #expect(try Extreme.none.and(Extreme.where { $0.id.eq(1) }).fetchAll(db).isEmpty)
      #expect(try Extreme.order(by: \.id).and(Extreme.where { $0.id.eq(1) }).fetchAll(db).count == 1)
      #expect(try Extreme.none.or(Extreme.where { $0.id.eq(1) }).fetchAll(db).count == 1)
    }
  }
}
