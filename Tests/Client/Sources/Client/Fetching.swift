import Foundation
import SQLiteData

// "Fetching model data", "Dynamic queries", "Observing changes to model data"

enum Fetching {
  @Table
  struct Reminder: Equatable {
    let id: UUID
    var title = ""
    var dueAt: Date?
    var isCompleted = false
    var remindersListID: RemindersList.ID
  }
  @Table
  struct RemindersList: Identifiable {
    let id: UUID
    var title = ""
  }
  @Selection
  struct Record: Equatable {
    let reminderTitle: String
    let remindersListTitle: String
  }

  // @FetchAll
  final class Lists {
    @FetchAll var reminders: [Reminder]

    @FetchAll(Reminder.order(by: \.title))
    var sorted

    @FetchAll(
      Reminder.where(\.isCompleted).order { $0.title.desc() }
    )
    var completedReminders

    @FetchAll(#sql("SELECT * FROM reminders where isCompleted ORDER BY title DESC"))
    var completedByString: [Reminder]

    @FetchAll(
      #sql(
        """
        SELECT \(Reminder.columns)
        FROM \(Reminder.self)
        WHERE \(Reminder.isCompleted)
        ORDER BY \(Reminder.title) DESC
        """
      )
    )
    var completedBySafeString: [Reminder]

    @FetchAll(
      Reminder
        .join(RemindersList.all) { $0.remindersListID.eq($1.id) }
        .select {
          Record.Columns(
            reminderTitle: $0.title,
            remindersListTitle: $1.title
          )
        }
    )
    var records
  }

  // @FetchOne
  final class Counts {
    @FetchOne(Reminder.count())
    var remindersCount = 0

    @FetchOne(Reminder.where(\.isCompleted).count())
    var completedRemindersCount = 0

    @FetchOne(#sql("SELECT count(*) FROM reminders WHERE isCompleted"))
    var completedByString = 0
  }

  // @Fetch
  struct Reminders: FetchKeyRequest {
    struct Value {
      var completedReminders: [Reminder] = []
      var remindersCount = 0
    }
    func fetch(_ db: Database) throws -> Value {
      try Value(
        completedReminders: Reminder.where(\.isCompleted).fetchAll(db),
        remindersCount: Reminder.fetchCount(db)
      )
    }
  }
  final class Both {
    @Fetch(Reminders()) var reminders = Reminders.Value()
  }

  // Dynamic queries
  @Table
  struct Item: Identifiable {
    let id: Int
    var name = ""
    var timestamp = Date(timeIntervalSinceReferenceDate: 0)
  }
  enum SortOrder { case forward, reverse }
  final class Items {
    @FetchAll var items: [Item]
    var filterDate: Date?
    var order = SortOrder.reverse

    func updateQuery() async throws {
      try await $items.load(
        Item
          .where { $0.timestamp > #bind(filterDate ?? .distantPast) }
          .order {
            if order == .forward {
              $0.timestamp
            } else {
              $0.timestamp.desc()
            }
          }
          .limit(10)
      )
    }
  }
}
