import MeshCore

/// The zones that the file has met, with their counters and this device's standings in them (`mesh_zone`).
struct ZoneTable {
  let sql: Connection

  // MARK: Counters

  private static let select = """
    SELECT id, zone, instance, clock, digest_low, digest_high, live, next_position, flush_part, flush_synced, flush_planned, \
    flush_values, flush_clock, run_last, run_rows, ahead FROM mesh_zone
    """

  private func rows(_ condition: String, _ values: [Value] = []) throws -> [ZoneRow] {
    try sql.all("\(Self.select) WHERE \(condition)", values) { row in
      ZoneID(row.bytes(1)).map { zone in
        ZoneRow(
          id: row.integer(0), zone: zone, instance: row.optional(2).map { InstanceID(UInt64(bitPattern: $0)) },
          clock: HybridClock(last: HybridTime(row.bits(3))),
          digestLow: row.bits(4), digestHigh: row.bits(5), live: row.integer(6), nextPosition: row.integer(7),
          flushPart: row.bits(8), flushSynced: row.bits(9), flushPlanned: row.bits(10), flushValues: row.bits(11),
          flushClock: HybridTime(row.bits(12)), runLast: row.integer(13), runRows: row.integer(14),
          ahead: row.integer(15))
      }
    }.compactMap(\.self)
  }

  /// Returns the zone's row, or nil if this file has never met the zone.
  func zoneRow(of zone: ZoneID) throws -> ZoneRow? { try rows("zone = ?", [.blob(zone.bytes)]).first }

  func zoneRow(id: Int64) throws -> ZoneRow? { try rows("id = ?", [.integer(id)]).first }

  /// Returns the rows of the zones that have a run.
  func rowsWithRun() throws -> [ZoneRow] { try rows("run_last > 0") }

  /// Returns the rows of the zones in which records' hashes may have edits that are not flushed yet.
  func rowsAhead() throws -> [ZoneRow] { try rows("ahead > 0") }

  /// Returns the zone's row. Creates it if this file has never met the zone.
  func obtainRow(of zone: ZoneID) throws -> ZoneRow {
    if let known = try zoneRow(of: zone) { return known }
    try sql.run("INSERT INTO mesh_zone (zone) VALUES (?)", [.blob(zone.bytes)])
    guard let made = try zoneRow(of: zone) else {
      throw StoreError(.statementFailed, "mesh_zone did not take a row; restore the file from a copy")
    }
    return made
  }

  /// Writes the counters. Only `TransactionCounters` calls it.
  func saveRow(_ row: ZoneRow) throws {
    try sql.run(
      """
      UPDATE mesh_zone SET instance = ?, clock = ?, digest_low = ?, digest_high = ?, live = ?, next_position = ?,
        flush_part = ?, flush_synced = ?, flush_planned = ?, flush_values = ?, flush_clock = ?, run_last = ?, run_rows = ?, ahead = ?
      WHERE id = ?
      """,
      [
        .optional(row.instance.map { Int64(bitPattern: $0.value) }), .bits(row.clock.last.value), .bits(row.digestLow),
        .bits(row.digestHigh), .integer(row.live), .integer(row.nextPosition), .bits(row.flushPart),
        .bits(row.flushSynced), .bits(row.flushPlanned), .bits(row.flushValues), .bits(row.flushClock.value),
        .integer(row.runLast), .integer(row.runRows), .integer(row.ahead), .integer(row.id),
      ])
  }

  /// Returns all zones that the file has met.
  func all() throws -> [ZoneID] {
    try sql.all("SELECT zone FROM mesh_zone ORDER BY id") { ZoneID($0.bytes(0)) }.compactMap(\.self)
  }

  /// Returns the number of live records of each zone, as the last transaction left it.
  func liveCounts() throws -> [ZoneID: Int] {
    let counts = try sql.all("SELECT zone, live FROM mesh_zone") { row in
      ZoneID(row.bytes(0)).map { ($0, Int(row.integer(1))) }
    }
    return Dictionary(counts.compactMap(\.self), uniquingKeysWith: { first, _ in first })
  }

  // MARK: Standings

  func entries() throws -> [ZoneBook.Entry] {
    try sql.all(
      "SELECT id, zone, role, root_table, root_key, root_gone, stopped, keep_copy, owner FROM mesh_zone WHERE role IS NOT NULL"
    ) { row in
      ZoneID(row.bytes(1)).flatMap { zone in
        ZoneStanding.Role(rawValue: row.integer(2)).map { role in
          let root = row.isNull(3) ? nil : RecordName(table: row.text(3), key: row.value(4))
          return ZoneBook.Entry(
            id: row.integer(0),
            standing: ZoneStanding(
              zone: zone, role: role, root: root, owner: row.isNull(8) ? nil : AccountID(row.bytes(8)),
              isStopped: row.integer(6) == 1),
            isRootGone: row.integer(5) == 1, keepsCopy: row.integer(7) == 1)
        }
      }
    }.compactMap(\.self)
  }

  /// Replaces all standings.
  func replace(_ standings: [ZoneStanding]) throws {
    try sql.run("UPDATE mesh_zone SET role = NULL, root_table = NULL, root_key = NULL, owner = NULL")
    for standing in standings {
      try sql.run(
        """
        UPDATE mesh_zone SET role = ?1, root_table = ?, root_key = ?, stopped = ?4, root_gone = iif(?4, 0, root_gone),
          keep_copy = keep_copy AND ?1 = \(ZoneStanding.Role.ended.rawValue), owner = ?6 WHERE id = ?5
        """,
        [
          .integer(standing.role.rawValue), standing.root.map { .text($0.table) } ?? .null, standing.root?.key ?? .null,
          .integer(standing.isStopped ? 1 : 0), .integer(try obtainRow(of: standing.zone).id),
          standing.owner.map { .blob($0.bytes) } ?? .null,
        ])
    }
  }

  /// A query for the zones that take no writes.
  static let unwritable =
    "SELECT id FROM mesh_zone WHERE role IN (\(ZoneStanding.Role.readOnly.rawValue), \(ZoneStanding.Role.ended.rawValue))"

  /// A query for the zones that this device may write.
  static let writable = """
    SELECT id FROM mesh_zone WHERE root_table IS NULL
      OR role IN (\(ZoneStanding.Role.owned.rawValue), \(ZoneStanding.Role.readWrite.rawValue)) AND stopped = 0 AND root_gone = 0
    """

  // MARK: Leaving

  /// Notes that a share's root was deleted here.
  func noteRootGone(_ zone: Int64) throws {
    try sql.run("UPDATE mesh_zone SET root_gone = 1 WHERE id = ?", [.integer(zone)])
  }

  func keepCopy(_ zone: Int64) throws {
    try sql.run("UPDATE mesh_zone SET keep_copy = 1 WHERE id = ?", [.integer(zone)])
  }

  func keepsCopy(_ zone: ZoneID) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_zone WHERE zone = ? AND keep_copy", [.blob(zone.bytes)])
  }

  /// Forgets why a zone was left, after it was dropped.
  func endLeaving(_ zone: Int64) throws {
    try sql.run("UPDATE mesh_zone SET root_gone = 0, keep_copy = 0 WHERE id = ?", [.integer(zone)])
  }
}
