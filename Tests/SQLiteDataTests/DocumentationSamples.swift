// The code of README and of the articles in SQLiteData.docc. A test compares it with them, line by line.

import DependenciesTestSupport
import Foundation
import Observation
import SQLiteData
import Testing

// MARK: The models

@Table
struct Reminder: Identifiable {
  let id: UUID
  var title = ""
  var isCompleted = false
  var notes = ""
  var remindersListID: RemindersList.ID
}

@Table
struct RemindersList: Identifiable {
  let id: UUID
  var title = ""
}

final class RemindersModel {
  @FetchAll(Reminder.where { !$0.isCompleted }.order(by: \.title)) var reminders
}

@Selection
struct ReminderTitle {
  let title: String
  let listTitle: String
}

struct Statistics: FetchKeyRequest {
  struct Value {
    var completed: [Reminder] = []
    var count = 0
  }
  func fetch(_ db: Database) throws -> Value {
    try Value(
      completed: Reminder.where(\.isCompleted).fetchAll(db),
      count: Reminder.fetchCount(db)
    )
  }
}

@Observable
final class ListModel {
  @ObservationIgnored
  @FetchAll(Reminder.order(by: \.title)) var reminders
}

@Table("reminder")
struct OldReminder: Identifiable {
  @Column(as: UUID.BytesRepresentation.self)
  let id: UUID
  @Column("is_completed")
  var isCompleted = false
}

@DatabaseFunction
func exclaim(_ text: String) -> String { text + "!" }

// MARK: Properties

struct FetchedProperties {
  @FetchAll var reminders: [Reminder]
  @FetchAll(Reminder.order(by: \.title)) var sorted
  @FetchAll(Reminder.where(\.isCompleted).order { $0.title.desc() }) var completed

  @FetchOne(Reminder.count()) var remindersCount = 0
  @FetchOne(Reminder.order(by: \.title)) var first: Reminder?

  @FetchAll(
    Reminder
      .join(RemindersList.all) { $0.remindersListID.eq($1.id) }
      .select { ReminderTitle.Columns(title: $0.title, listTitle: $1.title) }
  )
  var titles

  @FetchAll(#sql("SELECT \(Reminder.columns) FROM \(Reminder.self) WHERE \(Reminder.isCompleted)", as: Reminder.self))
  var completedBySQL

  @Fetch(Statistics()) var statistics = Statistics.Value()

  @FetchAll(Reminder.order(by: \.title), sectionBy: { $0.notes }) var byNotes

  func search(_ text: String) async throws {
    try await $reminders.load(Reminder.where { $0.title.contains(text) }.order(by: \.title))
  }

  func searchWhileShown(_ text: String) async throws {
    try await $reminders.load(Reminder.where { $0.title.contains(text) }).task
  }

  func loadNothing() async throws {
    try await $reminders.load(Reminder.none)
  }

  func printSections() {
    for section in $byNotes.sections {
      print(section.name ?? "Others", section.rows.count)
    }
  }
}

// MARK: Set-up

func appDatabase() throws -> any DatabaseWriter {
  let database = try defaultDatabase()
  var migrator = DatabaseMigrator()
  migrator.registerMigration("Create tables") { db in
    try #sql(
      """
      CREATE TABLE "remindersLists" (
        "id" TEXT NOT NULL PRIMARY KEY,
        "title" TEXT NOT NULL DEFAULT ''
      ) STRICT
      """
    )
    .execute(db)
  }
  try migrator.migrate(database)
  return database
}

func migrate(_ migrator: inout DatabaseMigrator) {
  migrator.registerMigration("Create reminders") { db in
    try #sql(
      """
      CREATE TABLE "reminders" (
        "id" TEXT NOT NULL PRIMARY KEY,
        "title" TEXT NOT NULL DEFAULT '',
        "isCompleted" INTEGER NOT NULL DEFAULT 0,
        "remindersListID" TEXT NOT NULL REFERENCES "remindersLists"("id") ON DELETE CASCADE
      ) STRICT
      """
    )
    .execute(db)
  }
  migrator.registerMigration("Add notes to reminders") { db in
    try #sql(
      """
      ALTER TABLE "reminders" ADD COLUMN "notes" TEXT NOT NULL DEFAULT ''
      """
    )
    .execute(db)
  }
  migrator.registerMigration("Complete reminders without a title") { db in
    try #sql(
      """
      UPDATE "reminders" SET "isCompleted" = 1 WHERE "title" = ''
      """
    )
    .execute(db)
  }
}

func documentedDatabase() throws -> any DatabaseWriter {
  let database = try appDatabase()
  var migrator = DatabaseMigrator()
  migrate(&migrator)
  try migrator.migrate(database)
  return database
}

func prepare() throws {
  try prepareDependencies {
    $0.defaultDatabase = try appDatabase()
  }
}

func configured() -> Configuration {
  var configuration = Configuration()
  configuration.prepareDatabase { db in
    db.add(function: $exclaim)
  }
  return configuration
}

@Suite("Samples of the articles")
struct SampleTests {
  @Test(.dependency(\.defaultDatabase, try appDatabase()))
  func startsEmpty() throws {
    @FetchAll var lists: [RemindersList]
    #expect(lists.isEmpty)
  }

  @Test(
    "the properties of the articles fetch without an error", .dependency(\.defaultDatabase, try documentedDatabase()))
  func properties() async throws {
    @Dependency(\.defaultDatabase) var database
    try await database.write { db in
      try db.seed {
        RemindersList(id: UUID(1), title: "Personal")
        for title in ["Get milk", "Call mom"] {
          Reminder(id: UUID(), title: title, remindersListID: UUID(1))
        }
      }
    }
    let properties = FetchedProperties()
    #expect(properties.reminders.count == 2)
    #expect(properties.sorted.map(\.title) == ["Call mom", "Get milk"])
    #expect(properties.completed.isEmpty)
    #expect(properties.remindersCount == 2)
    #expect(properties.first?.title == "Call mom")
    #expect(properties.titles.map(\.listTitle) == ["Personal", "Personal"])
    #expect(properties.completedBySQL.isEmpty)
    #expect(properties.statistics.count == 2)
    #expect(properties.$byNotes.sections.sectionNames == [""])
    try await properties.search("milk")
    #expect(properties.reminders.map(\.title) == ["Get milk"])
    try await properties.loadNothing()
    #expect(properties.reminders.isEmpty)
    #expect(RemindersModel().reminders.count == 2)
  }
}

func fetchOnce(_ database: any DatabaseWriter) async throws -> [Reminder] {
  let open = try await database.read { db in
    try Reminder.where { !$0.isCompleted }.fetchAll(db)
  }
  return open
}

func printChanges(of model: ListModel) async {
  for await reminders in model.$reminders.values {
    print("\(reminders.count) reminders")
  }
}

func deleteOldReminders(_ database: any DatabaseWriter) async throws {
  try await database.write { db in
    try OldReminder.where(\.isCompleted).delete().execute(db)
  }
}

func titles(_ db: Database) throws -> [(String, String)] {
  let titles =
    try Reminder
    .join(RemindersList.all) { $0.remindersListID.eq($1.id) }
    .where { $1.title.eq("Personal") }
    .select { ($0.title, $1.title) }
    .fetchAll(db)
  return titles
}

// MARK: README

@Table
struct Note: Identifiable {
  let id: String
  var text: String?
}
final class NotesModel {
  @FetchAll(Note.order(by: \.text)) var notes
}
