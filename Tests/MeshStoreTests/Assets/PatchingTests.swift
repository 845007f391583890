import CSQLite
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// New versions of long BLOBs that are written over those before, chunk by chunk.
@Suite struct PatchingTests {
  private static let schema = "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT, image BLOB)"
  private static let all = "SELECT id, title, hex(image) FROM photo ORDER BY id"
  private static let chunk = Limits.chunk
  /// Beyond what goes into a row in one statement.
  private static let chunks = 6

  private func peer(_ seed: UInt8, _ extra: String = "") throws -> Peer {
    try Peer(seed, schema: Self.schema + "; " + extra, track: ["photo"])
  }

  /// Two that have a row, of which the first then changes a byte of the chunk 3.
  private func pair(_ extra: String = "") throws -> (a: Peer, b: Peer) {
    let (a, b) = (try peer(1), try peer(2, extra))
    try a.run("INSERT INTO photo VALUES ('x', '1', randomblob(\(Self.chunks * Self.chunk - 9)))")
    try b.pull(from: a)
    try a.run(
      """
      UPDATE photo SET title = '2',
        image = CAST(substr(image, 1, \(3 * Self.chunk)) || iif(substr(image, \(3 * Self.chunk) + 1, 1) = x'01', x'02', x'01')
          || substr(image, \(3 * Self.chunk) + 2) AS BLOB)
      """)
    try learn(b, from: a)
    return (a, b)
  }

  /// Everything but the chunks.
  private func learn(_ peer: Peer, from source: Peer) throws {
    try source.flush()
    try peer.receive(from: source)
    peer.now = max(peer.now, source.now)
    try peer.apply()
  }

  /// Past all triggers.
  private func poke(_ peer: Peer, chunk: Int) throws {
    try peer.other.write { db in
      var blob: OpaquePointer?
      #expect(sqlite3_blob_open(db.sqliteConnection, "main", "photo", "image", 1, 1, &blob) == SQLITE_OK)
      #expect(sqlite3_blob_write(blob, Array("poked".utf8), 5, Int32(chunk * Self.chunk)) == SQLITE_OK)
      #expect(sqlite3_blob_close(blob) == SQLITE_OK)
    }
  }

  @Test("a changed byte causes the download of one chunk, and the others are not copied")
  func aChangedByteBringsItsChunkAndTheOthersStayWhereTheyAre() throws {
    let (a, b) = try pair()
    let before = try b.rows("SELECT hex(image) FROM photo")
    let wanted = try #require(try b.store.assets.wantedAssets(limit: 9).first)
    #expect((0..<Self.chunks).filter { !wanted.staged.contains($0) } == [3])
    #expect(try b.staging.assets().isEmpty, "nothing was copied")
    #expect(try b.store.assets.assetBacklog(Peer.zone, absent: []).coming.bytes <= Self.chunk)
    #expect(try b.rows("SELECT hex(image) FROM photo") == before)
    #expect(try b.fetch(from: a) == 1)
    #expect(try b.rows(Self.all) == a.rows(Self.all))
    #expect(try a.digest() == b.digest())
    #expect(try b.staging.assets().isEmpty && b.store.assets.wantedAssets(limit: 9).isEmpty)
    try b.store.capture.rescan()
    try b.upkeep()
    #expect(try b.rows("SELECT * FROM mesh_pending").isEmpty)
    #expect(try b.rows("PRAGMA integrity_check") == ["\"ok\""])
  }

  @Test("a chunk that a program overwrites during a download is downloaded again")
  func whatAProgramWritesMeanwhileIsLookedAtAgain() throws {
    let (a, b) = try pair()
    let wanted = try #require(try b.store.assets.wantedAssets(limit: 9).first)
    let bytes = try #require(try a.store.assets.chunk(3, of: wanted.asset.id, zone: Peer.zone))
    // One that the row has, after it was compared.
    try poke(b, chunk: 5)
    #expect(try b.store.assets.stage(bytes, chunk: 3, of: wanted.asset.id) == .staged(isComplete: true))
    _ = try b.store.assets.placeAssets(now: b.now)
    #expect(try b.rows("SELECT title + 0 FROM photo") == ["2"])
    #expect(try b.fetch(from: a) == 1, "the chunk that was written to")
    #expect(try b.rows(Self.all) == a.rows(Self.all))
    #expect(try a.digest() == b.digest())
  }

  @Test("a new table during a download causes no further chunks to be downloaded")
  func writesOfOthersThatChangeNothingOfItDoNotMatter() throws {
    let (a, b) = try pair()
    _ = try b.store.assets.wantedAssets(limit: 9)
    try b.other.write { try $0.execute(sql: "CREATE TABLE other (n)") }
    #expect(try b.fetch(from: a) == 1)
    #expect(try b.rows(Self.all) == a.rows(Self.all))
  }

  @Test("an app's UPDATE trigger fires when a new BLOB version is put in place") func anAppsTriggersAreNotPassedBy()
    throws
  {
    let (a, b) = try pair(
      """
      CREATE TABLE note (id TEXT);
      CREATE TRIGGER noted AFTER UPDATE OF image ON photo BEGIN INSERT INTO note VALUES (NEW.id); END
      """)
    try b.run("DELETE FROM note")
    #expect(try b.fetch(from: a) == 1)
    #expect(try b.rows(Self.all) == a.rows(Self.all))
    #expect(try b.rows("SELECT id = 'x' FROM note") == ["1"])
  }

  @Test("a row that takes over a BLOB from a deleted row receives all of it") func anotherRowThatWaitsForItGetsAllOfIt()
    throws
  {
    let (a, b) = try pair()
    _ = try b.store.assets.wantedAssets(limit: 9)
    try a.run("INSERT INTO photo SELECT 'y', '3', image FROM photo; DELETE FROM photo WHERE id = 'x'")
    try learn(b, from: a)
    try b.fetch(from: a)
    #expect(try b.rows(Self.all) == a.rows(Self.all))
    #expect(try a.digest() == b.digest())
  }

  @Test("a second row that waits for the same BLOB receives it as well") func aSecondRowThatWaitsForItGetsItAsWell()
    throws
  {
    let (a, b) = try pair()
    let wanted = try #require(try b.store.assets.wantedAssets(limit: 9).first)
    let bytes = try #require(try a.store.assets.chunk(3, of: wanted.asset.id, zone: Peer.zone))
    #expect(try b.store.assets.stage(bytes, chunk: 3, of: wanted.asset.id) == .staged(isComplete: true))
    try a.run("INSERT INTO photo SELECT 'y', '3', image FROM photo")
    try learn(b, from: a)
    try b.fetch(from: a)
    #expect(try b.rows(Self.all) == a.rows(Self.all))
  }

  @Test("a reopened store puts a complete BLOB in place without another download") func aRestartMeanwhileLosesNothing()
    throws
  {
    let (a, b) = try pair()
    let wanted = try #require(try b.store.assets.wantedAssets(limit: 9).first)
    let bytes = try #require(try a.store.assets.chunk(3, of: wanted.asset.id, zone: Peer.zone))
    _ = try b.store.assets.stage(bytes, chunk: 3, of: wanted.asset.id)
    try b.reopen()
    #expect(try b.store.assets.wantedAssets(limit: 9).first?.staged.isComplete == true)
    while try b.store.assets.placeAssets(now: b.now) {}
    #expect(try b.rows(Self.all) == a.rows(Self.all))
  }
}
