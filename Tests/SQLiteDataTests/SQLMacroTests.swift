import Dependencies
import DependenciesTestSupport
import SQLiteData
import Testing

@Suite("SQL in properties", .dependency(\.defaultDatabase, try sampleDatabase()))
struct SQLMacroTests {
  @Dependency(\.defaultDatabase) var database

  @Test("the type of a property is the type of its SQL")
  func inferredTypes() async throws {
    @FetchAll(#sql("SELECT \(Item.columns) FROM \(Item.self) WHERE \(Item.id) < 3 ORDER BY \(Item.id)")) var items:
      [Item]
    @FetchAll(#sql("SELECT \(Item.title) FROM \(Item.self) WHERE \(Item.id) < 3 ORDER BY \(Item.id)"))
    var titles: [String]
    @FetchOne(#sql("SELECT count(*) FROM \(Item.self)")) var count = 0
    @FetchOne(#sql("SELECT \(Item.columns) FROM \(Item.self) WHERE \(Item.id) = 2")) var hammer: Item?
    @FetchOne(#sql("SELECT min(\(Item.priority)) FROM \(Item.self)")) var least: Int?
    #expect(items.map(\.title) == ["Milk", "Hammer"])
    #expect(titles == ["Milk", "Hammer"])
    #expect(count == 5)
    #expect(hammer?.title == "Hammer")
    #expect(least == 1)
    try await database.write { db in try Item.find(2).delete().execute(db) }
    #expect(await eventually { items.count == 1 && titles.count == 1 && count == 4 && hammer == nil && least == 2 })
    try await database.write { db in try Item.delete().execute(db) }
    #expect(await eventually { items.isEmpty && count == 0 && least == nil })
    #expect($least.loadError == nil)
    try await $titles.load(#sql("SELECT 'a'"))
    try await $count.load(#sql("SELECT 7"))
    try await $least.load(#sql("SELECT 8"))
    #expect(titles == ["a"] && count == 7 && least == 8)
  }

  @Test("the type of a property's SQL can be declared")
  func writtenTypes() {
    @FetchAll(#sql("SELECT title FROM items ORDER BY id LIMIT 1", as: String.self)) var titles
    @FetchOne(#sql("SELECT count(*) FROM items", as: Int.self)) var count = 0
    @FetchOne(#sql("SELECT category FROM items WHERE id = 4", as: String?.self)) var category: String?
    @FetchOne(#sql("SELECT id FROM items WHERE id = 9", as: Int.self)) var id: Int?
    #expect(titles == ["Milk"] && count == 5 && category == nil && id == nil)
    #expect($id.loadError == nil)
  }
}
