import Dependencies
import DependenciesTestSupport
import Dispatch
import Foundation
import GRDB
import Observation
import SQLiteData
import Synchronization
import Testing

@SQLiteData.Table
struct Aisle: Equatable, Sendable {
  let id: Int
  var category: String
  var floor: Int?
}

@Selection
struct Place: Equatable, Sendable {
  let title: String
  let aisle: Int
}

/// Returns a database with items, and with aisles for two of their categories.
private func aislesDatabase() throws -> any DatabaseWriter {
  let database = try sampleDatabase()
  try database.write { db in
    try db.execute(sql: "CREATE TABLE aisles (id INTEGER PRIMARY KEY, category TEXT NOT NULL, floor INTEGER)")
    try db.seed {
      Aisle(id: 7, category: "Food", floor: 1)
      Aisle(id: 8, category: "Tools", floor: nil)
    }
  }
  return database
}

/// A scheduler that delivers on its own queue, and never immediately.
private struct QueueScheduler: ValueObservationScheduler {
  static let key = DispatchSpecificKey<Bool>()
  let queue: DispatchQueue

  init(_ label: String) {
    queue = DispatchQueue(label: label)
    queue.setSpecific(key: Self.key, value: true)
  }

  func immediateInitialValue() -> Bool { false }
  func schedule(_ action: @escaping @Sendable () -> Void) { queue.async(execute: action) }
}

@Suite("Sections of joins and requests, and schedulers", .dependency(\.defaultDatabase, try aislesDatabase()))
struct SectionTests {
  @Dependency(\.defaultDatabase) var database

  @Test("a join is divided by a column of the joined table, which the selection leaves out")
  func joins() async throws {
    let places = Item.join(Aisle.all) { $0.category.eq($1.category) }
      .order { items, _ in items.title }
      .select { Place.Columns(title: $0.title, aisle: $1.id) }
    @FetchAll(places, sectionBy: { $1.floor.desc() }) var items
    #expect(items.map(\.title) == ["Bread", "Milk", "Hammer"])
    #expect($items.sections.sectionNames == ["1", nil])
    #expect($items.sections[named: "1"]?.rows.map(\.aisle) == [7, 7])
    // The rows stay the same, and only their sections change.
    try await database.write { db in try Aisle.find(8).update { $0.floor = #bind(0) }.execute(db) }
    #expect(await eventually { $items.sections.sectionNames == ["1", "0"] })
    try await $items.load(places, sectionBy: { items, _ in items.title })
    #expect($items.sections.sectionNames == ["Bread", "Hammer", "Milk"])
    try await $items.load(places)
    #expect($items.sections.sectionNames == [nil] && items.count == 3)
    #expect($items.loadError == nil)
  }

  @Test("a selection of one table is divided by a column that it leaves out")
  func selections() async throws {
    @FetchAll(Item.order(by: \.title).select(\.title), sectionBy: { $0.category }) var titles
    #expect(titles == ["Lamp", "Sock", "Bread", "Milk", "Hammer"])
    #expect($titles.sections.sectionNames == [nil, "Food", "Tools"])
    try await $titles.load(Item.select(\.title), sectionBy: { $0.priority.desc(nulls: .last) })
    #expect($titles.sections.sectionNames == ["2", "1", nil])
  }

  @Test("a join of three tables is fetched in sections")
  func directly() throws {
    enum Other: AliasName {}
    try database.read { (db) throws in
      let sections = try Item.join(Aisle.all) { $0.category.eq($1.category) }
        .join(Aisle.as(Other.self).all) { $1.id.eq($2.id) }
        .order { items, _, _ in items.id.desc() }
        .select { items, _, _ in items.title }
        .fetchAll(db, sectionBy: { $2.id })
      #expect(sections.sectionNames == [7, 8])
      #expect(sections[named: 7]?.rows == ["Bread", "Milk"])
    }
  }

  @Test("a request returns sections and follows both tables")
  func requests() async throws {
    struct ByFloor: FetchKeyRequest {
      func fetch(_ db: Database) throws -> FetchSections<Int?, String> {
        try Item.join(Aisle.all) { $0.category.eq($1.category) }.order { items, _ in items.id }
          .select { items, _ in items.title }
          .fetchAll(db, sectionBy: { $1.floor })
      }
    }
    @Fetch var sections: FetchSections<Int?, String>
    _sections = Fetch(wrappedValue: try await database.read { try ByFloor().fetch($0) }, ByFloor())
    #expect(sections.sectionNames == [nil, 1])
    try await database.write { db in try Aisle.find(8).update { $0.floor = #bind(3) }.execute(db) }
    #expect(await eventually { sections.sectionNames == [1, 3] })
    try await database.write { db in try Item.find(1).delete().execute(db) }
    #expect(await eventually { sections[named: 1]?.rows == ["Bread"] })
  }

  @Test("a request that starts to read another table follows that table too")
  func changingTables() async throws {
    struct Floors: FetchKeyRequest {
      func fetch(_ db: Database) throws -> [Int?] {
        try Item.fetchCount(db) > 5 ? Aisle.order(by: \.id).select(\.floor).fetchAll(db) : []
      }
    }
    @Fetch(Floors()) var floors = []
    #expect(floors.isEmpty)
    try await database.write { db in try Item.insert { Item.Draft(title: "Soap") }.execute(db) }
    #expect(await eventually { floors == [1, nil] })
    try await database.write { db in try Aisle.find(8).update { $0.floor = #bind(2) }.execute(db) }
    #expect(await eventually { floors == [1, 2] })
  }

  @Test("a scheduler decides where sections are delivered, including those of a load")
  func schedulers() async throws {
    let scheduler = QueueScheduler("sections")
    @FetchAll(Item.order(by: \.id), sectionBy: { $0.category }, scheduler: scheduler) var items
    let projected = $items
    // The first value hasn't arrived yet.
    #expect(await eventually { projected.sections.sectionNames == [nil, "Food", "Tools"] && !projected.isLoading })
    let places = Mutex<[Bool]>([])
    withObservationTracking {
      _ = projected.wrappedValue
    } onChange: {
      places.withLock { $0.append(DispatchQueue.getSpecific(key: QueueScheduler.key) == true) }
    }
    try await database.write { db in try Item.find(1).delete().execute(db) }
    #expect(await eventually { projected.wrappedValue.count == 4 })
    #expect(places.withLock { $0 } == [true])
    try await projected.load(Item.order(by: \.id), sectionBy: \.priority, scheduler: QueueScheduler("other"))
    #expect(projected.sections.sectionNames == [nil, "1"])
    try await database.write { db in try Item.find(2).delete().execute(db) }
    #expect(await eventually { projected.sections.sectionNames == [nil] })
  }

  @Test("a query that fails leaves the initial rows in one section")
  func failing() {
    let initial = Item(id: 1, title: "Initial")
    @FetchAll(wrappedValue: [initial], #sql("SELECT missing FROM items", as: Item.self)) var items
    #expect($items.loadError is DatabaseError)
    #expect(items.map(\.title) == ["Initial"])
    #expect($items.sections.sectionNames == [nil])
  }

  @Test("a transaction that is rolled back leaves the value, and nothing is delivered")
  func rollback() async throws {
    struct Stop: Error {}
    @FetchAll(Item.order(by: \.id).select(\.title)) var titles
    @FetchOne(Item.count()) var count = 0
    let deliveries = Mutex<[Int]>([])
    let values = $titles.values
    let reader = Task {
      for await value in values { deliveries.withLock { $0.append(value.count) } }
    }
    #expect(await eventually { deliveries.withLock { $0 } == [5] })
    await #expect(throws: Stop.self) {
      try await database.write { db in
        try Item.delete().execute(db)
        throw Stop()
      }
    }
    try await database.write { db in
      try db.inSavepoint {
        try Item.find(1).delete().execute(db)
        return .rollback
      }
    }
    try await Task.sleep(for: .milliseconds(50))
    #expect(titles.count == 5 && count == 5)
    #expect(deliveries.withLock { $0 } == [5])
    try await database.write { db in try Item.find(1).delete().execute(db) }
    #expect(await eventually { deliveries.withLock { $0 } == [5, 4] && count == 4 })
    reader.cancel()
    await reader.value
  }

  @Test("a subscription of an earlier query doesn't stop the later one")
  func olderSubscription() async throws {
    @FetchAll var items: [Item]
    let earlier = try await $items.load(Item.where { $0.id.eq(1) })
    try await $items.load(Item.where { $0.id.gt(1) })
    earlier.cancel()
    #expect(items.count == 4)
    try await database.write { db in try Item.find(2).delete().execute(db) }
    #expect(await eventually { items.count == 3 })
  }
}
