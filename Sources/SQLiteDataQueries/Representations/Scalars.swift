public import Foundation

extension Bool: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding { .bool(self) }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = try decoder.decode(Bool.self) else { throw QueryDecodingError.missingRequiredColumn }
    self = value
  }
  @inlinable public static func _ifAny(decoder: inout some QueryDecoder) throws -> Self? {
    try decoder.decode(Bool.self)
  }
}

extension Double: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding { .double(self) }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = try decoder.decode(Double.self) else { throw QueryDecodingError.missingRequiredColumn }
    self = value
  }
  @inlinable public static func _ifAny(decoder: inout some QueryDecoder) throws -> Self? {
    try decoder.decode(Double.self)
  }
}

extension Float: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding { .double(Double(self)) }
  @inlinable public init(decoder: inout some QueryDecoder) throws { self = Float(try Double(decoder: &decoder)) }
}

extension Int: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding { .int(Int64(self)) }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = try decoder.decode(Int.self) else { throw QueryDecodingError.missingRequiredColumn }
    self = value
  }
  @inlinable public static func _ifAny(decoder: inout some QueryDecoder) throws -> Self? {
    try decoder.decode(Int.self)
  }
}

extension Int64: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding { .int(self) }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = try decoder.decode(Int64.self) else { throw QueryDecodingError.missingRequiredColumn }
    self = value
  }
  @inlinable public static func _ifAny(decoder: inout some QueryDecoder) throws -> Self? {
    try decoder.decode(Int64.self)
  }
}

extension QueryBindable where Self: FixedWidthInteger {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding {
    if let value = Int64(exactly: self) { return .int(value) }
    return .invalid(OverflowError(value: UInt64(truncatingIfNeeded: self)))
  }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = Self(exactly: try Int64(decoder: &decoder)) else {
      throw QueryDecodingError.integerOverflow
    }
    self = value
  }
}

extension Int8: QueryBindable {}
extension Int16: QueryBindable {}
extension Int32: QueryBindable {}
extension UInt8: QueryBindable {}
extension UInt16: QueryBindable {}
extension UInt32: QueryBindable {}
extension UInt64: QueryBindable {}
extension UInt: QueryBindable {}

extension String: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding { .text(self) }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = try decoder.decode(String.self) else { throw QueryDecodingError.missingRequiredColumn }
    self = value
  }
  @inlinable public static func _ifAny(decoder: inout some QueryDecoder) throws -> Self? {
    try decoder.decode(String.self)
  }
}

extension Substring: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  public var queryBinding: QueryBinding { .text(String(self)) }
  public init(decoder: inout some QueryDecoder) throws { self.init(try String(decoder: &decoder)) }
}

extension [UInt8]: QueryDecodable, QueryRepresentable, QueryExpression, QueryBindable {
  public typealias QueryValue = Self
  public typealias QueryOutput = Self
  public typealias _Optionalized = Self?
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding { .blob(self) }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = try decoder.decode([UInt8].self) else { throw QueryDecodingError.missingRequiredColumn }
    self = value
  }
}

extension Data: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  public var queryBinding: QueryBinding { .blob([UInt8](self)) }
  public init(decoder: inout some QueryDecoder) throws { self.init(try [UInt8](decoder: &decoder)) }
}

extension URL: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  public var queryBinding: QueryBinding { .text(absoluteString) }
  public init(decoder: inout some QueryDecoder) throws {
    let text = try String(decoder: &decoder)
    guard let url = URL(string: text) else { throw QueryDecodingError.invalidURL(text) }
    self = url
  }
}

extension RawRepresentable where Self: QueryBindable, RawValue: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { RawValue._isPlaceholder }
  public var queryBinding: QueryBinding { rawValue.queryBinding }
}

extension RawRepresentable
where Self: QueryRepresentable, RawValue: QueryDecodable {
  public init(decoder: inout some QueryDecoder) throws {
    let rawValue = try RawValue(decoder: &decoder)
    guard let value = Self(rawValue: rawValue) else {
      throw QueryDecodingError.dataCorrupted("\(rawValue) is no raw value of \(Self.self)")
    }
    self = value
  }
}
