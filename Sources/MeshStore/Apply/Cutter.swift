import MeshCore

/// Takes back what authors wrote above a number: the records that it touched are computed again from the log without it,
/// which is what a node has that never merged it. The log above the limit goes last, so that a crash starts over.
struct Cutter {
  typealias State = ZoneRecords.State

  let session: Session
  let zone: ZoneRow
  let log: LogReader
  /// By the author's number in this file: never inside a unit, which nobody merges in part.
  let limits: [Int64: UInt64]

  init(_ session: Session, _ zone: ZoneRow, _ reader: ChangeSetReader, _ limits: [Author: UInt64]) throws {
    self.session = session
    self.zone = zone
    self.log = LogReader(session: session, zone: zone.id, reader: reader)
    var numbers: [Int64: UInt64] = [:]
    for (author, said) in limits.sorted(by: { $0.key < $1.key }) {
      let number = try session.catalog.authorNumber(author)
      // Whoever ends an author may name any number; those of change sets that are here are numbers of SQLite's.
      let limit = min(said, UInt64(Int64.max) - 1)
      numbers[number] = try Self.unitEnd(session, zone.id, number, limit)
    }
    self.limits = numbers
  }

  private static func unitEnd(_ session: Session, _ zone: Int64, _ author: Int64, _ limit: UInt64) throws -> UInt64 {
    guard try session.catalog.heads.of(author, zone).stored > limit else { return limit }
    let end = try session.sql.integer(
      "SELECT max(number) FROM mesh_log WHERE zone = ? AND author = ? AND number <= ? AND final = 1",
      [.integer(zone), .integer(author), .bits(limit)])
    return UInt64(bitPattern: end ?? 0)
  }

  /// Where cuts end authors that are not done yet.
  static func begun(_ session: Session, _ zone: ZoneRow) throws -> [Author: UInt64] {
    var limits: [Author: UInt64] = [:]
    for head in try session.catalog.heads.all(zone.id) {
      if let cut = head.cut { limits[try session.catalog.author(head.author)] = cut }
    }
    return limits
  }

  /// Begins: whoever comes after a crash goes on with it. Returns the records that change sets above the limits touched.
  func mark() throws -> [RecordRef] {
    for (author, limit) in limits {
      var head = try session.catalog.heads.of(author, zone.id)
      guard head.stored > limit || head.applied > limit else { continue }
      head.cut = limit
      try session.catalog.heads.save(head, zone.id)
    }
    return try touched()
  }

  /// The records that change sets above the limits touched, in order.
  func touched() throws -> [RecordRef] {
    var touched: Set<RecordRef> = []
    try forEachRefused { author, number in
      try log.forEachRow(author, number) { ref, _, _, _ in touched.insert(ref) }
    }
    return touched.sorted { ($0.table, $0.key) < ($1.table, $1.key) }
  }

  /// The change sets above the limits. A unit that is merged in part is beyond `merged`, and has touched records all the same.
  private func forEachRefused(_ visit: (_ author: Int64, _ number: UInt64) throws -> Void) throws {
    for (author, limit) in limits.sorted(by: { $0.key < $1.key }) {
      let head = try session.catalog.heads.of(author, zone.id)
      let last = head.applied + (head.appliedRows > 0 ? 1 : 0)
      guard last > limit else { continue }
      for number in limit + 1...last { try visit(author, number) }
    }
  }

  /// What the log says of some records.
  struct Replay {
    /// What is left of them without what is above the limits.
    var states: [RecordRef: State] = [:]
    /// What those said above the limits who get receipts.
    var taken: [RecordRef: State] = [:]
    var movers: [RecordRef: Author] = [:]
  }

  /// Reads all of the log.
  func replay(_ refs: [RecordRef], _ aftermath: [Author: Aftermath]) throws -> Replay {
    let wanted = Set(refs)
    return Replay(
      states: try rest(wanted), taken: try takenBack(wanted, aftermath.filter { $0.value == .receipt }),
      movers: try aftermath.isEmpty ? [:] : movers(wanted))
  }

  private func rest(_ wanted: Set<RecordRef>) throws -> [RecordRef: State] {
    var states: [RecordRef: State] = [:]
    for head in try session.catalog.heads.all(zone.id) {
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

  /// Gives the records the state that the rest of the log makes.
  func restate(
    _ refs: [RecordRef], _ replay: Replay, _ refused: [RecordRef: String], _ aftermath: [Author: Aftermath], now: Int64
  ) throws {
    let records = ZoneRecords(session, zone: zone)
    let materialiser = try Materialiser(records, session.progress(), refused: refused)
    let receipts = aftermath.filter { $0.value == .receipt }
    let others = aftermath.filter { $0.value != .receipt }
    for ref in refs {
      guard let old = try records.load(ref) else { continue }
      let after = replay.states[ref] ?? State()
      // What is written again needs its bytes again.
      if !aftermath.isEmpty, old.isShown, !old.shown.isEmpty, let table = session.catalog.table(ref.table) {
        try materialiser.keep(old.shown, from: ref, table)
      }
      if !others.isEmpty {
        let lost = TakenBackValues(ref, from: try records.state(ref, old), to: after)
        try lost.keep(records, others, mover: replay.movers[ref], now: now)
      }
      if let state = replay.taken[ref] {
        var before = after
        before.merge(state)
        try TakenBackValues(ref, from: before, to: after).keep(records, receipts, mover: replay.movers[ref], now: now)
      }
      if let state = replay.states[ref], state.generation > 0 {
        try materialiser.place(ref, state, replacing: old, changed: nil)
      } else {
        try forget(ref, old, records, materialiser)
      }
    }
    try materialiser.settle()
    try records.zone.save(session.sql)
  }

  /// What those said above the limits who get receipts. What others had beaten it with may be taken back as well.
  private func takenBack(_ wanted: Set<RecordRef>, _ receipts: [Author: Aftermath]) throws -> [RecordRef: State] {
    var states: [RecordRef: State] = [:]
    try forEachRefused { author, number in
      guard try receipts[session.catalog.author(author)] != nil else { return }
      let long = try log.longValues(author, number)
      try log.forEachRow(author, number) { ref, change, columns, _ in
        guard wanted.contains(ref) else { return }
        states[ref, default: State()].merge(try State(change, columns: columns, long))
      }
    }
    return states
  }

  /// Who moved records here from another zone, above the limits: their values have the stamps that they had there.
  private func movers(_ wanted: Set<RecordRef>) throws -> [RecordRef: Author] {
    var movers: [RecordRef: Author] = [:]
    try forEachRefused { author, number in
      let name = try session.catalog.author(author)
      try log.forEachRow(author, number) { ref, change, _, _ in
        if change.isLife, change.generation.isAlive, wanted.contains(ref) { movers[ref] = name }
      }
    }
    return movers
  }

  /// Nobody has born it any more.
  private func forget(
    _ ref: RecordRef, _ old: StoredRecord, _ records: ZoneRecords, _ materialiser: Materialiser
  ) throws {
    try materialiser.stopWaiting(ref)
    try records.remove(ref, old)
    guard old.isShown, let table = session.catalog.table(ref.table) else { return }
    try materialiser.vacate(ref, table)
    try materialiser.leave(ref, table)
  }

  /// Sets the heads back, and drops what is above the limits. Whoever wrote what others refuse keeps it: where they refused it
  /// in vain, they have it no more.
  func finish(_ aftermath: [Author: Aftermath]) throws {
    for (author, limit) in limits {
      var head = try session.catalog.heads.of(author, zone.id)
      if try aftermath[session.catalog.author(author)] == .receipt {
        try LogRow.keepTakenBack(session.sql, zone: zone.id, author: author, above: limit)
      }
      for table in ["mesh_log", "mesh_order"] {
        try session.sql.run(
          "DELETE FROM \(table) WHERE zone = ? AND author = ? AND number > ?",
          [.integer(zone.id), .integer(author), .bits(limit)])
      }
      guard head.stored > limit || head.applied > limit else { continue }
      head.cut = nil
      let id = limit > 0 ? try LogRow.id(session.sql, zone: zone.id, author: author, number: limit) : nil
      let time = try session.sql.integer(
        "SELECT time FROM mesh_log WHERE zone = ? AND author = ? AND number = ?",
        [.integer(zone.id), .integer(author), .bits(limit)])
      let atLimit = HybridTime(UInt64(bitPattern: time ?? 0))
      head.malformed = nil
      var context: CausalContext?
      (head.stored, head.storedID, head.storedTime, head.storedPart) = (limit, id, atLimit, 0)
      if head.applied >= limit {
        (head.merged, head.mergedID, head.mergedTime) = (limit, id, atLimit)
        (head.applied, head.appliedRows) = (limit, 0)
        head.waiting = 0
        context = try self.context(author, through: limit)
      } else {
        head.waiting =
          try session.sql.integer(
            "SELECT sum(size) FROM mesh_log WHERE zone = ? AND author = ? AND number > ?",
            [.integer(zone.id), .integer(author), .bits(head.merged)]) ?? 0
      }
      try session.catalog.heads.save(head, context: context, zone.id)
      try session.forgetNames(of: author, zone: zone.id)
    }
    session.catalog.forgetNamed()
    try session.forgetUnusedTables()
    try setBackClock()
  }

  /// What is gone binds nobody: a device that takes back what it signed ahead of time gives the time as it is again.
  private func setBackClock() throws {
    var zone = zone
    let times = try session.catalog.heads.all(zone.id).map {
      $0.isInsideUnit && $0.storedTime <= zone.clock.last ? $0.storedTime : $0.mergedTime
    }
    zone.clock = HybridClock(last: min(zone.clock.last, times.max() ?? .zero))
    try zone.save(session.sql)
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
