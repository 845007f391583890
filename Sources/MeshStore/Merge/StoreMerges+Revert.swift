package import MeshCore

extension StoreMerges {
  package func isRevertDue(_ limits: [Author: UInt64], zone: ZoneID) throws -> Bool {
    try read { transaction in
      guard let row = try transaction.counters.read(zone) else { return false }
      return try transaction.catalog.heads.all(row.id).contains { head in
        try head.revertsAbove != nil
          || limits[transaction.catalog.author(head.author)].map { head.stored > $0 } ?? false
      }
    }
  }

  package func revert(
    _ limits: [Author: UInt64], aftermath: [Author: Aftermath], zone: ZoneID, _ reader: ChangeSetReader, now: Int64
  ) throws {
    var (limits, aftermath) = (limits, aftermath)
    let touched = try write { transaction -> [RecordRef] in
      try requireNothingPending(transaction)
      let row = try transaction.counters.obtain(zone)
      for (author, limit) in try Reverter.begun(transaction, row) {
        transaction.reached(.revertResumed)
        // Some of these change sets are reverted already, so the rest is reverted as well. Those that are valid now
        // will arrive again.
        if limits[author] == nil { aftermath[author] = .kept }
        limits[author] = min(limits[author] ?? limit, limit)
      }
      return try Reverter(transaction, row, reader, limits).mark()
    }
    guard !limits.isEmpty else { return }
    try restate(touched, zone, reader, limits, aftermath, now: now)
    try write { transaction in
      let row = try transaction.counters.obtain(zone)
      try Reverter(transaction, row, reader, limits).finish(aftermath)
    }
  }

  package func keepUnsent(
    _ limits: [Author: UInt64], zone: ZoneID, _ reader: ChangeSetReader, now: Int64
  ) throws {
    let receipts = limits.mapValues { _ in Aftermath.receipt }
    let touched = try write { transaction in
      try Reverter(transaction, try transaction.counters.obtain(zone), reader, limits).touched()
    }
    for group in touched.slices(of: StoreLimits.restatedTogether) {
      let replay = try read { transaction in
        guard let row = try transaction.counters.read(zone) else { return Reverter.Replay() }
        return try Reverter(transaction, row, reader, limits).replay(group, receipts)
      }
      for slice in group.slices(of: Choices.slice) {
        try write { transaction in
          let row = try transaction.counters.obtain(zone)
          let reverter = try Reverter(transaction, row, reader, limits)
          let records = ZoneRecords(transaction, zone: row)
          for ref in slice { try reverter.keepReceipts(of: ref, replay, records, receipts, now: now) }
        }
      }
    }
  }

  /// Reverts a unit that turned out to break a rule after slices of it were merged. No other device merges any of it.
  /// Its bytes stay, like those of a unit that broke a rule in its first part. Returns nil if there is none.
  func revertHalfMerged(_ zone: ZoneID, _ reader: ChangeSetReader, now: Int64) throws -> ApplyProgress? {
    let halves = try read { try $0.heads(zone).filter { $0.malformed != nil && $0.isInsideUnit } }
    guard !halves.isEmpty else { return nil }
    guard try read({ try !$0.hasPending() }) else { return .flushFirst }
    reached(.partOfUnitReverted)
    let limits = try read { transaction in
      Dictionary(
        try halves.map { (try transaction.catalog.author($0.author), $0.merged) },
        uniquingKeysWith: { first, _ in first })
    }
    let touched = try write { transaction in
      try Reverter(transaction, try transaction.counters.obtain(zone), reader, limits).touched()
    }
    try restate(touched, zone, reader, limits, [:], now: now)
    try write { transaction in
      let row = try transaction.counters.obtain(zone)
      for var head in halves {
        (head.applied, head.appliedRows) = (head.merged, 0)
        try transaction.catalog.heads.save(head, row.id)
      }
    }
    return .merged(records: touched.count, unitEnded: false)
  }

  /// Throws if edits are pending. They would be mixed with a state on which they were not made.
  private func requireNothingPending(_ transaction: Transaction) throws {
    guard try transaction.hasPending() || !transaction.isInStep() else { return }
    throw PendingWrites()
  }

  /// Reads the log without the write lock, because nothing but this call changes it.
  private func restate(
    _ refs: [RecordRef], _ zone: ZoneID, _ reader: ChangeSetReader, _ limits: [Author: UInt64],
    _ aftermath: [Author: Aftermath], now: Int64
  ) throws {
    let readers = { (other: ZoneID) -> ChangeSetReader? in other == zone ? reader : nil }
    for group in refs.slices(of: StoreLimits.restatedTogether) {
      let replay = try read { transaction in
        guard let row = try transaction.counters.read(zone) else { return Reverter.Replay() }
        return try Reverter(transaction, row, reader, limits).replay(group, aftermath)
      }
      for slice in group.slices(of: Choices.slice) {
        try writeRefusing(notingAt: now, readers) { transaction, refused in
          try requireNothingPending(transaction)
          let reverter = try Reverter(transaction, try transaction.counters.obtain(zone), reader, limits)
          try transaction.applying { try reverter.restate(slice, replay, refused, aftermath, now: now) }
        }
      }
    }
  }
}

extension Array {
  fileprivate func slices(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
