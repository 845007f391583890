/// A token of SQL text, as SQLite divides it.
package enum SQLToken: Hashable, Sendable {
  /// A keyword or a bare name.
  case word(String)
  /// A name in quotes. SQLite reads a name in double quotes as a text if no column has the name.
  case name(String, isDoubleQuoted: Bool)
  /// A text literal, without its quotes.
  case text(String)
  /// A BLOB literal, decoded.
  case blob([UInt8])
  /// A numeric literal as it is spelled, such as `1e3` or `0xff`. Without its sign.
  case number(String)
  /// An operator or a punctuation mark, such as `<=` or `(`.
  case symbol(String)

  /// The word in lower case, or nil for any other token.
  package var keyword: String? {
    guard case .word(let word) = self else { return nil }
    return word.asciiLowercased
  }

  /// The name, if the token is a word or a quoted name.
  package var name: String? {
    switch self {
    case .word(let name), .name(let name, _): name
    default: nil
    }
  }
}

/// Divides SQL text into tokens, without comments and blanks.
package struct SQLTokens {
  private let bytes: [UInt8]
  private var index = 0

  /// Returns the tokens of the text.
  ///
  /// - Throws: `SchemaRefusal` (`syntax`) if a quote or a comment has no end, or a number is not valid.
  package static func all(_ sql: String) throws(SchemaRefusal) -> [SQLToken] {
    var reader = SQLTokens(bytes: Array(sql.utf8))
    var tokens: [SQLToken] = []
    while let token = try reader.next() { tokens.append(token) }
    return tokens
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private func byte(at offset: Int = 0) -> UInt8? {
    bytes.indices.contains(index + offset) ? bytes[index + offset] : nil
  }

  private mutating func next() throws(SchemaRefusal) -> SQLToken? {
    skipBlanks()
    guard let first = byte() else { return nil }
    switch first {
    case UInt8(ascii: "'"): return .text(try quoted(until: first))
    case UInt8(ascii: "\""): return .name(try quoted(until: first), isDoubleQuoted: true)
    case UInt8(ascii: "`"): return .name(try quoted(until: first), isDoubleQuoted: false)
    case UInt8(ascii: "["): return .name(try bracketed(), isDoubleQuoted: false)
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      if byte(at: 1) == UInt8(ascii: "'") { return .blob(try blob()) }
    case UInt8(ascii: "."):
      if let digit = byte(at: 1), Self.isDigit(digit) { return .number(try number()) }
    default: break
    }
    if Self.isDigit(first) { return .number(try number()) }
    if Self.isWordPart(first) { return .word(taken(while: Self.isWordPart)) }
    return .symbol(symbol(first))
  }

  private mutating func skipBlanks() {
    while let next = byte() {
      switch next {
      case 0x09, 0x0a, 0x0c, 0x0d, 0x20: index += 1
      case UInt8(ascii: "-") where byte(at: 1) == next:
        while let inside = byte(), inside != 0x0a { index += 1 }
      case UInt8(ascii: "/") where byte(at: 1) == UInt8(ascii: "*"):
        index += 2
        while byte() != nil, byte() != UInt8(ascii: "*") || byte(at: 1) != UInt8(ascii: "/") { index += 1 }
        index = min(index + 2, bytes.count)
      default: return
      }
    }
  }

  private mutating func taken(while isPart: (UInt8) -> Bool) -> String {
    let start = index
    while let next = byte(), isPart(next) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  /// Reads up to the closing quote. A doubled quote stands for one.
  private mutating func quoted(until quote: UInt8) throws(SchemaRefusal) -> String {
    var content: [UInt8] = []
    index += 1
    while let next = byte() {
      index += 1
      if next == quote {
        guard byte() == quote else { return String(decoding: content, as: UTF8.self) }
        index += 1
      }
      content.append(next)
    }
    throw SchemaRefusal(.syntax)
  }

  private mutating func bracketed() throws(SchemaRefusal) -> String {
    index += 1
    let name = taken { $0 != UInt8(ascii: "]") }
    guard byte() != nil else { throw SchemaRefusal(.syntax) }
    index += 1
    return name
  }

  private mutating func blob() throws(SchemaRefusal) -> [UInt8] {
    index += 1
    let digits = Array(try quoted(until: UInt8(ascii: "'")))
    guard digits.count.isMultiple(of: 2) else { throw SchemaRefusal(.syntax) }
    var content: [UInt8] = []
    for start in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[start].hexDigitValue, let low = digits[start + 1].hexDigitValue else {
        throw SchemaRefusal(.syntax)
      }
      content.append(UInt8(high << 4 | low))
    }
    return content
  }

  private mutating func number() throws(SchemaRefusal) -> String {
    var last: UInt8 = 0
    let isHexadecimal = byte() == UInt8(ascii: "0") && byte(at: 1).map { $0 | 0x20 } == UInt8(ascii: "x")
    return taken { next in
      let isSign = next == UInt8(ascii: "+") || next == UInt8(ascii: "-")
      let isPart =
        Self.isWordPart(next) || next == UInt8(ascii: ".")
        || isSign && !isHexadecimal && last | 0x20 == UInt8(ascii: "e")
      last = next
      return isPart
    }
  }

  private mutating func symbol(_ first: UInt8) -> String {
    let pairs: Set<String> = ["||", "<=", "<>", ">=", "==", "!=", "<<", ">>", "->"]
    let pair = String(decoding: bytes[index..<min(index + 2, bytes.count)], as: UTF8.self)
    let symbol = pairs.contains(pair) ? pair : String(decoding: [first], as: UTF8.self)
    index += symbol.utf8.count
    return symbol
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func isWordPart(_ byte: UInt8) -> Bool {
    isDigit(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
      || byte >= 0x80
  }
}
