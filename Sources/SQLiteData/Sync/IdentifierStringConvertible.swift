public import Foundation

/// A value that can be the primary key of a synchronized table. It has a text, and two machines don't create the same
/// value by accident.
///
/// An integer isn't such a value, because row 1 of one machine would become row 1 of another.
public protocol IdentifierStringConvertible {
  /// Creates the value from its text in the database.
  init?(rawIdentifier: String)

  /// The value's text in the database.
  var rawIdentifier: String { get }
}

extension String: IdentifierStringConvertible {
  public init?(rawIdentifier: String) { self = rawIdentifier }
  public var rawIdentifier: String { self }
}

extension Substring: IdentifierStringConvertible {
  public init?(rawIdentifier: String) { self = rawIdentifier[...] }
  public var rawIdentifier: String { String(self) }
}

extension UUID: IdentifierStringConvertible {
  public init?(rawIdentifier: String) { self.init(uuidString: rawIdentifier) }
  public var rawIdentifier: String { uuidString.lowercased() }
}

extension RawRepresentable where Self: IdentifierStringConvertible, RawValue: IdentifierStringConvertible {
  public init?(rawIdentifier: String) {
    guard let raw = RawValue(rawIdentifier: rawIdentifier) else { return nil }
    self.init(rawValue: raw)
  }
  public var rawIdentifier: String { rawValue.rawIdentifier }
}
