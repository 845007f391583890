import GRDB
public import MeshCore

// Tables that other devices renamed, and that have their former name in this file.

extension Store {
  /// Gives the tables of this file the names that trusted devices gave them. Nothing else is done: to be followed by `untrack` of
  /// the former names, and by `adopt`.
  ///
  /// - Parameter trusts: Whose renamings are made here, too.
  /// - Returns: The former names.
  public func renameTables(
    _ descriptions: [SchemaDescription], trusts: (DeviceID) -> Bool = { _ in true }
  ) throws -> [String] {
    try write { session in
      try descriptions.compactMap { description in
        guard let former = try session.formerName(description, trusts) else { return nil }
        try session.db.execute(sql: session.renaming(former, to: description.name))
        return former
      }
    }
  }
}

extension Session {
  func renaming(_ former: String, to name: String) -> String {
    "ALTER TABLE main.\(former.quotedName) RENAME TO \(name.quotedName)"
  }

  /// The synchronized table of this file that trusted devices have under the described name; nil if there is none, or more than one.
  ///
  /// A device that renames a table writes each record again under the new name, with the life and the stamps that it has. Some
  /// records tell.
  func formerName(_ description: SchemaDescription, _ trusts: (DeviceID) -> Bool) throws -> String? {
    guard try TableSchema.kind(db, description.name) == nil, let new = catalog.knownTable(description.name) else {
      return nil
    }
    let others = Dictionary(
      grouping: try foreignDescriptions(trusts: trusts).filter { trusts($0.device) }, by: \.device
    ).values.map { Set($0.map(\.table.name.folded)) }.filter { $0.contains(description.name.folded) }
    let candidates = catalog.allTables.filter { table in
      // A device that has both did not rename one to the other.
      others.contains { !$0.contains(table.schema.name.folded) }
        && !others.contains { $0.contains(table.schema.name.folded) }
    }
    guard !candidates.isEmpty else { return nil }
    let records = try sql.all(
      """
      SELECT zone, key FROM mesh_record WHERE tbl = ? AND generation & 1 LIMIT \(StoreLimits.recordsThatTell)
      """, [.integer(new)]
    ) { (zone: $0.integer(0), ref: RecordRef(table: new, key: $0.value(1))) }
    var found: Set<Int64> = []
    for (zone, ref) in records {
      guard let zone = try ZoneRow.read(id: zone, sql) else { continue }
      let zoneRecords = ZoneRecords(self, zone: zone)
      guard let record = try zoneRecords.load(ref) else { continue }
      let renamed = try named(zoneRecords.state(ref, record))
      for table in candidates {
        let formerRef = RecordRef(table: table.id, key: ref.key)
        guard let former = try zoneRecords.load(formerRef), former.isAlive else { continue }
        let state = try named(zoneRecords.state(formerRef, former))
        // One transaction may have written equal keys into two tables. Its values tell them apart.
        if state.life == renamed.life, !state.cells.isEmpty, state.cells.values.contains(where: { $0.value != .null }),
          state.cells.allSatisfy({ renamed.cells[$0.key] == $0.value })
        {
          found.insert(table.id)
        }
      }
    }
    return found.count == 1 ? candidates.first { found.contains($0.id) }?.schema.name : nil
  }

  /// A record's state by the names of its columns, since each table numbers its own.
  private func named(_ state: ZoneRecords.State) throws -> (life: Stamp?, cells: [[UInt8]: ZoneRecords.State.Cell]) {
    let cells = try state.cells.map { (try catalog.column($0.key).folded, $0.value) }
    return (state.life, Dictionary(cells, uniquingKeysWith: { first, _ in first }))
  }
}
