import Foundation
import Testing

@testable import SQLiteData

/// A table whose queries leave out the rows that the app has marked as deleted.
@SQLiteData.Table("lists") private struct VisibleList: Hashable, Identifiable {
  let id: UUID
  var title = ""
  var isDeleted = false

  static var all: Where<VisibleList> { unscoped.where { !$0.isDeleted } }
}

extension SharedSyncTests {
  @Suite("Rows that an app's queries leave out", .timeLimit(.minutes(5)))
  struct HiddenRowsTests {
    private static func device(_ name: String, _ network: NodeConfiguration.Network) throws -> SyncedDevice {
      let database = try defaultDatabase()
      try database.write { db in
        try db.execute(
          sql: """
            CREATE TABLE "lists" (
              "id" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL DEFAULT '', "isDeleted" INTEGER NOT NULL DEFAULT 0)
            """)
      }
      return try SyncedDevice(name, on: network, database: database) {
        try SyncEngine(for: $0, tables: VisibleList.self, node: $1)
      }
    }

    private func visible(_ device: SyncedDevice) async throws -> [String] {
      try await device.database.read { db in try VisibleList.order(by: \.title).select(\.title).fetchAll(db) }
    }

    private func everything(_ device: SyncedDevice) async throws -> [String] {
      try await device.database.read { db in
        try VisibleList.unscoped.order(by: \.title).select(\.title).fetchAll(db)
      }
    }

    @Test("they are sent, merged, deleted and downloaded again like any others")
    func hidden() async throws {
      try await SyncedDevice.pair(Self.device) { tower, laptop in
        let (hidden, shown) = (
          VisibleList(id: UUID(), title: "A", isDeleted: true), VisibleList(id: UUID(), title: "B")
        )
        try await tower.database.write { db in
          try VisibleList.insert { hidden }.execute(db)
          try VisibleList.insert { shown }.execute(db)
        }
        try await tower.engine.sendChanges()
        #expect(try await visible(laptop) == ["B"])
        #expect(try await everything(laptop) == ["A", "B"])
        let metadata = try await laptop.database.read { db in try SyncMetadata.find(hidden.syncMetadataID).fetchOne(db)
        }
        #expect(metadata?.hasLastKnownServerRecord == true)
        // An edit of a hidden row is merged into it, and one of another device doesn't show it.
        try await laptop.database.write { db in
          try VisibleList.unscoped.find(hidden.id).update { $0.title = "AA" }.execute(db)
          try VisibleList.find(shown.id).update { $0.isDeleted = true }.execute(db)
        }
        try await laptop.engine.sendChanges()
        #expect(try await everything(tower) == ["AA", "B"])
        #expect(try await visible(tower) == [])
        try await laptop.engine.deleteLocalData()
        try await eventually("all rows again") { try await everything(laptop) == ["AA", "B"] }
        #expect(try await everything(tower) == ["AA", "B"])
        try await laptop.database.write { db in
          try VisibleList.unscoped.find(hidden.id).delete().execute(db)
          try VisibleList.unscoped.find(shown.id).update { $0.isDeleted = false }.execute(db)
        }
        try await laptop.engine.sendChanges()
        #expect(try await everything(tower) == ["B"])
        #expect(try await visible(tower) == ["B"])
      }
    }
  }
}
