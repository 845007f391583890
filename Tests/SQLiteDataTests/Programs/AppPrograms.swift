import Dependencies
import DependenciesTestSupport
import Foundation
import SQLiteData
import Testing

// This is a reminders app.

@Table private struct TaskList: Hashable, Identifiable {
  let id: Int
  var position = 0
  var title = ""
}

@Table private struct Job: Codable, Equatable, Identifiable {
  let id: Int
  var createdAt: Date?
  var dueDate: Date?
  var isFlagged = false
  var notes = ""
  var priority: Priority?
  var taskListID: TaskList.ID
  var status: Status = .incomplete
  var title = ""

  enum Priority: Int, Codable, QueryBindable {
    case low = 1
    case medium, high
  }
  enum Status: Int, Codable, QueryBindable {
    case completed = 1
    case incomplete = 0
  }
}

extension Job.Draft: Identifiable {}

@Table private struct Label: Hashable, Identifiable {
  @Column(primaryKey: true) var title: String
  var id: String { title }
}

@Table("jobsLabels") private struct JobLabel: Identifiable {
  let id: Int
  let jobID: Job.ID
  let labelID: Label.ID
}

@Table private struct JobText: FTS5 {
  let rowid: Int
  let title: String
  let notes: String
}

extension Job {
  fileprivate static let incomplete = Self.where { !$0.isCompleted }
  fileprivate static let withLabels = group(by: \.id)
    .leftJoin(JobLabel.all) { $0.id.eq($1.jobID) }
    .leftJoin(Label.all) { $1.labelID.eq($2.primaryKey) }
}

extension Job.TableColumns {
  fileprivate var isCompleted: some QueryExpression<Bool> { status.neq(Job.Status.incomplete) }
  fileprivate var isPastDue: some QueryExpression<Bool> {
    @Dependency(\.date.now) var now
    return !isCompleted && #sql("coalesce(date(\(dueDate)) < date(\(now)), 0)")
  }
  fileprivate var inlineNotes: some QueryExpression<String> { notes.replace("\n", " ") }
}

extension Label {
  fileprivate static let withJobs = group(by: \.primaryKey)
    .leftJoin(JobLabel.all) { $0.primaryKey.eq($1.labelID) }
    .leftJoin(Job.all) { $1.jobID.eq($2.id) }
}

extension Label?.TableColumns {
  fileprivate var jsonTitles: some QueryExpression<[String?].JSONRepresentation> {
    self.title.jsonGroupArray(distinct: true, filter: self.title.isNot(nil))
  }
}

@Selection private struct JobRow: Identifiable {
  var id: Job.ID { job.id }
  let job: Job
  let list: TaskList
  let isPastDue: Bool
  let notes: String
  @Column(as: [String].JSONRepresentation.self) let labels: [String]
}

@Selection private struct JobCounts: Equatable {
  var allCount = 0
  var flaggedCount = 0
  var pastDueCount = 0
}

@Selection private struct ListRow: Equatable {
  var count: Int
  var list: TaskList
}

private struct JobsModel {
  enum Ordering { case dueDate, priority, title }
  enum Detail {
    case all, flagged
    case list(TaskList)
    case labels([Label])
  }

  var showsCompleted = false
  var ordering = Ordering.title
  var detail = Detail.all

  var query: some Statement<JobRow> {
    Job
      .where { if !showsCompleted { !$0.isCompleted } }
      .order { $0.isCompleted }
      .order {
        switch ordering {
        case .dueDate: $0.dueDate.asc(nulls: .last)
        case .priority: ($0.priority.desc(), $0.isFlagged.desc())
        case .title: $0.title
        }
      }
      .withLabels
      .where { job, _, label in
        switch detail {
        case .all: !job.isCompleted || showsCompleted
        case .flagged: job.isFlagged
        case .list(let list): job.taskListID.eq(list.id)
        case .labels(let labels): label.title.ifnull("").in(labels.map(\.title))
        }
      }
      .join(TaskList.all) { $0.taskListID.eq($3.id) }
      .select {
        JobRow.Columns(
          job: $0, list: $3, isPastDue: $0.isPastDue, notes: $0.inlineNotes.substr(0, 200),
          labels: #sql("\($2.jsonTitles)"))
      }
  }
}

// This is a timer for meetings.

@Table private struct Standup: Hashable, Identifiable {
  let id: UUID
  var seconds: Int = 60 * 5
  var theme: Theme = .bubblegum
  var title = ""
  var duration: Duration {
    get { .seconds(seconds) }
    set { seconds = Int(newValue.components.seconds) }
  }
  enum Theme: String, CaseIterable, Hashable, Identifiable, QueryBindable {
    case bubblegum, buttercup
    var id: Self { self }
  }
}

@Table private struct Attendee: Hashable, Identifiable {
  let id: UUID
  var name = ""
  var standupID: Standup.ID
}

@Selection private struct StandupRow: Equatable {
  let attendeeCount: Int
  let standup: Standup
}

private struct StandupDetail: FetchKeyRequest {
  let standup: Standup
  struct Value {
    var attendees: [Attendee] = []
    var standup: Standup
  }
  func fetch(_ db: Database) throws -> Value {
    try Value(
      attendees: Attendee.where { $0.standupID.eq(standup.id) }.order(by: \.name).fetchAll(db),
      standup: Standup.find(db, key: standup.id))
  }
}

private final class StandupModel {
  @Fetch var detail: StandupDetail.Value
  @FetchAll(
    Standup.group(by: \.id).leftJoin(Attendee.all) { $0.id.eq($1.standupID) }
      .select { StandupRow.Columns(attendeeCount: $1.count(), standup: $0) })
  var standups: [StandupRow]
  @Dependency(\.defaultDatabase) private var database

  init(_ standup: Standup) {
    _detail = Fetch(wrappedValue: StandupDetail.Value(standup: standup), StandupDetail(standup: standup))
  }

  func save(_ draft: Standup.Draft, names: [String]) {
    withErrorReporting {
      try database.write { (db) throws in
        let saved = try Standup.upsert { draft }.returning(\.id).fetchOne(db)
        guard let id = saved else { return }
        try Attendee.where { $0.standupID.eq(id) }.delete().execute(db)
        try Attendee.insert { for name in names { Attendee.Draft(name: name, standupID: id) } }.execute(db)
      }
    }
  }
}

// These programs use trees, aliases, views and scopes.

@Table private struct Node {
  let id: Int
  var parentID: Int?
  var name = ""
}

@Table @Selection private struct Depth: Equatable {
  let id: Int
  let depth: Int
}

private enum Above: AliasName {}

@Table private struct NodeView: Equatable {
  let id: Int
  let path: String
}

@Table private struct Post: Identifiable {
  let id: Tagged<Post, Int>
  var title: String
  var views = 0
  var isDeleted = false
  @Column(as: [String].JSONRepresentation.self) var words: [String] = []
  static let all = Self.where { !$0.isDeleted }
}

private func programDatabase() throws -> any DatabaseWriter {
  let database = try defaultDatabase()
  var migrator = DatabaseMigrator()
  migrator.registerMigration("Create tables") { db in
    for sql in [
      "CREATE TABLE taskLists (id INTEGER PRIMARY KEY, position INTEGER NOT NULL DEFAULT 0, title TEXT NOT NULL)",
      """
      CREATE TABLE jobs (id INTEGER PRIMARY KEY, createdAt TEXT, dueDate TEXT, isFlagged INTEGER NOT NULL, notes TEXT NOT
      NULL, priority INTEGER, taskListID INTEGER NOT NULL REFERENCES taskLists ON DELETE CASCADE, status INTEGER NOT NULL,
      title TEXT NOT NULL)
      """,
      "CREATE TABLE labels (title TEXT COLLATE NOCASE PRIMARY KEY NOT NULL)",
      "CREATE TABLE jobsLabels (id INTEGER PRIMARY KEY, jobID INTEGER NOT NULL, labelID TEXT NOT NULL)",
      "CREATE VIRTUAL TABLE jobTexts USING fts5 (title, notes)",
      """
      CREATE TABLE standups (id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), seconds INTEGER NOT NULL,
      theme TEXT NOT NULL, title TEXT NOT NULL)
      """,
      """
      CREATE TABLE attendees (id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), name TEXT NOT NULL,
      standupID TEXT NOT NULL REFERENCES standups ON DELETE CASCADE)
      """,
      "CREATE TABLE nodes (id INTEGER PRIMARY KEY, parentID INTEGER, name TEXT NOT NULL)",
      """
      CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, views INTEGER NOT NULL DEFAULT 0, isDeleted
      INTEGER NOT NULL DEFAULT 0, words TEXT NOT NULL DEFAULT '[]')
      """,
    ] {
      try #sql("\(raw: sql)").execute(db)
    }
  }
  try migrator.migrate(database)
  return database
}

@Suite(
  "Programs of apps",
  .dependencies {
    $0.date.now = Date(timeIntervalSince1970: 1_000_000)
    $0.defaultDatabase = try programDatabase()
  })
struct AppPrograms {
  @Dependency(\.defaultDatabase) private var database

  private func seedJobs() throws {
    try database.write { (db) throws in
      try db.seed {
        TaskList(id: 1, title: "Home")
        TaskList(id: 2, title: "Work")
        Job(
          id: 1, dueDate: Date(timeIntervalSince1970: 0), notes: "two\nlines", priority: .high, taskListID: 1,
          title: "Sweep")
        Job(id: 2, isFlagged: true, taskListID: 1, title: "Cook")
        Job(id: 3, taskListID: 2, status: .completed, title: "Report")
        Label(title: "soon")
        Label(title: "later")
        JobLabel(id: 1, jobID: 1, labelID: "soon")
        JobLabel(id: 2, jobID: 1, labelID: "later")
      }
    }
  }

  @Test("a list of jobs is filtered, ordered and joined by a person's choices")
  func jobs() throws {
    try seedJobs()
    try database.read { (db) throws in
      var model = JobsModel()
      let rows = try model.query.fetchAll(db)
      #expect(rows.map(\.job.title) == ["Cook", "Sweep"])
      #expect(rows.map(\.isPastDue) == [false, true])
      #expect(rows.map(\.notes) == ["", "two lines"])
      #expect(rows.map { $0.labels.sorted() } == [[], ["later", "soon"]])
      #expect(rows.map(\.list.title) == ["Home", "Home"])
      model.ordering = .priority
      #expect(try model.query.fetchAll(db).map(\.id) == [1, 2])
      model.ordering = .dueDate
      model.showsCompleted = true
      #expect(try model.query.fetchAll(db).map(\.id) == [1, 2, 3])
      model.detail = .labels([Label(title: "soon")])
      #expect(try model.query.fetchAll(db).map(\.id) == [1])
      model.detail = .flagged
      #expect(try model.query.fetchAll(db).map(\.id) == [2])
      model.detail = .list(TaskList(id: 2, title: "Work"))
      #expect(try model.query.fetchAll(db).map(\.id) == [3])
    }
  }

  @Test("counts with filters, lists with counts, and labels in use")
  func counts() async throws {
    try seedJobs()
    @FetchOne(
      Job.select {
        JobCounts.Columns(
          allCount: $0.count(filter: !$0.isCompleted), flaggedCount: $0.count(filter: $0.isFlagged && !$0.isCompleted),
          pastDueCount: $0.count(filter: $0.isPastDue))
      }) var counts = JobCounts()
    @FetchAll(
      TaskList.group(by: \.id).order(by: \.title)
        .leftJoin(Job.all) { $0.id.eq($1.taskListID) && $1.status.eq(Job.Status.incomplete) }
        .select { ListRow.Columns(count: $1.id.count(), list: $0) }) var lists
    @FetchAll(Label.order(by: \.title).withJobs.having { $2.count().gt(0) }.select { label, _, _ in label }) var labels
    try await $counts.load()
    #expect(counts == JobCounts(allCount: 2, flaggedCount: 1, pastDueCount: 1))
    #expect(lists.map(\.count) == [2, 0])
    #expect(labels.map(\.title) == ["later", "soon"])
    #expect(try await database.read { try Job.incomplete.fetchCount($0) } == 2)
  }

  @Test("triggers keep the order, a search index and at least one list")
  func triggers() throws {
    try database.write { (db) throws in
      try TaskList.createTemporaryTrigger(
        after: .insert { new in
          TaskList.find(new.id).update { $0.position = TaskList.select { ($0.position.max() ?? -1) + 1 } }
        }
      ).execute(db)
      try Job.createTemporaryTrigger(
        after: .insert { new in
          JobText.insert {
            ($0.rowid, $0.title, $0.notes)
          } values: {
            (new.rowid, new.title, new.notes.replace("\n", " "))
          }
        }
      ).execute(db)
      try Job.createTemporaryTrigger(
        after: .update {
          ($0.title, $0.notes)
        } forEachRow: { _, new in
          JobText.where { $0.rowid.eq(new.rowid) }.update { $0.title = new.title }
        }
      ).execute(db)
      try TaskList.createTemporaryTrigger(
        after: .delete { _ in
          TaskList.insert { TaskList.Draft(title: "Personal") }
        } when: { _ in
          !TaskList.exists()
        }
      ).execute(db)
      try Job.createTemporaryTrigger(afterInsertTouch: \.createdAt).execute(db)
    }
    try seedJobs()
    try database.write { (db) throws in
      #expect(try TaskList.order(by: \.id).select(\.position).fetchAll(db) == [1, 2])
      try Job.find(2).update { $0.title = "Cook dinner" }.execute(db)
      #expect(
        try JobText.where { $0.match("dinner OR lines") }.order(by: \.rowid).select(\.rowid).fetchAll(db) == [1, 2])
      #expect(try Job.where { $0.createdAt.is(nil) }.fetchCount(db) == 0)
      try TaskList.delete().execute(db)
      #expect(try TaskList.select(\.title).fetchAll(db) == ["Personal"])
    }
  }

  @Test("a form saves a row with its parts, and a request shows both")
  func standups() async throws {
    let standup = Standup(id: UUID(1), title: "Morning")
    let model = StandupModel(standup)
    #expect(model.detail.attendees == [])
    var draft = Standup.Draft(standup)
    draft.title = "Evening"
    model.save(draft, names: ["Blob", "Abby"])
    try await model.$detail.load()
    #expect(model.detail.attendees.map(\.name) == ["Abby", "Blob"])
    #expect(model.detail.standup.title == "Evening" && model.detail.standup.duration == .seconds(300))
    model.save(Standup.Draft(title: "New"), names: [])
    try await model.$standups.load()
    #expect(model.standups.map(\.attendeeCount).sorted() == [0, 2])
  }

  private func seedNodes(_ db: Database) throws {
    try db.seed {
      Node(id: 1, name: "a")
      Node(id: 2, parentID: 1, name: "b")
      Node(id: 3, parentID: 2, name: "c")
    }
  }

  @Test("a recursive query walks a tree, and its rows are fetched at once")
  func tree() throws {
    try database.write { (db) throws in
      try seedNodes(db)
      let depths = try With {
        Node.where { $0.parentID.is(nil) }.select { Depth.Columns(id: $0.id, depth: 0) }
          .union(
            all: true,
            Node.join(Depth.all) { $0.parentID.eq($1.id) }.select { Depth.Columns(id: $0.id, depth: $1.depth + 1) })
      } query: {
        Depth.order { $0.depth.desc() }
      }.fetchAll(db)
      #expect(depths == [Depth(id: 3, depth: 2), Depth(id: 2, depth: 1), Depth(id: 1, depth: 0)])
      let first = try With {
        Node.where { $0.id.gt(1) }.select { Depth.Columns(id: $0.id, depth: 7) }
      } query: {
        Depth.all
      }.fetchOne(db)
      #expect(first == Depth(id: 2, depth: 7))
      let pairs = try With {
        Node.where { $0.id.gt(1) }.select { Depth.Columns(id: $0.id, depth: 7) }
      } query: {
        Depth.join(Node.all) { $0.id.eq($1.id) }
      }.fetchAll(db)
      #expect(pairs.map(\.1.name) == ["b", "c"])
      try With {
        Node.where { $0.parentID.is(2) }.select { Depth.Columns(id: $0.id, depth: 7) }
      } query: {
        Node.where { $0.id.in(Depth.select(\.id)) }.delete()
      }.execute(db)
      #expect(try Node.fetchCount(db) == 2)
    }
  }

  @Test("a table is joined to itself under another name")
  func aliases() throws {
    try database.write { (db) throws in
      try seedNodes(db)
      let names = try Node.leftJoin(Node.as(Above.self).all) { $0.parentID.eq($1.id) }
        .order { node, _ in node.id }
        .select { ($0.name, $1.name) }
        .fetchAll(db)
      #expect(names.map(\.1) == [nil, "a", "b"])
    }
  }

  @Test("a view takes writes through a trigger")
  func views() throws {
    try database.write { (db) throws in
      try seedNodes(db)
      try NodeView.createTemporaryView(as: Node.select { NodeView.Columns(id: $0.id, path: "/" + $0.name) }).execute(db)
      try NodeView.createTemporaryTrigger(
        insteadOf: .insert { new in
          Node.insert {
            ($0.id, $0.name)
          } values: {
            (new.id, new.path.replace("/", ""))
          }
        }
      ).execute(db)
      try NodeView.insert { NodeView(id: 9, path: "/z") }.execute(db)
      #expect(try NodeView.order { $0.id.desc() }.fetchOne(db) == NodeView(id: 9, path: "/z"))
      #expect(try Node.where { $0.id.eq(9) }.select(\.name).fetchOne(db) == "z")
    }
  }

  @Test("hidden rows stay hidden in joins, counts and lookups, until they are asked for")
  func scopes() throws {
    try database.write { (db) throws in
      try db.seed {
        Post(id: 1, title: "a", views: 3)
        Post(id: 2, title: "b", isDeleted: true)
      }
      #expect(try Post.fetchAll(db).map(\.title) == ["a"])
      #expect(try Post.where { $0.views.gt(0) }.fetchCount(db) == 1)
      #expect(try Post.unscoped.where(\.isDeleted).select(\.title).fetchAll(db) == ["b"])
      #expect(try Node.leftJoin(Post.all) { $0.id.eq($1.views) }.fetchCount(db) == 0)
      #expect(throws: NotFound.self) { try Post.find(db, key: 2) }
      #expect(try Post.unscoped.find(db, key: 2).title == "b")
    }
  }

  @Test("a row that exists is updated only under a condition")
  func conditionalUpsert() throws {
    try database.write { (db) throws in
      try Post.insert { Post(id: 1, title: "a", views: 3) }.execute(db)
      for (title, views) in [("a", 2), ("a", 9), ("b", 1)] {
        try Post.insert {
          ($0.title, $0.views)
        } values: {
          (title, views)
        } onConflict: {
          $0.title
        } doUpdate: {
          $0.views = $1.views
        } where: {
          $0.views.lt(5) && $0.title.neq("x")
        }
        .execute(db)
      }
      #expect(try Post.order(by: \.title).select { ($0.title, $0.views) }.fetchAll(db).map(\.1) == [9, 1])
      try Post.upsert { Post.Draft(id: 1, title: "c", views: 4, words: ["x", "y"]) }.execute(db)
      #expect(try Post.find(db, key: 1).words == ["x", "y"])
      #expect(try Post.where { $0.words.jsonArrayLength().eq(2) }.select(\.id).fetchAll(db) == [1])
    }
  }

  @Test("values, sums and texts of a whole table in one row")
  func aggregates() throws {
    try database.write { (db) throws in
      try db.seed {
        Post(id: 1, title: "a", views: 3)
        Post(id: 2, title: "b", views: 5)
        Post(id: 3, title: "c", views: 5)
      }
      let row = try Post.select {
        ($0.views.avg(), $0.views.sum(), $0.views.max(), $0.views.count(distinct: true), $0.title.groupConcat("-"))
      }.fetchOne(db)
      #expect(row?.1 == 13 && row?.2 == 5 && row?.3 == 2 && row?.4 == "a-b-c")
      #expect(
        try Post.group(by: \.views).having { $0.count().gt(1) }.select { ($0.views, $0.count()) }.fetchOne(db)?.1 == 2)
      #expect(
        try Post.order(by: \.id).select { Case($0.views).when(3, then: "few").else("many") }.fetchAll(db)
          == ["few", "many", "many"])
      #expect(try Post.where(\.isDeleted).not().and(Post.where { $0.views.eq(5) }).count().fetchOne(db) == 2)
      #expect(try Post.find([1, 3]).select(\.title).fetchAll(db) == ["a", "c"])
      #expect(try Values(1, "a").fetchOne(db)?.1 == "a")
    }
  }
}
