import MeshCore

/// The error that a row differs from the merged values, and nothing in the log explains it. A program wrote it in a way
/// that fires no trigger. The write has to be noted first. Otherwise it would be taken for the merged value, and the
/// digest would match no other device's.
struct Unnoticed: Error {
  let ref: RecordRef
}

extension Materialiser {
  /// Checks a record before anything is merged into it. If rows are pending, they may be the reason for a difference,
  /// so nothing can be checked.
  ///
  /// - Parameter state: The merged state, as its row shows it.
  func requireNoticed(_ ref: RecordRef, _ record: StoredRecord, _ state: State) throws {
    guard progress == .clean, record.isShown, !believed.contains(ref), let table = transaction.catalog.table(ref.table)
    else { return }
    let mayBeGone = state.cells.values.allSatisfy { $0.value == .null }
    let isThere = try !mayBeGone || records.hasRow(table, ref.key)
    guard try isThere && records.hash(ref, state) == record.hash else { throw Unnoticed(ref: ref) }
  }
}

extension StorePart {
  /// Notes the row's differences, as a comparison of the whole table would. Without a reader, all of its columns count
  /// as changed. If there is anything to flush, a flush comes next.
  func note(_ unnoticed: Unnoticed, _ reader: ChangeSetReader? = nil, now: Int64) throws {
    try write { transaction in
      guard try transaction.isCurrent(), let table = transaction.catalog.table(unnoticed.ref.table) else { return }
      let slice = try TableSlice(
        transaction, table, record: unnoticed.ref.key, reader.map { reader in { _ in reader } })
      if slice.isEmpty { access.believe(unnoticed.ref) } else { transaction.reached(.writeUnnoticed) }
      try slice.insertNotes(transaction.pending, now: now)
    }
  }
}
