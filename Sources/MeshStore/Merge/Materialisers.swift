import GRDB
import MeshCore

/// The materialisers of all zones in one access. If two zones have a record for one row, the zone that comes first
/// shows it, provided that its references are valid. The other records are held as a whole.
final class Materialisers {
  /// The materialiser of the zone that the access concerns. It owns this object.
  private unowned let first: Materialiser
  private var rest: [Int64: Materialiser] = [:]

  init(_ first: Materialiser) { self.first = first }

  /// Returns the materialiser of a zone, or nil if there is no such zone.
  func of(_ zone: Int64) throws -> Materialiser? {
    if zone == first.records.zone.id { return first }
    if let known = rest[zone] { return known }
    guard let row = try first.transaction.counters.read(id: zone) else { return nil }
    let made = try Materialiser(
      ZoneRecords(first.transaction, zone: row), first.progress, refused: first.refused, flushing: first.flushing,
      others: self)
    rest[zone] = made
    return made
  }

  /// Settles one record of any zone. Returns false if none is left.
  func settleNext() throws -> Bool {
    if try first.settleNext() { return true }
    for zone in rest.keys.sorted() where try rest[zone]?.settleNext() ?? false { return true }
    return false
  }

  /// Notes for all zones except the first that records' hashes may have edits that are not flushed yet. The flush does
  /// it for the first zone.
  func noteAhead() throws {
    guard first.progress == .flushedPart else { return }
    for materialiser in rest.values { try materialiser.records.noteAhead() }
  }

  /// Frees the row for a record that comes before the one that shows it. Returns false if it doesn't come before.
  func take(_ ref: RecordRef, from rival: Int64, _ claimant: Materialiser) throws -> Bool {
    guard try first.transaction.catalog.zones().precedes(claimant.records.zone.id, rival) else { return false }
    try of(rival)?.giveUp(ref, isOver: false)
    return true
  }

  /// Returns the first zone whose record waits for the row. A record that has moved and is about to leave its zone
  /// doesn't wait: the row is the moved record's.
  ///
  /// - Parameter zone: A zone to leave out, because its record moves away.
  func heir(_ ref: RecordRef, besides zone: Int64 = 0) throws -> Materialiser? {
    let zones = try first.transaction.catalog.zones()
    let rivals = try first.transaction.recordRows.zones(of: ref, .rival, besides: zone)
    if rivals.isEmpty { return nil }
    let left = try departures.get()[ref] ?? []
    return try rivals.filter { !left.contains($0) }.min(by: zones.precedes).flatMap(of)
  }

  /// The zones that records are about to leave. Computed on first use.
  private lazy var departures = Result {
    try Dictionary(grouping: first.transaction.pending.departures(), by: \.ref).mapValues { Set($0.map(\.zone)) }
  }
}

extension Materialiser {
  /// Returns whether another zone's record shows the row.
  func isOthers(_ ref: RecordRef) throws -> Bool {
    try others != nil && transaction.occupant(ref, besides: records.zone.id) != nil
  }

  /// Keeps the record's values, and leaves its row to another zone's record, which overwrites it.
  ///
  /// - Parameters:
  ///   - isOver: True if the row already has the other record's values, or stays as it is.
  ///   - former: The record's values in columns in which the row has others.
  func yield(_ ref: RecordRef, isOver: Bool, former: [Int64: Value] = [:]) throws {
    guard let record = try records.load(ref), record.isShown else { return }
    var held = record
    if !isOver, let table = transaction.catalog.table(ref.table) {
      held.extra = try displaced(ref, record, table)
    } else {
      held.extra = try records.values(ref, record)
      for (column, value) in record.shown where record.extra[column] == nil { held.extra[column] = value }
      held.extra = held.extra.filter { !$0.value.isUnread }.merging(former) { $1 }
    }
    held.shown = [:]
    held.held = .slotTaken
    try records.save(ref, held, replacing: record)
  }

  /// Yields the row, and withdraws the records that belong to it.
  func giveUp(_ ref: RecordRef, isOver: Bool) throws {
    try yield(ref, isOver: isOver)
    if let table = transaction.catalog.table(ref.table) { try leave(ref, table) }
  }

  /// Handles a row for which the zone no longer has a record to show. The next zone's record takes it, or the row is
  /// deleted. Does nothing if another zone's record already has it.
  func vacate(_ ref: RecordRef, _ table: TableForm) throws {
    guard try !isOthers(ref) else { return }
    guard let heir = try others?.heir(ref) else { return try rows.deleteRow(table, ref.key) }
    try heir.takeOver(ref, table)
  }

  fileprivate func takeOver(_ ref: RecordRef, _ table: TableForm) throws {
    guard let record = try records.load(ref), record.held == .slotTaken else { return }
    guard let shown = try records.shows(table, ref.key, record.extra) else {
      try rows.deleteRow(table, ref.key)
      return try place(ref, try records.state(ref, record), replacing: record, changed: nil)
    }
    var free = record
    (free.held, free.heldSince) = (nil, nil)
    free.extra = table.unseen(record.extra)
    free.shown = shown.assets
    try records.save(ref, free, replacing: record)
    if !table.references.isEmpty { check(ref) }
    try appear(ref)
  }

  /// Handles a record that moved here from another zone, with its row unchanged.
  func arrive(_ arrival: FlushPlan.Arrival) throws {
    let (ref, state, zone) = (arrival.ref, arrival.state, arrival.zone)
    let left = try others?.of(zone)
    let source = try left?.records.load(ref)
    try left?.yield(ref, isOver: true, former: arrival.former)
    let old = try records.load(ref)
    // The former zone may have kept the row from a zone that comes before this one.
    if let first = try others?.heir(ref, besides: zone), let table = transaction.catalog.table(ref.table),
      try transaction.catalog.zones().precedes(first.records.zone.id, records.zone.id)
    {
      try stopWaiting(ref)
      var record = try records.pack(ref, state, previous: old)
      record.extra = state.cells.mapValues(\.value)
      record.held = .slotTaken
      try records.save(ref, record, replacing: old)
      return try first.takeOver(ref, table)
    }
    guard let table = transaction.catalog.table(ref.table), old?.isAlive != true,
      let shown = try records.shows(table, ref.key, state.cells.mapValues(\.value), as: source)
    else { return try place(ref, state, replacing: old, changed: nil) }
    var record = try records.pack(ref, state, previous: old)
    record.extra = table.unseen(state.cells.mapValues(\.value)).merging(shown.missing) { $1 }
    record.shown = shown.assets
    if let source, source.isRefused {
      record.heldSince = source.heldSince
      try note(ref, .editRefused, transaction.held.note(of: ref, in: zone)?.message ?? "")
    }
    try records.save(ref, record, replacing: old)
    if !table.references.isEmpty { check(ref) }
    try appear(ref)
  }

  /// Takes over a row that a program wrote in this zone. Another zone's record that had it keeps its values.
  func claim(_ ref: RecordRef) throws {
    guard let others, let rival = try transaction.occupant(ref, besides: records.zone.id) else { return }
    try others.of(rival)?.giveUp(ref, isOver: true)
  }
}
