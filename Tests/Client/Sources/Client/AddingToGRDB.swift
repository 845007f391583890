import Foundation
import SQLiteData

// "Adding to an existing GRDB application"

enum AddingToGRDB {
  // Replace PersistableRecord and FetchableRecord with @Table
  enum Names {
    @Table("reminder")
    struct Reminder {
      let id: Int
      var title = ""
      var remindersListID: RemindersList.ID
    }
    @Table("remindersList")
    struct RemindersList: Identifiable {
      let id: Int
      var title = ""
    }

    static var counts: some Statement<(String, Int)> {
      RemindersList
        .group(by: \.id)
        .leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select {
          ($0.title, $1.count())
        }
    }
  }

  enum Columns {
    @Table
    struct Reminder {
      let id: UUID
      var title = ""
      @Column("is_completed")
      var isCompleted = false
    }
  }

  enum Bytes {
    @Table
    struct Reminder {
      @Column(as: UUID.BytesRepresentation.self)
      let id: UUID
    }
    @Table
    struct ChildReminder {
      @Column(as: UUID?.BytesRepresentation.self)
      let parentID: UUID?
    }
  }

  // Non-optional primary keys
  enum Drafts {
    @Table
    struct Reminder {
      let id: Int
      var title = ""
    }

    static func insert(_ db: Database) throws -> Int? {
      try Reminder.insert {
        Reminder.Draft(title: "Get milk")
      }
      .execute(db)

      return
        try Reminder.insert {
          Reminder.Draft(title: "Get milk")
        }
        .returning(\.id)
        .fetchOne(db)
    }
  }

  // CloudKit synchronization
  enum Keys {
    @Table struct Reminder {
      @Column(primaryKey: true)
      let identifier: String
      var title = ""
    }
  }
}
