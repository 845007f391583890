public import MeshCore

// MARK: - Zones that this device has no part in any more

extension Store {
  public func keepCopy(of zone: ZoneID) throws {
    try write { session in
      let row = try ZoneRow.obtain(zone, session.sql)
      try session.sql.run("UPDATE mesh_zone SET keep_copy = 1 WHERE id = ?", [.integer(row.id)])
      session.catalog.forgetZones()
    }
  }

  public func keepsCopy(of zone: ZoneID) throws -> Bool {
    try read { try $0.sql.exists("SELECT 1 FROM mesh_zone WHERE zone = ? AND keep_copy", [.blob(zone.bytes)]) }
  }

  public func dropZone(_ zone: ZoneID, keepingCopy: Bool, now: Int64) throws -> Bool {
    try writeRefusing { session, refused in
      guard var row = try ZoneRow.read(zone, session.sql) else { return false }
      let isKept = try session.sql.exists("SELECT 1 FROM mesh_zone WHERE id = ? AND keep_copy", [.integer(row.id)])
      let keepingCopy = keepingCopy || isKept
      try session.dropPending(row.id, keepingCopy: keepingCopy)
      return try session.applying { try session.dropRecords(&row, keepingCopy: keepingCopy, refused, now: now) }
        || session.dropLog(&row)
    }
  }
}

extension Session {
  /// Deletes the pending rows of the zone. If the zone is kept as a copy, they become part of the copy.
  fileprivate func dropPending(_ zone: Int64, keepingCopy: Bool) throws {
    guard try sql.exists("SELECT 1 FROM mesh_pending WHERE abs(zone) = ?", [.integer(zone)]) else { return }
    if keepingCopy {
      // The rows belong to the private zone once the records are gone.
      try sql.run(
        "DELETE FROM mesh_pending WHERE abs(zone) = ? AND op IN (\(PendingSlice.Op.depart), \(PendingSlice.Op.arrive))",
        [.integer(zone)])
      try sql.run("UPDATE mesh_pending SET zone = NULL WHERE zone = ?", [.integer(zone)])
    } else {
      try sql.run("DELETE FROM mesh_pending WHERE abs(zone) = ?", [.integer(zone)])
    }
    try run.endAll()
  }

  /// Removes a slice of the zone's records. Returns false if there are none.
  fileprivate func dropRecords(
    _ row: inout ZoneRow, keepingCopy: Bool, _ refused: [RecordRef: String], now: Int64
  ) throws -> Bool {
    let refs = try sql.all(
      "SELECT tbl, key FROM mesh_record WHERE zone = ? LIMIT \(Choices.slice)", [.integer(row.id)]
    ) { RecordRef(table: $0.integer(0), key: $0.value(1)) }
    guard !refs.isEmpty else { return false }
    let records = ZoneRecords(self, zone: row)
    let materialiser = try Materialiser(records, progress(), refused: refused)
    // The records now belong to the private zone, although the records that they refer to are not removed yet.
    let own = try catalog.zones().privateZone
    for ref in refs {
      guard let old = try records.load(ref) else { continue }
      try materialiser.stopWaiting(ref)
      try records.remove(ref, old)
      guard old.isShown, let table = catalog.table(ref.table) else { continue }
      if keepingCopy {
        reached(.copyKept)
        try sql.run(
          """
          INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
          VALUES (?, 0, ?, \(PendingSlice.Op.insert), 0, 0, ?, ?)
          """, [.integer(ref.table), ref.key, .integer(now), own.map { .integer($0) } ?? .null])
      } else {
        try receiptForLocal(ref, table, old, materialiser, now: now)
        try materialiser.vacate(ref, table)
        try materialiser.leave(ref, table)
      }
    }
    try materialiser.settle()
    row = records.zone
    try row.save(sql)
    return true
  }

  /// Keeps the values of a row that nobody else has. A receipt outlives its zone.
  private func receiptForLocal(
    _ ref: RecordRef, _ table: TableForm, _ old: StoredRecord, _ materialiser: Materialiser, now: Int64
  ) throws {
    let local = try materialiser.local(ref, table, old)
    guard !local.isEmpty else { return }
    var room = StoreLimits.assetInMemory
    let row = try row(ref, &room) ?? [:]
    try noteReceipt(ref, row.filter { local[$0.key] != nil }, zone: materialiser.records.zone.id, .cut, now: now)
  }

  /// Removes a slice of the change log, and then the remaining data. The control log stays. Returns false when all is
  /// removed.
  fileprivate func dropLog(_ row: inout ZoneRow) throws -> Bool {
    let zone = [Value.integer(row.id)]
    if try log.removeSlice(of: row.id) { return true }
    try sql.run("DELETE FROM mesh_named WHERE zone = ?", zone)
    try conflicts.removeAll(of: row.id)
    try held.removeAll(of: row.id)
    try work.removeAll(of: row.id)
    try control.removeAcknowledgements(of: row.id)
    try catalog.heads.remove(row.id)
    try forgetKept(of: row.zone)
    // A device that is let in again starts from nothing, and writes as a new instance.
    (row.instance, row.clock, row.nextPosition) = (nil, HybridClock(), 1)
    (row.flushPart, row.flushSynced, row.flushValues, row.runLast, row.runRows, row.ahead) = (0, 0, 0, 0, 0, 0)
    try row.save(sql)
    try sql.run("UPDATE mesh_zone SET root_gone = 0, keep_copy = 0 WHERE id = ?", zone)
    catalog.forgetZones()
    catalog.forgetNamed()
    try forgetUnusedTables()
    return false
  }
}
