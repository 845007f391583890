public import MeshCore

/// What a key may be that a person writes, the likeliest first.
///
/// What stands in quotes is an SQL literal: `'1'` the text, `x'0a'` the BLOB. Anything else is what the key's column makes of it:
/// in a `TEXT` column a text, in any other a number where it can be one. What was meant otherwise is looked for after that.
enum KeyText {
  /// - Parameter affinity: Of the key's column; nil where the table is not here.
  static func values(_ text: String, affinity: Affinity?) -> [Value] {
    let plain = Value.text(Array(text.utf8))
    let number = number(text, affinity)
    switch quoted(text) {
    case .text(let bytes)?:
      // A column of numbers has no such text: SQLite has made it the number.
      let inner = affinity == .blob ? nil : Self.number(String(decoding: bytes, as: UTF8.self), affinity)
      return [inner, .text(bytes), plain].compactMap(\.self)
    case let blob?: return [blob, plain]
    case nil: return [number, plain].compactMap(\.self)
    }
  }

  /// In its canonical form; nil where the text is no number, or the column would not take it for one.
  private static func number(_ text: String, _ affinity: Affinity?) -> Value? {
    guard affinity != .text, text.utf8.allSatisfy(numerals.contains) else { return nil }
    if affinity != .real, let integer = Int64(text) { return .integer(integer) }
    guard let real = Double(text) else { return nil }
    return Int64(exactly: real).map(Value.integer) ?? .real(real.bitPattern)
  }

  /// Swift reads more than SQLite: `inf`, hexadecimal.
  private static let numerals = Set("+-.0123456789eE".utf8)

  private static func quoted(_ text: String) -> Value? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 2, bytes.last == quote else { return nil }
    if bytes[0] == quote { return unescaped(bytes[1..<bytes.count - 1]).map(Value.text) }
    guard bytes.count >= 3, bytes[0] | 0x20 == 0x78, bytes[1] == quote else { return nil }
    return blob(Array(bytes[2..<bytes.count - 1]))
  }

  private static let quote = UInt8(ascii: "'")

  /// Nil where a quote inside is not doubled.
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

extension Store {
  /// The keys that a person can mean by a text, the likeliest first: see `mesh explain record --help`.
  public func keys(written text: String, table name: String) throws -> [Value] {
    try read { session in
      let table = session.catalog.knownTable(name).flatMap(session.catalog.table)
      return KeyText.values(text, affinity: table?.keyAffinity)
    }
  }
}
