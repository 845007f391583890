import Foundation
import GRDB
import SQLiteData
import Testing

// Expressions of types that only the caller of a property knows.
extension Track.TableColumns {
  fileprivate var minutes: some QueryExpression<Int> { seconds / 60 }
  fileprivate var label: some QueryExpression<String> { title + "." }
  fileprivate func isAbove(_ count: Int) -> some QueryExpression<Bool> { plays > count }
}

extension Album {
  fileprivate static let titles = Self.select(\.title)
  fileprivate static let byArtist = Self.join(Artist.all) { $0.artistID.eq($1.id) }.select { $1.name }
}

@DatabaseFunction nonisolated private func describe(_ track: Track, _ unit: String) -> String {
  "\(track.title): \(track.seconds) \(unit)"
}

@DatabaseFunction nonisolated private func longest(_ tracks: some Sequence<Track>) -> String? {
  tracks.max { $0.seconds < $1.seconds }?.title
}

@Suite("Programs of expressions", .serialized)
struct ExpressionPrograms {
  private let database: any DatabaseWriter

  init() throws { database = try musicDatabase(in: DatabaseQueue()) }

  @Test("operators take expressions of opaque types, queries and numbers on both sides")
  func operands() throws {
    try database.read { db in
      try expectSame(
        db, Track.select { ($0.minutes + 1, 1 + $0.minutes, 2 * $0.minutes - $0.plays, -$0.minutes, +$0.plays) },
        """
        SELECT seconds / 60 + 1, 1 + seconds / 60, 2 * (seconds / 60) - plays, -(seconds / 60), plays FROM tracks
        """)
      try expectSame(
        db, Track.select { ("<" + $0.label + ">", $0.label + $0.label, 100 % $0.seconds, 6 & $0.plays, 1 << $0.id) },
        """
        SELECT '<' || title || '.>', title || '.' || title || '.', 100 % seconds, 6 & plays, 1 << id FROM tracks
        """)
      try expectSame(
        db, Track.where { $0.minutes * $0.minutes > 4 && $0.isAbove(1) }.order(by: \.minutes).select(\.id),
        "SELECT id FROM tracks WHERE (seconds / 60) * (seconds / 60) > 4 AND plays > 1 ORDER BY seconds / 60")
      try expectSame(
        db, Values(Track.count() + 1, 2 * Album.count(), (Track.select { $0.id.max() } ?? 0) + 1),
        "SELECT count(*) + 1, 2 * (SELECT count(*) FROM albums), max(id) + 1 FROM tracks")
    }
  }

  @Test("== and != compare with nil as Swift does")
  func equality() throws {
    try database.read { db in
      let country: String? = nil
      try expectSame(db, Artist.where { $0.country == country }.select(\.id), "VALUES (2)")
      try expectSame(db, Artist.where { $0.country != nil }.select(\.id), "VALUES (1), (3)")
      try expectSame(db, Artist.where { $0.country == "CA" }.select(\.id), "VALUES (3)")
      try expectSame(db, Artist.where { $0.country.lower() != nil }.select(\.id), "VALUES (1), (3)")
    }
  }

  @Test("updates change numbers and texts by operators and in place")
  func assignments() throws {
    try database.write { db in
      try Track.find(3).update {
        $0.title.append("y")
        $0.plays.negate()
      }
      .execute(db)
      try expectSame(db, Track.find(3).select { ($0.title, $0.plays) }, "SELECT 'Rainy', -9")
      try Track.find(1).update { $0.seconds %= 50 }.execute(db)
      try Track.find(1).update { $0.plays |= 8 }.execute(db)
      try Track.find(2).update { $0.seconds >>= 2 }.execute(db)
      try Track.find(2).update { $0.plays <<= 3 }.execute(db)
      try Track.find(4).update { $0.seconds &= 6 }.execute(db)
      try expectSame(
        db, Track.where { $0.id.in([1, 2, 4]) }.order(by: \.id).select { ($0.seconds, $0.plays) },
        "VALUES (20, 13), (75, 16), (4, 0)")
    }
  }

  @Test("combined queries of whole rows have the type of a row")
  func combinedRows() throws {
    func titles(_ query: some SQLiteDataQueries.Statement<Track>, _ db: Database) throws -> [String] {
      try query.fetchAll(db).map(\.title)
    }
    try database.read { db in
      let loud = Track.where { $0.plays > 5 }
      let long = Track.where { $0.seconds >= 300 }
      #expect(try titles(loud.union(long), db) == ["Dusk", "Rain", "Rain"])
      #expect(try titles(loud.union(all: true, long).union(all: true, Track.find(4)), db).count == 5)
      #expect(try titles(loud.intersect(long), db) == ["Rain"])
      #expect(try titles(loud.except(long), db) == ["Rain"])
      let pairs = Track.withAlbum.where { track, _ in track.id.eq(1) }
      let rows = try pairs.union(Track.withAlbum.where { track, _ in track.id.eq(5) }).fetchAll(db)
      #expect(rows.map { "\($0.title) on \($1.title)" } == ["Dawn on One", "Rain on Three"])
    }
  }

  @Test("a named query with a selection adds to a selection, and joins")
  func namedSelections() throws {
    try database.read { db in
      try expectSame(db, Album.select(\.id).titles, "SELECT id, title FROM albums")
      try expectSame(
        db, Album.select(\.title).byArtist,
        "SELECT albums.title, name FROM albums JOIN artists ON artists.id = artistID")
      try expectSame(db, Track.having(\.isFavorite).group(by: \.id).select(\.id), "VALUES (2), (5)")
    }
  }

  @Test("#sql stands for a query that is combined, searched, inserted and tested for rows")
  func queries() throws {
    try database.write { db in
      try expectSame(
        db, Track.select(\.id).union(#sql("SELECT 100", as: Int.self)), "SELECT id FROM tracks UNION SELECT 100")
      try expectSame(
        db, Track.where { $0.id.in(#sql("SELECT 2 UNION SELECT 3", as: Int.self)) }.select(\.id), "VALUES (2), (3)")
      try expectSame(
        db, Track.where { Track.where(\.isFavorite).select(\.id).contains($0.id) }.select(\.id), "VALUES (2), (5)")
      try expectSame(db, Values(#sql("SELECT 1 WHERE 0", as: Int.self).exists()), "SELECT 0")
      let jazz = #sql("SELECT 7, 'Jazz'", as: (Int, String).self)
      try Genre.insert {
        ($0.id, $0.title)
      } select: {
        jazz
      }.execute(db)
      #expect(try Genre.find(7).fetchOne(db)?.title == "Jazz")
      try expectSame(
        db, Track.limit { _ in #sql("1 + 1") }.select(\.id), "SELECT id FROM tracks LIMIT 2")
    }
  }

  @Test("the limit, the offset and DISTINCT of a joined query hold for the result")
  func joinedClauses() throws {
    try database.read { db in
      try expectSame(
        db, Track.order(by: \.id).join(Album.limit(2, offset: 3)) { $0.albumID.eq($1.id) }.select { ($0.id, $1.id) },
        "SELECT tracks.id, albumID FROM tracks JOIN albums ON albumID = albums.id ORDER BY 1 LIMIT 2 OFFSET 3")
      try expectSame(
        db, Track.order(by: \.title).join(Album.distinct()) { $0.albumID.eq($1.id) }.select { track, _ in track.title },
        "SELECT DISTINCT title FROM tracks ORDER BY title")
    }
  }

  @Test("a join in which one side selects one column returns values")
  func oneColumn() throws {
    try database.read { db in
      let countries = try Album.where { $0.id < 3 }.join(Artist.select(\.country)) { $0.artistID.eq($1.id) }.fetchAll(
        db)
      #expect(countries == ["AT", "AT"])
      let titles = try Album.select(\.title).join(Artist.all) { $0.artistID.eq($1.id) }.order { $1.id }.fetchAll(db)
      #expect(titles == ["One", "Two", "Three", "Four"])
      let names = try Artist.where { $0.id > 1 }
        .leftJoin(Album.where(\.isLive).select(\.title)) { $0.id.eq($1.artistID) && $1.isLive }
        .fetchAll(db)
      #expect(names == ["Three"])
      let owners = try Album.select(\.title).rightJoin(Artist.where { $0.id > 2 }) { $0.artistID.eq($1.id) }.fetchAll(
        db)
      #expect(owners == [nil])
    }
  }

  @Test("a function takes a whole row, whose columns are arguments")
  func rowArguments() throws {
    try database.write { db in
      db.add(function: $describe)
      db.add(function: $longest)
      #expect(try Track.find(3).select { $describe($0, "s") }.fetchOne(db) == "Rain: 240 s")
      let longestTitles = try Track.group(by: \.albumID).select { $longest($0) }.fetchAll(db)
      #expect(longestTitles == ["Dusk", "Rain", "Rain"])
    }
  }

  @Test("bytes are made from numbers")
  func bytes() throws {
    try database.read { db in
      #expect(try Track.find(3).select { $0.id.zeroblob() }.fetchOne(db) == [0, 0, 0])
      #expect(try Track.find(3).select { $0.id.randomblob() }.fetchOne(db)?.count == 3)
      try expectSame(
        db, Track.select { ($0.plays.groupConcat("+"), $0.isFavorite.groupConcat(distinct: true)) },
        "SELECT group_concat(plays, '+'), group_concat(DISTINCT isFavorite) FROM tracks")
    }
  }
}
