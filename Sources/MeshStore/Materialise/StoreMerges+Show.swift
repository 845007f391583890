import MeshCore

extension StoreMerges {
  /// Checks a slice of the zone's held records again after a schema change. Returns nil if there is none to check.
  ///
  /// - Parameter besidePending: True to do so even if rows are pending. Otherwise it requests a flush first.
  func showAgain(_ zone: ZoneID, besidePending: Bool, now: Int64) throws -> ApplyProgress? {
    guard try read({ try $0.work.lastShown(zone) }) != nil else { return nil }
    do {
      return try writeRefusing { transaction, refused in
        // The notes of a run stay in the log until the run is done.
        guard try transaction.isInStep(), try besidePending && !transaction.hasRun() || !transaction.hasPending() else {
          return .flushFirst
        }
        return try transaction.applying { try transaction.showSlice(zone, refused, access.believed) }
      }
    } catch let unnoticed as Unnoticed {
      try note(unnoticed, now: now)
      return .flushFirst
    }
  }
}

extension Transaction {
  fileprivate func showSlice(
    _ zone: ZoneID, _ refused: [RecordRef: String], _ believed: Set<RecordRef>
  ) throws -> ApplyProgress? {
    guard let last = try work.lastShown(zone) else { return nil }
    let records = ZoneRecords(self, zone: try zoneRows.obtain(zone))
    let refs = try recordRows.incomplete(records.zone.id, after: last)
    // Pending rows are shown by their own flush.
    let materialiser = try Materialiser(records, progress(), refused: refused)
    materialiser.believed = believed
    for ref in refs {
      if let record = try records.load(ref), record.isShown {
        try materialiser.requireNoticed(ref, record, records.state(ref, record))
      }
      try materialiser.show(ref)
    }
    try materialiser.settle()
    if let next = refs.last, refs.count == Choices.slice {
      try work.advanceShow(records.zone.id, to: next, by: refs.count)
    } else {
      try work.endShow(records.zone.id)
    }
    try zoneRows.save(records.zone)
    return .merged(records: refs.count, unitEnded: false)
  }
}
