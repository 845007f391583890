import CSQLite
import GRDB

/// The first bytes of the file, read through SQLite's own descriptor.
enum FileHeader {
  /// The number of bytes that are checked: SQLite's smallest page.
  private static let size = 512
  private static let magic = Array("SQLite format 3\0".utf8)
  /// The number of different byte values from which 512 bytes look random. Random bytes have 221 on average, and almost
  /// always 200 or more. Text and executables have far fewer.
  private static let randomLooking = 190

  /// Throws if a file that is not empty doesn't begin like a SQLite database.
  static func check(_ db: Database, path: String) throws {
    var bytes = [UInt8](repeating: 0, count: size)
    var length: sqlite3_int64 = 0
    let code = mesh_sqlite3_read_head(try db.openConnection, &bytes, Int32(size), &length)
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    guard length > 0 else { return }
    if let error = refusal(of: bytes, length: length, path: path) { throw error }
  }

  /// Returns what is wrong with a file of `length` bytes that begins with `bytes`, or nil if nothing is.
  static func refusal(of bytes: [UInt8], length: Int64, path: String) -> StoreError? {
    guard !bytes.starts(with: magic) else { return nil }
    // Encryption extensions for SQLite keep its pages, and make all of them look random.
    guard length % Int64(size) == 0, Set(bytes).count >= randomLooking else {
      return StoreError(.notADatabase, "\(path) is not a SQLite database; name another file")
    }
    return StoreError(
      .encrypted, "\(path) looks encrypted (its header is not SQLite's); decrypt it into a plain SQLite file first")
  }
}
