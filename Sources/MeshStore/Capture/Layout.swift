import Foundation
import GRDB
import MeshCore

/// What the bits of a pending row's masks stand for: a table's replicated columns, in order, at a time.
struct Layout: Hashable, Sendable {
  let id: Int64
  /// `mesh_table.id`.
  let table: Int64
  /// `mesh_column.id` of the primary key.
  let key: Int64
  /// `mesh_column.id` of each column; the index is the column's number. The key is among them only where
  /// `KeyForm.keyIsColumn`.
  let columns: [Int64]

  /// Columns in one word of a mask: the bits of a positive SQLite integer.
  static let wordSize = 63

  /// The numbers of the columns that a mask names; bits beyond the layout are left out.
  func numbers(word: Int, mask: Int64) -> [Int] {
    (0..<Self.wordSize).lazy
      .filter { mask >> Int64($0) & 1 == 1 }
      .map { word * Self.wordSize + $0 }
      .filter(columns.indices.contains)
  }

  /// Names of the columns that are in a table's layout, in order.
  static func names(of schema: TableSchema, _ form: KeyForm) -> [String] {
    schema.columns.filter { $0.generated == .no && (!$0.isKey || form.keyIsColumn) }.map(\.name)
  }
}

extension Layout {
  /// The layout with that number; nil where there is none.
  static func read(_ db: Database, id: Int64) throws -> Layout? {
    let statement = try db.cachedStatement(sql: "SELECT tbl, key, columns FROM mesh_layout WHERE id = ?")
    guard let row = try Row.fetchOne(statement, arguments: [id]) else { return nil }
    return Layout(id: id, table: row["tbl"], key: row["key"], columns: try decode(row["columns"]))
  }

  /// The layout that says this of the table: the current one where it does, else a new one.
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

  /// The number of a column's name, a new one if it has none.
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
