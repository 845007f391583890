public import Foundation

/// A value bound to a placeholder of a statement.
public enum QueryBinding: Hashable, Sendable {
  case blob([UInt8])
  case bool(Bool)
  case double(Double)
  case date(Date)
  case int(Int64)
  case null
  case text(String)
  case uint(UInt64)
  case uuid(UUID)
  /// A value that can't be bound. Running the statement throws the error.
  case invalid(QueryBindingError)

  /// Makes a binding that throws when the statement runs.
  public static func invalid(_ error: any Error) -> Self {
    .invalid(QueryBindingError(underlyingError: error))
  }
}

/// The reason why a Swift value has no SQL representation.
public struct QueryBindingError: Error, Hashable, CustomStringConvertible {
  public let underlyingError: any Error

  public init(underlyingError: any Error) {
    self.underlyingError = underlyingError
  }

  public var description: String { String(describing: underlyingError) }

  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.description == rhs.description }

  public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}

/// An integer above `Int64.max`, which SQLite can't store.
public struct OverflowError: Error, CustomStringConvertible {
  public let value: UInt64

  public init(value: UInt64) { self.value = value }

  public var description: String { "\(value) is greater than \(Int64.max), the largest integer of SQLite" }
}

extension QueryBinding: CustomDebugStringConvertible {
  /// The value as an SQL literal.
  public var debugDescription: String {
    switch self {
    case .blob(let bytes): "x'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    case .bool(let value): value ? "1" : "0"
    // SQL has no names for these numbers. SQLite stores one that is no number as NULL.
    case .double(let value) where !value.isFinite: value.isNaN ? "NULL" : value < 0 ? "-9e999" : "9e999"
    case .double(let value): value.description
    case .date(let value): "'\(value.iso8601String)'"
    case .int(let value): value.description
    case .null: "NULL"
    // SQLite ends a statement at a NUL character.
    case .text(let value) where value.utf8.contains(0):
      "CAST(\(QueryBinding.blob(Array(value.utf8)).debugDescription) AS TEXT)"
    case .text(let value): QueryFragment(quote: value, delimiter: .text).sql
    case .uint(let value): value.description
    case .uuid(let value): "'\(value.uuidString.lowercased())'"
    case .invalid(let error): "<invalid: \(error)>"
    }
  }
}
