import MeshCore

extension StoreMerges {
  /// Checks a slice of the zone's held records again after a schema change. Returns nil if there is none to check.
  ///
  /// - Parameter besidePending: True to do so even if rows are pending. Otherwise it requests a flush first.
  func showAgain(_ zone: ZoneID, besidePending: Bool, now: Int64) throws -> ApplyProgress? {
    guard try read({ try $0.work.lastShown(zone) }) != nil else { return nil }
    return try writeRefusing(notingAt: now) { transaction, refused in
      // The notes of a run stay in the log until the run is done.
      guard try transaction.isInStep(), try besidePending && !transaction.hasRun() || !transaction.hasPending() else {
        return .flushFirst
      }
      return try transaction.applying { try transaction.showSlice(zone, refused) }
    }
  }
}

extension Transaction {
  fileprivate func showSlice(_ zone: ZoneID, _ refused: [RecordRef: String]) throws -> ApplyProgress? {
    guard let last = try work.lastShown(zone) else { return nil }
    let records = ZoneRecords(self, zone: try counters.obtain(zone))
    let refs = try recordRows.incomplete(records.zone.id, after: last)
    // Pending rows are shown by their own flush.
    let materialiser = try Materialiser(records, progress(), refused: refused)
    for ref in refs { try materialiser.show(ref) }
    try materialiser.settle()
    if let next = refs.last, refs.count == Choices.slice {
      try work.advanceShow(records.zone.id, to: next, by: refs.count)
    } else {
      try work.endShow(records.zone.id)
    }
    return .merged(records: refs.count, unitEnded: false)
  }
}
