/// A SQLite value in an answer.
///
/// In JSON, it is `null`, a number, a text, `{"blob": "<hexadecimal>"}`, or `{"asset": "<id>", "size": <bytes>}` for a BLOB
/// of more than 16 KiB. This form is for people: a real with an integral value is read back as an integer.
public enum ReportedValue: Hashable, Sendable {
  /// NULL.
  case null
  /// An integer.
  case integer(Int64)
  /// A real number.
  case real(Double)
  /// A text.
  case text(String)
  /// A BLOB of at most 16 KiB.
  case blob([UInt8])
  /// The id and the length of a longer BLOB, whose bytes are only in its row.
  case asset(String, size: Int)
}

extension ReportedValue: Codable {
  private struct Blob: Codable {
    let blob: String
  }

  private struct Asset: Codable {
    let asset: String
    let size: Int
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let integer = try? container.decode(Int64.self) {
      self = .integer(integer)
    } else if let real = try? container.decode(Double.self) {
      self = .real(real)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let asset = try? container.decode(Asset.self) {
      self = .asset(asset.asset, size: asset.size)
    } else {
      let digits = Array(try container.decode(Blob.self).blob.utf8)
      self = .blob(
        stride(from: 0, to: digits.count - 1, by: 2).compactMap {
          UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        })
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .integer(let integer): try container.encode(integer)
    // JSON has no infinities; SQLite's shell writes them so.
    case .real(let real) where !real.isFinite: try container.encode(real < 0 ? "-Inf" : "Inf")
    case .real(let real): try container.encode(real)
    case .text(let text): try container.encode(text)
    case .blob(let bytes): try container.encode(Blob(blob: Self.hexadecimal(bytes)))
    case .asset(let id, let size): try container.encode(Asset(asset: id, size: size))
    }
  }
}

extension ReportedValue: CustomStringConvertible {
  /// The value as a person reads it.
  public var description: String {
    switch self {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let real): "\(real)"
    case .text(let text): Self.needsQuotes(text) ? "'\(text.replacing("'", with: "''"))'" : text
    case .blob(let bytes): "x'\(Self.hexadecimal(bytes))'"
    case .asset(let id, let size): "\(id) (\(size) bytes)"
    }
  }

  /// The value as a word of a shell's command.
  package var argument: String {
    let text = description
    if text.utf8.allSatisfy(Self.plain.contains) { return text }
    return text.utf8.contains(where: Self.special.contains)
      ? "'\(text.replacing("'", with: "'\\''"))'" : "\"\(text)\""
  }

  /// The bytes that a shell takes as they are.
  private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,-./:=@_".utf8)
  /// The bytes that a shell interprets in double quotes too.
  private static let special = Set("\"$\\`!".utf8)

  /// Whether a reader could not see where the text ends, or that it is one.
  private static func needsQuotes(_ text: String) -> Bool {
    text.isEmpty || text == "NULL" || text.first?.isWhitespace == true || text.last?.isWhitespace == true
      || isNumber(text) || text.count > 1 && text.hasSuffix("'") && ["'", "x'", "X'"].contains(where: text.hasPrefix)
  }

  /// Whether the text could be a number.
  private static func isNumber(_ text: String) -> Bool {
    text.utf8.allSatisfy(numerals.contains) && Double(text) != nil
  }

  private static let numerals = Set("+-.0123456789eE".utf8)

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
