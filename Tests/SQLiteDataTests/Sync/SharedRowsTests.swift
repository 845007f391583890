import Foundation
import MeshControl
import Testing

@testable import SQLiteData

extension SharedSyncTests {
  @Suite("Rows of shares", .timeLimit(.minutes(5)))
  struct SharedRowsTests {
    private func parent(of item: UUID, on device: SyncedDevice) async throws -> UUID? {
      try await device.database.read { db in try SyncedItem.find(item).fetchOne(db)?.listID }
    }

    @Test("a participant adds, edits, deletes and moves rows of a share, also while its engine is stopped")
    func participantWrites() async throws {
      try await SyncedDevice.accounts { alice, bob, list in
        try await bob.engine.acceptShare(try #require(try await alice.engine.share(record: list).link))
        let own = SyncedList(id: UUID(), title: "Mine")
        let moved = SyncedItem(id: UUID(), text: "cheese", listID: own.id)
        try await bob.database.write { db in
          try SyncedList.insert { own }.execute(db)
          try SyncedItem.insert { moved }.execute(db)
        }
        try await bob.addItem("eggs", to: list)
        try await eventually("the participant's row") { try await alice.items() == ["eggs", "milk"] }
        await bob.engine.stopAndWait()
        try await bob.database.write { db in
          try SyncedItem.where { $0.text.eq("milk") }.delete().execute(db)
          try SyncedItem.where { $0.text.eq("eggs") }.update { $0.isDone = true }.execute(db)
          try SyncedItem.find(moved.id).update { $0.listID = list.id }.execute(db)
        }
        try await bob.addItem("bread", to: list)
        try await bob.engine.start()
        try await eventually("what was written while it was stopped") {
          try await alice.items() == ["bread", "cheese", "eggs"]
        }
        #expect(try await alice.database.read { db in try SyncedItem.where(\.isDone).fetchCount(db) } == 1)
        // The row came from the participant's own list, which stays its own.
        #expect(try await parent(of: moved.id, on: alice) == list.id)
        #expect(try await alice.titles() == ["Groceries"])
        try await eventually("the parent in the metadata") {
          try await alice.database.read { db in try SyncMetadata.find(moved.syncMetadataID).fetchOne(db) }?
            .parentRecordID?.parentRecordPrimaryKey == list.id.uuidString.lowercased()
        }
        try await bob.database.write { db in
          try SyncedItem.find(moved.id).update { $0.listID = own.id }.execute(db)
        }
        try await eventually("moved out") { try await alice.items() == ["bread", "eggs"] }
        #expect(try await bob.items() == ["bread", "cheese", "eggs"])
      }
    }

    @Test("a share ends when its owner deletes the root, even while the engine is stopped", arguments: [false, true])
    func deletedRoot(isStopped: Bool) async throws {
      try await SyncedDevice.accounts { alice, bob, list in
        try await bob.engine.acceptShare(try #require(try await alice.engine.share(record: list).link))
        #expect(try await bob.items() == ["milk"])
        if isStopped { await alice.engine.stopAndWait() }
        try await alice.database.write { db in try SyncedList.find(list.id).delete().execute(db) }
        if isStopped { try await alice.engine.start() }
        try await eventually("no lists") { try await bob.titles() == [] }
        try await eventually("no items") { try await bob.items() == [] }
        #expect(try await alice.titles() == [])
        #expect(try await alice.items() == [])
        try await bob.addList("Mine")
        try await bob.shows("Mine")
      }
    }

    @Test("rows of a private table stay in the account when the row to which they refer is shared")
    func privateRows() async throws {
      try await SyncedDevice.accounts { alice, bob, list in
        let position = ListPosition(listID: list.id, position: 7)
        try await alice.database.write { db in try ListPosition.insert { position }.execute(db) }
        try await bob.engine.acceptShare(try #require(try await alice.engine.share(record: list).link))
        try await bob.database.write { db in
          try ListPosition.insert { ListPosition(listID: list.id, position: 3) }.execute(db)
        }
        try await alice.addItem("eggs", to: list)
        try await eventually("shared rows") { try await bob.items() == ["eggs", "milk"] }
        func positions(_ device: SyncedDevice) async throws -> [Int] {
          try await device.database.read { db in try ListPosition.select(\.position).fetchAll(db) }
        }
        #expect(try await positions(alice) == [7])
        #expect(try await positions(bob) == [3])
      }
    }

    @Test("what a participant writes after it was made read-only is taken back, and nobody else gets it")
    func loweredPermission() async throws {
      try await SyncedDevice.accounts { alice, bob, list in
        try await bob.engine.acceptShare(try #require(try await alice.engine.share(record: list).link))
        await bob.engine.stopAndWait()
        try await alice.engine.share(record: list) { share in
          for index in share.participants.indices where share.participants[index].role != .owner {
            share.participants[index].permission = .readOnly
          }
        }
        // This device doesn't know it yet, so its own triggers accept the writes.
        try await bob.addItem("cheese", to: list)
        try await bob.database.write { db in
          try SyncedItem.where { $0.text.eq("milk") }.update { $0.text = "beer" }.execute(db)
        }
        try await bob.engine.start()
        try await eventually("what the owner has") { try await bob.items() == ["milk"] }
        #expect(try await alice.items() == ["milk"])
        #expect(try await bob.engine.shares().map(\.permission) == [.readOnly])
        for statement in ["INSERT INTO items (id, listID) SELECT 'x', id FROM lists", "DELETE FROM items"] {
          let error = await #expect(throws: DatabaseError.self) {
            try await bob.database.write { db in try db.execute(sql: statement) }
          }
          #expect(error?.message == SyncEngine.writePermissionError)
        }
        #expect(try await bob.items() == ["milk"])
      }
    }

    @Test("a row that was just written can be shared, and sharing leaves the times of rows as they are")
    func timesOfRows() async throws {
      try await SyncedDevice.accounts { alice, bob, list in
        func times() async throws -> [Int64] {
          try await alice.database.read { db in
            try SyncMetadata.order { ($0.id.recordType, $0.id.recordPrimaryKey) }.select(\.userModificationTime)
              .fetchAll(db)
          }
        }
        try await eventually("captured") { try await times().count == 2 }
        let before = try await times()
        try await bob.engine.acceptShare(try #require(try await alice.engine.share(record: list).link))
        #expect(try await times() == before)
        let new = SyncedList(id: UUID(), title: "New")
        try await alice.addList(new.title, id: new.id)
        try await bob.engine.acceptShare(try #require(try await alice.engine.share(record: new).link))
        #expect(try await bob.titles() == ["Groceries", "New"])
        try await alice.engine.unshare(record: list)
        #expect(try await times().filter { before.contains($0) }.count == 2)
      }
    }

    @Test("an engine without tables starts, and synchronizes nothing")
    func noTables() async throws {
      let database = try syncedDatabase()
      let engine = try SyncEngine(
        for: database, node: NodeConfiguration(home: DatabasePlace.temporaryHome(), network: .separate()))
      try await engine.start()
      try await database.write { db in try SyncedList.insert { SyncedList(id: UUID(), title: "Mine") }.execute(db) }
      #expect(try await engine.devices().count == 1)
      let status = try await engine.perform(StatusRequest())
      #expect(status.tables == [] && status.pending == 0 && status.zones.map(\.records) == [0])
      await engine.stopAndWait()
    }
  }
}
