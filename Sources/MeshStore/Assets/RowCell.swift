import CSQLite
import GRDB
import MeshCore

/// One column of a row of an app's table.
struct RowCell {
  let table: TableForm
  let key: Value
  /// The index in the table's columns.
  let index: Int

  var column: TableForm.Column { table.columns[index] }
}

/// A BLOB of a row, opened for reading or writing in place.
final class Blob {
  private let sql: Connection
  private var handle: OpaquePointer?

  init(_ sql: Connection, _ cell: RowCell, rowid: Int64, isWritable: Bool) throws {
    self.sql = sql
    let code = sqlite3_blob_open(
      sql.handle, "main", cell.table.schema.name, cell.column.name, rowid, isWritable ? 1 : 0, &handle)
    guard code == SQLITE_OK else { throw sql.error(code) }
  }

  deinit { sqlite3_blob_close(handle) }

  func read(_ range: Range<Int>) throws -> [UInt8] {
    var code = SQLITE_OK
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, initialized in
      code = sqlite3_blob_read(handle, buffer.baseAddress, Int32(range.count), Int32(range.lowerBound))
      initialized = code == SQLITE_OK ? range.count : 0
    }
    guard code == SQLITE_OK else { throw sql.error(code) }
    return bytes
  }

  func write(_ bytes: [UInt8], at offset: Int) throws {
    let code = sqlite3_blob_write(handle, bytes, Int32(bytes.count), Int32(offset))
    guard code == SQLITE_OK else { throw sql.error(code) }
  }
}
