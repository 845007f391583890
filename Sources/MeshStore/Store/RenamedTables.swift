import GRDB
public import MeshCore

// Handles tables that were renamed here, or by other devices while they have their former name in this file.

extension Store {
  /// Gives the tables of this file the names that trusted devices gave them. It does nothing else: call `untrack` for
  /// the former names afterwards, and `adopt`.
  ///
  /// - Parameter trusts: Returns whether the renamings of a device are also made here.
  /// - Returns: The former names.
  public func renameTables(
    _ descriptions: [SchemaDescription], trusts: (DeviceID) -> Bool = { _ in true }
  ) throws -> [String] {
    try write { session in
      let trusted = try session.tablesOfOthers(trusts)
      return try descriptions.compactMap { description in
        guard let former = try session.formerName(description, trusted) else { return nil }
        try session.db.execute(sql: session.renaming(former, to: description.name))
        return former
      }
    }
  }

  /// Throws if a table has the root of a share. A share names the table and the key of its root record, so its table
  /// keeps its name.
  func requireNoRoots(in tables: [String]) throws {
    let going = Set(tables.map(\.folded))
    let reasons = try read { session in
      try session.lostRoots().filter { going.contains($0.table.folded) }.map(\.mustStay)
    }
    guard reasons.isEmpty else { throw StoreError(.schemaRefused, reasons: reasons) }
  }
}

extension Session {
  func renaming(_ former: String, to name: String) -> String {
    "ALTER TABLE main.\(former.quotedName) RENAME TO \(name.quotedName)"
  }

  /// Returns the names of the tables that each trusted device has.
  func tablesOfOthers(_ trusts: (DeviceID) -> Bool) throws -> [Set<FoldedName>] {
    Dictionary(grouping: try foreignDescriptions(trusts: trusts).filter { trusts($0.device) }, by: \.device)
      .values.map { Set($0.map(\.table.name.folded)) }
  }

  /// Returns the synchronized table of this file that trusted devices have under the described name. It is nil if there
  /// is none, or more than one.
  ///
  /// A device that renames a table writes each record again under the new name, with the same life and stamps. Some
  /// records are enough to find out.
  ///
  /// - Parameter trusted: The names of the tables that each trusted device has.
  func formerName(_ description: SchemaDescription, _ trusted: [Set<FoldedName>]) throws -> String? {
    guard try TableSchema.kind(db, description.name) == nil, let new = catalog.knownTable(description.name) else {
      return nil
    }
    let others = trusted.filter { $0.contains(description.name.folded) }
    let candidates = catalog.allTables.filter { table in
      // A device that has both didn't rename one to the other.
      others.contains { !$0.contains(table.schema.name.folded) }
        && !others.contains { $0.contains(table.schema.name.folded) }
    }
    guard !candidates.isEmpty else { return nil }
    let records = try someRecords(of: new)
    let found = try candidates.filter { try isRenaming(records, of: $0.id) }
    return found.count == 1 ? found[0].schema.name : nil
  }

  /// Returns the names that a table had on other devices, between the former name here and the current one. No device
  /// has such a table any more, and this one never had.
  func namesBetween(_ former: Int64, _ new: Int64) throws -> [Int64] {
    let described = Set(try foreignDescriptions(trusts: { _ in false }).map(\.table.name.folded))
    // A member may have written to many tables that no device has.
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

  /// Returns whether one of the records was written again under another table's name. Then it has the life of a record
  /// of that table, and each of its values. One transaction may have written equal keys into two tables, and their
  /// values distinguish them.
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

  /// Returns a record's state by the names of its columns, because each table numbers its own.
  private func named(_ state: ZoneRecords.State) throws -> (life: Stamp?, cells: [[UInt8]: ZoneRecords.State.Cell]) {
    let cells = try state.cells.map { (try catalog.column($0.key).folded, $0.value) }
    return (state.life, Dictionary(cells, uniquingKeysWith: { first, _ in first }))
  }
}

// MARK: - Tables that were renamed here

extension Session {
  /// Returns whether a table was renamed here, so that its former name isn't missing.
  func isFormerName(_ table: String) throws -> Bool {
    try sql.exists(
      """
      SELECT 1 FROM mesh_table WHERE name = ? AND tracked = 0
        AND (successor IS NOT NULL OR id IN (SELECT origin FROM mesh_table WHERE origin IS NOT NULL))
      """, [.text(table)])
  }

  /// Keeps the records of a table that was synchronized under another name, with their stamps and deletes, so that each
  /// device that renames it writes the same. This excludes shares that this device may not write.
  func adoptRecords(for table: TrackedTable) throws {
    let former = try sql.integer(
      "SELECT id FROM mesh_table WHERE successor = ? COLLATE NOCASE AND schema_row IS NULL", [.text(table.name)])
    guard let former, former != table.id, let schema = table.schema, let key = schema.keyColumn else { return }
    try requireWritable(former, table)
    let live = "FROM mesh_record WHERE tbl = ? AND generation & 1"
    let all = try sql.integer("SELECT count(*) \(live)", [.integer(former)]) ?? 0
    let missing = try sql.integer(
      """
      SELECT count(*) \(live) AND NOT EXISTS (
        SELECT 1 FROM main.\(schema.name.quotedName) AS t WHERE t.\(key.name.quotedName) = mesh_record.key)
      """, [.integer(former)])
    let isSame = try sql.exists(
      """
      SELECT 1 FROM mesh_table JOIN main.sqlite_schema s ON s.rowid = successor_row
      WHERE mesh_table.id = ? AND s.type = 'table' AND s.name = ? COLLATE NOCASE
      """, [.integer(former), .text(table.name)])
    // If a table was created again under the name, its missing rows are not deletes.
    let isComplete = isSame || (missing ?? 0) * 2 <= all
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
      SELECT ?1, 0, key, \(PendingSlice.Op.adopt), ?2, ?3, 0, zone FROM mesh_record r
      WHERE tbl = ?2 AND zone IN (\(ZoneBook.writable)) AND \(Self.isNotElsewhere)
      """, [.integer(table.id), .integer(former), .integer(isComplete ? 1 : 0)])
    try sql.run("UPDATE mesh_table SET successor = NULL WHERE id = ?", [.integer(former)])
    var origin = former
    for name in try namesBetween(former, table.id) {
      try sql.run("UPDATE mesh_table SET origin = ? WHERE id = ?", [.integer(origin), .integer(name)])
      origin = name
    }
    try sql.run("UPDATE mesh_table SET origin = ? WHERE id = ?", [.integer(origin), .integer(table.id)])
    try PolicyTable.follow(db, (catalog.tableName(former), nil), to: (table.name, nil))
    try policiesChanged()
  }

  /// The condition on `mesh_record` as `r` that the record has not moved to another zone. A record that has moved says
  /// nothing about the row.
  private static let isNotElsewhere = """
    (generation & 1 OR NOT EXISTS (
      SELECT 1 FROM mesh_record o WHERE o.tbl = r.tbl AND o.key = r.key AND o.zone <> r.zone AND o.generation & 1))
    """

  /// Returns the root records of open shares whose tables are not in the file under their names.
  fileprivate func lostRoots() throws -> [RecordName] {
    try catalog.zones().entries.values.filter(\.isOpen).compactMap(\.root).filter {
      try TableSchema.kind(db, $0.table) == nil && catalog.knownTable($0.table) != nil
    }.sorted()
  }

  /// Throws if the table has a root record. Under another name, that record and everything that refers to it would be
  /// private.
  func requireNoRoot(in table: TrackedTable) throws {
    guard let schema = table.schema, let key = schema.keyColumn else { return }
    let root = try lostRoots().first { root in
      try sql.exists("SELECT 1 FROM main.\(schema.name.quotedName) WHERE \(key.name.quotedName) = ?", [root.key])
    }
    if let root { throw StoreError(.schemaRefused, reasons: ["\(table.name): \(root.mustStay)"]) }
  }

  /// Throws if records of a read-only share would remain, because no device accepts them under another name from this
  /// device. They continue if the share's owner renamed the table.
  private func requireWritable(_ former: Int64, _ table: TrackedTable) throws {
    let remain = try sql.exists(
      """
      SELECT 1 FROM mesh_record r WHERE tbl = ?1 AND generation & 1
        AND zone IN (SELECT id FROM mesh_zone WHERE role = \(ZoneStanding.Role.readOnly.rawValue))
        AND NOT EXISTS (SELECT 1 FROM mesh_record n WHERE n.tbl = ?2 AND n.key = r.key AND n.zone = r.zone)
      """, [.integer(former), .integer(table.id)])
    guard remain else { return }
    let name = try catalog.tableName(former)
    throw StoreError(
      .schemaRefused,
      reasons: [
        "\(table.name): it was \(name), and has rows of a share that is read-only here, which stay \(name) for the others; rename "
          + "it back: ALTER TABLE \(table.name.quotedName) RENAME TO \(name.quotedName)"
      ])
  }

  /// Continues, in this table, the values that arrived under the table's former name while neither was synchronized. A
  /// former name that is a table again isn't continued.
  func followFormerTable(of table: TrackedTable) throws {
    try sql.run("UPDATE mesh_table SET origin = NULL WHERE origin = ?", [.integer(table.id)])
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
      SELECT ?1, 0, key, \(PendingSlice.Op.adopt), tbl, \(PendingSlice.adoptedBefore), 0, zone FROM mesh_record r
      WHERE tbl = (SELECT origin FROM mesh_table WHERE id = ?1)
        AND zone IN (\(ZoneBook.writable)) AND \(Self.isNotElsewhere)
        AND NOT EXISTS (SELECT 1 FROM mesh_pending WHERE tbl = ?1 AND op = \(PendingSlice.Op.adopt))
      """, [.integer(table.id)])
  }
}

extension RecordName {
  fileprivate var mustStay: String {
    "a share is made of the row \(key.literal) of \(table); give the table that name again, or end the share before (mesh share stop, or "
      + "mesh share leave)"
  }
}
