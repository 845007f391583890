import MeshCore

/// The tables that a trigger's statements write to, read from its SQL.
enum TriggerText {
  /// Returns the names of the tables, in lower case.
  static func writes(_ sql: String) -> Set<String> {
    let words = words(sql)
    var found: Set<String> = []
    let body = words.firstIndex(of: .plain("begin")) ?? words.startIndex
    for place in words.indices.dropFirst(body) {
      let rest = words[place...].dropFirst()
      switch words[place] {
      case .plain("into"): found.insert(rest.first?.name ?? "")
      case .plain("from") where place > 0 && words[place - 1] == .plain("delete"):
        found.insert(rest.first?.name ?? "")
      case .plain("update"):
        let named = rest.first == .plain("or") ? rest.dropFirst(2).first : rest.first
        // `DO UPDATE SET` names no table.
        if let named, named != .plain("set") { found.insert(named.name) }
      default: break
      }
    }
    return found
  }

  private enum Word: Equatable {
    /// A keyword or a name without quotes, in lower case.
    case plain(String)
    /// A name in quotes, which is never a keyword.
    case quoted(String)

    var name: String {
      switch self {
      case .plain(let name), .quoted(let name): name
      }
    }
  }

  private static func words(_ sql: String) -> [Word] {
    var words: [Word] = []
    var rest = Array(sql.utf8)[...]
    while let byte = rest.first {
      switch byte {
      case UInt8(ascii: "'"): _ = quoted(&rest, until: byte)
      case UInt8(ascii: "\""), UInt8(ascii: "`"): words.append(.quoted(quoted(&rest, until: byte)))
      case UInt8(ascii: "["): words.append(.quoted(quoted(&rest, until: UInt8(ascii: "]"))))
      case UInt8(ascii: "-") where rest.starts(with: "--".utf8): rest = rest.drop { $0 != UInt8(ascii: "\n") }
      case UInt8(ascii: "/") where rest.starts(with: "/*".utf8): skipComment(&rest)
      case let letter where isOfName(letter):
        let name = rest.prefix(while: isOfName)
        words.append(.plain(String(decoding: name, as: UTF8.self).asciiLowercased))
        rest = rest.dropFirst(name.count)
      default: rest = rest.dropFirst()
      }
    }
    return words
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  /// Reads a quoted name. A doubled quote stands for one.
  private static func quoted(_ rest: inout ArraySlice<UInt8>, until end: UInt8) -> String {
    var name: [UInt8] = []
    rest = rest.dropFirst()
    while let byte = rest.popFirst() {
      if byte == end {
        guard end != UInt8(ascii: "]"), rest.first == end else { break }
        rest = rest.dropFirst()
      }
      name.append(byte)
    }
    return String(decoding: name, as: UTF8.self).asciiLowercased
  }

  private static func skipComment(_ rest: inout ArraySlice<UInt8>) {
    rest = rest.dropFirst(2)
    while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
    rest = rest.dropFirst(2)
  }
}
