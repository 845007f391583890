package import MeshCore

/// The possible keys for a text that a person writes, most likely first.
///
/// A quoted text is an SQL literal: `'1'` is the text, `x'0a'` is the BLOB. Any other text is converted by the type of
/// the key's column. In a `TEXT` column it is a text. In any other column it is a number if possible. Other meanings
/// are tried after that.
enum KeyText {
  /// - Parameter affinity: The affinity of the key's column, or nil if the table is not here.
  static func values(_ text: String, affinity: Affinity?) -> [Value] {
    let plain = Value.text(Array(text.utf8))
    let number = number(text, affinity)
    switch quoted(text) {
    case .text(let bytes)?:
      // A numeric column has no such text, because SQLite has converted it to the number.
      let inner = affinity == .blob ? nil : Self.number(String(decoding: bytes, as: UTF8.self), affinity)
      return [inner, .text(bytes), plain].compactMap(\.self)
    case let blob?: return [blob, plain]
    case nil: return [number, plain].compactMap(\.self)
    }
  }

  /// Returns the number in canonical form. Returns nil if the text is not a number, or the column would not convert it
  /// to one.
  private static func number(_ text: String, _ affinity: Affinity?) -> Value? {
    guard affinity != .text, text.utf8.allSatisfy(numerals.contains) else { return nil }
    if affinity != .real, let integer = Int64(text) { return .integer(integer) }
    guard let real = Double(text) else { return nil }
    return Int64(exactly: real).map(Value.integer) ?? .real(real.bitPattern)
  }

  /// Swift accepts more forms than SQLite, such as `inf` and hexadecimal.
  private static let numerals = Set("+-.0123456789eE".utf8)

  private static func quoted(_ text: String) -> Value? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 2, bytes.last == quote else { return nil }
    if bytes[0] == quote { return unescaped(bytes[1..<bytes.count - 1]).map(Value.text) }
    guard bytes.count >= 3, bytes[0] | 0x20 == 0x78, bytes[1] == quote else { return nil }
    return blob(Array(bytes[2..<bytes.count - 1]))
  }

  private static let quote = UInt8(ascii: "'")

  /// Returns nil if a quote inside is not doubled.
  private static func unescaped(_ inner: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = inner
    while let byte = rest.popFirst() {
      if byte == quote, rest.popFirst() != quote { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private static let hexDigits = Set("0123456789abcdefABCDEF".utf8)

  private static func blob(_ digits: [UInt8]) -> Value? {
    guard digits.count.isMultiple(of: 2), digits.allSatisfy({ hexDigits.contains($0) }) else { return nil }
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return .blob(bytes)
  }
}

extension StoreTables {
  /// Returns the keys that a person can mean by a text, most likely first. See `mesh explain record --help`.
  package func keys(written text: String, table name: String) throws -> [Value] {
    try read { transaction in
      let table = transaction.catalog.knownTable(name).flatMap(transaction.catalog.table)
      let values = KeyText.values(text, affinity: table?.keyAffinity)
      guard text.first == "'" else { return values }
      // A record that is held because its key is text on other machines has such a key, and no row has.
      let isText = { (value: Value) in if case .text = value { true } else { false } }
      return values.filter(isText) + values.filter { !isText($0) }
    }
  }
}
