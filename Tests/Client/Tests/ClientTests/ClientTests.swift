import Foundation
import SQLiteData
import Testing

@testable import Client

@Suite struct ClientTests {
  @Test("an app prepares its database, writes and reads")
  func writesAndReads() throws {
    let database = try appDatabase()
    try database.write { db in
      try RemindersList.insert { RemindersList.Draft(title: "Home") }.execute(db)
      try Reminder.insert {
        Reminder.Draft(title: "Milk", remindersListID: 1)
        Reminder.Draft(isCompleted: true, title: "Bread", remindersListID: 1)
      }
      .execute(db)
    }
    let open = try database.read { db in
      try Reminder.where { !$0.isCompleted }.order(by: \.title).fetchAll(db)
    }
    #expect(open == [Reminder(id: 1, isCompleted: false, title: "Milk", remindersListID: 1)])
  }
}
