import Dependencies
import Foundation
import SQLiteData
import SQLiteDataTestSupport
import Testing

@Suite("Assertions about queries", .dependency(\.defaultDatabase, try sampleDatabase()))
struct TestSupportTests {
  @Test("results of columns are drawn as a table")
  func columns() {
    assertQuery(Item.select { ($0.title, $0.priority) }.limit(2)) {
      """
      ┌──────────┬───┐
      │ "Milk"   │ 2 │
      │ "Hammer" │ 1 │
      └──────────┴───┘
      """
    }
  }

  @Test("rows are drawn with one property in each line")
  func rows() {
    assertQuery(Item.where { $0.id.lt(3) }) {
      """
      ┌──────────────────────┐
      │ Item(                │
      │   id: 1,             │
      │   title: "Milk",     │
      │   category: "Food",  │
      │   priority: 2        │
      │ )                    │
      ├──────────────────────┤
      │ Item(                │
      │   id: 2,             │
      │   title: "Hammer",   │
      │   category: "Tools", │
      │   priority: 1        │
      │ )                    │
      └──────────────────────┘
      """
    }
  }

  @Test("the SQL is compared as well")
  func includesSQL() {
    assertQuery(includeSQL: true, Item.where { $0.id.eq(1) }.select(\.title)) {
      """
      SELECT "items"."title"
      FROM "items"
      WHERE ("items"."id") = (1)
      """
    } results: {
      """
      ┌────────┐
      │ "Milk" │
      └────────┘
      """
    }
  }

  @Test("a query without results says so")
  func noResults() {
    assertQuery(Item.where { $0.id.eq(9) }.select(\.title)) {
      """
      (No results)
      """
    }
  }

  @Test("a difference is an issue that shows it")
  func difference() {
    withKnownIssue {
      assertQuery(Item.where { $0.id.eq(9) }.select(\.title)) {
        """
        "Milk"
        """
      }
    } matching: {
      $0.description.contains("(No results)")
    }
  }

  @Test("a missing text is an issue that shows what to paste")
  func missing() {
    withKnownIssue {
      assertQuery(Item.find(1).select(\.title))
    } matching: {
      $0.description.contains("│ \"Milk\" │")
    }
  }
}

@Suite("Database functions", .dependency(\.defaultDatabase, try sampleDatabase()))
struct FunctionTests {
  @Dependency(\.defaultDatabase) var database

  struct Exclaim: ScalarDatabaseFunction {
    typealias Input = String
    typealias Output = String
    var name: String { "exclaim" }
    var argumentCount: Int? { 1 }
    var isDeterministic: Bool { true }
    func invoke(_ decoder: inout some QueryDecoder) throws -> QueryBinding {
      (try String(decoder: &decoder) + "!").queryBinding
    }
  }

  struct Longest: AggregateDatabaseFunction {
    typealias Input = String
    typealias Output = String?
    typealias Element = String
    var name: String { "longest" }
    var argumentCount: Int? { 1 }
    var isDeterministic: Bool { true }
    func step(_ decoder: inout some QueryDecoder) throws -> String { try String(decoder: &decoder) }
    func invoke(_ rows: some Sequence<String>) throws -> QueryBinding {
      rows.max { $0.count < $1.count }.queryBinding
    }
  }

  @Test("a function is called by SQL until it is removed")
  func scalar() throws {
    try database.write { (db) throws in
      db.add(function: Exclaim())
      #expect(try Item.select { Exclaim()._call($0.title) }.fetchOne(db) == "Milk!")
      db.remove(function: Exclaim())
      #expect(throws: (any Error).self) { try Item.select { Exclaim()._call($0.title) }.fetchOne(db) }
    }
  }

  @Test("an error of a function fails the query")
  func scalarError() throws {
    try database.write { (db) throws in
      db.add(function: Exclaim())
      #expect(throws: (any Error).self) { try Item.select { Exclaim()._call($0.category) }.fetchAll(db) }
    }
  }

  @Test("an aggregate function is called once for each group")
  func aggregate() throws {
    try database.write { (db) throws in
      db.add(function: Longest())
      #expect(try Item.select { Longest()._call($0.title) }.fetchOne(db) == "Hammer")
      #expect(try Item.where { $0.id.lt(0) }.select { Longest()._call($0.title) }.fetchAll(db) == [nil])
    }
  }

  @Test("an aggregate function that can't read one of its rows fails the query")
  func aggregateError() throws {
    try database.write { (db) throws in
      db.add(function: Longest())
      // The rows without a category come after others.
      #expect(throws: DatabaseError.self) { try Item.select { Longest()._call($0.category) }.fetchAll(db) }
      let food = Item.where { $0.category.eq("Food") }
      #expect(try food.select { Longest()._call($0.category) }.fetchOne(db) == "Food")
    }
  }
}
