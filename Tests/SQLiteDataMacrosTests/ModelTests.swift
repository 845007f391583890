import Foundation
import SQLiteDataQueries
import Testing

@Suite struct ModelTests {
  @Test("names of tables, schemas and columns come from the declaration")
  func names() {
    #expect(RemindersList.tableName == "remindersLists")
    #expect(RemindersList.TableColumns.allColumns.map(\.name) == ["id", "list_title", "color"])
    #expect(Tag.tableName == "tags")
    #expect(Tag.schemaName == "library")
    #expect(Namespace.Item.tableName == "items")
    #expect(
      Namespace.Item.TableColumns.allColumns.map(\.name) == ["id", "class", "version", "first", "second", "observed"])
    #expect(Attachment.TableColumns.allColumns.map(\.name) == ["link", "note", "createdAt", "updatedAt"])
    #expect(Reminder.columns.primaryKey.name == "id")
    #expect(Tag.columns.primaryKey.name == "title")
    #expect(
      Reminder.TableColumns.allColumns.map(\.name) == [
        "id", "title", "isCompleted", "dueAt", "priority", "remindersListID", "parentID", "score", "createdAt",
        "status",
      ])
  }

  @Test("a column group adds its columns, and generated columns are not written")
  func groups() {
    #expect(
      Note.TableColumns.allColumns.map(\.name) == ["id", "createdAt", "updatedAt", "createdAt", "updatedAt", "length"])
    #expect(Note.TableColumns.writableColumns.map(\.name).count == 5)
    #expect(Note._columnWidth == 6)
    #expect(Enrollment.TableColumns.allColumns.map(\.name) == ["courseID", "studentID", "grade"])
    #expect(Note.columns.timestamps.updatedAt.queryFragment.sql == #""notes"."updatedAt""#)
  }

  @Test("a draft has the defaults of its table and an optional key")
  func drafts() {
    let draft = Reminder.Draft(title: "Milk", remindersListID: 1)
    #expect(draft.id == nil)
    #expect(draft.status == .open)
    #expect(draft.createdAt == Date(timeIntervalSince1970: 0))
    let list = RemindersList(id: 3, title: "Home", color: 2)
    var copy = RemindersList.Draft(list)
    copy.title += "!"
    #expect(copy.id == 3)
    #expect(copy.queryFragment.bindings == [.int(3), .text("Home!"), .int(2)])
    #expect(RemindersList.Draft(title: "x").queryFragment.bindings == [.null, .text("x"), .null])
    #expect(Tag.Draft(title: nil).title == nil)
    #expect(Enrollment.Draft(grade: 1).id == nil)
    #expect(Membership.Draft(key: EnrollmentID(courseID: 1, studentID: 2)).since == 2020)
  }

  @Test("a row is read column by column, and NULL gives the default")
  func decodes() throws {
    var row = ArrayDecoder([.int(1), .null, .null])
    #expect(try RemindersList(decoder: &row) == RemindersList(id: 1, title: "", color: nil))
    #expect(row.isAtEnd)
    var note = ArrayDecoder([.int(1), .int(10), .null, .null, .null, .int(5)])
    #expect(
      try Note(decoder: &note)
        == Note(id: 1, timestamps: Timestamps(createdAt: 10, updatedAt: nil), other: nil, length: 5))
    var missing = ArrayDecoder([.null, .null, .null])
    #expect(throws: QueryDecodingError.missingRequiredColumn) { try RemindersList(decoder: &missing) }
    var item = ArrayDecoder([.int(1), .text("a"), .int(9), .int(2), .int(3), .null])
    let decoded = try Namespace.Item(decoder: &item)
    #expect(decoded.class == "a" && decoded.version == 1 && decoded.second == 3 && decoded.observed == 0)
  }

  @Test("an enum is the case whose columns aren't NULL")
  func enums() throws {
    var link = ArrayDecoder([.text("a"), .null, .null, .null])
    #expect(try Attachment(decoder: &link) == .link("a"))
    var note = ArrayDecoder([.null, .text("b"), .null, .null])
    #expect(try Attachment(decoder: &note) == .note(text: "b"))
    var stamp = ArrayDecoder([.null, .null, .int(1), .null])
    #expect(try Attachment(decoder: &stamp) == .stamp(Timestamps(createdAt: 1)))
    var none = ArrayDecoder([.null, .null, .null, .null])
    #expect(throws: QueryDecodingError.missingRequiredColumn) { try Attachment(decoder: &none) }
    #expect(Attachment.note(text: "b").queryFragment.bindings == [.null, .text("b"), .null, .null])
    #expect(
      Attachment.Columns.note("x").queryFragment.debugDescription
        == #"NULL AS "link", 'x' AS "note", NULL AS "createdAt", NULL AS "updatedAt""#)
  }

  @Test("a selection takes one expression for each property")
  func selections() {
    #expect(
      Row.Columns(reminder: Reminder.columns, listTitle: #sql("NULL")).allColumns.count
        == 12)
  }

  @Test("#sql binds what it interpolates")
  func sql() {
    let id = 7
    let statement = #sql(
      "SELECT \(RemindersList.columns) FROM \(RemindersList.self) WHERE \(RemindersList.id) = \(id) AND \(quote: "a") = \(raw: "b")",
      as: RemindersList.self)
    #expect(
      statement.queryFragment.sql == """
        SELECT "remindersLists"."id", "remindersLists"."list_title", "remindersLists"."color" FROM "remindersLists" \
        WHERE "remindersLists"."id" = ? AND "a" = b
        """)
    #expect(statement.queryFragment.bindings == [.int(7)])
    #expect(#sql("PRAGMA optimize").queryFragment.sql == "PRAGMA optimize")
    #expect(
      #bind(Date(timeIntervalSince1970: 5), as: Date.UnixTimeRepresentation.self).queryFragment.bindings == [.int(5)])
  }

  @Test("database functions are called from SQL and from a driver")
  func functions() throws {
    #expect(Functions.$exclaim("a", times: 2).queryFragment.debugDescription == #""exclaim"('a', 2)"#)
    #expect(Functions.$exclaim.argumentCount == 2)
    var arguments = ArrayDecoder([.text("a"), .int(2)])
    #expect(try Functions.$exclaim.invoke(&arguments) == .text("a!!"))
    #expect(Functions.$fixedNow.queryFragment.sql == #""now"()"#)
    #expect(Functions.$fixedNow.isDeterministic)
    var none = ArrayDecoder([])
    #expect(try Functions.$fixedNow.invoke(&none) == .int(7))
    #expect(try Functions.$note.invoke(&none) == .null)
    var date = ArrayDecoder([.int(0)])
    #expect(try Functions.$tomorrow.invoke(&date) == .int(86400))
  }

  @Test("names of cases, properties and parameters don't clash with what the macros make")
  func clashes() throws {
    var decoder = ArrayDecoder([.null, .text("a"), .null])
    guard case .base("a") = try Names(decoder: &decoder) else { throw QueryDecodingError.missingRequiredColumn }
    #expect(Names.decoder(7).queryFragment.bindings == [.int(7), .null, .null])
    let row = MoreNames(id: 1, allColumns: "x", columns: 2, init: 3)
    #expect(row.queryFragment.bindings == [.int(1), .text("x"), .int(2), .int(1), .int(3)])
    #expect(MoreNames.Columns(id: 1, allColumns: "y", columns: 2, decoder: 3, init: Int?.some(4)).allColumns.count == 5)
    #expect(Functions.oppositeOfGood.debugDescription == #""opposite"(0)"#)
    var none = ArrayDecoder([])
    #expect(throws: QueryDecodingError.integerOverflow) { try Functions.$failing.invoke(&none) }
    #expect(Functions.$last(1, of: "a").queryFragment.debugDescription == #""last"(1, 'a')"#)
    #expect(RemindersList.Draft.$isSame(1, as: 2).queryFragment.debugDescription == #""isSame"(1, 2)"#)
  }

  @Test("arguments of #sql and #bind may have comments at their end")
  func comments() {
    let fragment = #sql(
      "\(1)",  // the value
      as: Int.self  // its type
    ).queryFragment
    #expect(fragment.bindings == [.int(1)])
    #expect(
      #bind(
        2,
        as: Int.self  // its type
      ).queryFragment.bindings == [.int(2)])
  }

  @Test("an aggregate function reads the rows of a group")
  func aggregates() throws {
    #expect($longest(RemindersList.title).queryFragment.sql == #""longest"("remindersLists"."list_title")"#)
    var first = ArrayDecoder([.text("a")])
    var second = ArrayDecoder([.text("bb")])
    #expect(try $longest.invoke([$longest.step(&first), $longest.step(&second)]) == .text("bb"))
    var row = ArrayDecoder([.double(2), .double(3)])
    #expect(try $weighted.invoke([$weighted.step(&row)]) == .double(6))
    #expect($weighted(value: 1.0, weight: 2.0).queryFragment.debugDescription == #""weighted"(1.0, 2.0)"#)
  }
}

/// A row of bindings.
struct ArrayDecoder: QueryDecoder {
  private let values: [QueryBinding]
  private var index = 0

  init(_ values: [QueryBinding]) { self.values = values }

  var isAtEnd: Bool { index == values.count }

  private mutating func next<T>(_ value: (QueryBinding) -> T?) throws -> T? {
    defer { index += 1 }
    if values[index] == .null { return nil }
    guard let result = value(values[index]) else { throw QueryDecodingError.dataCorrupted("column \(index)") }
    return result
  }

  mutating func decode(_ columnType: [UInt8].Type) throws -> [UInt8]? {
    try next { if case .blob(let value) = $0 { value } else { nil } }
  }
  mutating func decode(_ columnType: Double.Type) throws -> Double? {
    try next { if case .double(let value) = $0 { value } else { nil } }
  }
  mutating func decode(_ columnType: Int64.Type) throws -> Int64? {
    try next { if case .int(let value) = $0 { value } else { nil } }
  }
  mutating func decode(_ columnType: String.Type) throws -> String? {
    try next { if case .text(let value) = $0 { value } else { nil } }
  }
  mutating func skipNulls(_ count: Int) throws -> Bool {
    guard values[index..<min(index + count, values.count)].allSatisfy({ $0 == .null }) else { return false }
    index += count
    return true
  }
}
