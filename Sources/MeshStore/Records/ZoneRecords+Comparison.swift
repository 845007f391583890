import MeshCore

/// Compares rows with the merged values.
extension ZoneRecords {
  /// Returns the indexes of the table's columns in which the row may differ from the merged values. Empty if it doesn't
  /// differ.
  ///
  /// The values of a shown record are only in its row, and its hash covers all columns that have a stamp. If the hash
  /// differs, all of them are returned, except assets, which are known, and values that `merged` knows. For a held
  /// record, each value is known.
  ///
  /// - Parameter isSame: Returns whether the column with this index has the given asset. The column's value has the
  ///   asset's size.
  func differences(
    _ ref: RecordRef, _ record: StoredRecord, _ table: TableForm, row: [Value], merged: LoggedValues? = nil,
    _ isSame: (Int, Asset) throws -> Bool
  ) throws -> [Int] {
    let row = try named(row, record, table, isSame)
    let stamped = Set(try columns(record.stamps).map(\.column))
    let assets = record.held == nil ? shownAssets(record) : [:]
    let hashes = try matches(ref, record, table, row: row)
    let values = try hashes ? nil : merged?.values(ref, record, self)
    return try table.columns.indices.filter { index in
      let column = table.columns[index].id
      if let value = record.extra[column] {
        // The row still shows the earlier value.
        if record.hides(column), record.held == nil { return row[index] != record.shown[column] ?? .null }
        if row[index] == value { return false }
        if record.held == nil, row[index] == .null || row[index] == table.defaultValue(index) { return false }
        return try row[index] != converted(value, table.columns[index].schema.affinity)
      }
      if let asset = assets[column] { return row[index] != asset }
      if stamped.contains(column) { return !hashes && values?[column] != row[index] }
      // A column without a stamp is not in the hash. It is unchanged as long as it has its default.
      if index == table.keyColumn, row[index] == ref.key { return false }
      let schema = table.columns[index].schema
      return schema.defaultSQL == nil ? row[index] != .null : row[index] != schema.defaultValue
    }
  }

  /// Returns what a column of a table makes of a value that it doesn't keep as it is.
  private func converted(_ value: Value, _ affinity: Affinity) throws -> Value {
    if affinity.keeps(value) { return value }
    let type: String
    // A cast to NUMERIC leaves 2.0 as it is, which a column keeps as 2.
    switch (affinity, value) {
    case (.integer, .real), (.numeric, .real): type = "INTEGER"
    case (.integer, _), (.numeric, _): type = "NUMERIC"
    case (.text, _), (.real, _), (.blob, _): type = affinity.typeName
    }
    return try transaction.sql.first("SELECT CAST(? AS \(type))", [value]) { $0.value(0) } ?? value
  }

  /// Returns whether the row shows the merged values of all columns that have a stamp. True for a held record, which has
  /// none to show.
  ///
  /// - Parameter row: With the names of its long BLOBs.
  func matches(_ ref: RecordRef, _ record: StoredRecord, _ table: TableForm, row: [Value]) throws -> Bool {
    guard record.held == nil else { return true }
    var row = row
    for (column, asset) in shownAssets(record) { if let index = table.indexes[column] { row[index] = asset } }
    return try hash(ref, record, values(ref, record, row: row, of: table)) == record.hash
  }

  /// The assets of rows that still show other values.
  private func shownAssets(_ record: StoredRecord) -> [Int64: Value] {
    record.shown.filter { $0.value.asset != nil && record.extra[$0.key] == nil }
  }

  /// Returns the hash that the record would have with these values.
  func hash(_ ref: RecordRef, _ record: StoredRecord, _ values: [Int64: Value]) throws -> RecordHash {
    try hash(
      ref, generation: record.generation,
      columns(record.stamps).map { ($0.column, try global($0.stamp), values[$0.column] ?? .null) })
  }
}
