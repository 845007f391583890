package import MeshCore

/// Flushing: it turns the pending log of local writes into change sets.
package struct StoreFlushes: LocalWriteStore, StorePart {
  let access: StoreAccess

  package func pendingCount() throws -> Int {
    try read { try $0.pending.count() }
  }

  /// Returns whether rows are pending, and programs have written all of them later than a time.
  ///
  /// - Parameter time: The time in milliseconds since 1970.
  package func hasOnlyPending(since time: Int64) throws -> Bool {
    try read { try $0.pending.firstTime().map { $0 > time } ?? false }
  }

  package func flush(_ writers: [ZoneID: ChangeSetWriter], now: Int64) throws -> FlushProgress {
    var progress = try flushOnce(writers, now: now)
    progress.deletedRoots = try deletedRoots()
    return progress
  }

  private func flushOnce(_ writers: [ZoneID: ChangeSetWriter], now: Int64) throws -> FlushProgress {
    let writer: ChangeSetWriter
    switch try turn(writers) {
    case .nothing: return FlushProgress(head: nil, records: 0, hasMore: false)
    case .routing: return try route(now: now)
    case .writer(let next): writer = next
    }
    var flusher = Flusher(store: self, writer: writer, now: now)
    attempts: for _ in 0..<StoreLimits.flushAttempts {
      switch try flusher.attempt() {
      case .done(let progress): return progress
      case .again: continue
      case .outOfStep: break attempts
      }
    }
    return FlushProgress(zone: writer.zone, head: nil, records: 0, hasMore: true)
  }
}

extension StoreFlushes {
  /// Flushes all pending rows inside a transaction that also does other work. Returns nil if one part can't hold them,
  /// or if rows first have to be deleted or reverted, which `flush` does.
  ///
  /// - Parameters:
  ///   - zone: The zone that the transaction concerns. Its rows have to be flushed.
  ///   - matches: The rows of the records that the transaction concerns. If all pending rows are too many, only these
  ///     are flushed. The writes of one transaction of a program may then become two units.
  func flushWithin(
    _ transaction: Transaction, about zone: ZoneID, _ writers: [ZoneID: ChangeSetWriter], now: Int64,
    or matches: PendingMatches?
  ) throws -> Flushed? {
    let row = try transaction.counters.obtain(zone)
    guard try transaction.routeWithin(row.id, hasWriter: writers[zone] != nil) else { return nil }
    var flushed = Flushed()
    let hasher = AssetHasher(budget: StoreLimits.hashedUnderLock)
    for writer in writers.values.sorted(by: { $0.zone < $1.zone }) {
      let zone = try transaction.counters.obtain(writer.zone)
      guard zone.runLast == 0, zone.flushPart == 0 else { return nil }
      var drafting = try Draft.make(transaction, writer, now, [:], hasher)
      if case .needsRun = drafting, var matches {
        try matches.lookOn(transaction)
        drafting = try Draft.make(transaction, writer, now, [:], hasher, .matches(matches))
        if drafting.isPossible { transaction.reached(.matchesFlushedInMerge) }
      }
      if case .nothing = drafting { continue }
      guard case .draft(let draft) = drafting else { return nil }
      guard draft.plan.cascades.isEmpty, draft.plan.longValues.isEmpty else { return nil }
      flushed.heads[writer.zone] = try Flusher(store: self, writer: writer, now: now).commit(draft, transaction).head
      flushed.isEmpty = false
    }
    return flushed
  }

  /// The result of `flushWithin`.
  struct Flushed {
    /// The change sets that were made. Writes that come to nothing make none.
    var heads: [ZoneID: ChangeSetTip] = [:]
    /// Whether there was nothing to flush.
    var isEmpty = true
  }
}
