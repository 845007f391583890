/// A value with a type of its own, such as an identifier of one table.
///
/// ```swift
/// @Table struct Reminder {
///   typealias ID = Tagged<Self, Int>
///   let id: ID
/// }
/// ```
public struct Tagged<Tag, RawValue>: RawRepresentable {
  public var rawValue: RawValue

  public init(rawValue: RawValue) { self.rawValue = rawValue }

  public init(_ rawValue: RawValue) { self.rawValue = rawValue }
}

extension Tagged: Sendable where RawValue: Sendable {}
extension Tagged: Equatable where RawValue: Equatable {}
extension Tagged: Hashable where RawValue: Hashable {}
extension Tagged: Identifiable where RawValue: Identifiable {
  public var id: RawValue.ID { rawValue.id }
}
extension Tagged: Comparable where RawValue: Comparable {
  public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}
extension Tagged: CustomStringConvertible {
  public var description: String { "\(rawValue)" }
}

extension Tagged: Decodable where RawValue: Decodable {
  public init(from decoder: any Decoder) throws { self.init(try RawValue(from: decoder)) }
}
extension Tagged: Encodable where RawValue: Encodable {
  public func encode(to encoder: any Encoder) throws { try rawValue.encode(to: encoder) }
}

extension Tagged: ExpressibleByIntegerLiteral where RawValue: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: RawValue.IntegerLiteralType) { self.init(RawValue(integerLiteral: value)) }
}
extension Tagged: ExpressibleByUnicodeScalarLiteral where RawValue: ExpressibleByUnicodeScalarLiteral {
  public init(unicodeScalarLiteral value: RawValue.UnicodeScalarLiteralType) {
    self.init(RawValue(unicodeScalarLiteral: value))
  }
}
extension Tagged: ExpressibleByExtendedGraphemeClusterLiteral
where RawValue: ExpressibleByExtendedGraphemeClusterLiteral {
  public init(extendedGraphemeClusterLiteral value: RawValue.ExtendedGraphemeClusterLiteralType) {
    self.init(RawValue(extendedGraphemeClusterLiteral: value))
  }
}
extension Tagged: ExpressibleByStringLiteral where RawValue: ExpressibleByStringLiteral {
  public init(stringLiteral value: RawValue.StringLiteralType) { self.init(RawValue(stringLiteral: value)) }
}

extension Tagged: QueryDecodable where RawValue: QueryDecodable {
  public init(decoder: inout some QueryDecoder) throws { self.init(try RawValue(decoder: &decoder)) }
}

extension Tagged: QueryRepresentable where RawValue: QueryRepresentable {
  public typealias QueryOutput = Tagged<Tag, RawValue.QueryOutput>

  public init(queryOutput: QueryOutput) { self.init(RawValue(queryOutput: queryOutput.rawValue)) }

  public var queryOutput: QueryOutput { QueryOutput(rawValue.queryOutput) }
}

extension Tagged: QueryExpression where RawValue: QueryBindable {
  public typealias QueryValue = Self
}

extension Tagged: QueryBindable where RawValue: QueryBindable {}
