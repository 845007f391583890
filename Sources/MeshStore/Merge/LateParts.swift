import MeshCore

/// One author's part of a column that arrived in a zone after the record had moved away, or that was there when others
/// learned of the move. It is listed as a conflict until it continues in the record's new zone.
struct LatePart {
  /// The `mesh_conflict.id`.
  let conflict: Int64
  let column: Int64
  let cell: ZoneRecords.State.Cell
}

extension Transaction {
  /// Returns the records of which parts are listed as conflicts. There are none if the file has one zone only, because
  /// no record moves then.
  func recordsWithLostParts() throws -> Set<RecordRef> {
    // Most files have no parts, and the search reads every conflict.
    guard try catalog.zones().isRouted,
      try names.hasParts()
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
    let left = try recordRows.zones(of: ref, .deleted, besides: records.zone.id).filter { id in
      guard let zone = try counters.read(id: id) else { return false }
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
    let alive = try recordRows.zones(of: ref, .alive)
    let others = alive.filter { $0 != shown }.sorted(by: zones.precedes)
    for id in alive.filter({ $0 == shown }) + others where zones.mayWrite(id) {
      guard let zone = try counters.read(id: id),
        try !lateParts(ref, in: ZoneRecords(self, zone: zone)).isEmpty
      else { continue }
      try pending.noteArrival(ref, within: id)
      return
    }
  }
}
