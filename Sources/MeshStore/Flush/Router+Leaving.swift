import MeshCore

/// Leaves a share because its root was deleted here.
extension Router {
  /// Gives up pending writes to the share. They are no longer sent to anybody. Writes to rows that weren't deleted with
  /// the root are kept as receipts. Records that were moving there stay in their old zone.
  func giveUp(_ zone: Int64) throws {
    try turnBack(zone)
    // The row has the values of all its notes. Those in later slices add only other columns.
    var kept: [RecordRef: Set<Int64>] = [:]
    while true {
      let slice = try PendingSlice.read(transaction, .log, zone: zone)
      guard slice.count > 0 else { break }
      for entry in slice.entries {
        let known = kept[entry.ref] ?? []
        var room = StoreLimits.assetInMemory
        guard let values = try written(entry, &room)?.filter({ !known.contains($0.key) }), !values.isEmpty else {
          continue
        }
        kept[entry.ref, default: []].formUnion(values.keys)
        var before: [Int64: Value] = [:]
        if !entry.isInserted { for column in values.keys { before[column] = entry.before(column) } }
        let record = WrittenRecord(zone: zone, ref: entry.ref)
        let counted = try transaction.counted(values, over: before, Set(before.keys), record)
        try transaction.noteReceipt(entry.ref, counted, zone: zone, .cut, now: entry.wall)
      }
      try transaction.pending.removeFirst(slice.count, of: zone)
    }
    try transaction.run.endAll(transaction.counters)
  }

  /// Returns the written row, without references that the deletes have set to NULL. Returns nil if the row is gone.
  private func written(_ entry: PendingSlice.Entry, _ room: inout Int) throws -> [Int64: Value]? {
    guard entry.isInserted || !entry.columns.isEmpty, let row = try transaction.row(entry.ref, &room) else {
      return nil
    }
    let references = Set(entry.table.references.map { entry.table.columns[$0.column].id })
    return row.filter { column, value in
      (entry.isInserted || entry.columns[column] != nil) && !(value == .null && references.contains(column))
    }
  }

  /// Cancels the moves of records that were to arrive in the zone, and makes their pending rows be routed again.
  private func turnBack(_ zone: Int64) throws {
    func rows(onlyArrivals: Bool) throws -> [(id: Int64, ref: RecordRef)] {
      try transaction.pending.routed(to: zone, onlyArrivals: onlyArrivals).compactMap { row in
        transaction.catalog.table(row.table).map { (row.id, RecordRef(table: $0.id, key: $0.form.canonical(row.key))) }
      }
    }
    let arrivals = try rows(onlyArrivals: true)
    guard !arrivals.isEmpty else { return }
    transaction.reached(.movesTurnedBack)
    let refs = Set(arrivals.map(\.ref))
    try transaction.pending.remove(arrivals.map(\.id))
    try transaction.pending.unassign(rows(onlyArrivals: false).filter { refs.contains($0.ref) }.map(\.id))
  }
}
