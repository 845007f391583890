import Foundation
import SQLiteData

// "Getting started with CloudKit", "Sharing data with other iCloud users"

enum CloudKit {
  // Setting up a SyncEngine
  static func setUp() throws {
    try prepareDependencies {
      $0.defaultDatabase = try appDatabase()
      $0.defaultSyncEngine = try SyncEngine(
        for: $0.defaultDatabase,
        tables: Relationships.RemindersList.self, Relationships.Reminder.self
      )
    }
  }

  // The third-party guide: CloudKit Sync
  static func sync() async throws -> String {
    @Dependency(\.defaultSyncEngine) var syncEngine
    try await syncEngine.fetchChanges()
    try await syncEngine.sendChanges()
    try await syncEngine.syncChanges()
    if syncEngine.isSynchronizing {
      if syncEngine.isSendingChanges {
        return "Uploading..."
      } else if syncEngine.isFetchingChanges {
        return "Downloading..."
      }
    }
    return syncEngine.isRunning ? "Synced" : "Stopped"
  }

  // Globally unique primary keys
  enum UniqueKeys {
    @Table
    struct Reminder: Identifiable {
      let id: UUID
      var title = ""
    }

    static func upsert(in database: any DatabaseWriter) throws {
      try database.write { db in
        try Reminder.upsert {
          Reminder.Draft(title: "Get milk")
        }
        .execute(db)
      }
    }
  }

  // Uniqueness constraints; Assets
  enum Assets {
    @Table
    struct RemindersList: Identifiable {
      let id: UUID
      var title = ""
    }
    @Table
    struct RemindersListAsset {
      @Column(primaryKey: true)
      let remindersListID: RemindersList.ID
      let image: Data
    }
    @Table
    struct RemindersListCoverImage {
      @Column(primaryKey: true)
      let remindersListID: RemindersList.ID
      var image: Data
    }
  }

  // Adding columns
  enum AddedColumns {
    @Table
    struct RemindersListGroup: Identifiable {
      let id: UUID
    }
    @Table
    struct RemindersList {
      let id: UUID
      var title = ""
      var position = 0
      var remindersListGroupID: RemindersListGroup.ID?
    }
  }

  // Sharing root records; One-to-many relationships; Many-to-many relationships
  enum Relationships {
    @Table
    struct RemindersList: Identifiable {
      let id: UUID
      var title = ""
    }
    @Table
    struct Reminder: Identifiable {
      let id: UUID
      var title = ""
      var isCompleted = false
      var remindersListID: RemindersList.ID
    }
    @Table
    struct ChildReminder: Identifiable {
      let id: UUID
      var title = ""
      var isCompleted = false
      var parentReminderID: Reminder.ID
    }
    @Table
    struct Tag: Identifiable {
      let id: UUID
      var title = ""
    }
    @Table
    struct ReminderTag: Identifiable {
      let id: UUID
      var reminderID: Reminder.ID
      var tagID: Tag.ID
    }
  }

  // Add primary key to all tables
  enum JoinTable {
    @Table
    struct ReminderTag {
      let reminderID: Relationships.Reminder.ID
      let tagID: Relationships.Tag.ID
    }
  }

  // Controlling what data is shared
  enum PrivateTables {
    @Table
    struct RemindersList: Identifiable {
      let id: UUID
      var title = ""
    }
    @Table
    struct RemindersListPrivate: Identifiable {
      @Column(primaryKey: true)
      let remindersListID: RemindersList.ID
      var position = 0
      // The document leaves this out; `Identifiable` needs it.
      var id: RemindersList.ID { remindersListID }
    }
  }

  // Convert Int primary keys to UUID
  static func convertKeys(_ db: Database) throws {
    try #sql(
      """
      CREATE TABLE "new_remindersLists" (
        "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
        -- all other columns from 'remindersLists' table
        "title" TEXT NOT NULL DEFAULT ''
      ) STRICT
      """
    )
    .execute(db)

    try #sql(
      """
      INSERT INTO "new_remindersLists"
      SELECT
        -- This converts integers to UUIDs, e.g. 1 -> 00000000-0000-0000-0000-000000000001
        '00000000-0000-0000-0000-' || printf('%012x', "id"),
        "title"
      FROM "remindersLists"
      """
    )
    .execute(db)

    try #sql(
      """
      DROP TABLE "remindersLists"
      """
    )
    .execute(db)

    try #sql(
      """
      ALTER TABLE "new_remindersLists" RENAME TO "remindersLists"
      """
    )
    .execute(db)
  }
}

// "Sharing data with other iCloud users", and the metadata
extension CloudKit {
  typealias RemindersList = Relationships.RemindersList
  typealias Reminder = Relationships.Reminder

  // Accessing CloudKit metadata
  @Selection struct Row {
    let remindersList: RemindersList
    let isShared: Bool
  }

  final class ListsModel {
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
  }

  static func share(of remindersListID: RemindersList.ID, in database: any DatabaseWriter) throws -> Share? {
    let share = try database.read { db in
      try RemindersList
        .metadata(for: remindersListID)
        .select(\.share)
        .fetchOne(db)
    }
    return share ?? nil
  }

  // The third-party guide: Query Sync Metadata
  static func metadata(of item: Reminder, _ db: Database) throws -> [Reminder] {
    let metadata = try SyncMetadata.find(item.syncMetadataID).fetchOne(db)
    _ = metadata?.hasLastKnownServerRecord
    _ = try Reminder.all
      .leftJoin(SyncMetadata.all) { $0.syncMetadataID.eq($1.id) }
      .select { ($0, $1) }
      .fetchAll(db)
    return try Reminder.all
      .join(SyncMetadata.all) { $0.syncMetadataID.eq($1.id) }
      .where { $1.isShared }
      .select { reminder, _ in reminder }
      .fetchAll(db)
  }

  // Updating triggers to be compatible with synchronization
  static func triggers(_ db: Database) throws {
    try RemindersList.createTemporaryTrigger(
      after: .insert { new in
        RemindersList.find(new.id).update { $0.title = "New" }
      } when: { _ in
        !SyncEngine.$isSynchronizing
      }
    )
    .execute(db)
  }

  // Creating CKShare records
  static func share(_ remindersList: RemindersList) async throws -> String? {
    @Dependency(\.defaultSyncEngine) var syncEngine
    let sharedRecord = try await syncEngine.share(record: remindersList) { share in
      share[Share.SystemFieldKey.title] = "Join '\(remindersList.title)'!"
    }
    return sharedRecord.link
  }

  // Accepting shared records
  static func accept(_ invite: String) async throws {
    @Dependency(\.defaultSyncEngine) var syncEngine
    try await syncEngine.acceptShare(metadata: syncEngine.shareMetadata(for: invite))
  }

  // Sharing permissions
  static func rename(_ id: Reminder.ID, in database: any DatabaseWriter) async throws {
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

  static func mayWrite(_ id: RemindersList.ID, in database: any DatabaseWriter) async throws -> Bool {
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
      return false
    }
    return true
  }
}

// Unit testing and Xcode previews
extension DependencyValues {
  mutating func bootstrapDatabase() throws {
    defaultDatabase = try appDatabase()
    defaultSyncEngine = try SyncEngine(
      for: defaultDatabase,
      tables: CloudKit.Relationships.RemindersList.self,
      CloudKit.Relationships.Reminder.self
    )
  }
}
