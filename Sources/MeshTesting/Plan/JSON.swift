import Foundation

/// A JSON document in its original form, so that unknown keys can be named.
enum JSON: Equatable {
  case null
  case flag(Bool)
  case integer(Int)
  case real(Double)
  case text(String)
  case list([JSON])
  case object([String: JSON])
}

extension JSON: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let integer = try? container.decode(Int.self) {
      self = .integer(integer)
    } else if let real = try? container.decode(Double.self) {
      self = .real(real)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let list = try? container.decode([JSON].self) {
      self = .list(list)
    } else {
      self = .object(try container.decode([String: JSON].self))
    }
  }
}

extension JSON {
  /// Returns indented text with sorted keys, and short lists on one line.
  func written(indent: Int = 0) -> String {
    let space = String(repeating: "  ", count: indent + 1)
    switch self {
    case .null: return "null"
    case .flag(let flag): return "\(flag)"
    case .integer(let integer): return "\(integer)"
    case .real(let real): return "\(real)"
    case .text(let text): return Self.quoted(text)
    case .list(let list): return "[" + list.map { $0.written() }.joined(separator: ", ") + "]"
    case .object(let object):
      let lines = object.sorted { $0.key < $1.key }.map { key, value in
        "\(space)\(Self.quoted(key)): \(value.written(indent: indent + 1))"
      }
      return "{\n" + lines.joined(separator: ",\n") + "\n" + String(repeating: "  ", count: indent) + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      default: quoted += scalar.value < 32 ? " " : String(scalar)
      }
    }
    return quoted + "\""
  }
}
