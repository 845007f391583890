import MeshCore
import Testing

@testable import MeshStore

/// A member whose change sets name BLOBs that there are none of, or in columns that have none.
@Suite struct ManifestLiesTests {
  private static let schema = """
    CREATE TABLE album (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE);
    CREATE TABLE photo (
      id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, title TEXT, stars INTEGER,
      album TEXT REFERENCES album (id) ON DELETE CASCADE, cover TEXT REFERENCES album (id) ON DELETE SET NULL,
      old TEXT REFERENCES album (id) ON DELETE SET DEFAULT, sure BLOB NOT NULL DEFAULT x'', image BLOB)
    """

  private func peers() throws -> (Peer, Peer) {
    (
      try Peer(1, schema: Self.schema, track: ["album", "photo"]),
      try Peer(2, schema: Self.schema, track: ["album", "photo"])
    )
  }

  /// Of a BLOB that nobody has.
  private func manifest(_ size: Int, _ seed: UInt8 = 5) throws -> AssetManifest {
    let hashes = (0..<Asset.chunkCount(size: size) * AssetManifest.hashSize).map {
      UInt8(truncatingIfNeeded: $0) &* seed
    }
    return try #require(AssetManifest(key: [UInt8](repeating: 8, count: 32), size: size, hashes: hashes))
  }

  private func row(
    _ forger: Forger, _ key: Value, _ values: [FieldValue], generation: UInt64 = 1, time: HybridTime
  ) -> RowChange {
    RowChange(
      key: key, generation: generation, isLife: true, stamp: Stamp(time: time, author: forger.author),
      fields: values.enumerated().map { .init(column: $0, value: $1) })
  }

  /// Both merge it.
  private func tell(_ peers: [Peer], _ forger: inout Forger, _ columns: [String], _ rows: [RowChange]) throws {
    let now = peers.map(\.now).max() ?? 0
    let lie = try forger.make(
      .changes([TableChanges(table: "photo", columns: columns, rows: rows)]), time: HybridTime(milliseconds: now))
    for peer in peers {
      peer.now = now
      #expect(try peer.store.log.store([lie], zone: Peer.zone, now: now) == [.stored])
      #expect(try peer.apply().isEmpty)
    }
  }

  @Test(
    "a forged BLOB in any column does not stop later writes from merging",
    arguments: ["id", "title", "stars", "album", "cover", "old", "sure", "image", "unknown"])
  func aBLOBThatNobodyHasStopsNothingInWhateverColumnItIs(column: String) throws {
    let (a, b) = try peers()
    var forger = try Forger(9)
    try a.run("INSERT INTO album VALUES ('p'); INSERT INTO photo (id, title, album) VALUES ('y', 'fine', 'p')")
    try b.pull(from: a)
    let lie = FieldValue.asset(try manifest(3 * Limits.chunk))
    let time = HybridTime(milliseconds: a.now)
    try tell(
      [a, b], &forger, ["title", column == "title" ? "stars" : column],
      [row(forger, .text(Array("x".utf8)), column == "title" ? [lie] : [.value(.text([65])), lie], time: time)])
    #expect(try a.digest() == b.digest())
    for peer in [a, b] {
      try peer.expectNothingNoted()
      #expect(try peer.fetch(from: peer === a ? b : a) == 0)
      for want in try peer.store.assets.wantedAssets(limit: 9) {
        let some = [UInt8](repeating: 0, count: Limits.chunk)
        #expect(try peer.store.assets.stage(some, chunk: 0, of: want.asset.id) == .wrong)
        #expect(try peer.store.assets.chunks(of: want.asset.id, zone: Peer.zone)?.present == 0)
      }
      try peer.reopen()
      try peer.expectNothingNoted()
    }
    // Others' writes go on, to that very row as well.
    try a.run("INSERT OR REPLACE INTO photo (id, title, album, image) VALUES ('x', 'new', 'p', randomblob(300000))")
    try b.run("UPDATE photo SET image = randomblob(40000) WHERE id = 'y'; DELETE FROM album")
    try synchronize([a, b])
    let all = "SELECT id, title, stars, album, cover, old, hex(sure), hex(image) FROM photo ORDER BY id"
    #expect(try a.rows(all) == b.rows(all))
    #expect(try a.digest() == b.digest())
    for peer in [a, b] { try peer.expectNothingNoted() }
  }

  /// The chunks of the manifest are three.
  @Test(
    "a change set whose BLOB size does not fit its chunks is malformed, and others merge",
    arguments: [
      10_000, Limits.inlineBlob, 2 * Limits.chunk, 3 * Limits.chunk + 1, 900_000_000, Limits.asset + 1, Int.max,
    ])
  func aSizeThatItsChunksDoNotHaveIsMalformedAndOthersGoOn(size: Int) throws {
    let (a, b) = try peers()
    var forger = try Forger(9)
    let honest = try manifest(3 * Limits.chunk)
    func text(_ size: Int) -> [UInt8] {
      var writer = ByteWriter()
      writer.raw(honest.key)
      writer.varint(size)
      return writer.bytes
    }
    let time = HybridTime(milliseconds: a.now)
    let lie = try forger.make(
      .changes([
        TableChanges(
          table: "photo", columns: ["image"], rows: [row(forger, .text([97]), [.asset(honest)], time: time)])
      ]), time: time, altering: { $0.replacing(text(3 * Limits.chunk), with: text(size)) })
    _ = try b.store.log.store([lie], zone: Peer.zone, now: b.now)
    #expect(try b.apply() == [.malformed: 1])
    try a.run("INSERT INTO photo (id, image) VALUES ('y', randomblob(300000))")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id, hex(image) FROM photo") == a.rows("SELECT id, hex(image) FROM photo"))
    #expect(try a.digest() == b.digest())
  }

  @Test("a BLOB whose last chunk fits no bytes stays missing until it is overwritten")
  func aLastChunkThatNoBytesFitIsOneThatNobodyHas() throws {
    let (a, b) = try peers()
    var forger = try Forger(9)
    let bytes = [UInt8](repeating: 3, count: Limits.chunk)
    let key = [UInt8](repeating: 8, count: 32)
    let hash = AssetManifest.hash(chunk: bytes, key: key, a.cryptography)
    // The same chunk again and again, and an end that is shorter than what its hash is of.
    let manifest = try #require(
      AssetManifest(key: key, size: 40 * Limits.chunk + 9, hashes: Array(repeatElement(hash, count: 41).joined())))
    try tell(
      [a, b], &forger, ["image"],
      [row(forger, .text([97]), [.asset(manifest)], time: HybridTime(milliseconds: a.now))])
    let asset = try #require(try b.store.assets.wantedAssets(limit: 9).first?.asset)
    for index in 0..<40 {
      #expect(try b.store.assets.stage(bytes, chunk: index, of: asset.id) == .staged(isComplete: false))
    }
    #expect(try b.store.assets.stage(bytes, chunk: 40, of: asset.id) == .wrong)
    #expect(try b.store.assets.stage(Array(bytes.prefix(9)), chunk: 40, of: asset.id) == .wrong)
    #expect(try b.rows("SELECT image FROM photo") == ["NULL"])
    // What nobody wants any more goes.
    try a.run("UPDATE photo SET image = x'07'")
    try b.pull(from: a)
    _ = try b.store.assets.wantedAssets(limit: 9)
    #expect(try b.rows("SELECT hex(image) FROM photo") == a.rows("SELECT hex(image) FROM photo"))
    #expect(try b.staging.assets().isEmpty)
  }

  @Test("a BLOB too long for its column is not downloaded, and its place says why")
  func whatIsTooLongForItsColumnIsNotFetchedAndItsPlaceSaysSo() throws {
    let a = try Peer.withPhotos(1, "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, image BLOB, title TEXT)")
    var forger = try Forger(9)
    try tell(
      [a], &forger, ["image", "title"],
      [
        row(
          forger, .text([97]), [.asset(try manifest(StoreLimits.assetInMemory + 1)), .value(.text([66]))],
          time: HybridTime(milliseconds: a.now))
      ])
    #expect(try a.rows("SELECT image, title FROM photo") == ["NULL|\"B\""])
    #expect(try a.store.assets.wantedAssets(limit: 9).isEmpty)
    let place = try #require(try a.store.assets.awaited(limit: 9).first)
    #expect(place.obstacle?.contains("last one") == true && place.isFetched)
    // In the last column there is room for it.
    try a.run(
      "CREATE TABLE new (id TEXT PRIMARY KEY NOT NULL, title TEXT, image BLOB); INSERT INTO new SELECT id, title, image FROM photo;"
        + "DROP TABLE photo; ALTER TABLE new RENAME TO photo")
    try a.flush()
    try a.apply()
    #expect(try a.store.assets.awaited(limit: 9).first?.obstacle == nil)
    #expect(try a.store.assets.wantedAssets(limit: 9).count == 1)
  }
}
