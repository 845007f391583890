import Dependencies
import DependenciesTestSupport
import Foundation
import GRDB
import Observation
import SQLiteData
import Synchronization
import Testing

@Suite("Execution", .dependency(\.defaultDatabase, try sampleDatabase()))
struct ExecutionTests {
  @Dependency(\.defaultDatabase) var database

  @Test("rows, a row, their number and a row by its key are fetched")
  func fetching() throws {
    try database.read { (db) throws in
      #expect(try Item.fetchAll(db).map(\.title) == ["Milk", "Hammer", "Bread", "Sock", "Lamp"])
      #expect(try Item.order(by: \.title).fetchOne(db)?.title == "Bread")
      #expect(try Item.where { $0.category.eq("Food") }.fetchCount(db) == 2)
      #expect(try Item.fetchCount(db) == 5)
      #expect(try Item.find(db, key: 2).title == "Hammer")
      #expect(try Item.where { $0.category.eq("Tools") }.find(db, key: 2).title == "Hammer")
      #expect(throws: NotFound.self) { try Item.find(db, key: 9) }
      #expect(throws: NotFound.self) { try Item.where { $0.category.eq("Food") }.find(db, key: 2) }
    }
  }

  @Test("results of several columns are tuples")
  func tuples() throws {
    try database.read { (db) throws in
      let rows = try Item.select { ($0.id, $0.title, $0.priority) }.fetchAll(db)
      #expect(rows.map { $0.0 } == [1, 2, 3, 4, 5])
      #expect(rows.map { $0.2 } == [2, 1, nil, nil, nil])
      let one = try #require(try Item.select { ($0.id, $0.title) }.fetchOne(db))
      #expect(one == (1, "Milk"))
    }
  }

  @Test("joined tables are fetched as tuples")
  func joins() throws {
    enum Other: AliasName {}
    try database.read { (db) throws in
      let rows = try Item.join(Item.as(Other.self).all) { $0.category.eq($1.category) && $0.id.lt($1.id) }.fetchAll(db)
      #expect(rows.map { $0.0.title } == ["Milk"])
      #expect(rows.map { $0.1.base.title } == ["Bread"])
    }
  }

  @Test("a cursor gives the rows one by one")
  func cursors() throws {
    try database.read { (db) throws in
      let cursor = try Item.select(\.id).fetchCursor(db)
      var ids: [Int] = []
      while let id = try cursor.next() { ids.append(id) }
      #expect(ids == [1, 2, 3, 4, 5])
    }
  }

  @Test("rows are inserted, updated and deleted")
  func writing() throws {
    try database.write { (db) throws in
      let id = try #require(try Item.insert { Item.Draft(title: "Soap") }.returning(\.id).fetchOne(db))
      #expect(id == 6)
      try Item.find(id).update { $0.title = "Shampoo" }.execute(db)
      #expect(try Item.find(db, key: id).title == "Shampoo")
      try Item.find(id).delete().execute(db)
      #expect(try Item.fetchCount(db) == 5)
    }
  }

  @Test("a statement is used again with other values")
  func rebinding() throws {
    try database.read { (db) throws in
      for title in ["Milk", "Bread", "Milk", "None"] {
        let found = try Item.where { $0.title.eq(title) }.fetchAll(db).map(\.title)
        #expect(found == (title == "None" ? [] : [title]))
      }
    }
  }

  @Test("a cached statement survives a change of the schema")
  func schemaChange() throws {
    try database.write { (db) throws in
      #expect(try Item.fetchCount(db) == 5)
      #expect(try Item.fetchAll(db).count == 5)
      try db.execute(sql: "ALTER TABLE items ADD COLUMN more TEXT")
      #expect(try Item.fetchAll(db).count == 5)
    }
  }

  @Test("a query without an effect doesn't run")
  func nothing() throws {
    try database.write { (db) throws in
      #expect(try Item.none.fetchAll(db).isEmpty)
      #expect(try Item.none.fetchCount(db) == 0)
      try Item.insert { [Item]() }.execute(db)
      #expect(try Item.fetchCount(db) == 5)
    }
  }

  @Test("text with NUL characters comes back whole")
  func nulCharacters() throws {
    try database.write { (db) throws in
      let text = "a\0b"
      try Item.find(1).update { $0.title = text }.execute(db)
      #expect(try Item.find(db, key: 1).title == text)
    }
  }

  @Test("an error names the column, its index and the SQL")
  func decodingErrors() throws {
    try database.read { (db) throws in
      let error = #expect(throws: ColumnDecodingError.self) {
        try SQLQueryExpression("SELECT id, category FROM items ORDER BY id", as: (Int, String).self).fetchAll(db)
      }
      #expect(error?.column == 1)
      #expect(error?.name == "category")
      #expect(error?.sql == "SELECT id, category FROM items ORDER BY id")
      #expect(error?.underlyingError as? QueryDecodingError == .missingRequiredColumn)
    }
  }

  @Test("a parameter in the SQL that no value is bound to is an error")
  func unboundParameters() throws {
    try database.read { (db) throws in
      for query: QueryFragment in ["SELECT ?", "SELECT \(bind: 1) + ?", "SELECT \(bind: 1) + :number"] {
        #expect(throws: DatabaseError.self) { try SQLQueryExpression(query, as: Int?.self).fetchOne(db) }
      }
    }
  }

  @Test("a UUID is read in lower, upper and mixed case")
  func uuids() throws {
    let id = UUID()
    let text = id.uuidString
    try database.read { (db) throws in
      for text in [text, text.lowercased(), text.prefix(10).lowercased() + text.dropFirst(10)] {
        #expect(try SQLQueryExpression("SELECT \(bind: text)", as: UUID.self).fetchOne(db) == id)
      }
      #expect(throws: ColumnDecodingError.self) {
        try SQLQueryExpression("SELECT 'no UUID'", as: UUID.self).fetchOne(db)
      }
    }
  }

  @Test("a cancelled task interrupts its query")
  func cancellation() async throws {
    let database = database
    let task = Task {
      try await database.read { (db) throws in
        try SQLQueryExpression(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", as: Int.self
        ).fetchOne(db)
      }
    }
    try await Task.sleep(for: .milliseconds(20))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("a property wrapper of a table follows writes through statements")
  func observation() async throws {
    @FetchAll var items: [Item]
    @FetchAll(Item.where { $0.category.eq("Food") }.order(by: \.title)) var food
    @FetchOne(Item.count()) var count = 0
    @FetchOne(Item.where { $0.category.eq("Food") }) var first: Item?
    #expect(items.count == 5)
    #expect(food.map(\.title) == ["Bread", "Milk"])
    #expect(count == 5)
    #expect(first?.title == "Milk")
    try await database.write { (db) throws in
      try Item.where { $0.category.eq("Food") }.delete().execute(db)
    }
    #expect(await eventually { items.count == 3 && food.isEmpty && count == 3 && first == nil })
    #expect($first.loadError == nil)
  }

  @Test("a property for a required row that is missing keeps its value and has an error")
  func notFound() async throws {
    @FetchOne var item = Item(id: 2)
    #expect(item.title == "Hammer")
    try await database.write { db in try Item.find(2).update { $0.title = "Saw" }.execute(db) }
    #expect(await eventually { item.title == "Saw" })
    try await database.write { db in try Item.find(2).delete().execute(db) }
    #expect(await eventually { $item.loadError is NotFound })
    #expect(item.title == "Saw")
    await #expect(throws: NotFound.self) { try await $item.load() }
  }

  @Test("a value that isn't a table keeps its default")
  func plainValue() {
    @FetchOne var number = 7
    #expect(number == 7)
    #expect($number.loadError == nil)
  }

  @Test("a NULL and a missing row are nil in an optional property")
  func optionals() async throws {
    @FetchOne(Item.order { $0.id.desc() }.select(\.priority)) var last: Int?
    @FetchOne(Item.find(1).select(\.priority)) var first: Int?
    #expect(last == nil)
    #expect(first == 2)
    try await database.write { db in try Item.delete().execute(db) }
    #expect(await eventually { first == nil })
    #expect($last.loadError == nil)
  }

  @Test("rows that can't be compared are delivered once for each change")
  func noDuplicates() async throws {
    @FetchAll(Item.order(by: \.id)) var items
    let counts = Mutex<[Int]>([])
    let values = $items.values
    let reader = Task {
      for await value in values { counts.withLock { $0.append(value.count) } }
    }
    #expect(await eventually { counts.withLock { $0 } == [5] })
    // The first commit doesn't change the rows, and the second one does.
    try await database.write { db in try Item.find(1).update { $0.title = "Milk" }.execute(db) }
    try await database.write { db in try Item.find(1).delete().execute(db) }
    #expect(await eventually { counts.withLock { $0.last } == 4 })
    try await Task.sleep(for: .milliseconds(50))
    #expect(counts.withLock { $0 } == [5, 4])
    reader.cancel()
    await reader.value
  }

  @Test("an observable model tells that its rows have changed")
  func observableModel() async throws {
    let model = ItemsModel()
    let (changes, change) = AsyncStream<Void>.makeStream()
    withObservationTracking {
      _ = model.items
    } onChange: {
      change.finish()
    }
    try await database.write { db in try Item.find(1).delete().execute(db) }
    for await _ in changes {}
    #expect(await eventually { model.items.count == 4 })
  }

  @Test("another query is loaded into a property")
  func loading() async throws {
    @FetchAll var items: [Item]
    try await $items.load(Item.where { $0.title.eq("Lamp") })
    #expect(items.map(\.id) == [5])
    try await $items.load(Item.none)
    #expect(items.isEmpty)
  }
}

@Observable
final class ItemsModel {
  @ObservationIgnored
  @FetchAll var items: [Item]
}

@Suite("Sections", .dependency(\.defaultDatabase, try sampleDatabase()))
struct SectionsTests {
  @Dependency(\.defaultDatabase) var database

  @Test("rows are divided by a column, and NULL comes first")
  func byColumn() {
    @FetchAll(Item.order(by: \.title), sectionBy: { $0.category }) var items
    #expect(items.map(\.title) == ["Lamp", "Sock", "Bread", "Milk", "Hammer"])
    #expect($items.sections.sectionNames == [nil, "Food", "Tools"])
    #expect($items.sections[named: "Food"]?.rows.map(\.title) == ["Bread", "Milk"])
    #expect($items.sections.index(ofSectionNamed: "Tools") == 2)
    #expect(!$items.sections.contains(sectionNamed: "Books"))
    #expect($items.loadError == nil)
  }

  @Test("the order of the sections comes before the order of the query")
  func ordered() {
    @FetchAll(Item.order { $0.title.desc() }, sectionBy: { $0.category.desc(nulls: .last) }) var items
    #expect($items.sections.sectionNames == ["Tools", "Food", nil])
    #expect(items.map(\.title) == ["Hammer", "Milk", "Bread", "Sock", "Lamp"])
  }

  @Test("rows without sections are one section without a name")
  func withoutSections() async throws {
    @FetchAll(Item.all, sectionBy: \.category) var items
    #expect($items.sections.count == 3)
    try await $items.load(Item.where { $0.category.eq("Food") })
    #expect($items.sections.sectionNames == [nil])
    #expect($items.sections[0].rows.count == 2)
    try await $items.load(Item.none)
    #expect($items.sections.isEmpty)
  }

  @Test("a condition decides whether rows are divided", arguments: [true, false])
  func dynamic(isDivided: Bool) {
    @FetchAll(
      Item.order(by: \.id),
      sectionBy: {
        if isDivided { $0.category }
      })
    var items
    #expect($items.sections.sectionNames == (isDivided ? [nil, "Food", "Tools"] : [nil]))
  }

  @Test("a new category adds a section")
  func observes() async throws {
    @FetchAll(Item.all, sectionBy: \.category) var items
    try await database.write { db in
      try Item.find(4).update { $0.category = BindQueryExpression("Clothes", as: String?.self) }.execute(db)
    }
    #expect(await eventually { $items.sections.sectionNames == [nil, "Clothes", "Food", "Tools"] })
  }

  @Test("a statement returns sections with names of the column's type")
  func fetched() throws {
    try database.read { (db) throws in
      let byPriority = try Item.all.fetchAll(db, sectionBy: \.priority)
      #expect(byPriority.sectionNames == [nil, 1, 2])
      let byTitle = try Item.order(by: \.id).fetchAll(db, sectionBy: { $0.title })
      #expect(byTitle.sectionNames == ["Bread", "Hammer", "Lamp", "Milk", "Sock"])
    }
  }
}
