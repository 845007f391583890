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
