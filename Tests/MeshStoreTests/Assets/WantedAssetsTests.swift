import MeshCore
import Testing

@testable import MeshStore

/// Which assets have their turn, and what is said to be lacking.
@Suite struct WantedAssetsTests {
  @Test("a BLOB that is too long to show is listed once with the reason")
  func whatIsFetchedAndCannotBeShownIsToldOnceWithTheReason() throws {
    let schema = "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, image BLOB\u{20}"
    let a = try Peer.withPhotos(1, schema + ")")
    // There is something behind the column; and one that may not be without its BLOB.
    for rest in [", title TEXT)", "NOT NULL, title TEXT)"] {
      let b = try Peer.withPhotos(2, schema + rest)
      try a.run("DELETE FROM photo; INSERT INTO photo VALUES ('x', zeroblob(70000000)), ('y', zeroblob(300000))")
      try a.run("INSERT INTO photo SELECT 'z', image FROM photo WHERE id = 'x'")
      try b.learn(from: a)
      let fetched = try b.store.assets.fetched()
      #expect(fetched.map(\.asset.size) == [300_000, 70_000_000] && fetched.map(\.here) == [0, 0])
      #expect(fetched.first?.obstacle == nil)
      #expect(fetched.last?.obstacle?.contains("because the column is not the last one") == true)
      let place = try #require(try b.store.assets.places(table: "photo", key: .text("x"), column: nil).first)
      #expect(place.obstacle == fetched.last?.obstacle)
      try b.fetch(from: a)
      #expect(try b.store.assets.fetched().map(\.asset.size) == [70_000_000])
      try b.store.assets.setPolicy(.onDemand, table: "photo")
      #expect(
        try b.store.assets.fetched().isEmpty == (rest == ", title TEXT)"), "a row that is not in sight has it fetched")
    }
  }

  @Test("a request for a table downloads all BLOBs its rows wait for, and no others")
  func allThatATablesRowsWaitForIsRequestedAtOnceAndNothingElse() throws {
    let schema = "; CREATE TABLE film (id TEXT PRIMARY KEY NOT NULL, data BLOB)"
    func peer(_ seed: UInt8) throws -> Peer { try Peer(seed, schema: Peer.photos + schema, track: ["photo", "film"]) }
    let (a, b) = (try peer(1), try peer(2))
    for table in ["photo", "film"] { try b.store.assets.setPolicy(.onDemand, table: table) }
    try a.insertPhoto("x", 50_000)
    try a.insertPhoto("y", 60_000)
    try a.run("INSERT INTO film VALUES ('f', randomblob(70000))")
    try b.pull(from: a)
    try b.store.assets.requestAll(table: "PHOTO")
    #expect(try b.store.assets.awaited(table: "photo", limit: 9).map(\.isFetched) == [true, true])
    try b.fetch(from: a)
    #expect(try b.photos() == a.photos() && b.rows("SELECT data FROM film") == ["NULL"])
    #expect(try b.store.assets.awaited(table: "photo", limit: 9).isEmpty)
    #expect(try b.store.assets.awaited(limit: 9).map(\.isFetched) == [false])
    try a.insertPhoto("z", 80_000)
    try b.pull(from: a)
    #expect(try b.store.assets.awaited(table: "photo", limit: 9).map(\.isFetched) == [false], "it follows the policy")
    #expect(throws: StoreError.self) { try b.store.assets.requestAll(table: "foto") }
  }

  @Test("a lookup says why a record has no asset") func whyARecordHasNoAssetIsTold() throws {
    let a = try Peer.withPhotos(
      1, "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, image BLOB, title TEXT)")
    func lack(_ key: String, _ column: String? = nil) throws -> AssetLack {
      try a.store.assets.lack(table: "Photo", keys: [.text(Array(key.utf8))], column: column)
    }
    try a.run("INSERT INTO photo VALUES ('X', x'05', 't'), ('y', zeroblob(70000000), NULL), ('gone', x'07', NULL)")
    #expect(try lack("X") == .pending && lack("x", "image") == .pending && lack("z") == .unknownRecord)
    try a.flush()
    try a.run("DELETE FROM photo WHERE id = 'gone'")
    try a.flush()
    #expect(try lack("x") == .short && lack("X", "Image") == .short)
    #expect(try lack("x", "imgae") == .unknownColumn(["id", "image", "title"]))
    #expect(try lack("z") == .unknownRecord && lack("gone") == .unknownRecord)
    guard case .tooLong(let message) = try lack("Y") else { throw Stuck() }
    #expect(message.contains("the column is not the last one"))
    #expect(throws: StoreError.self) { try a.store.assets.lack(table: "foto", keys: [], column: nil) }
  }

  @Test("the list of downloads has the bytes that are here, or the missing column")
  func whatIsFetchedIsCountedWithWhatIsHereOfIt() throws {
    let a = try Peer.withPhotos(1)
    let b = try Peer.withPhotos(2, "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT)")
    try a.insertPhoto("x", 300_000)
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: a.author.device, isOwn: true)
    try b.learn(from: a)
    #expect(try b.store.assets.fetched().first?.obstacle?.contains("mesh schema --apply") == true)
    try b.run("ALTER TABLE photo ADD COLUMN image BLOB")
    try b.upkeep()
    try b.apply()
    #expect(try b.store.assets.fetched().map(\.here) == [0])
    let asset = try b.asset()
    let bytes = try #require(try a.store.assets.chunk(0, of: asset, zone: Peer.zone))
    _ = try b.store.assets.stage(bytes, chunk: 0, of: asset)
    #expect(try b.store.assets.fetched() == [FetchedAsset(asset: Asset(id: asset, size: 300_000), here: Limits.chunk)])
  }

  private func backlog(_ peer: Peer, absent: Set<AssetID> = []) throws -> AssetBacklog {
    try peer.store.assets.assetBacklog(Peer.zone, absent: absent)
  }

  @Test("downloads alternate between writers, however many BLOBs one of them has")
  func eachDeviceHasItsTurnHoweverManyAnotherNames() throws {
    let (flood, honest, reader) = (try Peer.withPhotos(1), try Peer.withPhotos(2), try Peer.withPhotos(3))
    for number in 0..<6 { try flood.insertPhoto("f\(number)", 20_000 + number) }
    try honest.insertPhoto("h", 900_000)
    try reader.learn(from: flood)
    try reader.learn(from: honest)
    let wanted = try reader.store.assets.wantedAssets(limit: 3, besides: [])
    #expect(wanted.assets.map(\.asset.size) == [20_000, 900_000, 20_001])
    #expect(!wanted.isAll)
    // Who overwrites has written it.
    try flood.learn(from: honest)
    try flood.run("UPDATE photo SET image = randomblob(19999) WHERE id = 'h'")
    try reader.learn(from: flood)
    #expect(try reader.store.assets.wantedAssets(limit: 2).map(\.asset.size) == [19_999, 20_000])
    let others = try reader.store.assets.wantedAssets(limit: 9, besides: Set(wanted.assets.map(\.asset.id)))
    #expect(others.assets.map(\.asset.size) == [19_999, 20_002, 20_003, 20_004, 20_005])
    #expect(others.isAll)
  }

  @Test("what a look found holds until the uses of the asset, its chunks or the schema change")
  func looksHold() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', 'harbour', zeroblob(300000))")
    try a.insertPhoto("other", 50_000)
    try b.learn(from: a)
    let asset = try b.asset()
    func look() throws -> WantedAsset? {
      try b.store.assets.wantedAssets(limit: 9).first { $0.asset.id == asset }
    }
    func isKnown() -> Bool { b.store.assets.staged.look(asset) != nil }
    #expect(try look()?.staged.present == 0 && isKnown())
    try b.run("INSERT INTO photo VALUES ('local', 'port', randomblob(30000))")
    try b.flush()
    try a.run("UPDATE photo SET title = 'quay' WHERE id = 'other'")
    try b.learn(from: a)
    #expect(isKnown(), "another row was written")
    let bytes = try #require(try a.store.assets.chunk(1, of: asset, zone: Peer.zone))
    _ = try b.store.assets.stage(bytes, chunk: 1, of: asset)
    #expect(isKnown())
    #expect(try look()?.staged.present == 1)
    try b.run("CREATE TABLE another (id TEXT)")
    #expect(try look()?.staged.present == 1 && isKnown())
    try b.run("INSERT INTO photo VALUES ('same', 'port', zeroblob(300000))")
    try b.flush()
    #expect(!isKnown())
    #expect(try look()?.staged.isComplete == true, "the other row has all of it")
    while try b.store.assets.placeAssets(now: 0) {}
    #expect(try b.rows("SELECT length(image) FROM photo WHERE id = 'x'") == ["300000"])
    #expect(try b.store.assets.staged.assets().isEmpty)
  }

  @Test("chunks of an asset that no row waits for any more are removed by the next look")
  func releasedAssetsAreRemoved() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 300_000)
    try a.insertPhoto("y", 400_000)
    try b.learn(from: a)
    let assets = [try b.asset("x"), try b.asset("y")]
    for asset in assets {
      let bytes = try #require(try a.store.assets.chunk(0, of: asset, zone: Peer.zone))
      _ = try b.store.assets.stage(bytes, chunk: 0, of: asset)
    }
    #expect(try b.store.assets.wantedAssets(limit: 9).count == 2)
    try a.run("DELETE FROM photo WHERE id = 'x'; UPDATE photo SET image = NULL WHERE id = 'y'")
    try b.learn(from: a)
    #expect(try b.store.assets.wantedAssets(limit: 9).isEmpty)
    #expect(try b.stagedForRows().isEmpty)
  }

  @Test("the download room is bounded per device, and each device has room for one BLOB")
  func noDeviceTakesAllTheRoomAndEachHasSome() {
    var room = FetchRoom()
    func take(_ size: Int, _ device: UInt8) -> Bool { room.take(size, of: [device]) }
    let long = Limits.asset
    let first = (take(long, 1), take(long, 1), take(long, 1))
    #expect(first == (true, true, false))
    let others = (take(long, 2), take(long, 3), take(long, 3), take(long, 4), take(20_000, 4))
    #expect(others == (true, true, false, true, false), "one, beyond the bound of all")
    var staged = FetchRoom()
    staged.occupy(StoreLimits.stagedBytesOfDevice, of: [1])
    staged.occupy(0, of: [2])
    let after = (staged.take(20_000, of: [1]), staged.take(long, of: [2]))
    #expect(after == (false, true))
  }

  @Test("the backlog counts the bytes of each BLOB until it is in its row")
  func whatIsLackingIsCountedTillItIsInItsRow() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 3 * Limits.chunk)
    try a.insertPhoto("y", 20_000)
    try a.run("INSERT INTO photo SELECT 'z', '1', image FROM photo WHERE id = 'y'")
    try b.learn(from: a)
    #expect(try backlog(b).coming == AssetBacklog.Amount(assets: 2, bytes: 3 * Limits.chunk + 20_000))
    let wanted = try b.store.assets.wantedAssets(limit: 9)
    let long = try #require(wanted.last?.asset.id)
    let bytes = try #require(try a.store.assets.chunk(1, of: long, zone: Peer.zone))
    _ = try b.store.assets.stage(bytes, chunk: 1, of: long)
    #expect(try backlog(b).coming.bytes == 2 * Limits.chunk + 20_000)
    #expect(try backlog(b, absent: [long]).absent == AssetBacklog.Amount(assets: 1, bytes: 2 * Limits.chunk))
    #expect(try backlog(b, absent: [long]).coming.assets == 1)
    try b.fetch(from: a)
    #expect(try backlog(b) == AssetBacklog())
    #expect(try backlog(a) == AssetBacklog())
  }

  @Test("a BLOB that a CHECK keeps out leaves the backlog once it is staged")
  func whatAConstraintKeepsOutIsNotLackingOnceItIsKept() throws {
    let (a, b) = (
      try Peer.withPhotos(1), try Peer.withPhotos(2, Peer.photos.dropLast() + ", CHECK (length(image) < 30000))")
    )
    try a.insertPhoto("x", 40_000)
    try b.learn(from: a)
    #expect(try b.fetch(from: a) == 1)
    #expect(try backlog(b) == AssetBacklog())
    #expect(try b.staging.assets().count == 1, "what was in memory is in the file now")
    try b.reopen()
    _ = try b.store.assets.wantedAssets(limit: 9)
    #expect(try backlog(b) == AssetBacklog())
  }

  @Test("a BLOB whose row has no table counts as absent") func whatIsHeldForAnotherReasonIsAbsent() throws {
    let a = try Peer.withPhotos(1)
    let b = try Peer(2, schema: "CREATE TABLE other (id TEXT PRIMARY KEY NOT NULL)", track: ["other"])
    try a.insertPhoto("x", 40_000)
    try b.learn(from: a)
    #expect(try backlog(b) == AssetBacklog(absent: AssetBacklog.Amount(assets: 1, bytes: 40_000)))
  }

  @Test("a file of format 4 gets its asset columns and downloads its BLOBs") func aFileOfTheFormatBeforeGetsItsColumns()
    throws
  {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 40_000)
    try b.learn(from: a)
    try b.run(
      """
      DROP INDEX mesh_asset_waiting;
      ALTER TABLE mesh_asset_use DROP COLUMN author;
      CREATE TABLE before (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, manifest BLOB NOT NULL);
      INSERT INTO before SELECT id, name, size, manifest FROM mesh_asset;
      DROP TABLE mesh_asset;
      ALTER TABLE before RENAME TO mesh_asset;
      UPDATE mesh_state SET format = 4
      """)
    try b.reopen()
    try b.upkeep()
    #expect(try b.fetch(from: a) == 1)
    #expect(try b.rows("SELECT length(image) FROM photo") == ["40000"])
    #expect(try a.digest() == b.digest())
  }
}
