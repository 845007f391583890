import CSQLite
import GRDB
import MeshCore

/// Transfers values to and from statements, byte for byte. Text may hold NULs and need not be UTF-8, which `String`
/// can't represent.
extension Value {
  /// Reads the value in a column of the statement's current row.
  init(_ statement: SQLiteStatement, column: Int32) {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(statement, column))
    case SQLITE_FLOAT: self = .real(sqlite3_column_double(statement, column))
    case SQLITE_TEXT:
      // The text must be read first, because that fixes the encoding in which the bytes are counted.
      let start = sqlite3_column_text(statement, column)
      let count = Int(sqlite3_column_bytes(statement, column))
      self = .text(Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)))
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(statement, column)
      let count = Int(sqlite3_column_bytes(statement, column))
      self = .blob(Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)))
    default: self = .null
    }
  }

  /// Binds to the parameter `index`, counted from 1. Returns SQLite's result code.
  @discardableResult
  func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 {
    // SQLITE_TRANSIENT: SQLite copies the bytes before the call returns.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch self {
    case .null: return sqlite3_bind_null(statement, index)
    case .integer(let integer): return sqlite3_bind_int64(statement, index, integer)
    case .real(let bits): return sqlite3_bind_double(statement, index, Double(bitPattern: bits))
    case .text(let bytes):
      return bytes.withUnsafeBytes {
        $0.withMemoryRebound(to: CChar.self) {
          guard let start = $0.baseAddress else { return sqlite3_bind_text(statement, index, "", 0, transient) }
          return sqlite3_bind_text64(statement, index, start, UInt64($0.count), transient, UInt8(SQLITE_UTF8))
        }
      }
    // The bytes are not available here. The code that has them binds them.
    case .asset: return sqlite3_bind_null(statement, index)
    case .blob(let bytes):
      return bytes.withUnsafeBytes {
        // A nil pointer would bind NULL.
        guard let start = $0.baseAddress, !$0.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
        return sqlite3_bind_blob64(statement, index, start, UInt64($0.count), transient)
      }
    }
  }
}
