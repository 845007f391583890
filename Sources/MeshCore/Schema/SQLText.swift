extension String {
  /// The text as a quoted identifier in SQL. All names of tables, columns and triggers get into SQL text only in this
  /// way.
  package var quotedName: String { "\"" + replacingEach("\"") + "\"" }

  /// The text as a text literal in SQL.
  package var quotedText: String { "'" + replacingEach("'") + "'" }

  private func replacingEach(_ quote: Character) -> String {
    split(separator: quote, omittingEmptySubsequences: false).joined(separator: "\(quote)\(quote)")
  }
}

extension Value {
  /// The value as a literal in SQL. Text is UTF-8 without NULs, which `SchemaDescription.check` ensures.
  package var literal: String {
    switch self {
    case .null: return "NULL"
    case .integer(let integer): return "\(integer)"
    case .real(let bits):
      let real = Double(bitPattern: bits)
      // No literal is infinite, but one that is too large becomes infinite.
      return real.isInfinite ? (real < 0 ? "-9e999" : "9e999") : "\(real)"
    case .text(let bytes): return String(decoding: bytes, as: UTF8.self).quotedText
    case .blob(let bytes):
      return "X'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    // A default is never an asset.
    case .asset: return "NULL"
    }
  }
}

extension ColumnCollation {
  /// The name of the collation in SQL.
  package var sql: String {
    switch self {
    case .binary: "BINARY"
    case .nocase: "NOCASE"
    case .rtrim: "RTRIM"
    }
  }

  /// Creates a collation from its name in SQL. Returns nil for a collation that an app defined.
  package init?(sql: String) {
    let folded = sql.folded
    guard let known = Self.allCases.first(where: { $0.sql.folded == folded }) else { return nil }
    self = known
  }
}
