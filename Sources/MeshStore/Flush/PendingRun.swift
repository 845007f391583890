import MeshCore

/// A stretch of the pending log that is too long for one part, sorted by record. Tables come in the order of their
/// first notes, so that parents mostly come before children. Within a table, rows are sorted by key.
///
/// Keys are random in most apps. In the order of writing, each part would touch nearly every page of `mesh_record` and
/// of the key's index, here and on every node that merges it. In the order of keys, it touches a few pages.
///
/// `mesh_zone` stores the end of the run and how far it is flushed. The order is computed from the log, whose rows stay
/// until the run is done, so a crash costs only the sorting. The order doesn't depend on the schema, which may change
/// meanwhile. Two spellings of one key may end up apart, which means the same as edits that are noted apart in the log.
final class PendingRun {
  private let sql: Connection
  /// The last row of the run that is sorted.
  private var sortedThrough: Int64?
  /// The `mesh_zone.id` of the zone whose run it is.
  private var sortedFor: Int64 = 0

  private var pending: PendingTable { PendingTable(sql: sql) }

  init(_ sql: Connection) { self.sql = sql }

  /// Begins a run at the oldest row of the log. Call it in a write transaction.
  ///
  /// - Parameter filter: The `mesh_zone.id` of the zone whose rows to take, or 0 for all rows.
  func begin(_ zone: ZoneCounters, filter: Int64) throws {
    try end(zone)
    guard let first = try pending.first(filter) else { return }
    sql.probe?(.runBegun)
    zone.runLast = min(try pending.last(), first + StoreLimits.runRows - 1)
  }

  func end(_ zone: ZoneCounters) throws {
    if sortedThrough != nil { try pending.clearRun() }
    sortedThrough = nil
    zone.runLast = 0
    zone.runRows = 0
  }

  /// Ends all runs, because rows were taken from the log out of turn. The rest is sorted again. Rows that were handled
  /// already lead to the same changes again.
  func endAll(_ counters: TransactionCounters) throws {
    sortedThrough = nil
    let zones = try counters.withRun()
    if !zones.isEmpty { sql.probe?(.runEndedByRouting) }
    for zone in zones { (zone.runLast, zone.runRows) = (0, 0) }
  }

  /// Sorts the run. Call it before the run is read, and outside of the write lock.
  func sort(_ zone: ZoneCounters, filter: Int64) throws {
    guard zone.runLast > 0, sortedThrough != zone.runLast || sortedFor != zone.id else { return }
    sortedThrough = nil
    try pending.sortRun(through: zone.runLast, filter)
    (sortedThrough, sortedFor) = (zone.runLast, zone.id)
  }
}
