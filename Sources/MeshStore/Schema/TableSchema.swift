import GRDB
import MeshCore

/// A table of the file as SQLite's pragmas describe it.
struct TableSchema: Hashable, Sendable {
  struct Column: Hashable, Sendable {
    enum Generated: Hashable, Sendable { case no, virtual, stored }

    var name: String
    var declaredType: String
    /// True if declared, or implied by the key of a `WITHOUT ROWID` or `STRICT` table. Not set for a rowid alias.
    var notNull: Bool
    /// The SQL text after `DEFAULT`.
    var defaultSQL: String?
    /// The value of that text if it is a literal, before the column's affinity is applied. Nil for an expression, a
    /// time, or no default.
    var defaultValue: Value?
    /// The declared collation, or `BINARY` if there is none.
    var collation: String
    var isKey: Bool
    var generated: Generated
    var affinity: Affinity
  }

  struct ForeignKey: Hashable, Sendable {
    /// One column, or several in a composite reference.
    var columns: [String]
    var parent: String
    /// The parent's columns. Nil means the parent's primary key.
    var parentColumns: [String]?
    var onDelete: ForeignKeyAction
    var onUpdate: ForeignKeyAction
  }

  /// A `UNIQUE` constraint or index that does not belong to the primary key.
  struct UniqueIndex: Hashable, Sendable {
    var name: String
    /// The columns. Nil stands for an expression.
    var columns: [String?]
    var collations: [String]
    var isPartial: Bool
    /// The text of `CREATE UNIQUE INDEX`, or nil for a constraint inside `CREATE TABLE`.
    var sql: String?

    /// True for `CREATE UNIQUE INDEX`, false for a constraint inside `CREATE TABLE`.
    var isIndex: Bool { sql != nil }

    /// Whether built-in SQL can determine on any machine which rows can't exist together.
    var isPlain: Bool {
      !isPartial && !columns.contains(nil) && collations.allSatisfy { ColumnCollation(sql: $0) != nil }
    }
  }

  struct IndexText: Hashable, Sendable {
    var name: String
    var sql: String
  }

  /// The objects that depend on columns, in words, as far as that can be determined without reading expressions.
  struct Ties: Hashable, Sendable {
    /// Objects that concern all columns. If an index has an expression, SQLite opens no BLOB of the table for writing.
    var all: [String] = []
    var columns: [FoldedName: [String]] = [:]
  }

  var name: String
  /// The columns in the table's order, including generated ones.
  var columns: [Column]
  /// True if the key is the rowid (`INTEGER PRIMARY KEY`). It is then always an integer and never NULL.
  var isRowidAlias: Bool
  var isAutoincrement: Bool
  var isWithoutRowid: Bool
  var isStrict: Bool
  var foreignKeys: [ForeignKey]
  var uniqueIndexes: [UniqueIndex]
  /// The `CREATE TABLE` that created it, or nil if none is known.
  var sql: String?
  /// The indexes created by `CREATE INDEX` without `UNIQUE`.
  var indexes: [IndexText] = []
  /// The objects besides generated columns that require columns to be written with SQLite's knowledge.
  var ties = Ties()
  /// The names of the triggers on it that don't belong to mesh.
  var triggers: [String]
  /// The number of columns that are left out because their names are no valid text.
  var unreadableColumns = 0
  /// The columns that are left out because their names are reserved.
  var reservedColumns: [String] = []

  /// The key, if it is one column.
  var keyColumn: Column? {
    let keys = columns.filter(\.isKey)
    return keys.count == 1 ? keys[0] : nil
  }

  func column(_ name: String) -> Column? {
    let folded = name.folded
    return columns.first { $0.name.folded == folded }
  }
}

extension Affinity {
  /// The class of values into which it converts keys, as far as that distinguishes records. Numbers are compared by
  /// value.
  var keyClass: String {
    switch self {
    case .text: "text"
    case .integer, .real, .numeric: "number"
    case .blob: "any"
    }
  }
}

/// The kind of object that a name in the main schema denotes.
enum TableKind: String, Sendable {
  case table, view, virtual, shadow
}
