import MeshCore

extension ZoneRecords {
  /// Returns nil if the row doesn't have these values, and the defaults in all other columns. The result's `assets` are
  /// as in `StoredRecord.shown`. For the `missing` ones, the row shows another value.
  ///
  /// - Parameter source: The record that had the row so far. Its assets are assumed to be there.
  func shows(
    _ table: TableForm, _ key: Value, _ values: [Int64: Value], as source: StoredRecord? = nil
  ) throws -> (assets: [Int64: Value], missing: [Int64: Value])? {
    guard var row = try self.row(table, key) else { return nil }
    if let source { row = named(row, source, table) }
    var shown: (assets: [Int64: Value], missing: [Int64: Value]) = ([:], [:])
    for index in table.columns.indices {
      let column = table.columns[index].id
      let value = values[column] ?? (index == table.keyColumn ? key : table.defaultValue(index))
      guard let asset = value.asset else {
        if row[index] == value { continue }
        guard let source, source.extra[column] == value, row[index] == source.shown[column] else { return nil }
        (shown.missing[column], shown.assets[column]) = (value, row[index])
        continue
      }
      if try row[index] == value || isThere(asset, row[index], RowCell(table: table, key: key, index: index)) {
        shown.assets[column] = value
      } else if let source, source.extra[column] == value, row[index] == source.shown[column] ?? .null {
        shown.missing[column] = value
        shown.assets[column] = source.shown[column]
      } else {
        return nil
      }
    }
    return shown
  }

  private func isThere(_ asset: Asset, _ value: Value, _ cell: RowCell) throws -> Bool {
    guard value == .asset(.unread(asset.size)), let manifest = try transaction.contents.manifest(asset.id) else {
      return false
    }
    return try transaction.contents.holds(manifest, cell)
  }
}
