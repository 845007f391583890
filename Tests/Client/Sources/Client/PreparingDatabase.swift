import Foundation
import SQLiteData

// "Preparing a SQLite database"

public func appDatabase() throws -> any DatabaseWriter {
  @Dependency(\.context) var context
  var configuration = Configuration()
  #if DEBUG
    configuration.prepareDatabase { db in
      db.trace(options: .profile) {
        if context == .preview {
          print("\($0.expandedDescription)")
        }
      }
    }
  #endif
  let database = try defaultDatabase(configuration: configuration)
  var migrator = DatabaseMigrator()
  #if DEBUG
    migrator.eraseDatabaseOnSchemaChange = true
  #endif
  migrator.registerMigration("Create tables") { db in
    try #sql(
      """
      CREATE TABLE "remindersLists"(
        "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        "title" TEXT NOT NULL
      ) STRICT
      """
    )
    .execute(db)

    try #sql(
      """
      CREATE TABLE "reminders"(
        "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        "isCompleted" INTEGER NOT NULL DEFAULT 0,
        "title" TEXT NOT NULL,
        "remindersListID" INTEGER NOT NULL REFERENCES "remindersLists"("id") ON DELETE CASCADE
      ) STRICT
      """
    )
    .execute(db)
  }
  try migrator.migrate(database)
  return database
}

@Table
public struct RemindersList: Equatable, Identifiable, Sendable {
  public let id: Int
  public var title = ""
}

@Table
public struct Reminder: Equatable, Identifiable, Sendable {
  public let id: Int
  public var isCompleted = false
  public var title = ""
  public var remindersListID: RemindersList.ID
}
