import Foundation
import GRDB
import MeshCore

/// The meaning of the bits in a pending row's masks: a table's replicated columns, in order, at one time.
struct Layout: Hashable, Sendable {
  let id: Int64
  /// The `mesh_table.id`.
  let table: Int64
  /// The `mesh_column.id` of the primary key.
  let key: Int64
  /// The `mesh_column.id` of each column. The index is the column's number. The key is included only if
  /// `KeyForm.keyIsColumn` is true.
  let columns: [Int64]

  /// The number of columns in one word of a mask: the bits of a positive SQLite integer.
  static let wordSize = 63

  /// Returns the numbers of the columns that a mask names, without bits beyond the layout.
  func numbers(word: Int, mask: Int64) -> [Int] {
    (0..<Self.wordSize).lazy
      .filter { mask >> Int64($0) & 1 == 1 }
      .map { word * Self.wordSize + $0 }
      .filter(columns.indices.contains)
  }

  /// Returns the names of the columns in a table's layout, in order.
  static func names(of schema: TableSchema, _ form: KeyForm) -> [String] {
    schema.columns.filter { $0.generated == .no && (!$0.isKey || form.keyIsColumn) }.map(\.name)
  }
}

extension Layout {
  /// Returns the layout with this number, or nil if there is none.
  static func read(_ db: Database, id: Int64) throws -> Layout? {
    let statement = try db.cachedStatement(sql: "SELECT tbl, key, columns FROM mesh_layout WHERE id = ?")
    guard let row = try Row.fetchOne(statement, arguments: [id]) else { return nil }
    return Layout(id: id, table: row["tbl"], key: row["key"], columns: try decode(row["columns"]))
  }

  /// Returns the layout that describes the table: the current one if it does, otherwise a new one.
  static func intern(_ db: Database, table: Int64, current: Int64?, key: String, columns: [String]) throws -> Layout {
    let key = try columnID(db, table: table, name: key)
    let columns = try columns.map { try columnID(db, table: table, name: $0) }
    if let current, let layout = try read(db, id: current), layout.key == key, layout.columns == columns {
      return layout
    }
    let text = "[" + columns.map(String.init).joined(separator: ",") + "]"
    try db.execute(
      sql: "INSERT INTO mesh_layout (tbl, key, columns) VALUES (?, ?, ?)", arguments: [table, key, text])
    return Layout(id: db.lastInsertedRowID, table: table, key: key, columns: columns)
  }

  /// Returns the number of a column's name. Assigns a new one if it has none.
  static func columnID(_ db: Database, table: Int64, name: String) throws -> Int64 {
    let select = try db.cachedStatement(sql: "SELECT id FROM mesh_column WHERE tbl = ? AND name = ?")
    if let id = try Int64.fetchOne(select, arguments: [table, name]) { return id }
    try db.execute(sql: "INSERT INTO mesh_column (tbl, name) VALUES (?, ?)", arguments: [table, name])
    return db.lastInsertedRowID
  }

  static func columnName(_ db: Database, id: Int64) throws -> String? {
    try String.fetchOne(db, sql: "SELECT name FROM mesh_column WHERE id = ?", arguments: [id])
  }

  private static func decode(_ text: String) throws -> [Int64] {
    try JSONDecoder().decode([Int64].self, from: Data(text.utf8))
  }
}
