public import MeshCore

extension Store {
  public func cut(
    _ limits: [Author: UInt64], zone: ZoneID, _ reader: ChangeSetReader, now: Int64
  ) throws {
    let touched = try write { session -> [RecordRef] in
      try requireNothingPending(session)
      let row = try ZoneRow.obtain(zone, session.sql)
      return try Cutter(session, row, reader, limits).mark()
    }
    for start in stride(from: 0, to: touched.count, by: Choices.slice) {
      let slice = Array(touched[start..<min(start + Choices.slice, touched.count)])
      try restate(slice, zone, reader, limits)
    }
    try write { session in
      let row = try ZoneRow.obtain(zone, session.sql)
      try Cutter(session, row, reader, limits).finish()
    }
  }

  /// A pending edit would be mixed with the state that it was not made on.
  private func requireNothingPending(_ session: Session) throws {
    guard try session.hasPending() || !session.isInStep() else { return }
    throw StoreError(.pendingWrites, "rows are pending in \(path); flush them before an author is cut")
  }

  private func restate(
    _ refs: [RecordRef], _ zone: ZoneID, _ reader: ChangeSetReader, _ limits: [Author: UInt64]
  ) throws {
    var refused: [RecordRef: String] = [:]
    while true {
      do {
        return try write { session in
          try requireNothingPending(session)
          let cutter = try Cutter(session, try ZoneRow.obtain(zone, session.sql), reader, limits)
          try session.applying { try cutter.restate(refs, refused) }
        }
      } catch let taken as TakenBack where refused[taken.ref] == nil {
        refused[taken.ref] = taken.message
      }
    }
  }
}

/// Takes back what authors wrote above a number: the records that it touched are computed again from the log without it,
/// which is what a node has that never merged it. The log above the limit goes last, so that a crash starts over.
private struct Cutter {
  typealias State = ZoneRecords.State

  let session: Session
  let zone: ZoneRow
  let log: LogReader
  /// By the author's number in this file.
  let limits: [Int64: UInt64]

  init(_ session: Session, _ zone: ZoneRow, _ reader: ChangeSetReader, _ limits: [Author: UInt64]) throws {
    self.session = session
    self.zone = zone
    self.log = LogReader(session: session, zone: zone.id, reader: reader)
    var numbers: [Int64: UInt64] = [:]
    for (author, limit) in limits { numbers[try session.catalog.authorNumber(author)] = limit }
    self.limits = numbers
  }

  /// Refuses the authors' change sets from now on. Returns the records that those above the limits touched.
  func mark() throws -> [RecordRef] {
    var touched: Set<RecordRef> = []
    for (author, limit) in limits {
      var head = try AuthorHead.read(session.sql, zone: zone.id, author: author)
      head.cut = min(head.cut ?? limit, limit)
      try head.save(session.sql, zone: zone.id)
      // A unit that is merged in part is beyond `merged`, and has touched records all the same.
      for number in numbers(head, above: limit) {
        try log.forEachRow(author, number) { ref, _, _, _ in touched.insert(ref) }
      }
    }
    return touched.sorted { ($0.table, $0.key) < ($1.table, $1.key) }
  }

  private func numbers(_ head: AuthorHead, above limit: UInt64) -> ClosedRange<UInt64> {
    let last = head.applied + (head.appliedRows > 0 ? 1 : 0)
    return last > limit ? limit + 1...last : limit + 1...limit + 1
  }

  /// Gives the records the state that the rest of the log makes.
  func restate(_ refs: [RecordRef], _ refused: [RecordRef: String]) throws {
    let wanted = Set(refs)
    var states: [RecordRef: State] = [:]
    for head in try AuthorHead.all(session.sql, zone: zone.id) {
      let last = min(head.applied + (head.appliedRows > 0 ? 1 : 0), limits[head.author] ?? .max)
      guard last > 0 else { continue }
      for number in 1...last {
        let isPartial = number == head.applied + 1
        try log.forEachRow(head.author, number) { ref, change, columns, index in
          guard wanted.contains(ref), !isPartial || index < head.appliedRows else { return }
          states[ref, default: State()].merge(
            try State(change, columns: columns, log.longValues(head.author, number)))
        }
      }
    }
    let records = ZoneRecords(session, zone: zone)
    let materialiser = try Materialiser(records, refused: refused)
    for ref in refs {
      guard let old = try records.load(ref) else { continue }
      if let state = states[ref], state.generation > 0 {
        try materialiser.place(ref, state, replacing: old, changed: nil)
      } else {
        try forget(ref, old, records, materialiser)
      }
    }
    try materialiser.settle()
    try records.zone.save(session.sql)
  }

  /// Nobody has born it any more.
  private func forget(
    _ ref: RecordRef, _ old: StoredRecord, _ records: ZoneRecords, _ materialiser: Materialiser
  ) throws {
    try materialiser.stopWaiting(ref)
    try records.remove(ref, old)
    guard old.isShown, let table = session.catalog.table(ref.table) else { return }
    try materialiser.deleteRow(table, ref.key)
    try materialiser.leave(ref, table)
  }

  /// Sets the heads back, and drops what is above the limits.
  func finish() throws {
    for (author, limit) in limits {
      var head = try AuthorHead.read(session.sql, zone: zone.id, author: author)
      try session.sql.run(
        "DELETE FROM mesh_log WHERE zone = ? AND author = ? AND number > ?",
        [.integer(zone.id), .integer(author), .bits(limit)])
      guard head.stored > limit || head.applied > limit else { continue }
      let id = limit > 0 ? try LogRow.id(session.sql, zone: zone.id, author: author, number: limit) : nil
      let time = try session.sql.integer(
        "SELECT time FROM mesh_log WHERE zone = ? AND author = ? AND number = ?",
        [.integer(zone.id), .integer(author), .bits(limit)])
      let atLimit = HybridTime(UInt64(bitPattern: time ?? 0))
      head.malformed = nil
      (head.stored, head.storedID, head.storedTime, head.storedPart) = (limit, id, atLimit, 0)
      if head.applied >= limit {
        (head.merged, head.mergedID, head.mergedTime) = (limit, id, atLimit)
        (head.applied, head.appliedRows) = (limit, 0)
        head.waiting = 0
        head.context = try context(author, through: limit)
      } else {
        head.waiting =
          try session.sql.integer(
            "SELECT sum(size) FROM mesh_log WHERE zone = ? AND author = ? AND number > ?",
            [.integer(zone.id), .integer(author), .bits(head.merged)]) ?? 0
      }
      try head.save(session.sql, zone: zone.id)
    }
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
