import Foundation
import SQLiteData

/// A list of reminders.
@Table
struct RemindersList: Hashable, Identifiable, Sendable {
  let id: UUID
  var position = 0
  var title = ""
}

/// The cover image of a list. It has a table of its own, so that queries of lists don't read images.
@Table
struct RemindersListAsset: Hashable, Sendable {
  @Column(primaryKey: true)
  let remindersListID: RemindersList.ID
  var coverImage: Data?
}

@Table
struct Reminder: Hashable, Identifiable, Sendable {
  let id: UUID
  var title = ""
  var notes = ""
  var dueDate: Date?
  var isCompleted = false
  var isFlagged = false
  var remindersListID: RemindersList.ID
}

/// A tag. Its title is its key, so two machines that make the same tag make one tag.
@Table
struct Tag: Hashable, Sendable {
  @Column(primaryKey: true)
  let title: String
}

@Table
struct ReminderTag: Hashable, Identifiable, Sendable {
  let id: UUID
  var reminderID: Reminder.ID
  var tagID: String
}

/// A list with the number of its open reminders, and the length of its cover image in bytes.
@Selection
struct ListOverview: Hashable, Sendable {
  let title: String
  let openCount: Int
  let coverSize: Int?
}

extension ListOverview {
  /// The lists in their order.
  static var lists: Select<ListOverview, RemindersList, (Reminder?, RemindersListAsset?)> {
    RemindersList
      .group(by: \.id)
      // In the constraint: a condition of the query would leave out lists without open reminders.
      .leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) && !$1.isCompleted }
      .leftJoin(RemindersListAsset.all) { lists, _, assets in lists.id.eq(assets.remindersListID) }
      .order { lists, _, _ in (lists.position, lists.title) }
      .select { lists, reminders, assets in
        ListOverview.Columns(
          title: lists.title, openCount: reminders.id.count(),
          coverSize: #sql("length(\(assets.coverImage))", as: Int?.self))
      }
  }
}

/// A reminder with the title of its list.
@Selection
struct ReminderRow: Hashable, Sendable {
  let reminder: Reminder
  let listTitle: String
}

/// Opens the database and brings its schema up to date.
func appDatabase(path: String? = nil) throws -> any DatabaseWriter {
  let database = try defaultDatabase(path: path)
  var migrator = DatabaseMigrator()
  migrator.registerMigration("Create tables") { db in
    for sql in creation { try SQLQueryExpression<()>(QueryFragment(sql)).execute(db) }
  }
  migrator.registerMigration("Create the index of texts") { db in
    for sql in textIndex { try SQLQueryExpression<()>(QueryFragment(sql)).execute(db) }
  }
  try migrator.migrate(database)
  return database
}

/// Synchronizes every table but the index of texts, which triggers keep up to date.
///
/// - Parameter listen: The address where other machines reach this one; nil for the default.
func appSyncEngine(for database: any DatabaseWriter, listen: String? = nil) throws -> SyncEngine {
  try SyncEngine(
    for: database,
    tables: RemindersList.self, RemindersListAsset.self, Reminder.self, Tag.self, ReminderTag.self,
    node: NodeConfiguration(listen: listen))
}

private let creation = [
  """
  CREATE TABLE "remindersLists" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "position" INTEGER NOT NULL DEFAULT 0,
    "title" TEXT NOT NULL DEFAULT ''
  ) STRICT
  """,
  """
  CREATE TABLE "remindersListAssets" (
    "remindersListID" TEXT NOT NULL PRIMARY KEY REFERENCES "remindersLists"("id") ON DELETE CASCADE,
    "coverImage" BLOB
  ) STRICT
  """,
  """
  CREATE TABLE "reminders" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "title" TEXT NOT NULL DEFAULT '',
    "notes" TEXT NOT NULL DEFAULT '',
    "dueDate" TEXT,
    "isCompleted" INTEGER NOT NULL DEFAULT 0,
    "isFlagged" INTEGER NOT NULL DEFAULT 0,
    "remindersListID" TEXT NOT NULL REFERENCES "remindersLists"("id") ON DELETE CASCADE
  ) STRICT
  """,
  """
  CREATE TABLE "tags" ("title" TEXT NOT NULL PRIMARY KEY COLLATE NOCASE) STRICT
  """,
  """
  CREATE TABLE "reminderTags" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "reminderID" TEXT NOT NULL REFERENCES "reminders"("id") ON DELETE CASCADE,
    "tagID" TEXT NOT NULL REFERENCES "tags"("title") ON DELETE CASCADE ON UPDATE CASCADE
  ) STRICT
  """,
]

/// The texts of reminders as SQLite's full-text search keeps them, and the triggers that keep them up to date.
private let textIndex = [
  """
  CREATE VIRTUAL TABLE "reminderTexts" USING fts5("reminderID" UNINDEXED, "title", "notes", tokenize = 'trigram')
  """,
  """
  CREATE TRIGGER "reminders_text_insert" AFTER INSERT ON "reminders" BEGIN
    INSERT INTO "reminderTexts" ("reminderID", "title", "notes") VALUES (new."id", new."title", new."notes");
  END
  """,
  """
  CREATE TRIGGER "reminders_text_update" AFTER UPDATE OF "title", "notes" ON "reminders" BEGIN
    UPDATE "reminderTexts" SET "title" = new."title", "notes" = new."notes" WHERE "reminderID" = new."id";
  END
  """,
  """
  CREATE TRIGGER "reminders_text_delete" AFTER DELETE ON "reminders" BEGIN
    DELETE FROM "reminderTexts" WHERE "reminderID" = old."id";
  END
  """,
]
