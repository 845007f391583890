import Foundation
import SQLiteData
import Testing

// Programs in the style of the original library's users, and what their queries return.

@Table private struct Employee: Identifiable, Equatable {
  let id: Int
  var name = ""
  var bossID: Int?
  var height = 100
}

@Table private struct EmployeeReport {
  let id: Int
  let height: Int
  let name: String
}

@Table private struct Counter { let value: Int }

@Selection private struct Timestamps: Equatable {
  var createdAt: Date
  var updatedAt: Date?
}

@Table private struct Post: Identifiable, Equatable {
  let id: Int
  var title = ""
  var timestamps: Timestamps
  @Column(as: [String].JSONRepresentation.self) var tags: [String] = []
  @Column(generated: .stored) let slug: String
}

@Table private struct Attachment: Identifiable, Equatable {
  let id: Int
  let kind: Kind

  @Selection enum Kind: Equatable {
    case link(URL)
    case note(String)
    case image(Image)
  }
  @Selection struct Image: Equatable {
    var caption = ""
    var url: URL
  }
}

@Table private struct Enrollment: Equatable {
  let id: ID
  var grade = 0

  @Selection struct ID: Hashable {
    let studentID: Int
    let courseID: Int
  }
}

@Table private struct Note: Equatable {
  let id: Int
  var text = ""
  var isDeleted = false

  static let all = Self.where { !$0.isDeleted }
}

@Table private struct NoteText: FTS5 {
  let rowid: Int
  let text: String
}

@Table private struct ShortNote {
  let id: Int
  let text: String
}

@Table private struct Player: Identifiable, Equatable {
  typealias ID = Tagged<Self, Int>
  let id: ID
  var name = ""
}

extension Employee {
  fileprivate static let tall = Self.where { $0.height.gte(300) }
  fileprivate static let byHeight = Self.order { $0.height.desc() }
  fileprivate static let withBosses = Self.leftJoin(Employee.as(BossAlias.self).all) { $0.bossID.is($1.id) }
}

@Table private struct Edit: Identifiable {
  let id: Int
  var text = ""
  var createdAt: Date?
  var updatedAt: Date?
}

private enum BossAlias: AliasName {}

@DatabaseFunction private func shout(_ text: String) -> String { text.uppercased() + "!" }
@DatabaseFunction private func longest(_ texts: some Sequence<String>) -> String? {
  texts.max { $0.count < $1.count }
}

@Suite struct StatementTests {
  private let database: any DatabaseWriter

  init() throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.add(function: $shout)
      db.add(function: $longest)
    }
    database = try DatabaseQueue(configuration: configuration)
    try database.write { db in
      try #sql(
        """
        CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT '', bossID INTEGER,
          height INTEGER NOT NULL DEFAULT 100)
        """
      ).execute(db)
      try #sql(
        """
        CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, createdAt TEXT NOT NULL, updatedAt TEXT,
          tags TEXT NOT NULL DEFAULT '[]', slug TEXT GENERATED ALWAYS AS (lower(title)) STORED)
        """
      ).execute(db)
      try #sql("CREATE TABLE attachments (id INTEGER PRIMARY KEY, link TEXT, note TEXT, caption TEXT, url TEXT)")
        .execute(db)
      try #sql(
        """
        CREATE TABLE enrollments (studentID INTEGER, courseID INTEGER, grade INTEGER NOT NULL,
          PRIMARY KEY (studentID, courseID))
        """
      ).execute(db)
      try #sql("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, isDeleted INTEGER NOT NULL)")
        .execute(db)
      try #sql("CREATE VIRTUAL TABLE noteTexts USING fts5(text)").execute(db)
      try #sql("CREATE TABLE players (id INTEGER PRIMARY KEY, name TEXT NOT NULL)").execute(db)
      try db.seed {
        Employee(id: 1, name: "Alice", height: 100)
        Employee(id: 2, name: "Bob", bossID: 1, height: 200)
        Employee(id: 3, name: "Cindy", bossID: 1, height: 300)
        Employee.Draft(name: "Dave", bossID: 2, height: 400)
      }
    }
  }

  @Test("a recursive query walks a tree and counts")
  func recursive() throws {
    try database.read { db in
      let average = try With {
        Employee.where { $0.id.eq(2) }
          .select { EmployeeReport.Columns(id: $0.id, height: $0.height, name: $0.name) }
          .union(
            all: true,
            Employee
              .join(EmployeeReport.all) { $0.bossID.is($1.id) }
              .select { employee, _ in
                EmployeeReport.Columns(id: employee.id, height: employee.height, name: employee.name)
              })
      } query: {
        EmployeeReport.select { $0.height.avg() ?? 0 }
      }
      .fetchOne(db)
      #expect(average == 300)
      let numbers = try With {
        Counter(value: 1).union(all: true, Counter.select { Counter.Columns(value: $0.value + 1) })
      } query: {
        Counter.limit(4).select { $0.value }
      }
      .fetchAll(db)
      #expect(numbers == [1, 2, 3, 4])
    }
  }

  @Test("aliases, outer joins, aggregates and cases")
  func joins() throws {
    try database.read { db in
      let pairs = try Employee.as(BossAlias.self)
        .rightJoin(Employee.all) { $0.id.is($1.bossID) }
        .order { $1.id }
        .select { ($1.name, $0.name) }
        .fetchAll(db)
      #expect(pairs.map(\.0) == ["Alice", "Bob", "Cindy", "Dave"])
      #expect(pairs.map(\.1) == [nil, "Alice", "Alice", "Bob"])
      let teams = try Employee.as(BossAlias.self)
        .group(by: \.id)
        .leftJoin(Employee.all) { $0.id.is($1.bossID) }
        .having { $1.count().gt(0) }
        .order { boss, _ in boss.id }
        .select { ($0.name, $1.count()) }
        .fetchAll(db)
      #expect(teams.map(\.0) == ["Alice", "Bob"] && teams.map(\.1) == [2, 1])
      #expect(try Employee.where { $0.bossID.is(nil) }.select(\.name).fetchAll(db) == ["Alice"])
      #expect(try Employee.select { $0.bossID.map { $0 + 1 } }.fetchAll(db) == [nil, 2, 2, 3])
      let sizes = try Employee.order(by: \.id)
        .select { Case().when($0.height.gt(250), then: "tall").else("short") }.fetchAll(db)
      #expect(sizes == ["short", "short", "tall", "tall"])
      #expect(try Employee.select { $0.height.sum() }.fetchOne(db) == 1000)
      #expect(try Employee.select { $longest($0.name) }.fetchOne(db) == "Alice")
      #expect(try Employee.find(1).select { $shout($0.name) }.fetchOne(db) == "ALICE!")
      #expect(try Employee.as(BossAlias.self).find([1, 2]).count().fetchOne(db) == 2)
      #expect(try Employee.select(\.id).map { $0 * 2 }.fetchAll(db) == [2, 4, 6, 8])
      let both = try (Employee.where { $0.id.gt(2) }.select(\.id) + Employee.order { $0.id.desc() }.select(\.name))
        .fetchAll(db)
      #expect(both.map(\.0) == [4, 3] && both.map(\.1) == ["Dave", "Cindy"])
      #expect(try Set(Employee.order { _ in .random() }.select(\.id).fetchAll(db)) == [1, 2, 3, 4])
    }
  }

  @Test("named queries of a table are parts of its other queries")
  func namedQueries() throws {
    try database.read { (db) throws in
      #expect(try Employee.where { $0.id.neq(4) }.tall.fetchAll(db).map(\.name) == ["Cindy"])
      #expect(try Employee.order(by: \.name).tall.byHeight.select(\.name).fetchAll(db) == ["Cindy", "Dave"])
      let names = try Employee.order(by: \.id).withBosses
        .where { employee, _ in employee.height.gt(100) }
        .select { ($0.name, $1.name) }
        .fetchAll(db)
      #expect(names.map(\.0) == ["Bob", "Cindy", "Dave"] && names.map(\.1) == ["Alice", "Alice", "Bob"])
      let bosses = try Employee.tall.withBosses.select { $1.name }.fetchAll(db)
      #expect(bosses == ["Alice", "Bob"])
    }
  }

  @Test("whole rows of common table expressions and of compound queries are fetched")
  func wholeRows() throws {
    try database.read { (db) throws in
      let tall = With {
        Employee.tall.select { EmployeeReport.Columns(id: $0.id, height: $0.height, name: $0.name) }
      } query: {
        EmployeeReport.order { $0.id.desc() }
      }
      #expect(try tall.fetchAll(db).map(\.name) == ["Dave", "Cindy"])
      let some = Employee.where { $0.id.eq(1) }.union(Employee.tall).except(Employee.where { $0.id.eq(4) })
      #expect(try Set(some.fetchAll(db).map(\.id)) == [1, 3])
      // A compound query is one operand of another.
      let ids = Employee.select(\.id)
      let nested = ids.except(Employee.tall.select(\.id).except(Employee.where { $0.id.eq(3) }.select(\.id)))
      #expect(try Set(nested.fetchAll(db)) == [1, 2, 3])
      #expect(try Employee.none.select(\.id).union(ids).fetchAll(db).count == 4)
      #expect(try Employee.where { _ in !Employee.none.exists() }.fetchCount(db) == 4)
    }
  }

  @Test("triggers set the times of a row")
  func touches() throws {
    try database.write { db in
      try #sql("CREATE TABLE edits (id INTEGER PRIMARY KEY, text TEXT NOT NULL, createdAt TEXT, updatedAt TEXT)")
        .execute(db)
      try Edit.createTemporaryTrigger(afterInsertTouch: \.createdAt).execute(db)
      try Edit.createTemporaryTrigger(after: .update(touch: \.updatedAt) { old, new in old.text.neq(new.text) })
        .execute(db)
      try Edit.insert { Edit.Draft(text: "a") }.execute(db)
      try Edit.find(1).update { $0.text = "a" }.execute(db)
      let edit = try Edit.find(db, key: 1)
      #expect(abs(try #require(edit.createdAt).timeIntervalSinceNow) < 60)
      #expect(edit.updatedAt == nil)
      try Edit.find(1).update { $0.text = "b" }.execute(db)
      #expect(try Edit.find(db, key: 1).updatedAt != nil)
    }
  }

  @Test("groups of columns, generated columns and JSON")
  func groups() throws {
    let date = Date(timeIntervalSince1970: 1)
    try database.write { db in
      try Post.insert { Post.Draft(title: "Hello", timestamps: Timestamps(createdAt: date), tags: ["a", "b"]) }
        .execute(db)
      let post = Post(
        id: 1, title: "Hello", timestamps: Timestamps(createdAt: date), tags: ["a", "b"], slug: "hello")
      #expect(try Post.fetchAll(db) == [post])
      #expect(try Post.select(\.timestamps).fetchOne(db) == Timestamps(createdAt: date))
      try Post.find(1).update { $0.timestamps.updatedAt = #bind(date) }.execute(db)
      #expect(try Post.select { ($0.timestamps.updatedAt, $0.tags.jsonArrayLength()) }.fetchOne(db)?.0 == date)
      #expect(
        try Post.where { $0.timestamps.createdAt.gt(#bind(date.addingTimeInterval(-1))) }.fetchCount(db) == 1)
    }
  }

  @Test("an enumeration is a row of optional columns")
  func enumerations() throws {
    let url = try #require(URL(string: "https://example.com"))
    try database.write { db in
      try Attachment.insert {
        Attachment.Draft(kind: .note("Hello"))
        Attachment.Draft(kind: .image(.init(caption: "Cat", url: url)))
      }
      .execute(db)
      #expect(try Attachment.select { $0.kind.image.caption }.fetchAll(db) == [nil, "Cat"])
      #expect(try Attachment.where { $0.kind.note.isNot(nil) }.fetchAll(db).map(\.kind) == [.note("Hello")])
      try Attachment.find(1).update { $0.kind = .link(url) }.execute(db)
      #expect(try Attachment.find(db, key: 1).kind == .link(url))
    }
  }

  @Test("a key of two columns finds its row")
  func compositeKeys() throws {
    try database.write { db in
      let key = Enrollment.ID(studentID: 1, courseID: 2)
      try Enrollment.insert { Enrollment(id: key, grade: 3) }.execute(db)
      try Enrollment.insert { Enrollment(id: .init(studentID: 2, courseID: 2), grade: 4) }.execute(db)
      #expect(try Enrollment.find(db, key: key).grade == 3)
      #expect(try Enrollment.find(key).fetchAll(db).count == 1)
      #expect(try Enrollment.find([Enrollment.ID]()).fetchAll(db).isEmpty)
      try Enrollment.update(Enrollment(id: key, grade: 5)).execute(db)
      #expect(try Enrollment.find(db, key: key).grade == 5)
      try Enrollment.upsert { Enrollment(id: key, grade: 3) }.execute(db)
      #expect(try Enrollment.where { $0.id.courseID.eq(2) }.select { $0.grade.sum() }.fetchOne(db) == 7)
    }
  }

  @Test("a default scope, an upsert with a condition, triggers and full-text search")
  func notes() throws {
    try database.write { db in
      try Note.createTemporaryTrigger(
        after: .insert { new in
          NoteText.insert {
            ($0.rowid, $0.text)
          } values: {
            (new.rowid, new.text)
          }
        }
      ).execute(db)
      try Note.insert {
        Note(id: 1, text: "buy milk")
        Note(id: 2, text: "milk and more milk", isDeleted: true)
      }
      .execute(db)
      #expect(try Note.fetchAll(db).map(\.id) == [1])
      #expect(try Note.unscoped.fetchCount(db) == 2)
      #expect(try Note.none.fetchAll(db).isEmpty)
      #expect(throws: NotFound.self) { try Note.find(db, key: 2) }
      let found = try Note.unscoped.join(NoteText.all) { $0.rowid.eq($1.rowid) }
        .where { $1.match("milk") }
        .order { $1.bm25([\.text: 2]) }
        .select { ($0.id, $1.text.highlight("<", ">")) }
        .fetchAll(db)
      #expect(found.map(\.0) == [2, 1])
      #expect(found.map(\.1) == ["<milk> and more <milk>", "buy <milk>"])
      for id in [1, 2] {
        try Note.insert {
          Note(id: 9, text: id == 1 ? "buy milk" : "milk and more milk")
        } onConflict: {
          $0.text
        } doUpdate: {
          $0.text = $1.text + "?"
        } where: {
          !$0.isDeleted
        }
        .execute(db)
      }
      #expect(try Note.unscoped.order(by: \.id).select(\.text).fetchAll(db) == ["buy milk?", "milk and more milk"])
      #expect(try Note.select { _ in Note.exists() }.fetchOne(db) == true)
    }
  }

  @Test("a temporary view can be written to")
  func views() throws {
    try database.write { db in
      try ShortNote.createTemporaryView(
        as: Note.where { $0.text.length().lt(5) }.select { ShortNote.Columns(id: $0.id, text: $0.text) }
      ).execute(db)
      try ShortNote.createTemporaryTrigger(
        insteadOf: .insert { new in
          Note.insert {
            ($0.text, $0.isDeleted)
          } values: {
            (new.text, false)
          }
        }
      ).execute(db)
      try ShortNote.insert {
        ($0.text)
      } values: {
        "abc"
      }.execute(db)
      try Note.insert { Note.Draft(text: "long enough") }.execute(db)
      #expect(try ShortNote.select(\.text).fetchAll(db) == ["abc"])
    }
  }

  @Test("#sql stands in every place of a query")
  func sql() throws {
    try database.read { db in
      let names = try #sql("SELECT \(Employee.name) FROM \(Employee.self) WHERE \(Employee.id) > \(2)", as: String.self)
        .fetchAll(db)
      #expect(names == ["Cindy", "Dave"])
      let query =
        Employee
        .where { #sql("\($0.height) > \(bind: 100)") }
        .group { #sql("\($0.bossID)") }
        .having { #sql("count(\($0.id)) > 1") }
        .order { #sql("\($0.bossID) DESC") }
        .select { (#sql("min(\($0.name))", as: String.self), $0.count()) }
      let rows = try query.fetchAll(db)
      #expect(rows.map(\.0) == ["Bob"] && rows.map(\.1) == [2])
      #expect(try #sql("SELECT \(Employee.columns) FROM \(Employee.self)", as: Employee.self).fetchAll(db).count == 4)
    }
  }

  @Test("writes return rows, and tagged identifiers are keys")
  func writes() throws {
    try database.write { db in
      let names = try Employee.where { $0.height.gt(200) }.update {
        $0.height += 1
        $0.name = $0.name.upper()
      }
      .returning(\.name).fetchAll(db)
      #expect(names == ["CINDY", "DAVE"])
      #expect(try Employee.find([1, 2]).delete().returning { ($0.id, $0.name) }.fetchAll(db).map(\.0) == [1, 2])
      try Employee.find(3).update { $0.bossID = nil }.execute(db)
      try Employee.find(4).update { $0.bossID = 3 }.execute(db)
      #expect(try Employee.order(by: \.id).select(\.bossID).fetchAll(db) == [nil, 3])
      try Employee.insert {
        ($0.name, $0.height)
      } select: {
        Employee.select { ($0.name, $0.id) }
      }.execute(db)
      #expect(try Employee.select(\.height).order(by: \.id).fetchAll(db) == [301, 401, 3, 4])
      try db.seed {
        Player(id: 7, name: "a")
        for number in 0..<3 { Player.Draft(name: "\(number)") }
      }
      #expect(try Player.find(db, key: Player.ID(9)) == Player(id: 9, name: "1"))
      #expect(try Values($shout("a")).fetchOne(db) == "A!")
      #expect(try Values(1, "Hello", true).fetchOne(db)?.1 == "Hello")
    }
  }
}
