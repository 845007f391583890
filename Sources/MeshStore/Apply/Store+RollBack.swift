import MeshCore

/// Local writes to zones that this device may not write: the triggers keep programs from them, but for those that had begun before
/// the permission went, or that took the triggers away.
extension Store {
  /// Makes a slice of them what is merged, and keeps what was written as receipts.
  func rollBack(_ reader: (ZoneID) throws -> ChangeSetReader, now: Int64) throws {
    try writeRefusing { session, refused in
      try session.applying { try session.rollBackSlice(reader, refused, now: now) }
    }
  }
}

extension Session {
  fileprivate func rollBackSlice(
    _ reader: (ZoneID) throws -> ChangeSetReader, _ refused: [RecordRef: String], now: Int64
  ) throws {
    let rows = try sql.all("\(Self.forbidden) ORDER BY id LIMIT \(Choices.slice)", []) {
      (id: $0.integer(0), table: $0.integer(1), key: $0.value(2), zone: $0.integer(3))
    }
    var written: [RecordRef: Int64] = [:]
    for row in rows {
      try sql.run("DELETE FROM mesh_pending WHERE id = ?", [.integer(row.id)])
      guard let table = catalog.table(row.table) else { continue }
      written[RecordRef(table: row.table, key: table.form.canonical(row.key))] = row.zone
    }
    try run.endAll()
    var merged: [Int64: [RecordRef]] = [:]
    for (ref, zone) in written.sorted(by: { ($0.key.table, $0.key.key) < ($1.key.table, $1.key.key) }) {
      guard let table = catalog.table(ref.table) else { continue }
      let row = try sql.first(table.select, [ref.key]) { row in table.columns.indices.map { row.value($0) } }
      let values = row.map { row in
        Dictionary(zip(table.columns.map(\.id), row), uniquingKeysWith: { first, _ in first })
      }
      try noteReceipt(ref, values, zone: zone, .notPermitted, now: now)
      if let owner = try occupant(ref) { merged[owner, default: []].append(ref) } else { try remove(ref, table) }
    }
    for (zone, refs) in merged.sorted(by: { $0.key < $1.key }) {
      guard let row = try ZoneRow.read(id: zone, sql) else { continue }
      // The rows were the only place of the merged values: they come back from the log.
      try Cutter(self, row, try reader(row.zone), [:]).restate(refs, refused, [:], now: now)
    }
  }

  /// A row that nobody has merged.
  private func remove(_ ref: RecordRef, _ table: TableForm) throws {
    guard let zone = try catalog.zones().privateZone.flatMap({ try ZoneRow.read(id: $0, sql) }) else { return }
    let materialiser = try Materialiser(ZoneRecords(self, zone: zone), progress())
    try materialiser.deleteRow(table, ref.key)
    try materialiser.leave(ref, table)
    try materialiser.settle()
  }
}
