import MeshCore

/// A merged version of a record that is written to its table.
struct RecordVersion {
  let ref: RecordRef
  let state: ZoneRecords.State
  let table: TableForm
  let old: StoredRecord?
  /// The columns whose merged value has changed, or nil for all columns.
  let changed: Set<Int64>?
  /// The values that the row gets in place of merged values.
  let chosen: [Int64: Value]
  /// The merged values.
  let values: [Int64: Value]
  var record: StoredRecord

  /// Whether the row is in its table with the same life of the record.
  var stays: Bool { isShown && old?.generation == state.generation }
  var isShown: Bool { old?.isShown ?? false }
  /// The columns that are written, or nil for all columns.
  var writes: Set<Int64>? {
    stays && state.isAlive ? changed.map { $0.union(old?.extra.keys ?? [:].keys) } : nil
  }

  /// Returns the defaults of columns that nobody wrote in this life of a record, and that its row still has from an
  /// earlier one.
  func leftovers(_ base: StoredRecord?) -> [Int64: Value] {
    (base?.shown ?? [:]).filter { values[$0.key] == nil && table.indexes[$0.key] != nil }.reduce(into: [:]) {
      $0[$1.key] = table.indexes[$1.key].map(table.defaultValue)
    }
  }

  /// Returns the merged values that a written row doesn't show, and the other values that it shows.
  func shown(
    _ folded: [Int64: Value], _ assets: RowAssets, before: StoredRecord?
  ) -> (extra: [Int64: Value], shown: [Int64: Value]) {
    var (extra, shown) = (
      table.unseen(values).merging(assets.missing.mapValues(Value.asset)) { $1 }, assets.shown
    )
    // The row still shows this value under a new name, because no flush has noticed the renaming yet.
    for (column, value) in before?.shown ?? [:] where value.asset == nil && shown[column] == nil {
      guard let successor = table.successors[column], values[successor] == nil, folded[successor] == nil else {
        continue
      }
      shown[column] = value
    }
    for (column, value) in folded {
      extra[column] = values[column] ?? table.indexes[column].map(table.defaultValue)
      shown[column] = value
    }
    return (extra, shown)
  }
}

extension TableForm {
  /// Returns the values that a table can't show: those of columns that it lacks, and those that their column would
  /// convert.
  func unseen(_ values: [Int64: Value]) -> [Int64: Value] {
    values.filter { column, value in
      guard let index = indexes[column] else { return true }
      return !columns[index].schema.affinity.keeps(value)
    }
  }
}
