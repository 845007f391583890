import MeshCore

/// The comparison of one table's keys. Two keys name one record if and only if their canonical forms are the same
/// value.
struct KeyForm: Hashable, Sendable {
  let collation: ColumnCollation
  /// True if one key can be spelled in several ways, or if the key refers to another table. The key column then also
  /// counts as an ordinary column, whose value is the spelling.
  let keyIsColumn: Bool

  init(collation: ColumnCollation, keyIsColumn: Bool) {
    self.collation = collation
    self.keyIsColumn = keyIsColumn
  }

  /// Returns nil unless the table's key is one column with a built-in collation.
  init?(_ schema: TableSchema) {
    guard let key = schema.keyColumn, let collation = ColumnCollation(sql: key.collation) else { return nil }
    let hasOneSpelling =
      schema.isRowidAlias || (collation == .binary && (key.affinity == .text || key.affinity == .integer))
    let isReference = schema.foreignKeys.contains { $0.columns.map(\.folded) == [key.name.folded] }
    self.init(collation: collation, keyIsColumn: !hasOneSpelling || isReference)
  }

  /// Returns the form by which the merge identifies the record.
  func canonical(_ value: Value) -> Value {
    switch value {
    case .real(let bits):
      // SQLite treats 1 and 1.0 (and −0.0 and 0) as the same key.
      Int64(exactly: Double(bitPattern: bits)).map(Value.integer) ?? value
    case .text(let bytes):
      .text(canonical(bytes))
    case .null, .integer, .blob, .asset:
      value
    }
  }

  /// Returns whether another value is the same key. A row with such a key always sends its spelling, so that it meets a
  /// concurrent row with another spelling.
  ///
  /// - Parameter key: The key in canonical form.
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

  /// Returns the canonical form as SQL, for an expression that has the affinity of a column. It doesn't cover texts
  /// with NULs.
  func canonicalSQL(_ key: String) -> String {
    let text =
      switch collation {
      case .binary: key
      case .nocase: "iif(typeof(\(key)) = 'text', lower(\(key)), \(key))"
      case .rtrim: "iif(typeof(\(key)) = 'text', rtrim(\(key), ' '), \(key))"
      }
    // SQLite compares integers and reals by value. Without the sign, a column of numbers would require a conversion of
    // all keys, which no index supports.
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
      // SQLite's comparison stops at a NUL that both texts have in the same place, but compares the lengths.
      let end = text.firstIndex(of: 0) ?? text.endIndex
      return text[..<end].map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
        + [UInt8](repeating: 0, count: text.endIndex - end)
    }
  }
}
