import GRDB
import MeshCore

/// The description of a table according to SQLite.
struct TableDescription {
  struct Column {
    var name: String
    var type: String
    var defaultValue: String?
    /// The position in the primary key, from 1, or 0 for a column outside of the key.
    var keyIndex: Int
    var isGenerated: Bool

    /// Whether SQLite gives the column the affinity of integers.
    var isInteger: Bool { type.uppercased().contains("INT") }
    var isText: Bool { ["CHAR", "CLOB", "TEXT"].contains { type.uppercased().contains($0) } }
  }

  /// A column that refers to a column of another table.
  struct Reference: Hashable {
    var column: String
    var table: String
    /// The column that it refers to, or nil for the column at `index` of the primary key.
    var target: String?
    var index: Int
  }

  var name: String
  var sql: String
  var columns: [Column]
  var references: [Reference]
  var hasRowID: Bool

  var keys: [Column] { columns.filter { $0.keyIndex > 0 }.sorted { $0.keyIndex < $1.keyIndex } }

  func column(_ name: String) -> Column? { columns.first { $0.name.isSameName(as: name) } }

  /// Returns the column to which a reference to this table points.
  func target(of reference: Reference) -> Column? {
    if let name = reference.target { return column(name) }
    return reference.index < keys.count ? keys[reference.index] : nil
  }

  /// Returns whether one number identifies the rows.
  func isNumberKey(_ column: Column) -> Bool { column.keyIndex > 0 && keys.count == 1 && column.isInteger }

  /// A name for the row number that no column has, or nil if the table has no row numbers.
  var rowID: String? {
    hasRowID ? ["rowid", "_rowid_", "oid"].first { column($0) == nil } : nil
  }

  /// Reads all tables of the main database, except virtual tables and those of SQLite itself.
  static func all(_ db: Database) throws -> [TableDescription] {
    let tables = try Row.fetchAll(
      db,
      sql: """
        SELECT "name", "sql" FROM "sqlite_schema"
        WHERE "type" = 'table' AND "name" NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND "sql" NOT LIKE 'CREATE VIRTUAL%'
        ORDER BY "name"
        """)
    return try tables.map { row in
      let name: String = row["name"]
      let isWithoutRowID = try Bool.fetchOne(
        db, sql: "SELECT \"wr\" FROM pragma_table_list(?) WHERE \"schema\" = 'main'", arguments: [name])
      return TableDescription(
        name: name, sql: row["sql"], columns: try columns(of: name, db), references: try references(of: name, db),
        hasRowID: isWithoutRowID != true)
    }
  }

  private static func columns(of table: String, _ db: Database) throws -> [Column] {
    try Row.fetchAll(db, sql: "SELECT * FROM pragma_table_xinfo(?, 'main')", arguments: [table]).map { row in
      let hidden: Int = row["hidden"]
      return Column(
        name: row["name"], type: row["type"] ?? "", defaultValue: row["dflt_value"], keyIndex: row["pk"],
        isGenerated: hidden == 2 || hidden == 3)
    }
  }

  private static func references(of table: String, _ db: Database) throws -> [Reference] {
    try Row.fetchAll(
      db, sql: "SELECT * FROM pragma_foreign_key_list(?, 'main') ORDER BY \"id\" DESC, \"seq\"", arguments: [table]
    ).map { Reference(column: $0["from"], table: $0["table"], target: $0["to"], index: $0["seq"]) }
  }
}

extension String {
  /// Returns whether SQLite considers two names of tables or columns equal, ignoring the case of ASCII letters.
  func isSameName(as other: String) -> Bool { folded == other.folded }
}
