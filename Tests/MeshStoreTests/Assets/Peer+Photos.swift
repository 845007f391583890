import CSQLite
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Peers with a table of photos, whose BLOBs are assets.
extension Peer {
  static let photos = "CREATE TABLE photo (id TEXT PRIMARY KEY NOT NULL, title TEXT, image BLOB)"
  static let allPhotos = "SELECT id, title, hex(image) FROM photo ORDER BY id"

  static func withPhotos(
    _ seed: UInt8, _ schema: String = photos, staging: any AssetStaging = MemoryStaging()
  ) throws -> Peer {
    try Peer(seed, schema: schema, track: ["photo"], staging: staging)
  }

  func photos() throws -> [String] { try rows(Self.allPhotos) }

  func insertPhoto(_ key: String, _ size: Int) throws {
    try run("INSERT INTO photo (id, title, image) VALUES ('\(key)', '1', randomblob(\(size)))")
  }

  /// The asset that is merged in a photo's image.
  func asset(_ key: String = "x") throws -> AssetID {
    try #require(try store.assets.places(table: "photo", key: .text(Array(key.utf8)), column: "image").first?.asset.id)
  }

  /// What is staged for rows. The bytes of overwritten BLOBs are staged beside it, and `mesh_kept` names them.
  func stagedForRows() throws -> [AssetID] {
    let kept = try rows("SELECT quote(asset) FROM mesh_kept")
    return try staging.assets().filter { asset in
      let name = asset.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
      return !kept.contains { $0.lowercased().contains(name) }
    }
  }

  /// The rows are what is merged, as far as it can be here.
  func expectNothingNoted(_ location: SourceLocation = #_sourceLocation) throws {
    try store.capture.rescan()
    try upkeep()
    #expect(try rows("SELECT * FROM mesh_pending").isEmpty, sourceLocation: location)
    #expect(try flush() == 0, sourceLocation: location)
  }

  /// Writes into a BLOB past all triggers.
  func poke(
    _ bytes: [UInt8], at offset: Int, rowid: Int64 = 1, _ column: String = "image", of table: String = "photo"
  ) throws {
    try other.write { db in
      var blob: OpaquePointer?
      #expect(sqlite3_blob_open(db.sqliteConnection, "main", table, column, rowid, 1, &blob) == SQLITE_OK)
      #expect(sqlite3_blob_write(blob, bytes, Int32(bytes.count), Int32(offset)) == SQLITE_OK)
      #expect(sqlite3_blob_close(blob) == SQLITE_OK)
    }
  }
}
