import Foundation
import Testing

@testable import SQLiteData

@SQLiteData.Table("labels") private struct Label: Hashable, Identifiable {
  @Column(primaryKey: true) var name: String
  var color = ""
  var id: String { name }
}

@SQLiteData.Table("itemLabels") private struct ItemLabel: Hashable, Identifiable {
  let id: UUID
  var itemID: SyncedItem.ID
  var label: Label.ID
}

extension SharedSyncTests {
  /// Rows that refer to two others, and rows whose key is a text that people choose.
  @Suite("Linked rows", .timeLimit(.minutes(5)))
  struct LinkedRowsTests {
    private static func device(_ name: String, _ network: NodeConfiguration.Network) throws -> SyncedDevice {
      let database = try syncedDatabase()
      try database.write { db in
        try db.execute(
          sql: """
            CREATE TABLE "labels" ("name" TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, "color" TEXT NOT NULL DEFAULT '');
            CREATE TABLE "itemLabels" (
              "id" TEXT PRIMARY KEY NOT NULL, "itemID" TEXT NOT NULL REFERENCES "items"("id") ON DELETE CASCADE,
              "label" TEXT NOT NULL REFERENCES "labels"("name") ON DELETE CASCADE ON UPDATE CASCADE)
            """)
      }
      return try SyncedDevice(name, on: network, database: database) {
        try SyncEngine(
          for: $0, tables: SyncedList.self, SyncedItem.self, Label.self, ItemLabel.self,
          privateTables: ListPosition.self, node: $1)
      }
    }

    private func count(_ table: String, _ device: SyncedDevice) async throws -> Int? {
      try await device.database.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") }
    }

    private func names(_ device: SyncedDevice) async throws -> [String] {
      try await device.database.read { db in try Label.order(by: \.name).select(\.name).fetchAll(db) }
    }

    @Test("lists whose items have labels are deleted with everything that refers to them, and the labels stay")
    func deletedLists() async throws {
      try await SyncedDevice.pair(Self.device) { tower, laptop in
        try await tower.database.write { db in
          for name in ["red", "blue"] { try Label.insert { Label(name: name) }.execute(db) }
        }
        for round in 0..<20 {
          let list = SyncedList(id: UUID(), title: "\(round)")
          let links = try await tower.database.write { db in
            try SyncedList.insert { list }.execute(db)
            try ListPosition.insert { ListPosition(listID: list.id) }.execute(db)
            var links: [ItemLabel] = []
            for number in 0..<4 {
              let item = SyncedItem(id: UUID(), text: "\(number)", listID: list.id)
              try SyncedItem.insert { item }.execute(db)
              for name in ["red", "blue"] {
                links.append(ItemLabel(id: UUID(), itemID: item.id, label: name))
                try ItemLabel.insert { links[links.count - 1] }.execute(db)
              }
            }
            return links
          }
          try await tower.engine.sendChanges()
          #expect(try await count("itemLabels", laptop) == 8)
          // A row that refers to two others has no parent.
          let metadata = try await laptop.database.read { db in
            try SyncMetadata.find(links[0].syncMetadataID).fetchOne(db)
          }
          #expect(try #require(metadata).parentRecordID == nil)
          let device = round.isMultiple(of: 2) ? tower : laptop
          try await device.database.write { db in try SyncedList.find(list.id).delete().execute(db) }
          try await device.engine.sendChanges()
          for device in [tower, laptop] {
            #expect(try await count("items", device) == 0)
            #expect(try await count("itemLabels", device) == 0)
            #expect(try await count("listPositions", device) == 0)
            #expect(try await names(device) == ["blue", "red"])
          }
        }
        for device in [tower, laptop] { #expect(try await device.engine.heldRecords() == []) }
      }
    }

    @Test("a label that gets another key is one row with the new key, and what refers to it follows")
    func renamedKey() async throws {
      try await SyncedDevice.pair(Self.device) { tower, laptop in
        let list = SyncedList(id: UUID(), title: "Groceries")
        let item = SyncedItem(id: UUID(), text: "milk", listID: list.id)
        try await tower.database.write { db in
          try SyncedList.insert { list }.execute(db)
          try SyncedItem.insert { item }.execute(db)
          try Label.insert { Label(name: "cold", color: "blue") }.execute(db)
          try ItemLabel.insert { ItemLabel(id: UUID(), itemID: item.id, label: "cold") }.execute(db)
        }
        try await tower.engine.sendChanges()
        try await tower.database.write { db in
          try Label.find("cold").update { $0.name = "fridge" }.execute(db)
        }
        try await tower.engine.sendChanges()
        for device in [tower, laptop] {
          #expect(
            try await device.database.read { db in try Label.fetchAll(db) } == [Label(name: "fridge", color: "blue")])
          #expect(try await device.database.read { db in try ItemLabel.select(\.label).fetchAll(db) } == ["fridge"])
          let keys = try await device.database.read { db in
            try SyncMetadata.where { $0.id.recordType.eq("labels") }.select(\.id.recordPrimaryKey).fetchAll(db)
          }
          #expect(keys == ["fridge"])
        }
      }
    }

    @Test("a key that both devices made is one row, and a key may be any text")
    func sameKey() async throws {
      try await SyncedDevice.pair(Self.device) { tower, laptop in
        await laptop.engine.stopAndWait()
        for (device, color) in [(tower, "white"), (laptop, "green")] {
          try await device.database.write { db in try Label.insert { Label(name: "new", color: color) }.execute(db) }
          try await Task.sleep(for: .milliseconds(5))
        }
        let others = ["_private", "Käse:labels", String(repeating: "long ", count: 100), "it's \"quoted\""].sorted()
        try await tower.database.write { db in
          for name in others { try Label.insert { Label(name: name) }.execute(db) }
        }
        try await laptop.engine.start()
        let all = (others + ["new"]).sorted()
        for device in [tower, laptop] {
          try await eventually("all labels") { try await names(device).sorted() == all }
          try await eventually("the later color") {
            try await device.database.read { db in try Label.find("new").fetchOne(db) }?.color == "green"
          }
          // The column collates NOCASE, so the metadata have the keys in lower case. A join finds them all.
          try await eventually("the metadata") {
            try await device.database.read { db in
              try Label.join(SyncMetadata.all) { $0.syncMetadataID.eq($1.id) }.select { label, _ in label.name }
                .fetchAll(db)
            }.sorted() == all
          }
        }
        let metadata = try await laptop.database.read { db in try Label.metadata(for: "_private").fetchOne(db) }
        #expect(metadata?.hasLastKnownServerRecord == true)
      }
    }

    @Test("a row is inserted, edited, deleted, and inserted again with the same key")
    func insertedAgain() async throws {
      try await SyncedDevice.pair(Self.device) { tower, laptop in
        func color() async throws -> String? {
          try await laptop.database.read { db in try Label.find("new").fetchOne(db) }?.color
        }
        try await tower.database.write { db in try Label.insert { Label(name: "new", color: "1") }.execute(db) }
        try await tower.engine.sendChanges()
        #expect(try await color() == "1")
        try await tower.database.write { db in try Label.find("new").update { $0.color = "2" }.execute(db) }
        try await tower.engine.sendChanges()
        #expect(try await color() == "2")
        try await tower.database.write { db in try Label.find("new").delete().execute(db) }
        try await tower.engine.sendChanges()
        #expect(try await color() == nil)
        #expect(try await laptop.database.read { db in try Label.metadata(for: "new").fetchOne(db) } == nil)
        try await tower.database.write { db in try Label.insert { Label(name: "new", color: "3") }.execute(db) }
        try await tower.engine.sendChanges()
        #expect(try await color() == "3")
        // Neither the delete nor the row is sent before both are committed.
        await tower.engine.stopAndWait()
        try await tower.database.write { db in try Label.find("new").delete().execute(db) }
        try await tower.database.write { db in try Label.insert { Label(name: "new", color: "4") }.execute(db) }
        // A transaction that is rolled back deletes nothing anywhere.
        try await tower.database.writeWithoutTransaction { db in
          try db.inTransaction {
            try Label.delete().execute(db)
            return .rollback
          }
        }
        try await tower.engine.start()
        try await tower.engine.sendChanges()
        #expect(try await color() == "4")
        #expect(try await count("labels", tower) == 1)
      }
    }

    @Test("a write that a foreign key refuses has no metadata, and nothing of it is sent")
    func refusedReference() async throws {
      try await SyncedDevice.pair(Self.device) { tower, laptop in
        let stray = SyncedItem(id: UUID(), text: "stray", listID: UUID())
        let error = await #expect(throws: DatabaseError.self) {
          try await tower.database.write { db in try SyncedItem.insert { stray }.execute(db) }
        }
        #expect(error?.resultCode == .SQLITE_CONSTRAINT)
        try await tower.addList("Groceries")
        try await tower.engine.sendChanges()
        try await laptop.shows("Groceries")
        #expect(try await laptop.items() == [])
        #expect(try await laptop.engine.heldRecords() == [])
        #expect(
          try await tower.database.read { db in try SyncMetadata.select(\.id.recordType).fetchAll(db) } == ["lists"])
      }
    }

    @Test("an item that is added to a list while another device deletes the list comes back with the list")
    func deletedParent() async throws {
      try await SyncedDevice.pair(Self.device) { tower, laptop in
        let list = SyncedList(id: UUID(), title: "Groceries")
        try await tower.database.write { db in try SyncedList.insert { list }.execute(db) }
        try await tower.engine.sendChanges()
        await laptop.engine.stopAndWait()
        try await tower.database.write { db in try SyncedList.find(list.id).delete().execute(db) }
        try await laptop.addItem("milk", to: list)
        try await laptop.engine.start()
        try await laptop.engine.syncChanges()
        // Neither device shows an item without its list, and both know it.
        for device in [tower, laptop] {
          try await eventually("held") {
            try await device.engine.heldRecords().map(\.recordType) == ["items"]
          }
          #expect(try await device.items() == [])
          #expect(try await device.titles() == [])
        }
        try await tower.database.write { db in try SyncedList.insert { list }.execute(db) }
        for device in [tower, laptop] {
          try await device.shows("Groceries")
          try await eventually("the item") { try await device.items() == ["milk"] }
          try await eventually("nothing held") { try await device.engine.heldRecords() == [] }
        }
      }
    }
  }
}
