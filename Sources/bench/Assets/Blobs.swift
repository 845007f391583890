import CSQLite
import Foundation

/// A table with long BLOBs, written and read piece by piece.
struct Blobs {
  static let table = "blobs"
  static let schema = "CREATE TABLE blobs (id INTEGER PRIMARY KEY NOT NULL, content BLOB)"

  let database: Database

  /// Writes contents in one transaction, and overwrites the existing ones.
  func write(_ contents: [Int64: Content]) throws {
    try database.run("BEGIN IMMEDIATE")
    let insert = try Prepared(
      database, "INSERT INTO blobs VALUES (?1, zeroblob(?2)) ON CONFLICT DO UPDATE SET content = excluded.content")
    for (key, content) in contents.sorted(by: { $0.key < $1.key }) {
      sqlite3_bind_int64(insert.handle, 1, key)
      sqlite3_bind_int64(insert.handle, 2, Int64(content.size))
      try insert.execute()
      try withBlob(key, isWritable: true) { blob in
        try content.forEachPiece { start, bytes in
          try database.check(sqlite3_blob_write(blob, bytes.baseAddress, Int32(bytes.count), Int32(start)))
        }
      }
    }
    try database.run("COMMIT")
  }

  /// Inserts contents in one transaction, each with one statement, as programs do. Returns the seconds that SQLite
  /// takes, without those in which the bytes are made.
  func insert(_ contents: [Int64: Content]) throws -> Double {
    let insert = try Prepared(database, "INSERT INTO blobs VALUES (?, ?)")
    var seconds = try Machine.time { try database.run("BEGIN IMMEDIATE") }
    for (key, content) in contents.sorted(by: { $0.key < $1.key }) {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(content.size)
      content.forEachPiece { bytes += $1 }
      sqlite3_bind_int64(insert.handle, 1, key)
      // The value nil is SQLITE_STATIC: the bytes outlive the statement's run.
      try bytes.withUnsafeBytes { bytes in
        sqlite3_bind_blob(insert.handle, 2, bytes.baseAddress, Int32(bytes.count), nil)
        seconds += try Machine.time { try insert.execute() }
      }
    }
    return seconds + (try Machine.time { try database.run("COMMIT") })
  }

  /// Returns whether a row has exactly this content.
  func holds(_ key: Int64, _ content: Content) throws -> Bool {
    var isSame = true
    let found = UnsafeMutableRawBufferPointer.allocate(byteCount: Content.piece, alignment: 8)
    defer { found.deallocate() }
    try withBlob(key, isWritable: false) { blob in
      isSame = Int(sqlite3_blob_bytes(blob)) == content.size
      guard isSame else { return }
      try content.forEachPiece { start, bytes in
        try database.check(sqlite3_blob_read(blob, found.baseAddress, Int32(bytes.count), Int32(start)))
        isSame = isSame && UnsafeRawBufferPointer(rebasing: found[..<bytes.count]).elementsEqual(bytes)
      }
    }
    return isSame
  }

  /// Returns whether a row has the one byte that distinguishes a content from the one before.
  func hasChangedByte(_ key: Int64, _ content: Content) throws -> Bool {
    guard let place = content.changedByte else { return false }
    var isThere = false
    let start = place / Content.piece * Content.piece
    var found: UInt8 = 0
    try withBlob(key, isWritable: false) { blob in
      try database.check(sqlite3_blob_read(blob, &found, 1, Int32(place)))
    }
    content.withPiece(from: start) { isThere = $0[place - start] == found }
    return isThere
  }

  private func withBlob(_ key: Int64, isWritable: Bool, _ body: (OpaquePointer) throws -> Void) throws {
    var opened: OpaquePointer?
    try database.check(
      sqlite3_blob_open(database.handle, "main", Self.table, "content", key, isWritable ? 1 : 0, &opened))
    guard let opened else { throw Trouble("\(database.path) gives no BLOB") }
    defer { sqlite3_blob_close(opened) }
    try body(opened)
  }
}
