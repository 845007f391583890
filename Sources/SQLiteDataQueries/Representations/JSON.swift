import Foundation

/// A value that is stored as JSON text.
///
/// ```swift
/// @Table struct Note {
///   let id: Int
///   @Column(as: [String].JSONRepresentation.self)
///   var tags: [String] = []
/// }
/// ```
public struct _CodableJSONRepresentation<QueryOutput: Codable>: QueryBindable {
  public let queryOutput: QueryOutput

  public init(queryOutput: QueryOutput) { self.queryOutput = queryOutput }

  @inlinable public static var _isPlaceholder: Bool { true }
  public var queryBinding: QueryBinding {
    do {
      let data = try JSONEncoder.queries.encode(queryOutput)
      return .text(String(decoding: data, as: UTF8.self))
    } catch {
      return .invalid(error)
    }
  }

  public init(decoder: inout some QueryDecoder) throws {
    let text = try String(decoder: &decoder)
    queryOutput = try JSONDecoder.queries.decode(QueryOutput.self, from: Data(text.utf8))
  }
}

extension _CodableJSONRepresentation: Sendable where QueryOutput: Sendable {}

extension Decodable where Self: Encodable {
  /// The form of a value that is stored as JSON text.
  public typealias JSONRepresentation = _CodableJSONRepresentation<Self>
}

extension Optional where Wrapped: Codable {
  /// The form of an optional value that is stored as JSON text, or as NULL.
  public typealias JSONRepresentation = _CodableJSONRepresentation<Wrapped>?
}

extension JSONEncoder {
  static var queries: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .custom { date, encoder in
      guard date._hasISO8601Text else { throw DateRangeError(date) }
      var container = encoder.singleValueContainer()
      try container.encode(date.iso8601String)
    }
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}

extension JSONDecoder {
  static var queries: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { try Date(iso8601String: $0.singleValueContainer().decode(String.self)) }
    return decoder
  }
}
