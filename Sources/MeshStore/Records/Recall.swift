import MeshCore

/// Restores values of records that their table no longer shows, because it was dropped, recreated, or lost a column.
/// The values are in the log, under the stamps that the record still has.
///
/// Nothing can be flushed or merged before it is done, because the hash of a record covers these values.
struct Recall {
  let transaction: Transaction
  let records: ZoneRecords
  let log: LogReader
  /// The columns that the rows have shown throughout, or nil if the table was missing.
  let kept: Set<Int64>?
  /// The columns that programs wrote since the last flush, which stay if it is unlikely that the table lost anything.
  /// Nil if it did lose something.
  let noted: NotedColumns?
  /// The reason for which records of a missing table are held. If the table was renamed, it still has their rows.
  let gone: HeldReason

  /// Reads what programs wrote since the last flush to the table that is next, if that matters.
  ///
  /// - Parameter notes: The notes that an earlier slice read for the same table.
  static func readNotes(_ transaction: Transaction, _ notes: inout NotedColumns?) throws {
    guard let next = try transaction.work.nextRecalledTable(), next.isUnsure,
      let table = transaction.catalog.table(next.table)
    else {
      notes = nil
      return
    }
    if notes?.table.id == table.id {
      try notes?.readOn(transaction)
    } else {
      notes = try NotedColumns(transaction, table)
    }
  }

  /// Processes the next part of the log, for the next table.
  static func slice(
    _ transaction: Transaction, _ reader: (ZoneID) throws -> ChangeSetReader, _ notes: inout NotedColumns?
  ) throws {
    try readNotes(transaction, &notes)
    guard let next = try transaction.work.nextRecall() else { return }
    let kept = next.kept == 0 ? nil : Set(try transaction.catalog.layout(next.kept))
    let records = ZoneRecords(transaction, zone: try transaction.counters.obtain(next.zone))
    let log = LogReader(transaction: transaction, zone: records.zone.id, reader: try reader(next.zone))
    try Recall(
      transaction: transaction, records: records, log: log, kept: kept, noted: notes,
      gone: transaction.tableList.hasSuccessor(next.table) ? .untracked : .unknownTable
    ).walk(next.table, after: next.author, next.number)
  }

  private func walk(_ table: Int64, after author: Int64, _ number: UInt64) throws {
    var (author, number) = (author, number)
    var budget = Choices.slice
    while budget > 0 {
      guard let next = try transaction.log.next(after: author, number, in: records.zone.id) else {
        return try transaction.work.endRecall(table, in: records.zone.id)
      }
      (author, number) = next
      budget -= 1 + (try recall(table, author, number))
    }
    try transaction.work.advanceRecall(table, in: records.zone.id, to: author, number)
  }

  /// Reads back the values in one change set. Returns the number of the table's rows in it.
  private func recall(_ table: Int64, _ author: Int64, _ number: UInt64) throws -> Int {
    let head = try transaction.catalog.heads.of(author, records.zone.id)
    guard number <= head.applied + (head.appliedRows > 0 ? 1 : 0) else { return 0 }
    let long = try log.longValues(author, number)
    var rows = 0
    try log.forEachRow(author, number) { ref, change, columns, _ in
      guard ref.table == table else { return }
      rows += 1
      guard let old = try records.load(ref), old.generation == change.generation, old.isAlive else { return }
      let form = transaction.catalog.table(table)
      let row = try form.flatMap { try records.row($0, ref.key) }
      let isHere = row != nil
      let stamps = Dictionary(
        try records.columns(old.stamps).map { ($0.column, $0.stamp) }, uniquingKeysWith: { first, _ in first })
      var record = old
      for field in change.fields {
        let column = columns[field.column]
        guard record.extra[column] == nil, !(isHere && kept?.contains(column) == true),
          try stamps[column] == records.local(field.stamp ?? change.stamp)
        else { continue }
        let value = try long.value(of: field.value)
        if kept != nil, let noted, form?.indexes[column] != nil, noted.isWritten(column, of: ref.key) { continue }
        // The column was not lost, or the value is its default.
        if kept != nil, record.held == nil, let index = form?.indexes[column], row?[index] == value { continue }
        record.extra[column] = value
        record.shown[column] = nil
      }
      if !isHere || kept == nil, record.held == nil {
        record.held = gone
        // These are the columns in which the row differed from the merged values: a reference to a missing row, or a
        // BLOB that was downloading.
        record.shown = gone == .untracked ? old.extra.mapValues { _ in .null }.merging(old.shown) { $1 } : [:]
      } else if record.held != nil, record.held != .untracked {
        record.shown = [:]
      }
      if record.extra != old.extra || record.held != old.held { try records.save(ref, record, replacing: old) }
    }
    return rows
  }
}
