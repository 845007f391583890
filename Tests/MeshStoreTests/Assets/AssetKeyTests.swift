import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// A new key for a row whose BLOB is not here.
@Suite struct AssetKeyTests {
  /// A row that shows nothing in the place of its BLOB, or an older one, or whose BLOB was evicted.
  @Test(
    "the triggers refuse a new key for a row until its missing BLOB is downloaded",
    arguments: [
      "UPDATE photo SET id = 'y'", "UPDATE OR REPLACE photo SET id = 'y'",
      "UPDATE OR IGNORE photo SET id = 'y', title = 'z'",
      "INSERT INTO photo VALUES ('x', 't', NULL) ON CONFLICT (id) DO UPDATE SET id = 'y'",
    ])
  func aRowWhoseBLOBIsNotHereGetsNoOtherKey(write: String) throws {
    for state in ["new", "newer", "evicted"] {
      let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
      try a.insertPhoto("x", 50_000)
      try b.learn(from: a)
      if state != "new" { try b.fetch(from: a) }
      if state == "newer" {
        try a.run("UPDATE photo SET image = randomblob(60000)")
        try b.learn(from: a)
      }
      let asset = try b.asset()
      if state == "evicted" { try b.store.assets.evict(asset) }
      let error = #expect(throws: DatabaseError.self) { try b.run(write) }
      #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER && error?.message == CaptureTriggers.refusal)
      #expect(try b.rows("SELECT id, title + 0 FROM photo") == ["\"x\"|1"])
      try b.expectNothingNoted()
      try b.store.assets.request(asset)
      try b.fetch(from: a)
      try b.run(write)
      try synchronize([a, b])
      #expect(try a.rows("SELECT id = 'y', length(image) >= 50000 FROM photo") == ["1|1"])
      #expect(try a.photos() == b.photos() && a.digest() == b.digest())
    }
  }

  @Test("a row takes a new key after a program overwrites its missing BLOB")
  func aRowWhoseBLOBWasOverwrittenGetsAnotherKey() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.learn(from: a)
    try b.run("UPDATE photo SET image = x'05'")
    try b.flush()
    try b.run("UPDATE photo SET id = 'y'")
    try synchronize([a, b])
    #expect(try a.rows("SELECT id = 'y', hex(image) = '05' FROM photo") == ["1|1"])
  }

  @Test(
    "a row with a missing BLOB accepts another spelling of its key but no other key",
    arguments: [
      ("id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE", "'Abc'", "'ABC'", "'d'"),
      ("id TEXT PRIMARY KEY NOT NULL COLLATE RTRIM", "'a'", "'a  '", "'d'"),
      ("id INTEGER PRIMARY KEY NOT NULL", "7", "7.0", "8"), ("id REAL PRIMARY KEY NOT NULL", "7", "7.0", "7.5"),
      ("id PRIMARY KEY NOT NULL", "x'07'", "x'07'", "'d'"),
    ])
  func theKeyIsComparedAsTheTableDoes(key: String, first: String, spelling: String, other: String) throws {
    let schema = "CREATE TABLE photo (\(key), title TEXT, image BLOB)"
    let (a, b) = (try Peer.withPhotos(1, schema), try Peer.withPhotos(2, schema))
    try a.run("INSERT INTO photo VALUES (\(first), '1', randomblob(50000))")
    try b.learn(from: a)
    try b.run("UPDATE photo SET id = \(spelling)")
    try b.flush()
    #expect(throws: DatabaseError.self) { try b.run("UPDATE photo SET id = \(other)") }
    try b.fetch(from: a)
    try b.run("UPDATE photo SET id = \(other)")
    try synchronize([a, b])
    #expect(try a.rows("SELECT id = \(other), length(image) FROM photo") == ["1|50000"])
  }

  @Test("a parent's new key is refused if it would cascade to a missing BLOB's row")
  func aParentWhoseNewKeyItsChildWouldGetIsRefusedWithIt() throws {
    let schema = """
      CREATE TABLE film (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL REFERENCES film ON UPDATE CASCADE, title TEXT, image BLOB)
      """
    func withFilms(_ seed: UInt8) throws -> Peer {
      try Peer(seed, schema: schema, track: ["film", "photo"], foreignKeys: true)
    }
    let (a, b) = (try withFilms(1), try withFilms(2))
    try a.run("INSERT INTO film VALUES ('x'); INSERT INTO photo VALUES ('x', '1', randomblob(50000))")
    try b.learn(from: a)
    let error = #expect(throws: DatabaseError.self) { try b.run("UPDATE film SET id = 'y'") }
    #expect(error?.message == CaptureTriggers.refusal)
    #expect(try b.rows("SELECT film.id = 'x', photo.id = 'x' FROM film, photo") == ["1|1"])
    try b.fetch(from: a)
    try b.run("UPDATE film SET id = 'y'")
    try synchronize([a, b])
    #expect(try a.rows("SELECT id = 'y', length(image) FROM photo") == ["1|50000"])
  }

  @Test("triggers of earlier formats are replaced, and nothing is compared", arguments: [(8, 0), (9, 1), (14, 2)])
  func triggersOfEarlierFormats(format: Int, index: Int) throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.learn(from: a)
    let name = CaptureTriggers.name(1, .move)
    let before = try b.rows("SELECT sql FROM sqlite_schema WHERE name = '\(name)'")
    try b.other.write { db in
      let table = try #require(try TrackedTable.read(db, name: "photo"))
      let (schema, layout) = (try #require(table.schema), try #require(table.layout))
      let triggers = try #require(CaptureTriggers(schema, table: table.id, layout: layout))
      try db.execute(sql: "DROP TRIGGER \(name)")
      try db.execute(sql: triggers.earlier(.move)[index])
      try Capture.noteSchemaVersion(db)
      try db.execute(sql: "UPDATE mesh_state SET format = \(format)")
    }
    try b.reopen()
    #expect(try b.upkeep() != nil)
    #expect(try b.rows("SELECT sql FROM sqlite_schema WHERE name = '\(name)'") == before)
    #expect(try b.store.capture.repairs.triggers.isEmpty && b.rows("SELECT * FROM mesh_import").isEmpty)
    #expect(throws: DatabaseError.self) { try b.run("UPDATE photo SET id = 'y'") }
  }
}
