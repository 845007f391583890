import Foundation
import SQLiteData
import Testing

import struct GRDB.DatabaseValue
import class GRDB.Row
import struct GRDB.StatementArguments

// These are the tables of the programs in this folder.

@Table struct Artist: Codable, Hashable, Identifiable {
  let id: Int
  var name = ""
  var country: String?
}

@Table struct Album: Codable, Hashable, Identifiable {
  let id: Int
  var artistID: Artist.ID
  var title = ""
  @Column(as: Date.UnixTimeRepresentation?.self)
  var released: Date?
  var rating: Rating?
  var isLive = false
  @Column(as: [String].JSONRepresentation.self)
  var tags: [String] = []

  enum Rating: Int, Codable, QueryBindable {
    case poor = 1
    case fair, good
  }
}

@Table struct Track: Codable, Hashable, Identifiable {
  let id: Int
  var albumID: Album.ID
  var title = ""
  var seconds = 0
  var plays = 0
  var isFavorite = false
}

@Table struct Genre: Codable, Hashable, Identifiable {
  let id: Int
  var title = ""
}

@Table("albumGenres") struct AlbumGenre: Hashable {
  let albumID: Album.ID
  let genreID: Genre.ID
}

extension Album.TableColumns {
  var isRecent: some QueryExpression<Bool> { #sql("\(released) > \(bind: 1_000_000_000)") }
}

extension Track {
  static let long = Self.where { $0.seconds.gte(300) }
  static let byPlays = Self.order { $0.plays.desc() }
  static let withAlbum = Self.join(Album.all) { $0.albumID.eq($1.id) }
}

/// Returns a database with three artists, four albums and seven tracks. Carol has no album, and "Four" has no track.
func musicDatabase(in database: any DatabaseWriter) throws -> any DatabaseWriter {
  try database.write { db in
    try db.execute(
      sql: """
        CREATE TABLE artists (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT);
        CREATE TABLE albums (
          id INTEGER PRIMARY KEY, artistID INTEGER NOT NULL REFERENCES artists ON DELETE CASCADE,
          title TEXT NOT NULL UNIQUE, released INTEGER, rating INTEGER, isLive INTEGER NOT NULL DEFAULT 0,
          tags TEXT NOT NULL DEFAULT '[]');
        CREATE TABLE tracks (
          id INTEGER PRIMARY KEY, albumID INTEGER NOT NULL REFERENCES albums ON DELETE CASCADE,
          title TEXT NOT NULL, seconds INTEGER NOT NULL DEFAULT 0, plays INTEGER NOT NULL DEFAULT 0,
          isFavorite INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE genres (id INTEGER PRIMARY KEY, title TEXT NOT NULL COLLATE NOCASE UNIQUE);
        CREATE TABLE albumGenres (
          albumID INTEGER NOT NULL REFERENCES albums ON DELETE CASCADE, genreID INTEGER NOT NULL REFERENCES genres);
        """)
    try db.seed {
      Artist(id: 1, name: "Anna", country: "AT")
      Artist(id: 2, name: "Ben", country: nil)
      Artist(id: 3, name: "Carol", country: "CA")
      Album(
        id: 1, artistID: 1, title: "One", released: Date(timeIntervalSince1970: 100), rating: .good,
        tags: ["first", "loud"])
      Album(id: 2, artistID: 1, title: "Two", released: Date(timeIntervalSince1970: 2_000_000_000), rating: .poor)
      Album(id: 3, artistID: 2, title: "Three", rating: .good, isLive: true, tags: ["loud"])
      Album(id: 4, artistID: 2, title: "Four")
      Track(id: 1, albumID: 1, title: "Dawn", seconds: 120, plays: 5)
      Track(id: 2, albumID: 1, title: "Dusk", seconds: 300, plays: 2, isFavorite: true)
      Track(id: 3, albumID: 2, title: "Rain", seconds: 240, plays: 9)
      Track(id: 4, albumID: 2, title: "Snow", seconds: 180, plays: 0)
      Track(id: 5, albumID: 3, title: "Rain", seconds: 600, plays: 7, isFavorite: true)
      Track(id: 6, albumID: 3, title: "50% off", seconds: 30, plays: 1)
      Track(id: 7, albumID: 3, title: "", seconds: 90, plays: 5)
      Genre(id: 1, title: "Folk")
      Genre(id: 2, title: "Noise")
      AlbumGenre(albumID: 1, genreID: 1)
      AlbumGenre(albumID: 3, genreID: 1)
      AlbumGenre(albumID: 3, genreID: 2)
    }
  }
  return database
}

/// Runs a statement and handwritten SQL, and expects the same values from both.
func expectSame(
  _ db: Database, _ statement: some Statement, _ sql: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let query = statement.query
  let (made, bindings) = query.prepare { _ in "?" }
  let arguments = bindings.map { binding -> DatabaseValue in
    switch binding {
    case .null: .null
    case .int(let value): value.databaseValue
    case .bool(let value): value.databaseValue
    case .double(let value): value.databaseValue
    case .text(let value): value.databaseValue
    case .blob(let value): Data(value).databaseValue
    case .uuid(let value): value.uuidString.lowercased().databaseValue
    case .date, .uint, .invalid: preconditionFailure("the programs bind no such value")
    }
  }
  func values(_ sql: String, _ arguments: StatementArguments = []) throws -> [[DatabaseValue]] {
    try Row.fetchAll(db, sql: sql, arguments: arguments).map { Array($0.databaseValues) }
  }
  let found = try values(made, StatementArguments(arguments))
  let expected = try values(sql)
  #expect(found == expected, "\(query.debugDescription)", sourceLocation: sourceLocation)
}
