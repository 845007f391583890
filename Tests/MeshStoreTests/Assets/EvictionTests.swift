import Foundation
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Assets that this node does not keep, or does not fetch.
@Suite struct EvictionTests {

  private func pair(_ schema: String = Peer.photos, size: Int = 3 * Limits.chunk) throws -> (Peer, Peer, AssetID) {
    let (a, b) = (try Peer.withPhotos(1, schema), try Peer.withPhotos(2, schema))
    try a.run("INSERT INTO photo (id, title, image) VALUES ('x', '1', randomblob(\(size)))")
    try b.pull(from: a)
    return (a, b, try b.asset())
  }

  @Test("an evicted BLOB leaves its row and returns when it is requested")
  func anEvictedBLOBLeavesTheRowAndComesBackWhenItIsAskedFor() throws {
    let (a, b, asset) = try pair()
    let before = try b.digest()
    #expect(try b.store.assets.evict(asset) == 1)
    #expect(try b.rows("SELECT id, title + 0, image FROM photo") == ["\"x\"|1|NULL"])
    #expect(try b.digest() == before && a.digest() == before)
    try b.expectNothingNoted()
    #expect(try b.store.assets.wantedAssets(limit: 9).isEmpty)
    #expect(try b.store.assets.chunk(0, of: asset, zone: Peer.zone) == nil)
    #expect(try b.store.assets.chunks(of: asset, zone: Peer.zone)?.present == 0)
    #expect(
      try b.store.assets.assetBacklog(Peer.zone, absent: []).absent
        == AssetBacklog.Amount(assets: 1, bytes: 3 * Limits.chunk))
    try b.reopen()
    #expect(try b.fetch(from: a) == 0)
    try b.store.assets.request(asset)
    #expect(try b.fetch(from: a) == 3)
    #expect(try b.photos() == a.photos())
    try b.expectNothingNoted()
  }

  @Test("an edit of a row with an evicted BLOB leaves the BLOB on the other peer")
  func whatIsWrittenToARowWithoutItsBLOBIsSentAndNothingElse() throws {
    let (a, b, asset) = try pair()
    try b.store.assets.evict(asset)
    try b.run("UPDATE photo SET title = '2'")
    try a.pull(from: b)
    #expect(try a.rows("SELECT title + 0, length(image) FROM photo") == ["2|\(3 * Limits.chunk)"])
    #expect(try a.digest() == b.digest())
    // Tables are rebuilt like this.
    try b.run(
      """
      CREATE TABLE other AS SELECT * FROM photo; DELETE FROM photo; INSERT INTO photo SELECT * FROM other; DROP TABLE other
      """)
    try a.pull(from: b)
    #expect(try a.rows("SELECT title + 0, length(image) FROM photo") == ["2|\(3 * Limits.chunk)"])
    #expect(try a.digest() == b.digest())
    try b.run("INSERT OR REPLACE INTO photo SELECT id, '3', image FROM photo")
    try a.pull(from: b)
    #expect(try a.rows("SELECT title + 0, length(image) FROM photo") == ["3|\(3 * Limits.chunk)"])
    #expect(try a.digest() == b.digest())
    try b.expectNothingNoted()
    // Whoever says so clears it.
    try b.run("UPDATE photo SET image = x'07'")
    try a.pull(from: b)
    #expect(try a.photos() == b.photos())
    #expect(try a.digest() == b.digest())
  }

  @Test("NULL clears an evicted BLOB only after another value was written over it", arguments: ["0", "x'07'"])
  func whoWritesNULLOverSomethingElseClearsWhatIsNotHere(other: String) throws {
    let (a, b, asset) = try pair()
    try b.store.assets.evict(asset)
    try b.run("UPDATE photo SET image = NULL; UPDATE photo SET title = '2'")
    try a.pull(from: b)
    #expect(
      try a.rows("SELECT title + 0, length(image) FROM photo") == ["2|\(3 * Limits.chunk)"], "nothing was written")
    try b.run("UPDATE photo SET image = \(other); UPDATE photo SET image = NULL")
    try a.pull(from: b)
    #expect(try a.rows("SELECT title + 0, image FROM photo") == ["2|NULL"])
    #expect(try a.digest() == b.digest())
    #expect(try b.store.assets.places(table: "photo", key: .text(Array("x".utf8)), column: nil).isEmpty)
    for peer in [a, b] { try peer.expectNothingNoted() }
  }

  @Test("old bytes that a program writes again during a download win over the new version")
  func whoWritesTheOldBytesAgainWhileTheNewAreOnTheirWayMeansThem() throws {
    let (a, b, _) = try pair()
    let before = try b.photos()
    try a.run("UPDATE photo SET image = randomblob(200000)")
    try b.learn(from: a)
    try b.run(
      """
      CREATE TEMP TABLE kept AS SELECT image FROM photo; UPDATE photo SET image = NULL;
      UPDATE photo SET image = (SELECT image FROM kept); DROP TABLE kept
      """)
    try a.pull(from: b)
    #expect(try a.photos() == before && b.photos() == before)
    #expect(try a.digest() == b.digest())
    for peer in [a, b] { try peer.expectNothingNoted() }
  }

  @Test("a new version of an evicted BLOB is downloaded under the table's default policy")
  func aNewVersionIsFetchedAsItsTableSays() throws {
    let (a, b, asset) = try pair()
    try b.store.assets.evict(asset)
    try a.run("UPDATE photo SET image = randomblob(200000)")
    try b.pull(from: a)
    #expect(try b.photos() == a.photos())
  }

  @Test("an eviction clears all rows with the content, and a later insert of it is kept")
  func allRowsThatShowItGiveItUpAndWhatIsWrittenAnewIsKept() throws {
    let (a, b, asset) = try pair(size: 30_000)
    try a.run(
      "INSERT INTO photo SELECT 'y' || value, '1', image FROM photo, json_each('[\(Array(0..<250).map(String.init).joined(separator: ","))]')"
    )
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*) FROM photo WHERE image NOTNULL") == ["251"])
    #expect(try b.store.assets.evict(asset) == 251)
    #expect(try b.rows("SELECT count(*) FROM photo WHERE image NOTNULL") == ["0"])
    #expect(try a.digest() == b.digest())
    try b.other.write { db in
      let bytes = try a.other.read { try Data.fetchOne($0, sql: "SELECT image FROM photo LIMIT 1") }
      try db.execute(sql: "INSERT INTO photo VALUES ('z', '1', ?)", arguments: [bytes])
    }
    try a.pull(from: b)
    #expect(try a.store.assets.wantedAssets(limit: 9).isEmpty)
    #expect(try a.rows("SELECT count(*) FROM photo WHERE length(image) = 30000") == ["252"])
    #expect(try b.store.assets.chunk(0, of: asset, zone: Peer.zone) != nil, "it is here again")
  }

  @Test("a BLOB is not evicted while its row or bytes have unsent changes") func bytesThatNobodyElseKnowsAreNotEvicted()
    throws
  {
    let (_, b, asset) = try pair()
    let rows = try b.photos()
    try b.run("UPDATE photo SET title = '2'")
    #expect(throws: EvictionError.written) { try b.store.assets.evict(asset) }
    try b.flush()
    try b.poke([7, 8, 9], at: 5)
    #expect(throws: EvictionError.changed(table: "photo")) { try b.store.assets.evict(asset) }
    #expect(try b.rows("SELECT length(image) FROM photo") == ["\(3 * Limits.chunk)"])
    #expect(try b.photos() != rows)
  }

  @Test(
    "the column's constraints and default decide whether a BLOB can be evicted",
    arguments: [
      ("image BLOB NOT NULL", nil), ("image BLOB NOT NULL DEFAULT x'00'", "x'00'"),
      ("image BLOB DEFAULT x'00'", "NULL"),
      ("image BLOB CHECK (length(image) > 9)", "NULL"), ("image BLOB CHECK (image NOTNULL)", nil),
    ])
  func theColumnSaysWhetherARowCanBeWithoutIt(column: String, shown: String?) throws {
    let (a, b, asset) = try pair("CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT, \(column))")
    if let shown {
      try b.store.assets.evict(asset)
      #expect(try b.rows("SELECT image IS \(shown) FROM photo") == ["1"])
      try b.expectNothingNoted()
      try b.store.assets.request(asset)
      try b.fetch(from: a)
    } else {
      #expect(throws: EvictionError.self) { try b.store.assets.evict(asset) }
    }
    #expect(try b.photos() == a.photos())
    #expect(try a.digest() == b.digest())
  }

  @Test("a table set to on-demand downloads only the BLOBs that are requested")
  func aTableWhoseAssetsAreFetchedOnDemandWaitsToBeAsked() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try b.store.assets.setPolicy(.onDemand, table: "photo")
    #expect(try b.store.assets.policies() == ["photo": .onDemand])
    #expect(throws: StoreError.self) { try b.store.assets.setPolicy(.onDemand, table: "none") }
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(30000)), ('y', '1', randomblob(40000))")
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*), count(image) FROM photo") == ["2|0"])
    #expect(try b.store.assets.assetBacklog(Peer.zone, absent: []).absent.assets == 2)
    let want = try b.asset()
    let bytes = try #require(try a.store.assets.chunk(0, of: want, zone: Peer.zone))
    #expect(try b.store.assets.stage(bytes, chunk: 0, of: want) == .notNeeded)
    try b.store.assets.request(want)
    #expect(try b.fetch(from: a) == 1)
    #expect(try b.rows("SELECT id FROM photo WHERE image NOTNULL") == ["\"x\""])
    try b.store.assets.setPolicy(.always, table: "photo")
    try b.fetch(from: a)
    #expect(try b.photos() == a.photos())
    #expect(try a.digest() == b.digest())
  }

  @Test("a table that only another device has can be set to on-demand before it is adopted", arguments: [true, false])
  func theChoiceComesBeforeTheTable(hasRows: Bool) throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer(2))
    if hasRows {
      try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(30000))")
      try b.pull(from: a)
    }
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: a.author.device, isOwn: true)
    try b.store.assets.setPolicy(.onDemand, table: "photo")
    #expect(try b.store.assets.policies() == ["photo": .onDemand])
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    if !hasRows { try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(30000))") }
    try b.pull(from: a)
    #expect(try b.rows("SELECT id, image FROM photo") == ["\"x\"|NULL"])
    #expect(try b.store.assets.policies() == ["photo": .onDemand])
    #expect(throws: StoreError.self) { try b.store.assets.setPolicy(.onDemand, table: "none") }
  }

  @Test("a row that needs its BLOB downloads it even if the table is on-demand")
  func aRowThatIsNotInSightWithoutItsBLOBDoesNotWaitToBeAsked() throws {
    let schema = "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT, image BLOB NOT NULL)"
    let (a, b) = (try Peer.withPhotos(1, schema), try Peer.withPhotos(2, schema))
    try b.store.assets.setPolicy(.onDemand, table: "photo")
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(30000))")
    try b.pull(from: a)
    #expect(try b.photos() == a.photos())
  }

  @Test("the place of a BLOB names its writer, its last source and the bytes present")
  func aPlaceSaysWhoWroteItAndWhoHadItLast() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(300000))")
    try a.flush()
    try b.receive(from: a)
    b.now = a.now
    try b.apply()
    let want = try #require(try b.store.assets.wantedAssets(limit: 1).first?.asset)
    let bytes = try #require(try a.store.assets.chunk(0, of: want.id, zone: Peer.zone))
    _ = try b.store.assets.stage(bytes, chunk: 0, of: want.id)
    try b.store.assets.noteSources([want.id: a.author.device], now: 77)
    let place = try #require(try b.store.assets.awaited(limit: 9).first)
    #expect(place.writer == a.author.device && place.lastSource?.device == a.author.device)
    #expect(place.here == Limits.chunk && place.lastSource?.time == 77 && !place.isShown && place.isFetched)
    try b.fetch(from: a)
    let there = try #require(try b.store.assets.places(table: "photo", key: .text(Array("x".utf8)), column: nil).first)
    #expect(there.isShown && there.here == 300_000)
  }
}
