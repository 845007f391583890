import MeshCore

/// A row is not what is merged, and nothing in the log says why: a program wrote it in a way that no trigger is told of. What it
/// wrote has to be noted first, or it would be taken for what was merged, and the digest would be of nothing that anybody else has.
struct Unnoticed: Error {
  let ref: RecordRef
}

extension Materialiser {
  /// To be asked of a record before anything is merged into it. Where rows are pending nobody can tell: they may be why.
  ///
  /// - Parameter state: What is merged, as its row shows it.
  func requireNoticed(_ ref: RecordRef, _ record: StoredRecord, _ state: State) throws {
    guard progress == .clean, record.isShown, !believed.contains(ref), let table = session.catalog.table(ref.table)
    else { return }
    let mayBeGone = state.cells.values.allSatisfy { $0.value == .null }
    let isThere = try !mayBeGone || records.hasRow(table, ref.key)
    guard try isThere && records.hash(ref, state) == record.hash else { throw Unnoticed(ref: ref) }
  }
}

extension Store {
  /// As a comparison of the whole table would; without a reader all of its columns are. A flush comes next, if there is anything to flush.
  func note(_ unnoticed: Unnoticed, _ reader: ChangeSetReader? = nil, now: Int64) throws {
    try write { session in
      guard try session.isCurrent(), let table = session.catalog.table(unnoticed.ref.table) else { return }
      let slice = try TableSlice(session, table, record: unnoticed.ref.key, reader.map { reader in { _ in reader } })
      if slice.isEmpty { believed.insert(unnoticed.ref) }
      try slice.insertNotes(session.sql, now: now)
    }
  }
}
