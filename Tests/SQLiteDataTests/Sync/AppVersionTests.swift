import Foundation
import Testing

@testable import SQLiteData

@SQLiteData.Table("lists") private struct NewList: Hashable, Identifiable {
  let id: UUID
  var title = ""
  var color: String? = "white"
  var position = 0
  var image: Data?
}

@SQLiteData.Table("notes") private struct ListNote: Hashable, Identifiable {
  let id: UUID
  var text = ""
  var listID: NewList.ID
}

extension SharedSyncTests {
  /// Devices of one account that have different versions of an app.
  @Suite("Versions of an app", .timeLimit(.minutes(5)))
  struct AppVersionTests {
    private func migrate(_ database: any DatabaseWriter) async throws {
      try await database.write { db in
        try db.execute(
          sql: """
            ALTER TABLE "lists" ADD COLUMN "color" TEXT DEFAULT 'white';
            ALTER TABLE "lists" ADD COLUMN "position" INTEGER NOT NULL ON CONFLICT REPLACE DEFAULT 0;
            ALTER TABLE "lists" ADD COLUMN "image" BLOB;
            CREATE TABLE "notes" (
              "id" TEXT PRIMARY KEY NOT NULL, "text" TEXT NOT NULL DEFAULT '',
              "listID" TEXT NOT NULL REFERENCES "lists"("id") ON DELETE CASCADE);
            """)
      }
    }

    /// Returns the engine of the new version.
    private func engine(of device: SyncedDevice) throws -> SyncEngine {
      try SyncEngine(
        for: device.database, tables: NewList.self, SyncedItem.self, ListNote.self, privateTables: ListPosition.self,
        node: NodeConfiguration(home: device.home, network: device.network))
    }

    private func lists(_ device: SyncedDevice) async throws -> [NewList] {
      try await device.database.read { db in try NewList.order(by: \.title).fetchAll(db) }
    }

    private func notes(_ device: SyncedDevice) async throws -> [String] {
      try await device.database.read { db in try ListNote.order(by: \.text).select(\.text).fetchAll(db) }
    }

    @Test(
      "a device with the old version keeps what it doesn't know, and shows it after the migration",
      arguments: [false, true])
    func update(isRunning: Bool) async throws {
      try await SyncedDevice.pair { tower, laptop in
        let old = SyncedList(id: UUID(), title: "Groceries")
        try await laptop.addList(old.title, id: old.id)
        try await laptop.engine.sendChanges()

        try await migrate(tower.database)
        await tower.engine.stopAndWait()
        let new = try engine(of: tower)
        try await new.start()
        let image = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
        let books = NewList(id: UUID(), title: "Books", color: nil, position: 4, image: image)
        try await tower.database.write { db in
          try NewList.insert { books }.execute(db)
          try NewList.find(old.id).update {
            $0.color = #bind("red")
            $0.position = 7
          }.execute(db)
          try ListNote.insert { ListNote(id: UUID(), text: "old shop", listID: old.id) }.execute(db)
          try ListNote.insert { ListNote(id: UUID(), text: "deleted", listID: old.id) }.execute(db)
        }
        try await new.sendChanges()
        #expect(try await laptop.titles() == ["Books", "Groceries"])
        // The old version edits a column that it knows, and the other columns stay.
        try await laptop.database.write { db in
          try SyncedList.find(old.id).update { $0.title = "Shopping" }.execute(db)
        }
        try await laptop.addList("Tools")
        try await laptop.engine.sendChanges()
        try await tower.database.write { db in
          try ListNote.where { $0.text.eq("deleted") }.delete().execute(db)
        }
        try await new.sendChanges()
        let all = try await lists(tower)
        #expect(all.map(\.title) == ["Books", "Shopping", "Tools"])
        #expect(all.map(\.color) == [nil, "red", "white"])
        #expect(all.map(\.position) == [4, 7, 0])

        // The other device is updated, also while its engine runs.
        if !isRunning { await laptop.engine.stopAndWait() }
        try await migrate(laptop.database)
        if isRunning {
          try await eventually("the columns") { try await lists(laptop) == all }
          await laptop.engine.stopAndWait()
        }
        let updated = try engine(of: laptop)
        try await updated.start()
        try await eventually("all lists") { try await lists(laptop) == all }
        try await eventually("the notes") { try await notes(laptop) == ["old shop"] }
        #expect(try await lists(laptop).first?.image == image)
        #expect(try await updated.heldRecords() == [])
        try await laptop.database.write { db in
          try ListNote.insert { ListNote(id: UUID(), text: "new shop", listID: books.id) }.execute(db)
          try NewList.find(books.id).update { $0.position = 5 }.execute(db)
        }
        try await updated.sendChanges()
        #expect(try await notes(tower) == ["new shop", "old shop"])
        #expect(try await lists(tower).map(\.position) == [5, 7, 0])
        await updated.stopAndWait()
        await new.stopAndWait()
      }
    }

    @Test("a table that a version no longer lists gets the edits of other devices when a later version lists it again")
    func listedAgain() async throws {
      try await SyncedDevice.pair { tower, laptop in
        let list = SyncedList(id: UUID(), title: "Groceries")
        try await tower.addList(list.title, id: list.id)
        for text in ["bread", "eggs", "milk"] { try await tower.addItem(text, to: list) }
        try await tower.engine.sendChanges()
        #expect(try await laptop.items() == ["bread", "eggs", "milk"])
        await laptop.engine.stopAndWait()
        let fewer = try SyncEngine(
          for: laptop.database, tables: SyncedList.self,
          node: NodeConfiguration(home: laptop.home, network: laptop.network))
        try await fewer.start()
        try await tower.database.write { db in
          try SyncedItem.where { $0.text.eq("milk") }.update { $0.text = "oat milk" }.execute(db)
          try SyncedItem.where { $0.text.eq("eggs") }.delete().execute(db)
        }
        // What the app writes meanwhile stays here until the table is listed again.
        try await laptop.addItem("salt", to: list)
        try await laptop.database.write { db in
          try SyncedItem.where { $0.text.eq("bread") }.update { $0.isDone = true }.execute(db)
        }
        try await tower.engine.sendChanges()
        try await fewer.syncChanges()
        #expect(try await laptop.items() == ["bread", "eggs", "milk", "salt"])
        #expect(try await tower.items() == ["bread", "oat milk"])
        await fewer.stopAndWait()
        try await laptop.engine.start()
        try await laptop.engine.syncChanges()
        for device in [tower, laptop] {
          try await eventually("everything") { try await device.items() == ["bread", "oat milk", "salt"] }
          #expect(try await device.database.read { db in try SyncedItem.where(\.isDone).fetchCount(db) } == 1)
        }
      }
    }

    @Test("a migration that rebuilds a table while the engine runs changes no row of other devices")
    func rebuild() async throws {
      try await SyncedDevice.pair { tower, laptop in
        let list = SyncedList(id: UUID(), title: "Groceries")
        try await tower.addList(list.title, id: list.id)
        for number in 0..<200 { try await tower.addItem("\(1_000 + number)", to: list) }
        try await tower.engine.sendChanges()
        let all = try await laptop.items()
        #expect(all.count == 200)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("Rebuild items", foreignKeyChecks: .immediate) { db in
          try db.execute(
            sql: """
              PRAGMA defer_foreign_keys = ON;
              CREATE TABLE "new_items" (
                "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
                "listID" TEXT NOT NULL REFERENCES "lists"("id") ON DELETE CASCADE, "text" TEXT NOT NULL DEFAULT '',
                "isDone" INTEGER NOT NULL DEFAULT 0, "due" TEXT);
              INSERT INTO "new_items" ("id", "listID", "text", "isDone") SELECT "id", "listID", "text", "isDone" FROM "items";
              DROP TABLE "items";
              ALTER TABLE "new_items" RENAME TO "items";
              """)
        }
        // Another device writes all the time.
        let writer = Task {
          for number in 0..<50 {
            try await laptop.addItem("\(2_000 + number)", to: list)
            try await Task.sleep(for: .milliseconds(5))
          }
        }
        try migrator.migrate(tower.database)
        try await tower.addItem("3000", to: list)
        try await writer.value
        for device in [tower, laptop] {
          try await eventually("all items") { try await device.items().count == 251 }
          #expect(try await Array(device.items().prefix(200)) == all)
          #expect(try await device.engine.heldRecords() == [])
        }
      }
    }
  }
}
