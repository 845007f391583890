import MeshCore

/// Reverts the change sets that authors wrote above a number. It computes the records that they touched again from the
/// rest of the log. The result is the state of a node that never merged them. The log above the limit is deleted last,
/// so that the work starts over after a crash.
struct Reverter {
  typealias State = ZoneRecords.State

  let transaction: Transaction
  let zone: ZoneCounters
  let log: LogReader
  /// The limits by the author's number in this file. A limit is never inside a unit, because nobody merges part of a
  /// unit.
  let limits: [Int64: UInt64]

  init(_ transaction: Transaction, _ zone: ZoneCounters, _ reader: ChangeSetReader, _ limits: [Author: UInt64]) throws {
    self.transaction = transaction
    self.zone = zone
    self.log = LogReader(transaction: transaction, zone: zone.id, reader: reader)
    var numbers: [Int64: UInt64] = [:]
    for (author, said) in limits.sorted(by: { $0.key < $1.key }) {
      let number = try transaction.catalog.authorNumber(author)
      // The account that ends an author may name any number. The numbers of change sets that are here fit into SQLite's
      // integers.
      let limit = min(said, UInt64(Int64.max) - 1)
      numbers[number] = try Self.unitEnd(transaction, zone.id, number, limit)
    }
    self.limits = numbers
  }

  private static func unitEnd(_ transaction: Transaction, _ zone: Int64, _ author: Int64, _ limit: UInt64) throws
    -> UInt64
  {
    guard try transaction.catalog.heads.of(author, zone).stored > limit else { return limit }
    let end = try transaction.log.unitEnd(below: limit + 1, of: author, in: zone)
    if end < limit { transaction.reached(.revertInsideUnit) }
    return end
  }

  /// Returns the limits of authors whose change sets are not reverted completely.
  static func begun(_ transaction: Transaction, _ zone: ZoneCounters) throws -> [Author: UInt64] {
    var limits: [Author: UInt64] = [:]
    for head in try transaction.catalog.heads.all(zone.id) {
      if let limit = head.revertsAbove { limits[try transaction.catalog.author(head.author)] = limit }
    }
    return limits
  }

  /// Begins the revert, so that it continues after a crash. Returns the records that change sets above the limits touched.
  func mark() throws -> [RecordRef] {
    for (author, limit) in limits {
      var head = try transaction.catalog.heads.of(author, zone.id)
      guard head.stored > limit || head.applied > limit else { continue }
      head.revertsAbove = limit
      try transaction.catalog.heads.save(head, zone.id)
    }
    return try touched()
  }

  /// Returns the records that change sets above the limits touched, in order.
  func touched() throws -> [RecordRef] {
    var touched: Set<RecordRef> = []
    try forEachRefused { author, number in
      try log.forEachRow(author, number) { ref, _, _, _ in touched.insert(ref) }
    }
    return touched.sorted { ($0.table, $0.key) < ($1.table, $1.key) }
  }

  /// Visits the change sets above the limits. A partly merged unit is beyond `merged`, but has touched records.
  private func forEachRefused(_ visit: (_ author: Int64, _ number: UInt64) throws -> Void) throws {
    for (author, limit) in limits.sorted(by: { $0.key < $1.key }) {
      let head = try transaction.catalog.heads.of(author, zone.id)
      let last = head.applied + (head.appliedRows > 0 ? 1 : 0)
      guard last > limit else { continue }
      for number in limit + 1...last { try visit(author, number) }
    }
  }

  /// The states of a record in an author's change sets that are reverted, in order.
  typealias Reverted = [(number: UInt64, state: State)]

  /// The states of some records according to the log.
  struct Replay {
    /// The states without the change sets above the limits.
    var states: [RecordRef: State] = [:]
    /// The states in change sets above the limits, for each author that gets receipts.
    var reverted: [RecordRef: [Int64: Reverted]] = [:]
    var movers: [RecordRef: Author] = [:]
  }

  /// Reads the whole log.
  func replay(_ refs: [RecordRef], _ aftermath: [Author: Aftermath]) throws -> Replay {
    let wanted = Set(refs)
    return Replay(
      states: try rest(wanted), reverted: try reverted(wanted, aftermath.filter { $0.value == .receipt }),
      movers: try aftermath.isEmpty ? [:] : movers(wanted))
  }

  private func rest(_ wanted: Set<RecordRef>) throws -> [RecordRef: State] {
    var states: [RecordRef: State] = [:]
    for head in try transaction.catalog.heads.all(zone.id) {
      let last = min(head.applied + (head.appliedRows > 0 ? 1 : 0), limits[head.author] ?? .max)
      guard last > 0 else { continue }
      for number in 1...last {
        let isPartial = number == head.applied + 1
        let long = try log.longValues(head.author, number)
        try log.forEachRow(head.author, number) { ref, change, columns, index in
          guard wanted.contains(ref), !isPartial || index < head.appliedRows else { return }
          states[ref, default: State()].merge(try State(change, columns: columns, long))
        }
      }
    }
    return states
  }

  /// Sets the records to the state that results from the rest of the log.
  func restate(
    _ refs: [RecordRef], _ replay: Replay, _ refused: [RecordRef: String], _ aftermath: [Author: Aftermath], now: Int64
  ) throws {
    let records = ZoneRecords(transaction, zone: zone)
    let materialiser = try Materialiser(records, transaction.progress(), refused: refused)
    let receipts = aftermath.filter { $0.value == .receipt }
    let others = aftermath.filter { $0.value != .receipt }
    for ref in refs {
      guard let old = try records.load(ref) else { continue }
      let after = replay.states[ref] ?? State()
      // Values that are written again need their bytes again.
      if !aftermath.isEmpty, old.isShown, !old.shown.isEmpty, let table = transaction.catalog.table(ref.table) {
        try records.keepAssets(of: old.shown, from: ref, table)
      }
      if !others.isEmpty {
        let lost = RevertedValues(ref, from: try records.state(ref, old), to: after)
        try lost.keep(records, others, mover: replay.movers[ref], now: now)
      }
      try keepReceipts(of: ref, replay, records, receipts, now: now)
      if after.generation > 0 {
        try materialiser.place(ref, after, replacing: old, changed: nil)
      } else {
        try forget(ref, old, records, materialiser)
      }
    }
    try materialiser.settle()
  }

  /// Keeps what a record has in change sets above the limits. Each change set of an author that gets receipts gets one,
  /// because it may turn out that the share has some of them. The author that wrote last comes last.
  func keepReceipts(
    of ref: RecordRef, _ replay: Replay, _ records: ZoneRecords, _ receipts: [Author: Aftermath], now: Int64
  ) throws {
    let reverted = (replay.reverted[ref] ?? [:]).map { (author: $0.key, said: $0.value) }
    func last(_ said: Reverted) -> HybridTime { said.map(\.state.last).max() ?? .zero }
    for (author, said) in reverted.sorted(by: { (last($0.said), $0.author) < (last($1.said), $1.author) }) {
      var before = replay.states[ref] ?? State()
      for (number, state) in said {
        let after = before
        before.merge(state)
        let source = ReceiptTable.Source(author: author, number: number)
        try RevertedValues(ref, from: before, to: after)
          .keep(records, receipts, mover: replay.movers[ref], from: source, now: now)
      }
    }
  }

  /// Returns the states in change sets above the limits, for each author that gets receipts. The values that had beaten
  /// them may be reverted as well.
  private func reverted(
    _ wanted: Set<RecordRef>, _ receipts: [Author: Aftermath]
  ) throws -> [RecordRef: [Int64: Reverted]] {
    var reverted: [RecordRef: [Int64: Reverted]] = [:]
    try forEachRefused { author, number in
      guard try receipts[transaction.catalog.author(author)] != nil else { return }
      let long = try log.longValues(author, number)
      try log.forEachRow(author, number) { ref, change, columns, _ in
        guard wanted.contains(ref) else { return }
        let state = try State(change, columns: columns, long)
        // A record may be in thousands of change sets, so their list is changed in place.
        func add(to said: inout Reverted) {
          if said.last?.number != number { said.append((number, State())) }
          said[said.count - 1].state.merge(state)
        }
        add(to: &reverted[ref, default: [:]][author, default: []])
      }
    }
    return reverted
  }

  /// Returns the authors who moved records here from another zone, above the limits. The values of these records have
  /// the stamps from that zone.
  private func movers(_ wanted: Set<RecordRef>) throws -> [RecordRef: Author] {
    var movers: [RecordRef: Author] = [:]
    try forEachRefused { author, number in
      let name = try transaction.catalog.author(author)
      try log.forEachRow(author, number) { ref, change, _, _ in
        if change.isLife, change.generation.isAlive, wanted.contains(ref) { movers[ref] = name }
      }
    }
    return movers
  }

  /// Deletes a record whose birth was reverted.
  private func forget(
    _ ref: RecordRef, _ old: StoredRecord, _ records: ZoneRecords, _ materialiser: Materialiser
  ) throws {
    try materialiser.stopWaiting(ref)
    let table = transaction.catalog.table(ref.table)
    if let table { _ = try materialiser.local.take(ref, table, old, to: State()) }
    try records.remove(ref, old)
    guard old.isShown, let table else { return }
    try materialiser.vacate(ref, table)
    try materialiser.leave(ref, table)
  }

  /// Sets the tips back, and deletes the change sets above the limits. Change sets with `Aftermath.receipt` are kept
  /// apart. If the refusal turns out to be wrong, the other devices no longer have them.
  func finish(_ aftermath: [Author: Aftermath]) throws {
    for (author, limit) in limits {
      var head = try transaction.catalog.heads.of(author, zone.id)
      try transaction.log.truncate(
        above: limit, of: author, in: zone.id, areKept: aftermath[transaction.catalog.author(author)] == .receipt)
      guard head.stored > limit || head.applied > limit else { continue }
      head.revertsAbove = nil
      let id = limit > 0 ? try transaction.log.id(limit, of: author, in: zone.id) : nil
      let atLimit = try transaction.log.time(limit, of: author, in: zone.id)
      head.malformed = nil
      var context: CausalContext?
      (head.stored, head.storedID, head.storedTime, head.storedPart) = (limit, id, atLimit, 0)
      if head.applied >= limit {
        (head.merged, head.mergedID, head.mergedTime) = (limit, id, atLimit)
        (head.applied, head.appliedRows) = (limit, 0)
        head.waiting = 0
        context = try self.context(author, through: limit)
      } else {
        head.waiting = try transaction.log.size(above: head.merged, through: limit, of: author, in: zone.id)
      }
      try transaction.catalog.heads.save(head, context: context, zone.id)
      try transaction.forgetNames(of: author, zone: zone.id)
    }
    transaction.catalog.forgetNamed()
    try transaction.forgetUnusedTables()
    try setBackClock()
  }

  /// Sets the clock back to the remaining times. If a device reverts change sets that it signed ahead of time, it uses
  /// the actual time again.
  private func setBackClock() throws {
    let times = try transaction.catalog.heads.all(zone.id).map {
      $0.isInsideUnit && $0.storedTime <= zone.clock.last ? $0.storedTime : $0.mergedTime
    }
    zone.clock = HybridClock(last: min(zone.clock.last, times.max() ?? .zero))
  }

  private func context(_ author: Int64, through limit: UInt64) throws -> CausalContext {
    var context = CausalContext()
    guard limit > 0 else { return context }
    for number in 1...limit {
      if let difference = try log.body(author, number)?.context { try context.advance(by: difference) }
    }
    return context
  }
}

extension RecordState {
  /// The time of the last write.
  fileprivate var last: HybridTime { max(life?.time ?? .zero, cells.values.map(\.stamp.time).max() ?? .zero) }
}
