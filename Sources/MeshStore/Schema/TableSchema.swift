import GRDB
import MeshCore

/// A table of the file as SQLite's pragmas tell it.
struct TableSchema: Hashable, Sendable {
  struct Column: Hashable, Sendable {
    enum Generated: Hashable, Sendable { case no, virtual, stored }

    var name: String
    var declaredType: String
    /// Declared, or implied by the key of a `WITHOUT ROWID` or `STRICT` table; not set for a rowid alias.
    var notNull: Bool
    /// The SQL text after `DEFAULT`.
    var defaultSQL: String?
    /// The value of that text where it is a literal, before the column's affinity; nil for an expression, a time, or
    /// no default at all.
    var defaultValue: Value?
    /// As declared; `BINARY` where nothing is.
    var collation: String
    var isKey: Bool
    var generated: Generated
    var affinity: Affinity
  }

  struct ForeignKey: Hashable, Sendable {
    /// One, or more in a composite reference.
    var columns: [String]
    var parent: String
    /// Nil means the parent's primary key.
    var parentColumns: [String]?
    var onDelete: ForeignKeyAction
    var onUpdate: ForeignKeyAction
  }

  /// A `UNIQUE` constraint or index that is not the primary key's.
  struct UniqueIndex: Hashable, Sendable {
    var name: String
    /// Nil stands for an expression.
    var columns: [String?]
    var collations: [String]
    var isPartial: Bool
    /// Of `CREATE UNIQUE INDEX`; nil for a constraint inside `CREATE TABLE`.
    var sql: String?

    /// True of `CREATE UNIQUE INDEX`, false of a constraint inside `CREATE TABLE`.
    var isIndex: Bool { sql != nil }

    /// Which rows can't be together everybody can tell, with built-in SQL.
    var isPlain: Bool {
      !isPartial && !columns.contains(nil) && collations.allSatisfy { Collation(sql: $0) != nil }
    }
  }

  struct IndexText: Hashable, Sendable {
    var name: String
    var sql: String
  }

  /// What depends on columns, as far as that can be told without reading expressions; in words.
  struct Ties: Hashable, Sendable {
    /// SQLite opens no BLOB of the table for writing where an index has an expression.
    var all: [String] = []
    var columns: [FoldedName: [String]] = [:]
  }

  var name: String
  /// In the table's order, generated ones included.
  var columns: [Column]
  /// The key is the rowid (`INTEGER PRIMARY KEY`): always an integer, never NULL.
  var isRowidAlias: Bool
  var isAutoincrement: Bool
  var isWithoutRowid: Bool
  var isStrict: Bool
  var foreignKeys: [ForeignKey]
  var uniqueIndexes: [UniqueIndex]
  /// The `CREATE TABLE` that made it; nil where none is known.
  var sql: String?
  /// Made by `CREATE INDEX`, not `UNIQUE`.
  var indexes: [IndexText] = []
  /// What keeps columns from being written without SQLite's knowing of it, beside generated columns.
  var ties = Ties()
  /// Names of the triggers on it that are not ours.
  var triggers: [String]

  /// The key, if it is one column.
  var keyColumn: Column? {
    let keys = columns.filter(\.isKey)
    return keys.count == 1 ? keys[0] : nil
  }

  /// What is replicated: all columns but the key and the generated ones.
  var valueColumns: [Column] { columns.filter { !$0.isKey && $0.generated == .no } }

  func column(_ name: String) -> Column? {
    let folded = name.folded
    return columns.first { $0.name.folded == folded }
  }
}

extension Affinity {
  /// What it makes of the values of a key, as far as that tells records apart: numbers are compared by value.
  var keyClass: String {
    switch self {
    case .text: "text"
    case .integer, .real, .numeric: "number"
    case .blob: "any"
    }
  }
}

/// What kind of thing a name in the main schema is.
enum TableKind: String, Sendable {
  case table, view, virtual, shadow
}
