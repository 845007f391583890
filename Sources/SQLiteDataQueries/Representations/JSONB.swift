import Foundation

/// A value that is stored in SQLite's binary form of JSON.
///
/// ```swift
/// @Table struct Note {
///   let id: Int
///   @Column(as: [String].JSONBRepresentation.self)
///   var tags: [String] = []
/// }
/// ```
///
/// Writing needs SQLite 3.45, whose `jsonb` function makes that form. An older SQLite refuses the statement with an error
/// that says so. Reading needs no function.
public struct _CodableJSONBRepresentation<QueryOutput: Codable>: QueryBindable {
  public let queryOutput: QueryOutput

  public init(queryOutput: QueryOutput) { self.queryOutput = queryOutput }

  /// The value as JSON text, which ``queryFragment`` converts.
  public var queryBinding: QueryBinding { _CodableJSONRepresentation(queryOutput: queryOutput).queryBinding }

  public var queryFragment: QueryFragment { "jsonb(\(queryBinding))" }

  public init(decoder: inout some QueryDecoder) throws {
    guard let bytes = try decoder.decode([UInt8].self) else { throw QueryDecodingError.missingRequiredColumn }
    var reader = JSONBReader(bytes[...])
    let text = try reader.text()
    queryOutput = try JSONDecoder.queries.decode(QueryOutput.self, from: Data(text))
  }
}

extension _CodableJSONBRepresentation: Sendable where QueryOutput: Sendable {}

extension Decodable where Self: Encodable {
  /// The form of a value that is stored as binary JSON.
  public typealias JSONBRepresentation = _CodableJSONBRepresentation<Self>
}

extension Optional where Wrapped: Codable {
  /// The form of an optional value that is stored as binary JSON, or as NULL.
  public typealias JSONBRepresentation = _CodableJSONBRepresentation<Wrapped>?
}

/// Reads SQLite's binary form of JSON, in which each element is a header with its type and size, and a payload.
private struct JSONBReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Returns the JSON text of the only element.
  mutating func text() throws -> [UInt8] {
    guard let (type, payload) = element(), rest.isEmpty else {
      throw QueryDecodingError.dataCorrupted("the column doesn't hold binary JSON")
    }
    var text: [UInt8] = []
    try Self.append(type, payload, depth: 0, to: &text)
    return text
  }

  /// Returns the type and the payload of the next element, or nil if the bytes end before it does.
  private mutating func element() -> (type: UInt8, payload: ArraySlice<UInt8>)? {
    guard let first = rest.popFirst() else { return nil }
    var size = Int(first >> 4)
    // A size above 11 says how many bytes hold the size, in big endian.
    if size > 11 {
      let width = 1 << (size - 12)
      guard rest.count >= width else { return nil }
      size = 0
      for byte in rest.prefix(width) {
        guard size < 1 << 48 else { return nil }
        size = size << 8 | Int(byte)
      }
      rest = rest.dropFirst(width)
    }
    guard rest.count >= size else { return nil }
    defer { rest = rest.dropFirst(size) }
    return (first & 15, rest.prefix(size))
  }

  /// The number of arrays and objects inside of each other that `JSONDecoder` reads.
  private static let greatestDepth = 512

  private static func append(
    _ type: UInt8, _ payload: ArraySlice<UInt8>, depth: Int, to text: inout [UInt8]
  ) throws {
    // A deeper value would exhaust the stack.
    guard depth <= greatestDepth else {
      throw QueryDecodingError.dataCorrupted("the binary JSON has over \(greatestDepth) elements inside each other")
    }
    switch type {
    case 0: text += "null".utf8
    case 1: text += "true".utf8
    case 2: text += "false".utf8
    case 3, 5: text += payload
    case 7, 8:
      text.append(UInt8(ascii: "\""))
      text += payload
      text.append(UInt8(ascii: "\""))
    case 10: text += try JSONEncoder().encode(String(decoding: payload, as: UTF8.self))
    case 11: try append(elementsOf: payload, between: "[", "]", separators: [","], depth: depth + 1, to: &text)
    case 12: try append(elementsOf: payload, between: "{", "}", separators: [":", ","], depth: depth + 1, to: &text)
    default:
      throw QueryDecodingError.dataCorrupted(
        "the binary JSON has an element of type \(type), which JSON text has no form for")
    }
  }

  private static func append(
    elementsOf payload: ArraySlice<UInt8>, between open: String, _ close: String, separators: [String],
    depth: Int, to text: inout [UInt8]
  ) throws {
    var reader = JSONBReader(payload)
    var count = 0
    text += open.utf8
    while !reader.rest.isEmpty {
      guard let (type, payload) = reader.element() else {
        throw QueryDecodingError.dataCorrupted("the binary JSON ends before its last element")
      }
      // The keys and values of an object take turns.
      if count > 0 { text += separators[(count - 1) % separators.count].utf8 }
      try append(type, payload, depth: depth, to: &text)
      count += 1
    }
    text += close.utf8
  }
}
