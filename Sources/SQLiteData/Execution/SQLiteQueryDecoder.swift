public import Foundation
import GRDB
public import GRDBSQLite
public import SQLiteDataQueries

/// Reads the columns of the current row directly from SQLite.
public struct SQLiteQueryDecoder: QueryDecoder {
  @usableFromInline
  let statement: OpaquePointer
  /// The column that is read next.
  @usableFromInline
  var column: Int32 = 0

  @inlinable
  init(_ statement: OpaquePointer) {
    self.statement = statement
  }

  @inlinable
  func isNull(_ index: Int32) -> Bool { sqlite3_column_type(statement, index) == SQLITE_NULL }

  /// Reads the next column as an integer. SQLite reads NULL as 0, so only 0 needs a second check.
  @inlinable
  mutating func integer() -> Int64? {
    let current = column
    column += 1
    let value = sqlite3_column_int64(statement, current)
    return value == 0 && isNull(current) ? nil : value
  }

  @inlinable
  public mutating func decode(_ columnType: Int64.Type) throws -> Int64? {
    integer()
  }

  @inlinable
  public mutating func decode(_ columnType: Int.Type) throws -> Int? {
    integer().map(Int.init(truncatingIfNeeded:))
  }

  @inlinable
  public mutating func decode(_ columnType: Bool.Type) throws -> Bool? {
    integer().map { $0 != 0 }
  }

  @inlinable
  public mutating func decode(_ columnType: Double.Type) throws -> Double? {
    let current = column
    column += 1
    let value = sqlite3_column_double(statement, current)
    return value == 0 && isNull(current) ? nil : value
  }

  @inlinable
  public mutating func decode(_ columnType: String.Type) throws -> String? {
    nextText().map { String(decoding: $0, as: UTF8.self) }
  }

  @inlinable
  public mutating func decode(_ columnType: [UInt8].Type) throws -> [UInt8]? {
    let current = column
    column += 1
    return isNull(current) ? nil : [UInt8](bytes(current))
  }

  @inlinable
  public mutating func decode(_ columnType: Date.Type) throws -> Date? {
    guard let text = nextText() else { return nil }
    guard let seconds = Date._parse(text) else {
      throw QueryDecodingError.invalidDate(String(decoding: text, as: UTF8.self))
    }
    return Date(timeIntervalSince1970: seconds)
  }

  @inlinable
  public mutating func decode(_ columnType: UUID.Type) throws -> UUID? {
    guard let text = nextText() else { return nil }
    guard let uuid = UUID(_hexadecimal: text) else {
      throw QueryDecodingError.invalidUUID(String(decoding: text, as: UTF8.self))
    }
    return uuid
  }

  @inlinable
  public mutating func skipNulls(_ count: Int) throws -> Bool {
    for offset in 0..<Int32(count) where !isNull(column + offset) { return false }
    column += Int32(count)
    return true
  }

  /// Reads the next column as text. It may contain NUL characters, so its length comes from SQLite.
  @inlinable
  mutating func nextText() -> UnsafeBufferPointer<UInt8>? {
    let current = column
    column += 1
    // The order matters: reading the text may convert the value, and the count is that of the text.
    guard let start = sqlite3_column_text(statement, current) else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, current)))
  }

  @inlinable
  func bytes(_ index: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(statement, index)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, index)))
  }
}

extension UUID {
  /// Creates a UUID from its 36 characters, or returns nil if the text isn't a UUID.
  public init?(_hexadecimal text: UnsafeBufferPointer<UInt8>) {
    guard text.count == 36 else { return nil }
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    let isValid = withUnsafeMutableBytes(of: &bytes) { bytes in
      var position = 0
      for index in 0..<16 {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          guard text[position] == UInt8(ascii: "-") else { return false }
          position += 1
        }
        guard let high = Self.digit(text[position]), let low = Self.digit(text[position + 1]) else { return false }
        bytes[index] = high << 4 | low
        position += 2
      }
      return true
    }
    guard isValid else { return nil }
    self.init(uuid: bytes)
  }

  private static func digit(_ unit: UInt8) -> UInt8? {
    switch unit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): unit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): unit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): unit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// A column that can't be read as its Swift type.
public struct ColumnDecodingError: Error, CustomStringConvertible {
  /// The index of the column. The first is 0.
  public let column: Int
  /// The name of the column in the result.
  public let name: String
  public let sql: String
  public let underlyingError: any Error

  public var description: String {
    "can't read column \(column) (\"\(name)\"): \(underlyingError)\n\(sql)"
  }
}

extension SQLiteQueryDecoder {
  /// Returns an error that says which column couldn't be read.
  func error(_ error: any Error, in statement: GRDB.Statement) -> any Error {
    guard error is QueryDecodingError || error is DecodingError else { return error }
    let column = max(0, Int(column) - 1)
    let names = statement.columnNames
    return ColumnDecodingError(
      column: column, name: column < names.count ? names[column] : "?", sql: statement.sql, underlyingError: error)
  }
}
