/// The position of a key in the text of a TOML document. The parser keeps only values, but errors name lines.
struct TOMLStatement: Equatable {
  /// The key, or the first part of a dotted key or of a table's header, without quotes.
  let key: String
  /// The line, counted from 1.
  let line: Int

  /// Returns the statements of a text that a TOML parser has accepted. For any other text, it returns some of them.
  static func all(in text: [UInt8]) -> [TOMLStatement] {
    var scanner = TOMLScanner(text: text)
    var result: [TOMLStatement] = []
    while let statement = scanner.next() { result.append(statement) }
    return result
  }
}

private struct TOMLScanner {
  let text: [UInt8]
  private var index = 0
  private var line = 1

  init(text: [UInt8]) { self.text = text }

  mutating func next() -> TOMLStatement? {
    skipBlank()
    guard let first = peek else { return nil }
    let start = line
    if first == UInt8(ascii: "[") {
      while peek == UInt8(ascii: "[") || peek == UInt8(ascii: " ") { advance() }
      let key = key()
      skipLine()
      return TOMLStatement(key: key, line: start)
    }
    let key = key()
    while let byte = peek, byte != UInt8(ascii: "="), byte != UInt8(ascii: "\n") {
      if isQuote(byte) { skipString(byte) } else { advance() }
    }
    advance()
    skipValue()
    return TOMLStatement(key: key, line: start)
  }

  private var peek: UInt8? { index < text.count ? text[index] : nil }

  private mutating func advance() {
    guard index < text.count else { return }
    if text[index] == UInt8(ascii: "\n") { line += 1 }
    index += 1
  }

  private mutating func skipLine() {
    while let byte = peek, byte != UInt8(ascii: "\n") { advance() }
  }

  private mutating func skipBlank() {
    while let byte = peek {
      if byte == UInt8(ascii: "#") {
        skipLine()
      } else if isSpace(byte) {
        advance()
      } else {
        return
      }
    }
  }

  private mutating func key() -> String {
    guard let first = peek else { return "" }
    let start = index
    if isQuote(first) {
      skipString(first)
      return String(decoding: text[start..<index].dropFirst().dropLast(), as: UTF8.self)
    }
    while let byte = peek, !isSpace(byte), !".=]".utf8.contains(byte) { advance() }
    return String(decoding: text[start..<index], as: UTF8.self)
  }

  /// Skips to the end of the value.
  private mutating func skipValue() {
    var depth = 0
    while let byte = peek {
      if byte == UInt8(ascii: "\n"), depth == 0 { break }
      if byte == UInt8(ascii: "#") {
        skipLine()
      } else if isQuote(byte) {
        skipString(byte)
      } else {
        if "[{".utf8.contains(byte) { depth += 1 }
        if "]}".utf8.contains(byte) { depth -= 1 }
        advance()
      }
    }
  }

  private mutating func skipString(_ quote: UInt8) {
    let triple = index + 2 < text.count && text[index + 1] == quote && text[index + 2] == quote
    let width = triple ? 3 : 1
    for _ in 0..<width { advance() }
    while let byte = peek {
      if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
        advance()
        advance()
      } else if text[index...].prefix(width).count == width, text[index...].prefix(width).allSatisfy({ $0 == quote }) {
        for _ in 0..<width { advance() }
        return
      } else {
        advance()
      }
    }
  }

  private func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

  private func isSpace(_ byte: UInt8) -> Bool { " \t\r\n".utf8.contains(byte) }
}
