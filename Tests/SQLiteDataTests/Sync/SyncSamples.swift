// This file contains the code of the article about synchronizing. A test compares them line by line.

import Foundation
import SQLiteData
import Testing

@testable import SQLiteData

extension SyncTests {
  @Suite("The samples about synchronizing", .timeLimit(.minutes(5)))
  struct SyncSamples {
    /// Returns a database with both tables.
    private func appDatabase() throws -> any DatabaseWriter { try documentedDatabase() }

    @Test("the app's entry point sets the database and the engine")
    func setUp() throws {
      try prepareDependencies {
        $0.defaultDatabase = try appDatabase()
        $0.defaultSyncEngine = try SyncEngine(
          for: $0.defaultDatabase,
          tables: RemindersList.self, Reminder.self
        )
      }
      @Dependency(\.defaultSyncEngine) var syncEngine
      #expect(syncEngine.tables.names == ["remindersLists", "reminders"])
      let node = NodeConfiguration(listen: "0.0.0.0:7405", peers: ["tower.example:7404"])
      _ = try SyncEngine(for: try appDatabase(), tables: RemindersList.self, node: node)
    }

    @Test("two devices become one account, and both have the row")
    func twoDevices() async throws {
      let (towerDatabase, laptopDatabase) = (try appDatabase(), try appDatabase())
      let network = NodeConfiguration.Network.separate()
      let tower = try SyncEngine(
        for: towerDatabase, tables: RemindersList.self, Reminder.self,
        node: NodeConfiguration(network: network)
      )
      let laptop = try SyncEngine(
        for: laptopDatabase, tables: RemindersList.self, Reminder.self,
        node: NodeConfiguration(network: network)
      )
      try await tower.start()
      try await laptop.join(try await tower.inviteDevice().link)
      try await towerDatabase.write { db in
        try RemindersList.insert { RemindersList(id: UUID(), title: "Groceries") }.execute(db)
      }
      try await tower.sendChanges()
      #expect(try await laptopDatabase.read { db in try RemindersList.select(\.title).fetchAll(db) } == ["Groceries"])
      await laptop.stopAndWait()
      await tower.stopAndWait()
    }

    /// This is compiled, but not run.
    private func calls(_ link: String) async throws {
      @Dependency(\.defaultSyncEngine) var syncEngine

      let invite = try await syncEngine.inviteDevice()
      _ = invite
      try await syncEngine.join(link)
      do {
        try await syncEngine.syncChanges()
      } catch let error as SyncError where error.code == .noDevice {
        // No other device is connected.
      }
    }
  }
}
