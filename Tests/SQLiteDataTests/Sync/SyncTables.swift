import Foundation
import SQLiteData

@Table("lists")
struct SyncedList: Hashable, Identifiable, Sendable {
  let id: UUID
  var title = ""
}

@Table("items")
struct SyncedItem: Hashable, Identifiable, Sendable {
  let id: UUID
  var text = ""
  var isDone = false
  var listID: SyncedList.ID
}

@Table("listPositions")
struct ListPosition: Hashable, Identifiable, Sendable {
  @Column(primaryKey: true)
  let listID: SyncedList.ID
  var position = 0
  var id: SyncedList.ID { listID }
}

/// A table that isn't synchronized.
@Table("drafts")
struct UnsentDraft: Hashable, Identifiable, Sendable {
  let id: UUID
  var text = ""
}

func syncedDatabase() throws -> any DatabaseWriter {
  let database = try defaultDatabase()
  var migrator = DatabaseMigrator()
  migrator.registerMigration("Create tables") { db in
    for sql in [
      """
      CREATE TABLE "lists" ("id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), "title" TEXT NOT NULL DEFAULT '')
      """,
      """
      CREATE TABLE "items" (
        "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), "text" TEXT NOT NULL DEFAULT '',
        "isDone" INTEGER NOT NULL DEFAULT 0, "listID" TEXT NOT NULL REFERENCES "lists"("id") ON DELETE CASCADE)
      """,
      """
      CREATE TABLE "listPositions" (
        "listID" TEXT PRIMARY KEY NOT NULL REFERENCES "lists"("id") ON DELETE CASCADE, "position" INTEGER NOT NULL DEFAULT 0)
      """,
      """
      CREATE TABLE "drafts" ("id" TEXT PRIMARY KEY NOT NULL, "text" TEXT NOT NULL DEFAULT '')
      """,
    ] {
      try #sql("\(raw: sql)").execute(db)
    }
  }
  try migrator.migrate(database)
  return database
}
