import GRDB

/// The tables that the store keeps beside the app's tables, one constant for each. `Tables.md` is their specification.
enum MeshTables {
  /// The format of all these tables. A file with a greater number is refused.
  static let format = 26

  /// Creates the missing tables. Throws `StoreError` (`formatTooNew`) if a later version of mesh created them.
  static func create(_ db: Database) throws {
    if let found = try self.format(of: db), found > format {
      throw StoreError(
        .formatTooNew,
        "the database's mesh tables have format \(found), and this program knows \(format); install a newer mesh")
    }
    for sql in all { try db.execute(sql: sql) }
    try db.execute(sql: "INSERT OR IGNORE INTO mesh_state (id, format) VALUES (1, ?)", arguments: [format])
  }

  /// Whether a file has the tables.
  static func exist(_ db: Database) throws -> Bool { try db.tableExists("mesh_state") }

  /// Returns the format of a file's tables, or nil if it has none.
  static func format(of db: Database) throws -> Int? {
    try exist(db) ? Int.fetchOne(db, sql: "SELECT max(format) FROM mesh_state") : nil
  }

  static let all = [state, table, column, layout, pending]

  /// One row. `applying` is 1 inside the node's own write transactions and never in a committed state, so no other
  /// connection sees it set.
  static let state = """
    CREATE TABLE IF NOT EXISTS mesh_state (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      format INTEGER NOT NULL,                    -- version of these tables
      applying INTEGER NOT NULL DEFAULT 0,        -- 1: the node is writing, capture is silent
      schema_version INTEGER NOT NULL DEFAULT 0,  -- PRAGMA schema_version when the triggers were last brought up to date
      life BLOB,                                  -- drawn each time the node opens the file
      commits INTEGER NOT NULL DEFAULT 0          -- of the node since then
    )
    """

  /// The tables that are or were synchronized. A name keeps its number.
  static let table = """
    CREATE TABLE IF NOT EXISTS mesh_table (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE COLLATE NOCASE,
      tracked INTEGER NOT NULL,                   -- 1: captured
      private INTEGER NOT NULL,                   -- 1: never part of a share
      integer_keys INTEGER NOT NULL,              -- 1: the owner accepts that equal integer keys are one record
      layout INTEGER,                             -- mesh_layout.id that the triggers write
      schema_row INTEGER,                         -- rowid of the table in sqlite_schema; NULL if it is not here
      collation TEXT,                             -- of its key, when the triggers were last brought up to date
      key_name TEXT,                              -- the key's column, then
      key_class TEXT,                             -- what that column makes of values, then: text, number or any
      on_demand INTEGER NOT NULL DEFAULT 0,       -- 1: assets of its rows are fetched when they are asked for
      sql TEXT,                                   -- of the table, when the triggers were last brought up to date
      successor TEXT,                             -- what it was renamed to, until that is synchronized in its place
      successor_row INTEGER,                      -- rowid of that in sqlite_schema
      origin INTEGER                              -- mesh_table.id of the table that was renamed to it here
    )
    """

  /// The numbers of column names.
  static let column = """
    CREATE TABLE IF NOT EXISTS mesh_column (
      id INTEGER PRIMARY KEY,
      tbl INTEGER NOT NULL,                       -- mesh_table.id
      name TEXT NOT NULL COLLATE NOCASE,
      origin INTEGER,                             -- mesh_column.id of the column that was renamed to it here
      UNIQUE (tbl, name)
    )
    """

  /// The columns that the bits of a pending row's mask stood for when the row was written. A layout never changes.
  static let layout = """
    CREATE TABLE IF NOT EXISTS mesh_layout (
      id INTEGER PRIMARY KEY,
      tbl INTEGER NOT NULL,                       -- mesh_table.id
      key INTEGER NOT NULL,                       -- mesh_column.id of the primary key
      columns TEXT NOT NULL                       -- JSON array of mesh_column.id: column number n is at index n
    )
    """

  /// The notes of the triggers, in the order of writing. A flush empties the table.
  static let pending = """
    CREATE TABLE IF NOT EXISTS mesh_pending (
      id INTEGER PRIMARY KEY,                     -- in the order of writing; from 1 again once the log was empty
      tbl INTEGER NOT NULL,                       -- mesh_table.id
      layout INTEGER NOT NULL,                    -- mesh_layout.id
      key,                                        -- as it is spelled in the row, canonical once the zone is known; no affinity
      op INTEGER NOT NULL,                        -- 1 insert, 2 update, 3 delete; by the node: 4 import, 5 depart,
                                                  -- 6 arrive, 7 look, 8 adopt, 9 former value, 10 another instance
      word INTEGER NOT NULL,                      -- depends on op, see Tables.md
      mask INTEGER NOT NULL,                      -- depends on op
      wall INTEGER NOT NULL,                      -- milliseconds since 1970 by the writer's clock
      zone INTEGER,                               -- mesh_zone.id, once it is known where the record belongs
      was                                         -- depends on op; no affinity
    )
    """

  /// Finds the notes of a record that have a zone. Notes of triggers have none, so the index doesn't slow down programs.
  static let pendingRouted =
    "CREATE INDEX IF NOT EXISTS mesh_pending_routed ON mesh_pending (tbl, key) WHERE zone IS NOT NULL"
}
