public import Foundation

/// The values of one row, read from the first column to the last.
///
/// A driver implements this protocol over its row. Each method reads the next column and moves on. It
/// returns nil if that column is NULL.
public protocol QueryDecoder {
  mutating func decode(_ columnType: [UInt8].Type) throws -> [UInt8]?
  mutating func decode(_ columnType: Double.Type) throws -> Double?
  mutating func decode(_ columnType: Int64.Type) throws -> Int64?
  mutating func decode(_ columnType: String.Type) throws -> String?
  mutating func decode(_ columnType: Bool.Type) throws -> Bool?
  mutating func decode(_ columnType: Int.Type) throws -> Int?
  mutating func decode(_ columnType: UInt64.Type) throws -> UInt64?
  mutating func decode(_ columnType: Date.Type) throws -> Date?
  mutating func decode(_ columnType: UUID.Type) throws -> UUID?

  /// Skips the next columns if all of them are NULL.
  ///
  /// - Returns: True if the columns were NULL and the decoder moved past them. Otherwise the decoder
  ///   stays where it is.
  mutating func skipNulls(_ count: Int) throws -> Bool
}

extension QueryDecoder {
  @inlinable
  public mutating func decode(_ columnType: Bool.Type) throws -> Bool? {
    try decode(Int64.self).map { $0 != 0 }
  }

  @inlinable
  public mutating func decode(_ columnType: Int.Type) throws -> Int? {
    try decode(Int64.self).map(Int.init(truncatingIfNeeded:))
  }

  @inlinable
  public mutating func decode(_ columnType: UInt64.Type) throws -> UInt64? {
    guard let value = try decode(Int64.self) else { return nil }
    guard let result = UInt64(exactly: value) else { throw QueryDecodingError.integerOverflow }
    return result
  }

  public mutating func decode(_ columnType: Date.Type) throws -> Date? {
    try decode(String.self).map(Date.init(iso8601String:))
  }

  public mutating func decode(_ columnType: UUID.Type) throws -> UUID? {
    guard let text = try decode(String.self) else { return nil }
    guard let value = UUID(uuidString: text) else { throw QueryDecodingError.invalidUUID(text) }
    return value
  }

  /// Reads the next column or columns as a representable type, or returns nil if they are NULL.
  @inlinable
  public mutating func decode<T: QueryRepresentable>(_ columnType: T.Type) throws -> T.QueryOutput? {
    try T._ifAny(decoder: &self)?.queryOutput
  }

  /// Reads a column that can't be NULL.
  ///
  /// - Throws: ``QueryDecodingError/missingRequiredColumn`` if it is.
  @inlinable
  public mutating func required<T: QueryRepresentable>(_ columnType: T.Type) throws -> T.QueryOutput {
    try T(decoder: &self).queryOutput
  }

  /// Reads a column of a property that has a default value, which replaces NULL.
  @inlinable
  public mutating func decode<T: QueryRepresentable>(
    _ columnType: T.Type, default value: @autoclosure () throws -> T.QueryOutput
  ) throws -> T.QueryOutput {
    try T._ifAny(decoder: &self)?.queryOutput ?? value()
  }

  /// Reads a column whose type only the context knows.
  @inlinable
  public mutating func required<T: QueryRepresentable>() throws -> T where T.QueryOutput == T {
    try T(decoder: &self)
  }

  /// Reads a column with a default value whose type only the context knows.
  @inlinable
  public mutating func decode<T: QueryRepresentable>(
    default value: @autoclosure () throws -> T
  ) throws -> T where T.QueryOutput == T {
    try T._ifAny(decoder: &self) ?? value()
  }
}

/// A type that can be read from the columns of a row.
public protocol QueryDecodable {
  /// The type with NULL as one more value. For an optional it is the type itself.
  associatedtype _Optionalized: QueryDecodable = Self?

  /// Reads the value from the next columns.
  init(decoder: inout some QueryDecoder) throws

  /// Reads the value from the next columns, or returns nil if all of them are NULL.
  static func _ifAny(decoder: inout some QueryDecoder) throws -> Self?

  /// The number of columns that the value is read from.
  static var _columnWidth: Int { get }
}

extension QueryDecodable {
  @inlinable
  public static var _columnWidth: Int { 1 }

  @inlinable
  public static func _ifAny(decoder: inout some QueryDecoder) throws -> Self? {
    try decoder.skipNulls(_columnWidth) ? nil : Self(decoder: &decoder)
  }
}

/// An error of reading a value from a row.
public enum QueryDecodingError: Error, Hashable, Sendable {
  /// The column is NULL, but its Swift type isn't optional.
  case missingRequiredColumn
  /// The integer doesn't fit into the Swift type.
  case integerOverflow
  /// The text isn't a date.
  case invalidDate(String)
  /// The text isn't a UUID.
  case invalidUUID(String)
  /// The text isn't a URL.
  case invalidURL(String)
  /// The column holds none of the values of an enumeration, or can't be read for another reason.
  case dataCorrupted(String)
}

extension QueryDecodingError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .missingRequiredColumn: "the column is NULL, but its type isn't optional"
    case .integerOverflow: "the integer doesn't fit into the type of the column"
    case .invalidDate(let text): "'\(text)' isn't a date"
    case .invalidUUID(let text): "'\(text)' isn't a UUID"
    case .invalidURL(let text): "'\(text)' isn't a URL"
    case .dataCorrupted(let reason): reason
    }
  }
}
