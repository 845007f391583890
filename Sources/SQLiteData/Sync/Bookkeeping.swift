import GRDB

/// The tables and triggers of mesh in the app's file.
enum Bookkeeping {
  /// Removes them, so that the file is as if no node had ever worked with it. No node may be at work.
  ///
  /// - Parameter tables: Tables whose rows are deleted as well. Nobody is told, because the triggers are gone.
  static func remove(from database: any DatabaseWriter, deletingRowsOf tables: [String] = []) async throws {
    try await database.writeWithoutTransaction { db in
      // The order of the tables doesn't matter then, and no row of a table that isn't named goes along.
      let enforces = try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      defer { if enforces { try? db.execute(sql: "PRAGMA foreign_keys = ON") } }
      try db.inTransaction(.immediate) {
        for trigger in try names(of: "trigger", db) { try db.execute(sql: "DROP TRIGGER \(trigger)") }
        for table in tables { try db.execute(sql: "DELETE FROM \(table.quotedDatabaseIdentifier)") }
        for table in try names(of: "table", db) { try db.execute(sql: "DROP TABLE \(table)") }
        return .commit
      }
    }
  }

  private static func names(of type: String, _ db: Database) throws -> [String] {
    try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_schema WHERE type = ? AND name LIKE 'mesh\\_%' ESCAPE '\\'", arguments: [type]
    ).map(\.quotedDatabaseIdentifier)
  }
}
