import Foundation
import Testing

@testable import SQLiteData

extension SyncTests {
  /// What becomes of rows and their references on two devices of one account.
  @Suite("Rows of two devices", .timeLimit(.minutes(5)))
  struct SyncedRowsTests {
    private func lists(_ device: SyncedDevice, _ titles: String...) async throws -> [SyncedList] {
      let lists = titles.map { SyncedList(id: UUID(), title: $0) }
      try await device.database.write { db in for list in lists { try SyncedList.insert { list }.execute(db) } }
      return lists
    }

    private func item(_ device: SyncedDevice, _ id: UUID) async throws -> SyncedItem? {
      try await device.database.read { db in try SyncedItem.find(id).fetchOne(db) }
    }

    @Test("a list's 600 items, and later its delete with all that refers to it, arrive as a whole")
    func cascade() async throws {
      try await SyncedDevice.pair { tower, laptop in
        let list = try await lists(tower, "Groceries")[0]
        try await tower.database.write { db in
          try ListPosition.insert { ListPosition(listID: list.id, position: 1) }.execute(db)
          for number in 0..<600 {
            try SyncedItem.insert { SyncedItem(id: UUID(), text: "\(number)", listID: list.id) }.execute(db)
          }
        }
        var counts: Set<Int> = []
        try await eventually("600 items") {
          counts.insert(try await laptop.items().count)
          return counts.contains(600)
        }
        #expect(counts.isSubset(of: [0, 600]))
        #expect(try await laptop.database.read { db in try ListPosition.fetchCount(db) } == 1)
        try await laptop.database.write { db in try SyncedList.find(list.id).delete().execute(db) }
        counts = []
        try await eventually("no items") {
          counts.insert(try await tower.items().count)
          return counts.contains(0)
        }
        #expect(counts.isSubset(of: [0, 600]))
        #expect(try await tower.titles().isEmpty)
        #expect(try await tower.database.read { db in try ListPosition.fetchCount(db) } == 0)
      }
    }

    @Test("two devices edit different columns of a row apart, and both edits stay")
    func differentColumns() async throws {
      try await SyncedDevice.pair { tower, laptop in
        let list = try await lists(tower, "Groceries")[0]
        let milk = SyncedItem(id: UUID(), text: "milk", listID: list.id)
        try await tower.database.write { db in try SyncedItem.insert { milk }.execute(db) }
        try await tower.engine.syncChanges()
        await laptop.engine.stopAndWait()
        try await tower.database.write { db in
          try SyncedItem.find(milk.id).update { $0.text = "oat milk" }.execute(db)
        }
        try await laptop.database.write { db in
          try SyncedItem.find(milk.id).update { $0.isDone = true }.execute(db)
        }
        try await laptop.engine.start()
        let both = SyncedItem(id: milk.id, text: "oat milk", isDone: true, listID: list.id)
        for device in [tower, laptop] {
          try await eventually("both edits") { try await item(device, milk.id) == both }
        }
      }
    }

    @Test("of two devices that move a row apart, the later one decides its list, and its metadata say so")
    func moves() async throws {
      try await SyncedDevice.pair { tower, laptop in
        let all = try await lists(tower, "One", "Two", "Three")
        let milk = SyncedItem(id: UUID(), text: "milk", listID: all[0].id)
        try await tower.database.write { db in try SyncedItem.insert { milk }.execute(db) }
        try await tower.engine.syncChanges()
        await laptop.engine.stopAndWait()
        for (device, list) in [(tower, all[1]), (laptop, all[2])] {
          try await device.database.write { db in
            try SyncedItem.find(milk.id).update { $0.listID = list.id }.execute(db)
          }
          try await Task.sleep(for: .milliseconds(5))
        }
        try await laptop.engine.start()
        for device in [tower, laptop] {
          try await eventually("the third list") { try await item(device, milk.id)?.listID == all[2].id }
          try await eventually("its metadata") {
            try await device.database.read { db in try SyncMetadata.find(milk.syncMetadataID).fetchOne(db) }?
              .parentRecordID?.parentRecordPrimaryKey == all[2].id.uuidString.lowercased()
          }
        }
      }
    }
  }
}
