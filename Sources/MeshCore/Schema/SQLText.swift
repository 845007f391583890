extension String {
  /// As an identifier in SQL text: the only way in which names of tables, columns and triggers get there.
  package var quotedName: String { "\"" + replacingEach("\"") + "\"" }

  /// As a text literal in SQL text.
  package var quotedText: String { "'" + replacingEach("'") + "'" }

  private func replacingEach(_ quote: Character) -> String {
    split(separator: quote, omittingEmptySubsequences: false).joined(separator: "\(quote)\(quote)")
  }
}

extension Value {
  /// As a literal of SQL. Text is UTF-8 without NULs, which `SchemaDescription.check` has seen to.
  package var literal: String {
    switch self {
    case .null: return "NULL"
    case .integer(let integer): return "\(integer)"
    case .real(let bits):
      let real = Double(bitPattern: bits)
      // No literal is infinite, but one that is too large becomes so.
      return real.isInfinite ? (real < 0 ? "-9e999" : "9e999") : "\(real)"
    case .text(let bytes): return String(decoding: bytes, as: UTF8.self).quotedText
    case .blob(let bytes):
      return "X'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    // No default is one.
    case .asset: return "NULL"
    }
  }
}

extension Collation {
  package var sql: String {
    switch self {
    case .binary: "BINARY"
    case .nocase: "NOCASE"
    case .rtrim: "RTRIM"
    }
  }

  /// Nil for a collation that an app defined.
  package init?(sql: String) {
    let folded = sql.folded
    guard let known = Self.allCases.first(where: { $0.sql.folded == folded }) else { return nil }
    self = known
  }
}
