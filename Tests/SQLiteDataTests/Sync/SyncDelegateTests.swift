import Foundation
import MeshControl
import Synchronization
import Testing

@testable import SQLiteData

extension SyncTests {
  @Suite("The delegate of the sync engine", .timeLimit(.minutes(5)))
  struct SyncDelegateTests {
    private final class Recorder: SyncEngineDelegate {
      private let state = Mutex<[String]>([])
      private let numbers = Mutex<[Int64]>([])
      private let keepsRows: Bool

      init(keepsRows: Bool = false) { self.keepsRows = keepsRows }

      var events: [String] { state.withLock { $0 } }
      var conflicts: [Int64] { numbers.withLock { $0 } }
      private func note(_ event: String) { state.withLock { $0.append(event) } }

      func syncEngine(_ syncEngine: SyncEngine, accountChanged changeType: SyncEngine.AccountChange) async {
        switch changeType {
        case .signIn: note("sign in")
        case .signOut: note("sign out")
        case .switchAccounts(let previous, let current): note(previous == current ? "same" : "switch")
        }
      }
      func syncEngine(_ syncEngine: SyncEngine, shareReceived share: Share) async {
        note("received \(share.title ?? "")")
      }
      func syncEngine(_ syncEngine: SyncEngine, shareChanged share: Share) async {
        note("changed \(share.title ?? "") \(share.permission)")
      }
      func syncEngine(_ syncEngine: SyncEngine, shareRevoked share: Share) async {
        note("revoked \(share.title ?? "")")
      }
      func syncEngine(_ syncEngine: SyncEngine, shouldDeleteRowsOf share: Share) -> Bool {
        note("asked \(share.title ?? "")")
        return !keepsRows
      }
      func syncEngine(_ syncEngine: SyncEngine, foundConflict conflict: SyncConflict) async {
        numbers.withLock { $0.append(conflict.id) }
        note("\(conflict.recordType).\(conflict.column ?? "") \(conflict.lostValue) lost to \(conflict.value)")
      }
      func syncEngine(_ syncEngine: SyncEngine, heldRecordsChanged counts: [String: Int]) async {
        note("held \(counts.values.reduce(0, +))")
      }
      func syncEngine(_ syncEngine: SyncEngine, failedWith error: any Error) async {
        note("failed \((error as? SyncError)?.code.rawValue ?? "")")
      }
    }

    @Test("the account that the first start makes, that another device's invite replaces, and that revokes the device")
    func account() async throws {
      let network = NodeConfiguration.Network.separate()
      let delegate = Recorder()
      let tower = try SyncedDevice("tower", on: network)
      let laptop = try SyncedDevice("laptop", on: network, delegate: delegate)
      try await SyncedDevice.running(tower, laptop) {
        try await tower.engine.start()
        try await laptop.engine.start()
        try await eventually("signed in") { delegate.events == ["sign in"] }
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        try await eventually("switched") { delegate.events == ["sign in", "switch"] }
        try await eventually("connected") {
          try await tower.engine.devices().allSatisfy { $0.isThis || $0.isConnected }
        }
        try await tower.engine.revokeDevice(try #require(try await tower.engine.devices().last).id)
        try await eventually("signed out") { delegate.events.last == "sign out" }
      }
    }

    @Test("a share that is received, changed and revoked, also while the engine is stopped", arguments: [false, true])
    func shares(keepsRows: Bool) async throws {
      let delegate = Recorder(keepsRows: keepsRows)
      try await SyncedDevice.accounts(delegate: delegate) { alice, bob, list in
        let shared = try await alice.engine.share(record: list) { $0.title = "List" }
        try await bob.engine.acceptShare(try #require(shared.link))
        try await eventually("received") { delegate.events.contains("received List") }
        try await alice.engine.share(record: list) { $0.title = "Shopping" }
        try await eventually("changed") { delegate.events.contains("changed Shopping readWrite") }
        await bob.engine.stopAndWait()
        try await alice.engine.unshare(record: list)
        try await bob.engine.start()
        try await eventually("revoked") { delegate.events.last == "revoked Shopping" }
        #expect(delegate.events.filter { $0.hasPrefix("asked") } == ["asked Shopping"])
        #expect(delegate.events.count { $0.hasPrefix("received") } == 1)
        if keepsRows {
          try await eventually("kept") { try await bob.items() == ["milk"] }
          try await bob.engine.start()
          #expect(try await bob.titles() == ["Groceries"])
          let metadata = try await bob.database.read { db in try SyncMetadata.find(list.syncMetadataID).fetchOne(db) }
          #expect(metadata?.isShared == false)
        } else {
          try await eventually("deleted") { try await bob.titles() == [] }
        }
      }
    }

    @Test("a conflict, with the value that won and the one that lost")
    func conflict() async throws {
      let delegate = Recorder()
      let network = NodeConfiguration.Network.separate()
      let tower = try SyncedDevice("tower", on: network, delegate: delegate)
      let laptop = try SyncedDevice("laptop", on: network)
      let list = SyncedList(id: UUID(), title: "Groceries")
      try await SyncedDevice.running(tower, laptop) {
        try await tower.engine.start()
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        try await tower.addList(list.title, id: list.id)
        try await tower.engine.sendChanges()
        await laptop.engine.stopAndWait()
        for (device, title) in [(tower, "Shopping"), (laptop, "Market")] {
          try await device.database.write { db in
            try SyncedList.find(list.id).update { $0.title = title }.execute(db)
          }
          try await Task.sleep(for: .milliseconds(20))
        }
        try await laptop.engine.start()
        try await tower.shows("Market")
        try await eventually("told") { delegate.events.contains("lists.title Shopping lost to Market") }
      }
    }

    @Test("more conflicts at once than the node lists on a page are all reported, each once and the oldest first")
    func manyConflicts() async throws {
      let count = ConflictsRequest.pageSize + 5
      let delegate = Recorder()
      let network = NodeConfiguration.Network.separate()
      let tower = try SyncedDevice("tower", on: network, delegate: delegate)
      let laptop = try SyncedDevice("laptop", on: network)
      try await SyncedDevice.running(tower, laptop) {
        try await tower.engine.start()
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        try await tower.database.write { db in
          for number in 0..<count { try SyncedList.insert { SyncedList(id: UUID(), title: "\(number)") }.execute(db) }
        }
        try await tower.engine.sendChanges()
        await laptop.engine.stopAndWait()
        for (device, suffix) in [(tower, "a"), (laptop, "b")] {
          try await device.database.write { db in
            try #sql("UPDATE \(SyncedList.self) SET \(quote: "title") = \(quote: "title") || \(bind: suffix)").execute(
              db)
          }
          try await Task.sleep(for: .milliseconds(20))
        }
        try await laptop.engine.start()
        try await eventually("told") { delegate.conflicts.count >= count }
        try await Task.sleep(for: .seconds(1))
        #expect(delegate.conflicts.count == count)
        #expect(delegate.conflicts == delegate.conflicts.sorted())
      }
    }

    @Test("a row that the table refuses is held, with SQLite's message")
    func held() async throws {
      let delegate = Recorder()
      let network = NodeConfiguration.Network.separate()
      let tower = try SyncedDevice("tower", on: network)
      let laptop = try SyncedDevice("laptop", on: network, delegate: delegate)
      try await laptop.database.write { db in
        try #sql(
          """
          CREATE TRIGGER "refuse" BEFORE INSERT ON "lists" WHEN NEW."title" = 'Bad'
          BEGIN SELECT RAISE(ABORT, 'no bad lists'); END
          """
        ).execute(db)
      }
      try await SyncedDevice.running(tower, laptop) {
        try await tower.engine.start()
        try await laptop.engine.join(try await tower.engine.inviteDevice().link)
        let list = SyncedList(id: UUID(), title: "Bad")
        try await tower.addList(list.title, id: list.id)
        try await eventually("told") { delegate.events.last == "held 1" }
        let held = try #require(try await laptop.engine.heldRecords().first)
        #expect(held.recordType == "lists" && held.recordPrimaryKey == list.id.uuidString.lowercased())
        #expect(held.reason == "constraint" && held.message?.contains("no bad lists") == true && held.since != nil)
        #expect(laptop.engine.progress.heldRecords == 1)
        let metadata = try await laptop.database.read { db in try SyncMetadata.find(list.syncMetadataID).fetchOne(db) }
        #expect(metadata?.heldReason == "constraint")
        #expect(metadata?.lastError?.contains("no bad lists") == true)
        let counts = try await laptop.database.read { db in try SyncMetadata.counts.fetchOne(db) }
        #expect(counts == SyncCounts(rows: 1, held: 1))
        try await laptop.database.write { db in try #sql("DROP TRIGGER \(quote: "refuse")").execute(db) }
        try await laptop.shows("Bad")
        try await eventually("told") { delegate.events.last == "held 0" }
        #expect(try await laptop.engine.heldRecords() == [])
      }
    }

    @Test("an engine that can't work gives the reason")
    func failure() async throws {
      let network = NodeConfiguration.Network.separate()
      let first = try SyncedDevice("tower", on: network)
      let delegate = Recorder()
      let other = try SyncedDevice("other", on: network, home: first.home, delegate: delegate)
      try await SyncedDevice.running(first, other) {
        try await first.engine.start()
        await first.engine.stopAndWait()
        #expect(await syncError { try await other.engine.start() }?.code == .database)
        try await eventually("told") { delegate.events == ["failed engine.database"] }
      }
    }
  }
}
