import GRDB
import MeshCore

/// The synchronized tables.
package struct StoreTables: StorePart {
  let access: StoreAccess
  let capture: StoreCapture

  /// Validates the tables, begins to capture them, and imports their rows.
  ///
  /// Imported rows get the import stamp, which loses against every real edit. They are imported slice by slice through
  /// the pending log. After a crash, the next call of `takeIn` continues. The next calls of `apply` show records that
  /// were held because the table was unknown.
  ///
  /// - Parameters:
  ///   - privateTables: More tables, which are never part of a share.
  ///   - shareableTables: More tables, whose rows may be shared although the tables were private before. Other tables
  ///     that were private stay so.
  ///   - integerKeys: True if equal integer keys of two machines may be one record.
  /// - Throws: `StoreError` (`schemaRefused`) with every reason of every table. A table whose key identifies other
  ///   records than on other devices of this account is refused too.
  /// - Returns: The tables, in the given order.
  @discardableResult
  package func track(
    tables: [String], private privateTables: [String] = [], shareable shareableTables: [String] = [],
    integerKeys: Bool = false, now: Int64
  ) throws -> [Summary] {
    let readded = try read { try ReaddedColumns.find($0) }
    let installed = try write {
      try TableInstaller(transaction: $0).install(
        tables, private: privateTables, shareable: shareableTables, integerKeys: integerKeys, readded: readded,
        trusts: isOfThisAccount)
    }
    try capture.takeIn(now: now)
    return try read { transaction in try installed.map(TableInstaller(transaction: transaction).summary) }
  }

  /// Ends the synchronization of a table, whose rows stay in it. The merged values are kept, and arriving changes are
  /// held until the table is synchronized again. Call it when nothing is pending.
  ///
  /// - Throws: `StoreError` (`schemaRefused`) if a table that stays refers to one that goes. `PendingWrites` if programs
  ///   have written to a table since the last flush. Flush, and call again.
  package func untrack(_ tables: [String]) throws {
    // The fate of the tables must be noted, because triggers may tell of a new name.
    let readded = try read { try ReaddedColumns.find($0) }
    _ = try write { try SchemaChange(transaction: $0).note(readded) }
    try requireNoReferences(to: tables)
    try requireNoRoots(in: tables)
    let ids = try read { transaction in
      try tables.map { name in
        guard let table = try TrackedTable.read(transaction.db, name: name) else { throw StoreError.unknownTable(name) }
        return table.id
      }
    }
    for id in ids { while try write({ try $0.keepValues(of: id, besidesPending: true) }) {} }
    // All of them at once, so that a call that is refused can be repeated.
    try write { transaction in
      // A write that isn't flushed would be taken for a value that the mesh has.
      guard try !ids.contains(where: { try transaction.pending.has(in: $0) }) else { throw PendingWrites() }
      for (id, name) in zip(ids, tables) {
        while try transaction.keepValues(of: id) {}
        _ = try Capture.remove(transaction.db, table: name)
      }
      try transaction.updatePermissions()
    }
  }

  private func requireNoReferences(to tables: [String]) throws {
    let going = Set(tables.map(\.folded))
    let reasons = try read { transaction in
      try TrackedTable.all(transaction.db).filter { !going.contains($0.name.folded) }.flatMap { table in
        (table.schema?.foreignKeys ?? []).filter { going.contains($0.parent.folded) }.map {
          "\($0.parent): \(table.name) refers to it and stays synchronized; untrack \(table.name) as well"
        }
      }
    }
    guard reasons.isEmpty else { throw StoreError(.schemaRefused, reasons: reasons) }
  }

  /// Throws if a table has the root of a share. A share names the table and the key of its root record, so its table
  /// keeps its name.
  private func requireNoRoots(in tables: [String]) throws {
    let going = Set(tables.map(\.folded))
    let reasons = try read { transaction in
      try TableRenaming(transaction: transaction).lostRoots().filter { going.contains($0.table.folded) }.map(\.mustStay)
    }
    guard reasons.isEmpty else { throw StoreError(.schemaRefused, reasons: reasons) }
  }

  package func isTracked(_ table: String) throws -> Bool {
    try read { try TrackedTable.read($0.db, name: table) != nil }
  }

  /// Returns whether the file has a table of this name that a program created.
  package func hasTable(_ name: String) throws -> Bool {
    try !SchemaDescription.isReserved(name) && read { try TableSchema.kind($0.db, name)?.kind == .table }
  }

  /// Returns whether this file has or had a synchronized table.
  package func wereEverTracked() throws -> Bool {
    try read { try $0.tableList.all().contains(where: \.wasHere) }
  }

  /// Returns whether programs have created tables in the file, and none is synchronized.
  package func areAllUntracked() throws -> Bool {
    try read { transaction in
      guard try TrackedTable.all(transaction.db).isEmpty else { return false }
      return try transaction.sql.exists(
        """
        SELECT 1 FROM main.sqlite_schema
        WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'mesh\\_%' ESCAPE '\\'
        """)
    }
  }

  /// Returns the synchronized tables.
  package func list() throws -> [Summary] {
    try read { transaction in
      try TrackedTable.all(transaction.db).map(TableInstaller(transaction: transaction).summary)
    }
  }

  package struct Summary: Hashable, Sendable {
    package let name: String
    package let isPrivate: Bool
    /// Whether its records can be in a share. Then it isn't private, has only one foreign key, and the table that this
    /// key refers to can also be shared.
    package let isShareable: Bool
    package let allowsIntegerKeys: Bool
    /// False if the file currently has no such table.
    package let isHere: Bool
    /// The number of rows that are currently in the table.
    package let rows: Int
  }
}

/// Begins to capture tables, and summarizes them.
struct TableInstaller: InTransaction {
  let transaction: Transaction

  /// Begins to capture the tables, and requests the import of their rows.
  ///
  /// - Parameter trusts: Returns whether a device's description of a table decides which key the table must have.
  func install(
    _ tables: [String], private privateTables: [String], shareable shareableTables: [String] = [], integerKeys: Bool,
    readded: ReaddedColumns? = nil, trusts: (DeviceID) -> Bool
  ) throws -> [TrackedTable] {
    try requireKeysOfOthers(tables + privateTables + shareableTables, private: privateTables, trusts)
    // The fate of the other tables must be noted.
    _ = try SchemaChange(transaction: transaction).note(readded)
    let renaming = TableRenaming(transaction: transaction)
    for table in tables + privateTables + shareableTables { try renaming.noteFormerName(table) }
    let before = Set(try TrackedTable.all(db).map(\.id))
    let known = try tableList.known().mapValues { $0 ? TableSlice.again : TableSlice.anew }
    let installed = try Capture.install(
      db, tables: tables, private: privateTables, shareable: shareableTables, integerKeys: integerKeys)
    for table in installed where !before.contains(table.id) {
      try renaming.requireNoRoot(in: table)
      try work.request(.takeIn, table.id, layout: known[table.id] ?? 0)
      if let layout = table.layout { try assets.awaitAll(of: catalog.layout(layout), in: table.id) }
      try renaming.adoptRecords(for: table)
      try renaming.followFormerTable(of: table)
    }
    // The tables may contain records of a share that is read-only here, as soon as they are shown.
    try transaction.updatePermissions()
    try work.requestShow()
    return installed
  }

  /// Throws if another device synchronizes one of the tables with a key that identifies other records. The reasons of
  /// the rules come with it, except the advice to accept integer keys.
  private func requireKeysOfOthers(
    _ names: [String], private privateTables: [String], _ trusts: (DeviceID) -> Bool
  ) throws {
    let others = try ForeignSchemas(transaction: transaction).list(trusts: trusts).filter { trusts($0.device) }
    let found = try names.compactMap { name -> TrackingRules.Violation? in
      let described = others.map(\.table).filter { $0.name.folded == name.folded }
      // If the others disagree already, the key of one of them is no worse.
      guard try TrackedTable.read(db, name: name) == nil, let here = try TableSchema.read(db, name)?.travelling,
        let other = described.first, described.allSatisfy({ $0.hasOtherKeys(than: here) })
      else { return nil }
      return TrackingRules.Violation(table: here.name, text: other.needsItsKey(in: here))
    }
    guard !found.isEmpty else { return }
    let broken = try TrackingRules.violations(db, tables: names, private: privateTables, integerKeys: true)
    throw StoreError(.schemaRefused, reasons: (found + broken).map(\.description))
  }

  func summary(_ table: TrackedTable) throws -> StoreTables.Summary {
    var rows: Int64 = 0
    if let schema = table.schema { rows = try sql.integer("SELECT count(*) FROM main.\(schema.name.quotedName)") ?? 0 }
    return StoreTables.Summary(
      name: table.name, isPrivate: table.isPrivate, isShareable: isShareable(table.id),
      allowsIntegerKeys: table.allowsIntegerKeys, isHere: table.schema != nil, rows: Int(rows))
  }

  private func isShareable(_ id: Int64) -> Bool {
    var (next, seen): (TableForm?, Set<Int64>) = (catalog.table(id), [])
    while let table = next, !table.isPrivate, seen.insert(table.id).inserted {
      if table.schema.foreignKeys.isEmpty { return true }
      next = table.parent.flatMap { catalog.table($0.parent) }
    }
    return false
  }
}

extension Transaction {
  /// Moves a slice of a table's merged values to the tables of mesh. Returns false if none is left.
  ///
  /// - Parameter besidesPending: True to leave out the records of a slice that have pending writes.
  fileprivate func keepValues(of table: Int64, besidesPending: Bool = false) throws -> Bool {
    let rows = try recordRows.some(of: table, onlyShown: true, limit: Choices.slice).filter {
      try !besidesPending || !pending.has($0.ref)
    }
    for (zone, ref) in rows {
      guard let zone = try counters.read(id: zone) else { continue }
      let records = ZoneRecords(self, zone: zone)
      guard let old = try records.load(ref) else { continue }
      let form = catalog.table(table)
      let row = try form.flatMap { form in try records.row(form, ref.key).map { records.named($0, old, form) } }
      var kept = old
      kept.extra = try records.values(ref, old)
      kept.held = .untracked
      var base = kept.extra
      for column in old.extra.keys {
        let index = form?.indexes[column]
        base[column] = index.map { row?[$0] ?? base[column] ?? .null } ?? .null
      }
      kept.noteBase(base)
      try records.save(ref, kept, replacing: old)
    }
    return !rows.isEmpty
  }
}
