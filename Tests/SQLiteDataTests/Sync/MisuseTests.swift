import Foundation
import MeshControl
import Synchronization
import Testing

@testable import SQLiteData

extension SyncTests {
  /// What an app may do wrong. Each mistake has an error that says so, or no effect.
  @Suite("Mistakes of an app", .timeLimit(.minutes(5)))
  struct MisuseTests {
    @Test("an account can't accept its own link, and one that accepts a link twice has the share once")
    func acceptedTwice() async throws {
      try await SyncedDevice.accounts { alice, bob, list in
        let shared = try await alice.engine.share(record: list) { $0.publicPermission = .readOnly }
        let link = try #require(shared.link)
        let refused = await syncError { try await alice.engine.acceptShare(link) }
        #expect(refused?.message.contains("this account's own share") == true)
        #expect(try await alice.engine.shares().map(\.participants.count) == [1])
        async let first = bob.engine.acceptShare(link)
        async let second = bob.engine.acceptShare(link)
        let both = try await [first.id, second.id]
        #expect(both == [shared.id, shared.id])
        #expect(try await bob.engine.acceptShare(link).id == shared.id)
        #expect(try await bob.engine.shares().map(\.permission) == [.readOnly])
        #expect(try await bob.items() == ["milk"])
        #expect(try await alice.items() == ["milk"])
      }
    }

    @Test("a call that waits for other devices ends when the engine is stopped")
    func stoppedWhileSending() async throws {
      try await SyncedDevice.pair { tower, laptop in
        await laptop.engine.stopAndWait()
        try await tower.addList("Groceries")
        let sending = Task { try await tower.engine.sendChanges(timeout: .seconds(3_600)) }
        try await eventually("sending") { tower.engine.isSendingChanges }
        tower.engine.stop()
        let error = await syncError { try await sending.value }
        #expect(error?.code == .notRunning || error?.code == .noDevice, "\(String(describing: error))")
        #expect(!tower.engine.isSendingChanges)
      }
    }

    @Test("an engine that the app lets go closes its node, and the next one runs it")
    func released() async throws {
      let (database, home, network) = (
        try syncedDatabase(), DatabasePlace.temporaryHome(), NodeConfiguration.Network.separate()
      )
      func device() throws -> SyncedDevice { try SyncedDevice("tower", on: network, database: database, home: home) }
      var first: SyncedDevice? = try device()
      try await first?.engine.start()
      try await first?.addList("Groceries")
      let id = try await first?.engine.account().id
      first = nil
      let second = try device()
      try await SyncedDevice.running(second) {
        try await second.engine.start()
        #expect(try await second.engine.account().id == id)
        #expect(try await second.titles() == ["Groceries"])
      }
    }

    /// A delegate that does what it shouldn't.
    private final class Delegate: SyncEngineDelegate {
      let received = Mutex(0)
      func syncEngine(_ syncEngine: SyncEngine, shareReceived share: Share) async {
        _ = try? await syncEngine.shares()
        try? await syncEngine.syncChanges(timeout: .milliseconds(200))
        try? await syncEngine.start()
        received.withLock { $0 += 1 }
      }
      func syncEngine(_ syncEngine: SyncEngine, shouldDeleteRowsOf share: Share) -> Bool {
        Thread.sleep(forTimeInterval: 0.5)
        return true
      }
      func syncEngine(_ syncEngine: SyncEngine, shareRevoked share: Share) async {
        syncEngine.stop()
        try? await syncEngine.start()
        received.withLock { $0 += 1 }
      }
    }

    @Test("a delegate that uses the engine, blocks, or restarts the engine stops nothing")
    func busyDelegate() async throws {
      let delegate = Delegate()
      try await SyncedDevice.accounts(delegate: delegate) { alice, bob, list in
        try await bob.engine.acceptShare(try #require(try await alice.engine.share(record: list).link))
        try await eventually("received") { delegate.received.withLock { $0 } == 1 }
        try await alice.engine.unshare(record: list)
        try await eventually("revoked") { delegate.received.withLock { $0 } == 2 }
        try await eventually("no rows") { try await bob.items() == [] }
        try await bob.addList("Mine")
        #expect(try await bob.engine.account().name == "bob")
      }
    }

    @Test("a database that can't be written is refused")
    func readOnly() throws {
      let path = try syncedDatabase().path
      var configuration = Configuration()
      configuration.readonly = true
      let database = try DatabasePool(path: path, configuration: configuration)
      let error = #expect(throws: SyncError.self) {
        try SyncEngine(for: database, tables: UnsentDraft.self)
      }
      #expect(error?.code == .database)
      #expect(error?.message.contains(path) == true)
    }

    @Test("two homes for one database: the second engine is refused at once, and the first goes on")
    func twoHomes() async throws {
      let database = try syncedDatabase()
      let network = NodeConfiguration.Network.separate()
      let first = try SyncedDevice("tower", on: network, database: database)
      let second = try SyncedDevice("tower", on: network, database: database)
      try await SyncedDevice.running(first, second) {
        try await first.engine.start()
        // The second time, the home exists.
        for attempt in 1...2 {
          let start = ContinuousClock.now
          let error = await syncError { try await second.engine.start() }
          #expect(error?.code.rawValue == "database.inUse" && error?.message.contains(first.home) == true)
          #expect(ContinuousClock.now - start < .seconds(2), "attempt \(attempt)")
          #expect(!second.engine.isRunning)
        }
        try await first.addList("Groceries")
        #expect(try await first.engine.devices().count == 1)
      }
    }

    @Test("if the database file is deleted under the engine, it says so and can be stopped")
    func deletedFile() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await SyncedDevice.running(device) {
        try await device.engine.start()
        for suffix in ["", "-wal", "-shm"] {
          try? FileManager.default.removeItem(atPath: device.database.path + suffix)
        }
        try await eventually("it says so") {
          device.engine.progress.problems.contains { $0.contains("was deleted or moved away") }
        }
        await device.engine.stopAndWait()
        #expect(!device.engine.isRunning)
      }
    }

    @Test(
      "if a copy is moved over the database file, the app can't write, is told to start again, and both files stay whole"
    )
    func replacedFile() async throws {
      let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).db").path
      let (home, network) = (DatabasePlace.temporaryHome(), NodeConfiguration.Network.separate())
      func device() throws -> SyncedDevice {
        let database = try withDependencies {
          $0.context = .live
        } operation: {
          try defaultDatabase(path: path)
        }
        return try SyncedDevice("tower", on: network, database: database, home: home)
      }
      try syncedDatabase().backup(to: DatabaseQueue(path: path))
      var open: SyncedDevice? = try device()
      if let old = open {
        try await old.engine.start()
        try await old.addList("Groceries")
        try await eventually("captured") { try await old.engine.perform(StatusRequest()).zones.first?.records == 1 }
        try await old.database.writeWithoutTransaction { db in
          try db.execute(sql: "VACUUM INTO ?", arguments: [path + ".copy"])
        }
        #expect(rename(path + ".copy", path) == 0)
        try await eventually("a problem") {
          old.engine.progress.problems.contains { $0.contains("Start the app again") }
        }
        for number in 0..<3 {
          let error = await #expect(throws: DatabaseError.self) { try await old.addList("\(number)") }
          #expect(error?.message?.contains("Start the app again") == true)
        }
        let whole = try await old.database.read { db in try String.fetchOne(db, sql: "PRAGMA integrity_check") }
        #expect(whole == "ok")
        #expect(try await old.titles() == ["Groceries"])
        await old.engine.stopAndWait()
        try old.database.close()
      }
      open = nil
      let new = try device()
      try await SyncedDevice.running(new) {
        try await new.engine.start()
        #expect(try await new.titles() == ["Groceries"])
        try await new.addList("Books")
        try await eventually("captured") { try await new.engine.perform(StatusRequest()).zones.first?.records == 2 }
        let whole = try await new.database.read { db in try String.fetchOne(db, sql: "PRAGMA integrity_check") }
        #expect(whole == "ok")
        #expect(new.engine.progress.problems == [])
      }
    }

    @Test("a table that the app drops or renames while the engine runs stops nothing")
    func droppedTable() async throws {
      try await SyncedDevice.pair { tower, laptop in
        try await tower.database.write { db in
          try #sql("DROP TABLE listPositions").execute(db)
          try #sql("ALTER TABLE items RENAME TO entries").execute(db)
        }
        try await tower.addList("Groceries")
        try await tower.engine.sendChanges()
        try await laptop.shows("Groceries")
        try await laptop.addList("Books")
        try await tower.shows("Books", "Groceries")
        #expect(tower.engine.isRunning)
      }
    }
  }
}
