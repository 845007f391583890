import MeshCore

/// One author's part of a column that arrived in a zone after the record had moved away, or that was there when others
/// learned of the move. It is listed as a conflict until it continues in the record's new zone.
struct LatePart {
  /// The `mesh_conflict.id`.
  let conflict: Int64
  let column: Int64
  let cell: ZoneRecords.State.Cell
}

extension Session {
  /// Returns the records of which parts are listed as conflicts. There are none if the file has one zone only, because
  /// no record moves then.
  func recordsWithLostParts() throws -> Set<RecordRef> {
    // Most files have no parts, and the search reads every conflict.
    guard try catalog.zones().isRouted,
      try sql.exists("SELECT 1 FROM mesh_column WHERE name LIKE 'mesh\\_%' ESCAPE '\\' LIMIT 1")
    else { return [] }
    return try conflicts.recordsWithLostParts()
  }

  /// Returns the lost parts of a record that belong to the life that it has in the zone.
  ///
  /// A record keeps its birth's stamp when it moves, and the zone that it leaves deletes it with the stamp right after
  /// that one. This tells a zone that it left from one in which somebody deleted it. A part that was lost in the present
  /// zone belongs to this life if the record has been away and the part is later than its birth.
  func lateParts(_ ref: RecordRef, in records: ZoneRecords) throws -> [LatePart] {
    guard let record = try records.load(ref), record.isAlive,
      let life = try records.state(ref, record).life
    else { return [] }
    let others = try sql.all(
      "SELECT zone FROM mesh_record WHERE tbl = ? AND key = ? AND zone <> ? AND NOT generation & 1",
      [.integer(ref.table), ref.key, .integer(records.zone.id)]
    ) { $0.integer(0) }
    let left = try others.filter { id in
      guard let zone = try ZoneRow.read(id: id, sql) else { return false }
      let other = ZoneRecords(self, zone: zone)
      return try other.load(ref).flatMap { try other.state(ref, $0).life }?.time == life.time.next
    }
    guard !left.isEmpty else { return [] }
    let lost = try conflicts.lost(of: ref).map { lost in
      let cell = ZoneRecords.State.Cell(stamp: try stamp(lost.stamp), value: lost.value)
      return (zone: lost.zone, part: LatePart(conflict: lost.id, column: lost.column, cell: cell))
    }
    return try lost.filter { zone, late in
      guard late.column != ZoneRecords.wholeRecord, let part = try catalog.part(late.column) else { return false }
      // In another zone, a device continues only what its author counted itself.
      guard part.author == late.cell.stamp.author else { return false }
      return left.contains(zone) || zone == records.zone.id && life < late.cell.stamp
    }.map(\.part)
  }

  /// Makes the lost parts of a record continue in the zone in which the record is now. The next flush sends them.
  func continueLateParts(_ ref: RecordRef) throws {
    let zones = try catalog.zones()
    let shown = try occupant(ref)
    let alive = try sql.all(
      "SELECT zone FROM mesh_record WHERE tbl = ? AND key = ? AND generation & 1", [.integer(ref.table), ref.key]
    ) { $0.integer(0) }
    let others = alive.filter { $0 != shown }.sorted(by: zones.precedes)
    for id in alive.filter({ $0 == shown }) + others where zones.mayWrite(id) {
      guard let zone = try ZoneRow.read(id: id, sql),
        try !lateParts(ref, in: ZoneRecords(self, zone: zone)).isEmpty
      else { continue }
      try sql.run(
        """
        INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
        SELECT ?1, 0, ?2, \(PendingSlice.Op.arrive), ?3, 0, 0, ?3 WHERE NOT EXISTS (
          SELECT 1 FROM mesh_pending WHERE tbl = ?1 AND key = ?2 AND op = \(PendingSlice.Op.arrive) AND zone = ?3)
        """, [.integer(ref.table), ref.key, .integer(id)])
      return
    }
  }
}
