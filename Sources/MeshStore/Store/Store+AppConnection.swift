package import GRDB
package import MeshCore

/// Functions that an app calls with its own connection.
extension Store {
  /// Creates the tables of mesh in a file that has none, so that an app can read them before the first start of its node. In
  /// other files it creates the app's own tables, which an earlier version of mesh doesn't create.
  package static func createTables(_ db: Database) throws {
    guard try !MeshTables.exist(db) else {
      for sql in [MeshTables.app, MeshTables.appDevice] { try db.execute(sql: sql) }
      return
    }
    try MeshTables.create(db)
    for sql in MeshTables.replication + MeshTables.indexes { try db.execute(sql: sql) }
  }

  /// Drops all that mesh has created in a file, and nothing else: an app's own tables may have names that begin with `mesh_`.
  package static func dropTables(_ db: Database) throws {
    let triggers = try String.fetchAll(
      db,
      sql: "SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND (name GLOB ? || '*' OR name GLOB ? || '*')",
      arguments: [CaptureTriggers.prefix, PermissionTriggers.prefix])
    for trigger in triggers { try db.execute(sql: "DROP TRIGGER main.\(trigger.quotedName)") }
    try db.execute(sql: "DROP VIEW IF EXISTS main.mesh_anchor")
    let creation = "CREATE TABLE IF NOT EXISTS "
    for sql in MeshTables.all + MeshTables.replication where sql.hasPrefix(creation) {
      try db.execute(sql: "DROP TABLE IF EXISTS main.\(sql.dropFirst(creation.count).prefix { $0 != " " })")
    }
  }

  /// The message of a statement that gives the root of a share another key.
  package static var rootRefusal: String { CaptureTriggers.rootRefusal }

  /// Returns every reason that tables can't be synchronized, for a connection of the app. It is empty if there is none.
  package static func violations(
    _ db: Database, tables: [String], private privateTables: [String] = []
  ) throws -> [String] {
    try TrackingRules.violations(db, tables: tables, private: privateTables).map(\.description)
  }

  /// Returns every reason that columns can't have these policies.
  package static func policyViolations(
    _ db: Database, _ policies: [String: [String: ColumnPolicy]]
  ) throws -> [String] {
    var reasons: [String] = []
    for (name, columns) in policies.sorted(by: { $0.key < $1.key }) {
      guard let schema = try TableSchema.read(db, name) else { throw StoreError.unknownTable(name) }
      for (column, policy) in columns.sorted(by: { $0.key < $1.key }) {
        guard let reason = ColumnPolicies.violation(policy, column, schema) else { continue }
        reasons.append("\(schema.name): \(reason)")
      }
    }
    return reasons
  }
}
