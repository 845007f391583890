import MeshCore

/// The result of making a draft.
enum Drafting {
  case draft(Draft)
  /// Nothing is pending and no unit is open.
  case nothing
  /// The schema has changed or records lack values, so that upkeep must run first.
  case outOfStep
  /// The pending log is more than one part, and must first be made a run.
  case needsRun
  /// A name or list has no number yet, and the access only reads.
  case needsWriteLock
  /// Hashing the BLOBs would hold the write lock for too long.
  case tooMuch

  /// Whether nothing else has to come first.
  var isPossible: Bool {
    switch self {
    case .draft, .nothing: true
    case .outOfStep, .needsRun, .needsWriteLock, .tooMuch: false
    }
  }
}

/// A plan with its change set, ready to be written.
struct Draft {
  let plan: FlushPlan
  let part: NextPart
  /// The change set, or nil if there is nothing to send.
  let changeSet: ChangeSet?

  /// Makes a draft, or returns what has to come first.
  static func make(
    _ transaction: Transaction, _ writer: ChangeSetWriter, _ now: Int64, _ sent: [Value: UInt64], _ hasher: AssetHasher,
    _ source: PendingSlice.Source? = nil
  ) throws -> Drafting {
    do {
      return try plan(transaction, writer, now, sent, hasher, source)
    } catch let obstacle as PlanObstacle {
      switch obstacle {
      case .readOnly: return .needsWriteLock
      case .hashing: return .tooMuch
      }
    }
  }

  private static func plan(
    _ transaction: Transaction, _ writer: ChangeSetWriter, _ now: Int64, _ sent: [Value: UInt64], _ hasher: AssetHasher,
    _ source: PendingSlice.Source?
  ) throws -> Drafting {
    var part = try NextPart(transaction, writer, now)
    let filter = try transaction.pendingFilter(part.zone)
    let isOpen = part.index > 0
    guard try transaction.hasPending(filter) || isOpen else { return .nothing }
    guard try transaction.isInStep() else { return .outOfStep }
    let zone = try transaction.counters.obtain(writer.zone)
    let planner = FlushPlanner(
      ZoneRecords(transaction, zone: zone), source ?? (zone.runLast > 0 ? .run(after: zone.runRows) : .log),
      filter: filter, writer: writer, author: part.head.author, now: now, base: part.unitStart, room: part.room,
      sent: sent, hasher: hasher)
    guard let plan = try planner.make() else { return .needsRun }
    part.clock = plan.clock
    let hasNews = plan.tables.contains { !$0.rows.isEmpty }
    var changeSet: ChangeSet?
    if plan.cascades.isEmpty, plan.longValues.isEmpty, hasNews || (plan.isWhole && isOpen) {
      changeSet = try part.make(.changes(plan.tables), isFinal: plan.isWhole, writer)
    }
    return .draft(Draft(plan: plan, part: part, changeSet: changeSet))
  }

  /// Whether to commit durably: the change set is a part that completes a batch to be sent.
  var endsBatch: Bool {
    guard let place = changeSet?.header.part else { return true }
    return place.isFinal || (place.index + 1).isMultiple(of: StoreLimits.partsPerSync)
  }

  /// Returns whether the pending log and the schema are those from which the plan was made.
  func isCurrent(_ transaction: Transaction) throws -> Bool {
    try transaction.catalog.schemaVersion == plan.schemaVersion
      && transaction.pending.last() == plan.lastID
  }
}
