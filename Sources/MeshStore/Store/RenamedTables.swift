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
    let records = try someRecords(of: new)
    let found = try candidates.filter { try isRenaming(records, of: $0.id) }
    return found.count == 1 ? found[0].schema.name : nil
  }

  /// The names that a table had on other devices, between the former one here and its present one. No device has such a table any
  /// more, and this one never had.
  func namesBetween(_ former: Int64, _ new: Int64) throws -> [Int64] {
    let described = Set(try foreignDescriptions(trusts: { _ in false }).map(\.table.name.folded))
    // A member may have written to many tables that nobody has.
    return try sql.all(
      "SELECT id, name FROM mesh_table WHERE tracked = 0 AND layout IS NULL AND origin IS NULL LIMIT \(StoreLimits.recordsThatTell)"
    ) {
      (id: $0.integer(0), name: $0.text(1))
    }.filter { table in
      try table.id != new && !described.contains(table.name.folded) && TableSchema.kind(db, table.name) == nil
        && isRenaming(someRecords(of: table.id), of: former)
    }.map(\.id)
  }

  private func someRecords(of table: Int64) throws -> [(zone: Int64, ref: RecordRef)] {
    try sql.all(
      "SELECT zone, key FROM mesh_record WHERE tbl = ? AND generation & 1 LIMIT \(StoreLimits.recordsThatTell)",
      [.integer(table)]
    ) { (zone: $0.integer(0), ref: RecordRef(table: table, key: $0.value(1))) }
  }

  /// Whether one of the records was written again under another table's name: it has the life of a record of that table, and each of
  /// its values. One transaction may have written equal keys into two tables, and its values tell them apart.
  private func isRenaming(_ records: [(zone: Int64, ref: RecordRef)], of table: Int64) throws -> Bool {
    try records.contains { zone, ref in
      guard let zone = try ZoneRow.read(id: zone, sql) else { return false }
      let zoneRecords = ZoneRecords(self, zone: zone)
      let formerRef = RecordRef(table: table, key: ref.key)
      guard let record = try zoneRecords.load(ref), let former = try zoneRecords.load(formerRef), former.isAlive else {
        return false
      }
      let (renamed, state) = (
        try named(zoneRecords.state(ref, record)), try named(zoneRecords.state(formerRef, former))
      )
      return state.life == renamed.life && state.cells.values.contains { $0.value != .null }
        && state.cells.allSatisfy { renamed.cells[$0.key] == $0.value }
    }
  }

  /// A record's state by the names of its columns, since each table numbers its own.
  private func named(_ state: ZoneRecords.State) throws -> (life: Stamp?, cells: [[UInt8]: ZoneRecords.State.Cell]) {
    let cells = try state.cells.map { (try catalog.column($0.key).folded, $0.value) }
    return (state.life, Dictionary(cells, uniquingKeysWith: { first, _ in first }))
  }
}
