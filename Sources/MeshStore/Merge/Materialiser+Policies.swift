import MeshCore

/// Computes what rows show in columns that have parts.
extension Transaction {
  /// Returns the values that the row shows in place of the columns' own, by column.
  func folded(_ table: TableForm, _ state: ZoneRecords.State) throws -> [Int64: Value] {
    var folds: [Int64: ColumnFold] = [:]
    for (column, cell) in state.cells {
      guard let (part, whole) = try catalog.part(column, in: table), part.policy != .keepBoth else { continue }
      let base = state.cells[whole]
      let initial = table.indexes[whole].map(table.defaultValue) ?? .null
      folds[whole, default: ColumnFold(base: base?.value ?? initial, since: base?.stamp)]
        .add(part.policy, cell.stamp, cell.value)
    }
    var shown: [Int64: Value] = [:]
    for (column, fold) in folds {
      guard let index = table.indexes[column], let value = fold.shown,
        table.columns[index].schema.affinity.keeps(value)
      else { continue }
      shown[column] = value
    }
    if !shown.isEmpty { reached(.partsFolded) }
    return shown
  }
}
