import GRDB
import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// BLOBs wherever a table can have them, whatever becomes of them while a peer fetches.
@Suite struct AssetShapeTests {
  private static let chunk = Limits.chunk

  enum Shape: String, CaseIterable {
    case last = "id TEXT PRIMARY KEY NOT NULL, title TEXT, more BLOB, image BLOB"
    case middle = "id TEXT PRIMARY KEY NOT NULL, image BLOB, title TEXT, more BLOB"
    case notNull = "id TEXT PRIMARY KEY NOT NULL, title TEXT, more BLOB, image BLOB NOT NULL"
    case withDefault = "id TEXT PRIMARY KEY NOT NULL, title TEXT, more BLOB, image BLOB NOT NULL DEFAULT x'00'"
    case integerKey = "id INTEGER PRIMARY KEY NOT NULL, title TEXT, more BLOB, image"
    case withoutRowid = "id TEXT PRIMARY KEY NOT NULL, title TEXT, more BLOB, image"

    var schema: String { "CREATE TABLE photo (\(rawValue))\(self == .withoutRowid ? " WITHOUT ROWID" : "")" }
  }

  private static let all = "SELECT id, title, hex(more), typeof(image), hex(image) FROM photo ORDER BY id"

  private func peers(_ shape: Shape) throws -> (Peer, Peer) {
    (try Peer(1, schema: shape.schema, track: ["photo"]), try Peer(2, schema: shape.schema, track: ["photo"]))
  }

  /// Everything but the chunks, of which each asset's first comes.
  private func begin(_ peer: Peer, from source: Peer) throws {
    try peer.learn(from: source)
    for want in try peer.store.assets.wantedAssets(limit: 9) where !want.staged.contains(0) {
      let bytes = try #require(try source.store.assets.chunk(0, of: want.asset.id, zone: Peer.zone))
      _ = try peer.store.assets.stage(bytes, chunk: 0, of: want.asset.id)
    }
  }

  private func expectEqual(_ a: Peer, _ b: Peer) throws {
    #expect(try b.rows(Self.all) == a.rows(Self.all))
    #expect(try a.digest() == b.digest())
    #expect(try b.store.assets.wantedAssets(limit: 9).isEmpty && b.stagedForRows().isEmpty)
    for peer in [a, b] { try peer.expectNothingNoted() }
  }

  @Test(
    "indexes and generated columns over a long BLOB match its new version",
    arguments: TestSeeds.some(of: [
      ("", "CREATE INDEX i ON photo (substr(image, 1, 8))"), ("", "CREATE INDEX i ON photo (lower(title))"),
      ("", "CREATE INDEX i ON photo (image)"),
      ("", "CREATE INDEX i ON photo (title) WHERE substr(image, 1, 1) > x'7f'"),
      ("head AS (hex(substr(image, 1, 2))), ", "CREATE INDEX i ON photo (head)"),
      ("head AS (hex(substr(image, 1, 2))), ", "SELECT 1"), ("head AS (hex(substr(image, 1, 2))) STORED, ", "SELECT 1"),
    ]))
  func whatIsComputedFromALongBLOBIsRight(generated: String, index: String) throws {
    // Both are as long: one must not be taken for the other.
    let columns = "title TEXT, \(generated) more BLOB, image BLOB"
    let schema = "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, \(columns)); \(index)"
    let (a, b) = (try Peer(1, schema: schema, track: ["photo"]), try Peer(2, schema: schema, track: ["photo"]))
    let blob = "randomblob(\(2 * Self.chunk))"
    try a.run(
      "INSERT INTO photo (id, title, more, image) VALUES ('x', 'a', \(blob), \(blob)), ('y', 'b', \(blob), \(blob))")
    try b.learn(from: a)
    try b.fetch(from: a)
    try a.run("UPDATE photo SET image = CAST(x'ffee' || substr(image, 3) AS BLOB)")
    try b.learn(from: a)
    try b.fetch(from: a)
    #expect(try b.rows("SELECT count(*) FROM photo WHERE substr(image, 1, 2) = x'ffee'") == ["2"])
    for rows in [Self.all, "SELECT * FROM photo ORDER BY id"] { #expect(try b.rows(rows) == a.rows(rows)) }
    #expect(try b.rows("PRAGMA integrity_check") == ["\"ok\""] && b.store.held.list(limit: 9).isEmpty)
    #expect(try a.digest() == b.digest() && b.store.assets.wantedAssets(limit: 9).isEmpty)
  }

  @Test("a peer downloads both BLOBs of a row, and each content once for all rows", arguments: Shape.allCases)
  func twoOfARowAndTheSameInManyCome(shape: Shape) throws {
    let (a, b) = try peers(shape)
    try a.run(
      """
      INSERT INTO photo (id, title, more, image) VALUES (1, 'a', randomblob(\(2 * Self.chunk)), randomblob(300000));
      INSERT INTO photo (id, title, more, image) SELECT 2, 'b', image, more FROM photo WHERE id = 1;
      INSERT INTO photo (id, title, more, image) SELECT value, 'c', NULL, image FROM photo p, json_each('[3,4,5]') j WHERE p.id = 1
      """)
    try begin(b, from: a)
    #expect(try b.fetch(from: a) == 2, "each content once, and its first chunk is here")
    try expectEqual(a, b)
  }

  @Test(
    "a BLOB that is overwritten during its download shows the new value on both peers",
    arguments: TestSeeds.some(of: Shape.allCases),
    [
      "randomblob(20000)", "x'0102'", "zeroblob(16384)", "zeroblob(16385)", "'text'", "7", "coalesce(more, x'07')",
      "CAST('t' AS BLOB)",
    ])
  func whatItBecomesWhileItIsFetchedIsShown(shape: Shape, value: String) throws {
    let (a, b) = try peers(shape)
    try a.run(
      """
      INSERT INTO photo (id, title, more, image) VALUES (1, 'a', zeroblob(70000), randomblob(\(3 * Self.chunk)));
      INSERT INTO photo (id, title, more, image) VALUES (2, 'b', NULL, randomblob(\(3 * Self.chunk)))
      """)
    try begin(b, from: a)
    try a.run("UPDATE photo SET image = \(value) WHERE id = 1; UPDATE photo SET title = 'still' WHERE id = 2")
    try begin(b, from: a)
    try b.fetch(from: a)
    try expectEqual(a, b)
    // And when the version before was whole.
    try a.run("UPDATE photo SET image = randomblob(\(2 * Self.chunk + 1))")
    try begin(b, from: a)
    try a.run("UPDATE photo SET image = \(value) WHERE id = 2; DELETE FROM photo WHERE id = 1")
    try b.pull(from: a)
    try expectEqual(a, b)
  }

  @Test("a device still gives chunks after a VACUUM and a new column", arguments: TestSeeds.some(of: Shape.allCases))
  func aVACUUMAndANewColumnOfTheGiverChangeNothing(shape: Shape) throws {
    let (a, b) = try peers(shape)
    try a.run("INSERT INTO photo (id, title, image) VALUES (1, 'a', randomblob(\(20 * Self.chunk)))")
    try begin(b, from: a)
    let asset = try #require(try b.store.assets.wantedAssets(limit: 1).first).asset
    #expect(try a.store.assets.chunk(3, of: asset.id, zone: Peer.zone) != nil)
    try a.other.writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
    #expect(try a.store.assets.chunk(4, of: asset.id, zone: Peer.zone) != nil)
    try a.run("ALTER TABLE photo ADD COLUMN later TEXT")
    try a.upkeep()
    #expect(try a.store.assets.chunk(5, of: asset.id, zone: Peer.zone) != nil)
    try b.pull(from: a)
    #expect(try b.rows("SELECT hex(image) FROM photo") == a.rows("SELECT hex(image) FROM photo"))
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a table gives no chunks while it is renamed, and gives them again afterwards",
    arguments: [Shape.last, .withoutRowid], TestSeeds.some(of: [3, 20]))
  func aTableThatIsRenamedAndBackGivesOnOnceItsRecordsAreShownAgain(shape: Shape, chunks: Int) throws {
    let (a, b) = try peers(shape)
    try a.run("INSERT INTO photo (id, title, image) VALUES (1, 'a', randomblob(\(chunks * Self.chunk)))")
    let rows = try a.rows(Self.all)
    try begin(b, from: a)
    let digest = try a.digest()
    let asset = try #require(try b.store.assets.wantedAssets(limit: 1).first).asset
    try a.run("ALTER TABLE photo RENAME TO away")
    try a.flush()
    try a.apply()
    #expect(try a.store.assets.chunk(1, of: asset.id, zone: Peer.zone) == nil)
    try a.run("ALTER TABLE away RENAME TO photo")
    // Its flush takes the rows that it still had back.
    try a.flush()
    #expect(try a.store.assets.chunk(1, of: asset.id, zone: Peer.zone) != nil)
    #expect(try a.rows(Self.all) == rows && a.digest() == digest)
    try b.pull(from: a)
    try expectEqual(a, b)
    #expect(try a.store.assets.wantedAssets(limit: 9).isEmpty && a.staging.assets().isEmpty)
  }

  @Test("a reverted BLOB is not shown: its row has the former one, or waits for it", arguments: [true, false])
  func cutTakesBack(keeps: Bool) throws {
    let (a, b) = try peers(.last)
    if !keeps { try a.store.assets.keepOverwritten(upTo: 0) }
    let late = try Peer(3, schema: Shape.last.schema, track: ["photo"])
    try a.run("INSERT INTO photo VALUES (1, 'a', randomblob(\(2 * Self.chunk)), randomblob(\(2 * Self.chunk)))")
    try b.pull(from: a)
    try late.pull(from: a)
    let before = try a.rows(Self.all)
    try b.run("UPDATE photo SET image = randomblob(\(3 * Self.chunk)), title = 'b'")
    try a.pull(from: b)
    #expect(try a.rows(Self.all) == b.rows(Self.all))
    try a.store.merges.revert([b.author: 0], aftermath: [b.author: .receipt], zone: Peer.zone, a.reader, now: a.now)
    if keeps {
      #expect(try a.rows(Self.all) == before && a.store.assets.wantedAssets(limit: 9).isEmpty)
      return
    }
    let left = try a.rows("SELECT title, typeof(image), length(image), length(more) FROM photo")
    #expect(left == ["\"a\"|\"null\"|NULL|\(2 * Self.chunk)"])
    #expect(try a.store.assets.wantedAssets(limit: 9).map(\.asset.size) == [2 * Self.chunk])
    // It comes back from whoever had not got what was taken back.
    #expect(try a.fetch(from: late) == 2)
    #expect(try a.rows(Self.all) == before)
    #expect(try a.digest() == late.digest())
    try a.reopen()
    #expect(try a.staging.assets().isEmpty)
  }

  @Test("a revert of a row's other columns leaves its BLOB in place")
  func aBLOBThatWasNotTouchedStaysThoughItsRowIsWrittenAnew() throws {
    let (a, b) = try peers(.middle)
    try a.run("INSERT INTO photo VALUES (1, randomblob(\(2 * Self.chunk)), 'a', NULL)")
    try b.pull(from: a)
    let before = try a.rows(Self.all)
    try b.run("UPDATE photo SET title = 'b', more = randomblob(50000)")
    try a.pull(from: b)
    try a.store.merges.revert([b.author: 0], aftermath: [b.author: .receipt], zone: Peer.zone, a.reader, now: a.now)
    while try a.store.assets.placeAssets(now: a.now) {}
    #expect(try a.rows(Self.all) == before)
    try a.reopen()
    #expect(try a.stagedForRows().isEmpty && a.store.assets.wantedAssets(limit: 9).isEmpty)
  }
}
