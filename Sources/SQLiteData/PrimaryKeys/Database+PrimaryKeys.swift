public import GRDB
import GRDBSQLite
public import SQLiteDataQueries

extension Database {
  /// Gives UUIDs to numbered rows, so that devices can add rows without asking each other.
  ///
  /// ```swift
  /// migrator.registerMigration("Give UUIDs to all rows") { db in
  ///   try db.migratePrimaryKeys(tables: RemindersList.self, Reminder.self, ReminderTag.self)
  /// }
  /// ```
  ///
  /// Each listed table with an integer key gets a TEXT key with the default `uuid()`. A table without a key gets one,
  /// with the name from the Swift type. Columns that refer to such a key get the same UUIDs. The rest of the tables
  /// stays unchanged: other columns, row numbers, constraints, collations, comments, indexes, triggers and views.
  ///
  /// A table whose key is TEXT keeps it. A second call changes nothing.
  ///
  /// Foreign keys must not be enforced during the call. A `DatabaseMigrator` turns them off for a migration, and checks
  /// them afterwards.
  ///
  /// - Parameters:
  ///   - tables: All tables with keys to migrate, and all that refer to them.
  ///   - dropUniqueConstraints: Whether to drop UNIQUE from these tables and their indexes. Two devices can each add a
  ///     row with the same unique value, and then both rows can't be kept.
  ///   - uuid: The function for the default of the keys. The default is `uuid()`, which `defaultDatabase` adds to each
  ///     connection.
  ///   - salt: A text from which the UUIDs are computed, together with the table and the former number. If several
  ///     devices have a copy of the same database, give the same salt on each, so that their rows stay the same rows.
  ///     Without a salt, all UUIDs are new.
  /// - Throws: A `PrimaryKeyMigrationError` with every problem that you have to fix first. Then nothing has changed.
  public func migratePrimaryKeys<each T: PrimaryKeyedTable>(
    tables: repeat (each T).Type,
    dropUniqueConstraints: Bool = false,
    uuid: (any ScalarDatabaseFunction)? = nil,
    salt: String? = nil
  ) throws {
    var requests: [PrimaryKeyMigration.Request] = []
    for table in repeat each tables { requests.append(PrimaryKeyMigration.Request(table)) }
    let function = uuid?.name ?? "uuid"
    let made: String
    do {
      made = try String.fetchOne(self, sql: "SELECT \(function.quotedName)()") ?? ""
    } catch {
      throw PrimaryKeyMigrationError(
        table: nil, "this connection has no function \(function)() for the default of the keys: \(error)",
        "Add it in 'prepareDatabase' of the configuration: db.add(function: $\(function))")
    }
    guard try Bool.fetchOne(self, sql: "PRAGMA foreign_keys") != true else {
      throw PrimaryKeyMigrationError(
        table: nil, "foreign keys are enforced, so that replacing a table would delete the rows that refer to it",
        """
        Call this in a migration of a DatabaseMigrator, or turn the enforcement off around the transaction: \
        PRAGMA foreign_keys = OFF
        """)
    }
    // Otherwise a rename would check views and triggers that refer to the table that is replaced.
    let isLegacy = try Bool.fetchOne(self, sql: "PRAGMA legacy_alter_table") ?? false
    try execute(sql: "PRAGMA legacy_alter_table = ON")
    defer { if !isLegacy { try? execute(sql: "PRAGMA legacy_alter_table = OFF") } }
    try inSavepoint {
      var migration = try PrimaryKeyMigration(
        self, requests, dropUniqueConstraints: dropUniqueConstraints, function: function, salt: salt ?? made)
      try migration.run()
      return .commit
    }
  }
}

extension PrimaryKeyMigration.Request {
  fileprivate init<T: PrimaryKeyedTable>(_ table: T.Type) {
    self.init(
      name: T.tableName, schema: T.schemaName, keys: T.columns.primaryKey._tableColumns.map(\.name))
  }
}

extension PrimaryKeyMigrationError {
  fileprivate init(table: String?, _ problem: String, _ remedy: String) {
    self.init(violations: [Violation(table: table, problem: problem, remedy: remedy)])
  }
}
