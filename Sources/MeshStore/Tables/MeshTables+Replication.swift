import GRDB

/// The tables of the merged state, the change log, and the work that waits.
extension MeshTables {
  static let replication = [
    zone, author, record, recordExtra, log, order, head, conflict, held, wait, waiting, importing, recall,
    showing,
    control, account,
    acknowledgement, foreignSchema, rewrite, receipt, walGuard, asset, assetUse, assetUsers, kept, named,
    app, appDevice, policy,
  ]

  /// The indexes that are created once the tables have the columns of this format.
  static let indexes = [
    assetWaiting, assetUndelivered, conflictCause, layoutColumns, pendingRouted, receiptRecord, receiptSource,
  ]

  /// Brings tables of an earlier format up to this one.
  static func update(_ db: Database, from format: Int) throws {
    if format < 2, try !db.columns(in: "mesh_zone").contains(where: { $0.name == "stopped" }) {
      try db.execute(sql: "ALTER TABLE mesh_zone ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0")
    }
    if format < 3 {
      // Records that have only a key were not found again.
      try db.execute(sql: "UPDATE mesh_record SET extra = x'00' WHERE held IS NOT NULL AND extra IS NULL")
    }
    // Long BLOBs were values of change sets. A comparison finds them, and they are written again as assets.
    if format < 4 {
      try db.execute(
        sql: """
          INSERT OR REPLACE INTO mesh_import (tbl, task, layout, after)
          SELECT id, 1, 0, NULL FROM mesh_table WHERE tracked AND id NOT IN (SELECT tbl FROM mesh_import WHERE task > 1)
          """)
    }
    // The column is filled when the triggers are checked, which this requests.
    if format < 5 { try add("collation TEXT", to: "mesh_table", db) }
    // The cut stayed set after it was finished.
    if format < 6 {
      try db.execute(sql: "UPDATE mesh_head SET cut = NULL WHERE cut >= stored AND cut >= applied")
    }
    if format < 7 {
      for (table, column) in columnsOfFormat7 { try add(column, to: table, db) }
    }
    if format < 8 {
      try add("since INTEGER", to: "mesh_held", db)
      for table in ["mesh_import", "mesh_show"] { try add("done INTEGER NOT NULL DEFAULT 0", to: table, db) }
    }
    if format < 9 {
      for column in ["key_name TEXT", "key_class TEXT"] { try add(column, to: "mesh_table", db) }
    }
    if format < 10 {
      for column in ["life BLOB", "commits INTEGER NOT NULL DEFAULT 0"] { try add(column, to: "mesh_state", db) }
      // The rules for change sets were different. Those that were refused by them are checked again.
      try db.execute(sql: "UPDATE mesh_head SET malformed = NULL")
    }
    if format < 12 {
      for column in ["sql TEXT", "successor TEXT"] { try add(column, to: "mesh_table", db) }
      try add("origin INTEGER", to: "mesh_column", db)
      // This makes the node check the triggers.
      try db.execute(sql: "UPDATE mesh_state SET schema_version = 0")
    }
    try updateLaterFormats(db, from: format)
    if format < 13 { try add("rules BLOB", to: "mesh_foreign_schema", db) }
    if format < 23 { try add("names BLOB", to: "mesh_foreign_schema", db) }
    if format < 24 { try add("dismissed INTEGER NOT NULL DEFAULT 0", to: "mesh_conflict", db) }
    if format < 25 { try add("undelivered INTEGER NOT NULL DEFAULT 0", to: "mesh_asset_use", db) }
    if format < 26 {
      for column in ["author INTEGER", "number INTEGER"] { try add(column, to: "mesh_receipt", db) }
      try add("by_write INTEGER NOT NULL DEFAULT 0", to: "mesh_conflict", db)
    }
    try db.execute(sql: "UPDATE mesh_state SET format = ? WHERE format < ?", arguments: [Self.format, Self.format])
  }

  private static func updateLaterFormats(_ db: Database, from format: Int) throws {
    // The name is filled when devices send it again, which they do in each session.
    if format < 14 { try add("name TEXT", to: "mesh_account", db) }
    if format < 15 {
      for column in ["successor_row INTEGER", "origin INTEGER"] { try add(column, to: "mesh_table", db) }
      // The cause of conflicts that are listed already is unknown.
      try add("cause BLOB", to: "mesh_conflict", db)
      try db.execute(sql: "UPDATE mesh_state SET schema_version = 0")
    }
    if format < 16 { try add("was", to: "mesh_pending", db) }
    if format < 17 { try add("owner BLOB", to: "mesh_zone", db) }
    if format < 18 {
      try rebuildPolicies(db)
      try add("exchanged INTEGER NOT NULL DEFAULT 0", to: "mesh_import", db)
      try db.execute(sql: "UPDATE mesh_import SET exchanged = 1, layout = -layout WHERE layout < 0")
    }
    if format < 19 { try add("unsure INTEGER NOT NULL DEFAULT 0", to: "mesh_recall", db) }
    // This makes the node check the triggers.
    if format < 22 { try db.execute(sql: "UPDATE mesh_state SET schema_version = 0") }
    // Notes that have a zone are found by canonical keys. These are routed again.
    if format < 21 {
      try db.execute(sql: "UPDATE mesh_pending SET zone = NULL WHERE zone NOTNULL AND op IN (1, 2, 3, 4, 9)")
    }
  }

  /// Creates the table of policies again, with the columns of its key first. SQLite 3.40 looks for NULL in the wrong
  /// columns otherwise, and reports a damaged file.
  ///
  /// A file before format 17 knows only which policies are this account's. Owners of shares send theirs again in each
  /// session.
  private static func rebuildPolicies(_ db: Database) throws {
    let columns = try db.columns(in: "mesh_policy").map(\.name)
    guard columns.firstIndex(of: "account") != 2 else { return }
    let rows = try Row.fetchAll(
      db,
      sql: columns.contains("own")
        ? "SELECT tbl, col, x'', policy, time FROM mesh_policy WHERE own"
        : "SELECT tbl, col, account, policy, time FROM mesh_policy")
    try db.execute(sql: "DROP TABLE mesh_policy")
    try db.execute(sql: policy)
    for row in rows {
      try db.execute(
        sql: "INSERT INTO mesh_policy (tbl, col, account, policy, time) VALUES (?, ?, ?, ?, ?)",
        arguments: StatementArguments(Array(row.databaseValues)))
    }
  }

  private static let columnsOfFormat7 = [
    ("mesh_table", "on_demand INTEGER NOT NULL DEFAULT 0"), ("mesh_asset", "choice INTEGER"),
    ("mesh_asset", "source BLOB"), ("mesh_asset", "source_time INTEGER"),
    ("mesh_asset_use", "author INTEGER NOT NULL DEFAULT 0"),
  ]

  private static func add(_ column: String, to table: String, _ db: Database) throws {
    let name = column.prefix { $0 != " " }
    if try db.columns(in: table).contains(where: { $0.name == name }) { return }
    try db.execute(sql: "ALTER TABLE \(table) ADD COLUMN \(column)")
  }

  /// One row for each zone that this file has met. Its counters change in the transaction that changes what they count.
  static let zone = """
    CREATE TABLE IF NOT EXISTS mesh_zone (
      id INTEGER PRIMARY KEY,
      zone BLOB NOT NULL UNIQUE,                  -- 32 bytes
      instance INTEGER,                           -- that local writes get, 64 bits; NULL before the first
      clock INTEGER NOT NULL DEFAULT 0,           -- greatest hybrid time given or merged, 64 bits
      digest_low INTEGER NOT NULL DEFAULT 0,      -- sums of the halves of the live records' hashes, 64 bits each
      digest_high INTEGER NOT NULL DEFAULT 0,
      live INTEGER NOT NULL DEFAULT 0,            -- live records
      next_position INTEGER NOT NULL DEFAULT 1,   -- in mesh_order, of the next change set that is merged
      flush_part INTEGER NOT NULL DEFAULT 0,      -- parts of the local unit in progress that are written
      flush_synced INTEGER NOT NULL DEFAULT 0,    -- of them, those that a power cut leaves: the others are not sent yet
      flush_planned INTEGER NOT NULL DEFAULT 0,   -- parts planned when it began
      flush_values INTEGER NOT NULL DEFAULT 0,    -- long values sent in it
      flush_clock INTEGER NOT NULL DEFAULT 0,     -- `clock` when it began
      run_last INTEGER NOT NULL DEFAULT 0,        -- last mesh_pending.id of the run that is being flushed; 0: there is none
      run_rows INTEGER NOT NULL DEFAULT 0,        -- its rows that are dealt with, in the order of keys
      ahead INTEGER NOT NULL DEFAULT 0,           -- mesh_pending.id up to which a record's hash may hold later values
      role INTEGER,                               -- 0 private, 1 owned share, 2 read-write, 3 read-only, 4 ended; NULL: not known yet
      root_table TEXT, root_key,                  -- of a share
      stopped INTEGER NOT NULL DEFAULT 0,         -- 1: an owned share that has ended: its records belong to the private zone again
      root_gone INTEGER NOT NULL DEFAULT 0,       -- 1: the root was deleted here, and the share is to be ended or left
      keep_copy INTEGER NOT NULL DEFAULT 0,       -- 1: its rows stay when the share ends, as records of the private zone
      owner BLOB                                  -- the account that owns the share; NULL: this one
    )
    """

  /// The numbers of authors.
  static let author = """
    CREATE TABLE IF NOT EXISTS mesh_author (
      id INTEGER PRIMARY KEY,
      device BLOB NOT NULL,                       -- 32 bytes
      instance INTEGER NOT NULL,                  -- 64 bits
      UNIQUE (device, instance)
    )
    """

  /// The merged state, without the values that the app's tables show.
  static let record = """
    CREATE TABLE IF NOT EXISTS mesh_record (
      tbl INTEGER NOT NULL,                       -- mesh_table.id
      key NOT NULL,                               -- canonical; no affinity
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      generation INTEGER NOT NULL,                -- odd: alive
      hash BLOB,                                  -- BLAKE2b-128 over names, key, generation, stamps and values; NULL: deleted
      stamps BLOB NOT NULL,                       -- packed, see Tables.md
      extra BLOB,                                 -- values that the table does not show
      held INTEGER,                               -- why the record is not in its table; NULL: it is, or it is deleted
      PRIMARY KEY (tbl, key, zone)
    ) WITHOUT ROWID
    """

  static let recordExtra =
    "CREATE INDEX IF NOT EXISTS mesh_record_extra ON mesh_record (zone, tbl, key) WHERE extra IS NOT NULL"

  /// The change sets, byte for byte as they were signed.
  static let log = """
    CREATE TABLE IF NOT EXISTS mesh_log (
      id INTEGER PRIMARY KEY,                     -- a rowid table: long rows do not slow the search by number
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      author INTEGER NOT NULL,                    -- mesh_author.id
      number INTEGER NOT NULL,
      changeset BLOB NOT NULL,                    -- its id
      time INTEGER NOT NULL,                      -- hybrid, 64 bits
      final INTEGER NOT NULL,                     -- 1: the last part of its unit
      size INTEGER NOT NULL,                      -- bytes
      bytes BLOB NOT NULL,
      UNIQUE (zone, author, number)
    )
    """

  /// The merged change sets in the order of merging, once their unit is merged. The order is not in `mesh_log`, because
  /// its rows are long and would have to be written again.
  static let order = """
    CREATE TABLE IF NOT EXISTS mesh_order (
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      position INTEGER NOT NULL,                  -- from 1
      author INTEGER NOT NULL,                    -- mesh_author.id
      number INTEGER NOT NULL,
      PRIMARY KEY (zone, position)
    ) WITHOUT ROWID
    """

  /// The progress of storing and merging each author's change sets.
  static let head = """
    CREATE TABLE IF NOT EXISTS mesh_head (
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      author INTEGER NOT NULL,                    -- mesh_author.id
      stored INTEGER NOT NULL DEFAULT 0,          -- last number whose bytes are here
      stored_id BLOB, stored_time INTEGER,        -- of that change set
      stored_part INTEGER NOT NULL DEFAULT 0,     -- part index that the next one must have
      waiting INTEGER NOT NULL DEFAULT 0,         -- bytes stored and not merged
      merged INTEGER NOT NULL DEFAULT 0,          -- last number merged, the end of a unit
      merged_id BLOB, merged_time INTEGER,        -- of that change set
      applied INTEGER NOT NULL DEFAULT 0,         -- last number whose rows are all in the state: beyond `merged` inside a unit
      applied_rows INTEGER NOT NULL DEFAULT 0,    -- rows of the number after it that are in the state
      context BLOB,                               -- what the author had merged at `applied`, all differences together
      cut INTEGER,                                -- change sets above it are being reverted; else NULL
      malformed TEXT,                             -- why its next change set can never be merged
      citation BLOB,                              -- the control record that its first change set cites
      PRIMARY KEY (zone, author)
    ) WITHOUT ROWID
    """

  /// Values that lost against a write whose author had not seen them.
  static let conflict = """
    CREATE TABLE IF NOT EXISTS mesh_conflict (
      id INTEGER PRIMARY KEY,
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      tbl INTEGER NOT NULL,                       -- mesh_table.id
      key NOT NULL,
      col INTEGER NOT NULL,                       -- mesh_column.id; 0: a delete lost
      value BLOB NOT NULL,                        -- the losing value, encoded
      loser_author INTEGER NOT NULL, loser_time INTEGER NOT NULL,
      winner_author INTEGER, winner_time INTEGER, -- of the winning value, birth or delete
      was_local INTEGER NOT NULL,                 -- 1: the loser was here and the winner arrived
      noted INTEGER NOT NULL,                     -- milliseconds since 1970
      cause BLOB,                                 -- account (else device) whose change set made it a conflict; NULL: none did
      dismissed INTEGER NOT NULL DEFAULT 0,       -- 1: somebody dismissed or restored it here, and it is not listed; 2: it is over
      by_write INTEGER NOT NULL DEFAULT 0         -- 1: it lost to another value of the same life; 0: to a birth, a delete or a move, or from before
    )
    """

  static let conflictCause = "CREATE INDEX IF NOT EXISTS mesh_conflict_cause ON mesh_conflict (zone, cause)"

  /// SQLite's messages about records that it refuses to show.
  static let held = """
    CREATE TABLE IF NOT EXISTS mesh_held (
      tbl INTEGER NOT NULL, key NOT NULL, zone INTEGER NOT NULL,
      reason INTEGER NOT NULL,                    -- as mesh_record.held
      message TEXT NOT NULL,
      since INTEGER,                              -- milliseconds since 1970; of rows that are too long to be sent
      PRIMARY KEY (tbl, key, zone)
    ) WITHOUT ROWID
    """

  /// The records that are checked again when a parent appears.
  static let wait = """
    CREATE TABLE IF NOT EXISTS mesh_wait (
      parent_tbl INTEGER NOT NULL, parent_key NOT NULL,
      tbl INTEGER NOT NULL, key NOT NULL, zone INTEGER NOT NULL,
      PRIMARY KEY (parent_tbl, parent_key, tbl, key, zone)
    ) WITHOUT ROWID
    """

  static let waiting = "CREATE INDEX IF NOT EXISTS mesh_wait_record ON mesh_wait (tbl, key, zone)"

  /// Tables whose rows are being imported, or compared with the records, slice by slice.
  static let importing = """
    CREATE TABLE IF NOT EXISTS mesh_import (
      tbl INTEGER PRIMARY KEY,                    -- mesh_table.id
      task INTEGER NOT NULL,                      -- 1 compare, 2 with a table that was created again, 3 with one that returned, 4 import
      layout INTEGER NOT NULL,                    -- task 1 to 3: mesh_layout.id before the table changed, 0 if it did not;
                                                  -- 4: 1 tracked before, 2 created again since, 0 neither
      after,                                      -- key of the last row; NULL before the first
      done INTEGER NOT NULL DEFAULT 0,            -- rows before it and itself
      exchanged INTEGER NOT NULL DEFAULT 0        -- 1: tables exchanged their names
    )
    """

  /// Tables that no longer show all values that they showed. The values are read back from the log, change set by
  /// change set.
  static let recall = """
    CREATE TABLE IF NOT EXISTS mesh_recall (
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      tbl INTEGER NOT NULL,                       -- mesh_table.id
      author INTEGER NOT NULL,                    -- of the last change set read; 0 before the first
      number INTEGER NOT NULL,                    -- of it
      kept INTEGER NOT NULL,                      -- mesh_layout.id of the columns that were there throughout; 0: the table was not
      unsure INTEGER NOT NULL DEFAULT 0,          -- 1: perhaps nothing was lost, and what programs wrote since stays
      PRIMARY KEY (zone, tbl)
    ) WITHOUT ROWID
    """

  /// Zones whose held records are being checked again, slice by slice, because a schema changed.
  static let showing = """
    CREATE TABLE IF NOT EXISTS mesh_show (
      zone INTEGER PRIMARY KEY,                   -- mesh_zone.id
      tbl INTEGER NOT NULL,                       -- of the last record looked at; 0 before the first
      key,                                        -- of it
      done INTEGER NOT NULL DEFAULT 0             -- records looked at
    )
    """

  /// The changes of this device that a cutoff reverted together with its log, and that are to be written again.
  static let rewrite = """
    CREATE TABLE IF NOT EXISTS mesh_rewrite (
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      tbl INTEGER NOT NULL, key NOT NULL,
      generation INTEGER NOT NULL,
      life INTEGER,                               -- time of the birth or delete, if it was this device's
      times BLOB NOT NULL,                        -- count, then column (varint) and time (8 bytes) of each value
      extra BLOB,                                 -- the values, as in mesh_record.extra
      PRIMARY KEY (zone, tbl, key)
    ) WITHOUT ROWID
    """

  /// Local writes that their zone did not accept.
  static let receipt = """
    CREATE TABLE IF NOT EXISTS mesh_receipt (
      id INTEGER PRIMARY KEY,
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      tbl INTEGER NOT NULL, key NOT NULL,
      extra BLOB,                                 -- the values, as in mesh_record.extra; NULL: it was deleted
      reason INTEGER NOT NULL,                    -- 1 not permitted, 2 cut
      noted INTEGER NOT NULL,                     -- milliseconds since 1970
      author INTEGER, number INTEGER              -- the change set whose values it keeps; NULL: none
    )
    """

  /// Each new receipt is compared with those of its record.
  static let receiptRecord = "CREATE INDEX IF NOT EXISTS mesh_receipt_record ON mesh_receipt (zone, tbl, key)"

  /// The receipts of change sets that return are deleted. Receipts may have megabytes of values, and this has none.
  static let receiptSource = """
    CREATE INDEX IF NOT EXISTS mesh_receipt_source ON mesh_receipt (zone, author, number, tbl, key)
    WHERE author IS NOT NULL
    """

  /// Assets that records have or had.
  static let asset = """
    CREATE TABLE IF NOT EXISTS mesh_asset (
      id INTEGER PRIMARY KEY,                     -- a rowid table: manifests are long
      name BLOB NOT NULL UNIQUE,                  -- 32 bytes, the asset's id
      size INTEGER NOT NULL,                      -- bytes
      manifest BLOB NOT NULL,                     -- key, size and hashes, as on the wire
      choice INTEGER,                             -- 1: it is fetched, 0: it is not; NULL: as its table says
      source BLOB,                                -- the device that had it last, as far as it was asked; NULL: nobody yet
      source_time INTEGER                         -- when that was, in milliseconds since 1970
    )
    """

  /// The places in which merged records have assets.
  static let assetUse = """
    CREATE TABLE IF NOT EXISTS mesh_asset_use (
      tbl INTEGER NOT NULL, key NOT NULL, zone INTEGER NOT NULL,
      col INTEGER NOT NULL,                       -- mesh_column.id
      asset BLOB NOT NULL,                        -- mesh_asset.name
      shown INTEGER NOT NULL,                     -- 1: it is in the row; 0: the row waits for it, or the record is held;
                                                  -- 2: it is under a column's former name, and nothing waits for it
      author INTEGER NOT NULL DEFAULT 0,          -- mesh_author.id of who wrote it into the record; 0: not known
      undelivered INTEGER NOT NULL DEFAULT 0,     -- 1: this account wrote it into a share of another one, and no device
                                                  -- of the share's owner has said that it has all of it
      PRIMARY KEY (tbl, key, zone, col)
    ) WITHOUT ROWID
    """

  /// Overwritten assets whose bytes are here, so that they can be restored. The oldest are deleted first.
  static let kept = """
    CREATE TABLE IF NOT EXISTS mesh_kept (
      id INTEGER PRIMARY KEY,                     -- in the order in which they were overwritten
      asset BLOB NOT NULL UNIQUE,                 -- mesh_asset.name
      size INTEGER NOT NULL                       -- bytes
    )
    """

  static let assetUsers = "CREATE INDEX IF NOT EXISTS mesh_asset_users ON mesh_asset_use (asset, shown)"

  static let assetWaiting =
    "CREATE INDEX IF NOT EXISTS mesh_asset_waiting ON mesh_asset_use (zone, asset) WHERE shown = 0"

  static let assetUndelivered =
    "CREATE INDEX IF NOT EXISTS mesh_asset_undelivered ON mesh_asset_use (zone) WHERE undelivered = 1"

  /// A member can write rows with any number of different columns.
  static let layoutColumns = "CREATE INDEX IF NOT EXISTS mesh_layout_columns ON mesh_layout (tbl, columns)"

  static let control = """
    CREATE TABLE IF NOT EXISTS mesh_control (
      id INTEGER PRIMARY KEY,                     -- parents before children
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      record BLOB NOT NULL UNIQUE,                -- its id
      bytes BLOB NOT NULL
    )
    """

  static let account = """
    CREATE TABLE IF NOT EXISTS mesh_account (
      id INTEGER PRIMARY KEY,
      account BLOB NOT NULL UNIQUE,               -- 32 bytes
      state BLOB NOT NULL,
      name TEXT                                   -- what the account calls itself; NULL if it never said so here
    )
    """

  static let acknowledgement = """
    CREATE TABLE IF NOT EXISTS mesh_ack (
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      device BLOB NOT NULL,
      time INTEGER NOT NULL,                      -- hybrid, 64 bits
      bytes BLOB NOT NULL,
      PRIMARY KEY (zone, device)
    ) WITHOUT ROWID
    """

  /// The names of tables and columns that an author's merged change sets have used.
  static let named = """
    CREATE TABLE IF NOT EXISTS mesh_named (
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      author INTEGER NOT NULL,                    -- mesh_author.id
      tbl INTEGER NOT NULL,                       -- mesh_table.id
      col INTEGER NOT NULL,                       -- mesh_column.id; 0: the table's own name
      PRIMARY KEY (zone, author, tbl, col)
    ) WITHOUT ROWID
    """

  /// The state of the zones as the app of the file was told it. The library SQLiteData writes it, and mesh never reads it.
  static let app = """
    CREATE TABLE IF NOT EXISTS mesh_app (
      zone INTEGER PRIMARY KEY,                   -- mesh_zone.id
      share TEXT                                  -- of a share: its title and participants as JSON
    )
    """

  /// The other devices with a zone, as the app of the file was told them. It has row numbers, because SQLite reports no
  /// changes of other tables to the app's observations.
  static let appDevice = """
    CREATE TABLE IF NOT EXISTS mesh_app_device (
      zone INTEGER NOT NULL,                      -- mesh_zone.id
      device TEXT NOT NULL,                       -- its id
      account TEXT NOT NULL,                      -- its account's id
      acknowledged TEXT NOT NULL,                 -- AUTHOR:TIME,…: hybrid times up to which it has the authors' changes;
                                                  -- author 0: all others
      UNIQUE (zone, device)
    )
    """

  /// The policies of columns.
  static let policy = """
    CREATE TABLE IF NOT EXISTS mesh_policy (
      tbl TEXT NOT NULL COLLATE NOCASE,           -- the table's name; it may be missing here
      col TEXT NOT NULL COLLATE NOCASE,           -- the column's
      account BLOB NOT NULL,                      -- the owner of a share that set it, for its shares; empty: this account
      policy INTEGER NOT NULL,                    -- 0 last, 1 greatest, 2 least, 3 counter, 4 keepBoth
      time INTEGER NOT NULL,                      -- when it was set, in milliseconds since 1970
      PRIMARY KEY (tbl, col, account)
    ) WITHOUT ROWID
    """

  /// Tables as other devices describe them.
  static let foreignSchema = """
    CREATE TABLE IF NOT EXISTS mesh_foreign_schema (
      device BLOB NOT NULL,
      name TEXT NOT NULL COLLATE NOCASE,
      bytes BLOB NOT NULL,                        -- encoded description
      rules BLOB,                                 -- encoded rules; NULL if the device told none
      names BLOB,                                 -- encoded former names; NULL if the device told none
      PRIMARY KEY (device, name)
    ) WITHOUT ROWID
    """

  /// One row, which is written so that the write-ahead log has a frame to read from.
  static let walGuard = """
    CREATE TABLE IF NOT EXISTS mesh_guard (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      resets INTEGER NOT NULL                     -- of the log since the node began
    )
    """
}
