import MeshCore

/// Creates change sets from local writes.
final class LocalWrites: Part {
  let context: Context
  private let writers: Writers
  private let schema: SchemaExchange
  private let acknowledgements: Acknowledgements
  private let shares: Shares
  /// The number of rows that were compared with the merged values since the start, and of those that had changed
  /// unnoticed.
  private(set) var compared = (rows: 0, differences: 0)
  /// The shares of this account whose root a program deleted. Their deletes are signed.
  private var deletedRoots: Set<ZoneID> = []

  init(
    _ context: Context, _ writers: Writers, _ schema: SchemaExchange, _ acknowledgements: Acknowledgements,
    _ shares: Shares
  ) {
    (self.context, self.writers, self.schema) = (context, writers, schema)
    (self.acknowledgements, self.shares) = (acknowledgements, shares)
  }

  /// Brings capture and records up to date with the schema. Blocks if a key is missing: nothing can be flushed or merged
  /// until it arrives.
  func upkeep(now: Moment) throws -> WorkStep.Outcome {
    guard due.contains(.upkeep) else { return .nothing }
    let progress: UpkeepProgress
    do {
      progress = try store.capture.upkeep(changeSetReader, now: now.wall)
    } catch is MissingKey {
      // The file came from another home. Its merged values can be read again once its keys are here.
      return .blocked
    }
    switch progress {
    case .done:
      due.finish(.upkeep)
      return .nothing
    case .flushFirst:
      due.note(.flush)
      return .nothing
    case .worked(let rows, let differences):
      compared.rows += rows
      compared.differences += differences
      // The rows that this step noted may have to be flushed before it continues.
      due.note(.flush)
      return .made
    case .schemaChanged(let notices):
      for notice in notices { outbox.log(.warning, notice) }
      try schemaChanged()
      return .made
    }
  }

  /// Handles tables that were tracked or changed, and new columns. Waiting values may now be shown, and peers learn the
  /// new schema.
  func schemaChanged() throws {
    try schema.sendAll()
    due.noteDatabase()
    due.noteMerges(zones.ids)
  }

  /// Signs a part of the pending rows, unless it is the turn of merges or no zone can be written now.
  func flush(now: Moment) throws -> WorkStep.Outcome {
    guard due.contains(.flush), !due.areMergesNext else { return .nothing }
    let writers = try writers.prepare()
    guard !writers.isEmpty else { return .nothing }
    for zone in due.blockedMerges where isReady(zone, writers) { due.unblock(merge: zone) }
    try flush(writers, now: now)
    return .made
  }

  private func flush(_ writers: [ZoneID: ChangeSetWriter], now: Moment) throws {
    due.note(.unannounced)
    let progress = try store.localWrites.flush(writers, now: now.wall)
    due.finish(.unannounced)
    due.note(.assets)
    if progress.hasMore { due.note(.flush) } else { due.finish(.flush) }
    if progress.leavesToShow { due.noteMerges(zones.ids) }
    if progress.unitEnded, progress.hasMore { due.beginMergeTurn() } else { due.endMergeTurn() }
    if let head = progress.head, let writer = progress.zone.flatMap({ writers[$0] }) {
      if progress.isSendable { try announce(head, writer, now: now) }
    } else if progress.hasMore {
      due.note(.upkeep)
    }
    for zone in progress.deletedRoots {
      if zones[zone]?.state.owner == account.id {
        deletedRoots.insert(zone)
      } else {
        try shares.rootDeleted(zone, now: now)
      }
    }
  }

  /// True if shares are about to end because a program deleted their roots.
  var needsTick: Bool { !deletedRoots.isEmpty }

  /// Ends the shares whose roots were deleted. The deletes were sent before, so other devices of the account merge them
  /// before the share ends there.
  func endDeletedShares(now: Moment) throws {
    for id in deletedRoots.sorted() {
      // A device that was revoked in the meantime can't stop the share.
      if let zone = zones[id], mayWrite(zone) { try shares.rootDeleted(id, now: now) }
      deletedRoots.remove(id)
    }
  }

  /// Sends what was signed, after the home has stored its number outside the database.
  func announce(_ head: ChangeSetTip, _ writer: ChangeSetWriter, now: Moment) throws {
    try writers.saveMark(writer.author.instance, head, signed: now.wall, writer.zone)
    try acknowledgements.pushNews(writer.zone, now: now)
  }

  /// Announces this device's last signed change set in every zone that it writes, after a transaction failed.
  func announceUnannounced(now: Moment) throws {
    guard due.contains(.unannounced) else { return }
    for (id, writer) in try writers.prepare() {
      guard let head = try store.log.mergedTips(id)[writer.author] else { continue }
      let mark = try vault.highWaterMark(id)
      guard mark?.instance != writer.author.instance || mark?.number ?? 0 < head.number else { continue }
      try announce(head, writer, now: now)
    }
    due.finish(.unannounced)
  }

  /// Returns whether local writes to the zone can be flushed, or the zone accepts no writes.
  func isReady(_ id: ZoneID, _ writers: [ZoneID: ChangeSetWriter]) -> Bool {
    guard let zone = zones[id], !writers.isEmpty else { return false }
    return writers[id] != nil || !mayWrite(zone)
  }

  /// Signs a slice of reverted change sets again. Returns true if there was one.
  func writeAgain(_ id: ZoneID, now: Moment) throws -> Bool {
    guard let zone = zones[id], zone.limits.mayWriteAgain, zone.limits.areCarriedOut,
      let writer = try writers.prepare(id), try store.localWrites.pendingCount() == 0
    else { return false }
    let head: ChangeSetTip?
    do {
      due.note(.unannounced)
      head = try store.localWrites.writeAgain(writer, now: now.wall)
      due.finish(.unannounced)
    } catch is PendingWrites {
      due.noteDatabase()
      return true
    }
    zones[id]?.limits.noteWrittenAgain(hasMore: head != nil)
    guard let head else { return false }
    try announce(head, writer, now: now)
    return true
  }
}
