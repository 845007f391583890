import Foundation
import SQLiteData
import Testing

@Selection private struct Size: Codable, Hashable {
  var width = 0
  var height = 0
  var unit: String?
}

@Selection private struct Crate: Codable, Hashable {
  var size = Size()
  var label: String?
  var isOpen = false
}

private enum Level: Int, Codable, QueryBindable {
  case low = 1
  case medium, high
}

@Table private struct Parcel: Codable, Equatable {
  typealias ID = Tagged<Self, String>
  let id: ID
  var title = ""
  var notes: String?
  var count: Int?
  var isFragile: Bool?
  var due: Date?
  @Column(as: Date.UnixTimeRepresentation?.self) var sent: Date?
  @Column(as: Date.UnixTimeRepresentation.self) var made = Date(timeIntervalSince1970: 5)
  var level: Level?
  var rank = Level.low
  var crate = Crate()
  var lid: Lid?
}

@Selection private struct Lid: Codable, Hashable {
  var color = ""
  var weight = 0
}

@Table private struct Tally: Equatable {
  let id: Int
  var title = ""
  var count = 0
}

@DatabaseFunction nonisolated private func joined(_ texts: some Sequence<String>) -> String {
  texts.joined(separator: "+")
}

@DatabaseFunction nonisolated private func weigh(_ rows: some Sequence<(Int, Int?)>) -> Int {
  rows.reduce(0) { $0 + $1.0 * ($1.1 ?? 0) }
}

extension Updates<Parcel> {
  fileprivate mutating func promote() {
    self.rank = Case(self.rank).when(#bind(.low), then: #bind(.medium)).else(#bind(.high))
  }
}

@Suite("Programs that assign groups and optional columns", .serialized)
struct AssignmentPrograms {
  private let database: any DatabaseWriter

  init() throws {
    database = try defaultDatabase()
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE parcels (
            id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, notes TEXT, count INTEGER, isFragile INTEGER, due TEXT,
            sent INTEGER, made INTEGER NOT NULL, level INTEGER, rank INTEGER NOT NULL,
            width INTEGER NOT NULL, height INTEGER NOT NULL, unit TEXT, label TEXT, isOpen INTEGER NOT NULL,
            color TEXT, weight INTEGER);
          CREATE TABLE tallies (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, count INTEGER NOT NULL);
          """)
      db.add(function: $joined)
      db.add(function: $weigh)
      try db.seed {
        Parcel(id: "ab-1", title: "Books", count: 3, level: .low)
        Parcel(id: "cd-2", title: "Lamp", notes: "old", isFragile: true, level: .high)
        Tally(id: 1, title: "Books", count: 10)
        Tally(id: 2, title: "Pens", count: 1)
      }
    }
  }

  /// Runs an update of the first parcel and returns the parcel.
  private func updated(_ updates: (inout Updates<Parcel>) -> Void) throws -> Parcel? {
    let update = Parcel.find("ab-1").update(set: updates).returning(\.self)
    return try database.write { db in try update.fetchOne(db) }
  }

  @Test("the columns of a nested group are assigned one by one")
  func columnsOfGroups() throws {
    var expected = Parcel(id: "ab-1", title: "Books", count: 3, level: .low)
    expected.crate = Crate(size: Size(width: 7, height: 2, unit: "cm"), label: "Books", isOpen: true)
    #expect(
      try updated {
        $0.crate.size.width += 7
        $0.crate.size.height = 2
        $0.crate.size.unit = "cm"
        $0.crate.label = $0.title
        $0.crate.isOpen.toggle()
      } == expected)
    expected.crate.size.width = 3
    expected.crate.size.unit = nil
    expected.crate.label = "Books!"
    #expect(
      try updated {
        $0.crate.size.width = $0.crate.size.height + 1
        $0.crate.size.unit = nil
        $0.crate.label += "!"
      } == expected)
  }

  @Test("a group is assigned as a whole, by a value, by expressions or by nil")
  func wholeGroups() throws {
    var expected = Parcel(id: "ab-1", title: "Books", count: 3, level: .low)
    expected.crate.size = Size(width: 1, height: 2)
    expected.lid = Lid(color: "red", weight: 4)
    #expect(
      try updated {
        $0.crate.size = Size(width: 1, height: 2)
        $0.lid = Lid(color: "red", weight: 4)
      } == expected)
    expected.crate.size = Size(width: 2, height: 1)
    expected.lid?.weight = 5
    #expect(
      try updated {
        $0.crate.size = Size.Columns(width: $0.crate.size.height, height: $0.crate.size.width, unit: $0.crate.size.unit)
        $0.lid.weight += 1
      } == expected)
    expected.crate = Crate(label: "new")
    expected.lid = nil
    #expect(
      try updated {
        $0.crate = Crate(label: "new")
        $0.lid = nil
      } == expected)
  }

  @Test("a group in a row is an object in the row's JSON, or null")
  func groupsAsJSON() throws {
    let rows = Parcel.order(by: \.id)
    let size = try updated {
      $0.crate.size = Size(width: 1, height: 2)
      $0.lid = Lid(color: "red")
    }?.crate.size
    try database.read { (db) throws in
      #expect(try rows.select { $0.jsonObject() }.fetchAll(db) == rows.fetchAll(db))
      #expect(try Parcel.select { $0.jsonGroupArray() }.fetchOne(db)?.first?.crate.size == size)
    }
  }

  @Test("an optional column is assigned a value, nil, and an expression that is never NULL")
  func optionalColumns() throws {
    let now = Date(timeIntervalSince1970: 1_000)
    var expected = Parcel(id: "ab-1", title: "Books", count: 4, level: .low)
    expected.notes = "Books!"
    expected.isFragile = true
    expected.due = now
    expected.sent = now
    expected.level = .high
    expected.rank = .medium
    #expect(
      try updated {
        $0.notes = $0.title + "!"
        $0.count += 1
        $0.isFragile = true
        $0.due = now
        $0.sent = now
        $0.level = .high
        $0.promote()
      } == expected)
    expected.notes = "Books!?"
    expected.count = 7
    expected.isFragile = false
    expected.due = nil
    expected.sent = Date(timeIntervalSince1970: 5)
    expected.level = .medium
    expected.rank = .high
    #expect(
      try updated {
        $0.notes += "?"
        $0.count = ($0.count ?? 0) + 3
        $0.isFragile.toggle()
        $0.due = nil
        $0.sent = $0.made
        $0.level = $0.rank
        $0.rank = .high
      } == expected)
    expected.count = 3
    expected.level = .high
    #expect(
      try updated {
        $0.count = $0.count - 4
        $0.level = #bind(.high)
      } == expected)
  }

  @Test("the last assignment to a column holds")
  func repeatedAssignments() throws {
    var expected = Parcel(id: "ab-1", title: "B", count: 3, level: .low)
    expected.crate.size.width = 2
    #expect(
      try updated {
        $0.title = "A"
        $0.crate.size = Size(width: 1, height: 0)
        $0.title = "B"
        $0.crate.size.width = 2
      } == expected)
  }

  @Test("values are compared in the form that the column gives them")
  func comparisons() throws {
    try database.read { (db) throws in
      func titles(_ parcels: some SelectStatement<(), Parcel, ()>) throws -> [String] {
        try parcels.order(by: \.title).select(\.title).fetchAll(db)
      }
      #expect(try titles(Parcel.where { $0.level.in([.low]) }) == ["Books"])
      #expect(try titles(Parcel.where { $0.level.in([.low, .high]) }) == ["Books", "Lamp"])
      #expect(try titles(Parcel.where { !$0.level.in([.low]) }) == ["Lamp"])
      #expect(try titles(Parcel.where { $0.rank.in([.medium, .high]) }) == [])
      #expect(try titles(Parcel.where { [Level.high].contains($0.level) }) == ["Lamp"])
      #expect(try titles(Parcel.where { $0.made.in([Date(timeIntervalSince1970: 5)]) }) == ["Books", "Lamp"])
      #expect(try titles(Parcel.where { ($0.count % 2) == 1 }) == ["Books"])
      #expect(try titles(Parcel.where { $0.title.length() != $0.crate.size.width }) == ["Books", "Lamp"])
      #expect(try titles(Parcel.where { ($0.crate.size.width + 2) != 2 }) == [])
      #expect(try Tally.where { ($0.id % 2) == 1 }.select(\.title).fetchAll(db) == ["Books"])
      #expect(try Tally.where { ($0.id + 1) == $0.id }.fetchCount(db) == 0)
    }
  }

  @Test("the functions of text take tagged identifiers and return text")
  func taggedText() throws {
    try database.read { db in
      let codes = try Parcel.order(by: \.id).select { $0.id.substr(1, 2) }.fetchAll(db)
      #expect(codes == ["ab", "cd"])
      #expect(try Parcel.where { $0.id.substr(4).eq("2") }.select { $0.id.upper() }.fetchOne(db) == "CD-2")
      #expect(try Parcel.where { $0.id.hasPrefix("ab") }.fetchCount(db) == 1)
      let notes: [String?] = try Parcel.order(by: \.id).select { $0.notes.substr(2) }.fetchAll(db)
      #expect(notes == [nil, "ld"])
    }
  }

  @Test("selected rows are inserted, or update the rows that exist if a condition holds")
  func insertedSelects() throws {
    try database.write { db in
      func tallies() throws -> [String: Int] {
        let rows = try Tally.select { ($0.title, $0.count) }.fetchAll(db)
        return Dictionary(uniqueKeysWithValues: rows)
      }
      let parcels = Parcel.select { ($0.title, $0.count ?? 1) }
      func insert(where bound: Int) throws {
        try Tally.insert {
          ($0.title, $0.count)
        } select: {
          parcels
        } onConflict: {
          $0.title
        } doUpdate: {
          $0.count += $1.count
        } where: {
          $0.count.gt(bound)
        }
        .execute(db)
      }
      try insert(where: 10)
      #expect(try tallies() == ["Books": 10, "Pens": 1, "Lamp": 1])
      try insert(where: 9)
      #expect(try tallies() == ["Books": 13, "Pens": 1, "Lamp": 1])
      try Tally.insert {
        ($0.title, $0.count)
      } select: {
        parcels.order(by: \.title).limit(1)
      } onConflict: {
        $0.title
      } doUpdate: {
        $0.count += 1
      }
      .execute(db)
      #expect(try tallies()["Books"] == 14)
      try Tally.insert {
        ($0.title, $0.count)
      } select: {
        Parcel.where { $0.title.eq("none") }.select { ($0.title, $0.count ?? 1) }.union(parcels)
      } onConflictDoUpdate: {
        $0.count = #bind(0)
      } where: {
        $0.title.neq("Lamp")
      }
      .execute(db)
      #expect(try tallies() == ["Books": 0, "Pens": 1, "Lamp": 1])
      try Tally.insert {
        ($0.title, $0.count)
      } select: {
        Parcel.group(by: \.title).select { ($0.title, $0.count.count()) }
      } onConflict: {
        $0.title
      }
      .execute(db)
      try Tally.insert {
        ($0.title, $0.count)
      } values: {
        ("Pens", 5)
      } onConflict: {
        $0.title
      } doUpdate: {
        $0.count += 2
      } where: {
        $0.count.gt(0)
      }
      .execute(db)
      #expect(try tallies() == ["Books": 0, "Pens": 3, "Lamp": 1])
    }
  }

  @Test("a call of an aggregate function takes an order, a filter and distinct values")
  func aggregates() throws {
    try database.write { db in
      try Tally.insert { Tally(id: 3, title: "Lamp", count: 1) }.execute(db)
      #expect(try Tally.select { $joined($0.title, filter: $0.count.eq(1)) }.fetchOne(db) == "Pens+Lamp")
      #expect(try Tally.select { $joined($0.title, filter: $0.id.gt(9)) }.fetchOne(db) == "")
      let counts = try Tally.select { $joined(distinct: $0.count.cast(as: String.self)) }.fetchOne(db)
      #expect(counts == "10+1")
      // SQLite orders the rows of an aggregate since 3.44.
      let ordered = Tally.select { $joined(distinct: $0.title, order: $0.id.desc(), filter: $0.id.gt(1)) }
      #expect(
        ordered.query.sql == """
          SELECT "joined"(DISTINCT "tallies"."title" ORDER BY "tallies"."id" DESC) FILTER (WHERE ("tallies"."id") > (?))
          FROM "tallies"
          """)
      #expect(try Tally.select { $weigh($0.id, $0.count.asOptional(), filter: $0.id.gt(1)) }.fetchOne(db) == 5)
    }
  }
}
