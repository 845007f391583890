import MeshCore

/// The values that a row takes along when it gets another key. The record of the new key begins with the row's values.
struct CarriedValues {
  /// The longest value that a record takes along from its former key, in bytes.
  private static let longest = 16 << 10

  let records: ZoneRecords
  /// Whether tables lack columns that their records have, as far as it was asked for.
  private var lacking: [Int64: Bool] = [:]

  private var transaction: Transaction { records.transaction }

  init(_ records: ZoneRecords) { self.records = records }

  /// Returns the values in columns that this file's table lacks, of the record from which a born row got its key. The
  /// program could not read them, so it didn't mean to drop them. Long values stay with the former key, where
  /// `mesh restore` finds them.
  mutating func of(_ entry: PendingSlice.Entry, at time: HybridTime) throws -> [ChangedParts.Cell] {
    guard let note = entry.insertID, try lacksColumns(entry.table), let record = try former(entry.table, note)
    else { return [] }
    return try record.extra.filter { column, value in
      try entry.table.lacks(column, transaction.catalog) && value.asset == nil && value.byteCount <= Self.longest
    }.sorted { $0.key < $1.key }.map { column, value in
      ChangedParts.Cell(column: column, name: try transaction.catalog.column(column).name, time: time, value: value)
    }
  }

  /// Returns the record from which a row got its key, over keys that it had only since the last flush.
  private func former(_ table: TableForm, _ note: Int64) throws -> StoredRecord? {
    var note = note
    while true {
      let key = try transaction.pending.formerKey(note, in: table.id)
      guard let key else { return nil }
      let record = try records.load(RecordRef(table: table.id, key: table.form.canonical(key)))
      if let record, record.isAlive { return record }
      let earlier = try transaction.pending.insert(of: key, in: table.id, before: note)
      guard let earlier else { return nil }
      note = earlier
    }
  }

  private mutating func lacksColumns(_ table: TableForm) throws -> Bool {
    if let known = lacking[table.id] { return known }
    let lacks = try transaction.names.columns(of: table.id).contains { try table.lacks($0, transaction.catalog) }
    lacking[table.id] = lacks
    return lacks
  }
}

extension TableForm {
  /// Returns whether this file's table lacks a column, so that programs here can't read its values.
  func lacks(_ column: Int64, _ catalog: Catalog) throws -> Bool {
    try indexes[column] == nil && successors[column] == nil && catalog.part(column) == nil
      && catalog.column(column).name.folded != keyName.folded
  }
}
