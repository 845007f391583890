import GRDB

/// The encoding in which a file keeps texts. The first table of a file fixes it.
enum TextEncoding {
  static func isUTF16(_ db: Database) throws -> Bool {
    try String.fetchOne(db, sql: "PRAGMA main.encoding")?.hasPrefix("UTF-16") ?? false
  }

  /// The advice about a row whose key is no valid text.
  static let keyAdvice =
    "the key is no valid UTF-16 text, so other machines would read another key; give the row another key"

  /// Returns an SQL condition on a value in a file in UTF-16: it is a text with a lone surrogate or another code unit
  /// that is no text. Programs that read it as UTF-8 get another text, or the text of another value. `trim` works in
  /// UTF-8, and removes nothing here.
  static func isBroken(_ value: String) -> String {
    "typeof(\(value)) = 'text' AND trim(\(value), '') IS NOT \(value) COLLATE BINARY"
  }
}
