import GRDB
import MeshCore

/// A synchronized table: what `mesh_table` says of it, and its form in this file.
struct TrackedTable: Hashable, Sendable {
  /// `mesh_table.id`.
  let id: Int64
  let name: String
  let isPrivate: Bool
  let allowsIntegerKeys: Bool
  /// `mesh_layout.id` that its triggers write; nil before they were first made.
  let layout: Int64?
  /// Nil where the file has no such table now.
  let schema: TableSchema?

  /// Nil where there is no table, or its key is not one column with a built-in collation.
  var form: KeyForm? { schema.flatMap(KeyForm.init) }

  /// Every table that is captured, in the order of its number.
  static func all(_ db: Database) throws -> [TrackedTable] {
    try Row.fetchAll(db, sql: "\(select) ORDER BY id").map { try TrackedTable($0, db) }
  }

  /// The captured table with that name, in any case; nil where there is none.
  static func read(_ db: Database, name: String) throws -> TrackedTable? {
    try Row.fetchOne(db, sql: "\(select) AND name = ?", arguments: [name]).map { try TrackedTable($0, db) }
  }

  /// The captured table with that number; nil where there is none.
  static func read(_ db: Database, id: Int64) throws -> TrackedTable? {
    try Row.fetchOne(db, sql: "\(select) AND id = ?", arguments: [id]).map { try TrackedTable($0, db) }
  }

  private static let select = "SELECT id, name, private, integer_keys, layout FROM mesh_table WHERE tracked = 1"

  private init(_ row: Row, _ db: Database) throws {
    id = row["id"]
    name = row["name"]
    isPrivate = row["private"]
    allowsIntegerKeys = row["integer_keys"]
    layout = row["layout"]
    schema = try TableSchema.read(db, name)
  }
}

/// A table whose capture was not whole when it was looked at.
struct CaptureFinding: Hashable, Sendable {
  struct Reasons: OptionSet, Hashable, Sendable {
    let rawValue: Int
    /// A trigger was not there, and is again.
    static let triggersMissing = Reasons(rawValue: 1)
    /// A trigger was not as it should be (a column was added or renamed, or somebody edited it), and is again.
    static let triggersAltered = Reasons(rawValue: 2)
    /// The table's columns are others than before.
    static let layoutChanged = Reasons(rawValue: 4)
    /// The file has no such table: nothing is captured until it returns.
    static let tableMissing = Reasons(rawValue: 8)
    /// The key is not one column with a built-in collation any more: nothing is captured until it is.
    static let keyUnfit = Reasons(rawValue: 16)
  }

  /// `mesh_table.id`.
  let table: Int64
  let name: String
  var reasons: Reasons

  /// Writes may have gone unnoticed, and the table can be compared with the records by values.
  var needsRescan: Bool { reasons.isDisjoint(with: [.tableMissing, .keyUnfit]) && !reasons.isEmpty }
}
