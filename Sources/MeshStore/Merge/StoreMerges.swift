package import MeshCore

/// Merging: it brings stored change sets into the records and the app's tables, and reverts them.
package final class StoreMerges: MergeStore, StorePart {
  let access: StoreAccess
  private let localWrites: StoreFlushes
  /// The progress of merging in each zone.
  private var turns: [ZoneID: MergeCache] = [:]

  init(_ access: StoreAccess, _ localWrites: StoreFlushes) {
    (self.access, self.localWrites) = (access, localWrites)
  }

  package func apply(
    _ zone: ZoneID, _ reader: ChangeSetReader, flushing writers: [ZoneID: ChangeSetWriter], now: Int64
  ) throws -> ApplyProgress {
    if let progress = try showAgain(zone, besidePending: !writers.isEmpty, now: now) { return progress }
    if let progress = try revertHalfMerged(zone, reader, now: now) { return progress }
    if turns[zone]?.hasLongInWAL == true {
      turns[zone]?.hasLongInWAL = false
      // Otherwise the next program that writes copies the long values into the file, and waits for that.
      try access.checkpoint(truncate: false)
    }
    while true {
      var matches: PendingMatches?
      let choice = try read { transaction -> MergeScheduler.Choice? in
        guard try transaction.isInStep() && (!writers.isEmpty || !transaction.hasPending()) else { return nil }
        guard let row = try transaction.counters.read(zone) else { return .idle([:]) }
        var units = MergeScheduler(transaction, zone: row, reader, owners, now: now)
        let choice = try units.choose(&turns[zone, default: MergeCache()])
        if case .slices(let slices) = choice, try transaction.hasPending() {
          matches = try PendingMatches(transaction, slices.refs(transaction.catalog))
        }
        return choice
      }
      switch choice {
      case nil: return .flushFirst
      case .idle(let waiting)?:
        turns[zone]?.inHand = nil
        return .idle(waiting: waiting)
      case .malformed(let head, let reason)?:
        try refuse(head, reason, zone)
        if let progress = try revertHalfMerged(zone, reader, now: now) { return progress }
      case .slices(let slices)?:
        if slices.contains(where: { !$0.long.isEmpty }) { turns[zone]?.hasLongInWAL = true }
        switch try merge(slices, zone, reader, writers, matches, now: now) {
        case .progress(let progress): return progress
        case .malformed(let head, let reason):
          try refuse(head, reason, zone)
          if let progress = try revertHalfMerged(zone, reader, now: now) { return progress }
        }
      }
    }
  }

  /// Marks an author whose change sets can never be merged. This is visible to people, and harms no other author.
  private func refuse(_ head: AuthorHead, _ reason: String, _ zone: ZoneID) throws {
    reached(.unitMalformed)
    try write { transaction in
      let row = try transaction.counters.obtain(zone)
      var stuck = head
      stuck.malformed = reason
      try transaction.catalog.heads.save(stuck, row.id)
    }
  }

  /// The result of merging some slices.
  private enum Outcome {
    case progress(ApplyProgress)
    /// The first slice can't be merged. The reason is noted at its author's tip.
    case malformed(AuthorHead, String)
  }

  /// The result of one transaction.
  private enum Attempt {
    case progress(ApplyProgress)
    /// Local rows arrived meanwhile, whose change set is sent after the commit.
    case needsDurability
  }

  private func merge(
    _ chosen: [MergeBatch], _ zone: ZoneID, _ reader: ChangeSetReader, _ writers: [ZoneID: ChangeSetWriter],
    _ matches: PendingMatches?, now: Int64
  ) throws -> Outcome {
    var slices = chosen[...]
    var refused: [RecordRef: String] = [:]
    var undeletable: Set<RecordRef> = []
    // Nothing is acknowledged inside a unit. A power cut may revert a slice, and the unit's end makes all slices
    // durable.
    var isDurable = slices.contains(where: \.isUnitEnd)
    while true {
      var merging = slices.startIndex
      do {
        let attempt: Attempt = try transact(isDurable: isDurable) { transaction in
          guard try transaction.isInStep() else { return .commit(.progress(.flushFirst)) }
          var flushed = StoreFlushes.Flushed()
          if try transaction.hasPending() {
            guard isDurable else { return .rollBack(.needsDurability) }
            switch try flush(slices, transaction, zone, writers, matches, now: now) {
            case .done(let done): flushed = done
            case .waiting(let progress): return .commit(.progress(progress))
            case .reverted: return .rollBack(.progress(.flushFirst))
            }
          }
          let followerDeletes = try mergeTogether(slices, zone, reader, now: now, refused, transaction) { merging += 1 }
          for delete in followerDeletes {
            try transaction.carryOut(delete, isRefused: undeletable.contains(delete.ref), now: now)
          }
          return .commit(.progress(progress(slices[..<merging], flushed, transaction)))
        }
        switch attempt {
        case .progress(let progress): return .progress(progress)
        case .needsDurability: isDurable = true
        }
      } catch let failure as FollowerDelete.Refused {
        undeletable.insert(failure.ref)
      } catch let failure as RecordFailure {
        switch failure.cause {
        case .unnoticedWrite(let place):
          try note(failure, place == zone ? reader : nil, now: now)
          return .progress(.flushFirst)
        case .rolledBack(let message):
          guard refused[failure.ref] == nil else { throw failure }
          reached(.transactionRolledBack)
          // The table may accept what was merged before, and then goes on showing it.
          if merging == slices.startIndex { refused[failure.ref] = message } else { reached(.mergeShortened) }
          slices = slices.prefix(max(1, merging - slices.startIndex))
        }
      } catch let fault as MalformedChangeSet {
        // Every node has to merge what its author wrote before it.
        guard merging > slices.startIndex else { return .malformed(slices[merging].head, fault.reason) }
        reached(.mergeShortened)
        slices = slices[..<merging]
      }
    }
  }

  private func progress(
    _ merged: ArraySlice<MergeBatch>, _ flushed: StoreFlushes.Flushed, _ transaction: Transaction
  ) -> ApplyProgress {
    let unitEnded = merged.contains(where: \.isUnitEnd)
    if merged.count > 1 { transaction.reached(.unitsMergedTogether) }
    if !unitEnded { transaction.reached(.unitMergedInSlices) }
    return .merged(records: merged.reduce(0) { $0 + $1.rowCount }, unitEnded: unitEnded, flushed: flushed.heads)
  }

  /// Merges as many slices as one transaction can take.
  ///
  /// - Parameter whenMerged: Called after each of them.
  /// - Returns: The deletes to carry out.
  private func mergeTogether(
    _ slices: ArraySlice<MergeBatch>, _ zone: ZoneID, _ reader: ChangeSetReader, now: Int64,
    _ refused: [RecordRef: String], _ transaction: Transaction, whenMerged: () -> Void
  ) throws -> [FollowerDelete] {
    var followerDeletes: [FollowerDelete] = []
    try transaction.applying {
      let records = ZoneRecords(transaction, zone: try transaction.counters.obtain(zone))
      for slice in slices {
        followerDeletes += try merge(slice, records, reader, now: now, refused)
        whenMerged()
        if records.packedCells > StoreLimits.cellsTogether { break }
      }
    }
    return followerDeletes
  }

  /// Flushes rows that were written for other zones first. Makes moved records leave this zone when all that belongs to
  /// them has moved. Returns nil if there are none.
  private func waitForOthers(
    _ slices: ArraySlice<MergeBatch>, _ transaction: Transaction, _ zone: ZoneID,
    _ writers: [ZoneID: ChangeSetWriter]
  ) throws -> ApplyProgress? {
    let zones = try transaction.catalog.zones()
    guard zones.isRouted, try transaction.hasPending(),
      try transaction.isElsewhere(slices.refs(transaction.catalog), than: transaction.counters.obtain(zone).id)
    else { return nil }
    let waiting = try transaction.pending.zones()
    let isWithoutKey = !waiting.isEmpty && waiting.allSatisfy { zones.entries[$0].flatMap { writers[$0.zone] } == nil }
    return isWithoutKey ? .idle(waiting: [.epochKey: slices.reduce(0) { $0 + $1.parts.count }]) : .flushFirst
  }

  /// The result of flushing local rows in the transaction that merges.
  private enum LocalFlush {
    case done(StoreFlushes.Flushed)
    /// Nothing can be merged yet.
    case waiting(ApplyProgress)
    /// The rows need a flush of their own first, or an app's trigger rolled back the transaction. `StoreFlushes.flush`
    /// handles both. The rows of other zones that were flushed here are reverted, because nobody would announce them.
    case reverted
  }

  private func flush(
    _ slices: ArraySlice<MergeBatch>, _ transaction: Transaction, _ zone: ZoneID,
    _ writers: [ZoneID: ChangeSetWriter], _ matches: PendingMatches?, now: Int64
  ) throws -> LocalFlush {
    let flushed: StoreFlushes.Flushed
    do {
      guard !writers.isEmpty,
        let done = try localWrites.flushWithin(transaction, about: zone, writers, now: now, or: matches)
      else { return .reverted }
      flushed = done
    } catch let failure as RecordFailure {
      guard case .rolledBack = failure.cause else { throw failure }
      return .reverted
    }
    if !flushed.heads.isEmpty { transaction.reached(.flushedInMerge) }
    guard let progress = try waitForOthers(slices, transaction, zone, writers) else { return .done(flushed) }
    transaction.reached(.mergeWaitsForMove)
    return .waiting(
      flushed.isEmpty ? progress : .merged(records: 0, unitEnded: false, flushed: flushed.heads))
  }

  private func merge(
    _ slice: MergeBatch, _ records: ZoneRecords, _ reader: ChangeSetReader, now: Int64,
    _ refused: [RecordRef: String]
  ) throws -> [FollowerDelete] {
    let transaction = records.transaction
    var head = try transaction.catalog.heads.of(slice.head.author, records.zone.id)
    let materialiser = try Materialiser(records, transaction.progress(), refused: refused)
    let merger = Merger(records, materialiser, previous: head, owners, now: now)
    var context: CausalContext?
    for part in slice.parts {
      let long = LongValues(
        transaction: transaction, zone: records.zone.id, author: head.author, reader: reader,
        numbers: head.merged + 1..<part.header.number, ready: slice.long)
      try merger.merge(part, long: long)
      records.zone.clock.witness(part.header.time)
      if part.rows.upperBound == part.rowCount {
        head.applied = part.header.number
        head.appliedRows = 0
        context = part.context
      } else {
        head.appliedRows = Int64(part.rows.upperBound)
      }
    }
    try materialiser.settle()
    if slice.isUnitEnd, let last = slice.parts.last { try end(&head, last, records) }
    try transaction.catalog.heads.save(head, context: context, records.zone.id)
    return merger.followerDeletes
  }

  private func end(_ head: inout AuthorHead, _ last: BatchPart, _ records: ZoneRecords) throws {
    let (log, end) = (records.transaction.log, last.header.number)
    try log.place(head.merged + 1...end, of: head.author, in: records.zone)
    head.waiting -= try log.size(above: head.merged, through: end, of: head.author, in: records.zone.id)
    head.finish(last)
  }

  /// Returns whether merged values wait to be shown.
  package func isShowing() throws -> Bool { try read { try $0.work.isShowing() } }
}
