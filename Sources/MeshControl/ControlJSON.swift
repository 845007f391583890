package import FoundationEssentials
import MeshCore

/// The JSON of requests and answers: sorted keys, and times in ISO 8601 with milliseconds.
package enum ControlJSON {
  /// Returns `value` as one object in UTF-8. Characters that could play tricks on a terminal are escaped, so nothing is
  /// lost, and a peer can't have anything shown that it shouldn't.
  package static func encode(_ value: some Encodable, pretty: Bool = false) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(text(date))
    }
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return Array(escaped(String(decoding: try encoder.encode(value), as: UTF8.self)).utf8)
  }

  /// Decodes an object. Keys that the type doesn't have are ignored. Throws `DecodingError` if one is missing, or a
  /// time is not ISO 8601 with milliseconds.
  package static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      guard let date = try? Date(text, strategy: time) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "not a time such as 2026-11-21T11:34:45.120Z"))
      }
      return date
    }
    return try decoder.decode(type, from: Data(bytes))
  }

  /// Two edits are often less than a second apart.
  private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// Returns a date as text, such as `2026-11-21T11:34:45.120Z`.
  package static func text(_ date: Date) -> String {
    // A `Date` is a binary fraction, just below its millisecond as often as above, and the style cuts off.
    time.format(date.addingTimeInterval(0.000_1))
  }

  /// Outside of strings JSON has only printable characters and line breaks, so what is left stands in a string.
  private static func escaped(_ json: String) -> String {
    guard json.unicodeScalars.contains(where: { $0 != "\n" && !isPrintable($0) }) else { return json }
    var result = ""
    for scalar in json.unicodeScalars {
      if scalar == "\n" || isPrintable(scalar) {
        result.unicodeScalars.append(scalar)
      } else {
        for unit in String(scalar).utf16 {
          let hex = String(unit, radix: 16)
          result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        }
      }
    }
    return result
  }
}

/// How a refusal travels: `{"error": {"code", "message", "exit"}}`.
package struct RefusalEnvelope: Codable {
  /// The refusal that the node answers instead of a report.
  package let error: Refusal

  /// Wraps a refusal for the answer.
  package init(error: Refusal) { self.error = error }
}
