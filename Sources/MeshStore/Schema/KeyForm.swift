import MeshCore

/// How one table's keys are compared: two keys name one record exactly when their canonical forms are the same value.
struct KeyForm: Hashable, Sendable {
  let collation: Collation
  /// Several spellings of one key are possible, so that the key column also counts as an ordinary column, whose value
  /// is the spelling.
  let keyIsColumn: Bool

  init(collation: Collation, keyIsColumn: Bool) {
    self.collation = collation
    self.keyIsColumn = keyIsColumn
  }

  /// Nil where the table's key is not one column with a built-in collation.
  init?(_ schema: TableSchema) {
    guard let key = schema.keyColumn, let collation = Collation(sql: key.collation) else { return nil }
    let hasOneSpelling =
      schema.isRowidAlias || (collation == .binary && (key.affinity == .text || key.affinity == .integer))
    self.init(collation: collation, keyIsColumn: !hasOneSpelling)
  }

  /// The form by which the merge knows the record.
  func canonical(_ value: Value) -> Value {
    switch value {
    case .real(let bits):
      // SQLite holds 1 and 1.0 (and −0.0 and 0) to be the same key.
      Int64(exactly: Double(bitPattern: bits)).map(Value.integer) ?? value
    case .text(let bytes):
      .text(canonical(bytes))
    case .null, .integer, .blob, .asset:
      value
    }
  }

  /// Whether another value is the same key: a row of such a key always sends its spelling, so that one written at the same time
  /// under another meets it.
  ///
  /// - Parameter key: In its canonical form.
  func hasOtherSpellings(_ key: Value) -> Bool {
    guard keyIsColumn else { return false }
    switch key {
    case .integer: return true
    case .null, .real, .blob, .asset: return false
    case .text(let bytes):
      switch collation {
      case .binary: return false
      case .rtrim: return true
      case .nocase: return bytes.contains { $0 == 0 || (0x61...0x7a).contains($0) }
      }
    }
  }

  /// The same in SQL, but for texts with NULs: of an expression that has the affinity of a column.
  func canonicalSQL(_ key: String) -> String {
    let text =
      switch collation {
      case .binary: key
      case .nocase: "iif(typeof(\(key)) = 'text', lower(\(key)), \(key))"
      case .rtrim: "iif(typeof(\(key)) = 'text', rtrim(\(key), ' '), \(key))"
      }
    // SQLite compares integers and reals by value. Without the sign a column of numbers would ask for a conversion of all keys,
    // which no index finds.
    return "(+\(text)) COLLATE BINARY"
  }

  private func canonical(_ text: [UInt8]) -> [UInt8] {
    switch collation {
    case .binary:
      return text
    case .rtrim:
      let end = text.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? 0
      return Array(text[..<end])
    case .nocase:
      // SQLite's comparison looks no further than a NUL that both have at one place, but does compare lengths.
      let end = text.firstIndex(of: 0) ?? text.endIndex
      return text[..<end].map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
        + [UInt8](repeating: 0, count: text.endIndex - end)
    }
  }
}
