import Foundation
import SQLiteData
import SQLiteDataTestSupport
import Testing

@Table private struct TrackText: FTS5 {
  let rowid: Int
  let title: String
  let words: String
}

@Table private struct LiveAlbum: Equatable {
  let id: Int
  var title = ""
}

@Table(schema: "archive") private struct OldTrack: Equatable {
  let id: Int
  var title = ""
}

@DatabaseFunction private func initials(_ name: String?) -> String? { name.map { String($0.prefix(1)) } }

@DatabaseFunction("clock", isDeterministic: true) private func minutes(_ seconds: Int) -> String {
  "\(seconds / 60):" + (seconds % 60 < 10 ? "0" : "") + "\(seconds % 60)"
}

@DatabaseFunction(as: (([String].JSONRepresentation) -> Int).self)
private func tagCount(_ tags: [String]) -> Int { tags.count }

@DatabaseFunction private func product(_ numbers: some Sequence<Int>) -> Int { numbers.reduce(1, *) }

@DatabaseFunction private var answer: Int { 42 }

@Suite("Programs with triggers, views, searches and functions", .serialized)
struct SchemaPrograms {
  private let database: any DatabaseWriter

  init() throws { database = try musicDatabase(in: DatabaseQueue()) }

  @Test("a trigger runs several statements, of which one selects what it inserts")
  func severalStatements() throws {
    try database.write { db in
      try Artist.createTemporaryTrigger(
        after: .insert { new in
          Genre.insert {
            $0.title
          } select: {
            Values(new.name)
          }
          Album.where { $0.artistID.eq(1) }.update { $0.title += new.name }
        }
      ).execute(db)
      try Artist.createTemporaryTrigger(
        after: .update { old, new in
          Genre.where { $0.title.eq(old.name) }.update { $0.title = new.name }
          Album.find(2).update { $0.title = old.name + new.name }
        }
      ).execute(db)
      try Artist.insert { Artist.Draft(id: 9, name: "Ida") }.execute(db)
      try Artist.find(9).update { $0.name = "Eve" }.execute(db)
      #expect(try Genre.order { $0.id.desc() }.fetchOne(db)?.title == "Eve")
      #expect(try Album.find([1, 2]).select(\.title).fetchAll(db) == ["OneIda", "IdaEve"])
    }
  }

  @Test("triggers count, keep order and refuse")
  func triggers() throws {
    try database.write { (db) throws in
      try Track.createTemporaryTrigger(
        after: .update {
          $0.isFavorite
        } forEachRow: { old, new in
          Track.where { $0.albumID.eq(new.albumID) && $0.id.neq(new.id) }.update { $0.plays += 1 }
        } when: { old, new in
          !old.isFavorite && new.isFavorite
        }
      ).execute(db)
      try Track.find(1).update { $0.isFavorite = true }.execute(db)
      try Track.find(1).update { $0.isFavorite = true }.execute(db)
      #expect(try Track.order(by: \.id).limit(3).select(\.plays).fetchAll(db) == [5, 3, 9])
      let log = Album.createTemporaryTrigger(
        "emptyAlbum",
        after: .delete { old in
          Genre.insert {
            $0.title
          } values: {
            old.title
          }
        })
      try log.execute(db)
      try Album.find(4).delete().execute(db)
      #expect(try Genre.select(\.title).order { $0.id.desc() }.fetchOne(db) == "Four")
      try log.drop().execute(db)
      try Album.find(2).delete().execute(db)
      #expect(try Genre.fetchCount(db) == 3)
      try Genre.createTemporaryTrigger(
        before: .insert { _ in
          #sql("SELECT RAISE(ABORT, 'no more genres')")
        } when: { _ in
          Genre.count().gte(3)
        }
      ).execute(db)
      #expect(throws: DatabaseError.self) { try Genre.insert { Genre.Draft(title: "x") }.execute(db) }
      try Artist.createTemporaryTrigger(
        afterInsertTouch: { $0.country = "??" }
      ).execute(db)
      try Artist.insert { Artist.Draft(name: "N") }.execute(db)
      #expect(try Artist.order { $0.id.desc() }.fetchOne(db)?.country == "??")
    }
  }

  @Test("a view is read, joined and written to")
  func views() throws {
    try database.write { (db) throws in
      let view = LiveAlbum.createTemporaryView(
        as: Album.where(\.isLive).select { LiveAlbum.Columns(id: $0.id, title: $0.title.upper()) })
      try view.execute(db)
      #expect(try LiveAlbum.fetchAll(db) == [LiveAlbum(id: 3, title: "THREE")])
      #expect(try LiveAlbum.join(Track.all) { $0.id.eq($1.albumID) }.fetchCount(db) == 3)
      try LiveAlbum.createTemporaryTrigger(
        insteadOf: .update { old, new in
          Album.find(old.id).update { $0.title = new.title }
        }
      ).execute(db)
      try LiveAlbum.find(3).update { $0.title = "iii" }.execute(db)
      #expect(try Album.find(db, key: 3).title == "iii")
      try view.drop().execute(db)
      #expect(throws: DatabaseError.self) { try LiveAlbum.fetchAll(db) }
    }
  }

  @Test("full-text search with ranks, highlights and snippets")
  func search() throws {
    try database.write { (db) throws in
      try db.execute(sql: "CREATE VIRTUAL TABLE trackTexts USING fts5(title, words)")
      try TrackText.insert {
        TrackText(rowid: 1, title: "Dawn", words: "the sun and the rain")
        TrackText(rowid: 3, title: "Rain", words: "rain rain go away")
      }
      .execute(db)
      let found = try TrackText.where { $0.match("rain") }.order(by: \.rank)
        .select { ($0.rowid, $0.title.highlight("[", "]"), $0.words.snippet("<", ">", "…", 3)) }
        .fetchAll(db)
      #expect(found.map(\.0) == [3, 1] && found.map(\.1) == ["[Rain]", "Dawn"])
      #expect(found.first?.2 == "<rain> <rain> go…")
      let tracks = try Track.join(TrackText.all) { $0.id.eq($1.rowid) }
        .where { $1.title.match("rain") }
        .select { track, _ in track }
        .fetchAll(db)
      #expect(tracks.map(\.id) == [3])
    }
  }

  @Test("tables of an attached database")
  func attached() throws {
    try database.writeWithoutTransaction { (db) throws in
      try db.execute(
        sql: "ATTACH ':memory:' AS archive; CREATE TABLE archive.oldTracks (id INTEGER PRIMARY KEY, title TEXT)")
      try OldTrack.insert { OldTrack(id: 3, title: "Old rain") }.execute(db)
      #expect(try OldTrack.find(db, key: 3) == OldTrack(id: 3, title: "Old rain"))
      #expect(try Track.join(OldTrack.all) { $0.id.eq($1.id) }.select { $1.title }.fetchAll(db) == ["Old rain"])
      try OldTrack.find(3).update { $0.title = "x" }.execute(db)
      try OldTrack.where { $0.title.eq("x") }.delete().execute(db)
      #expect(try OldTrack.fetchCount(db) == 0)
    }
  }

  @Test("functions of Swift in queries")
  func functions() throws {
    try database.write { (db) throws in
      db.add(function: $initials)
      db.add(function: $minutes)
      db.add(function: $tagCount)
      db.add(function: $product)
      db.add(function: $answer)
      #expect(try Artist.order(by: \.id).select { $initials($0.country) }.fetchAll(db) == ["A", nil, "C"])
      #expect(try Track.find(2).select { $minutes($0.seconds) }.fetchOne(db) == "5:00")
      #expect(try Track.where { $minutes($0.seconds).eq("4:00") }.fetchAll(db).map(\.id) == [3])
      #expect(try Album.order(by: \.id).select { $tagCount($0.tags) }.fetchAll(db) == [2, 0, 1, 0])
      #expect(try Track.where { $0.albumID.eq(1) }.select { $product($0.plays) }.fetchAll(db) == [10])
      #expect(try Values($answer).fetchOne(db) == 42)
      #expect(try #sql("SELECT clock(61)", as: String.self).fetchOne(db) == "1:01")
      db.remove(function: $minutes)
      #expect(throws: DatabaseError.self) { try Track.select { $minutes($0.seconds) }.fetchAll(db) }
    }
  }

  @Test("migrations of GRDB and of SQL")
  func migrations() throws {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("add a column") { db in
      try #sql(#"ALTER TABLE "genres" ADD COLUMN "color" TEXT"#).execute(db)
    }
    migrator.registerMigration("fill it") { db in
      try db.seed { Genre.Draft(title: "Blues") }
      try #sql("UPDATE genres SET color = \(bind: "blue") WHERE title = \(bind: "Blues")").execute(db)
    }
    try migrator.migrate(database)
    try migrator.migrate(database)
    try database.read { (db) throws in
      try expectSame(
        db, Genre.where { $0.id.eq(3) }.select { ($0.title, #sql("color", as: String?.self)) },
        "VALUES ('Blues', 'blue')")
    }
  }

  @Test("a statement and its results in one assertion")
  func assertions() {
    assertQuery(
      includeSQL: true, Track.where { $0.plays.gt(6) }.order(by: \.id).select { ($0.title, $0.plays) },
      database: database
    ) {
      """
      SELECT "tracks"."title", "tracks"."plays"
      FROM "tracks"
      WHERE ("tracks"."plays") > (6)
      ORDER BY "tracks"."id"
      """
    } results: {
      """
      ┌────────┬───┐
      │ "Rain" │ 9 │
      │ "Rain" │ 7 │
      └────────┴───┘
      """
    }
  }
}
