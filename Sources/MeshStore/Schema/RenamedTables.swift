import GRDB
package import MeshCore

// Handles tables that were renamed here, or by other devices while they have their former name in this file.

extension StoreSchema {
  /// Gives the tables of this file the names that trusted devices gave them. It does nothing else: call `untrack` for
  /// the former names afterwards, and `adopt`.
  ///
  /// - Parameter trusts: Returns whether the renamings of a device are also made here.
  /// - Returns: The former names.
  package func renameTables(
    _ descriptions: [SchemaDescription], trusts: (DeviceID) -> Bool = { _ in true }
  ) throws -> [String] {
    try write { transaction in
      let renaming = TableRenaming(transaction: transaction)
      let trusted = try renaming.tablesOfOthers(trusts)
      return try descriptions.compactMap { description in
        guard let former = try renaming.formerName(description, trusted) else { return nil }
        try transaction.db.execute(sql: renaming.sql(former, to: description.name))
        return former
      }
    }
  }
}

/// Finds tables that were renamed, and lets them continue their records.
struct TableRenaming: InTransaction {
  let transaction: Transaction

  func sql(_ former: String, to name: String) -> String {
    "ALTER TABLE main.\(former.quotedName) RENAME TO \(name.quotedName)"
  }

  /// Returns the names of the tables that each trusted device has.
  func tablesOfOthers(_ trusts: (DeviceID) -> Bool) throws -> [Set<FoldedName>] {
    Dictionary(
      grouping: try ForeignSchemas(transaction: transaction).list(trusts: trusts).filter { trusts($0.device) },
      by: \.device
    )
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
    let described = Set(
      try ForeignSchemas(transaction: transaction).list(trusts: { _ in false }).map(\.table.name.folded))
    // A member may have written to many tables that no device has.
    return try transaction.tableList.neverHere(limit: StoreLimits.recordsThatTell).filter { table in
      try table.id != new && !described.contains(table.name.folded) && TableSchema.kind(db, table.name) == nil
        && isRenaming(someRecords(of: table.id), of: former)
    }.map(\.id)
  }

  private func someRecords(of table: Int64) throws -> [(zone: Int64, ref: RecordRef)] {
    try transaction.recordRows.some(of: table, onlyShown: false, limit: StoreLimits.recordsThatTell)
  }

  /// Returns whether one of the records was written again under another table's name. Then it has the life of a record
  /// of that table, and each of its values. One transaction may have written equal keys into two tables, and their
  /// values distinguish them.
  private func isRenaming(_ records: [(zone: Int64, ref: RecordRef)], of table: Int64) throws -> Bool {
    try records.contains { zone, ref in
      guard let zone = try transaction.counters.read(id: zone) else { return false }
      let zoneRecords = ZoneRecords(transaction, zone: zone)
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

extension TableRenaming {
  /// Notes that a table which is about to be synchronized had another name when it was synchronized before.
  func noteFormerName(_ table: String) throws {
    guard let former = try transaction.tableList.renamedWhileUntracked(to: table) else { return }
    try TableList.noteSuccessor(db, of: former, table)
    try TableList.noteMissing(db, former)
  }

  /// Keeps the records of a table that was synchronized under another name, with their stamps and deletes, so that each
  /// device that renames it writes the same. This excludes shares that this device may not write.
  func adoptRecords(for table: TrackedTable) throws {
    guard let former = try transaction.tableList.former(of: table.name), former != table.id, let schema = table.schema,
      let key = schema.keyColumn
    else { return }
    try requireWritable(former, table)
    let all = try transaction.recordRows.count(.alive, of: former)
    let missing = try transaction.recordRows.countWithoutRow(.alive, of: former, here: (schema.name, key.name))
    // If a table was created again under the name, its missing rows are not deletes.
    let isComplete = try transaction.tableList.isSuccessor(table.name, of: former) || missing * 2 <= all
    try transaction.pending.noteAdoption(by: table.id, of: former, isComplete: isComplete)
    try transaction.tableList.removeSuccessor(of: former)
    var origin = former
    for name in try namesBetween(former, table.id) {
      try transaction.tableList.setOrigin(origin, of: name)
      origin = name
    }
    try transaction.tableList.setOrigin(origin, of: table.id)
    try followColumns(of: former, in: table.id)
    try PolicyTable.follow(db, (catalog.tableName(former), nil), to: (table.name, nil))
    try PolicyChanges(transaction: transaction).apply()
  }

  /// Continues the former names of columns that were renamed under the table's former name. Other devices may have the
  /// table's new name and the column's former one.
  private func followColumns(of former: Int64, in table: Int64) throws {
    let known = try transaction.names.origins(of: table)
    for (column, origin) in try transaction.names.origins(of: former).sorted(by: { $0.key < $1.key }) {
      let (new, old) = (try catalog.column(column).name, try catalog.column(origin).name)
      let (newColumn, oldColumn) = (try catalog.columnNumber(new, of: table), try catalog.columnNumber(old, of: table))
      guard known[newColumn] == nil, !known.values.contains(oldColumn) else { continue }
      try transaction.names.setOrigin(oldColumn, of: newColumn)
    }
    catalog.forget()
  }

  /// Returns the root records of open shares whose tables are not in the file under their names.
  func lostRoots() throws -> [RecordName] {
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
    guard try transaction.recordRows.remains(of: former, besides: table.id) else { return }
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
    try transaction.tableList.removeOrigin(table.id)
    try transaction.pending.noteFormerValues(of: table.id)
  }
}

extension RecordName {
  var mustStay: String {
    "a share is made of the row \(key.literal) of \(table); give the table that name again, or end the share before (mesh share stop, or "
      + "mesh share leave)"
  }
}
