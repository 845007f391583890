import MeshCore
import Testing

@testable import MeshStore

/// What a program writes in the place of a BLOB that it has not seen.
@Suite struct UnseenAssetTests {
  @Test(
    "an edit that overwrites a BLOB before it is downloaded is a conflict on that device",
    arguments: ["NULL", "'small'", "x'01'", "randomblob(40000)"])
  func aBLOBThatIsOverwrittenOnItsWayIsAConflict(value: String) throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.pull(from: a)
    try a.run("UPDATE photo SET image = randomblob(60000)")
    try b.learn(from: a)
    let lost = try b.asset()
    // Of another column: nothing is lost.
    try b.run("UPDATE photo SET title = '2'")
    try b.flush()
    #expect(try b.store.conflicts.list(limit: 9).isEmpty)
    try b.run("UPDATE photo SET image = \(value)")
    try b.flush()
    let conflicts = try b.store.conflicts.list(limit: 9)
    #expect(conflicts.map(\.loserValue) == [.asset(Asset(id: lost, size: 60_000))])
    #expect(conflicts.first?.loser.author == a.author && conflicts.first?.winner.author == b.author)
    #expect(conflicts.first?.column == "image" && conflicts.first?.isWinnerDelete == false)
    try synchronize([a, b])
    #expect(try a.store.conflicts.list(limit: 9).isEmpty, "its change set has seen the row that the BLOB belongs to")
    #expect(try a.photos() == b.photos() && a.digest() == b.digest())
  }

  @Test("a row that is deleted and inserted over a missing BLOB is a conflict")
  func aRowThatIsWrittenAnewOverABLOBOnItsWayIsAConflictToo() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.learn(from: a)
    try b.run("DELETE FROM photo; INSERT INTO photo VALUES ('x', '2', x'05')")
    try b.flush()
    #expect(try b.store.conflicts.list(limit: 9).map(\.column) == ["image"])
    // With what it shows it keeps the BLOB.
    try a.pull(from: b)
    try a.run("UPDATE photo SET image = randomblob(60000)")
    try b.learn(from: a)
    try b.run("INSERT OR REPLACE INTO photo SELECT id, '3', image FROM photo")
    try b.flush()
    #expect(try b.store.conflicts.list(limit: 9).count == 1)
  }

  @Test("equal content, or a write over the device's own evicted BLOB, is no conflict")
  func theSameContentAndWhatThisDeviceWroteItselfAreNoConflicts() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.run("INSERT INTO photo VALUES ('x', '1', zeroblob(50000)), ('y', '1', zeroblob(60000))")
    try b.learn(from: a)
    try b.run("UPDATE photo SET image = zeroblob(50000) WHERE id = 'x'")
    try b.flush()
    #expect(try b.store.conflicts.list(limit: 9).isEmpty)
    try a.store.assets.evict(try a.asset("y"))
    try a.run("UPDATE photo SET image = x'01' WHERE id = 'y'")
    try a.flush()
    #expect(try a.store.conflicts.list(limit: 9).isEmpty)
  }

  enum First: CaseIterable { case giver, waiting, both }

  @Test("a BLOB arrives although its column is renamed during the download", arguments: First.allCases)
  func aColumnGetsAnotherNameWhileABLOBIsOnItsWay(first: First) throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.pull(from: a)
    try a.run("UPDATE photo SET image = randomblob(60000)")
    try b.learn(from: a)
    let rename = "ALTER TABLE photo RENAME COLUMN image TO picture"
    switch first {
    case .giver:
      try a.run(rename)
      try b.learn(from: a)
      try b.run(rename)
    case .waiting:
      try b.run(rename)
      try a.learn(from: b)
      try a.run(rename)
    case .both:
      try a.run(rename)
      try b.run(rename)
    }
    try synchronize([a, b])
    let length = "SELECT length(picture) FROM photo"
    #expect(try a.rows(length) == ["60000"] && b.rows(length) == ["60000"])
    #expect(try a.digest() == b.digest() && a.rows("SELECT * FROM photo") == b.rows("SELECT * FROM photo"))
  }
}
