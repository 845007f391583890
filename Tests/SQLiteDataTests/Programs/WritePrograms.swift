import Foundation
import SQLiteData
import Testing

@Selection private struct Size: Hashable {
  var width = 0
  var height = 0
}

@Table private struct Photo: Equatable {
  let id: UUID
  var title = ""
  var size = Size()
  @Column(as: UUID.BytesRepresentation?.self) var albumKey: UUID?
  @Column(as: Date.JulianDayRepresentation.self) var takenAt = Date(timeIntervalSince1970: 0)
  @Column(generated: .virtual) let area: Int
}

@Table private struct Visit: Equatable {
  @Selection struct ID: Hashable {
    let person: String
    let day: Int
  }
  let id: ID
  var count = 0
}

@Table private struct Shape: Equatable {
  let id: Int
  var kind: Kind

  @Selection enum Kind: Equatable {
    case circle(Double)
    case label(String)
    case box(Size)
  }
}

@Table private struct Event: Codable, Equatable {
  @Column(as: UUID.BytesRepresentation.self) let id: UUID
  @Column(as: UUID.BytesRepresentation?.self) var parentID: UUID?
  @Column(as: Date.JulianDayRepresentation.self) var start: Date
  @Column(as: Date.UnixTimeRepresentation?.self) var end: Date?
  var isPublic = false
}

@Table("log") private struct LogLine: Equatable {
  let text: String
}

@Suite("Programs that write", .serialized)
struct WritePrograms {
  private let database: any DatabaseWriter

  init() throws {
    database = try musicDatabase(in: defaultDatabase())
    try database.write { (db) throws in
      try db.execute(
        sql: """
          CREATE TABLE photos (
            id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), title TEXT NOT NULL,
            width INTEGER NOT NULL, height INTEGER NOT NULL, albumKey BLOB, takenAt REAL NOT NULL, area INTEGER AS (width * height));
          CREATE TABLE visits (person TEXT NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,
            PRIMARY KEY (person, day));
          CREATE TABLE shapes (id INTEGER PRIMARY KEY, circle REAL, label TEXT, width INTEGER, height INTEGER);
          CREATE TABLE log (text TEXT NOT NULL);
          CREATE TABLE events (
            id BLOB PRIMARY KEY NOT NULL, parentID BLOB, start REAL NOT NULL, end INTEGER, isPublic INTEGER NOT NULL);
          """)
    }
  }

  @Test("rows and drafts are inserted, and the inserted rows are returned")
  func inserts() throws {
    try database.write { (db) throws in
      let ids = try Artist.insert {
        Artist.Draft(name: "Dora")
        Artist.Draft(name: "Emil", country: "EE")
      }
      .returning(\.id)
      .fetchAll(db)
      #expect(ids == [4, 5])
      let rows = try Artist.insert { Artist(id: 9, name: "Ida", country: "IT") }.returning(\.self).fetchAll(db)
      #expect(rows == [Artist(id: 9, name: "Ida", country: "IT")])
      try Artist.insert {
        ($0.name, $0.country)
      } values: {
        [("F", "FI"), ("G", nil)]
        ("H", "HU")
      }
      .execute(db)
      try expectSame(
        db, Artist.where { $0.id.gt(9) }.order(by: \.id).select { ($0.name, $0.country) },
        "VALUES ('F', 'FI'), ('G', NULL), ('H', 'HU')")
      try Genre.insert {
        $0.title
      } values: {
        ["Jazz", "Pop"]
      }
      .execute(db)
      try Genre.insert {
        $0.title
      } select: {
        Track.where(\.isFavorite).select(\.title)
      }
      .execute(db)
      try expectSame(
        db, Genre.where { $0.id.gt(2) }.order(by: \.id).select(\.title), "VALUES ('Jazz'), ('Pop'), ('Dusk'), ('Rain')")
      let none: [Artist.Draft] = []
      try Artist.insert { none }.execute(db)
      #expect(try Artist.fetchCount(db) == 9)
    }
  }

  @Test("conflicts are ignored, replaced or merged")
  func conflicts() throws {
    try database.write { (db) throws in
      try Genre.insert(or: .ignore) { Genre.Draft(title: "FOLK") }.execute(db)
      #expect(try Genre.fetchCount(db) == 2)
      #expect(throws: DatabaseError.self) { try Genre.insert { Genre.Draft(title: "noise") }.execute(db) }
      try Album.insert {
        Album(id: 10, artistID: 3, title: "One", rating: .fair)
      } onConflict: {
        $0.title
      } doUpdate: {
        $0.rating = $1.rating
        $0.artistID = $1.artistID
      }
      .execute(db)
      try expectSame(
        db, Album.where { $0.title.eq("One") }.select { ($0.id, $0.artistID, $0.rating) }, "VALUES (1, 3, 2)")
      try Album.insert {
        Album(id: 2, artistID: 3, title: "New")
      } onConflict: {
        $0.id
      } doUpdate: { row, excluded in
        row.title = row.title + "/" + excluded.title
      } where: {
        $0.isLive.eq(false)
      }
      .execute(db)
      #expect(try Album.find(db, key: 2).title == "Two/New")
      try Album.insert {
        Album.Draft(artistID: 1, title: "Four")
      } onConflictDoUpdate: {
        $0.isLive = #bind(true)
      }
      .execute(db)
      #expect(try Album.find(db, key: 4).isLive)
      try Artist.upsert { Artist.Draft(id: 1, name: "Anna B.") }.execute(db)
      try Artist.upsert { Artist.Draft(name: "Zoe") }.execute(db)
      try expectSame(
        db, Artist.order(by: \.id).select { ($0.id, $0.name, $0.country) },
        "VALUES (1, 'Anna B.', NULL), (2, 'Ben', NULL), (3, 'Carol', 'CA'), (4, 'Zoe', NULL)")
    }
  }

  @Test("an upsert that matches a partial index")
  func partialIndex() throws {
    try database.write { (db) throws in
      try db.execute(sql: "CREATE UNIQUE INDEX liveTitles ON tracks (albumID, title) WHERE title <> ''")
      for seconds in [10, 20] {
        try Track.insert {
          Track.Draft(albumID: 4, title: "Coda", seconds: seconds)
        } onConflict: { columns in
          (columns.albumID, columns.title)
        } where: { columns in
          columns.title.neq("")
        } doUpdate: { row, excluded in
          row.seconds = row.seconds + excluded.seconds
        }
        .execute(db)
      }
      try expectSame(db, Track.where { $0.albumID.eq(4) }.select { ($0.title, $0.seconds) }, "VALUES ('Coda', 30)")
      try db.execute(sql: "CREATE UNIQUE INDEX countries ON artists (country) WHERE country IS NOT NULL")
      try Artist.insert {
        Artist.Draft(name: "Aron", country: "AT")
      } onConflict: {
        $0.country
      } where: {
        $0.country.isNot(nil)
      } doUpdate: {
        $0.name = $1.name
      }
      .execute(db)
      #expect(try Artist.find(db, key: 1).name == "Aron")
    }
  }

  @Test("rows are updated by expressions, by values and as a whole")
  func updates() throws {
    try database.write { (db) throws in
      let plays = try Track.where(\.isFavorite).update {
        $0.plays += 10
        $0.title += "!"
        $0.isFavorite.toggle()
      }
      .returning { ($0.id, $0.plays, $0.title) }
      .fetchAll(db)
      #expect(plays.map(\.0) == [2, 5] && plays.map(\.1) == [12, 17] && plays.map(\.2) == ["Dusk!", "Rain!"])
      try Track.find(1).update { $0.seconds = $0.seconds * 2 }.execute(db)
      try Track.find(3).update { $0.title = #bind("Storm") }.execute(db)
      try Track.find(4).update { $0.title = "Sleet" }.execute(db)
      try Album.find(1).update {
        $0.released = nil
        $0.rating = #bind(.poor)
        $0.tags = #bind(["a"])
      }
      .execute(db)
      try expectSame(
        db, Album.find(1).select { ($0.released, $0.rating, $0.tags) }, #"VALUES (NULL, 1, '["a"]')"#)
      try expectSame(
        db, Track.order(by: \.id).limit(4).select { ($0.seconds, $0.title) },
        "VALUES (240, 'Dawn'), (300, 'Dusk!'), (240, 'Storm'), (180, 'Sleet')")
      var artist = try Artist.find(db, key: 2)
      artist.name = "Benny"
      artist.country = "BE"
      try Artist.update(artist).execute(db)
      #expect(try Artist.find(db, key: 2) == artist)
      try Track.update { $0.plays = 0 }.where { $0.albumID.eq(3) }.execute(db)
      #expect(try Track.select { $0.plays.sum() }.fetchOne(db) == 5 + 12 + 9)
      try Track.where { $0.id.eq(1) }.update { _ in }.execute(db)
      try Track.find(1).update {
        $0.plays -= 1
        $0.seconds /= 2
      }.execute(db)
      #expect(try Track.find(db, key: 1).plays == 4)
    }
  }

  @Test("rows are deleted, alone and together")
  func deletes() throws {
    try database.write { (db) throws in
      try Artist.delete(try Artist.find(db, key: 1)).execute(db)
      #expect(try Album.order(by: \.id).select(\.id).fetchAll(db) == [3, 4])
      #expect(try Track.find(5).delete().returning(\.title).fetchOne(db) == "Rain")
      #expect(try Track.find([6, 7]).delete().returning(\.self).fetchAll(db).count == 2)
      try Album.where { !$0.isLive }.delete().execute(db)
      #expect(try Album.select(\.id).fetchAll(db) == [3])
      try Album.delete().execute(db)
      #expect(try Album.fetchCount(db) == 0 && Track.fetchCount(db) == 0)
    }
  }

  @Test("groups of columns, generated columns and other representations")
  func representations() throws {
    try database.write { (db) throws in
      let key = try #require(UUID(uuidString: "DEADBEEF-0000-4000-8000-000000000001"))
      let taken = Date(timeIntervalSince1970: 86_400)
      let id = try #require(
        try Photo.insert {
          Photo.Draft(title: "Sea", size: Size(width: 3, height: 4), albumKey: key, takenAt: taken)
        }
        .returning(\.id).fetchOne(db))
      let photo = try Photo.find(db, key: id)
      #expect(photo.area == 12 && photo.size == Size(width: 3, height: 4) && photo.albumKey == key)
      #expect(abs(photo.takenAt.timeIntervalSince(taken)) < 0.001)
      try expectSame(
        db, Photo.select { ($0.albumKey.hex(), $0.takenAt.typeof(), $0.id.length()) },
        "VALUES ('DEADBEEF000040008000000000000001', 'real', 36)")
      try Photo.find(id).update { $0.size.width = 5 }.execute(db)
      #expect(try Photo.where { $0.size.width.gt($0.size.height) }.select(\.area).fetchAll(db) == [20])
      try Photo.find(id).update { $0.size = Size(width: 1, height: 1) }.execute(db)
      #expect(try Photo.select(\.size).fetchOne(db) == Size(width: 1, height: 1))
      #expect(try Photo.where { $0.size.eq(Size(width: 1, height: 1)) }.fetchCount(db) == 1)
      #expect(try Photo.where { $0.albumKey.eq(#bind(key)) }.fetchCount(db) == 1)
    }
  }

  @Test("rows are read from JSON, with any form of dates and UUIDs")
  func jsonForms() throws {
    try database.write { (db) throws in
      let noon = Date(timeIntervalSince1970: 43_200)
      let (first, second) = (UUID(1), UUID(2))
      try Event.insert {
        Event(id: first, parentID: nil, start: noon, end: nil, isPublic: true)
        Event(id: second, parentID: first, start: noon, end: noon.addingTimeInterval(60))
      }
      .execute(db)
      let events = try #require(try Event.select { $0.jsonGroupArray() }.fetchOne(db))
      #expect(events == (try Event.fetchAll(db)))
      #expect(events.map(\.parentID) == [nil, first])
      #expect(try Event.find(db, key: second).end == noon.addingTimeInterval(60))
      #expect(try Event.find(second).fetchCount(db) == 1 && Event.find([first, second]).fetchCount(db) == 2)
    }
  }

  @Test("keys of two columns")
  func compositeKeys() throws {
    try database.write { (db) throws in
      try Visit.insert {
        Visit(id: Visit.ID(person: "a", day: 1), count: 1)
        Visit(id: .init(person: "b", day: 1), count: 2)
      }
      .execute(db)
      #expect(try Visit.find(.init(person: "b", day: 1)).fetchOne(db)?.count == 2)
      #expect(try Visit.find(db, key: .init(person: "a", day: 1)).count == 1)
      try Visit.find(.init(person: "a", day: 1)).update { $0.count += 5 }.execute(db)
      #expect(try Visit.where { $0.count.gt(0) }.find(.init(person: "a", day: 1)).fetchOne(db)?.count == 6)
      #expect(try Visit.order(by: \.count).find(.init(person: "b", day: 1)).fetchAll(db).count == 1)
      #expect(try Visit.find([.init(person: "a", day: 1), .init(person: "b", day: 1)]).fetchCount(db) == 2)
      let visit = try #require(try Visit.fetchOne(db))
      #expect(visit.primaryKey == visit.id)
      try Visit.find(.init(person: "a", day: 1)).delete().execute(db)
      #expect(try Visit.select(\.id).fetchAll(db) == [.init(person: "b", day: 1)])
      #expect(throws: NotFound.self) { try Visit.find(db, key: .init(person: "a", day: 1)) }
    }
  }

  @Test("enumerations with a group of columns in a case")
  func enumerations() throws {
    try database.write { (db) throws in
      try Shape.insert {
        Shape.Draft(kind: .circle(1.5))
        Shape.Draft(kind: .label("x"))
        Shape.Draft(kind: .box(Size(width: 1, height: 2)))
      }
      .execute(db)
      #expect(
        try Shape.order(by: \.id).fetchAll(db).map(\.kind)
          == [.circle(1.5), .label("x"), .box(Size(width: 1, height: 2))])
      try expectSame(
        db, Shape.order(by: \.id),
        "VALUES (1, 1.5, NULL, NULL, NULL), (2, NULL, 'x', NULL, NULL), (3, NULL, NULL, 1, 2)")
      #expect(try Shape.where { $0.kind.label.is("x") }.select(\.id).fetchAll(db) == [2])
      try Shape.find(2).update { $0.kind = .box(Size(width: 7, height: 7)) }.execute(db)
      #expect(try Shape.select { $0.kind.box.width }.fetchAll(db) == [nil, 7, 1])
    }
  }

  @Test("a table without a key")
  func withoutKey() throws {
    try database.write { (db) throws in
      try LogLine.insert {
        LogLine(text: "a")
        LogLine(text: "b")
      }.execute(db)
      #expect(try LogLine.where { $0.rowid.eq(2) }.fetchAll(db) == [LogLine(text: "b")])
      try LogLine.where { $0.text.eq("a") }.delete().execute(db)
      #expect(try LogLine.fetchOne(db) == LogLine(text: "b"))
    }
  }
}
