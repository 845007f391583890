import GRDB
import MeshControl
import MeshStore

/// The tables and triggers of mesh in the app's file.
enum Bookkeeping {
  /// Removes these tables and triggers, so that the file is as if no node had ever worked with it. No node may be using
  /// the file.
  ///
  /// - Parameters:
  ///   - tables: Tables whose rows are deleted as well. No device is told, because the triggers are gone.
  ///   - count: The number that ``changeSets(in:)`` must still return, or nil for any number.
  /// - Returns: False if nothing was removed, because rows were written since `count` was read.
  static func remove(
    from database: any DatabaseWriter, deletingRowsOf tables: [String] = [], ifChangeSetsAre count: Int? = nil
  ) async throws -> Bool {
    try await database.writeWithoutTransaction { db in
      // Without enforcement, the order of the tables doesn't matter, and no row of another table is deleted.
      let enforces = try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      defer { if enforces { try? db.execute(sql: "PRAGMA foreign_keys = ON") } }
      var isRemoved = false
      try db.inTransaction(.immediate) {
        if let count {
          let isPending = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM mesh_pending)") ?? false
          guard try !isPending && Self.count(db) == count else { return .rollback }
        }
        // The triggers are removed first, so that no device captures the deletes.
        try Store.dropTables(db)
        for table in tables { try db.execute(sql: "DELETE FROM \(table.quotedDatabaseIdentifier)") }
        try Store.createTables(db)
        isRemoved = true
        return .commit
      }
      return isRemoved
    }
  }

  /// Returns the synchronized tables except `names`, as requests that synchronize them again.
  static func otherTables(besides names: [String], in database: any DatabaseReader) async throws -> [TrackRequest] {
    let listed = Set(names.map { $0.lowercased() })
    return try await database.read { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT name, private, integer_keys FROM mesh_table WHERE tracked ORDER BY id")
      let others = rows.filter { !listed.contains(($0["name"] as String).lowercased()) }
      return Dictionary(grouping: others) { $0["integer_keys"] as Bool }.map { integerKeys, rows in
        TrackRequest(
          tables: rows.filter { !$0["private"] }.map { $0["name"] },
          privateTables: rows.filter { $0["private"] }.map { $0["name"] }, integerKeys: integerKeys)
      }
    }
  }

  /// Returns the number of change sets that this device has made in its current instances.
  static func changeSets(in database: any DatabaseReader) async throws -> Int {
    try await database.read { db in try count(db) }
  }

  private static func count(_ db: Database) throws -> Int {
    try Int.fetchOne(
      db,
      sql: """
        SELECT total(stored) FROM mesh_head JOIN mesh_zone ON mesh_zone.id = mesh_head.zone
          JOIN mesh_author ON mesh_author.id = mesh_head.author AND mesh_author.instance = mesh_zone.instance
        """) ?? 0
  }
}
