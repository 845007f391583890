import CSQLite
import GRDB
import MeshCore

extension TableSchema {
  /// Reads the table of the main schema with this name, in upper or lower case. Returns nil if there is none, or it is
  /// not an ordinary table.
  static func read(_ db: Database, _ name: String) throws -> TableSchema? {
    guard let entry = try entry(db, name), entry.kind == .table else { return nil }
    let indexes = try Index.all(db, entry.name)
    let all = try columns(db, entry)
    let readable = all.compactMap(\.self)
    let columns = readable.filter { !SchemaDescription.isReserved($0.name) }
    let hasKey = columns.contains(where: \.isKey)
    return TableSchema(
      name: entry.name,
      columns: columns,
      // A key that is the rowid needs no index of its own.
      isRowidAlias: hasKey && !entry.isWithoutRowid && !indexes.contains { $0.origin == "pk" },
      isAutoincrement: try columns.contains { try metadata(db, entry.name, $0.name)?.isAutoincrement ?? false },
      isWithoutRowid: entry.isWithoutRowid,
      isStrict: entry.isStrict,
      foreignKeys: try foreignKeys(db, entry.name),
      uniqueIndexes: indexes.filter { $0.isUnique && $0.origin != "pk" }.map(\.asUnique),
      sql: entry.sql,
      indexes: indexes.compactMap { index in
        index.isUnique ? nil : index.sql.map { IndexText(name: index.name, sql: $0) }
      },
      ties: ties(columns, indexes),
      triggers: try String.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT name FROM main.sqlite_schema
            WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE AND name NOT LIKE 'mesh\\_%' ESCAPE '\\' ORDER BY name
            """), arguments: [entry.name]), unreadableColumns: all.count - readable.count,
      reservedColumns: readable.map(\.name).filter(SchemaDescription.isReserved))
  }

  /// Returns the kind of the main schema's table or view with this name, and its name as it is spelled there.
  static func kind(_ db: Database, _ name: String) throws -> (name: String, kind: TableKind)? {
    try entry(db, name).map { ($0.name, $0.kind) }
  }

  private struct Entry {
    var name: String
    var kind: TableKind
    var isWithoutRowid: Bool
    var isStrict: Bool
    var sql: String?
  }

  private static func entry(_ db: Database, _ name: String) throws -> Entry? {
    // table_list with a name folds case by SQLite's rules, and lists one row for each schema.
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT l.name, l.type, wr, strict, s.sql FROM pragma_table_list(?) AS l
          LEFT JOIN main.sqlite_schema AS s ON s.type = l.type AND s.name = l.name
          WHERE l.schema = 'main'
          """), arguments: [name])
    guard let row, let kind = TableKind(rawValue: row["type"]) else { return nil }
    return Entry(name: row["name"], kind: kind, isWithoutRowid: row["wr"], isStrict: row["strict"], sql: row["sql"])
  }

  /// Returns the columns. One is nil if its name is no valid text, because no SQL of mesh can name it.
  private static func columns(_ db: Database, _ table: Entry) throws -> [Column?] {
    let sql = "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?, 'main') ORDER BY cid"
    return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [table.name]).map { row in
      let name: String = row["name"]
      let type: String = row["type"]
      guard let metadata = try metadata(db, table.name, name) else { return nil }
      let defaultSQL: String? = row["dflt_value"]
      return Column(
        name: name, declaredType: type, notNull: row["notnull"], defaultSQL: defaultSQL,
        defaultValue: try defaultSQL.flatMap { try DefaultLiteral.value(db, $0) },
        collation: metadata.collation, isKey: (row["pk"] as Int) > 0,
        generated: generated(hidden: row["hidden"]),
        affinity: Affinity(declaredType: type, isStrict: table.isStrict))
    }
  }

  private static func ties(_ columns: [Column], _ indexes: [Index]) -> Ties {
    var ties = Ties()
    for index in indexes {
      let name = index.origin == "c" ? "the index \(index.name)" : "a UNIQUE constraint"
      if index.columns.contains(nil) { ties.all.append("\(name) has an expression") }
      for column in Set(index.columns.compactMap { $0?.folded }) {
        ties.columns[column, default: []].append("\(name) has the column")
      }
      guard index.isPartial else { continue }
      for column in columns.map(\.name)
      where index.sql?.asciiLowercased.contains(column.asciiLowercased) == true
        && ties.columns[column.folded]?.contains("\(name) has the column") != true
      {
        ties.columns[column.folded, default: []].append("\(name) may depend on the column")
      }
    }
    return ties
  }

  private static func generated(hidden: Int) -> Column.Generated {
    switch hidden {
    case 2: .virtual
    case 3: .stored
    default: .no
    }
  }

  /// Returns nil if there is no column of this name.
  private static func metadata(
    _ db: Database, _ table: String, _ column: String
  ) throws -> (collation: String, isAutoincrement: Bool)? {
    var collation: UnsafePointer<CChar>?
    var autoincrement: Int32 = 0
    let code = sqlite3_table_column_metadata(
      try db.openConnection, "main", table, column, nil, &collation, nil, nil, &autoincrement)
    if code == SQLITE_ERROR { return nil }
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    return (collation.map { String(cString: $0) } ?? "BINARY", autoincrement != 0)
  }

  private static func foreignKeys(_ db: Database, _ table: String) throws -> [ForeignKey] {
    let sql = """
      SELECT id, "table", "from", "to", on_update, on_delete FROM pragma_foreign_key_list(?, 'main') ORDER BY id DESC, seq
      """
    var references: [ForeignKey] = []
    var last: Int?
    // SQLite numbers them from the last declared one, so in descending order they come as they were declared.
    for row in try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [table]) {
      let id: Int = row["id"]
      let parentColumn: String? = row["to"]
      if id == last {
        references[references.count - 1].columns.append(row["from"])
        if let parentColumn { references[references.count - 1].parentColumns?.append(parentColumn) }
        continue
      }
      last = id
      references.append(
        ForeignKey(
          columns: [row["from"]], parent: row["table"], parentColumns: parentColumn.map { [$0] },
          onDelete: ForeignKeyAction(sql: row["on_delete"]), onUpdate: ForeignKeyAction(sql: row["on_update"])))
    }
    return references
  }

  private struct Index {
    var name: String
    var isUnique: Bool
    /// `pk`, `u` (constraint) or `c` (CREATE INDEX).
    var origin: String
    var isPartial: Bool
    var columns: [String?]
    var collations: [String]
    /// Nil for an index that SQLite created for a constraint.
    var sql: String?

    var asUnique: UniqueIndex {
      UniqueIndex(name: name, columns: columns, collations: collations, isPartial: isPartial, sql: sql)
    }

    static func all(_ db: Database, _ table: String) throws -> [Index] {
      let sql = """
        SELECT l.name, "unique", origin, partial, s.sql FROM pragma_index_list(?, 'main') AS l
        LEFT JOIN main.sqlite_schema AS s ON s.type = 'index' AND s.name = l.name ORDER BY seq DESC
        """
      return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [table]).map { row in
        let name: String = row["name"]
        let terms = try Row.fetchAll(
          db.cachedStatement(sql: "SELECT name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno"),
          arguments: [name])
        return Index(
          name: name, isUnique: row["unique"], origin: row["origin"], isPartial: row["partial"],
          columns: terms.map { $0["name"] }, collations: terms.map { $0["coll"] }, sql: row["sql"])
      }
    }
  }
}

extension ForeignKeyAction {
  /// The name in the pragma's result and in SQL.
  var sql: String {
    switch self {
    case .noAction: "NO ACTION"
    case .restrict: "RESTRICT"
    case .setNull: "SET NULL"
    case .setDefault: "SET DEFAULT"
    case .cascade: "CASCADE"
    }
  }

  init(sql: String) { self = Self.allCases.first { $0.sql == sql } ?? .noAction }
}
