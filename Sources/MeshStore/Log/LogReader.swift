import MeshCore

/// Reads change sets of one zone's log again that were merged before, decrypted and decoded.
struct LogReader {
  let transaction: Transaction
  /// The `mesh_zone.id`.
  let zone: Int64
  let reader: ChangeSetReader

  /// Returns the body of a change set. It is nil if the log doesn't have the number, or if the body can't be decrypted
  /// with its epoch's key. Then no device merged it.
  ///
  /// - Throws: `MissingKey` if the epoch's key is not here.
  func body(_ author: Int64, _ number: UInt64) throws -> ChangeSetBody? {
    guard let bytes = try transaction.log.bytes(number, of: author, in: zone) else { return nil }
    let changeSet = try ChangeSet(bytes, with: reader.cryptography)
    let epoch = changeSet.header.epoch
    guard let key = reader.keys[epoch] else { throw MissingKey(epoch: epoch) }
    guard let plain = changeSet.body(key: key, with: reader.cryptography) else { return nil }
    return try ChangeSetBody(plain, author: changeSet.header.author)
  }

  /// Calls a closure for each row with the record, the change, the columns' numbers, and the row's index in the change
  /// set. It skips rows with a name that has no number in this file, because merging a row first gives numbers to its
  /// table and its columns.
  func forEachRow(
    _ author: Int64, _ number: UInt64, _ visit: (RecordRef, RowChange, [Int64], Int) throws -> Void
  ) throws {
    guard case .changes(let tables)? = try body(author, number)?.content else { return }
    var index = 0
    for table in tables {
      defer { index += table.rows.count }
      guard let id = transaction.catalog.knownTable(table.table) else { continue }
      let columns = try table.columns.compactMap { try transaction.catalog.knownColumn($0, of: id) }
      guard columns.count == table.columns.count else { continue }
      for (offset, row) in table.rows.enumerated() {
        try visit(RecordRef(table: id, key: row.key), row, columns, index + offset)
      }
    }
  }

  /// Returns the long values that a change set refers to.
  func longValues(_ author: Int64, _ number: UInt64) throws -> LongValues {
    LongValues(
      transaction: transaction, zone: zone, author: author, reader: reader,
      numbers: try transaction.log.unitEnd(below: number, of: author, in: zone) + 1..<number)
  }
}
