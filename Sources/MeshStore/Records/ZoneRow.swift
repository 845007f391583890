import MeshCore

/// One row of `mesh_zone`. It is read at the start of an access, and saved before its commit.
struct ZoneRow: Equatable {
  let id: Int64
  let zone: ZoneID
  /// The instance that local writes get.
  var instance: InstanceID?
  var clock: HybridClock
  var digestLow: UInt64
  var digestHigh: UInt64
  var live: Int64
  var nextPosition: Int64
  var flushPart: UInt64
  var flushSynced: UInt64
  var flushPlanned: UInt64
  var flushValues: UInt64
  var flushClock: HybridTime
  var runLast: Int64
  var runRows: Int64
  var ahead: Int64

  private static let columns = """
    id, instance, clock, digest_low, digest_high, live, next_position, flush_part, flush_synced, flush_planned, flush_values, \
    flush_clock, run_last, run_rows, ahead
    """

  /// Reads the row, or returns nil if this file has never met the zone.
  static func read(_ zone: ZoneID, _ sql: Connection) throws -> ZoneRow? {
    try sql.first("SELECT \(columns) FROM mesh_zone WHERE zone = ?", [.blob(zone.bytes)]) { read(zone, $0) }
  }

  static func read(id: Int64, _ sql: Connection) throws -> ZoneRow? {
    let zone = try sql.first("SELECT zone FROM mesh_zone WHERE id = ?", [.integer(id)]) { ZoneID($0.bytes(0)) }
    return try zone.flatMap { $0 }.flatMap { try read($0, sql) }
  }

  private static func read(_ zone: ZoneID, _ row: Statement) -> ZoneRow {
    ZoneRow(
      id: row.integer(0), zone: zone, instance: row.optional(1).map { InstanceID(UInt64(bitPattern: $0)) },
      clock: HybridClock(last: HybridTime(row.bits(2))),
      digestLow: row.bits(3), digestHigh: row.bits(4), live: row.integer(5), nextPosition: row.integer(6),
      flushPart: row.bits(7), flushSynced: row.bits(8), flushPlanned: row.bits(9), flushValues: row.bits(10),
      flushClock: HybridTime(row.bits(11)), runLast: row.integer(12), runRows: row.integer(13), ahead: row.integer(14)
    )
  }

  /// Reads the row, or creates it if this file has never met the zone.
  static func obtain(_ zone: ZoneID, _ sql: Connection) throws -> ZoneRow {
    if let known = try read(zone, sql) { return known }
    try sql.run("INSERT INTO mesh_zone (zone) VALUES (?)", [.blob(zone.bytes)])
    guard let made = try read(zone, sql) else {
      throw StoreError(.statementFailed, "mesh_zone did not take a row; restore the file from a copy")
    }
    return made
  }

  func save(_ sql: Connection) throws {
    try sql.run(
      """
      UPDATE mesh_zone SET instance = ?, clock = ?, digest_low = ?, digest_high = ?, live = ?, next_position = ?,
        flush_part = ?, flush_synced = ?, flush_planned = ?, flush_values = ?, flush_clock = ?, run_last = ?, run_rows = ?, ahead = ?
      WHERE id = ?
      """,
      [
        .optional(instance.map { Int64(bitPattern: $0.value) }), .bits(clock.last.value), .bits(digestLow),
        .bits(digestHigh), .integer(live),
        .integer(nextPosition), .bits(flushPart), .bits(flushSynced), .bits(flushPlanned), .bits(flushValues),
        .bits(flushClock.value),
        .integer(runLast), .integer(runRows), .integer(ahead), .integer(id),
      ])
  }
}
