import Foundation
import Testing

@testable import SQLiteData

/// Runs one test at a time. Each runs several nodes, and more than two tests' nodes would delay each other's answers.
@Suite("Synchronization", .serialized)
enum SyncTests {}

/// Runs one test at a time, beside `SyncTests`.
@Suite("Synchronization of shares, versions and policies", .serialized)
enum SharedSyncTests {}

/// A database with its engine, as in an app on one machine. All devices of a test share their own network.
struct SyncedDevice: Sendable {
  let database: any DatabaseWriter
  let engine: SyncEngine
  let home: String
  let network: NodeConfiguration.Network

  init(
    _ name: String, on network: NodeConfiguration.Network, account: String = "alice",
    database: (any DatabaseWriter)? = nil, home: String? = nil, delegate: (any SyncEngineDelegate)? = nil
  ) throws {
    self.network = network
    self.database = try database ?? syncedDatabase()
    self.home = home ?? DatabasePlace.temporaryHome()
    engine = try SyncEngine(
      for: self.database, tables: SyncedList.self, SyncedItem.self, privateTables: ListPosition.self,
      node: NodeConfiguration(home: self.home, device: name, network: network), defaultZone: account, delegate: delegate
    )
  }

  /// Creates a device whose app has other tables.
  init(
    _ name: String, on network: NodeConfiguration.Network, database: any DatabaseWriter, home: String? = nil,
    engine: (_ database: any DatabaseWriter, _ node: NodeConfiguration) throws -> SyncEngine
  ) throws {
    self.network = network
    self.database = database
    self.home = home ?? DatabasePlace.temporaryHome()
    self.engine = try engine(database, NodeConfiguration(home: self.home, device: name, network: network))
  }

  func addList(_ title: String, id: UUID = UUID()) async throws {
    try await database.write { db in try SyncedList.insert { SyncedList(id: id, title: title) }.execute(db) }
  }

  func addItem(_ text: String, to list: SyncedList) async throws {
    try await database.write { db in
      try SyncedItem.insert { SyncedItem(id: UUID(), text: text, listID: list.id) }.execute(db)
    }
  }

  func items() async throws -> [String] {
    try await database.read { db in try SyncedItem.order(by: \.text).select(\.text).fetchAll(db) }
  }

  func titles() async throws -> [String] {
    try await database.read { db in try SyncedList.order(by: \.title).select(\.title).fetchAll(db) }
  }

  /// Returns when the titles are these.
  func shows(_ titles: String...) async throws {
    try await eventually("\(titles)") { try await self.titles() == titles }
  }

  /// Runs two devices of one account, whose engines run.
  static func pair(
    _ device: (_ name: String, _ network: NodeConfiguration.Network) throws -> SyncedDevice = {
      try SyncedDevice($0, on: $1)
    },
    _ body: (_ tower: SyncedDevice, _ laptop: SyncedDevice) async throws -> Void
  ) async throws {
    let network = NodeConfiguration.Network.separate()
    let (tower, laptop) = (try device("tower", network), try device("laptop", network))
    try await running(tower, laptop) {
      try await tower.engine.start()
      try await laptop.engine.join(try await tower.engine.inviteDevice().link)
      try await body(tower, laptop)
    }
  }

  /// Runs two accounts with one device each, whose engines run, and a list with an item in the first account. The
  /// second account has the delegate.
  static func accounts(
    delegate: (any SyncEngineDelegate)? = nil,
    _ body: (_ alice: SyncedDevice, _ bob: SyncedDevice, _ list: SyncedList) async throws -> Void
  ) async throws {
    let network = NodeConfiguration.Network.separate()
    let alice = try SyncedDevice("tower", on: network)
    let bob = try SyncedDevice("phone", on: network, account: "bob", delegate: delegate)
    let list = SyncedList(id: UUID(), title: "Groceries")
    try await running(alice, bob) {
      try await alice.engine.start()
      try await bob.engine.start()
      try await alice.addList(list.title, id: list.id)
      try await alice.addItem("milk", to: list)
      try await body(alice, bob, list)
    }
  }

  /// Stops the engines when `body` is done.
  static func running(_ devices: SyncedDevice..., body: () async throws -> Void) async throws {
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    for device in devices { await device.engine.stopAndWait() }
    try result.get()
  }
}

struct NotInTime: Error, CustomStringConvertible {
  let description: String
}

/// Returns when the condition holds.
func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(60)
  while try await !condition() {
    guard ContinuousClock.now < deadline else { throw NotInTime(description: "not in time: \(what)") }
    try await Task.sleep(for: .milliseconds(10))
  }
}

/// Returns the error of `body`.
func syncError(of body: () async throws -> Void) async -> SyncError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? SyncError
  }
}
