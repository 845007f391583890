import MeshCore
import Testing

@testable import MeshStore

/// The bytes of BLOBs that others overwrote or deleted.
@Suite struct KeptAssetTests {
  private func pair() throws -> (Peer, Peer) {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.pull(from: a)
    return (a, b)
  }

  private func restore(_ peer: Peer, _ restoration: Restoration) throws -> RestoredRecord {
    try peer.store.history.restore(restoration) { _ in peer.reader }
  }

  private func record(_ columns: String...) -> Restoration {
    .record(table: "photo", key: .text(Array("x".utf8)), columns: columns)
  }

  @Test(
    "a BLOB that lost in a conflict comes back",
    arguments: ["randomblob(60000)", "randomblob(50000)", "NULL", "x'01'"])
  func conflict(winner: String) throws {
    let (a, b) = try pair()
    b.now = a.now + 60_000
    try a.run("UPDATE photo SET image = randomblob(70000)")
    try a.flush()
    let lost = try a.photos()
    try b.run("UPDATE photo SET image = \(winner)")
    try b.flush()
    try a.pull(from: b)
    #expect(try a.photos() == b.photos())
    let conflict = try #require(try a.store.conflicts.list(limit: 9).first)
    #expect(conflict.hasBytes == true)
    // After a start as well, and whatever is swept.
    try a.reopen()
    _ = try a.store.assets.wantedAssets(limit: 9)
    #expect(try restore(a, .conflict(conflict.id)).gone.isEmpty)
    #expect(try a.photos() == lost)
    try synchronize([a, b])
    #expect(try b.photos() == lost && a.digest() == b.digest())
  }

  @Test("a row that somebody else deleted comes back with its BLOB")
  func deleted() throws {
    let (a, b) = try pair()
    let before = try a.photos()
    try b.run("DELETE FROM photo")
    try a.pull(from: b)
    #expect(try a.photos().isEmpty)
    #expect(a.store.access.staged.complete.isEmpty, "each look at what can be placed would go through all that is kept")
    #expect(try restore(a, record()).gone.isEmpty)
    #expect(try a.photos() == before)
    // The machine that deleted it had nobody to keep the bytes for it.
    try synchronize([a, b])
    #expect(try b.photos() == before)
  }

  @Test("a machine without the bytes restores the row, and one that has them the BLOB", arguments: [false, true])
  func restoredWithout(isEdited: Bool) throws {
    let (a, b) = try pair()
    let before = try a.photos()
    try b.run("DELETE FROM photo")
    try a.pull(from: b)
    #expect(try restore(b, record()).gone == ["image"])
    if isEdited {
      try b.flush()
      try b.run("UPDATE photo SET image = x'07'")
    }
    try a.pull(from: b)
    #expect(try restore(a, record("image")).gone.isEmpty)
    #expect(try a.photos() == before)
  }

  @Test("a BLOB that was overwritten by somebody who had seen it comes back", arguments: ["randomblob(60000)", "NULL"])
  func seen(value: String) throws {
    let (a, b) = try pair()
    let before = try a.photos()
    try b.run("UPDATE photo SET image = \(value)")
    try a.pull(from: b)
    #expect(try a.store.conflicts.list(limit: 9).isEmpty)
    #expect(throws: RestoreError.assetGone(column: "image")) { try restore(b, record("image")) }
    #expect(try restore(a, record("image")).gone.isEmpty)
    #expect(try a.photos() == before)
  }

  @Test("a BLOB that was overwritten on its way stays with the machine that wrote it")
  func onItsWay() throws {
    let (a, b) = try pair()
    try a.run("UPDATE photo SET image = randomblob(70000)")
    try b.learn(from: a)
    let written = try a.photos()
    try b.run("UPDATE photo SET image = x'01'")
    try a.pull(from: b)
    let listed = try #require(try b.store.conflicts.list(limit: 9).first)
    #expect(listed.hasBytes == false)
    #expect(throws: RestoreError.assetGone(column: "image")) { try restore(b, .conflict(listed.id)) }
    #expect(try restore(a, record("image")).gone.isEmpty)
    try synchronize([a, b])
    #expect(try a.photos() == written && b.photos() == written)
  }

  @Test("a former BLOB that a row goes on showing can be restored once the newer one is here")
  func shownInPlaceOfAnother() throws {
    let (a, b) = try pair()
    let before = try a.photos()
    try b.store.assets.setPolicy(.onDemand, table: "photo")
    try a.run("UPDATE photo SET image = randomblob(60000)")
    try b.learn(from: a)
    #expect(try b.photos() == before)
    #expect(throws: RestoreError.stillShown(column: "image")) { try restore(b, record("image")) }
    try b.store.assets.requestAll(table: "photo")
    try b.fetch(from: a)
    #expect(try b.photos() != before)
    let restored = try restore(b, record("image"))
    #expect(restored.gone.isEmpty && restored.values?["image"]?.asset?.size == 50_000)
    try synchronize([a, b])
    #expect(try a.photos() == before && b.photos() == before)
  }

  @Test("a delete of a row whose newer BLOB is not here lists that BLOB")
  func deletedOnItsWay() throws {
    let (a, b) = try pair()
    try a.run("UPDATE photo SET image = randomblob(60000)")
    try b.learn(from: a)
    let lost = try b.asset()
    try b.run("DELETE FROM photo")
    try b.flush()
    #expect(try b.store.conflicts.list(limit: 9).map(\.loserValue) == [.asset(Asset(id: lost, size: 60_000))])
  }

  @Test("nothing stays of a zone that this device has no part in any more")
  func droppedZone() throws {
    let (a, b) = try pair()
    try b.run("UPDATE photo SET image = randomblob(60000)")
    try a.pull(from: b)
    #expect((a.staging as? MemoryStaging)?.size == 50_000)
    while try a.store.zones.dropZone(Peer.zone, keepingCopy: false, unsent: [:], now: a.now) {}
    #expect((a.staging as? MemoryStaging)?.size == 0)
    #expect(try a.rows("SELECT * FROM mesh_kept").isEmpty)
  }

  @Test("the newest stay, up to the budget")
  func budget() throws {
    let (a, b) = try pair()
    try a.store.assets.keepOverwritten(upTo: 130_000)
    let staging = try #require(a.staging as? MemoryStaging)
    for _ in 0..<4 {
      try b.run("UPDATE photo SET image = randomblob(50000)")
      try a.pull(from: b)
    }
    #expect(try a.rows("SELECT count(*), sum(size) FROM mesh_kept") == ["2|100000"])
    #expect(staging.size == 100_000)
    try b.run("UPDATE photo SET image = randomblob(140000)")
    try a.pull(from: b)
    try b.run("UPDATE photo SET image = NULL")
    try a.pull(from: b)
    #expect(try a.rows("SELECT count(*) FROM mesh_kept WHERE size > 50000") == ["0"], "longer than the whole budget")
    try a.store.assets.keepOverwritten(upTo: 60_000)
    #expect(staging.size == 50_000)
    try a.store.assets.keepOverwritten(upTo: 0)
    #expect(staging.size == 0)
    #expect(try a.rows("SELECT * FROM mesh_kept").isEmpty)
    try a.reopen()
    #expect(try a.rows("SELECT count(*) FROM mesh_asset") == ["0"])
  }

  @Test("a BLOB that comes again needs no download, and eviction removes every copy")
  func comesAgain() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try b.run("INSERT INTO photo VALUES ('x', '1', zeroblob(50000))")
    try a.pull(from: b)
    try b.run("UPDATE photo SET image = NULL")
    try a.pull(from: b)
    try b.run("UPDATE photo SET image = zeroblob(50000)")
    try a.learn(from: b)
    #expect(try a.photos() == b.photos())
    try a.store.assets.evict(try a.asset())
    _ = try a.store.assets.wantedAssets(limit: 9)
    #expect(try !a.store.assets.placeAssets(now: a.now))
    #expect((a.staging as? MemoryStaging)?.size == 0)
    #expect(try a.rows("SELECT * FROM mesh_kept").isEmpty, "nobody may think that its bytes are here")
    try a.expectNothingNoted()
  }

  @Test("a disk without room keeps nothing, and merges all the same")
  func fullDisk() throws {
    let (a, b) = try pair()
    (a.staging as? MemoryStaging)?.capacity = 10
    try b.run("DELETE FROM photo")
    try a.pull(from: b)
    #expect(try a.photos().isEmpty && a.rows("SELECT * FROM mesh_kept").isEmpty)
    #expect(try restore(a, record()).gone == ["image"])
  }

  @Test("what lost in a conflict is kept on a full disk, too")
  func fullDiskConflict() throws {
    let (a, b) = try pair()
    (a.staging as? MemoryStaging)?.capacity = 10
    b.now = a.now + 60_000
    try a.run("UPDATE photo SET image = randomblob(70000)")
    try a.flush()
    try b.run("UPDATE photo SET image = NULL")
    try a.pull(from: b)
    #expect(try a.store.conflicts.list(limit: 9).map(\.hasBytes) == [true])
  }

  @Test("a BLOB that lost in a conflict survives a power cut")
  func powerCut() throws {
    let staging = CutStaging()
    let (a, b) = (try Peer.withPhotos(1, staging: staging), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.pull(from: a)
    b.now = a.now + 60_000
    try a.run("UPDATE photo SET image = randomblob(600000)")
    try a.flush()
    let lost = try a.photos()
    try b.run("UPDATE photo SET image = NULL")
    try b.flush()
    try a.pull(from: b)
    let conflict = try #require(try a.store.conflicts.list(limit: 9).first)
    staging.cut()
    try a.reopen()
    #expect(try a.store.conflicts.list(limit: 9).first?.hasBytes == true)
    #expect(try restore(a, .conflict(conflict.id)).gone.isEmpty)
    #expect(try a.photos() == lost)
  }

  /// A staging that loses what was never synced.
  ///
  /// It is `@unchecked` because one caller at a time uses it, as it does the store.
  private final class CutStaging: AssetStaging, @unchecked Sendable {
    private var (now, disk) = (MemoryStaging(), MemoryStaging())
    private var sizes: [AssetID: Int] = [:]

    func write(_ bytes: [UInt8], at offset: Int, of asset: AssetID) {
      now.write(bytes, at: offset, of: asset)
      sizes[asset] = max(sizes[asset] ?? 0, offset + bytes.count)
    }
    func read(_ count: Int, at offset: Int, of asset: AssetID) -> [UInt8]? { now.read(count, at: offset, of: asset) }
    func sync(_ asset: AssetID) {
      guard let size = sizes[asset], let bytes = now.read(size, at: 0, of: asset) else { return }
      disk.write(bytes, at: 0, of: asset)
    }
    func remove(_ asset: AssetID) {
      now.remove(asset)
      disk.remove(asset)
    }
    func shortage(_ bytes: Int) -> String? { nil }
    func assets() -> [AssetID] { now.assets() }

    func cut() {
      now = MemoryStaging()
      sizes = sizes.filter { asset, size in
        guard let bytes = disk.read(size, at: 0, of: asset) else { return false }
        now.write(bytes, at: 0, of: asset)
        return true
      }
    }
  }
}
