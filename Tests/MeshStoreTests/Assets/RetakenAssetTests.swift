import MeshCore
import Testing

@testable import MeshStore

/// BLOBs of tables that are untracked while they change, here and on other machines.
@Suite struct RetakenAssetTests {
  /// Two peers with one photo, of which the second doesn't synchronize its table any more.
  private func pair() throws -> (Peer, Peer) {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.pull(from: a)
    try b.store.tables.untrack(["photo"])
    return (a, b)
  }

  private func retrack(_ peer: Peer) throws {
    try peer.store.tables.track(tables: ["photo"], now: peer.now)
    try peer.flush()
  }

  @Test("an earlier BLOB that a row still shows when its table is tracked again is no edit")
  func awaited() throws {
    let (a, b) = try pair()
    try a.run("UPDATE photo SET image = randomblob(60000)")
    try a.flush()
    try b.learn(from: a)
    try retrack(b)
    #expect(try b.rows("SELECT length(image) FROM photo") == ["50000"])
    try b.expectNothingNoted()
    try b.fetch(from: a)
    #expect(try a.photos() == b.photos() && a.digest() == b.digest())
    try expectNoConflicts([a, b])
  }

  @Test("a BLOB that was written meanwhile, and lost, doesn't win because the winner's bytes come late")
  func lost() throws {
    let (a, b) = try pair()
    try b.run("UPDATE photo SET image = randomblob(70000)")
    let written = try b.photos()
    b.now = a.now + 1_000
    a.now += 60_000
    try a.run("UPDATE photo SET image = randomblob(60000)")
    try a.flush()
    try b.learn(from: a)
    try retrack(b)
    try b.expectNothingNoted()
    try b.fetch(from: a)
    #expect(try a.photos() == b.photos() && a.digest() == b.digest())
    let conflict = try #require(try b.store.conflicts.list(limit: 9).first)
    _ = try b.store.history.restore(.conflict(conflict.id)) { _ in b.reader }
    #expect(try b.photos() == written)
  }

  @Test("a row that others deleted while the table was untracked can be restored with its BLOB")
  func deleted() throws {
    let (a, b) = try pair()
    let before = try a.photos()
    try a.run("DELETE FROM photo")
    try a.flush()
    try b.pull(from: a)
    try b.store.assets.sweep()
    try retrack(b)
    #expect(try b.photos().isEmpty)
    try expectNoConflicts([b])
    let record = Restoration.record(table: "photo", key: .text(Array("x".utf8)), columns: [])
    #expect(try b.store.history.restore(record) { _ in b.reader }.gone.isEmpty)
    #expect(try b.photos() == before)
  }

  @Test("a value of a row's earlier life, which ended while the table was untracked, is no edit")
  func earlierLife() throws {
    let (a, b) = try pair()
    try a.run("ALTER TABLE photo RENAME COLUMN image TO picture")
    try a.run("DELETE FROM photo")
    try a.flush()
    try a.run("INSERT INTO photo (id, title) VALUES ('x', 'new')")
    try a.flush()
    try b.pull(from: a)
    try retrack(b)
    #expect(try b.rows("SELECT title, image FROM photo") == ["\"new\"|NULL"])
    try b.expectNothingNoted()
    try expectNoConflicts([b])
  }
}
