import CSQLite
import GRDB
import MeshCore

/// SQLite's check of a database's structure, without the faults that it only imagines.
package enum IntegrityCheck {
  /// Returns SQLite's message for the first fault, or nil if there is none. It takes seconds per gigabyte. It checks
  /// one table at a time, so that no snapshot is held for longer than one table takes.
  package static func firstFault(inDatabase path: String) throws -> String? {
    do {
      let connection = try GuardConnection(path: path, vfs: nil)
      defer { connection.close() }
      let sql = Connection(connection.handle)
      defer { sql.forget() }
      for table in try connection.texts("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0") {
        if let fault = try firstFault(in: sql, table: table) { return fault }
      }
      return nil
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    }
  }

  /// Returns SQLite's message for the first fault of the file, or of one table.
  static func firstFault(in sql: Connection, table: String? = nil) throws -> String? {
    // Without a table, the parameter is the greatest number of messages, which are read one by one. With one, there are
    // at most 100, so the mistaken ones must not hide the others.
    let check = try sql.statement("PRAGMA main.quick_check(\(table?.quotedName ?? "\(Int32.max)"))")
    defer { check.reset() }
    var mistakes = 0
    while try check.step() {
      let message = check.text(0)
      guard message != "ok" else { return nil }
      guard try isMistaken(message, sql) else { return message }
      mistakes += 1
    }
    return mistakes >= 100 && table != nil ? try firstFault(in: sql) : nil
  }

  /// Returns whether SQLite names a NULL that is not there. Version 3.40 reads the wrong column of a table without rowids
  /// if the columns of its key are not the first ones.
  private static func isMistaken(_ message: String, _ sql: Connection) throws -> Bool {
    guard message.hasPrefix("NULL value in ") else { return false }
    let columns = try sql.all(
      """
      SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name, t.schema) c
      WHERE t.schema = 'main' AND t.wr AND ? = 'NULL value in ' || t.name || '.' || c.name
      """, [.text(message)]
    ) { ($0.text(0), $0.text(1)) }
    // SQLite takes IS NULL for false if the column is NOT NULL.
    return try !columns.isEmpty
      && columns.allSatisfy { table, column in
        try !sql.exists("SELECT 1 FROM main.\(table.quotedName) WHERE typeof(\(column.quotedName)) = 'null'")
      }
  }
}
