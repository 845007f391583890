public import MeshCore

// MARK: - Zones that this device has no part in any more

extension Store {
  public func keepCopy(of zone: ZoneID) throws {
    try write { session in
      let row = try ZoneRow.obtain(zone, session.sql)
      try session.sql.run("UPDATE mesh_zone SET keep_copy = 1 WHERE id = ?", [.integer(row.id)])
    }
  }

  public func keepUndelivered(
    _ zone: ZoneID, beyond numbers: [Author: UInt64], _ reader: ChangeSetReader, now: Int64
  ) throws -> Bool {
    try write { session in
      guard let row = try ZoneRow.read(zone, session.sql), try !session.keepsCopy(row.id) else { return false }
      for (author, number) in numbers.sorted(by: { $0.key < $1.key }) {
        guard let author = try session.catalog.knownAuthor(author),
          let next = try session.nextMerged(row.id, author, after: number)
        else { continue }
        try session.keep(next, author, row, reader, now: now)
        return true
      }
      return false
    }
  }

  public func dropZone(_ zone: ZoneID, keepingCopy: Bool, now: Int64) throws -> Bool {
    try writeRefusing { session, refused in
      guard var row = try ZoneRow.read(zone, session.sql) else { return false }
      let keepingCopy = try keepingCopy || session.keepsCopy(row.id)
      try session.dropPending(row.id, keepingCopy: keepingCopy)
      return try session.applying { try session.dropRecords(&row, keepingCopy: keepingCopy, refused, now: now) }
        || session.dropLog(&row)
    }
  }
}

extension Session {
  fileprivate func keepsCopy(_ zone: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_zone WHERE id = ? AND keep_copy", [.integer(zone)])
  }

  /// The author's next change set that has a place in the order of merging, which it loses once it is dealt with.
  fileprivate func nextMerged(_ zone: Int64, _ author: Int64, after number: UInt64) throws -> UInt64? {
    try sql.integer(
      "SELECT min(number) FROM mesh_order WHERE zone = ? AND author = ? AND number > ?",
      [.integer(zone), .integer(author), .bits(number)]
    ).map { UInt64(bitPattern: $0) }
  }

  /// Notes what a change set says and nothing has beaten.
  fileprivate func keep(_ number: UInt64, _ author: Int64, _ row: ZoneRow, _ reader: ChangeSetReader, now: Int64) throws
  {
    let records = ZoneRecords(self, zone: row)
    let log = LogReader(session: self, zone: row.id, reader: reader)
    let long = try log.longValues(author, number)
    try log.forEachRow(author, number) { ref, change, columns, _ in
      guard let record = try records.load(ref), record.generation == change.generation else { return }
      guard record.isAlive else { return try noteReceipt(ref, nil, zone: row.id, .undelivered, now: now) }
      let stamps = Dictionary(
        try records.columns(record.stamps).map { ($0.column, $0.stamp) }, uniquingKeysWith: { first, _ in first })
      var values: [Int64: Value] = [:]
      for field in change.fields {
        let column = columns[field.column]
        guard try stamps[column] == records.local(field.stamp ?? change.stamp) else { continue }
        values[column] = try long.value(of: field.value)
      }
      if !values.isEmpty { try noteReceipt(ref, values, zone: row.id, .undelivered, now: now) }
    }
    try sql.run(
      "DELETE FROM mesh_order WHERE zone = ? AND author = ? AND number = ?",
      [.integer(row.id), .integer(author), .bits(number)])
  }

  /// What was written since concerns nobody; of a copy it is part.
  fileprivate func dropPending(_ zone: Int64, keepingCopy: Bool) throws {
    guard try sql.exists("SELECT 1 FROM mesh_pending WHERE abs(zone) = ?", [.integer(zone)]) else { return }
    if keepingCopy {
      // They are the private zone's once the records are gone.
      try sql.run(
        "DELETE FROM mesh_pending WHERE abs(zone) = ? AND op IN (\(PendingSlice.Op.depart), \(PendingSlice.Op.arrive))",
        [.integer(zone)])
      try sql.run("UPDATE mesh_pending SET zone = NULL WHERE zone = ?", [.integer(zone)])
    } else {
      try sql.run("DELETE FROM mesh_pending WHERE abs(zone) = ?", [.integer(zone)])
    }
    try run.endAll()
  }

  /// A slice of the zone's records; false where there are none.
  fileprivate func dropRecords(
    _ row: inout ZoneRow, keepingCopy: Bool, _ refused: [RecordRef: String], now: Int64
  ) throws -> Bool {
    let refs = try sql.all(
      "SELECT tbl, key FROM mesh_record WHERE zone = ? LIMIT \(Choices.slice)", [.integer(row.id)]
    ) { RecordRef(table: $0.integer(0), key: $0.value(1)) }
    guard !refs.isEmpty else { return false }
    let records = ZoneRecords(self, zone: row)
    let materialiser = try Materialiser(records, progress(), refused: refused)
    for ref in refs {
      guard let old = try records.load(ref) else { continue }
      try materialiser.stopWaiting(ref)
      try records.remove(ref, old)
      guard old.isShown, let table = catalog.table(ref.table) else { continue }
      if keepingCopy {
        try sql.run(
          "INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall) VALUES (?, 0, ?, \(PendingSlice.Op.insert), 0, 0, ?)",
          [.integer(ref.table), ref.key, .integer(now)])
      } else {
        try materialiser.vacate(ref, table)
        try materialiser.leave(ref, table)
      }
    }
    try materialiser.settle()
    row = records.zone
    try row.save(sql)
    return true
  }

  /// A slice of the change log, then what is left; the control log stays. False where all is gone.
  fileprivate func dropLog(_ row: inout ZoneRow) throws -> Bool {
    let zone = [Value.integer(row.id)]
    try sql.run(
      "DELETE FROM mesh_log WHERE id IN (SELECT id FROM mesh_log WHERE zone = ? LIMIT \(Choices.slice))", zone)
    if try sql.exists("SELECT 1 FROM mesh_log WHERE zone = ?", zone) { return true }
    for table in [
      "mesh_order", "mesh_head", "mesh_conflict", "mesh_wait", "mesh_held", "mesh_show", "mesh_recall", "mesh_rewrite",
      "mesh_ack",
    ] {
      try sql.run("DELETE FROM \(table) WHERE zone = ?", zone)
    }
    // Whoever is let in again begins from nothing, and writes as a new instance.
    (row.instance, row.clock, row.nextPosition) = (nil, HybridClock(), 1)
    (row.flushPart, row.flushSynced, row.flushValues, row.runLast, row.runRows, row.ahead) = (0, 0, 0, 0, 0, 0)
    try row.save(sql)
    try sql.run("UPDATE mesh_zone SET root_gone = 0, keep_copy = 0 WHERE id = ?", zone)
    catalog.forgetZones()
    return false
  }
}
