// This file contains the code of the article about assets, and of the part about synchronization in the article about
// testing. A test compares them line by line.

import Foundation
import SQLiteData
import Synchronization
import Testing

@testable import SQLiteData

@Table
struct RemindersListAsset: Identifiable {
  @Column(primaryKey: true)
  let remindersListID: RemindersList.ID
  var coverImage: Data?
  var id: RemindersList.ID { remindersListID }
}

extension SharedSyncTests {
  @Suite("The samples about assets and testing", .timeLimit(.minutes(5)))
  struct AssetSamples {
    private func appDatabase() throws -> any DatabaseWriter {
      let database = try documentedDatabase()
      try database.write { db in
        try #sql(
          """
          CREATE TABLE "remindersListAssets" (
            "remindersListID" TEXT PRIMARY KEY NOT NULL REFERENCES "remindersLists"("id") ON DELETE CASCADE,
            "coverImage" BLOB)
          """
        ).execute(db)
      }
      return database
    }

    @Test("an image of 3 MB follows its row, and edits and invites have the date of the network's clock")
    func twoDevices() async throws {
      let now = Mutex(Date(timeIntervalSince1970: 1_234_567_890))
      let date = DateGenerator { now.withLock { $0 } }
      let (towerDatabase, laptopDatabase) = (try appDatabase(), try appDatabase())
      let network = NodeConfiguration.Network.separate(date: date)
      let tower = try SyncEngine(
        for: towerDatabase, tables: RemindersList.self, RemindersListAsset.self,
        node: NodeConfiguration(network: network)
      )
      let laptop = try SyncEngine(
        for: laptopDatabase, tables: RemindersList.self, RemindersListAsset.self,
        node: NodeConfiguration(network: network)
      )
      try await tower.start()
      try await laptop.join(try await tower.inviteDevice().link)
      let expired = try await tower.inviteDevice()
      #expect(abs(expired.expires.timeIntervalSince1970 - 1_234_567_890 - 15 * 60) < 1)
      await laptop.stopAndWait()
      await tower.stopAndWait()
      now.withLock { $0 += 16 * 60 }
      #expect(await syncError { try await laptop.join(expired.link) }?.code.rawValue == "link.expired")
      try await tower.start()
      try await laptop.start()
      let remindersList = RemindersList(id: UUID(), title: "Groceries")
      try await towerDatabase.write { db in try RemindersList.insert { remindersList }.execute(db) }
      try await tower.sendChanges()
      #expect(try await laptopDatabase.read { db in try RemindersList.fetchCount(db) } == 1)

      let image = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      try await save(image, of: remindersList, in: towerDatabase)
      try await tower.sendChanges()
      try await laptop.fetchChanges()
      let blobs = blobs(laptop)
      #expect(blobs.count == 0 && blobs.bytes == 0)
      let shown = try await laptopDatabase.read { db in try RemindersListAsset.fetchOne(db)?.coverImage }
      #expect(shown == image)
      now.withLock { $0 += 1 }
      let edited = try await edited(remindersList, towerDatabase)
      #expect(edited == (1_234_567_890 + 16 * 60 + 1) * 1_000_000_000)
      await laptop.stopAndWait()
      await tower.stopAndWait()
    }

    private func save(
      _ image: Data, of remindersList: RemindersList, in database: any DatabaseWriter
    ) async throws {
      try await database.write { db in
        try RemindersListAsset.upsert {
          RemindersListAsset.Draft(remindersListID: remindersList.id, coverImage: image)
        }
        .execute(db)
      }
    }

    private func blobs(_ syncEngine: SyncEngine) -> SyncProgress.Blobs {
      let blobs = syncEngine.progress.blobs
      print("\(blobs.count) images, \(blobs.bytes) bytes to go")
      return blobs
    }

    /// Edits a list, and returns the time of the edit in the metadata.
    private func edited(_ remindersList: RemindersList, _ database: any DatabaseWriter) async throws -> Int64 {
      func time() async throws -> Int64 {
        try await database.read { db in
          try RemindersList.metadata(for: remindersList.id).select(\.userModificationTime).fetchOne(db)
        } ?? 0
      }
      let before = try await time()
      try await database.write { db in
        try RemindersList.find(remindersList.id).update { $0.title = "Food" }.execute(db)
      }
      try await eventually("the time of the edit") { try await time() != before }
      return try await time()
    }
  }
}
