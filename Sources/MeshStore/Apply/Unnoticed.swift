import MeshCore

/// The error that a row differs from the merged values, and nothing in the log explains it. A program wrote it in a way
/// that fires no trigger. The write has to be noted first. Otherwise it would be taken for the merged value, and the
/// digest would match no other device's.
struct Unnoticed: Error {
  let ref: RecordRef
  let zone: ZoneID
}

extension StorePart {
  /// Notes the row's differences, as a comparison of the whole table would. If there is anything to flush, a flush comes
  /// next.
  ///
  /// - Parameter reader: A reader for the record's zone. Without it, all columns of the row count as changed.
  /// - Returns: False if the schema has changed, and nothing can be noted before the triggers are up to date.
  @discardableResult
  func note(_ unnoticed: Unnoticed, _ reader: ChangeSetReader? = nil, now: Int64) throws -> Bool {
    try write { transaction in
      guard try transaction.isCurrent(), let table = transaction.catalog.table(unnoticed.ref.table) else {
        return false
      }
      let slice = try TableSlice(
        transaction, table, record: unnoticed.ref.key, reader.map { reader in { _ in reader } })
      if slice.isEmpty { access.believe(unnoticed.ref) } else { transaction.reached(.writeUnnoticed) }
      try slice.insertNotes(transaction.pending, now: now)
      return true
    }
  }
}
