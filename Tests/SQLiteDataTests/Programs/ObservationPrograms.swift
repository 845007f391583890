import Foundation
import Observation
import SQLiteData
import SQLiteDataTestSupport
import Testing

private struct Overview: FetchKeyRequest {
  var minimum = 0

  struct Value: Equatable {
    var tracks: [Track] = []
    var total = 0
  }

  func fetch(_ db: Database) throws -> Value {
    try Value(
      tracks: Track.where { $0.plays.gt(minimum) }.order(by: \.id).fetchAll(db),
      total: Track.select { $0.seconds.sum() }.fetchOne(db).flatMap { $0 } ?? 0)
  }
}

@Selection private struct NameAndCount: Equatable, Sendable {
  let name: String
  let count: Int
}

@Observable private final class LibraryModel {
  @ObservationIgnored @FetchAll(Artist.order(by: \.name)) var artists
  @ObservationIgnored @FetchOne(Track.count()) var trackCount = 0
  @ObservationIgnored @FetchOne var first: Track?
  @ObservationIgnored @Fetch(Overview()) var overview = Overview.Value()
  @ObservationIgnored
  @FetchAll(
    Artist.group(by: \.id).leftJoin(Album.all) { $0.id.eq($1.artistID) }
      .order { artist, _ in artist.id }
      .select { NameAndCount.Columns(name: $0.name, count: $1.count()) })
  var counts
  @ObservationIgnored @FetchAll(Track.where { $0.seconds.gt(100) }, sectionBy: { $0.albumID }) var sections
  @ObservationIgnored
  @FetchAll(#sql("SELECT \(Track.title) FROM \(Track.self) WHERE \(Track.isFavorite)", as: String.self))
  var favorites
  @ObservationIgnored @Dependency(\.defaultDatabase) var database

  func add(_ title: String) throws {
    try database.write { (db) throws in
      try Track.insert { Track.Draft(albumID: 4, title: title, seconds: 200) }.execute(db)
    }
  }

  func search(_ text: String) async throws {
    try await $artists.load(Artist.where { $0.name.contains(text) })
  }
}

@Suite("Programs that observe", .serialized, .dependency(\.defaultDatabase, try musicDatabase(in: defaultDatabase())))
struct ObservationPrograms {
  @Dependency(\.defaultDatabase) private var database

  @Test("a model shows the stored values and follows their changes")
  func model() async throws {
    let model = LibraryModel()
    #expect(model.artists.map(\.name) == ["Anna", "Ben", "Carol"])
    #expect(model.trackCount == 7 && model.first?.title == "Dawn")
    #expect(model.overview.total == 1560)
    #expect(model.counts == [("Anna", 2), ("Ben", 2), ("Carol", 0)].map(NameAndCount.init))
    #expect(model.$sections.sections.sectionNames == ["1", "2", "3"])
    #expect(model.favorites == ["Dusk", "Rain"])
    try model.add("Coda")
    #expect(
      await eventually {
        model.trackCount == 8 && model.overview.total == 1760
          && model.$sections.sections.sectionNames == ["1", "2", "3", "4"]
      }, "the new track arrives everywhere")
    try await model.search("n")
    #expect(model.artists.map(\.name).sorted() == ["Anna", "Ben"])
    try await model.$overview.load(Overview(minimum: 5))
    #expect(model.overview.tracks.map(\.id) == [3, 5])
  }

  @Test("rows without an == follow a change of their last column")
  func lastColumn() async throws {
    @FetchAll(Track.where { $0.id.eq(1) }.select { ($0.title, $0.plays) }) var rows
    #expect(rows.map(\.1) == [5])
    try await database.write { db in try Track.find(1).update { $0.plays = 6 }.execute(db) }
    #expect(await eventually { rows.map(\.1) == [6] })
  }

  @Test("a change tells the observer of an @Observable model")
  func tracking() async throws {
    let model = LibraryModel()
    let changed = AsyncStream<Void>.makeStream()
    withObservationTracking {
      _ = model.trackCount
    } onChange: {
      changed.continuation.yield()
    }
    try model.add("Coda")
    for await _ in changed.stream { break }
    #expect(await eventually { model.trackCount == 8 }, "the count follows")
  }

  @Test("a deleted row leaves the value and an error, or nil")
  func rows() async throws {
    @FetchOne(Artist.find(3)) var optional: Artist?
    @FetchOne(Artist.find(3)) var row = Artist(id: 0)
    @FetchOne(Artist.find(3).select(\.country)) var country
    #expect(optional?.name == "Carol" && row.name == "Carol" && country == "CA")
    try await database.write { db in try Artist.find(3).delete().execute(db) }
    #expect(await eventually { optional == nil && $row.loadError is NotFound && country == nil }, "the row is gone")
    #expect(row.name == "Carol" && $optional.loadError == nil)
    await #expect(throws: NotFound.self) { try await $row.load() }
  }

  @Test("values arrive as an asynchronous sequence, from a subscription until it ends")
  func sequences() async throws {
    @FetchAll(Genre.order(by: \.title).select(\.title)) var titles
    var values = $titles.values.makeAsyncIterator()
    #expect(try await values.next() == ["Folk", "Noise"])
    try await database.write { db in try Genre.insert { Genre.Draft(title: "Opera") }.execute(db) }
    #expect(try await values.next() == ["Folk", "Noise", "Opera"])
    let subscription = try await $titles.load(Genre.where { $0.id.gt(1) }.order(by: \.title).select(\.title))
    #expect(titles == ["Noise", "Opera"])
    subscription.cancel()
    try await database.write { db in try Genre.insert { Genre.Draft(title: "Pop") }.execute(db) }
    try await Task.sleep(for: .milliseconds(50))
    #expect(titles == ["Noise", "Opera"])
    try await $titles.load()
    #expect(titles == ["Noise", "Opera", "Pop"])
  }

  @Test("a failed query keeps the value and says why")
  func errors() async throws {
    @FetchAll(Genre.order(by: \.id).select(\.title)) var titles
    #expect(titles == ["Folk", "Noise"] && $titles.loadError == nil && !$titles.isLoading)
    await #expect(throws: DatabaseError.self) {
      try await $titles.load(#sql("SELECT missing FROM genres", as: String.self))
    }
    #expect(titles == ["Folk", "Noise"] && $titles.loadError != nil)
    try await $titles.load(Genre.where { $0.id.eq(2) }.select(\.title))
    #expect(titles == ["Noise"] && $titles.loadError == nil)
    try await $titles.load(Genre.none.select(\.title))
    #expect(titles.isEmpty)
  }

  @Test("sections follow a column of a joined table and its order")
  func sections() async throws {
    @FetchAll(
      Track.join(Album.all) { $0.albumID.eq($1.id) }.order { track, _ in track.title }.select { track, _ in track },
      sectionBy: { $1.title.desc() })
    var tracks
    #expect($tracks.sections.sectionNames == ["Two", "Three", "One"])
    #expect($tracks.sections[named: "One"]?.map(\.title) == ["Dawn", "Dusk"])
    #expect(tracks.map(\.title) == ["Rain", "Snow", "", "50% off", "Rain", "Dawn", "Dusk"])
  }

  @Test("a preview gets a database of its own")
  func previews() throws {
    try withDependencies {
      $0.context = .preview
      $0.defaultDatabase = try musicDatabase(in: defaultDatabase())
    } operation: {
      @Dependency(\.context) var context
      @FetchOne(Album.count()) var count = 0
      #expect(context == .preview && count == 4)
    }
  }

  @Test("the same SQL in another representation is another request")
  func representations() {
    @FetchOne(#sql("SELECT 2440588", as: Date.UnixTimeRepresentation.self), database: database) var unix = Date()
    @FetchOne(#sql("SELECT 2440588", as: Date.JulianDayRepresentation.self), database: database) var day = Date()
    #expect(unix == Date(timeIntervalSince1970: 2_440_588))
    #expect(day == Date(timeIntervalSince1970: 43_200))
  }
}
