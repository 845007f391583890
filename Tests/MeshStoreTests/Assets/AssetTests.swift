import Foundation
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// BLOBs that travel beside the change sets.
@Suite struct AssetTests {
  private static let chunk = Limits.chunk

  @Test("a row's other columns appear at once, and its BLOB when all chunks are here")
  func otherColumnsAppearAtOnceAndTheBLOBWhenItIsComplete() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', 'harbour', randomblob(\(3 * Self.chunk + 5)))")
    try b.learn(from: a)
    #expect(try a.store.log.mergedVector(Peer.zone)[a.author] == 1, "no pieces")
    #expect(try b.rows("SELECT id = 'x', title = 'harbour', image FROM photo") == ["1|1|NULL"])
    #expect(try a.digest() == b.digest())
    try b.expectNothingNoted()
    #expect(try b.fetch(from: a) == 4)
    #expect(try b.photos() == a.photos())
    #expect(try a.digest() == b.digest())
    try a.expectNothingNoted()
    try b.expectNothingNoted()
    #expect(try b.staging.assets().isEmpty && b.store.assets.wantedAssets(limit: 9).isEmpty)
  }

  @Test("a value over 16 KiB travels as chunks, and a shorter one in the change set") func theLimitIsSixteenKiB()
    throws
  {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', zeroblob(16384), zeroblob(16385))")
    try b.learn(from: a)
    #expect(try b.rows("SELECT length(title), image FROM photo") == ["16384|NULL"])
    #expect(try b.fetch(from: a) == 1)
    #expect(try b.photos() == a.photos())
  }

  @Test("a row shows its old BLOB until the changed chunks of the new one arrive")
  func oldBytesStayTillTheNewAreCompleteAndOnlyOtherChunksAreFetched() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', 'old', randomblob(\(5 * Self.chunk)))")
    try b.pull(from: a)
    let before = try b.rows("SELECT hex(image) FROM photo")
    try a.run(
      """
      UPDATE photo SET title = 'new',
        image = CAST(substr(image, 1, \(2 * Self.chunk)) || iif(substr(image, \(2 * Self.chunk) + 1, 1) = x'01', x'02', x'01')
          || substr(image, \(2 * Self.chunk) + 2) AS BLOB)
      """)
    try b.learn(from: a)
    #expect(try b.rows("SELECT title = 'new' FROM photo") == ["1"])
    #expect(try b.rows("SELECT hex(image) FROM photo") == before)
    #expect(try a.digest() == b.digest())
    try b.expectNothingNoted()
    #expect(try b.fetch(from: a) <= 1)
    #expect(try b.photos() == a.photos())
  }

  @Test("a reopened store does not take the old bytes of an incomplete BLOB for an edit")
  func oldBytesAreKnownAfterARestartAndAreNobodysEdit() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', 'old', randomblob(\(3 * Self.chunk)))")
    try b.pull(from: a)
    let before = try b.rows("SELECT hex(image) FROM photo")
    try a.run(
      "UPDATE photo SET image = CAST(iif(substr(image, 1, 1) = x'01', x'02', x'01') || substr(image, 2) AS BLOB)")
    try b.learn(from: a)
    try b.reopen()
    try b.expectNothingNoted()
    #expect(try b.rows("SELECT hex(image) FROM photo") == before)
    #expect(try b.fetch(from: a) <= 1)
    try synchronize([a, b])
    #expect(try b.photos() == a.photos() && a.rows("SELECT hex(image) FROM photo") != before)
    #expect(try a.digest() == b.digest())
  }

  @Test("a peer downloads equal content once for several rows") func equalContentIsFetchedOnce() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run(
      "INSERT INTO photo VALUES ('x', NULL, randomblob(300000)); INSERT INTO photo SELECT 'y', NULL, image FROM photo")
    try b.learn(from: a)
    #expect(try b.fetch(from: a) == 2)
    try a.run("INSERT INTO photo SELECT 'z', NULL, image FROM photo WHERE id = 'x'")
    try b.learn(from: a)
    #expect(try b.fetch(from: a) == 0)
    #expect(try b.photos() == a.photos())
  }

  @Test("a row whose BLOB is NOT NULL is held until the BLOB is complete")
  func aTableThatAsksForTheBLOBHoldsTheRowBack() throws {
    let schema = "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT, image BLOB NOT NULL)"
    let (a, b) = (try Peer.withPhotos(1, schema), try Peer.withPhotos(2, schema))
    try a.run("INSERT INTO photo VALUES ('x', 'harbour', randomblob(20000))")
    try b.learn(from: a)
    #expect(try b.photos().isEmpty)
    #expect(try b.store.figures.heldCounts() == ["asset-incomplete": 1])
    #expect(try a.digest() == b.digest())
    try a.run("UPDATE photo SET title = 'port'")
    try b.learn(from: a)
    try b.fetch(from: a)
    #expect(try b.photos() == a.photos())
    #expect(try b.store.figures.heldCounts().isEmpty)
    try b.expectNothingNoted()
  }

  @Test("a BLOB that is replaced or deleted during its download is not downloaded further")
  func whatIsReplacedOrDeletedWhileItIsFetchedEndsRight() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run(
      "INSERT INTO photo VALUES ('x', '1', randomblob(600000)), ('y', '1', randomblob(600000)), ('z', '1', randomblob(600000))"
    )
    try b.learn(from: a)
    for want in try b.store.assets.wantedAssets(limit: 9) {
      let bytes = try #require(try a.store.assets.chunk(0, of: want.asset.id, zone: Peer.zone))
      #expect(try b.store.assets.stage(bytes, chunk: 0, of: want.asset.id) == .staged(isComplete: false))
    }
    try a.run("UPDATE photo SET image = randomblob(500000) WHERE id = 'x'; DELETE FROM photo WHERE id = 'y'")
    try a.run("UPDATE photo SET image = 'text' WHERE id = 'z'")
    try b.learn(from: a)
    #expect(try b.store.assets.wantedAssets(limit: 9).map(\.asset.size) == [500_000])
    #expect(try b.fetch(from: a) == 2)
    #expect(try b.photos() == a.photos())
    #expect(try a.digest() == b.digest())
    try b.reopen()
    #expect(try b.staging.assets().isEmpty, "what nobody wants any more is swept")
  }

  @Test(
    "a local edit of a column that waits for its BLOB reaches the other peer",
    arguments: ["NULL", "'small'", "x'01'", "randomblob(40000)"])
  func aLocalEditOfAColumnThatWaitsIsSent(value: String) throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(200000))")
    try b.pull(from: a)
    try a.run("UPDATE photo SET image = randomblob(300000)")
    try b.learn(from: a)
    try b.run("UPDATE photo SET image = \(value)")
    try a.pull(from: b)
    try b.pull(from: a)
    #expect(try b.photos() == a.photos())
    #expect(try a.rows("SELECT length(image) FROM photo").first != "300000")
    #expect(try a.digest() == b.digest())
  }

  @Test("an edit of another column makes no peer download the BLOB again")
  func anEditOfAnotherColumnKeepsTheAssetUnread() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(200000))")
    try b.pull(from: a)
    try b.run("UPDATE photo SET title = '2'")
    try a.learn(from: b)
    #expect(try b.photos() == a.photos())
    #expect(try a.store.assets.wantedAssets(limit: 9).isEmpty)
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a row replaced during a download keeps the BLOB only if it repeats the old bytes",
    arguments: ["image", "NULL", "x'05'"])
  func aRowThatIsWrittenAsAWholeWhileItsBLOBComesKeepsIt(value: String) throws {
    for delete in ["", "DELETE FROM photo;"] {
      let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
      try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(200000))")
      try b.pull(from: a)
      try a.run("UPDATE photo SET image = randomblob(300000)")
      try b.learn(from: a)
      try b.run(
        """
        CREATE TEMP TABLE kept AS SELECT id, '2', \(value) FROM photo; \(delete)
        INSERT OR REPLACE INTO photo SELECT * FROM kept; DROP TABLE kept
        """)
      try a.pull(from: b)
      try b.pull(from: a)
      #expect(try a.rows("SELECT title + 0 FROM photo") == ["2"])
      let length = ["image": "300000", "NULL": "NULL", "x'05'": "1"][value]
      #expect(try a.rows("SELECT length(image) FROM photo") == [length])
      #expect(try b.photos() == a.photos())
      #expect(try a.digest() == b.digest())
      try b.expectNothingNoted()
    }
  }

  @Test("a rescan finds bytes written into a BLOB, and the peer downloads one chunk")
  func aWriteIntoTheBLOBIsFoundByARescan() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', zeroblob(\(3 * Self.chunk)))")
    try b.pull(from: a)
    try a.poke([7], at: Self.chunk + 9)
    try a.store.capture.rescan()
    try a.upkeep()
    try b.learn(from: a)
    #expect(try b.fetch(from: a) == 1)
    #expect(try b.photos() == a.photos())
  }

  @Test("a rescan gives new stamps only to the columns that changed")
  func aRescanBesideAnEditStampsNoBLOBThatIsTheSame() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.pull(from: a)
    // Written there first, and heard of here after the rescan.
    try b.run("UPDATE photo SET image = randomblob(60000)")
    try b.flush()
    a.now = b.now + 1_000
    try a.run("UPDATE photo SET title = '2'")
    try a.store.capture.rescan()
    try synchronize([a, b])
    #expect(try a.rows("SELECT title + 0, length(image) FROM photo") == ["2|60000"])
    #expect(try a.photos() == b.photos() && a.digest() == b.digest())
    // And what is written into a BLOB is no edit of what is beside it.
    try b.run("UPDATE photo SET title = '3'")
    try b.flush()
    a.now = b.now + 1_000
    try a.poke([1, 2, 3], at: 7)
    try a.store.capture.rescan()
    try synchronize([a, b])
    #expect(try a.rows("SELECT title + 0 FROM photo") == ["3"])
    #expect(try a.photos() == b.photos() && a.digest() == b.digest())
  }

  @Test("a row that is deleted and inserted with the same BLOB causes no download")
  func aRowThatIsReplacedBringsNothingAgain() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(2000000))")
    try b.pull(from: a)
    try a.run("CREATE TEMP TABLE kept AS SELECT * FROM photo; DELETE FROM photo; INSERT INTO photo SELECT * FROM kept")
    try b.learn(from: a)
    #expect(try b.fetch(from: a) == 0)
    #expect(try b.photos() == a.photos())
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a long BLOB syncs through tables of every form",
    arguments: [
      "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT, image BLOB) WITHOUT ROWID",
      "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT, image BLOB, note TEXT)",
      "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT, image BLOB, rowid, oid, _rowid_)",
      "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, title TEXT, image BLOB) STRICT",
      "CREATE TABLE photo (id BLOB PRIMARY KEY NOT NULL, title, image TEXT)",
    ])
  func assetsGoThroughTablesOfAllForms(schema: String) throws {
    let (a, b) = (try Peer.withPhotos(1, schema), try Peer.withPhotos(2, schema))
    try a.run(
      "INSERT INTO photo (id, title, image) VALUES (CAST('x' AS \(schema.contains("id BLOB") ? "BLOB" : "TEXT")), 't', NULL)"
    )
    if !schema.contains("STRICT") || schema.contains("image BLOB") {
      try a.run("UPDATE photo SET image = randomblob(\(Self.chunk * 5 + 1))")
    }
    try b.pull(from: a)
    #expect(try b.photos() == a.photos())
    #expect(try b.rows("SELECT typeof(image) = 'blob', length(image) FROM photo") == ["1|\(Self.chunk * 5 + 1)"])
    #expect(try a.digest() == b.digest())
    try b.expectNothingNoted()
  }

  @Test("a chunk with a wrong index, length or byte is rejected") func aChunkThatIsNoneIsNotTaken() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(2 * Self.chunk)))")
    try b.learn(from: a)
    let asset = try #require(try b.store.assets.wantedAssets(limit: 1).first?.asset)
    var bytes = try #require(try a.store.assets.chunk(1, of: asset.id, zone: Peer.zone))
    #expect(try b.store.assets.stage(bytes, chunk: 0, of: asset.id) == .wrong)
    #expect(try b.store.assets.stage(Array(bytes.dropLast()), chunk: 1, of: asset.id) == .wrong)
    #expect(try b.store.assets.stage(bytes, chunk: 2, of: asset.id) == .wrong)
    bytes[9] ^= 1
    #expect(try b.store.assets.stage(bytes, chunk: 1, of: asset.id) == .wrong)
    #expect(try b.store.assets.chunks(of: asset.id, zone: Peer.zone)?.present == 0)
  }

  @Test("a device gives chunks only in zones whose rows use them, and only while they match")
  func chunksAreGivenInZonesWhoseRecordsUseThemAndOnlyWhileTheyAreRight() throws {
    let a = try Peer.withPhotos(1)
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(2 * Self.chunk)))")
    try a.flush()
    let name = try #require(try a.other.read { try Data.fetchOne($0, sql: "SELECT name FROM mesh_asset") })
    let asset = try #require(AssetID(Array(name)))
    #expect(try a.store.assets.chunk(1, of: asset, zone: Peer.zone)?.count == Self.chunk)
    #expect(try a.store.assets.chunk(2, of: asset, zone: Peer.zone) == nil)
    let other = ZoneID([UInt8](repeating: 8, count: 32)).unsafe
    #expect(try a.store.assets.chunk(1, of: asset, zone: other) == nil)
    #expect(try a.store.assets.chunks(of: asset, zone: other) == nil)
    try a.run("UPDATE photo SET image = CAST(substr(image, 1, \(Self.chunk)) || randomblob(\(Self.chunk)) AS BLOB)")
    #expect(try a.store.assets.chunk(0, of: asset, zone: Peer.zone) != nil)
    #expect(try a.store.assets.chunk(1, of: asset, zone: Peer.zone) == nil, "overwritten, and not flushed yet")
    try a.run("DELETE FROM photo")
    try a.flush()
    #expect(try a.store.assets.chunk(0, of: asset, zone: Peer.zone) == nil)
  }

  enum Overwriting: CaseIterable { case sameSize, otherSize, inPlace }

  @Test("a device claims no chunk that a program has overwritten, until it is back", arguments: Overwriting.allCases)
  func overwrittenChunksAreNotClaimed(overwriting: Overwriting) throws {
    let a = try Peer.withPhotos(1)
    try a.run("INSERT INTO photo VALUES ('x', '1', zeroblob(\(2 * Self.chunk)))")
    try a.flush()
    let asset = try a.asset()
    var chunks: ChunkSet? { get throws { try a.store.assets.chunks(of: asset, zone: Peer.zone) } }
    #expect(try chunks?.isComplete == true)
    switch overwriting {
    case .sameSize:
      try a.run("UPDATE photo SET image = CAST(zeroblob(\(Self.chunk)) || randomblob(\(Self.chunk)) AS BLOB)")
    case .otherSize: try a.run("UPDATE photo SET image = x'01'")
    case .inPlace: try a.poke([1], at: Self.chunk)
    }
    let given = try (0..<2).filter { try a.store.assets.chunk($0, of: asset, zone: Peer.zone) != nil }
    #expect(given == (overwriting == .otherSize ? [] : [0]))
    #expect(try chunks.map { chunks in (0..<2).filter(chunks.contains) } == given)
    if overwriting == .inPlace {
      // No trigger tells of such a write, so nothing is flushed.
      try a.poke([0], at: Self.chunk)
      #expect(try a.store.assets.chunk(1, of: asset, zone: Peer.zone) != nil && chunks?.isComplete == true)
    }
    try a.run("UPDATE photo SET image = zeroblob(\(2 * Self.chunk))")
    try a.flush()
    #expect(try chunks?.isComplete == true)
    #expect(try a.store.assets.chunk(1, of: asset, zone: Peer.zone) != nil)
  }

  @Test("a device claims a chunk that a program had overwritten once it has downloaded it again")
  func overwrittenChunksAreDownloadedAgain() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', zeroblob(\(2 * Self.chunk)))")
    try b.pull(from: a)
    let asset = try a.asset()
    try a.run("UPDATE photo SET image = x'01'")
    #expect(try a.store.assets.chunk(1, of: asset, zone: Peer.zone) == nil)
    try a.flush()
    try b.run("INSERT INTO photo SELECT 'y', '1', image FROM photo")
    try a.pull(from: b)
    #expect(try a.asset("y") == asset)
    #expect(try a.rows("SELECT length(image) FROM photo WHERE id = 'y'") == ["\(2 * Self.chunk)"])
    #expect(try a.store.assets.chunks(of: asset, zone: Peer.zone)?.isComplete == true)
  }

  @Test("chunks staged in files remain after the store is reopened") func chunksThatCameAreThereAfterARestart() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("staging-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let a = try Peer.withPhotos(1)
    let b = try Peer(2, schema: Peer.photos, track: ["photo"], staging: FileStaging(directory: directory))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(4 * Self.chunk)))")
    try b.learn(from: a)
    let asset = try #require(try b.store.assets.wantedAssets(limit: 1).first?.asset)
    for index in [0, 2] {
      let bytes = try #require(try a.store.assets.chunk(index, of: asset.id, zone: Peer.zone))
      #expect(try b.store.assets.stage(bytes, chunk: index, of: asset.id) == .staged(isComplete: false))
    }
    try b.reopen()
    let again = try #require(try b.store.assets.wantedAssets(limit: 1).first)
    #expect((0..<4).map(again.staged.contains) == [true, false, true, false])
    #expect(try b.fetch(from: a) == 2)
    #expect(try b.photos() == a.photos())
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
  }

  /// In one statement with its row, and in place after it.
  @Test("chunks that the staging lost are downloaded again", arguments: [3, 6])
  func aChunkThatTheStagingLostIsFetchedAgain(chunks: Int) throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(chunks * Self.chunk)))")
    try b.learn(from: a)
    let asset = try #require(try b.store.assets.wantedAssets(limit: 1).first?.asset)
    for index in 0..<chunks {
      let bytes = try #require(try a.store.assets.chunk(index, of: asset.id, zone: Peer.zone))
      _ = try b.store.assets.stage(bytes, chunk: index, of: asset.id)
    }
    // Somebody tidied up.
    let first = try #require(try b.staging.read(Self.chunk, at: 0, of: asset.id))
    try b.staging.remove(asset.id)
    try b.staging.write(first, at: 0, of: asset.id)
    #expect(throws: StoreError.self) { while try b.store.assets.placeAssets(now: b.now) {} }
    #expect(try b.rows("SELECT image FROM photo") == ["NULL"])
    #expect(try b.store.assets.wantedAssets(limit: 1).first?.staged.contains(1) == false)
    for index in 2..<chunks { #expect(try b.store.assets.chunk(index, of: asset.id, zone: Peer.zone) == nil) }
    #expect(try b.fetch(from: a) == chunks - 1)
    #expect(try b.photos() == a.photos())
  }

  @Test("a chunk damaged in the staging is not given to peers and is downloaded again")
  func aChunkThatWasSpoiltInTheStagingIsNotGivenOn() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(3 * Self.chunk)))")
    try b.learn(from: a)
    let asset = try #require(try b.store.assets.wantedAssets(limit: 1).first?.asset)
    let bytes = try #require(try a.store.assets.chunk(1, of: asset.id, zone: Peer.zone))
    _ = try b.store.assets.stage(bytes, chunk: 1, of: asset.id)
    #expect(try b.store.assets.chunk(1, of: asset.id, zone: Peer.zone) == bytes)
    try b.staging.write([1, 2, 3], at: Self.chunk + 5, of: asset.id)
    #expect(try b.store.assets.chunk(1, of: asset.id, zone: Peer.zone) == nil)
    #expect(try b.fetch(from: a) == 3)
  }

  @Test("the store compares the old version of a BLOB with the new one only once")
  func theVersionBeforeIsReadOnceForWhatItHasInCommon() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(4 * Self.chunk)))")
    try b.pull(from: a)
    try a.run(
      "UPDATE photo SET image = CAST(iif(substr(image, 1, 1) = x'01', x'02', x'01') || substr(image, 2) AS BLOB)")
    let good = try #require(try b.rows("SELECT hex(substr(image, \(2 * Self.chunk) + 1, 1)) FROM photo").first)
    let byte = try #require(UInt8(good.filter { $0 != "\"" }, radix: 16))
    try b.poke([byte ^ 1], at: 2 * Self.chunk)
    try b.learn(from: a)
    let taken = try #require(try b.store.assets.wantedAssets(limit: 1).first?.staged)
    #expect((0..<4).map(taken.contains) == [false, true, false, true])
    // The row has it now, and nobody looks.
    try b.poke([byte], at: 2 * Self.chunk)
    #expect(try b.store.assets.wantedAssets(limit: 1).first?.staged.present == 2)
    #expect(try b.fetch(from: a) == 2)
    #expect(try b.photos() == a.photos())
  }

  @Test("a row whose parent was deleted keeps its BLOB staged until the parent returns")
  func aRowWithoutItsParentKeepsItsBytesAside() throws {
    let schema = """
      CREATE TABLE album (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT REFERENCES album (id), image BLOB)
      """
    func withAlbums(_ seed: UInt8) throws -> Peer { try Peer(seed, schema: schema, track: ["album", "photo"]) }
    let (a, b) = (try withAlbums(1), try withAlbums(2))
    try a.run("INSERT INTO album VALUES ('p'); INSERT INTO photo VALUES ('x', 'p', randomblob(\(2 * Self.chunk)))")
    try b.pull(from: a)
    let before = try a.photos()
    // Deleted there while a photo is put in here.
    try a.run("INSERT INTO photo VALUES ('y', 'p', randomblob(\(2 * Self.chunk)))")
    try a.flush()
    try b.run("DELETE FROM photo; DELETE FROM album")
    try a.learn(from: b)
    #expect(try a.photos().isEmpty)
    #expect(try a.stagedForRows().count == 1)
    try a.reopen()
    try a.run("INSERT INTO album VALUES ('p')")
    try a.flush()
    try a.apply()
    while try a.store.assets.placeAssets(now: a.now) {}
    #expect(try a.rows("SELECT id = 'y', length(image) FROM photo") == ["1|\(2 * Self.chunk)"])
    try b.pull(from: a)
    #expect(try b.photos() == a.photos())
    #expect(try before != a.photos())
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a column that cannot be written in place takes 64 MiB, and the advice says why",
    arguments: [
      ("image BLOB, title TEXT", "", "the column is not the last one"),
      ("title TEXT, image BLOB", "WITHOUT ROWID", "the table is WITHOUT ROWID"),
      ("g AS (1), image BLOB", "", "the table has generated columns (g)"),
      ("title TEXT, image BLOB UNIQUE", "", "a UNIQUE constraint has the column"),
      ("title TEXT, image BLOB", "; CREATE INDEX i ON photo (title, image)", "the index i has the column"),
      ("title TEXT, image BLOB", "; CREATE INDEX i ON photo (lower(title))", "the index i has an expression"),
      (
        "title TEXT, image BLOB", "; CREATE INDEX i ON photo (title) WHERE image IS NULL",
        "the index i may depend on the column"
      ), ("rowid, oid, _rowid_, image BLOB", "", "columns have all names of the rowid (rowid, oid, _rowid_)"),
      (
        "image BLOB, title TEXT", "; CREATE INDEX i ON photo (image)",
        "the index i has the column; because the column is not the last one"
      ),
    ])
  func aBLOBBesideOthersIsBoundedAndTheAdviceSaysWhy(columns: String, rest: String, reason: String) throws {
    let a = try Peer(1, schema: "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, \(columns)) \(rest)", track: [])
    try a.store.access.read { transaction in
      let schema = try #require(try TableSchema.read(transaction.db, "photo"))
      let key = try #require(schema.keyColumn)
      let table = TableForm(
        id: 1, schema: schema, key: key, form: try #require(KeyForm(schema)),
        columns: schema.columns.filter { !$0.isKey && $0.generated == .no }.enumerated().map {
          .init(id: Int64($0), schema: $1)
        })
      let index = try #require(table.index(named: "image"))
      #expect(
        !table.takes(StoreLimits.assetInMemory + 1, in: index) && table.takes(StoreLimits.assetInMemory, in: index))
      #expect(
        table.advice(index)
          == "image takes BLOBs of 64 MiB and no more, because \(reason); change that, or give the BLOB a table of its own"
      )
    }
  }

  @Test("a BLOB that is too long for its column is listed as held with the limit")
  func aBLOBThatIsTooLongForItsColumnIsNoted() throws {
    let schema = "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, image BLOB, title TEXT)"
    let a = try Peer.withPhotos(1, schema)
    try a.run("INSERT INTO photo VALUES ('x', zeroblob(\((64 << 20) + 1)), 't')")
    try a.flush()
    let held = try #require(try a.store.held.list(limit: 9).first)
    #expect(held.reason == .valueTooLong)
    #expect(held.message?.contains("has 67108865 bytes; image takes BLOBs of 64 MiB") == true)
  }

  @Test("a long BLOB that follows an edit of its row arrives with the right bytes")
  func aLongOneIsPutInPlaceWithoutAStatementThatHasIt() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', zeroblob(3000000))")
    try a.run("UPDATE photo SET title = '2'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT title + 0, length(image), image = zeroblob(3000000) FROM photo") == ["2|3000000|1"])
    #expect(try a.digest() == b.digest())
  }

  @Test("a BLOB is downloaded and shown after its missing column is added")
  func theTableThatTheColumnsAreMissingFromShowsTheBLOBWhenItHasThem() throws {
    let a = try Peer.withPhotos(1)
    let b = try Peer.withPhotos(2, "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT)")
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(100000))")
    try b.pull(from: a)
    #expect(try b.store.assets.wantedAssets(limit: 9).isEmpty)
    #expect(try a.digest() == b.digest())
    try b.run("ALTER TABLE photo ADD COLUMN image BLOB")
    try b.upkeep()
    try b.apply()
    try b.fetch(from: a)
    #expect(try b.photos() == a.photos())
    #expect(try a.digest() == b.digest())
  }

  @Test("a reverted BLOB is written again with its bytes by the next instance")
  func whatACutTookBackIsWrittenAgainWithItsBytes() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', NULL)")
    try b.pull(from: a)
    try a.run("UPDATE photo SET image = randomblob(\(2 * Self.chunk))")
    try a.flush()
    let wrote = try a.photos()
    try a.store.merges.revert(
      [a.author: 1], aftermath: [a.author: .writtenAgain], zone: Peer.zone, a.reader, now: a.now)
    #expect(try a.rows("SELECT image FROM photo") == ["NULL"])
    try a.renew(InstanceID(99))
    #expect(try a.store.localWrites.writeAgain(a.writer, now: a.now) != nil)
    while try a.store.assets.placeAssets(now: a.now) {}
    #expect(try a.photos() == wrote)
    try b.pull(from: a)
    #expect(try b.photos() == wrote)
    #expect(try a.digest() == b.digest())
  }

  @Test("concurrent edits of a BLOB end equal on both peers and are listed as a conflict")
  func concurrentEditsOfABLOBEndWithTheLater() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(50000))")
    try b.pull(from: a)
    try a.run("UPDATE photo SET image = randomblob(60000)")
    b.now = a.now + 1_000
    try b.run("UPDATE photo SET image = randomblob(70000)")
    try synchronize([a, b])
    #expect(try b.photos() == a.photos())
    #expect(try a.digest() == b.digest())
    #expect(try a.store.conflicts.list(limit: 9).count + b.store.conflicts.list(limit: 9).count > 0)
  }

  @Test("a file of format 2 sends its long BLOBs after the upgrade") func aFileOfTheFormatBeforeGetsItsLongBLOBsSent()
    throws
  {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(50000))")
    try a.flush()
    try a.other.write { db in
      try db.execute(
        sql: """
          UPDATE mesh_record SET extra = NULL; DROP TABLE mesh_asset; DROP TABLE mesh_asset_use;
          UPDATE mesh_state SET format = 2
          """)
    }
    try a.reopen()
    try a.upkeep()
    try b.pull(from: a)
    #expect(try b.photos() == a.photos())
    #expect(try a.digest() == b.digest())
  }

  // MARK: A disk that fills

  @Test("a full staging delays chunks and reports the fault while other changes merge")
  func whatTheStagingHasNoRoomForWaitsAndTheRestGoesOn() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    let staging = try #require(b.staging as? MemoryStaging)
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(3 * Self.chunk)))")
    try b.learn(from: a)
    let asset = try #require(try b.store.assets.wantedAssets(limit: 1).first?.asset)
    staging.capacity = Self.chunk
    func stage(_ index: Int) throws -> ChunkOutcome {
      let bytes = try #require(try a.store.assets.chunk(index, of: asset.id, zone: Peer.zone))
      return try b.store.assets.stage(bytes, chunk: index, of: asset.id)
    }
    #expect(try stage(0) == .staged(isComplete: false))
    #expect(try stage(1) == .noRoom("the staging in memory is full"))
    try a.run("UPDATE photo SET title = '2'")
    try b.learn(from: a)
    #expect(try b.rows("SELECT title + 0, image FROM photo") == ["2|NULL"])
    // What the file itself has is not kept either, and that stops nothing.
    try b.run("INSERT INTO photo VALUES ('y', '1', NULL)")
    try b.other.write { db in
      let bytes = try a.other.read { try Data.fetchOne($0, sql: "SELECT image FROM photo") }
      try db.execute(sql: "UPDATE photo SET image = ? WHERE id = 'y'", arguments: [bytes])
    }
    try b.flush()
    let wanted = try #require(try b.store.assets.wantedAssets(limit: 9).first)
    #expect(wanted.fault == "the staging in memory is full" && wanted.staged.present == 1)
    staging.capacity = nil
    #expect(try b.store.assets.wantedAssets(limit: 9).first?.fault == nil)
    try synchronize([a, b])
    #expect(try a.photos() == b.photos())
    #expect(try b.rows("SELECT count(*) FROM photo WHERE length(image) = \(3 * Self.chunk)") == ["2"])
  }

  @Test("a complete BLOB that does not fit into the file is tried again a minute later")
  func anAssetThatTheFileHasNoRoomForIsTriedAgainLater() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(6 * Self.chunk)))")
    try b.learn(from: a)
    let pages = try b.store.access.read { try $0.sql.integer("PRAGMA page_count") ?? 0 }
    try b.store.access.read { _ = try $0.sql.integer("PRAGMA max_page_count = \(pages + 100)") }
    #expect(try b.fetch(from: a) == 6)
    #expect(try b.rows("SELECT image FROM photo") == ["NULL"])
    let wanted = try #require(try b.store.assets.wantedAssets(limit: 9).first)
    #expect(wanted.staged.isComplete && wanted.fault?.contains("no space") == true)
    #expect(try b.store.assets.assetBacklog(Peer.zone, absent: []).coming.assets == 1)
    try a.run("UPDATE photo SET title = '2'")
    try b.learn(from: a)
    #expect(try b.rows("SELECT title + 0 FROM photo") == ["2"])
    try b.store.access.read { _ = try $0.sql.integer("PRAGMA max_page_count = 1000000") }
    #expect(try !b.store.assets.placeAssets(now: b.now))
    b.now += 60_000
    #expect(try b.store.assets.placeAssets(now: b.now))
    #expect(try b.photos() == a.photos())
  }
}
