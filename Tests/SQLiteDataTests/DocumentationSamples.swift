// This file contains the code of README and of the articles in SQLiteData.docc. A test compares them line by line.

import DependenciesTestSupport
import Foundation
import Observation
import SQLiteData
import SQLiteDataTestSupport
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

extension Reminder {
  static let open = Self.where { !$0.isCompleted }
}

@Selection
struct Counter {
  let value: Int
}

@Table
struct ReminderTag {
  let id: ID
  var position = 0

  @Selection
  struct ID: Hashable {
    let reminderID: Reminder.ID
    let tag: String
  }
}

@Table
struct Attachment {
  let id: Int
  var kind: Kind

  @Selection
  enum Kind {
    case link(URL)
    case note(String)
  }
}

@Table
struct ReminderText: FTS5 {
  let rowid: Int
  let title: String
}

// MARK: An existing schema

@Table
struct Project: Identifiable {
  let id: UUID
  var title = ""
}

@Table
struct Milestone: Identifiable {
  let id: UUID
  var title = ""
  var projectID: Project.ID?
}

@Table
struct ProjectMember: Identifiable {
  let id: UUID
  let projectID: Project.ID
  var name = ""
}

func registerKeyMigrations(_ migrator: inout DatabaseMigrator) {
  migrator.registerMigration("Give UUIDs to all rows") { db in
    try db.migratePrimaryKeys(tables: Project.self, Milestone.self, ProjectMember.self)
  }
}

func registerKeyMigrationsWithSalt(_ migrator: inout DatabaseMigrator) {
  migrator.registerMigration("Give UUIDs to all rows") { db in
    try db.migratePrimaryKeys(tables: Project.self, Milestone.self, ProjectMember.self, salt: "my-app 2")
  }
}

func registerKeyMigrationsWithoutUnique(_ migrator: inout DatabaseMigrator) {
  migrator.registerMigration("Give UUIDs to all rows, and drop UNIQUE") { db in
    try db.migratePrimaryKeys(tables: Project.self, Milestone.self, ProjectMember.self, dropUniqueConstraints: true)
  }
}

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
        "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (
          lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)
            || '-8' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))
        ),
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

  @Test(.dependency(\.defaultDatabase, try appDatabase()))
  func listsAreSorted() throws {
    @Dependency(\.defaultDatabase) var database
    try database.write { db in
      try db.seed {
        RemindersList(id: UUID(1), title: "Work")
        RemindersList(id: UUID(2), title: "Personal")
      }
    }
    assertQuery(RemindersList.order(by: \.title).select(\.title)) {
      """
      ┌────────────┐
      │ "Personal" │
      │ "Work"     │
      └────────────┘
      """
    }
  }

  @Test(
    .dependencies {
      $0.date.now = Date(timeIntervalSince1970: 0)
      $0.uuid = .incrementing
    })
  func identifiers() {
    @Dependency(\.uuid) var uuid
    #expect(uuid() == UUID(0))
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

@Suite("Samples of the article about queries")
struct QuerySampleTests {
  private let database: any DatabaseWriter
  private let id = UUID(10)

  init() throws {
    database = try documentedDatabase()
    try database.write { db in
      for table in [
        "reminderTags (reminderID TEXT, tag TEXT, position INTEGER NOT NULL, PRIMARY KEY (reminderID, tag))",
        "attachments (id INTEGER PRIMARY KEY, link TEXT, note TEXT)",
      ] {
        try #sql("CREATE TABLE \(raw: table)").execute(db)
      }
      try #sql("CREATE VIRTUAL TABLE reminderTexts USING fts5(title)").execute(db)
      try Reminder.createTemporaryTrigger(
        after: .insert { new in
          ReminderText.insert {
            ($0.rowid, $0.title)
          } values: {
            (new.rowid, new.title)
          }
        } when: { new in
          new.title.neq("")
        }
      )
      .execute(db)
      try db.seed {
        RemindersList(id: UUID(1), title: "Family")
        RemindersList(id: UUID(2), title: "Empty")
        Reminder(id: UUID(10), title: "Get milk", remindersListID: UUID(1))
        Reminder(id: UUID(11), title: "Call mom", isCompleted: true, remindersListID: UUID(1))
        Reminder(id: UUID(12), remindersListID: UUID(1))
      }
    }
  }

  @Test("queries choose, join, group and number rows")
  func reading() throws {
    let text = "m"
    let limit = 7
    let open =
      Reminder
      .where { !$0.isCompleted && $0.title.contains(text) }
      .order { ($0.remindersListID, $0.title.desc()) }
      .limit(20)
    let openByTitle = Reminder.order(by: \.title).open
    let counts =
      RemindersList
      .group(by: \.id)
      .leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) && !$1.isCompleted }
      .having { $1.count().gt(1) }
      .select { ($0.title, $1.count()) }
    let numbered = Reminder.select {
      ($0.title, rowNumber().over(Window().partition(by: $0.remindersListID).order(by: $0.title)))
    }
    let withReminders = RemindersList.where { $0.id.in(Reminder.select(\.remindersListID)) }
    let titles = Reminder.select(\.title).union(RemindersList.select(\.title))
    let numbers = With {
      Counter(value: 1).union(all: true, Counter.select { Counter.Columns(value: $0.value + 1) })
    } query: {
      Counter.limit(4).select(\.value)
    }
    let overdue = Reminder.where { #sql("length(\($0.title)) > \(limit)") }
    try database.read { db in
      #expect(try open.fetchAll(db).map(\.title) == ["Get milk"])
      #expect(try openByTitle.fetchAll(db).map(\.title) == ["", "Get milk"])
      let rows = try counts.fetchAll(db)
      #expect(rows.map(\.0) == ["Family"] && rows.map(\.1) == [2])
      let places = try numbered.fetchAll(db)
      #expect(places.map(\.0) == ["", "Call mom", "Get milk"] && places.map(\.1) == [1, 2, 3])
      #expect(try withReminders.fetchAll(db).map(\.title) == ["Family"])
      #expect(try Set(titles.fetchAll(db)) == ["Get milk", "Call mom", "", "Family", "Empty"])
      #expect(try numbers.fetchAll(db) == [1, 2, 3, 4])
      #expect(try overdue.fetchCount(db) == 2)
    }
  }

  @Test("rows are inserted, updated and deleted")
  func writing() throws {
    try database.write { db in
      try RemindersList.insert { RemindersList.Draft(title: "Personal") }.execute(db)
      let id = try RemindersList.insert { RemindersList.Draft(title: "Work") }.returning(\.id).fetchOne(db)
      try RemindersList.upsert { RemindersList(id: UUID(7), title: "Family") }.execute(db)
      try updateAndDelete(db)
      #expect(try Reminder.order(by: \.id).select(\.title).fetchAll(db) == ["Get oat milk", ""])
      #expect(try RemindersList.find(db, key: #require(id)).title == "Work")
      #expect(try RemindersList.fetchCount(db) == 5)
    }
  }

  private func updateAndDelete(_ db: Database) throws {
    try Reminder.find(id).update { $0.title = "Get oat milk" }.execute(db)
    try Reminder.where(\.isCompleted).update { $0.title += " (done)" }.execute(db)
    try Reminder.where { $0.title.hasPrefix("Call") }.delete().execute(db)
  }

  @Test("keys of several columns, enumerations and full-text search")
  func shapes() throws {
    let text = "milk"
    let notes = Attachment.where { $0.kind.note.isNot(nil) }
    let found =
      ReminderText
      .where { $0.match(text) }
      .order(by: \.rank)
      .select { $0.title.highlight("[", "]") }
    try database.write { db in
      try ReminderTag.insert { ReminderTag(id: ReminderTag.ID(reminderID: id, tag: "car")) }.execute(db)
      #expect(try ReminderTag.find([ReminderTag.ID]()).fetchAll(db).isEmpty)
      try ReminderTag.find(.init(reminderID: id, tag: "car")).delete().execute(db)
      #expect(try ReminderTag.fetchCount(db) == 0)
      try Attachment.insert {
        Attachment.Draft(kind: .note("Hello"))
        Attachment.Draft(kind: .link(URL(filePath: "/")))
      }
      .execute(db)
      #expect(try notes.fetchAll(db).map(\.id) == [1])
      #expect(try found.fetchAll(db) == ["Get [milk]"])
      // The trigger omits the reminder without a title.
      #expect(try ReminderText.fetchCount(db) == 2)
    }
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
func startSynchronizing(_ database: any DatabaseWriter) throws {
  try prepareDependencies {
    $0.defaultDatabase = database
    $0.defaultSyncEngine = try SyncEngine(for: database, tables: Note.self)
  }
}
