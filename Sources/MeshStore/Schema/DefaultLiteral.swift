import CSQLite
import GRDB
import MeshCore

/// The text after `DEFAULT`, if it is a literal.
enum DefaultLiteral {
  /// Returns the value of `sql` by SQLite's own conversion, or nil if it is not a literal.
  static func value(_ db: Database, _ sql: String) throws -> Value? {
    guard let literal = normalized(sql) else { return nil }
    let statement = try db.makeStatement(sql: "SELECT \(literal)")
    guard sqlite3_step(statement.sqliteStatement) == SQLITE_ROW else { return nil }
    defer { sqlite3_reset(statement.sqliteStatement) }
    return Value(statement.sqliteStatement, column: 0)
  }

  /// Returns a literal that means the same in a `SELECT`, in which a bare or double-quoted name is not a text.
  private static func normalized(_ sql: String) -> String? {
    let text = sql.asciiTrimmed
    if let number = number(text) { return number }
    if isQuoted(text, "'") { return text }
    if isQuoted(text, "\"") {
      return text.dropFirst().dropLast().split(separator: "\"\"", omittingEmptySubsequences: false)
        .joined(separator: "\"").quotedText
    }
    if let first = text.first, first == "x" || first == "X" {
      let body = text.dropFirst()
      if isQuoted(String(body), "'"), body.dropFirst().dropLast().allSatisfy(\.isHexDigit) { return text }
    }
    guard isWord(text) else { return nil }
    switch text.asciiLowercased {
    case "null", "true", "false": return text
    case "current_time", "current_date", "current_timestamp": return nil
    default: return text.quotedText
    }
  }

  /// Returns a number: digits with a sign, a point and an exponent, or hexadecimal digits.
  private static func number(_ text: String) -> String? {
    var rest = text[...]
    if let sign = rest.first, sign == "-" || sign == "+" { rest = String(rest.dropFirst()).asciiTrimmed[...] }
    guard let first = rest.first, first.isASCII, first.isNumber || first == "." else { return nil }
    let isHexadecimal = rest.lowercased().hasPrefix("0x")
    let digits = isHexadecimal ? rest.dropFirst(2) : rest
    let allowed =
      isHexadecimal ? digits.allSatisfy(\.isHexDigit) : digits.allSatisfy { "0123456789.eE+-".contains($0) }
    return allowed && !digits.isEmpty && isOneNumber(digits) ? text : nil
  }

  /// Returns whether the digits are one number. A sign is allowed only after the exponent's letter, because `1-2` is an
  /// expression.
  private static func isOneNumber(_ digits: Substring) -> Bool {
    var previous: Character = "0"
    for digit in digits {
      if digit == "+" || digit == "-", previous != "e" && previous != "E" { return false }
      previous = digit
    }
    return true
  }

  private static func isQuoted(_ text: String, _ quote: Character) -> Bool {
    guard text.count >= 2, text.first == quote, text.last == quote else { return false }
    let body = text.dropFirst().dropLast()
    return !body.split(separator: "\(quote)\(quote)", omittingEmptySubsequences: false).contains { $0.contains(quote) }
  }

  private static func isWord(_ text: String) -> Bool {
    guard let first = text.first, first.isLetter || first == "_" else { return false }
    return text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
  }
}

extension String {
  fileprivate var asciiTrimmed: String {
    let space: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r" }
    return String(drop(while: space).reversed().drop(while: space).reversed())
  }
}
