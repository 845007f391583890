import Foundation
import GRDB

extension StoreTables {
  /// Returns the functions and collations that the triggers, checks, indexes and generated columns of the synchronized
  /// tables use, and that a node without an app doesn't have.
  ///
  /// SQLite names the first one of each statement.
  package func functionsOfApp() throws -> [String] {
    let tables = try list().map(\.name)
    do {
      let queue = try DatabaseQueue(path: access.file.path, configuration: DatabaseFile.plainConfiguration)
      defer { try? queue.close() }
      return try queue.read { db in try Self.missingFunctions(db, tables: tables) }
    } catch let error as DatabaseError {
      throw StoreError(error, path: access.file.path)
    }
  }

  private static func missingFunctions(_ db: Database, tables: [String]) throws -> [String] {
    var missing: [String] = []
    for table in tables where try db.tableExists(table) {
      let name = table.quotedDatabaseIdentifier
      let columns = try db.columns(in: table).map(\.name.quotedDatabaseIdentifier)
      let sets = columns.map { "\($0) = \($0)" }.joined(separator: ", ")
      // SQLite compiles the triggers, checks and indexes into each statement.
      for sql in [
        "INSERT INTO \(name) DEFAULT VALUES", "UPDATE \(name) SET \(sets)", "DELETE FROM \(name)",
        "SELECT * FROM \(name)",
      ] {
        do {
          _ = try db.makeStatement(sql: sql)
        } catch let error as DatabaseError {
          guard let function = missingFunction(error.message ?? "") else { throw error }
          if !missing.contains(function) { missing.append(function) }
        }
      }
    }
    return missing
  }

  private static func missingFunction(_ message: String) -> String? {
    for beginning in ["no such function: ", "unknown function: ", "no such collation sequence: "] {
      guard let range = message.range(of: beginning) else { continue }
      return String(message[range.upperBound...].prefix { $0 != "(" })
    }
    return nil
  }
}
