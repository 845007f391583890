import GRDB
import MeshCore

/// The tables that are or were synchronized, and the names that members used for tables (`mesh_table`).
struct TableList {
  let sql: Connection

  // MARK: Names

  func all() throws -> [(id: Int64, name: String, wasHere: Bool)] {
    try sql.all("SELECT id, name, tracked OR layout IS NOT NULL FROM mesh_table") {
      ($0.integer(0), $0.text(1), $0.integer(2) == 1)
    }
  }

  func name(_ table: Int64) throws -> String? {
    try sql.first("SELECT name FROM mesh_table WHERE id = ?", [.integer(table)]) { $0.text(0) }
  }

  /// Adds a name that is not known. Returns its number.
  func insert(_ name: String) throws -> Int64 {
    try sql.run("INSERT INTO mesh_table (name, tracked, private, integer_keys) VALUES (?, 0, 0, 0)", [.text(name)])
    return sql.lastInsertedID
  }

  /// Returns names of tables that were never here.
  func neverHere(limit: Int) throws -> [(id: Int64, name: String)] {
    try sql.all(
      "SELECT id, name FROM mesh_table WHERE tracked = 0 AND layout IS NULL AND origin IS NULL LIMIT ?",
      [.count(limit)]
    ) { ($0.integer(0), $0.text(1)) }
  }

  /// Removes tables that were never here and to which nothing refers, with the names of their columns. Returns false if
  /// there are none.
  func removeUnused() throws -> Bool {
    guard try sql.exists(Self.unused + " LIMIT 1") else { return false }
    try sql.run("DELETE FROM mesh_column WHERE tbl IN (\(Self.unused))")
    try sql.run("DELETE FROM mesh_layout WHERE tbl IN (\(Self.unused))")
    try sql.run("DELETE FROM mesh_table WHERE id IN (\(Self.unused))")
    return true
  }

  private static let unused =
    """
    SELECT id FROM mesh_table WHERE tracked = 0 AND layout IS NULL AND schema_row IS NULL
      AND NOT EXISTS (SELECT 1 FROM mesh_record WHERE tbl = mesh_table.id)
    """ + users.map { " AND id NOT IN (SELECT tbl FROM \($0))" }.joined()

  /// The tables that refer to a table by its number, besides records. They are short lists, and each is read once.
  private static let users = [
    "mesh_pending", "mesh_conflict", "mesh_held", "mesh_wait", "mesh_import", "mesh_recall", "mesh_show",
    "mesh_rewrite", "mesh_receipt", "mesh_asset_use", "mesh_named",
  ]

  // MARK: Synchronization

  /// A query for the tables that were synchronized here until a person stopped it. Their records don't count as held.
  static let untracked = """
    SELECT id FROM mesh_table WHERE tracked = 0
      AND (layout IS NOT NULL OR id IN (SELECT origin FROM mesh_table WHERE origin IS NOT NULL))
    """

  /// Returns whether the table was synchronized here until a person stopped it.
  func isUntracked(_ table: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_table WHERE id = ? AND id IN (\(Self.untracked))", [.integer(table)])
  }

  /// Returns the tables that are here and not captured, because their keys don't fit, or because they were renamed and
  /// their new names aren't synchronized.
  func uncaptured() throws -> [String] {
    try sql.all(
      """
      SELECT s.name FROM mesh_table AS t JOIN main.sqlite_schema s
        ON s.type = 'table' AND (s.name = t.name COLLATE NOCASE OR s.name = t.successor COLLATE NOCASE)
      WHERE tracked AND layout IS NOT NULL AND schema_row IS NULL AND \(Self.isNotCaptured) ORDER BY s.name
      """
    ) { $0.text(0) }
  }

  /// Returns the synchronized tables that are in the places in which they were when the triggers were last checked.
  func inPlace() throws -> [Int64] {
    try sql.all(
      """
      SELECT mesh_table.id FROM mesh_table JOIN main.sqlite_schema s ON s.type = 'table' AND s.rowid = mesh_table.schema_row
      WHERE tracked AND s.name = mesh_table.name COLLATE NOCASE
      """
    ) { $0.integer(0) }
  }

  /// Returns the tables that were synchronized before, with whether each is the same table as then.
  func known() throws -> [Int64: Bool] {
    let known = try sql.all(
      """
      SELECT id, schema_row IS (SELECT rowid FROM main.sqlite_schema s WHERE s.type = 'table' AND s.name = mesh_table.name COLLATE NOCASE)
      FROM mesh_table WHERE layout IS NOT NULL
      """
    ) { ($0.integer(0), $0.integer(1) == 1) }
    return Dictionary(known, uniquingKeysWith: { first, _ in first })
  }

  func setPrivate(_ table: Int64) throws {
    try sql.run("UPDATE mesh_table SET private = 1 WHERE id = ?", [.integer(table)])
  }

  /// Returns the policies of the synchronized tables, and of others that download on request.
  func assetPolicies() throws -> [String: AssetPolicy] {
    let found = try sql.all("SELECT name, on_demand FROM mesh_table WHERE tracked = 1 OR on_demand = 1") {
      ($0.text(0), $0.integer(1) == 1 ? AssetPolicy.onDemand : .always)
    }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }

  func set(_ policy: AssetPolicy, of table: Int64) throws {
    try sql.run(
      "UPDATE mesh_table SET on_demand = ? WHERE id = ?", [.integer(policy == .onDemand ? 1 : 0), .integer(table)])
  }

  /// Returns the triggers of synchronized tables that may write to a table, besides those of mesh.
  func triggers(naming table: String) throws -> [(name: String, sql: String)] {
    try sql.all(
      """
      SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND instr(lower(sql), lower(?1))
        AND NOT instr(lower(sql), 'mesh_state') AND substr(name, 1, \(CaptureTriggers.prefix.utf8.count)) <> ?2
        AND tbl_name COLLATE NOCASE IN (SELECT name FROM main.mesh_table WHERE tracked)
      """, [.text(table), .text(CaptureTriggers.prefix)]
    ) { ($0.text(0), $0.text(1)) }
  }

  // MARK: Renamed tables

  /// Returns the former table of each table that was renamed.
  func origins() throws -> [(table: Int64, former: Int64)] {
    try sql.all("SELECT id, origin FROM mesh_table WHERE origin IS NOT NULL") { ($0.integer(0), $0.integer(1)) }
  }

  func setOrigin(_ origin: Int64, of table: Int64) throws {
    try sql.run("UPDATE mesh_table SET origin = ? WHERE id = ?", [.integer(origin), .integer(table)])
  }

  /// Makes no table continue this one.
  func removeOrigin(_ table: Int64) throws {
    try sql.run("UPDATE mesh_table SET origin = NULL WHERE origin = ?", [.integer(table)])
  }

  /// Returns whether the table was renamed here, and the new name is not synchronized yet.
  func hasSuccessor(_ table: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_table WHERE id = ? AND successor IS NOT NULL", [.integer(table)])
  }

  /// Returns whether a table was renamed here, so that its former name isn't missing.
  func isFormerName(_ name: String) throws -> Bool {
    try sql.exists(
      """
      SELECT 1 FROM mesh_table WHERE name = ? AND tracked = 0
        AND (successor IS NOT NULL OR id IN (SELECT origin FROM mesh_table WHERE origin IS NOT NULL))
      """, [.text(name)])
  }

  /// Returns the present name of a synchronized table that was renamed here while its new name isn't synchronized. Nil if
  /// the table is in the file, or was dropped.
  func newName(of name: String) throws -> String? {
    try sql.first(
      """
      SELECT s.name FROM mesh_table AS t JOIN main.sqlite_schema s
        ON s.type = 'table' AND s.name = t.successor COLLATE NOCASE
      WHERE t.name = ? AND tracked AND schema_row IS NULL AND \(Self.isNotCaptured)
      """, [.text(name)]
    ) { $0.text(0) }
  }

  /// Whether the table `s` of the file is not captured.
  private static let isNotCaptured = """
    NOT EXISTS (
      SELECT 1 FROM mesh_table AS o WHERE o.name = s.name COLLATE NOCASE AND o.tracked AND o.schema_row IS NOT NULL)
    """

  /// Returns the table that was renamed to this name while it was not synchronized. It is in the same place, has the same
  /// columns, and no table has its former name.
  func renamedWhileUntracked(to name: String) throws -> Int64? {
    try sql.integer(
      """
      SELECT t.id FROM mesh_table AS t JOIN main.sqlite_schema s ON s.rowid = t.schema_row
      WHERE s.type = 'table' AND s.name = ?1 COLLATE NOCASE AND t.name <> ?1 COLLATE NOCASE AND NOT t.tracked
        AND t.layout IS NOT NULL AND substr(s.sql, instr(s.sql, '(')) = substr(t.sql, instr(t.sql, '('))
        AND NOT EXISTS (SELECT 1 FROM main.sqlite_schema o WHERE o.type = 'table' AND o.name = t.name COLLATE NOCASE)
        AND NOT EXISTS (SELECT 1 FROM mesh_table n WHERE n.name = ?1 COLLATE NOCASE AND n.layout IS NOT NULL)
      """, [.text(name)])
  }

  /// Returns the missing table that was renamed to this name.
  func former(of name: String) throws -> Int64? {
    try sql.integer(
      "SELECT id FROM mesh_table WHERE successor = ? COLLATE NOCASE AND schema_row IS NULL", [.text(name)])
  }

  /// Returns whether the table with the name is the one to which `former` was renamed.
  func isSuccessor(_ name: String, of former: Int64) throws -> Bool {
    try sql.exists(
      """
      SELECT 1 FROM mesh_table JOIN main.sqlite_schema s ON s.rowid = successor_row
      WHERE mesh_table.id = ? AND s.type = 'table' AND s.name = ? COLLATE NOCASE
      """, [.integer(former), .text(name)])
  }

  func removeSuccessor(of table: Int64) throws {
    try sql.run("UPDATE mesh_table SET successor = NULL WHERE id = ?", [.integer(table)])
  }
}

// MARK: - Capture

extension TableList {
  static func exists(_ db: Database) throws -> Bool { try db.tableExists("mesh_table") }

  /// Adds a table that is synchronized from now on, or was before. A table that was private, also under a former name,
  /// stays so.
  ///
  /// - Parameter endsPrivacy: Whether a table that is not synchronized now may be shared although it was private.
  static func register(
    _ db: Database, _ name: String, isPrivate: Bool, endsPrivacy: Bool, integerKeys: Bool
  ) throws {
    try db.execute(
      sql: """
        INSERT INTO mesh_table (name, tracked, private, integer_keys)
        VALUES (?1, 1, max(?2, NOT ?4 AND EXISTS (
          SELECT 1 FROM mesh_table WHERE successor = ?1 COLLATE NOCASE AND schema_row IS NULL AND private)), ?3)
        ON CONFLICT (name) DO UPDATE
        SET name = ?1, tracked = 1, private = max(iif(?4 AND NOT tracked, 0, private), excluded.private),
          integer_keys = ?3, collation = iif(tracked, collation, NULL), key_name = iif(tracked, key_name, NULL),
          key_class = iif(tracked, key_class, NULL)
        """, arguments: [name, isPrivate, integerKeys, endsPrivacy])
  }

  static func untrack(_ db: Database, _ table: Int64) throws {
    try db.execute(sql: "UPDATE mesh_table SET tracked = 0 WHERE id = ?", arguments: [table])
  }

  static func noteMissing(_ db: Database, _ table: Int64) throws {
    try db.execute(sql: "UPDATE mesh_table SET schema_row = NULL WHERE id = ?", arguments: [table])
  }

  static func noteSuccessor(_ db: Database, of table: Int64, _ name: String) throws {
    try db.execute(
      sql: """
        UPDATE mesh_table SET successor = ?1, successor_row = (
          SELECT rowid FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE) WHERE id = ?2
        """, arguments: [name, table])
  }

  /// Notes the table as its triggers were made for it.
  ///
  /// - Parameter row: The table's rowid in `sqlite_schema`.
  static func noteCapture(_ db: Database, _ table: Int64, layout: Int64, row: Int64?, key: TableSchema.Column) throws {
    try db.execute(
      sql: """
        UPDATE mesh_table SET layout = ?1, schema_row = ?2, collation = ?3, key_name = ?4, key_class = ?5,
          sql = (SELECT sql FROM main.sqlite_schema WHERE rowid = ?2) WHERE id = ?6
        """,
      arguments: [layout, row, key.collation, key.name, key.affinity.keyClass, table])
  }

  /// Returns whether the anchor is behind all synchronized tables in `sqlite_schema`.
  static func isAnchored(_ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT ifnull((SELECT rowid FROM main.sqlite_schema WHERE name = 'mesh_anchor'), 0)
            > ifnull((SELECT max(schema_row) FROM mesh_table), 0)
          """)) ?? false
  }
}

extension TrackedTable {
  /// Returns every table that is captured, ordered by number.
  static func all(_ db: Database) throws -> [TrackedTable] {
    try Row.fetchAll(db.cachedStatement(sql: "\(select) ORDER BY id")).map { try TrackedTable($0, db) }
  }

  /// Returns the captured table with this name, in upper or lower case, or nil if there is none.
  static func read(_ db: Database, name: String) throws -> TrackedTable? {
    try Row.fetchOne(db.cachedStatement(sql: "\(select) AND name = ?"), arguments: [name]).map {
      try TrackedTable($0, db)
    }
  }

  /// Returns the captured table with this number, or nil if there is none.
  static func read(_ db: Database, id: Int64) throws -> TrackedTable? {
    try Row.fetchOne(db.cachedStatement(sql: "\(select) AND id = ?"), arguments: [id]).map { try TrackedTable($0, db) }
  }

  /// Returns whether records of a table are here that don't fit its rows, because it was synchronized with another key.
  static func hadAnotherKey(_ db: Database, name: String) throws -> Bool {
    guard try db.tableExists("mesh_record") else { return false }
    let known = try Row.fetchOne(
      db.cachedStatement(
        sql: "\(columns) WHERE name = ? AND EXISTS (SELECT 1 FROM mesh_record WHERE tbl = mesh_table.id)"),
      arguments: [name])
    return try known.map { try TrackedTable($0, db) }?.hasAnotherKey ?? false
  }

  private static let select = "\(columns) WHERE tracked = 1"

  private static let columns =
    "SELECT id, name, private, integer_keys, layout, schema_row, collation, key_name, key_class FROM mesh_table"

  private init(_ row: Row, _ db: Database) throws {
    let name: String = row["name"]
    self.init(
      id: row["id"], name: name, isPrivate: row["private"], allowsIntegerKeys: row["integer_keys"],
      layout: row["layout"], schemaRow: row["schema_row"], keyCollation: row["collation"], keyName: row["key_name"],
      keyClass: row["key_class"], schema: try TableSchema.read(db, name))
  }
}
