import CSQLite
import GRDB
import MeshCore

/// One column of a row of an app's table.
struct Cell {
  let table: TableForm
  let key: Value
  /// The index in the table's columns.
  let index: Int

  var column: TableForm.Column { table.columns[index] }
}

extension Transaction {
  /// Reads the BLOB of a cell chunk by chunk, with only one chunk in memory. If the table has no rowid, SQLite can only
  /// read the whole BLOB.
  ///
  /// - Parameters:
  ///   - chunks: The chunks to read, or nil for all.
  ///   - body: Returns false to stop.
  /// - Returns: False if the cell has no BLOB of that size.
  @discardableResult
  func forEachChunk(
    of cell: Cell, size: Int, _ chunks: Range<Int>? = nil, _ body: (Int, [UInt8]) throws -> Bool
  ) throws -> Bool {
    let chunks = chunks ?? 0..<Asset.chunkCount(size: size)
    guard cell.table.rowidName != nil else { return try forEachChunkOfWhole(cell, size, chunks, body) }
    guard let place = try rowid(of: cell, size: size) else { return false }
    let blob = try Blob(sql, cell, rowid: place, isWritable: false)
    for index in chunks {
      guard try body(index, blob.read(Asset.range(ofChunk: index, size: size))) else { break }
    }
    return true
  }

  /// Returns nil if the cell has no BLOB of that size, or its table has no rowid.
  func rowid(of cell: Cell, size: Int) throws -> Int64? {
    guard let rowid = cell.table.rowidName else { return nil }
    let column = cell.column.name.quotedName
    return try sql.integer(
      """
      SELECT \(rowid) FROM main.\(cell.table.schema.name.quotedName)
      WHERE \(cell.table.keyName.quotedName) = ?1 AND typeof(\(column)) = 'blob' AND length(\(column)) = ?2
      """, [cell.key, .count(size)])
  }

  private func forEachChunkOfWhole(
    _ cell: Cell, _ size: Int, _ chunks: Range<Int>, _ body: (Int, [UInt8]) throws -> Bool
  ) throws -> Bool {
    let column = cell.column.name.quotedName
    let whole = try sql.first(
      """
      SELECT \(column) FROM main.\(cell.table.schema.name.quotedName)
      WHERE \(cell.table.keyName.quotedName) = ?1 AND typeof(\(column)) = 'blob' AND length(\(column)) = ?2
      """, [cell.key, .count(size)]
    ) { $0.bytes(0) }
    guard let whole else { return false }
    for index in chunks {
      guard try body(index, Array(whole[Asset.range(ofChunk: index, size: size)])) else { break }
    }
    return true
  }

  /// Returns the manifest of a BLOB in a row, or nil if the cell has none of that size.
  func manifest(of cell: Cell, size: Int, key: [UInt8]) throws -> AssetManifest? {
    var builder = AssetManifest.Builder(key: key, cryptography)
    var sums: [ChunkSum] = []
    var chunks: [[UInt8]] = []
    try forEachChunk(of: cell, size: size) { index, bytes in
      sums.append(ChunkSum(bytes))
      chunks.append(bytes)
      if chunks.count == Self.hashedTogether || index == Asset.chunkCount(size: size) - 1 {
        builder.add(chunks)
        chunks.removeAll(keepingCapacity: true)
      }
      return true
    }
    guard let manifest = builder.manifest, manifest.size == size else { return nil }
    staged.proven.note(sums, of: try manifest.asset(cryptography).id)
    return manifest
  }

  /// The number of chunks that are hashed together: 2 MiB keep some cores busy.
  private static let hashedTogether = 8

  /// Returns whether the cell has exactly these bytes.
  func holds(_ manifest: AssetManifest, _ cell: Cell) throws -> Bool {
    var isSame = true
    let isThere = try forEachChunk(of: cell, size: manifest.size) { index, bytes in
      isSame = manifest.isChunk(bytes, index, cryptography)
      return isSame
    }
    return isThere && isSame
  }
}

/// A BLOB of a row, opened for reading or writing in place.
final class Blob {
  private let sql: Connection
  private var handle: OpaquePointer?

  init(_ sql: Connection, _ cell: Cell, rowid: Int64, isWritable: Bool) throws {
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
