public import Foundation

extension UUID: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding { .uuid(self) }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = try decoder.decode(UUID.self) else { throw QueryDecodingError.missingRequiredColumn }
    self = value
  }
  @inlinable public static func _ifAny(decoder: inout some QueryDecoder) throws -> Self? {
    try decoder.decode(UUID.self)
  }

  /// A UUID stored as 16 bytes.
  public struct BytesRepresentation: QueryBindable, Sendable {
    public typealias QueryOutput = UUID
    public let queryOutput: UUID
    public init(queryOutput: UUID) { self.queryOutput = queryOutput }

    @inlinable public static var _isPlaceholder: Bool { true }
    public var queryBinding: QueryBinding { .blob(withUnsafeBytes(of: queryOutput.uuid, Array.init)) }

    public init(decoder: inout some QueryDecoder) throws {
      let bytes = try [UInt8](decoder: &decoder)
      guard bytes.count == 16 else {
        throw QueryDecodingError.dataCorrupted("a UUID has 16 bytes, and the column has \(bytes.count)")
      }
      queryOutput = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
  }

  /// A UUID stored as text in lower case, which is also the form of a UUID without a representation.
  public struct LowercasedRepresentation: QueryBindable, Sendable {
    public typealias QueryOutput = UUID
    public let queryOutput: UUID
    public init(queryOutput: UUID) { self.queryOutput = queryOutput }

    @inlinable public static var _isPlaceholder: Bool { true }
    public var queryBinding: QueryBinding { .text(queryOutput.uuidString.lowercased()) }

    public init(decoder: inout some QueryDecoder) throws { queryOutput = try UUID(decoder: &decoder) }
  }

  /// A UUID stored as text in upper case.
  public struct UppercasedRepresentation: QueryBindable, Sendable {
    public typealias QueryOutput = UUID
    public let queryOutput: UUID
    public init(queryOutput: UUID) { self.queryOutput = queryOutput }

    @inlinable public static var _isPlaceholder: Bool { true }
    public var queryBinding: QueryBinding { .text(queryOutput.uuidString) }

    public init(decoder: inout some QueryDecoder) throws { queryOutput = try UUID(decoder: &decoder) }
  }
}

extension UUID? {
  public typealias BytesRepresentation = UUID.BytesRepresentation?
  public typealias LowercasedRepresentation = UUID.LowercasedRepresentation?
  public typealias UppercasedRepresentation = UUID.UppercasedRepresentation?
}
