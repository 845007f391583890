import Dependencies
import DependenciesTestSupport
import Foundation
import GRDB
import Observation
import Synchronization
import Testing

@testable import SQLiteData

@Suite("Races of observations", .dependency(\.defaultDatabase, try sampleDatabase()))
struct RaceTests {
  @Dependency(\.defaultDatabase) private var database

  @Test("a value that arrives while an earlier one is being announced wins")
  func newerWins() async throws {
    @FetchAll(Item.select(\.title).order(by: \.title)) var titles
    @FetchAll(Item.where { $0.id.eq(1) }.select(\.title)) var other
    let (projected, replacement) = ($titles, $other)
    let announced = Mutex(0)
    withObservationTracking {
      _ = projected.wrappedValue
    } onChange: {
      // Here the new value has arrived and isn't stored yet.
      let count = announced.withLock { count in
        count += 1
        return count
      }
      if count == 1 { projected.box.follow(replacement.box) }
    }
    try await database.write { db in try Item.insert { Item.Draft(title: "Apple") }.execute(db) }
    #expect(await eventually { announced.withLock { $0 } > 0 })
    // The delivery in progress may take a moment longer.
    try await Task.sleep(for: .milliseconds(50))
    #expect(titles == ["Milk"])
  }

  @Test("a value of an observation that the property has left isn't announced")
  func leftObservation() async throws {
    let query = Item.select(\.title).order(by: \.title)
    @FetchAll(Item.where { $0.id.eq(1) }.select(\.title)) var other
    let replacement = $other
    let properties = (0..<8).map { _ in FetchAll(wrappedValue: [], query, database: database) }
    let left = Mutex(false)
    let lateAnnouncements = Mutex(0)
    for property in properties {
      withObservationTracking {
        _ = property.wrappedValue
      } onChange: {
        // The first property that gets the value redirects the others, which are still in the list of receivers.
        guard left.withLock({ isLeft in !exchange(&isLeft, with: true) }) else { return }
        for later in properties where later.box !== property.box {
          later.box.follow(replacement.box)
          withObservationTracking {
            _ = later.wrappedValue
          } onChange: {
            lateAnnouncements.withLock { $0 += 1 }
          }
        }
      }
    }
    try await database.write { db in try Item.insert { Item.Draft(title: "Apple") }.execute(db) }
    #expect(await eventually { properties.contains { $0.wrappedValue.contains("Apple") } })
    try await Task.sleep(for: .milliseconds(50))
    #expect(properties.count { $0.wrappedValue == ["Milk"] } == 7)
    #expect(lateAnnouncements.withLock { $0 } == 0)
  }

  @Test("a commit of another connection is announced again after an observer refused it")
  func refusedNotification() async throws {
    final class RefusesOnce: TransactionObserver, Sendable {
      let refusals = Mutex(0)
      func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
      func databaseDidChange(with event: DatabaseEvent) {}
      func databaseDidChange() {}
      func databaseDidCommit(_ db: Database) {}
      func databaseDidRollback(_ db: Database) {}
      func databaseWillCommit() throws {
        let isFirst = refusals.withLock { count in
          count += 1
          return count == 1
        }
        if isFirst { throw CancellationError() }
      }
    }

    @FetchAll(Item.order(by: \.id).select(\.title)) var titles
    let observer = RefusesOnce()
    database.add(transactionObserver: observer, extent: .databaseLifetime)
    try await database.barrierWriteWithoutTransaction { _ in }
    let other = try DatabaseQueue(path: database.path)
    try await other.write { db in try db.execute(sql: "INSERT INTO items (title) VALUES ('Foreign')") }
    #expect(await eventually { titles.last == "Foreign" })
    #expect(observer.refusals.withLock { $0 } > 1)
  }

  @Test("an interruption after its fetch doesn't affect the connection's next statement")
  func lateInterruption() throws {
    try database.read { db in
      let interruption = FetchInterruption()
      let titles = try Item.order(by: \.id).select(\.title).fetchCursor(db)
      #expect(try titles.next() == "Milk")
      #expect(try interruption.withConnection(of: db) { try Item.fetchCount(db) } == 5)
      interruption.interrupt()
      #expect(try titles.next() == "Hammer")
      #expect(throws: CancellationError.self) {
        try interruption.withConnection(of: db) { try Item.fetchCount(db) }
      }
    }
  }
}

/// Replaces a value and returns the earlier one.
private func exchange<T>(_ value: inout T, with new: T) -> T {
  defer { value = new }
  return value
}
