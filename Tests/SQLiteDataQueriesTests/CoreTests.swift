import Foundation
import SQLiteDataQueries
import Testing

@Suite("fragments")
struct FragmentTests {
  @Test("an appended fragment keeps the order of its bindings")
  func append() {
    var fragment: QueryFragment = "a = \(bind: 1)"
    fragment.append(" AND b = \(bind: "x")")
    #expect(fragment.sql == "a = ? AND b = ?")
    #expect(fragment.bindings == [.int(1), .text("x")])
    #expect(fragment.debugDescription == "a = 1 AND b = 'x'")
    #expect(fragment.prepare { "$\($0)" }.sql == "a = $1 AND b = $2")
  }

  @Test("a quoted name doubles its quotation marks")
  func quote() {
    #expect(QueryFragment(quote: "a\"b").sql == "\"a\"\"b\"")
    #expect(QueryFragment(quote: "it's", delimiter: .text).sql == "'it''s'")
  }

  @Test(
    "an alias is named as the macro names a table",
    arguments: [
      ("URLEntry", "urlEntries"), ("Category", "categories"), ("Day", "days"), ("Box", "boxes"), ("URL", "urls"),
    ])
  func aliasNames(type: String, table: String) {
    #expect(_defaultTableName(for: type) == table)
  }
}

@Suite("representations")
struct RepresentationTests {
  @Test("a date is written as ISO 8601 text in UTC and read back")
  func dates() throws {
    #expect(Date(timeIntervalSince1970: 0).iso8601String == "1970-01-01 00:00:00.000")
    #expect(Date(timeIntervalSince1970: 951_782_399.999).iso8601String == "2000-02-28 23:59:59.999")
    #expect(Date(timeIntervalSince1970: -1).iso8601String == "1969-12-31 23:59:59.000")
    for text in [
      "2000-02-29 12:30:45.250", "2000-02-29T12:30:45.25Z", "2000-02-29T13:30:45.250+01:00",
      "2000-02-29 07:00:45.25-0530",
    ] {
      #expect(try Date(iso8601String: text).timeIntervalSince1970 == 951_827_445.25, "\(text)")
    }
    #expect(try Date(iso8601String: "2000-02-29").timeIntervalSince1970 == 951_782_400)
    #expect(try Date(iso8601String: "2000-02-29 12:30").timeIntervalSince1970 == 951_827_400)
    for text in ["", "2000", "2000-13-01", "2000-02-29 12:30:45x", "2000-02-29 12", "noon"] {
      #expect(throws: QueryDecodingError.invalidDate(text)) { try Date(iso8601String: text) }
    }
  }

  @Test("each representation binds its form of a value")
  func bindings() throws {
    let date = Date(timeIntervalSince1970: 86_400)
    #expect(Date.UnixTimeRepresentation(queryOutput: date).queryBinding == .int(86_400))
    #expect(Date.JulianDayRepresentation(queryOutput: date).queryBinding == .double(2_440_588.5))
    #expect(Date.ISO8601Representation(queryOutput: date).queryBinding == .text("1970-01-02 00:00:00.000"))
    #expect(date.queryBinding == .date(date))
    let uuid = try #require(UUID(uuidString: "DEADBEEF-0000-0000-0000-0000000000FF"))
    #expect(
      UUID.BytesRepresentation(queryOutput: uuid).queryBinding.debugDescription == "x'deadbeef0000000000000000000000ff'"
    )
    #expect(
      UUID.UppercasedRepresentation(queryOutput: uuid).queryBinding == .text("DEADBEEF-0000-0000-0000-0000000000FF"))
    #expect(uuid.queryBinding.debugDescription == "'deadbeef-0000-0000-0000-0000000000ff'")
    #expect(UUID?.BytesRepresentation.self == Optional<UUID.BytesRepresentation>.self)
    #expect([1, 2].queryJSON == .text("[1,2]"))
    #expect(Priority.high.queryBinding == .int(3))
    #expect(String?.none.queryBinding == .null)
    #expect(UInt64(7).queryBinding == .int(7))
    #expect(Tagged<Reminder, Int>(4).queryBinding == .int(4))
    guard case .invalid = UInt64.max.queryBinding else {
      Issue.record("an integer above Int64.max must not be bound")
      return
    }
  }

  @Test("a row is read from its columns, and missing rows of an outer join are nil")
  func decoding() throws {
    let row: [QueryBinding] = [
      .int(1), .text("Milk"), .null, .bool(true), .int(0), .int(3), .text("1970-01-01 00:00:00.000"), .int(2), .int(9),
      .null,
    ]
    var decoder = ArrayDecoder(values: row)
    let reminder = try Reminder(decoder: &decoder)
    #expect(reminder.title == "Milk" && reminder.priority == .high && reminder.isCompleted && !reminder.isFlagged)
    #expect(reminder.dueDate == Date(timeIntervalSince1970: 0))
    #expect(reminder.timestamps == Timestamps(createdAt: Date(timeIntervalSince1970: 9)))
    #expect(decoder.position == 10)

    decoder = ArrayDecoder(values: Array(repeating: .null, count: 10) + [.int(5)])
    #expect(try decoder.required(Reminder?.self) == nil)
    #expect(try decoder.required(Int.self) == 5)

    decoder = ArrayDecoder(values: [.null])
    #expect(throws: QueryDecodingError.missingRequiredColumn) { try decoder.required(Int.self) }
    decoder = ArrayDecoder(values: [.int(300)])
    #expect(throws: QueryDecodingError.integerOverflow) { try decoder.required(UInt8.self) }
    decoder = ArrayDecoder(values: [.int(9)])
    #expect(throws: QueryDecodingError.self) { try decoder.required(Priority.self) }
  }
}

extension Array where Element: Codable {
  fileprivate var queryJSON: QueryBinding { [Element].JSONRepresentation(queryOutput: self).queryBinding }
}

@Suite("statements")
struct StatementTests {
  @Test("an insert of no rows and an update of no columns are empty")
  func empty() {
    #expect(Reminder.insert { [Reminder]() }.query.isEmpty)
    #expect(Reminder.update { _ in }.query.isEmpty)
    #expect(Reminder.none.query.isEmpty)
    #expect(Reminder.where(\.isCompleted).and(Reminder.none).query.isEmpty)
    #expect(Reminder.none.and(Reminder.where(\.isCompleted)).query.isEmpty)
    #expect(Reminder.none.delete().query.isEmpty)
    #expect(Reminder.none.update { $0.title = "x" }.query.isEmpty)
  }

  @Test("an empty query inside of another one returns no rows")
  func emptyParts() {
    let titles = Reminder.select(\.title)
    let none = Reminder.none.select(\.title)
    #expect(Reminder.where { _ in Reminder.none.exists() }.query.sql.hasSuffix("EXISTS (\n  SELECT NULL WHERE 0\n)"))
    #expect(Reminder.where { $0.title.in(none) }.query.sql.hasSuffix("IN (\n  SELECT NULL WHERE 0\n)"))
    #expect(none.union(all: true, titles).query.sql.hasPrefix("SELECT * FROM (\n  SELECT \"reminders\".\"title\""))
    #expect(titles.union(none).query.sql.hasPrefix("SELECT DISTINCT * FROM ("))
    #expect(titles.except(none).query.sql.hasPrefix("SELECT DISTINCT * FROM ("))
    for empty in [none.union(none), none.except(titles), titles.intersect(none)] {
      #expect(empty.query.isEmpty && empty.order(byColumn: 1).limit(1).query.isEmpty)
    }
    let copy = Tag.insert {
      $0.title
    } select: {
      none
    }
    #expect(copy.query.isEmpty)
    let tags = With {
      Tag.none
    } query: {
      Tag.select(\.title)
    }
    #expect(tags.query.sql.contains("SELECT NULL AS \"id\", NULL AS \"title\" WHERE 0"))
  }

  @Test("compound selects are combined as they are nested")
  func nestedCompounds() {
    let titles = Reminder.select(\.title)
    let lists = RemindersList.select(\.title)
    #expect(titles.union(lists.intersect(titles)).query.sql.contains("UNION\nSELECT * FROM (\n"))
    #expect(titles.except(lists.except(titles)).query.sql.contains("EXCEPT\nSELECT * FROM (\n"))
    #expect(!titles.union(lists.union(titles)).query.sql.contains("("))
    #expect(!titles.union(lists).intersect(titles).query.sql.contains("("))
  }

  @Test("queries of a table start from its default scope")
  func defaultScope() {
    #expect(Kept.count().query.sql.hasSuffix(#"WHERE NOT ("kept"."isDeleted")"#))
    #expect(
      Kept.where { $0.id.eq(1) }.query.sql.hasSuffix(#"WHERE (NOT ("kept"."isDeleted")) AND (("kept"."id") = (?))"#))
    #expect(Kept.find(1).delete().query.sql.contains("isDeleted"))
    #expect(!Kept.unscoped.query.sql.contains("WHERE"))
  }

  @Test("conditions with if and switch are parts of one query")
  func dynamic() {
    for (showCompleted, expected) in [(true, ""), (false, "\nWHERE NOT (\"reminders\".\"isCompleted\")")] {
      let query = Reminder.where { if !showCompleted { !$0.isCompleted } }.select(\.id)
      #expect(query.query.sql == "SELECT \"reminders\".\"id\"\nFROM \"reminders\"" + expected)
    }
  }

  @Test("a statement inside of another keeps the order of bound values")
  func nestedBindings() {
    let query = Reminder.where { $0.title.eq("a\nb") }
      .where { $0.remindersListID.in(RemindersList.where { $0.title.eq("c") }.select(\.id)) }.where { $0.id.gt(7) }
      .query
    #expect(query.bindings == [.text("a\nb"), .text("c"), .int(7)])
    #expect(query.debugDescription.contains("('c')"))
    #expect(query.sql.utf8.filter { $0 == 0x3F }.count == 3)
  }
}

@Table("kept")
struct Kept {
  let id: Int
  var isDeleted = false

  static let all = Self.where { !$0.isDeleted }
}

/// A decoder over values in memory.
struct ArrayDecoder: QueryDecoder {
  let values: [QueryBinding]
  var position = 0

  init(values: [QueryBinding]) { self.values = values }

  private mutating func next() -> QueryBinding {
    defer { position += 1 }
    return values[position]
  }

  mutating func decode(_ columnType: [UInt8].Type) throws -> [UInt8]? {
    if case .blob(let value) = next() { value } else { nil }
  }

  mutating func decode(_ columnType: Double.Type) throws -> Double? {
    if case .double(let value) = next() { value } else { nil }
  }

  mutating func decode(_ columnType: Int64.Type) throws -> Int64? {
    switch next() {
    case .int(let value): value
    case .bool(let value): value ? 1 : 0
    default: nil
    }
  }

  mutating func decode(_ columnType: String.Type) throws -> String? {
    if case .text(let value) = next() { value } else { nil }
  }

  mutating func skipNulls(_ count: Int) throws -> Bool {
    guard values[position..<position + count].allSatisfy({ $0 == .null }) else { return false }
    position += count
    return true
  }
}
