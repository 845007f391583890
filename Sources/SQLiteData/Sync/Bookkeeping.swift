import GRDB
import MeshControl
import MeshCore
import MeshStore

/// The tables and triggers of mesh in the app's file.
enum Bookkeeping {
  /// Removes these tables and triggers, so that the file is as if no node had ever worked with it. No node may be using
  /// the file.
  ///
  /// - Parameters:
  ///   - names: The tables that the app names. The other synchronized tables are put aside.
  ///   - deletesRows: Whether the rows of `names` are deleted as well. No device is told, because the triggers are gone.
  ///   - count: The number that ``changeSets(in:)`` must still return, or nil for any number.
  /// - Returns: False if nothing was removed, because rows were written since `count` was read.
  static func remove(
    from database: any DatabaseWriter, of names: [String], deletingRows deletesRows: Bool = false,
    ifChangeSetsAre count: Int? = nil
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
        try putAside(besides: names, db)
        // The triggers are removed first, so that no device captures the deletes.
        try Store.dropTables(db)
        for table in deletesRows ? names : [] { try db.execute(sql: "DELETE FROM \(table.quotedDatabaseIdentifier)") }
        try Store.createTables(db)
        isRemoved = true
        return .commit
      }
      return isRemoved
    }
  }

  /// Puts aside the names of the synchronized tables except `names`, so that the next start of an engine synchronizes
  /// them again.
  private static func putAside(besides names: [String], _ db: Database) throws {
    try db.execute(sql: createPutAside)
    let rows = try Row.fetchAll(db, sql: "SELECT name, private, integer_keys FROM mesh_table WHERE tracked")
    let listed = Set(names.map(\.folded))
    for row in rows where !listed.contains((row["name"] as String).folded) {
      try db.execute(
        sql: "INSERT OR REPLACE INTO mesh_table_aside (name, private, integer_keys) VALUES (?, ?, ?)",
        arguments: [row["name"] as String, row["private"] as Bool, row["integer_keys"] as Bool])
    }
  }

  private static let createPutAside = """
    CREATE TABLE IF NOT EXISTS mesh_table_aside (
      name TEXT PRIMARY KEY COLLATE NOCASE, private INTEGER NOT NULL, integer_keys INTEGER NOT NULL)
    """

  /// Returns the tables that were put aside and still exist, as requests that synchronize them again. Returns nil if none
  /// were put aside.
  static func tablesPutAside(in database: any DatabaseReader) async throws -> [TrackRequest]? {
    try await database.read { db in
      guard try db.tableExists("mesh_table_aside") else { return nil }
      let rows = try Row.fetchAll(db, sql: "SELECT name, private, integer_keys FROM mesh_table_aside ORDER BY name")
        .filter { try db.tableExists($0["name"]) }
      return Dictionary(grouping: rows) { $0["integer_keys"] as Bool }.map { integerKeys, rows in
        TrackRequest(
          tables: rows.filter { !$0["private"] }.map { $0["name"] },
          privateTables: rows.filter { $0["private"] }.map { $0["name"] }, integerKeys: integerKeys)
      }
    }
  }

  /// Forgets the tables that were put aside.
  static func dropPutAside(in database: any DatabaseWriter) async throws {
    try await database.write { db in try db.execute(sql: "DROP TABLE IF EXISTS mesh_table_aside") }
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
