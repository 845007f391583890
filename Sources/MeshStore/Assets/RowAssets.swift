import GRDB
import MeshCore

/// The assets of a record, sorted by the way in which they are written to its row.
struct RowAssets: InTransaction {
  private let records: ZoneRecords
  private let ref: RecordRef
  private let table: TableForm
  /// The columns that are not assigned, because the row already has their asset.
  private var untouched: Set<Int64> = []
  /// Those of the untouched columns whose BLOB is changed in place.
  private(set) var patched: [Int64: Asset] = [:]
  /// The assets in the row after it is written.
  private(set) var shown: [Int64: Value] = [:]
  /// The assets that are not complete here, or too long for their column. The row still shows its earlier value.
  private(set) var missing: [Int64: Asset] = [:]
  /// The name of a column that requires its missing asset.
  private(set) var required: String?

  var transaction: Transaction { records.transaction }

  /// - Parameters:
  ///   - values: The merged values.
  ///   - old: The record as it is shown, or nil if it is not shown.
  ///   - updates: True if the row stays and columns of it are assigned. False if it is written as a whole.
  init(
    _ records: ZoneRecords, _ ref: RecordRef, _ table: TableForm, _ values: [Int64: Value], old: StoredRecord?,
    updates: Bool
  ) throws {
    (self.records, self.ref, self.table) = (records, ref, table)
    guard values.contains(where: { $0.value.asset != nil }) || old?.shown.isEmpty == false else { return }
    if !updates { try records.keepAssets(of: values, from: ref, table) }
    for (column, value) in values {
      guard let asset = value.asset, let index = table.indexes[column] else { continue }
      if updates, let was = old?.shown[column], was == value, old?.extra[column] == nil {
        untouched.insert(column)
        shown[column] = value
      } else if asset.isUnread {
        // A program wrote it, and its flush names it.
        untouched.insert(column)
        shown[column] = old?.shown[column]
      } else if updates, case let cell = RowCell(table: table, key: ref.key, index: index),
        try transaction.sources.confirmShared(asset, toPatch: cell, showing: old?.shown[column]?.asset)
      {
        untouched.insert(column)
        patched[column] = asset
        shown[column] = value
      } else if table.takes(asset.size, in: index), try contents.isStaged(asset) {
        shown[column] = value
      } else {
        missing[column] = asset
        let schema = table.columns[index].schema
        if !updates, schema.notNull, schema.defaultSQL == nil { required = schema.name }
      }
    }
  }

  /// Returns the values that are assigned to columns of the row.
  func assigned(_ values: [Int64: Value]) -> [Int64: Value] {
    values.filter { !untouched.contains($0.key) && missing[$0.key] == nil }
  }

  /// Reads the values that the row shows in the columns whose asset is missing.
  ///
  /// - Parameters:
  ///   - old: The record that names the long BLOBs of the row.
  ///   - isNew: True if the row did not show the record until now. Then a long BLOB without a name gives way to the
  ///     column's default. Otherwise it would be taken for an edit later.
  mutating func readMissing(old: StoredRecord?, isNew: Bool, _ rows: RowWriter) throws {
    guard !missing.isEmpty, let row = try records.row(table, ref.key) else { return }
    let named = old.map { records.named(row, $0, table) } ?? row
    var defaults: [Int64: Value] = [:]
    for column in missing.keys {
      guard let index = table.indexes[column] else { continue }
      var value = named[index]
      if value.isUnread {
        guard isNew else { continue }
        value = table.defaultValue(index)
        defaults[column] = value
      }
      if value != .null { shown[column] = value }
    }
    try rows.update(table, ref.key, defaults, Set(defaults.keys))
  }

  /// Keeps the BLOBs of a row that other values replace.
  func keepReplaced(_ before: StoredRecord, by written: [Int64: Value]) throws {
    let replaced = before.shown.filter { column, value in
      value.asset != nil && shown[column] != value && written[column] != nil
    }
    try transaction.kept.keep(replaced, ref)
  }
}

extension ZoneRecords {
  /// Copies assets of a row that is rewritten or removed to the staging.
  func keepAssets(of values: [Int64: Value], from ref: RecordRef, _ table: TableForm) throws {
    guard values.contains(where: { $0.value.asset != nil }), let row = try row(table, ref.key) else { return }
    for (column, value) in values {
      guard let asset = value.asset, let index = table.indexes[column], row[index].asset?.size == asset.size,
        let manifest = try transaction.contents.manifest(asset.id)
      else { continue }
      try transaction.contents.keep(asset, manifest, from: RowCell(table: table, key: ref.key, index: index))
    }
  }
}
