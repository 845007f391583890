import Dependencies
import DependenciesTestSupport
import Foundation
import SQLiteData
import Testing

// Meetings with their attendees

@Table private struct SyncUp: Codable, Hashable, Identifiable {
  let id: UUID
  var seconds: Int = 60 * 5
  var theme: Theme = .bubblegum
  var title = ""

  enum Theme: String, CaseIterable, Codable, QueryBindable { case appIndigo, bubblegum, buttercup }
}

@Table private struct Attendee: Codable, Hashable, Identifiable {
  let id: UUID
  var name = ""
  var syncUpID: SyncUp.ID
}

@Table private struct Meeting: Codable, Hashable, Identifiable {
  let id: UUID
  var date: Date
  var syncUpID: SyncUp.ID
  var transcript = ""
}

@Selection private struct SyncUpRow: Hashable {
  let attendeeCount: Int
  let isLong: Bool
  let syncUp: SyncUp
}

@Selection private struct SyncUpDetails {
  let syncUp: SyncUp
  @Column(as: [Attendee].JSONRepresentation.self) let attendees: [Attendee]
  @Column(as: [String].JSONRepresentation.self) let names: [String]
  let last: Meeting?
}

private struct DetailRequest: FetchKeyRequest {
  struct Value {
    var syncUp: SyncUp?
    var attendees: [Attendee] = []
    var meetings: [Meeting] = []
  }
  let id: SyncUp.ID
  func fetch(_ db: Database) throws -> Value {
    try Value(
      syncUp: SyncUp.find(id).fetchOne(db),
      attendees: Attendee.where { $0.syncUpID.eq(id) }.order(by: \.name).fetchAll(db),
      meetings: Meeting.where { $0.syncUpID.eq(id) }.order { $0.date.desc() }.fetchAll(db))
  }
}

// Employees and a family tree

@Table private struct Employee: Hashable {
  let id: Int
  var bossID: Int?
  var name = ""
  var height = 100
}

@Table private struct Report: Hashable {
  let id: Int
  var height: Int
  var name = ""
  var level: Int
}

@Table private struct Tick: Equatable {
  let value: Int
}

@Table private struct Fibonacci {
  let n: Int
  let prevFib: Int
  let fib: Int
}

// Players and scores

@Table private struct Player: Codable, Hashable {
  let id: Int
  var name = ""
  var team: String?
  var isCaptain = false
}

@Table private struct Score: Codable, Hashable {
  @Selection struct ID: Codable, Hashable {
    let playerID: Int
    let round: Int
  }
  let id: ID
  var points = 0
  var bonus: Int?
}

@Selection private struct Standing: Hashable {
  let name: String
  let total: Int?
  let place: Int
}

private enum Rival: AliasName {}

// Documents with full-text search and tags

@Table private struct Doc: Codable, Hashable, Identifiable {
  let id: Int
  var title = ""
  var body = ""
  var isArchived = false
  @Column(as: Date.UnixTimeRepresentation.self) var editedAt = Date(timeIntervalSince1970: 0)
  var status: Status = .draft
  enum Status: Int, Codable, QueryBindable { case draft, review, done }
}
@Table private struct Label: Codable, Hashable {
  @Column(primaryKey: true) let title: String
}

@Table("docsLabels") private struct DocLabel: Hashable {
  let id: Int
  let docID: Int
  let labelTitle: String
}

@Table private struct DocText: FTS5 {
  let rowid: Int
  let title: String
  let body: String
  let labels: String
}

@Selection private struct DocRow: Hashable {
  let doc: Doc
  let isStale: Bool
  @Column(as: [String].JSONRepresentation.self) let labels: [String]
  let title: String
  let snippet: String
}

@Table private struct DoneDoc: Hashable {
  let docID: Int
  let title: String
}

extension Doc {
  fileprivate static let active = Self.where { !$0.isArchived }
  fileprivate static let withLabels = group(by: \.id)
    .leftJoin(DocLabel.all) { $0.id.eq($1.docID) }
    .leftJoin(Label.all) { $1.labelTitle.eq($2.primaryKey) }
  fileprivate static func searching(_ text: String) -> Where<Doc> {
    Self.where {
      if !text.isEmpty { $0.title.contains(text) || $0.body.contains(text) }
    }
  }
}
extension Doc.TableColumns {
  fileprivate var isDone: some QueryExpression<Bool> { status.eq(Doc.Status.done) }
  fileprivate var isStale: some QueryExpression<Bool> {
    @Dependency(\.date.now) var now
    return !isDone && #sql("\(editedAt) < \(bind: Int(now.timeIntervalSince1970))")
  }
}
extension Label?.TableColumns {
  fileprivate var jsonTitles: some QueryExpression<[String].JSONRepresentation> {
    (self.title ?? "").jsonGroupArray(distinct: true, filter: self.title.isNot(nil))
  }
}

@DatabaseFunction private func shout(_ text: String) -> String { text.uppercased() }

@Suite("Programs in the manner of other apps", .serialized)
struct SamplePrograms {
  private let database: any DatabaseWriter

  init() throws {
    database = try defaultDatabase()
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE syncUps (
            id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), seconds INTEGER NOT NULL,
            theme TEXT NOT NULL, title TEXT NOT NULL);
          CREATE TABLE attendees (
            id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), name TEXT NOT NULL,
            syncUpID TEXT NOT NULL REFERENCES syncUps ON DELETE CASCADE);
          CREATE TABLE meetings (
            id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), date TEXT NOT NULL,
            syncUpID TEXT NOT NULL REFERENCES syncUps ON DELETE CASCADE, transcript TEXT NOT NULL);
          CREATE TABLE employees (
            id INTEGER PRIMARY KEY, bossID INTEGER REFERENCES employees, name TEXT NOT NULL, height INTEGER NOT NULL);
          CREATE TABLE players (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, team TEXT, isCaptain INTEGER NOT NULL DEFAULT 0);
          CREATE TABLE scores (
            playerID INTEGER NOT NULL, round INTEGER NOT NULL, points INTEGER NOT NULL, bonus INTEGER,
            PRIMARY KEY (playerID, round));
          CREATE TABLE docs (
            id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL DEFAULT '',
            isArchived INTEGER NOT NULL DEFAULT 0, editedAt INTEGER NOT NULL DEFAULT 0,
            status INTEGER NOT NULL DEFAULT 0);
          CREATE TABLE labels (title TEXT PRIMARY KEY NOT NULL COLLATE NOCASE);
          CREATE TABLE docsLabels (
            id INTEGER PRIMARY KEY, docID INTEGER NOT NULL REFERENCES docs ON DELETE CASCADE,
            labelTitle TEXT NOT NULL REFERENCES labels);
          CREATE VIRTUAL TABLE docTexts USING fts5(title, body, labels, tokenize = 'trigram');
          """)
      try db.seed {
        for (id, title) in [(1, "Design"), (2, "Release")] { SyncUp(id: UUID(id), seconds: 600 * id, title: title) }
        Attendee(id: UUID(10), name: "Blob", syncUpID: UUID(1))
        Attendee(id: UUID(11), name: "Ada", syncUpID: UUID(1))
        Meeting(id: UUID(20), date: Date(timeIntervalSince1970: 100), syncUpID: UUID(1), transcript: "old")
        Meeting(id: UUID(21), date: Date(timeIntervalSince1970: 200), syncUpID: UUID(1), transcript: "new")
        Employee(id: 1, name: "Alice", height: 170)
        Employee(id: 2, bossID: 1, name: "Bob", height: 180)
        Employee(id: 3, bossID: 1, name: "Carol", height: 160)
        Employee(id: 4, bossID: 2, name: "Dave", height: 150)
        Player(id: 1, name: "ann", team: "red", isCaptain: true)
        Player(id: 2, name: "Bea", team: "blue")
        Player(id: 3, name: "cid")
        for round in 1...3 {
          Score(id: Score.ID(playerID: 1, round: round), points: round * 10, bonus: round == 2 ? 5 : nil)
          Score(id: Score.ID(playerID: 2, round: round), points: 20)
        }
      }
    }
  }

  @Test("meetings: rows with counts, and a row with its parts as JSON")
  func meetings() throws {
    let rows = SyncUp.group(by: \.id)
      .leftJoin(Attendee.all) { $0.id.eq($1.syncUpID) }
      .order { syncUps, _ in syncUps.title }
      .select { SyncUpRow.Columns(attendeeCount: $1.count(), isLong: $0.seconds > 600, syncUp: $0) }
    let details = SyncUp.leftJoin(Attendee.all) { $0.id.eq($1.syncUpID) }
      .leftJoin(Meeting.all) { syncUp, _, meeting in
        meeting.id.eq(
          Meeting.where { $0.syncUpID.eq(syncUp.id) }.order { $0.date.desc() }.limit(1).select(\.id))
      }
      .group { syncUp, _, _ in syncUp.id }
      .order { syncUp, _, _ in syncUp.title }
      .select {
        SyncUpDetails.Columns(
          syncUp: $0, attendees: $1.jsonGroupArray(distinct: true),
          names: ($1.name ?? "").jsonGroupArray(filter: $1.id.isNot(nil)), last: $2)
      }
    try database.read { db in
      let found = try rows.fetchAll(db)
      #expect(found.map(\.attendeeCount) == [2, 0] && found.map(\.isLong) == [false, true])
      #expect(found.map(\.syncUp.title) == ["Design", "Release"])
      let all = try details.fetchAll(db)
      #expect(Set(all[0].attendees.map(\.name)) == ["Ada", "Blob"] && Set(all[0].names) == ["Ada", "Blob"])
      #expect(all[0].last?.transcript == "new" && all[1].last == nil && all[1].attendees == [] && all[1].names == [])
      let value = try DetailRequest(id: UUID(1)).fetch(db)
      #expect(value.attendees.map(\.name) == ["Ada", "Blob"] && value.meetings.map(\.transcript) == ["new", "old"])
      let people = try SyncUp.leftJoin(Attendee.all) { $0.id.eq($1.syncUpID) }
        .order { ($0.title, $1.name) }
        .select { ($0.title, $1.jsonObject()) }
        .fetchAll(db)
      #expect(people.map { $0.1?.name } == ["Ada", "Blob", nil])
      try expectSame(
        db,
        SyncUp.where { syncUp in !Attendee.where { $0.syncUpID.eq(syncUp.id) }.exists() }.select {
          ($0.title, Attendee.where { $0.name.eq("Ada") }.count())
        },
        "VALUES ('Release', 1)")
    }
  }

  @Test("meetings: drafts are saved with their parts, and all parts go with the row")
  func savedMeetings() throws {
    try database.write { db in
      let draft = SyncUp.Draft(title: "Retro")
      let id = try #require(try SyncUp.upsert { draft }.returning(\.id).fetchOne(db))
      try Attendee.where { $0.syncUpID.eq(id) }.delete().execute(db)
      try Attendee.insert {
        for name in ["x", "y"] { Attendee.Draft(name: name, syncUpID: id) }
        ["z"].map { Attendee.Draft(name: $0, syncUpID: id) }
      }
      .execute(db)
      try SyncUp.upsert { SyncUp.Draft(SyncUp(id: id, seconds: 60, title: "Retro")) }.execute(db)
      try SyncUp.find(id).update {
        $0.theme = .appIndigo
        $0.seconds *= 2
      }
      .execute(db)
      #expect(try SyncUp.find(db, key: id) == SyncUp(id: id, seconds: 120, theme: .appIndigo, title: "Retro"))
      #expect(try Attendee.where { $0.syncUpID.eq(id) }.fetchCount(db) == 3)
      #expect(try SyncUp.where { $0.theme.in(SyncUp.Theme.allCases) }.fetchCount(db) == 3)
      try SyncUp.find([id, UUID(2)]).delete().execute(db)
      try expectSame(db, Attendee.order(by: \.name).select(\.name), "VALUES ('Ada'), ('Blob')")
    }
  }

  @Test("trees: recursive queries count, walk, change and delete")
  func trees() throws {
    try database.write { db in
      let reports = With {
        Employee.where { $0.bossID.is(nil) }
          .select { Report.Columns(id: $0.id, height: $0.height, name: $0.name, level: 0) }
          .union(
            all: true,
            Employee.join(Report.all) { $0.bossID.eq($1.id) }
              .select { Report.Columns(id: $0.id, height: $0.height, name: $0.name, level: $1.level + 1) })
      } query: {
        Report.order { ($0.level, $0.name) }.select { ($0.level, $0.name) }
      }
      try expectSame(
        db, reports,
        """
        WITH r (id, name, level) AS (
          SELECT id, name, 0 FROM employees WHERE bossID IS NULL
          UNION ALL SELECT e.id, e.name, r.level + 1 FROM employees e JOIN r ON e.bossID = r.id)
        SELECT level, name FROM r ORDER BY level, name
        """)
      let counting = With {
        Tick(value: 1).union(all: true, Tick.select { Tick.Columns(value: $0.value + 1) })
      } query: {
        Tick.limit(4)
      }
      #expect(try counting.fetchAll(db).map(\.value) == [1, 2, 3, 4])
      let fibonacci = With {
        Fibonacci(n: 1, prevFib: 0, fib: 1)
          .union(
            all: true,
            Fibonacci.select { Fibonacci.Columns(n: $0.n + 1, prevFib: $0.fib, fib: $0.prevFib + $0.fib) })
      } query: {
        Fibonacci.select(\.fib).limit(8)
      }
      #expect(try fibonacci.fetchAll(db) == [1, 1, 2, 3, 5, 8, 13, 21])
      let bosses = Employee.where { $0.bossID.is(nil) }.select { Tick.Columns(value: $0.id) }
      let grown = With {
        bosses
      } query: {
        Employee.where { $0.bossID.in(Tick.select(\.value)) }.update { $0.height += 1 }.returning(\.height)
      }
      #expect(try grown.fetchAll(db).sorted() == [161, 181])
      try With {
        Employee.select { Tick.Columns(value: $0.height.max() ?? 0) }
      } query: {
        Employee.insert {
          ($0.name, $0.height)
        } select: {
          Tick.select { ("Eve", $0.value) }
        }
      }
      .execute(db)
      try expectSame(
        db,
        Employee.leftJoin(Employee.as(Rival.self).all) { $0.bossID.eq($1.id) }
          .order { ($1.name.asc(nulls: .last), $0.name) }
          .select { ($0.name, $1.name, $0.height) },
        """
        VALUES ('Bob', 'Alice', 181), ('Carol', 'Alice', 161), ('Dave', 'Bob', 150),
          ('Alice', NULL, 170), ('Eve', NULL, 181)
        """)
      try expectSame(
        db,
        Employee.where { $0.height.gt(Employee.select { $0.height.avg().cast(as: Int.self) }) }.order(by: \.id)
          .select { ($0.id, Case($0.height).when(170, then: "a").when(181, then: "b").else("c")) },
        "VALUES (1, 'a'), (2, 'b'), (5, 'b')")
      try With {
        Employee.where { $0.name.eq("Bob") }.select { Tick.Columns(value: $0.id) }
      } query: {
        Employee.where { $0.bossID.in(Tick.select(\.value)) }.delete()
      }
      .execute(db)
      #expect(try Employee.limit(1).select { ($0.id, $0.name) }.map { ($1, $0) }.fetchAll(db).map(\.0) == ["Alice"])
      #expect(try Employee.fetchCount(db) == 4)
    }
  }

  @Test("scores: places, sums and neighbours by window functions")
  func scores() throws {
    try database.read { db in
      let standings = try Player.join(Score.all) { $0.id.eq($1.id.playerID) }
        .group { player, _ in player.id }
        .order { $1.points.sum().desc() }
        .order { player, _ in player.name }
        .select {
          Standing.Columns(
            name: $0.name, total: $1.points.sum(),
            place: rank().over(Window().order(by: $1.points.sum().desc())))
        }
        .fetchAll(db)
      #expect(
        standings == [Standing(name: "Bea", total: 60, place: 1), Standing(name: "ann", total: 60, place: 1)])
      try expectSame(
        db,
        Score.order { ($0.id.playerID, $0.id.round) }
          .select {
            (
              $0.points - ($0.bonus ?? 0),
              $0.points.lag().over(Window().partition(by: $0.id.playerID).order(by: $0.id.round))
            )
          },
        """
        SELECT points - coalesce(bonus, 0), lag(points) OVER (PARTITION BY playerID ORDER BY round)
        FROM scores ORDER BY playerID, round
        """)
      try expectSame(
        db,
        Player.leftJoin(Score.all) { $0.id.eq($1.id.playerID) }
          .group { player, _ in player.id }
          .order { player, _ in player.id }
          .select { ($0.name, $1.count(), $1.bonus.sum()) },
        "VALUES ('ann', 3, 5), ('Bea', 3, NULL), ('cid', 0, NULL)")
      let without = Player.leftJoin(Score.all) { $0.id.eq($1.id.playerID) }.where { $1.id.is(nil) }
      #expect(try without.select { player, _ in player.name }.fetchAll(db) == ["cid"])
      let grouped = try Player.leftJoin(Score.all) { $0.id.eq($1.id.playerID) }
        .group { player, _ in player.id }
        .order { player, _ in player.id }
        .select { ($0.name, $1.jsonGroupArray()) }
        .fetchAll(db)
      #expect(grouped.map { $0.1.count } == [3, 3, 0])
      let pairs = Player.join(Player.as(Rival.self).all) { $0.team.neq($1.team) && $0.id.lt($1.id) }
      #expect(try pairs.select { ($0.name, $1.name) }.fetchAll(db).map { "\($0)-\($1)" } == ["ann-Bea"])
      try expectSame(
        db,
        Player.order { ($0.team.asc(nulls: .first), $0.name.collate(.nocase).desc()) }.limit(2, offset: 1).select(
          \.name),
        "SELECT name FROM players ORDER BY team NULLS FIRST, name COLLATE NOCASE DESC LIMIT 2 OFFSET 1")
      try expectSame(
        db,
        Player.group(by: \.team).having { $0.id.count() > 0 }.order(by: \.team).select {
          ($0.team ?? "-", $0.id.count())
        },
        "VALUES ('-', 1), ('blue', 1), ('red', 1)")
    }
  }

  @Test("scores: rows are found, merged and written by keys of two columns")
  func compositeKeys() throws {
    try database.write { db in
      let first = Score.ID(playerID: 1, round: 1)
      let second = Score.ID(playerID: 1, round: 2)
      #expect(try Score.find([first, second]).order { $0.id.round.desc() }.fetchAll(db).map(\.points) == [20, 10])
      #expect(try Score.where { $0.id.in([second]) }.fetchOne(db)?.bonus == 5)
      #expect(try Score.where { $0.id.neq(first) && $0.id.playerID.eq(1) }.fetchCount(db) == 2)
      #expect(try Score.select(\.id).order { ($0.id.round, $0.id.playerID) }.fetchOne(db) == first)
      let updated = Score.find(first).update {
        $0.points += 1
        $0.bonus = 3
      }
      #expect(try updated.returning(\.self).fetchOne(db) == Score(id: first, points: 11, bonus: 3))
      try Score.upsert { Score(id: first, points: 4) }.execute(db)
      try Score.insert {
        Score(id: first, points: 100)
        Score(id: second, points: 100)
      } onConflict: {
        ($0.id.playerID, $0.id.round)
      } doUpdate: {
        $0.points = $1.points
        $0.bonus += 1
      } where: {
        $0.points.gt(5)
      }
      .execute(db)
      #expect(try Score.find(db, key: first) == Score(id: first, points: 4))
      #expect(try Score.find(db, key: second) == Score(id: second, points: 100, bonus: 6))
      try Score.update(Score(id: first, points: 9)).execute(db)
      try Score.delete(Score(id: second)).execute(db)
      #expect(try Score.where { $0.id.playerID.eq(1) }.order(by: \.id.round).select(\.points).fetchAll(db) == [9, 30])
      #expect(throws: NotFound.self) { try Score.find(db, key: second) }
    }
  }

  @Test("documents: triggers keep a search index, and a search shows labels and marks")
  func documents() throws {
    try database.write { db in
      db.add(function: $shout)
      try Doc.createTemporaryTrigger(
        after: .insert { new in
          DocText.insert {
            ($0.rowid, $0.title, $0.body, $0.labels)
          } values: {
            (new.rowid, $shout(new.title), new.body, "")
          }
        }
      )
      .execute(db)
      try Doc.createTemporaryTrigger(
        after: .update {
          ($0.title, $0.body)
        } forEachRow: { _, new in
          DocText.where { $0.rowid.eq(new.rowid) }.update {
            $0.title = new.title
            $0.body = new.body
          }
        }
      )
      .execute(db)
      try Doc.createTemporaryTrigger(
        after: .delete { old in DocText.where { $0.rowid.eq(old.rowid) }.delete() }
      )
      .execute(db)
      try Doc.createTemporaryTrigger(
        "keepOne", ifNotExists: true,
        before: .delete { _ in
          Values(#sql("RAISE(ABORT, 'the last document')", as: Never.self))
        } when: { _ in
          Doc.count().eq(1)
        }
      )
      .execute(db)
      try db.seed {
        Doc(
          id: 1, title: "Swift notes", body: "How to write queries in Swift", editedAt: Date(timeIntervalSince1970: 50))
        Doc(id: 2, title: "Cooking", body: "Swift recipes", editedAt: Date(timeIntervalSince1970: 500))
        Doc(id: 3, title: "Old Swift", body: "", isArchived: true)
        Label(title: "code")
        Label(title: "fun")
        DocLabel(id: 1, docID: 1, labelTitle: "code")
        DocLabel(id: 2, docID: 1, labelTitle: "fun")
      }
      let text = "swift"
      let found = Doc.join(DocText.all) { $0.rowid.eq($1.rowid) }
        .where { if !text.isEmpty { $1.match(text) } }
        .where { doc, _ in !doc.isArchived }
      #expect(try found.count().fetchOne(db) == 2)
      let rows = try withDependencies {
        $0.date.now = Date(timeIntervalSince1970: 100)
      } operation: {
        try found
          .group { doc, _ in doc.id }
          .leftJoin(DocLabel.all) { $0.id.eq($2.docID) }
          .leftJoin(Label.all) { $2.labelTitle.eq($3.primaryKey) }
          .order { doc, search, _, _ in (doc.isDone, doc.id) }
          .select {
            DocRow.Columns(
              doc: $0, isStale: $0.isStale, labels: #sql("\($3.jsonTitles)"), title: $1.title,
              snippet: $1.body)
          }
          .fetchAll(db)
      }
      #expect(rows.map(\.title) == ["SWIFT NOTES", "COOKING"])
      #expect(rows.map(\.doc.id) == [1, 2] && rows.map(\.isStale) == [true, false])
      let marked = try DocText.where { $0.match("swift") }.order(by: \.rowid)
        .select { ($0.title.highlight("*", "*"), $0.body.snippet("<", ">", "…", 8)) }
        .fetchAll(db)
      #expect(marked.map(\.0) == ["*SWIFT* NOTES", "COOKING", "OLD *SWIFT*"] && marked[1].1.hasPrefix("<Swift>"))
      #expect(rows.map { Set($0.labels) } == [["code", "fun"], []])
      try Doc.find(2).update { $0.body = "" }.execute(db)
      #expect(try Doc.where { $0.id.in(DocText.where { $0.match(text) }.select(\.rowid)) }.fetchCount(db) == 2)
      try Doc.where { $0.id.neq(1) }.delete().execute(db)
      #expect(throws: DatabaseError.self) { try Doc.delete().execute(db) }
      #expect(try DocText.select(\.rowid).fetchAll(db) == [1])
      let active = Doc.active.and(Doc.searching("queries"))
      #expect(try active.select { ($shout($0.title), $0.body.length()) }.fetchOne(db)?.0 == "SWIFT NOTES")
      #expect(
        try Doc.withLabels.select { ($0.title, $2.jsonTitles) }.fetchAll(db).map { Set($0.1) } == [["code", "fun"]])
    }
  }

  @Test("documents: a view of some rows takes inserts, updates and deletes")
  func views() throws {
    try database.write { db in
      try DoneDoc.createTemporaryView(
        as: Doc.where { $0.isDone }.select { DoneDoc.Columns(docID: $0.id, title: $0.title) }
      )
      .execute(db)
      try DoneDoc.createTemporaryTrigger(
        insteadOf: .insert { new in
          Doc.insert {
            ($0.title, $0.status)
          } values: {
            (new.title, Doc.Status.done)
          }
        }
      )
      .execute(db)
      try DoneDoc.createTemporaryTrigger(
        insteadOf: .update { old, new in Doc.find(old.docID).update { $0.title = new.title } }
      )
      .execute(db)
      try DoneDoc.createTemporaryTrigger(insteadOf: .delete { old in Doc.find(old.docID).delete() }).execute(db)
      try DoneDoc.insert {
        DoneDoc(docID: 0, title: "a")
        DoneDoc(docID: 0, title: "b")
      }
      .execute(db)
      try DoneDoc.insert {
        $0.title
      } values: {
        "c"
      }
      .execute(db)
      try DoneDoc.where { $0.title.eq("a") }.update { $0.title += "!" }.execute(db)
      try DoneDoc.where { $0.title.eq("b") }.delete().execute(db)
      try expectSame(db, Doc.order(by: \.id).select { ($0.title, $0.status) }, "VALUES ('a!', 2), ('c', 2)")
      let toggled = Doc.where { $0.title.eq("c") }.update {
        $0.status = Case($0.status).when(Doc.Status.done, then: Doc.Status.draft).else(Doc.Status.done)
      }
      #expect(try toggled.returning(\.status).fetchAll(db) == [.draft])
      try expectSame(db, DoneDoc.select { ($0.docID, $0.title) }, "SELECT 1, 'a!'")
    }
  }

  @Test("the rows of a search and of a request follow what is asked for")
  func dynamicQueries() async throws {
    try await withDependencies {
      $0.defaultDatabase = database
    } operation: {
      @FetchAll(SyncUp.none) var syncUps
      @Fetch(DetailRequest(id: UUID(1))) var detail = DetailRequest.Value()
      @FetchOne(Player.where(\.isCaptain).count()) var captains = 0
      #expect(syncUps.isEmpty && detail.attendees.count == 2 && captains == 1)
      try await $syncUps.load(SyncUp.where { $0.title.contains("des") }.order(by: \.title))
      #expect(syncUps.map(\.title) == ["Design"])
      try await $detail.load(DetailRequest(id: UUID(2)))
      #expect(detail.syncUp?.title == "Release" && detail.meetings.isEmpty)
      try await $captains.load(Player.where { $0.team.is(nil) }.count())
      #expect(captains == 1)
      try await database.write { db in
        try SyncUp.insert { SyncUp.Draft(title: "Redesign") }.execute(db)
        try Attendee.insert { Attendee.Draft(name: "Cy", syncUpID: UUID(2)) }.execute(db)
        try Player.update { $0.team = nil }.execute(db)
      }
      #expect(await eventually { syncUps.map(\.title) == ["Design", "Redesign"] })
      #expect(await eventually { detail.attendees.map(\.name) == ["Cy"] && captains == 3 })
    }
  }
}
