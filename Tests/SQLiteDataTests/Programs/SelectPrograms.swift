import Foundation
import SQLiteData
import Testing

private enum Other: AliasName {}

@Selection private struct AlbumSummary: Equatable {
  let album: Album
  let trackCount: Int
  var longest: Int?
}

@Selection private struct TitlePair: Equatable {
  let artist: String
  let album: String?
}

@Table private struct ArtistTotal: Equatable {
  let artistID: Int
  let plays: Int
}

@Table("tracks") private struct LongTrack: Equatable {
  let id: Int
  var seconds = 0

  static let all = Self.where { $0.seconds.gte(300) }
}

@Selection private struct Step {
  let number: Int
}

@Suite("Programs that select", .serialized)
struct SelectPrograms {
  private let database: any DatabaseWriter

  init() throws { database = try musicDatabase(in: DatabaseQueue()) }

  @Test("conditions of one table")
  func conditions() throws {
    try database.read { (db) throws in
      try expectSame(
        db, Track.where { $0.seconds.between(100, and: 250) && !$0.isFavorite }.select(\.id),
        "SELECT id FROM tracks WHERE seconds BETWEEN 100 AND 250 AND NOT isFavorite")
      try expectSame(
        db,
        Track.where {
          $0.plays.gt(4)
          $0.seconds.lt(200)
        }.select(\.title), "SELECT title FROM tracks WHERE plays > 4 AND seconds < 200")
      try expectSame(
        db, Album.where { $0.released.is(nil) || $0.rating.eq(#bind(.poor)) }.select(\.id),
        "SELECT id FROM albums WHERE released IS NULL OR rating = 1")
      try expectSame(
        db, Album.where { $0.rating.in([Album.Rating.good, .fair]) }.select(\.id),
        "SELECT id FROM albums WHERE rating IN (2, 3)")
      try expectSame(
        db, Album.where { $0.rating.isNot(nil).and($0.isLive.not()) }.select(\.id),
        "SELECT id FROM albums WHERE rating IS NOT NULL AND NOT isLive")
      try expectSame(
        db, Album.where(\.isRecent).select(\.title), "SELECT title FROM albums WHERE released > 1000000000")
      try expectSame(
        db, Artist.where { $0.country.neq("AT") }.select(\.id), "SELECT id FROM artists WHERE country <> 'AT'")
      try expectSame(
        db, Artist.where { ($0.country ?? "XX").neq("AT") }.select(\.id),
        "SELECT id FROM artists WHERE coalesce(country, 'XX') <> 'AT'")
      try expectSame(
        db, (Track.where(\.isFavorite) || Track.where { $0.plays.eq(9) }).select(\.id),
        "SELECT id FROM tracks WHERE isFavorite OR plays = 9")
      try expectSame(
        db, (!Track.where { $0.title.eq("Rain") }).select(\.id), "SELECT id FROM tracks WHERE NOT title = 'Rain'")
      // These are the operators of earlier versions.
      try expectSame(
        db, Track.where { $0.seconds > 200 && $0.title == "Rain" }.select(\.id),
        "SELECT id FROM tracks WHERE seconds > 200 AND title = 'Rain'")
    }
  }

  @Test("a condition made by statements of Swift")
  func dynamicConditions() throws {
    func ids(_ db: Database, favorite: Bool, text: String?, above plays: Int?) throws -> [Int] {
      try Track
        .where {
          if favorite { $0.isFavorite }
          if let text { $0.title.contains(text) }
          if let plays { $0.plays.gt(plays) } else { $0.plays.lt(100) }
        }
        .order(by: \.id)
        .select(\.id)
        .fetchAll(db)
    }
    try database.read { (db) throws in
      #expect(try ids(db, favorite: false, text: nil, above: nil) == [1, 2, 3, 4, 5, 6, 7])
      #expect(try ids(db, favorite: true, text: "i", above: nil) == [5])
      #expect(try ids(db, favorite: false, text: "0%", above: nil) == [6])
      #expect(try ids(db, favorite: false, text: nil, above: 5) == [3, 5])
    }
  }

  @Test("orders, limits and distinct rows")
  func orders() throws {
    try database.read { (db) throws in
      try expectSame(
        db, Album.order { ($0.released.desc(nulls: .first), $0.title) }.select(\.title),
        "SELECT title FROM albums ORDER BY released DESC NULLS FIRST, title")
      try expectSame(
        db, Album.order { $0.rating.asc(nulls: .last) }.order(by: \.id).select(\.id),
        "SELECT id FROM albums ORDER BY rating ASC NULLS LAST, id")
      for isDescending in [true, false] {
        try expectSame(
          db,
          Track.order {
            if isDescending { $0.seconds.desc() } else { $0.seconds }
          }.select(\.id), "SELECT id FROM tracks ORDER BY seconds \(isDescending ? "DESC" : "")")
      }
      try expectSame(
        db, Track.order { $0.title.collate(.nocase).desc() }.order(by: \.id).limit(3).offset(1).select(\.id),
        "SELECT id FROM tracks ORDER BY title COLLATE NOCASE DESC, id LIMIT 3 OFFSET 1")
      try expectSame(
        db, Track.distinct().order(by: \.title).select(\.title), "SELECT DISTINCT title FROM tracks ORDER BY title")
      try expectSame(
        db, Track.order(by: \.id).limit { _ in Genre.count() }.select(\.id), "SELECT id FROM tracks ORDER BY id LIMIT 2"
      )
    }
  }

  @Test("texts, numbers and casts")
  func functions() throws {
    try database.read { (db) throws in
      try expectSame(
        db,
        Track.select {
          ($0.title.upper(), $0.title.length(), $0.title.substr(2, 2), $0.title.replace("a", "4"), $0.title.instr("n"))
        },
        """
        SELECT upper(title), length(title), substr(title, 2, 2), replace(title, 'a', '4'), instr(title, 'n')
        FROM tracks
        """
      )
      try expectSame(
        db, Track.select { ($0.seconds / 60, $0.seconds % 60, -$0.plays, ($0.plays - 5).abs(), $0.plays * 2 + 1) },
        "SELECT seconds / 60, seconds % 60, -plays, abs(plays - 5), plays * 2 + 1 FROM tracks")
      try expectSame(
        db, Track.select { ($0.seconds.cast(as: Double.self) / 60).round(1) },
        "SELECT round(CAST(seconds AS REAL) / 60, 1) FROM tracks")
      try expectSame(
        db, Track.where { $0.title.like("%a_n") || $0.title.hasSuffix("off") }.select(\.id),
        "SELECT id FROM tracks WHERE title LIKE '%a_n' OR title LIKE '%off'")
      try expectSame(
        db, Track.where { $0.title.glob("[DR]*") }.select(\.id), "SELECT id FROM tracks WHERE title GLOB '[DR]*'")
      try expectSame(
        db, Track.select { $0.title.nullif("").ifnull("untitled") },
        "SELECT ifnull(nullif(title, ''), 'untitled') FROM tracks")
      try expectSame(
        db, Artist.select { $0.name + " (" + $0.country.ifnull("?") + ")" },
        "SELECT name || ' (' || ifnull(country, '?') || ')' FROM artists")
      #expect(try Artist.select { $0.country.map { $0.lower() } }.fetchAll(db) == ["at", nil, "ca"])
      #expect(try Artist.select { ($0.country.length(), $0.id.typeof()) }.fetchAll(db).map(\.0) == [2, nil, 2])
    }
  }

  @Test("aggregates, groups and conditions of groups")
  func groups() throws {
    try database.read { (db) throws in
      try expectSame(
        db,
        Track.group(by: \.albumID).having { $0.count().gt(1) }.order(by: \.albumID)
          .select { ($0.albumID, $0.count(), $0.seconds.sum(), $0.seconds.avg(), $0.plays.max(), $0.plays.min()) },
        """
        SELECT albumID, count(*), sum(seconds), avg(seconds), max(plays), min(plays)
        FROM tracks GROUP BY albumID HAVING count(*) > 1 ORDER BY albumID
        """)
      try expectSame(
        db, Track.select { ($0.count(filter: $0.isFavorite), $0.title.count(distinct: true), $0.seconds.total()) },
        "SELECT count(*) FILTER (WHERE isFavorite), count(DISTINCT title), total(seconds) FROM tracks")
      try expectSame(
        db, Track.select { $0.title.groupConcat(", ", filter: $0.plays.gt(4)) },
        "SELECT group_concat(title, ', ') FROM (SELECT title FROM tracks WHERE plays > 4)")
      try expectSame(
        db,
        Track.group { ($0.title, $0.isFavorite) }.order { ($0.title, $0.isFavorite) }.select { ($0.title, $0.count()) },
        "SELECT title, count(*) FROM tracks GROUP BY title, isFavorite ORDER BY title, isFavorite")
      try expectSame(
        db, Track.select { ($0.id.count(filter: #sql("\($0.plays) > 4")), countAll(filter: #sql("\($0.plays) > 4"))) },
        "SELECT count(*) FILTER (WHERE plays > 4), count(*) FILTER (WHERE plays > 4) FROM tracks")
      #expect(try Track.count { #sql("\($0.plays) > 4") }.fetchOne(db) == 4)
      #expect(try Track.none.select { $0.seconds.sum() }.fetchAll(db).isEmpty)
      #expect(try Track.where { $0.id.gt(99) }.select { $0.seconds.sum() }.fetchOne(db) == .some(nil))
      #expect(try Track.count { $0.plays.gt(4) }.fetchOne(db) == 4)
    }
  }

  @Test("a filter of an aggregate may be a condition that an outer join leaves NULL")
  func outerFilters() throws {
    try database.read { (db) throws in
      try expectSame(
        db,
        Artist.group(by: \.id).leftJoin(Album.all) { $0.id.eq($1.artistID) }.order { artist, _ in artist.id }
          .select { ($0.name, $1.count(filter: $1.isLive), $1.title.count(filter: !$1.isLive)) },
        """
        SELECT name, count(albums.id) FILTER (WHERE isLive), count(title) FILTER (WHERE NOT isLive)
        FROM artists LEFT JOIN albums ON artists.id = artistID GROUP BY artists.id ORDER BY artists.id
        """)
      try expectSame(
        db,
        Album.group(by: \.id).leftJoin(Track.all) { $0.id.eq($1.albumID) }.order { album, _ in album.id }
          .select {
            (
              $1.seconds.sum(filter: $1.isFavorite), $1.plays.max(filter: $1.isFavorite),
              $1.title.groupConcat(filter: $1.isFavorite), countAll(filter: $1.isFavorite)
            )
          },
        """
        SELECT sum(seconds) FILTER (WHERE isFavorite), max(plays) FILTER (WHERE isFavorite),
          group_concat(tracks.title) FILTER (WHERE isFavorite), count(*) FILTER (WHERE isFavorite)
        FROM albums LEFT JOIN tracks ON albums.id = albumID GROUP BY albums.id ORDER BY albums.id
        """)
    }
  }

  @Test("inner, outer and chained joins")
  func joins() throws {
    try database.read { (db) throws in
      let rows = try Artist.leftJoin(Album.all) { $0.id.eq($1.artistID) }.order { ($0.id, $1.id) }.fetchAll(db)
      #expect(rows.map(\.0.name) == ["Anna", "Anna", "Ben", "Ben", "Carol"])
      #expect(rows.map(\.1?.title) == ["One", "Two", "Three", "Four", nil])
      try expectSame(
        db,
        Artist
          .join(Album.all) { $0.id.eq($1.artistID) }
          .leftJoin(Track.where { $0.plays.gt(4) }) { $1.id.eq($2.albumID) }
          .where { artist, _, _ in artist.country.isNot(nil) }
          .order { ($1.id, $2.id) }
          .select { ($0.name, $1.title, $2.title) },
        """
        SELECT name, albums.title, tracks.title FROM artists JOIN albums ON artists.id = artistID
        LEFT JOIN tracks ON albums.id = albumID WHERE country IS NOT NULL AND plays > 4 ORDER BY albums.id, tracks.id
        """)
      try expectSame(
        db, Album.fullJoin(Genre.all) { $0.id.eq($1.id) }.order { ($0.id, $1.id) }.select { ($0.title, $1.title) },
        """
        SELECT albums.title, genres.title FROM albums FULL JOIN genres ON albums.id = genres.id
        ORDER BY albums.id, genres.id
        """
      )
      try expectSame(
        db,
        Album.rightJoin(Artist.all) { $0.artistID.eq($1.id) }.order { ($1.id, $0.id) }.select { ($0.title, $1.name) },
        "SELECT title, name FROM artists LEFT JOIN albums ON artistID = artists.id ORDER BY artists.id, albums.id")
      try expectSame(
        db,
        Album
          .join(AlbumGenre.all) { $0.id.eq($1.albumID) }
          .join(Genre.all) { $1.genreID.eq($2.id) }
          .where { $2.title.eq("folk") }
          .order { album, _, _ in album.title.desc() }
          .select { album, _, _ in album.title },
        """
        SELECT albums.title FROM albums JOIN albumGenres ON albums.id = albumID JOIN genres ON genreID = genres.id
        WHERE genres.title = 'folk' ORDER BY albums.title DESC
        """)
      try expectSame(
        db,
        Track.join(Track.as(Other.self).all) { $0.title.eq($1.title) && $0.id.lt($1.id) }.select { ($0.id, $1.id) },
        "SELECT a.id, b.id FROM tracks a JOIN tracks b ON a.title = b.title AND a.id < b.id")
    }
  }

  @Test("named queries are parts of other queries")
  func namedQueries() throws {
    try database.read { (db) throws in
      try expectSame(
        db, Track.long.byPlays.select(\.id), "SELECT id FROM tracks WHERE seconds >= 300 ORDER BY plays DESC")
      try expectSame(
        db, Track.long.withAlbum.order { $1.title }.select { ($0.title, $1.title) },
        """
        SELECT tracks.title, albums.title FROM tracks JOIN albums ON albumID = albums.id WHERE seconds >= 300
        ORDER BY albums.title
        """)
    }
  }

  @Test("selections that hold rows and counts")
  func selections() throws {
    try database.read { (db) throws in
      let summaries = try Album.group(by: \.id)
        .leftJoin(Track.all) { $0.id.eq($1.albumID) }
        .order { album, _ in album.id }
        .select { AlbumSummary.Columns(album: $0, trackCount: $1.count(), longest: $1.seconds.max()) }
        .fetchAll(db)
      #expect(summaries.map(\.trackCount) == [2, 2, 3, 0])
      #expect(summaries.map(\.longest) == [300, 240, 600, nil])
      #expect(summaries.first?.album.tags == ["first", "loud"])
      #expect(summaries.map(\.album) == (try Album.order(by: \.id).fetchAll(db)))
      let pairs = try Artist.leftJoin(Album.where(\.isLive)) { $0.id.eq($1.artistID) && $1.isLive }
        .order { artist, _ in artist.id }
        .select { TitlePair.Columns(artist: $0.name, album: $1.title) }
        .fetchAll(db)
      #expect(pairs == [TitlePair(artist: "Ben", album: "Three")])
      let mixed = try Album.find(3).select { ($0.id, $0, $0.title.lower()) }.fetchOne(db)
      #expect(mixed?.1.rating == .good && mixed?.2 == "three")
    }
  }

  @Test("subqueries as values, as lists and as conditions")
  func subqueries() throws {
    try database.read { (db) throws in
      try expectSame(
        db, Album.where { $0.id.in(Track.where(\.isFavorite).select(\.albumID)) }.select(\.title),
        "SELECT title FROM albums WHERE id IN (SELECT albumID FROM tracks WHERE isFavorite)")
      try expectSame(
        db,
        Album.order(by: \.id).select { album in
          (album.title, Track.where { $0.albumID.eq(album.id) }.count())
        }, "SELECT title, (SELECT count(*) FROM tracks WHERE albumID = albums.id) FROM albums ORDER BY id")
      try expectSame(
        db,
        Artist.where { artist in !Album.where { $0.artistID.eq(artist.id) }.exists() }.select(\.name),
        "SELECT name FROM artists WHERE NOT EXISTS (SELECT 1 FROM albums WHERE artistID = artists.id)")
      try expectSame(
        db, Track.where { $0.seconds.gt(Track.select { $0.seconds.avg() ?? 0 }.cast(as: Int.self)) }.select(\.id),
        "SELECT id FROM tracks WHERE seconds > CAST((SELECT avg(seconds) FROM tracks) AS INTEGER)")
      try expectSame(
        db, Values(Track.count(), Artist.where { $0.country.is(nil) }.exists()),
        "SELECT (SELECT count(*) FROM tracks), EXISTS (SELECT 1 FROM artists WHERE country IS NULL)")
    }
  }

  @Test("compound queries and common table expressions")
  func compounds() throws {
    try database.read { (db) throws in
      try expectSame(
        db, Artist.select(\.name).union(Genre.select(\.title)).order(byColumn: 1),
        "SELECT name FROM artists UNION SELECT title FROM genres ORDER BY 1")
      try expectSame(
        db,
        Track.select(\.title).union(all: true, Track.select(\.title)).intersect(
          Track.where(\.isFavorite).select(\.title)),
        """
        SELECT title FROM tracks UNION ALL SELECT title FROM tracks
        INTERSECT SELECT title FROM tracks WHERE isFavorite
        """
      )
      let totals = With {
        Album.join(Track.all) { $0.id.eq($1.albumID) }
          .group { album, _ in album.artistID }
          .select { ArtistTotal.Columns(artistID: $0.artistID, plays: $1.plays.sum() ?? 0) }
      } query: {
        Artist.leftJoin(ArtistTotal.all) { $0.id.eq($1.artistID) }
          .order { artist, _ in artist.id }
          .select { ($0.name, $1.plays) }
      }
      let rows = try totals.fetchAll(db)
      #expect(rows.map(\.0) == ["Anna", "Ben", "Carol"])
      #expect(rows.map(\.1) == [16, 13, nil])
      let steps = With {
        Step(number: 1)
          .union(all: true, Step.where { $0.number.lt(5) }.select { Step.Columns(number: $0.number + 1) })
      } query: {
        Step.select { $0.number.sum() }
      }
      #expect(try steps.fetchOne(db) == 15)
    }
  }

  @Test("window functions")
  func windows() throws {
    try database.read { (db) throws in
      try expectSame(
        db,
        Track.order(by: \.id).select {
          (
            $0.id, rowNumber().over(Window().partition(by: $0.albumID).order(by: $0.seconds.desc())),
            $0.plays.sum().over(Window().order(by: $0.id).frame("ROWS BETWEEN 1 PRECEDING AND CURRENT ROW")),
            $0.title.lag().over(Window().order(by: $0.id)), rank().over(Window().order(by: $0.plays)),
            $0.seconds.firstValue().over(Window().partition(by: $0.albumID).order(by: $0.id))
          )
        },
        """
        SELECT id, row_number() OVER (PARTITION BY albumID ORDER BY seconds DESC),
          sum(plays) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW),
          lag(title) OVER (ORDER BY id), rank() OVER (ORDER BY plays),
          first_value(seconds) OVER (PARTITION BY albumID ORDER BY id)
        FROM tracks ORDER BY id
        """)
      try expectSame(
        db,
        Track.order(by: \.id).select {
          (
            $0.id, denseRank().over(Window().order(by: $0.plays)), percentRank().over(Window().order(by: $0.plays)),
            cumeDist().over(Window().order(by: $0.plays)), ntile(2).over(Window().order(by: $0.id)),
            $0.title.lead().over(Window().order(by: $0.id)),
            $0.seconds.lastValue().over(Window().partition(by: $0.albumID).order(by: $0.id))
          )
        },
        """
        SELECT id, dense_rank() OVER (ORDER BY plays), percent_rank() OVER (ORDER BY plays),
          cume_dist() OVER (ORDER BY plays), ntile(2) OVER (ORDER BY id), lead(title) OVER (ORDER BY id),
          last_value(seconds) OVER (PARTITION BY albumID ORDER BY id)
        FROM tracks ORDER BY id
        """)
    }
  }

  @Test("cases with and without a base")
  func cases() throws {
    try database.read { (db) throws in
      try expectSame(
        db, Album.order(by: \.id).select { Case($0.rating).when(Album.Rating.good, then: "good").else("other") },
        "SELECT CASE rating WHEN 3 THEN 'good' ELSE 'other' END FROM albums ORDER BY id")
      try expectSame(
        db,
        Track.order {
          Case().when($0.isFavorite, then: 0).when($0.plays.gt(5), then: 1).else(2)
        }.order(by: \.id).select(\.id),
        "SELECT id FROM tracks ORDER BY CASE WHEN isFavorite THEN 0 WHEN plays > 5 THEN 1 ELSE 2 END, id")
    }
  }

  @Test("JSON columns, objects and arrays")
  func json() throws {
    try database.read { (db) throws in
      try expectSame(
        db, Album.where { $0.tags.jsonArrayLength().gt(1) }.select(\.title),
        "SELECT title FROM albums WHERE json_array_length(tags) > 1")
      let rows = try Artist.group(by: \.id)
        .leftJoin(Album.all) { $0.id.eq($1.artistID) }
        .order { artist, _ in artist.id }
        .select { ($0.name, $1.jsonGroupArray()) }
        .fetchAll(db)
      // SQLite aggregates the rows of a group in any order.
      let albums = rows.map { $0.1.sorted { $0.id < $1.id } }
      #expect(albums.map { $0.map(\.title) } == [["One", "Two"], ["Three", "Four"], []])
      #expect(albums.flatMap { $0 } == (try Album.order(by: \.id).fetchAll(db)))
      // The filter also holds for the row without an album.
      let filtered = try Artist.group(by: \.id)
        .leftJoin(Album.all) { $0.id.eq($1.artistID) }
        .order { artist, _ in artist.id }
        .select { $1.jsonGroupArray(filter: $0.id.gt(1)) }
        .fetchAll(db)
      #expect(filtered.map(\.count) == [0, 2, 0])
      let titles = try Track.group(by: \.albumID).order(by: \.albumID)
        .select { $0.title.jsonGroupArray(filter: $0.title.neq("")) }
        .fetchAll(db)
      #expect(titles == [["Dawn", "Dusk"], ["Rain", "Snow"], ["Rain", "50% off"]])
      #expect(try Genre.find(1).select { $0.jsonObject() }.fetchOne(db) == Genre(id: 1, title: "Folk"))
    }
  }

  @Test("rows by key, first rows, counts and cursors")
  func fetches() throws {
    try database.read { (db) throws in
      #expect(try Artist.find(db, key: 2).name == "Ben")
      #expect(try Artist.where { $0.country.isNot(nil) }.find(db, key: 3).name == "Carol")
      #expect(throws: NotFound.self) { try Artist.where { $0.country.isNot(nil) }.find(db, key: 2) }
      #expect(try Artist.find(2).select(\.name).fetchOne(db) == "Ben")
      #expect(try Artist.find([1, 3]).order(by: \.id).fetchAll(db).map(\.name) == ["Anna", "Carol"])
      #expect(try Artist.order { $0.id.desc() }.fetchOne(db)?.id == 3)
      #expect(try Track.where(\.isFavorite).fetchCount(db) == 2)
      #expect(try Track.limit(3).fetchCount(db) == 3)
      let cursor = try Track.order(by: \.id).select { ($0.id, $0.title) }.fetchCursor(db)
      #expect(try cursor.next()?.1 == "Dawn")
      #expect(try cursor.next()?.0 == 2)
      let all = try Track.all.fetchAll(db)
      #expect(try Track.fetchAll(db) == all && Track.unscoped.fetchAll(db) == all)
    }
  }

  @Test("a default scope holds for a row that is found by its key")
  func defaultScope() throws {
    try database.read { (db) throws in
      #expect(try LongTrack.find(db, key: 2) == LongTrack(id: 2, seconds: 300))
      #expect(throws: NotFound.self) { try LongTrack.find(db, key: 1) }
      #expect(try LongTrack.find([1, 2, 5]).order(by: \.id).fetchAll(db).map(\.id) == [2, 5])
      #expect(try LongTrack.fetchCount(db) == 2 && LongTrack.unscoped.fetchCount(db) == 7)
      #expect(try LongTrack.unscoped.find(db, key: 1).seconds == 120)
    }
  }

  @Test("#sql as a whole statement and as a part of one")
  func rawSQL() throws {
    try database.read { (db) throws in
      let plays = 4
      try expectSame(
        db,
        #sql(
          """
          SELECT \(Track.columns) FROM \(Track.self) WHERE \(Track.plays) > \(bind: plays) ORDER BY \(Track.id)
          """, as: Track.self), "SELECT * FROM tracks WHERE plays > 4 ORDER BY id")
      let counts = try #sql(
        "SELECT \(Album.self).\(quote: Album.title.name), count(*) FROM \(Album.self) GROUP BY 1 ORDER BY 1",
        as: (String, Int).self
      ).fetchAll(db)
      #expect(counts.map(\.0) == ["Four", "One", "Three", "Two"])
      #expect(try #sql("SELECT count(*) FROM tracks", as: Int.self).fetchOne(db) == 7)
      #expect(try Track.where { #sql("\($0.title) = \("Rain")") && $0.isFavorite }.fetchAll(db).map(\.id) == [5])
      let direction = "DESC"
      #expect(
        try Track.order { #sql("\($0.plays) \(raw: direction), \($0.id)") }.limit(2).select(\.id).fetchAll(db) == [
          3, 5,
        ])
    }
  }

  @Test("the key of a row in a program is the key of its row in the table")
  func primaryKeys() throws {
    func reload<Row: PrimaryKeyedTable>(_ db: Database, _ row: Row) throws -> Row {
      try Row.find(db, key: row.primaryKey)
    }
    try database.read { (db) throws in
      let artist = try Artist.find(db, key: 3)
      #expect(artist.primaryKey == 3)
      #expect(try reload(db, artist) == artist)
      #expect(try Artist.where { $0.primaryKey.eq(artist.primaryKey) }.fetchCount(db) == 1)
    }
  }
}
