import GRDB
import MeshCore

/// One call of `flush`: it makes a plan from a snapshot, encodes and signs it, and writes it in a short transaction.
struct Flusher {
  let store: StoreFlushes
  let writer: ChangeSetWriter
  let now: Int64
  /// The long values that this call has sent, by ordinal.
  var sent: [Value: UInt64] = [:]
  /// The records that an app's trigger refused.
  var refused: [RecordRef: String] = [:]
  private let hasher = AssetHasher()

  init(store: StoreFlushes, writer: ChangeSetWriter, now: Int64) {
    self.store = store
    self.writer = writer
    self.now = now
  }

  /// The result of one attempt.
  enum Attempt {
    case done(FlushProgress)
    /// Something came in between, or had to be done before the flush itself.
    case again
    /// Upkeep must run first.
    case outOfStep
  }

  mutating func attempt() throws -> Attempt {
    let drafting = try prepare()
    if case .draft(let draft) = drafting { return try flush(draft) }
    return try proceed(without: drafting)
  }

  private func prepare() throws -> Drafting {
    let drafting = try store.read { transaction in
      if let zone = try transaction.counters.read(writer.zone) {
        try transaction.run.sort(zone, filter: transaction.pendingFilter(zone.id))
      }
      return try Draft.make(transaction, writer, now, sent, hasher)
    }
    guard case .needsWriteLock = drafting else { return drafting }
    return try store.transact { transaction in
      let drafting = try Draft.make(transaction, writer, now, sent, hasher)
      return drafting.isPossible ? .commit(drafting) : .rollBack(drafting)
    }
  }

  private mutating func flush(_ draft: Draft) throws -> Attempt {
    if !draft.plan.cascades.isEmpty {
      try cascade(draft.plan.cascades)
      return .done(FlushProgress(zone: writer.zone, head: nil, records: 0, hasMore: true))
    }
    if !draft.plan.longValues.isEmpty {
      for value in draft.plan.longValues { try send(value.value) }
      return .again
    }
    do {
      switch try write(draft) {
      case .written(let progress): return .done(progress)
      case .other(.nothing), .other(.draft): return .again
      case .other(let drafting): return try proceed(without: drafting)
      }
    } catch let failure as RecordFailure {
      switch failure.cause {
      case .rolledBack(let message): refused[failure.ref] = message
      case .unnoticedWrite: if try !store.note(failure, now: now) { store.access.believe(failure.ref) }
      }
      return .again
    }
  }

  private enum Writing {
    case written(FlushProgress)
    /// A program wrote in between. This is what can be written now, and it is not written.
    case other(Drafting)
  }

  private func write(_ draft: Draft) throws -> Writing {
    // A flush that doesn't know of a row without a zone could send a record with its move that a program has just
    // deleted, and show it again. Routing has transactions of its own, because what follows may be rolled back.
    for round in 0..<Self.routings {
      let routed = try store.transact(isDurable: draft.endsBatch) { transaction -> Ending<Writing?> in
        guard try !transaction.hasUnrouted() else {
          try transaction.routeSlice()
          return .commit(nil)
        }
        return try write(draft, isCurrent: round == 0 && draft.isCurrent(transaction), transaction)
      }
      if let routed { return routed }
    }
    return .other(.nothing)
  }

  /// The number of times that rows which programs write meanwhile are routed before the flush begins again.
  private static let routings = 3

  private func write(_ draft: Draft, isCurrent: Bool, _ transaction: Transaction) throws -> Ending<Writing?> {
    hasher.budget = StoreLimits.hashedUnderLock
    defer { hasher.budget = nil }
    let drafting: Drafting = isCurrent ? .draft(draft) : try Draft.make(transaction, writer, now, sent, hasher)
    guard case .draft(let current) = drafting, current.plan.cascades.isEmpty, current.plan.longValues.isEmpty,
      draft.endsBatch || !current.endsBatch
    else { return drafting.isPossible ? .commit(.other(drafting)) : .rollBack(.other(drafting)) }
    return .commit(.written(try commit(current, transaction)))
  }

  /// Does what has to come first if there is no draft.
  private func proceed(without drafting: Drafting) throws -> Attempt {
    switch drafting {
    case .nothing:
      return .done(
        FlushProgress(zone: writer.zone, head: nil, records: 0, hasMore: try store.read { try $0.hasPending() }))
    case .outOfStep: return .outOfStep
    case .needsRun:
      try store.write(isDurable: false) { transaction in
        // The end of the run removes all notes of the zone up to the last one. A note that got its zone only after the run
        // was sorted would be removed with them.
        guard try !transaction.hasUnrouted() else { return try transaction.routeSlice() }
        let zone = try transaction.counters.obtain(writer.zone)
        try transaction.run.begin(zone, filter: transaction.pendingFilter(zone.id))
      }
      return .again
    // If a program wrote a long BLOB in between, the next attempt hashes it without the lock.
    case .tooMuch, .needsWriteLock, .draft: return .again
    }
  }

  // MARK: Before the slice itself

  /// Deletes the rows of children whose parent was deleted, even if the writer had foreign keys turned off. The rows
  /// are deleted as a program would delete them. Capture notes them, and their own children follow later.
  private func cascade(_ cascades: [FlushPlan.Cascade]) throws {
    store.reached(.childrenDeleted)
    try store.write { transaction in
      var finder = CascadeFinder(transaction)
      for cascade in cascades {
        guard let child = transaction.catalog.table(cascade.reference.child) else { continue }
        for key in try finder.deletedKeys(cascade, limit: Choices.slice) {
          try transaction.deleteNoting(child, key, now: now)
        }
      }
    }
  }

  /// Sends a long value. Each piece is a part of its own, in a transaction of its own. After a crash, the value is sent
  /// again under another ordinal, and the earlier pieces stay without a reference.
  private mutating func send(_ value: Value) throws {
    let bytes: [UInt8]
    switch value {
    case .text(let text): bytes = text
    case .blob(let blob): bytes = blob
    case .null, .integer, .real, .asset: return
    }
    store.reached(.valueSentInPieces)
    try makeRoom(parts: UInt64(bytes.count / Limits.piece) + 2)
    let ordinal = try store.write { transaction in
      let zone = try transaction.counters.obtain(writer.zone)
      zone.flushValues += 1
      return zone.flushValues - 1
    }
    for offset in stride(from: 0, to: bytes.count, by: Limits.piece) {
      let piece = LongValuePiece(
        ordinal: ordinal, offset: UInt64(offset), bytes: Array(bytes[offset..<min(offset + Limits.piece, bytes.count)]))
      try store.write { transaction in
        var part = try NextPart(transaction, writer, now)
        try part.append(.piece(piece), isFinal: false, transaction, writer)
      }
    }
    sent[value] = ordinal
  }

  /// Ends a unit that is nearly full. A value's pieces and the part that refers to it have to be in one unit.
  private mutating func makeRoom(parts: UInt64) throws {
    let isFull = try store.read { transaction in
      (try transaction.counters.read(writer.zone)?.flushPart ?? 0) + parts > StoreLimits.unitParts
    }
    guard isFull else { return }
    sent = [:]
    try store.write { transaction in
      var part = try NextPart(transaction, writer, now)
      try part.append(.changes([]), isFinal: true, transaction, writer)
    }
  }

  // MARK: The slice

  func commit(_ draft: Draft, _ transaction: Transaction) throws -> FlushProgress {
    let plan = draft.plan
    var part = draft.part
    let zone = try transaction.counters.obtain(writer.zone)
    let records = ZoneRecords(transaction, zone: zone)
    let isAll =
      switch plan.source {
      case .log: try transaction.hasOnly(zone.id)
      case .run: try plan.isWhole && zone.runLast == plan.lastID && transaction.hasOnly(zone.id)
      case .matches: false
      }
    let materialiser = try Materialiser(
      records, isAll ? .flushedAll : .flushedPart, refused: refused, flushing: plan)
    // All records are written first, because the tables' contents depend on the whole slice.
    try save(plan, records, materialiser, author: part.head.author)
    try transaction.applying { try show(plan, records, materialiser) }
    for (ref, reason, message) in plan.unsent { try materialiser.note(ref, reason, message) }
    zone.clock = part.clock
    if isAll {
      // The log is empty now, and its ids start at 1 again.
      if try transaction.catalog.zones().isRouted { try transaction.counters.endAhead() }
      zone.ahead = 0
    } else if !plan.changes.isEmpty || !plan.placed.isEmpty || !plan.arrivals.isEmpty {
      zone.ahead = max(zone.ahead, plan.lastID)
    }
    try endDepartures(plan, zone, transaction)
    try consume(plan, zone, transaction)
    for id in plan.continued { try transaction.conflicts.end(id) }
    let lost = plan.arrivals.isEmpty ? [] : try transaction.recordsWithLostParts()
    for arrival in plan.arrivals {
      try transaction.depart(arrival.ref, arrival.table, from: arrival.zone)
      if lost.contains(arrival.ref) { try transaction.continueLateParts(arrival.ref) }
    }
    if let changeSet = draft.changeSet { try part.record(changeSet, isSynced: draft.endsBatch, transaction) }
    let leavesToShow = !isAll && (materialiser.notes.hasPostponed || plan.changes.contains(where: \.hidesColumns))
    if leavesToShow { try transaction.work.requestShow() }
    var progress = FlushProgress(
      zone: writer.zone,
      head: draft.changeSet.map { ChangeSetTip(number: $0.header.number, id: $0.id, time: $0.header.time) },
      // Moved records leave their old zone later, and records may have to follow a parent.
      records: plan.changes.count + plan.placed.count + plan.arrivals.count,
      hasMore: try !isAll || transaction.hasPending(),
      isSendable: draft.endsBatch, unitEnded: part.index == 0)
    progress.leavesToShow = leavesToShow
    return progress
  }

  /// Writes the records of a slice.
  private func save(
    _ plan: FlushPlan, _ records: ZoneRecords, _ materialiser: Materialiser, author: Int64
  ) throws {
    let hasNotes = try records.transaction.held.hasShown()
    if hasNotes { for ref in plan.gone { try materialiser.stopWaiting(ref) } }
    for manifest in plan.manifests { _ = try records.transaction.contents.remember(manifest) }
    for lost in plan.losses {
      try records.noteConflict(
        lost.ref, lost.loss, isByWrite: lost.loss.column != ZoneRecords.wholeRecord, now: now)
    }
    for change in plan.changes {
      let old = change.old
      if hasNotes || old?.held != nil || old?.extra.isEmpty == false, !change.record.isRefused {
        try materialiser.stopWaiting(change.ref)
      }
      if change.kind == .birth { try materialiser.claim(change.ref) }
      try records.save(change.ref, change.record, replacing: old)
      try noteUnseen(change, author, records)
    }
  }

  /// Makes the tables show the records of a slice.
  private func show(_ plan: FlushPlan, _ records: ZoneRecords, _ materialiser: Materialiser) throws {
    for change in plan.changes { try present(change, materialiser) }
    for placed in plan.placed {
      let changed = placed.old?.isShown == true ? Set(placed.state.cells.keys) : nil
      let written = placed.state.cells.filter { placed.written.contains($0.key) }.mapValues(\.value)
      try records.keepAssets(of: written, from: placed.ref, placed.table)
      try materialiser.place(placed.ref, placed.state, replacing: placed.old, changed: changed)
      // A row that a program wrote before its table was synchronized is deleted with its record.
      if !placed.state.isAlive, placed.table.isHere { try materialiser.vacate(placed.ref, placed.table) }
    }
    for vacated in plan.vacated { try vacate(vacated, materialiser) }
    for arrival in plan.arrivals { try materialiser.arrive(arrival) }
    for ref in plan.rechecked { materialiser.check(ref) }
    for ref in plan.reshown { try materialiser.show(ref, overwriting: true) }
    try materialiser.settle()
  }

  /// Notes conflicts for values that are overwritten or deleted while their row shows other values. Nobody who read the
  /// row here had seen them. Such a value is a downloading asset, a value that the table refused, or any value of a
  /// record without a row. If a row was deleted and inserted again, it is also a value in a column that the table lacks.
  private func noteUnseen(_ change: FlushPlan.Change, _ author: Int64, _ records: ZoneRecords) throws {
    guard change.kind != .departure, let old = change.old, old.isAlive else { return }
    let catalog = records.transaction.catalog
    // A program that read the row has seen the sum of a counter.
    let folded =
      change.kind == .edit || old.shown.isEmpty
      ? [:] : try records.transaction.folded(change.table, records.state(change.ref, old))
    let lost = try old.extra.filter { column, _ in
      if let sum = folded[column], sum == old.shown[column] { return false }
      // If its table was not synchronized for a while, programs know what the row showed before.
      let isBase = old.held == .untracked
      if change.isBlind || isBase && change.kind == .delete && change.table.indexes[column] != nil {
        return !isBase || old.shown[column] != nil
      }
      guard old.isShown, change.record.extra[column] == nil else { return false }
      if change.kind == .birth, try change.table.lacks(column, catalog) { return true }
      return old.hides(column) && change.table.indexes[column] != nil
    }
    let row = try change.isBlind && change.kind != .delete ? records.row(change.table, change.ref.key) : nil
    for (column, value) in lost.sorted(by: { $0.key < $1.key }) {
      let stamp = old.stamps.stamp(of: column)
      // Programs here have seen the values that this device wrote itself, unless they were hidden since.
      let isHidden = change.isBlind || change.table.indexes[column] == nil
      if isHidden ? change.table.indexes[column].map({ row?[$0] == value }) ?? false : stamp.author == author {
        continue
      }
      let loser = ZoneRecords.State.Cell(stamp: try records.global(stamp), value: value)
      let stamps = change.record.stamps
      let winner = try records.global(change.kind == .delete ? stamps.base : stamps.stamp(of: column))
      try records.noteConflict(
        change.ref, .init(column: column, loser: loser, winner: winner, wasLocal: true),
        isByWrite: change.kind != .delete, now: now)
    }
  }

  /// Deletes the row after its record.
  private func vacate(_ vacated: FlushPlan.Vacated, _ materialiser: Materialiser) throws {
    var record = vacated.old
    record.shown = [:]
    try materialiser.records.save(vacated.ref, record, replacing: vacated.old)
    try materialiser.transaction.kept.keep(vacated.old.shown, vacated.ref)
    try materialiser.vacate(vacated.ref, vacated.table)
    try materialiser.leave(vacated.ref, vacated.table)
  }

  private func present(_ change: FlushPlan.Change, _ materialiser: Materialiser) throws {
    switch change.kind {
    case .delete:
      if materialiser.others != nil, change.table.isHere { try materialiser.vacate(change.ref, change.table) }
      try materialiser.leave(change.ref, change.table)
    case .departure:
      if change.old?.isShown == true { try materialiser.vacate(change.ref, change.table) }
      try materialiser.leave(change.ref, change.table)
    case .birth, .edit:
      if change.record.held != nil { return try materialiser.show(change.ref) }
      if !change.table.references.isEmpty { materialiser.check(change.ref) }
      if change.old?.isShown != true {
        try materialiser.appear(change.ref)
      } else {
        try materialiser.release(change.ref, change.table)
      }
      // A column that arrived while the edit waited is shown only now.
      if materialiser.progress == .flushedAll, change.hidesColumns { try materialiser.show(change.ref) }
    }
  }
}

extension Flusher {
  /// Removes the notes that records leave the zone, if they came back to it, or were written there again.
  private func endDepartures(_ plan: FlushPlan, _ zone: ZoneCounters, _ transaction: Transaction) throws {
    guard try transaction.catalog.zones().isRouted else { return }
    let written = plan.changes.filter { change in
      change.kind != .departure && change.kind != .delete && change.old?.isAlive == true && change.old?.held != nil
    }
    for ref in written.map(\.ref) + plan.arrivals.map(\.ref) {
      let notes = try transaction.pending.routed(ref).filter {
        $0.op == PendingSlice.Op.depart && abs($0.zone) == zone.id
      }
      try transaction.pending.remove(notes.map(\.id))
    }
  }

  private func consume(_ plan: FlushPlan, _ zone: ZoneCounters, _ transaction: Transaction) throws {
    let (pending, filter) = (transaction.pending, try transaction.pendingFilter(zone.id))
    switch plan.source {
    case .log:
      try pending.remove(through: plan.lastID, filter)
    case .run where plan.isWhole:
      try pending.remove(through: zone.runLast, filter)
      try transaction.run.end(zone)
    case .run:
      zone.runRows += Int64(plan.consumed)
      // The notes of a run stay until its end, and come again if it is ended before. An arrival must not be repeated,
      // because programs may have deleted the row since.
      for arrival in plan.arrivals { try pending.endArrival(arrival.ref, in: zone.id) }
    case .matches(let matches):
      try pending.remove(matches.ids, filter)
    }
  }
}

extension Transaction {
  /// Deletes a row as a program would. If an app's trigger refuses that, the row is deleted without triggers, because
  /// its parent is gone.
  fileprivate func deleteNoting(_ table: TableForm, _ key: Value, now: Int64) throws {
    guard try !deleteAsProgram(table, key) else { return }
    try sql.withoutTriggers { try sql.run(table.delete, [key]) }
    try pending.note(RecordRef(table: table.id, key: key), PendingSlice.Op.delete, wall: now)
  }

  /// Deletes a record in its new zone as a program would, also if it has no row. If another record has the row, an app's
  /// trigger rolls back, or the delete would take a write along, the delete is listed instead.
  ///
  /// - Throws: `FollowerDelete.Refused` if a trigger has rolled back. Call it again with `isRefused`.
  func carryOut(_ follower: FollowerDelete, isRefused: Bool, now: Int64) throws {
    guard let zone = try counters.read(id: follower.zone), let table = catalog.table(follower.ref.table) else { return }
    let (records, ref) = (ZoneRecords(self, zone: zone), follower.ref)
    guard try records.load(ref)?.isAlive == true else { return }
    let meetsWrites = try follower.meetsWrites(records)
    guard try meetsWrites || table.hasRow(ref.key, sql) else {
      return try pending.note(ref, PendingSlice.Op.delete, wall: now, zone: zone.id)
    }
    if try !meetsWrites && !isRefused && place(of: ref) == zone.id {
      do {
        return try deleteNoting(table, ref.key, now: now)
      } catch let error as DatabaseError where error.refusesRow {
        throw FollowerDelete.Refused(ref: ref)
      }
    }
    let delete = ZoneRecords.State.Cell(stamp: follower.delete, value: .null)
    try records.noteConflict(
      ref, .init(column: ZoneRecords.wholeRecord, loser: delete, winner: follower.birth, wasLocal: true), now: now)
  }

  /// Returns whether the row is gone.
  private func deleteAsProgram(_ table: TableForm, _ key: Value) throws -> Bool {
    do {
      try sql.run(table.delete, [key])
    } catch let error as DatabaseError where error.refusesRow && sql.isInTransaction {
      // The caller handles this case.
    }
    return try !sql.exists(table.selectKey, [key])
  }
}
