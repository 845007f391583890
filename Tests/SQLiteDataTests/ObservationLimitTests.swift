import Dependencies
import DependenciesTestSupport
import Foundation
import GRDB
import MeshNode
import Observation
import Synchronization
import Testing

@testable import SQLiteData

@Suite("Limits of observations", .dependency(\.defaultDatabase, try sampleDatabase()))
struct ObservationLimitTests {
  @Dependency(\.defaultDatabase) private var database

  @Test("properties without types hold selections of another file and of their own type")
  func inferredSelections() async throws {
    let model = NamesModel()
    #expect(model.names.map(\.title) == ["Bread", "Hammer", "Lamp", "Milk", "Sock"])
    #expect(NestedModel().titles.map(\.title) == ["Bread", "Hammer", "Lamp", "Milk", "Sock"])
  }

  @Test("properties that are made and dropped a thousand times leave nothing behind")
  func recreation() async throws {
    let database = database
    @FetchAll(Item.select(\.title)) var titles
    for round in 1...1_000 {
      let property = FetchAll(wrappedValue: [], Item.where { $0.id.gt(round % 3) }.select(\.title), database: database)
      #expect(property.wrappedValue.count == 5 - round % 3)
      if round % 100 == 0 {
        try await database.write { db in try Item.find(5).update { $0.title = "Lamp \(round)" }.execute(db) }
      }
    }
    #expect(await eventually { titles.contains("Lamp 1000") })
    let connections = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
      let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
      return place == database.path
    }
    #expect(connections <= 8)
  }

  @Test("many databases are observed at once")
  func manyDatabases() async throws {
    // Linux gives a user 128 instances of inotify by default. Other tests need some at the same time.
    let databases = try (0..<40).map { _ in try itemsDatabase() }
    let properties = databases.map { FetchAll(wrappedValue: [], Item.select(\.title), database: $0) }
    for (number, database) in databases.enumerated() {
      try await database.write { db in try Item.insert { Item.Draft(title: "\(number)") }.execute(db) }
    }
    for (number, property) in properties.enumerated() {
      #expect(await eventually { property.wrappedValue == ["\(number)"] })
    }
    for database in databases {
      try await DatabaseQueue(path: database.path).write { db in
        try db.execute(sql: "INSERT INTO items (title) VALUES ('other')")
      }
    }
    for property in properties { #expect(await eventually { property.wrappedValue.count == 2 }) }
  }

  @Test("a closed database is an error for statements and loads, and no harm for its properties")
  func closed() async throws {
    let other = try DatabaseQueue(path: database.path)
    @FetchAll(Item.select(\.title)) var titles
    let model = $titles
    try database.close()
    #expect(throws: DatabaseError.self) { try database.read { try Item.fetchAll($0) } }
    await #expect(throws: DatabaseError.self) { try await model.load() }
    await #expect(throws: DatabaseError.self) { try await model.load(Item.where { $0.id.eq(1) }.select(\.title)) }
    try await other.write { db in try db.execute(sql: "DELETE FROM items") }
    try await Task.sleep(for: .milliseconds(100))
    #expect(titles.count == 5)
    let late = FetchAll(wrappedValue: ["none"], Item.select(\.title).limit(1), database: database)
    #expect(late.wrappedValue == ["none"])
    #expect(late.loadError is DatabaseError)
  }

  @Test("a vacuum, a checkpoint and a change of the schema by another process leave the rows up to date")
  func maintenance() async throws {
    @FetchAll(Item.order(by: \.id).select(\.title)) var titles
    let other = try DatabaseQueue(path: database.path)
    let deliveries = Mutex(0)
    let values = $titles.values
    let reader = Task { for await _ in values { deliveries.withLock { $0 += 1 } } }
    #expect(await eventually { deliveries.withLock { $0 } == 1 })
    try await other.vacuum()
    try await other.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
    try await other.write { db in try db.execute(sql: "ALTER TABLE items ADD COLUMN more TEXT DEFAULT 'x'") }
    try await other.write { db in try db.execute(sql: "CREATE INDEX titles ON items (title)") }
    try await Task.sleep(for: .milliseconds(100))
    #expect(deliveries.withLock { $0 } == 1)
    try await other.write { db in try db.execute(sql: "UPDATE items SET title = 'Oat milk' WHERE id = 1") }
    #expect(await eventually { titles.first == "Oat milk" })
    #expect($titles.loadError == nil)
    reader.cancel()
    await reader.value
  }

  @Test("a database that is opened through a symbolic link is watched at its real place")
  func symbolicLink() async throws {
    let count = Mutex(0)
    let link = FileManager.default.temporaryDirectory.appending(path: "link-\(UUID().uuidString).db").path
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: database.path)
    defer { try? FileManager.default.removeItem(atPath: link) }
    let linked = try DatabaseQueue(path: link)
    let events = WriteEvents(database: linked.path, poll: nil) {
      let rows = try? linked.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM items") }
      count.withLock { $0 = rows ?? $0 }
    }
    let database = database
    // An event may come before its commit on a busy machine, so one of several is enough.
    for number in 1...10 where count.withLock({ $0 <= 5 }) {
      try await database.write { db in try Item.insert { Item.Draft(title: "\(number)") }.execute(db) }
      _ = await eventually(.milliseconds(500)) { count.withLock { $0 > 5 } }
    }
    #expect(count.withLock { $0 > 5 })
    withExtendedLifetime(events) {}
  }

  @Test("two connections that write at once lose nothing, and each property ends with every row")
  func twoWriters() async throws {
    let other = try DatabasePool(path: database.path, configuration: waiting)
    let first = FetchAll(wrappedValue: [], Item.select(\.title), database: database)
    let second = FetchAll(wrappedValue: [], Item.select(\.title), database: other)
    let databases: [any DatabaseWriter] = [database, other]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, database) in databases.enumerated() {
        group.addTask {
          for row in 0..<200 {
            try await database.write { db in
              try Item.insert { Item.Draft(title: "\(number)-\(row)") }.execute(db)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let expected = try await database.read { db in try Item.select(\.title).fetchAll(db) }
    #expect(Set(expected).count == 405)
    for property in [first, second] {
      #expect(await eventually { property.wrappedValue == expected })
      #expect(property.loadError == nil)
    }
  }

  private var waiting: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(30)
    return configuration
  }
}

@Observable
private final class NamesModel {
  @ObservationIgnored
  @FetchAll(Item.order(by: \.title).select { ItemName.Columns(title: $0.title) }) var names
  @ObservationIgnored
  @FetchOne(Item.find(1).select { ItemName.Columns(title: $0.title) }) var name: ItemName?
}

@Observable
private final class NestedModel {
  @ObservationIgnored
  @FetchAll(Item.order(by: \.title).select { Row.Columns(title: $0.title) }) var titles

  @Selection
  struct Row {
    let title: String
  }
}
