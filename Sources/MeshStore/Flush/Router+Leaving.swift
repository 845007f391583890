import MeshCore

/// A share that is left, since its root was deleted here.
extension Router {
  /// What else was written to the share's records is sent to nobody any more: of rows that did not go with the root it is kept as
  /// receipts. What was moving there stays where it was.
  func giveUp(_ zone: Int64) throws {
    try turnBack(zone)
    var room = StoreLimits.assetInMemory
    while true {
      let slice = try PendingSlice.read(session, .log, zone: zone)
      guard slice.count > 0 else { break }
      for entry in slice.entries {
        guard let values = try written(entry, &room), !values.isEmpty else { continue }
        try session.noteReceipt(entry.ref, values, zone: zone, .cut, now: entry.wall)
      }
      try session.sql.run(
        "DELETE FROM mesh_pending WHERE id IN (SELECT id FROM mesh_pending WHERE zone = ? ORDER BY id LIMIT ?)",
        [.integer(zone), .integer(Int64(slice.count))])
    }
    try session.run.endAll()
  }

  /// But for references that the deletes have set to NULL; nil where the row is gone.
  private func written(_ entry: PendingSlice.Entry, _ room: inout Int) throws -> [Int64: Value]? {
    guard entry.isInserted || !entry.columns.isEmpty, let row = try session.row(entry.ref, &room) else { return nil }
    let references = Set(entry.table.references.map { entry.table.columns[$0.column].id })
    return row.filter { column, value in
      (entry.isInserted || entry.columns[column] != nil) && !(value == .null && references.contains(column))
    }
  }

  /// Rows of records that were to arrive in the zone find another home.
  private func turnBack(_ zone: Int64) throws {
    func rows(_ condition: String) throws -> [(id: Int64, ref: RecordRef)] {
      try session.sql.all(
        "SELECT id, tbl, key FROM mesh_pending WHERE zone = ? AND key IS NOT NULL AND \(condition)", [.integer(zone)]
      ) { row in
        session.catalog.table(row.integer(1)).map {
          (row.integer(0), RecordRef(table: $0.id, key: $0.form.canonical(row.value(2))))
        }
      }.compactMap { $0 }
    }
    let arrivals = try rows("op = \(PendingSlice.Op.arrive)")
    guard !arrivals.isEmpty else { return }
    let refs = Set(arrivals.map(\.ref))
    for row in arrivals { try session.sql.run("DELETE FROM mesh_pending WHERE id = ?", [.integer(row.id)]) }
    for row in try rows("true") where refs.contains(row.ref) {
      try session.sql.run("UPDATE mesh_pending SET zone = NULL WHERE id = ?", [.integer(row.id)])
    }
  }
}
