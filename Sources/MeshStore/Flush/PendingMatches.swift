import MeshCore

/// The pending rows of some records, found before the write lock is taken. Rows that arrive until then are checked
/// under the lock. With it, others' changes can be merged even if more is pending than one transaction flushes.
struct PendingMatches {
  let refs: Set<RecordRef>
  private(set) var ids: [Int64] = []
  /// The last row that was checked.
  private var last: Int64 = 0

  init(_ transaction: Transaction, _ refs: Set<RecordRef>) throws {
    self.refs = refs
    try lookOn(transaction)
  }

  /// Checks the rows that arrived since.
  mutating func lookOn(_ transaction: Transaction) throws {
    try transaction.pending.forEach(after: last) { row in
      last = row.id
      if let table = transaction.catalog.table(ofNoted: row.op, row.table), row.hasKey,
        refs.contains(RecordRef(table: table.id, key: table.form.canonical(row.key)))
      {
        ids.append(last)
      }
      return true
    }
  }
}
