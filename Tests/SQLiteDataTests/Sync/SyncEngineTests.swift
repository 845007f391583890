import Dependencies
import DependenciesTestSupport
import Foundation
import MeshControl
import Observation
import Synchronization
import Testing

@testable import SQLiteData

@SQLiteData.Table("a:folder") private struct Folder: Hashable, Identifiable {
  let id: String
  var parent: String?
}

extension SyncTests {
  @Suite("The sync engine", .timeLimit(.minutes(5)))
  struct SyncEngineTests {
    @Test("writes of one device are in the tables of the other after they were sent, in both directions")
    func twoDevices() async throws {
      try await SyncedDevice.pair { tower, laptop in
        try await tower.addList("Groceries")
        try await tower.engine.sendChanges()
        #expect(try await laptop.titles() == ["Groceries"])
        try await laptop.addList("Books")
        try await tower.engine.fetchChanges()
        try await laptop.engine.syncChanges()
        #expect(try await tower.titles() == ["Books", "Groceries"])
      }
    }

    @Test("rows from before the first start are sent, even from a child's table before its parent's")
    func existingRows() async throws {
      let network = NodeConfiguration.Network.separate()
      let (tower, laptop) = (try SyncedDevice("tower", on: network), try SyncedDevice("laptop", on: network))
      let list = UUID()
      try await tower.addList("Groceries", id: list)
      try await tower.database.write { db in
        try SyncedItem.insert { SyncedItem(id: UUID(), text: "milk", listID: list) }.execute(db)
      }
      try await laptop.addList("Books")
      try await SyncedDevice.running(tower, laptop) {
        try await tower.engine.start()
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        try await laptop.engine.syncChanges()
        try await tower.shows("Books", "Groceries")
        try await laptop.shows("Books", "Groceries")
        #expect(try await laptop.database.read { db in try SyncedItem.select(\.text).fetchAll(db) } == ["milk"])
      }
    }

    @Test("a stopped engine keeps writes, and sends them after the next start")
    func stopAndStart() async throws {
      try await SyncedDevice.pair { tower, laptop in
        tower.engine.stop()
        #expect(!tower.engine.isRunning)
        try await tower.addList("Groceries")
        #expect(await syncError { try await tower.engine.sendChanges() }?.code == .notRunning)
        try await tower.engine.start()
        #expect(tower.engine.isRunning)
        try await tower.engine.sendChanges()
        #expect(try await laptop.titles() == ["Groceries"])
      }
    }

    @Test("an engine that isn't started in a test neither runs nor makes a home")
    func notStarted() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      #expect(!device.engine.isRunning)
      #expect(!device.engine.isSynchronizing)
      #expect(await syncError { try await device.engine.syncChanges() }?.code == .notRunning)
      #expect(!FileManager.default.fileExists(atPath: device.home))
    }

    @Test("an account with one device has no other device to send to, and says so immediately")
    func alone() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await SyncedDevice.running(device) {
        try await device.engine.start()
        try await device.addList("Groceries")
        let error = await syncError { try await device.engine.sendChanges(timeout: .seconds(3_600)) }
        #expect(error?.code == .noDevice)
        #expect(await syncError { try await device.engine.fetchChanges(timeout: .seconds(3_600)) }?.code == .noDevice)
      }
    }

    @Test("five simultaneous starts start one node, and all return when it works")
    func concurrentStarts() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await SyncedDevice.running(device) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<5 { group.addTask { try await device.engine.start() } }
          try await group.waitForAll()
        }
        #expect(device.engine.isRunning)
        #expect(try await device.engine.devices().map(\.name) == ["tower"])
      }
    }

    @Test("start, stop and start again leave one node, whatever their order")
    func restarts() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await SyncedDevice.running(device) {
        for _ in 0..<3 {
          async let starting: Void = device.engine.start()
          device.engine.stop()
          // If a stop comes first, the start may fail.
          try? await starting
        }
        try await device.engine.start()
        #expect(device.engine.isRunning)
        #expect(try await device.engine.devices().map(\.name) == ["tower"])
      }
    }

    @Test("an observer of isRunning is notified of start and stop")
    func observation() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await SyncedDevice.running(device) {
        let started = Flag()
        withObservationTracking {
          _ = device.engine.isRunning
        } onChange: {
          started.set()
        }
        try await device.engine.start()
        try await eventually("told of the start") { started.isSet }
        let stopped = Flag()
        withObservationTracking {
          _ = device.engine.isRunning
        } onChange: {
          stopped.set()
        }
        device.engine.stop()
        #expect(stopped.isSet)
      }
    }

    @Test("the progress names the other device, and has nothing to send once it is sent")
    func progress() async throws {
      try await SyncedDevice.pair { tower, laptop in
        try await tower.addList("Groceries")
        var names: [String?]?
        for await progress in tower.engine.progressUpdates where progress.connectedDevices == 1 && !progress.isSending {
          names = progress.devices.map(\.name)
          break
        }
        #expect(names == ["laptop"])
        try await eventually("idle") { !tower.engine.isSynchronizing }
        #expect(tower.engine.progress.problems == [])
        _ = laptop
      }
    }

    @Test("deleting the local data deletes nothing on other devices, and downloads it again")
    func deleteLocalData() async throws {
      try await SyncedDevice.pair { tower, laptop in
        try await tower.addList("Groceries")
        try await laptop.database.write { db in
          try UnsentDraft.insert { UnsentDraft(id: UUID(), text: "mine") }.execute(db)
          try db.execute(sql: "CREATE TABLE mesh_notes (text TEXT); INSERT INTO mesh_notes VALUES ('the app''s')")
        }
        try await laptop.addList("Books")
        try await laptop.engine.deleteLocalData()
        try await laptop.shows("Books", "Groceries")
        #expect(try await tower.titles() == ["Books", "Groceries"])
        #expect(try await laptop.database.read { db in try UnsentDraft.fetchCount(db) } == 1)
        let notes = try await laptop.database.read { db in try String.fetchAll(db, sql: "SELECT text FROM mesh_notes") }
        #expect(notes == ["the app's"])
        // Both devices still receive each other's changes.
        try await laptop.addList("Tools")
        try await laptop.engine.sendChanges()
        #expect(try await tower.titles() == ["Books", "Groceries", "Tools"])
      }
    }

    @Test("deleting the local data deletes nothing if a row is written after everything was sent")
    func writeWhileDeleting() async throws {
      try await SyncedDevice.pair { tower, laptop in
        try await tower.addList("Groceries")
        try await laptop.engine.fetchChanges()
        // The row is written when the engine begins to stop, which is after everything was sent.
        withObservationTracking {
          _ = laptop.engine.isRunning
        } onChange: { [database = laptop.database] in
          withErrorReporting {
            try database.write { db in try SyncedList.insert { SyncedList(id: UUID(), title: "Late") }.execute(db) }
          }
        }
        #expect(await syncError { try await laptop.engine.deleteLocalData() }?.code == .rowsWritten)
        #expect(try await laptop.titles() == ["Groceries", "Late"])
        #expect(laptop.engine.isRunning)
        try await tower.shows("Groceries", "Late")
        try await laptop.engine.deleteLocalData()
        try await laptop.shows("Groceries", "Late")
      }
    }

    @Test("a row that is written after the engine has stopped keeps all rows from being deleted")
    func writeBeforeRemoval() async throws {
      try await SyncedDevice.pair { tower, laptop in
        try await laptop.addList("Groceries")
        try await laptop.engine.sendChanges()
        let count = try await Bookkeeping.changeSets(in: laptop.database)
        await laptop.engine.stopAndWait()
        try await laptop.addList("Late")
        let isRemoved = try await Bookkeeping.remove(
          from: laptop.database, of: ["lists"], deletingRows: true, ifChangeSetsAre: count)
        #expect(!isRemoved)
        #expect(try await laptop.titles() == ["Groceries", "Late"])
        try await laptop.engine.start()
        try await tower.shows("Groceries", "Late")
      }
    }

    @Test("the only device of an account keeps its data")
    func deleteOnlyCopy() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await SyncedDevice.running(device) {
        try await device.addList("Groceries")
        #expect(await syncError { try await device.engine.deleteLocalData() }?.code == .noDevice)
        #expect(try await device.titles() == ["Groceries"])
      }
    }

    @Test("tables that can't be synchronized are refused with every reason")
    func validation() throws {
      let database = try defaultDatabase()
      try database.write { db in
        try #sql(#"CREATE TABLE "lists" ("id" TEXT PRIMARY KEY NOT NULL, "title" TEXT UNIQUE)"#).execute(db)
        try #sql(#"CREATE TABLE "items" ("id" TEXT PRIMARY KEY, "listID" TEXT REFERENCES "others"("id"))"#).execute(db)
      }
      let error = #expect(throws: SyncError.self) {
        try SyncEngine(for: database, tables: SyncedList.self, SyncedItem.self, privateTables: ListPosition.self)
      }
      #expect(error?.code == .schema)
      let reasons = error?.reasons.joined(separator: "\n") ?? ""
      for part in ["lists: title is UNIQUE", "items: its primary key id may be NULL", "items: listID refers to others"]
      {
        #expect(reasons.contains(part), "\(reasons)")
      }
      #expect(reasons.contains("listPositions: there is no such table"))
    }

    @Test("a database in memory is refused")
    func inMemory() throws {
      let database = try DatabaseQueue()
      let error = #expect(throws: SyncError.self) { try SyncEngine(for: database, tables: SyncedList.self) }
      #expect(error?.code == .database)
    }

    @Test("the default engine is the one that was set")
    func dependency() throws {
      let device = try SyncedDevice("tower", on: .separate())
      withDependencies {
        $0.defaultDatabase = device.database
        $0.defaultSyncEngine = device.engine
      } operation: {
        @Dependency(\.defaultSyncEngine) var syncEngine
        #expect(syncEngine === device.engine)
      }
      @Dependency(\.defaultSyncEngine) var syncEngine
      #expect(!syncEngine.isRunning)
      #expect(!SyncEngine.previewValue.isRunning)
      // Neither is a mistake of the app.
      syncEngine.stop()
      device.engine.stop()
    }

    @Test("a table whose rows refer to each other is synchronized, but not with ON DELETE RESTRICT")
    func references() async throws {
      func device(_ name: String, _ network: NodeConfiguration.Network, action: String) throws -> SyncedDevice {
        let database = try defaultDatabase()
        try database.write { db in
          try db.execute(
            sql: """
              CREATE TABLE "a:folder" (
                "id" TEXT PRIMARY KEY NOT NULL, "parent" TEXT REFERENCES "a:folder"("id") ON DELETE \(action))
              """)
        }
        return try SyncedDevice(name, on: network, database: database) {
          try SyncEngine(for: $0, tables: Folder.self, node: $1)
        }
      }
      let error = #expect(throws: SyncError.self) { try device("tower", .separate(), action: "RESTRICT") }
      #expect(error?.code == .schema)
      #expect(error?.reasons.count == 1)
      #expect(error?.message.contains("ON DELETE RESTRICT") == true)
      func free(_ name: String, _ network: NodeConfiguration.Network) throws -> SyncedDevice {
        try device(name, network, action: "NO ACTION")
      }
      try await SyncedDevice.pair(free) { tower, laptop in
        try await tower.database.write { db in
          try Folder.insert {
            Folder(id: "root")
            Folder(id: "child", parent: "root")
            Folder(id: "grandchild", parent: "child")
          }.execute(db)
        }
        try await tower.engine.sendChanges()
        let metadata = try await laptop.database.read { db in try Folder.metadata(for: "grandchild").fetchOne(db) }
        #expect(metadata?.parentRecordID?.parentRecordPrimaryKey == "child")
        #expect(metadata?.recordType == "a:folder")
        try await laptop.database.write { db in
          try Folder.find("grandchild").update { $0.parent = #bind("root") }.execute(db)
          try Folder.find("child").delete().execute(db)
        }
        try await laptop.engine.sendChanges()
        let rows = try await tower.database.read { db in try Folder.order(by: \.id).fetchAll(db) }
        #expect(rows == [Folder(id: "grandchild", parent: "root"), Folder(id: "root")])
      }
    }
  }
}

private final class Flag: Sendable {
  private let state = Mutex(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}
