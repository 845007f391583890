import Foundation
import MeshControl
import Testing

@testable import SQLiteData

extension SyncTests {
  @Suite("Accounts and devices of the sync engine", .timeLimit(.minutes(5)))
  struct SyncAccountTests {
    @Test("a device that joins is listed on both, and one that is revoked hears nothing more")
    func devices() async throws {
      try await SyncedDevice.pair { tower, laptop in
        #expect(try await tower.engine.devices().map(\.name) == ["tower", "laptop"])
        #expect(try await laptop.engine.devices().filter(\.isThis).map(\.name) == ["laptop"])
        try await eventually("connected") { try await tower.engine.devices().map(\.isConnected) == [false, true] }
        #expect(try await laptop.engine.account().id == tower.engine.account().id)
        #expect(try await tower.engine.account().holdsKey)
        #expect(try await !laptop.engine.account().holdsKey)
        let revoked = try #require(try await tower.engine.devices().last)
        try await tower.engine.revokeDevice(revoked.id)
        #expect(try await tower.engine.devices().last?.revoked != nil)
        // A device that is revoked keeps its rows.
        try await laptop.addList("Mine")
        try await tower.addList("Secret")
        #expect(await syncError { try await tower.engine.sendChanges(timeout: .seconds(1)) }?.code == .noDevice)
        #expect(try await laptop.titles() == ["Mine"])
      }
    }

    @Test("a device that has run alone joins with its rows")
    func joinAfterStart() async throws {
      let network = NodeConfiguration.Network.separate()
      let (tower, laptop) = (try SyncedDevice("tower", on: network), try SyncedDevice("laptop", on: network))
      try await SyncedDevice.running(tower, laptop) {
        try await tower.engine.start()
        try await tower.addList("Groceries")
        try await laptop.engine.start()
        try await laptop.addList("Books")
        let alone = try await laptop.engine.account().id
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        #expect(try await laptop.engine.account().id != alone)
        try await laptop.engine.syncChanges()
        try await tower.shows("Books", "Groceries")
        try await laptop.shows("Books", "Groceries")
      }
    }

    @Test("joining keeps a database that lies in the home's directory")
    func databaseInHome() async throws {
      let network = NodeConfiguration.Network.separate()
      let tower = try SyncedDevice("tower", on: network)
      let home = DatabasePlace.temporaryHome()
      try FileManager.default.createDirectory(
        atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let path = "\(home)/app.db"
      try syncedDatabase().backup(to: DatabaseQueue(path: path))
      // In a test, a database would have a temporary path.
      let database = try withDependencies {
        $0.context = .live
      } operation: {
        try defaultDatabase(path: path)
      }
      let laptop = try SyncedDevice("laptop", on: network, database: database, home: home)
      try await SyncedDevice.running(tower, laptop) {
        try await tower.engine.start()
        try await laptop.engine.start()
        try await laptop.addList("Books")
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        try await laptop.engine.syncChanges()
        #expect(FileManager.default.fileExists(atPath: path))
        try await tower.shows("Books")
      }
    }

    @Test("an account with two devices is not given up, and a mistyped or expired invite changes nothing")
    func refusals() async throws {
      let network = NodeConfiguration.Network.separate()
      let other = try SyncedDevice("other", on: network)
      try await SyncedDevice.pair { tower, laptop in
        try await SyncedDevice.running(other) {
          try await other.engine.start()
          let invite = try await other.engine.inviteDevice().link
          let before = try await laptop.engine.account()
          #expect(await syncError { try await laptop.engine.join(invite) }?.code == .accountInUse)
          #expect(await syncError { try await laptop.engine.join("mesh-device-x") }?.code.rawValue == "link.invalid")
          let expired = try await other.engine.inviteDevice(expiresAfter: .milliseconds(100))
          try await eventually("the invite has expired") { Date() > expired.expires }
          #expect(await syncError { try await laptop.engine.join(expired.link) }?.code.rawValue == "link.expired")
          #expect(try await laptop.engine.account() == before)
          // An invite of the device's own account changes nothing.
          try await laptop.engine.join(try await tower.engine.inviteDevice().link)
          #expect(try await laptop.engine.account() == before)
        }
      }
    }

    @Test("a version of the app that lists another table synchronizes its rows, and one that leaves it out keeps them")
    func tables() async throws {
      let network = NodeConfiguration.Network.separate()
      let tower = try SyncedDevice("tower", on: network)
      try await tower.engine.start()
      await tower.engine.stopAndWait()
      try await tower.database.write { db in
        try UnsentDraft.insert { UnsentDraft(id: UUID(), text: "mine") }.execute(db)
      }
      let more = try SyncEngine(
        for: tower.database, tables: SyncedList.self, SyncedItem.self, UnsentDraft.self,
        node: NodeConfiguration(home: tower.home, network: network))
      try await more.start()
      #expect(try await more.perform(StatusRequest()).tables.sorted() == ["drafts", "items", "lists"])
      try await eventually("the row is a record") { try await more.perform(StatusRequest()).zones.first?.records == 1 }
      await more.stopAndWait()
      let fewer = try SyncEngine(
        for: tower.database, tables: SyncedList.self, node: NodeConfiguration(home: tower.home, network: network))
      try await fewer.start()
      #expect(try await fewer.perform(StatusRequest()).tables == ["lists"])
      #expect(try await tower.database.read { db in try UnsentDraft.fetchCount(db) } == 1)
      await fewer.stopAndWait()
    }

    @Test("a table that another app lists stays synchronized when this one leaves it out")
    func tableOfAnotherApp() async throws {
      let network = NodeConfiguration.Network.separate()
      let tower = try SyncedDevice("tower", on: network)
      try await tower.engine.start()
      await tower.engine.stopAndWait()
      let file = URL(filePath: "\(tower.home)/app-tables.json")
      var named = try JSONDecoder().decode([String: [String]].self, from: Data(contentsOf: file))
      named["another app"] = ["items"]
      try JSONEncoder().encode(named).write(to: file)
      let fewer = try SyncEngine(
        for: tower.database, tables: SyncedList.self, node: NodeConfiguration(home: tower.home, network: network))
      try await fewer.start()
      #expect(try await fewer.perform(StatusRequest()).tables.sorted() == ["items", "lists"])
      await fewer.stopAndWait()
    }

    @Test("a damaged list of the apps' tables stops the engine, and stays as it is")
    func damagedTables() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await SyncedDevice.running(device) {
        try await device.engine.start()
        await device.engine.stopAndWait()
        let file = URL(filePath: "\(device.home)/app-tables.json")
        let whole = try Data(contentsOf: file)
        try whole.dropLast(3).write(to: file)
        let error = await syncError { try await device.engine.start() }
        #expect(error?.code.rawValue == "home.damaged", "\(String(describing: error))")
        #expect(error?.message.contains("\(file.path) is damaged. Move it away") == true)
        #expect(try Data(contentsOf: file) == whole.dropLast(3))
        try FileManager.default.removeItem(at: file)
        try await device.engine.start()
      }
    }

    @Test("a table that mesh track added stays synchronized, although no version of the app names it")
    func tableOfCommandLine() async throws {
      let network = NodeConfiguration.Network.separate()
      let (tower, laptop) = (try SyncedDevice("tower", on: network), try SyncedDevice("laptop", on: network))
      try await SyncedDevice.running(tower, laptop) {
        try await tower.engine.start()
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        for device in [tower, laptop] { _ = try await device.engine.perform(TrackRequest(tables: ["drafts"])) }
        await laptop.engine.stopAndWait()
        try await laptop.engine.start()
        #expect(try await laptop.engine.perform(StatusRequest()).tables.contains("drafts"))
        try await laptop.engine.deleteLocalData()
        #expect(try await laptop.engine.perform(StatusRequest()).tables.contains("drafts"))
        try await tower.database.write { db in
          try UnsentDraft.insert { UnsentDraft(id: UUID(), text: "ours") }.execute(db)
        }
        try await eventually("the draft") {
          try await laptop.database.read { db in try UnsentDraft.select(\.text).fetchAll(db) } == ["ours"]
        }
      }
    }

    @Test("a table that mesh track added stays synchronized when the app is killed while it removes mesh's tables")
    func tableOfCommandLineAfterKill() async throws {
      let network = NodeConfiguration.Network.separate()
      let (tower, laptop) = (try SyncedDevice("tower", on: network), try SyncedDevice("laptop", on: network))
      try await SyncedDevice.running(tower, laptop) {
        for device in [tower, laptop] {
          try await device.engine.start()
          _ = try await device.engine.perform(TrackRequest(tables: ["drafts"]))
        }
        await laptop.engine.stopAndWait()
        // An app that is killed has removed the tables, and hasn't started again. Another one may be killed the same way.
        for _ in 1...2 {
          #expect(try await Bookkeeping.remove(from: laptop.database, of: laptop.engine.tables.names))
        }
        try await laptop.engine.start()
        #expect(try await laptop.engine.perform(StatusRequest()).tables.contains("drafts"))
        // Joining an account removes them, too.
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        #expect(try await laptop.engine.perform(StatusRequest()).tables.contains("drafts"))
        try await tower.database.write { db in
          try UnsentDraft.insert { UnsentDraft(id: UUID(), text: "ours") }.execute(db)
        }
        try await eventually("the draft") {
          try await laptop.database.read { db in try UnsentDraft.select(\.text).fetchAll(db) } == ["ours"]
        }
        #expect(try await Bookkeeping.tablesPutAside(in: laptop.database) == nil)
        // A name that is untracked afterwards stays so.
        _ = try await laptop.engine.perform(UntrackRequest(tables: ["drafts"]))
        await laptop.engine.stopAndWait()
        try await laptop.engine.start()
        #expect(try await !laptop.engine.perform(StatusRequest()).tables.contains("drafts"))
        // A table that the app drops before the next start isn't waited for.
        _ = try await laptop.engine.perform(TrackRequest(tables: ["drafts"]))
        await laptop.engine.stopAndWait()
        #expect(try await Bookkeeping.remove(from: laptop.database, of: laptop.engine.tables.names))
        try await laptop.database.write { db in try db.execute(sql: "DROP TABLE drafts") }
        try await laptop.engine.start()
        #expect(try await Bookkeeping.tablesPutAside(in: laptop.database) == nil)
      }
    }
  }
}
