import CSodium
import Foundation
import GRDB

/// Computes the UUID of a row from its former number.
///
/// Equal salts, tables and numbers give equal UUIDs, so that copies of one database become equal databases.
struct MigratedKey {
  let salt: String

  /// Returns a UUID of version 8: the beginning of a SHA-256 of the salt, the table and the former key.
  func uuid(table: String, key: String) -> String {
    // Tabs end the salt and the table, so that no two different inputs give the same text.
    let text = Array("\(salt)\t\(table.lowercased())\t\(key)".utf8)
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    crypto_hash_sha256(&hash, text, UInt64(text.count))
    hash[6] = hash[6] & 0x0F | 0x80
    hash[8] = hash[8] & 0x3F | 0x80
    let digits = hash.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    var rest = digits[...]
    return [8, 4, 4, 4, 12].map { count in
      defer { rest = rest.dropFirst(count) }
      return String(rest.prefix(count))
    }.joined(separator: "-")
  }

  /// Returns the number that SQLite uses to compare keys, or the text of another value.
  static func text(of value: DatabaseValue) -> String? {
    switch value.storage {
    case .null: nil
    case .int64(let number): "\(number)"
    case .double(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    case .string(let text): number(text.trimmingCharacters(in: .whitespaces)).map { "\($0)" } ?? text
    case .blob(let data): data.base64EncodedString()
    }
  }

  private static func number(_ text: String) -> Int64? {
    Int64(text) ?? Double(text).flatMap(Int64.init(exactly:))
  }

  /// The name of the SQL function that computes a key from a table and a former key.
  static let functionName = "sqlitedata_migratedKey"

  var function: GRDB.DatabaseFunction {
    GRDB.DatabaseFunction(Self.functionName, argumentCount: 2, pure: true) { values in
      guard let table = String.fromDatabaseValue(values[0]), let key = Self.text(of: values[1]) else { return nil }
      return uuid(table: table, key: key)
    }
  }
}
