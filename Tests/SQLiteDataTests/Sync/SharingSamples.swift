// This file contains the code of the article about sharing. A test compares them line by line.

import Foundation
import SQLiteData
import Testing

@testable import SQLiteData

@Table
private struct RemindersListPrivate: Identifiable {
  @Column(primaryKey: true)
  let remindersListID: RemindersList.ID
  var position = 0
  var id: RemindersList.ID { remindersListID }
}

final class AppDelegate: SyncEngineDelegate {
  func syncEngine(_ syncEngine: SyncEngine, shareReceived share: Share) async {
    print("\(share.owner.name ?? "Somebody") shares \(share.title ?? "a list") with you.")
  }

  func syncEngine(_ syncEngine: SyncEngine, shouldDeleteRowsOf share: Share) -> Bool {
    false
  }
}

extension SharedSyncTests {
  @Suite("The samples about sharing", .timeLimit(.minutes(5)))
  struct SharingSamples {
    private func appDatabase() throws -> any DatabaseWriter {
      let database = try documentedDatabase()
      try database.write { db in
        try #sql(
          """
          CREATE TABLE "remindersListPrivates" (
            "remindersListID" TEXT PRIMARY KEY NOT NULL REFERENCES "remindersLists"("id") ON DELETE CASCADE,
            "position" INTEGER NOT NULL DEFAULT 0)
          """
        ).execute(db)
      }
      return database
    }

    @Test("the app's entry point names the private table")
    func privateTables() throws {
      try prepareDependencies {
        $0.defaultDatabase = try appDatabase()
        $0.defaultSyncEngine = try SyncEngine(
          for: $0.defaultDatabase,
          tables: RemindersList.self, Reminder.self,
          privateTables: RemindersListPrivate.self
        )
      }
      @Dependency(\.defaultSyncEngine) var syncEngine
      #expect(syncEngine.tables.privateTables == ["remindersListPrivates"])
    }

    @Test("two accounts share a list, and the one that may only read is refused")
    func shareAndAccept() async throws {
      let network = NodeConfiguration.Network.separate()
      let (mine, theirs) = (try documentedDatabase(), try documentedDatabase())
      func engine(_ database: any DatabaseWriter) throws -> SyncEngine {
        try SyncEngine(
          for: database, tables: RemindersList.self, Reminder.self, node: NodeConfiguration(network: network),
          delegate: AppDelegate())
      }
      let (owner, participant) = (try engine(mine), try engine(theirs))
      try await owner.start()
      try await participant.start()
      let remindersList = RemindersList(id: UUID(), title: "Groceries")
      let reminder = Reminder(id: UUID(), title: "Milk", remindersListID: remindersList.id)
      try await mine.write { db in
        try RemindersList.insert { remindersList }.execute(db)
        try Reminder.insert { reminder }.execute(db)
        try trigger(db)
      }
      let invite = try await share(remindersList, by: owner)
      try await accept(invite, by: participant)
      #expect(try await theirs.read { db in try Reminder.select(\.title).fetchAll(db) } == ["Milk"])
      try await rename(reminder.id, in: theirs)
      #expect(try await theirs.read { db in try Reminder.select(\.title).fetchAll(db) } == ["Milk"])
      #expect(try await mayWrite(remindersList.id, in: theirs) == false)
      #expect(try await mayWrite(remindersList.id, in: mine) == true)
      #expect(try await isShared(in: mine) == [true])
      await participant.stopAndWait()
      await owner.stopAndWait()
    }

    private func share(_ remindersList: RemindersList, by syncEngine: SyncEngine) async throws -> String {
      do {
        let sharedRecord = try await syncEngine.share(record: remindersList) { share in
          share[Share.SystemFieldKey.title] = "Join '\(remindersList.title)'!"
        }
        #expect(sharedRecord.title == "Join 'Groceries'!")
      }
      let sharedRecord = try await syncEngine.share(record: remindersList) { share in
        share.publicPermission = .readOnly
      }
      return try #require(sharedRecord.link)
    }

    /// Prints what `syncEngine` could not write.
    func printRejectedWrites(of syncEngine: SyncEngine) async throws {
      for receipt in try await syncEngine.receipts() {
        guard let values = receipt.values else { continue }
        print("Not accepted in \(receipt.recordType): \(values.values.sorted())")
      }
    }

    private func accept(_ invite: String, by syncEngine: SyncEngine) async throws {
      let metadata = try await syncEngine.shareMetadata(for: invite)
      try await syncEngine.acceptShare(metadata: metadata)
    }

    private func rename(_ id: Reminder.ID, in database: any DatabaseWriter) async throws {
      do {
        try await database.write { db in
          try Reminder.find(id)
            .update { $0.title = "Personal" }
            .execute(db)
        }
      } catch let error as DatabaseError where error.message == SyncEngine.writePermissionError {
        // User does not have permission to write to this record.
      }
    }

    private func mayWrite(_ id: RemindersList.ID, in database: any DatabaseWriter) async throws -> Bool {
      var isRefused = true
      func check() async throws {
        let share = try await database.read { db in
          try RemindersList
            .metadata(for: id)
            .select(\.share)
            .fetchOne(db)
            ?? nil
        }
        guard
          share?.currentUserParticipant?.permission == .readWrite
            || share?.permission == .readWrite
        else {
          // User does not have permissions to write to record.
          return
        }
        isRefused = false
      }
      try await check()
      return !isRefused
    }

    @Selection struct Row {
      let remindersList: RemindersList
      let isShared: Bool
    }

    private func isShared(in database: any DatabaseWriter) async throws -> [Bool] {
      try await withDependencies {
        $0.defaultDatabase = database
      } operation: {
        @FetchAll(
          RemindersList
            .leftJoin(SyncMetadata.all) { $0.hasMetadata(in: $1) }
            .select {
              Row.Columns(
                remindersList: $0,
                isShared: $1.isShared ?? false
              )
            }
        )
        var rows
        try await $rows.load()
        @FetchOne(SyncMetadata.counts) var counts = SyncCounts()
        #expect(counts.rows > 0)
        return rows.map(\.isShared)
      }
    }

    private func trigger(_ db: Database) throws {
      try #sql(
        """
        CREATE TRIGGER "reminders_notes"
        AFTER UPDATE OF "title" ON "reminders"
        FOR EACH ROW WHEN NOT \(SyncEngine.$isSynchronizing)
        BEGIN
          UPDATE "reminders" SET "notes" = '' WHERE "id" = NEW."id";
        END
        """
      )
      .execute(db)
    }
  }
}
