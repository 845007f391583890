import MeshCore
import Testing

@testable import MeshStore

/// BLOBs in columns that get another name.
@Suite struct RenamedAssetTests {
  private static let all = "SELECT id, hex(picture) FROM photo ORDER BY id"

  private func expectNothingWaits(_ peer: Peer, _ location: SourceLocation = #_sourceLocation) throws {
    #expect(
      try peer.store.assets.wantedAssets(limit: 9).isEmpty && peer.stagedForRows().isEmpty, sourceLocation: location)
    #expect(try peer.store.assets.assetBacklog(Peer.zone, absent: []) == AssetBacklog(), sourceLocation: location)
    #expect(
      try peer.store.assets.places(table: "photo", key: .text(Array("x".utf8)), column: nil).count == 1,
      sourceLocation: location)
  }

  @Test("no row waits for a BLOB under its column's former name, and nothing keeps it", arguments: [0, 1 << 20])
  func renamedOnBoth(budget: Int) throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    for peer in [a, b] { try peer.store.assets.keepOverwritten(upTo: budget) }
    try a.insertPhoto("x", 50_000)
    try a.insertPhoto("y", 60_000)
    try synchronize([a, b])
    for peer in [a, b] {
      try peer.run("ALTER TABLE photo RENAME COLUMN image TO picture")
      try synchronize([a, b])
    }
    for peer in [a, b] { try expectNothingWaits(peer) }
    #expect(try a.rows(Self.all) == b.rows(Self.all))
    try a.run("UPDATE photo SET picture = randomblob(70000) WHERE id = 'x'")
    try synchronize([a, b])
    for peer in [a, b] {
      try peer.reopen()
      try expectNothingWaits(peer)
    }
    #expect(try a.rows(Self.all) == b.rows(Self.all) && a.digest() == b.digest())
  }

  @Test(
    "a column that is added under a former name is a new one, or has its BLOBs again if the table was untracked",
    arguments: [false, true])
  func addedAgain(untracked: Bool) throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try synchronize([a, b])
    try b.run("ALTER TABLE photo RENAME COLUMN image TO picture")
    try synchronize([a, b])
    try b.run("UPDATE photo SET picture = x'01'")
    try a.store.assets.keepOverwritten(upTo: 0)
    try b.store.assets.keepOverwritten(upTo: 0)
    try synchronize([a, b])
    try a.run("UPDATE photo SET image = randomblob(60000)")
    try synchronize([a, b])
    if untracked { try b.store.tables.untrack(["photo"]) }
    try b.run("ALTER TABLE photo ADD COLUMN image BLOB")
    if untracked { try b.store.tables.track(tables: ["photo"], now: b.now) }
    try b.upkeep()
    for _ in 0..<2 { try synchronize([a, b]) }
    #expect(try b.photos() == a.photos() && b.store.assets.wantedAssets(limit: 9).isEmpty)
    let image = untracked ? "60000" : "NULL"
    #expect(try b.rows("SELECT length(image), length(picture) FROM photo") == ["\(image)|60000"])
  }

  @Test("a BLOB whose column gets its former name back is shown under it")
  func renamedBack() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try synchronize([a, b])
    try b.run("ALTER TABLE photo RENAME COLUMN image TO picture")
    try synchronize([a, b])
    try b.run("UPDATE photo SET picture = randomblob(70000)")
    try synchronize([a, b])
    try b.run("ALTER TABLE photo RENAME COLUMN picture TO image")
    try synchronize([a, b])
    #expect(try a.photos() == b.photos() && a.digest() == b.digest())
    #expect(try b.rows("SELECT length(image) FROM photo") == ["70000"])
    try expectNothingWaits(b)
  }

  /// What a node does between two statements of a program.
  private enum Look: Int, CaseIterable {
    case nothing, step, upkeep, flush

    func happen(_ peer: Peer) throws {
      switch self {
      case .nothing: break
      case .step: _ = try peer.store.capture.upkeep({ _ in peer.reader }, now: peer.now)
      case .upkeep: try peer.upkeep()
      case .flush: try peer.flush()
      }
    }
  }

  @Test(
    "a BLOB arrives whenever the node looks while its column is renamed there and back", arguments: Look.allCases,
    Look.allCases)
  private func thereAndBack(first: Look, second: Look) throws {
    for third in [Look.nothing, .flush] {
      let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
      try a.insertPhoto("x", 50_000)
      try a.insertPhoto("y", 20_000)
      try synchronize([a, b])
      for _ in 0..<2 {
        try a.run("ALTER TABLE photo RENAME COLUMN image TO picture")
        try first.happen(a)
        try a.run("UPDATE photo SET picture = randomblob(40000) WHERE id = 'x'")
        try second.happen(a)
        try a.run("ALTER TABLE photo RENAME COLUMN picture TO image")
        try third.happen(a)
        try a.run("UPDATE photo SET image = randomblob(45000) WHERE id = 'x'")
        try synchronize([a, b])
        #expect(try a.photos() == b.photos() && a.digest() == b.digest(), "\(first) \(second) \(third)")
        for peer in [a, b] { try expectNothingWaits(peer) }
      }
    }
  }

  @Test("no row waits for a BLOB in a column that no device has any more")
  func dropped() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try synchronize([a, b])
    for peer in [a, b] {
      try peer.run("PRAGMA legacy_alter_table = ON; ALTER TABLE photo DROP COLUMN image")
      try peer.upkeep()
    }
    #expect(try a.store.assets.awaited(limit: 9).isEmpty && a.store.assets.fetched().isEmpty)
    #expect(try a.store.assets.assetBacklog(Peer.zone, absent: []) == AssetBacklog())
    let c = try Peer.withPhotos(3)
    _ = try a.store.schema.saveForeignSchema(c.store.schema.schemaDescriptions(), device: c.author.device, isOwn: true)
    #expect(try a.store.assets.awaited(limit: 9).map(\.obstacle?.isEmpty) == [false])
    #expect(try a.store.assets.assetBacklog(Peer.zone, absent: []).absent.assets == 1)
  }
}
