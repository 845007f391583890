import MeshCore

/// The counters of one zone in one transaction. Everything in the transaction that reads or changes them has this one
/// object, and the transaction's end saves it. Don't keep it for another transaction.
@dynamicMemberLookup
final class ZoneCounters {
  /// The counters as the file has them.
  private let saved: ZoneRow
  private(set) var row: ZoneRow

  var id: Int64 { row.id }
  var zone: ZoneID { row.zone }
  var hasChanged: Bool { row != saved }

  fileprivate init(_ row: ZoneRow) { (saved, self.row) = (row, row) }

  subscript<Counter>(dynamicMember path: WritableKeyPath<ZoneRow, Counter>) -> Counter {
    get { row[keyPath: path] }
    set { row[keyPath: path] = newValue }
  }
}

/// The counters of the zones that a transaction has read, one copy for each zone.
///
/// A rollback drops them with the transaction. Savepoints only undo writes to tables of apps, which change no counters.
final class TransactionCounters {
  private let table: ZoneTable
  /// The counters by `mesh_zone.id`.
  private var known: [Int64: ZoneCounters] = [:]
  private var ids: [ZoneID: Int64] = [:]

  init(_ sql: Connection) { table = ZoneTable(sql: sql) }

  /// Returns the zone's counters, or nil if this file has never met the zone.
  func read(_ zone: ZoneID) throws -> ZoneCounters? {
    if let id = ids[zone] { return known[id] }
    return try table.zoneRow(of: zone).map(counters)
  }

  /// - Parameter id: The `mesh_zone.id`.
  func read(id: Int64) throws -> ZoneCounters? {
    try known[id] ?? table.zoneRow(id: id).map(counters)
  }

  /// Returns the zone's counters. Creates them if this file has never met the zone.
  func obtain(_ zone: ZoneID) throws -> ZoneCounters {
    try read(zone) ?? counters(table.obtainRow(of: zone))
  }

  /// Returns the counters of the zones that have a run.
  func withRun() throws -> [ZoneCounters] {
    for row in try table.rowsWithRun() { _ = counters(row) }
    return known.values.filter { $0.runLast > 0 }
  }

  /// Notes that no record's hash has edits that are not flushed yet.
  func endAhead() throws {
    for row in try table.rowsAhead() { _ = counters(row) }
    for zone in known.values { zone.ahead = 0 }
  }

  /// Writes the counters that have changed. Call it once, at the end of a transaction that commits.
  func saveChanged() throws {
    for (_, zone) in known.sorted(by: { $0.key < $1.key }) where zone.hasChanged { try table.saveRow(zone.row) }
  }

  /// Returns the transaction's copy of a zone's counters. The row counts only if there is no copy yet.
  private func counters(_ row: ZoneRow) -> ZoneCounters {
    if let known = known[row.id] { return known }
    let counters = ZoneCounters(row)
    (known[row.id], ids[row.zone]) = (counters, row.id)
    return counters
  }
}
