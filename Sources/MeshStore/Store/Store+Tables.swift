package import GRDB
public import MeshCore

// MARK: - Which tables are synchronized

extension Store {
  /// Returns every reason that tables can't be synchronized, for a connection of the app. It is empty if there is none.
  package static func violations(
    _ db: Database, tables: [String], private privateTables: [String] = []
  ) throws -> [String] {
    try TrackingRules.violations(db, tables: tables, private: privateTables).map(\.description)
  }

  /// Validates the tables, begins to capture them, and imports their rows.
  ///
  /// Imported rows get the import stamp, which loses against every real edit. They are imported slice by slice through
  /// the pending log. After a crash, the next call of `takeIn` continues. The next calls of `apply` show records that
  /// were held because the table was unknown.
  ///
  /// - Parameters:
  ///   - privateTables: More tables, which are never part of a share.
  ///   - integerKeys: True if equal integer keys of two machines may be one record.
  /// - Throws: `StoreError` (`schemaRefused`) with every reason of every table.
  /// - Returns: The tables, in the given order.
  @discardableResult
  public func track(
    tables: [String], private privateTables: [String] = [], integerKeys: Bool = false, now: Int64
  ) throws -> [TableSummary] {
    let readded = try read { try $0.readdedColumns() }
    let installed = try write {
      try $0.install(tables, private: privateTables, integerKeys: integerKeys, readded: readded)
    }
    try takeIn(now: now)
    return try read { transaction in try installed.map(transaction.summary) }
  }

  /// Ends the synchronization of a table, whose rows stay in it. The merged values are kept, and arriving changes are
  /// held until the table is synchronized again. Call it when nothing is pending.
  ///
  /// - Throws: `StoreError` (`schemaRefused`) if a table that stays refers to one that goes.
  public func untrack(_ tables: [String]) throws {
    // The fate of the tables must be noted, because triggers may tell of a new name.
    let readded = try read { try $0.readdedColumns() }
    _ = try write { try $0.noteSchema(readded) }
    try requireNoReferences(to: tables)
    try requireNoRoots(in: tables)
    for name in tables {
      guard let table = try read({ try TrackedTable.read($0.db, name: name) }) else {
        throw StoreError.unknownTable(name)
      }
      while try keepValues(table.id) {}
      try write { transaction in
        _ = try Capture.remove(transaction.db, table: name)
        try transaction.updatePermissions()
      }
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

  /// Moves a slice of the table's merged values to the tables of mesh. Returns false if none is left.
  private func keepValues(_ table: Int64) throws -> Bool {
    try write { transaction in
      let rows = try transaction.recordRows.some(of: table, onlyShown: true, limit: Choices.slice)
      for (zone, ref) in rows {
        guard let zone = try transaction.zoneRows.read(id: zone) else { continue }
        let records = ZoneRecords(transaction, zone: zone)
        guard let old = try records.load(ref) else { continue }
        let form = transaction.catalog.table(table)
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

  public func isTracked(_ table: String) throws -> Bool {
    try read { try TrackedTable.read($0.db, name: table) != nil }
  }

  /// Returns whether the file has a table of this name that a program created.
  public func hasTable(_ name: String) throws -> Bool {
    try !SchemaDescription.isReserved(name) && read { try TableSchema.kind($0.db, name)?.kind == .table }
  }

  /// Returns the synchronized tables.
  public func tables() throws -> [TableSummary] {
    try read { transaction in
      try TrackedTable.all(transaction.db).map(transaction.summary)
    }
  }

  public struct TableSummary: Hashable, Sendable {
    public let name: String
    public let isPrivate: Bool
    /// Whether its records can be in a share. Then it isn't private, has only one foreign key, and the table that this
    /// key refers to can also be shared.
    public let isShareable: Bool
    public let allowsIntegerKeys: Bool
    /// False if the file currently has no such table.
    public let isHere: Bool
    /// The number of rows that are currently in the table.
    public let rows: Int
  }

  // MARK: Schema of others

  public func schemaDescriptions() throws -> [SchemaDescription] {
    try read { transaction in
      try TrackedTable.all(transaction.db).compactMap { table in
        var description = table.schema?.travelling
        description?.isPrivate = table.isPrivate
        description?.policies = try transaction.policies.own(of: table.name)
        return description
      }
    }
  }

  public func saveForeignSchema(_ descriptions: [SchemaDescription], device: DeviceID, isOwn: Bool) throws -> [String] {
    try write { transaction in
      try transaction.foreignSchemas.removeAll(of: device)
      if !isOwn { try transaction.forgetSchemas(besides: device, owners) }
      for var description in descriptions {
        description.isPrivate = isOwn && description.isPrivate
        try transaction.foreignSchemas.insert(description, of: device)
      }
      let owner = isOwn ? nil : owners.account(certifying: device)
      let hasNew = try descriptions.reduce(false) { hasNew, description in
        guard isOwn || owner != nil else { return hasNew }
        return try description.policies.reduce(hasNew) {
          try transaction.savePolicy($1, of: description.name, by: owner) || $0
        }
      }
      if hasNew { try transaction.policiesChanged() }
      let isPrivate = Set(isOwn ? descriptions.filter(\.isPrivate).map(\.name.folded) : [])
      let tables = try TrackedTable.all(transaction.db).filter {
        !$0.isPrivate && isPrivate.contains($0.name.folded)
      }
      for table in tables {
        try transaction.tableList.setPrivate(table.id)
      }
      if !tables.isEmpty { transaction.catalog.forget() }
      // A column that only this device had may now be on other devices.
      try transaction.updatePermissions()
      return tables.map(\.name)
    }
  }

  /// Returns the descriptions of other devices' tables: one for each name, with the columns of all. The expressions
  /// come from one device.
  ///
  /// - Parameter trusts: Returns whether the expressions of a device are adopted, and whether the device may describe a
  ///   table that is in this file and isn't synchronized. A program may use such a table for something else.
  public func foreignSchemas(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [SchemaDescription] {
    try read { transaction in
      var others: [String: Bool] = [:]
      func isOthers(_ name: String) throws -> Bool {
        if let known = others[name] { return known }
        let found =
          try TrackedTable.read(transaction.db, name: name) == nil && TableSchema.kind(transaction.db, name) != nil
        others[name] = found
        return found
      }
      let all = try transaction.foreignDescriptions(trusts: trusts).filter {
        try trusts($0.device) || !isOthers($0.table.name)
      }
      var merged: [SchemaDescription] = []
      for (_, tables) in Dictionary(grouping: all.map(\.table), by: \.name.folded).sorted(by: { $0.key < $1.key }) {
        // A table with expressions comes first, because its rules are about its own columns.
        let ranked = tables.filter { $0.rules != nil } + tables.filter { $0.rules == nil }
        var table = ranked[0]
        var names = Set(table.columns.map(\.name.folded))
        for next in ranked.dropFirst() { table.addColumns(of: next, besides: &names) }
        merged.append(table)
      }
      return merged
    }
  }

  /// A table or columns that other devices have and this file lacks.
  public struct MissingSchema: Hashable, Sendable {
    public var table: String
    /// Whether the table is here and lacks columns.
    public var exists: Bool
    public var columns: [String]
    /// The table of this file that other devices renamed to this one.
    public var former: String?
    /// The names that other devices gave to columns, by the column of this file's table.
    public var renamed: [String: String] = [:]
    /// The SQL that `adopt` would run.
    public var statements: [String]
    /// The reason that it can't be adopted, or nil if it can.
    public var refusal: String?
    /// The parts that the table will lack, or lacks since it was adopted, with one line for each.
    public var leftOut: [String] = []
  }

  public func missingSchema(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [MissingSchema] {
    let wanted = try foreignSchemas(trusts: trusts)
    return try read { transaction in
      let trusted = try TableRenaming(transaction: transaction).tablesOfOthers(trusts)
      return try wanted.compactMap { try SchemaAdopter(transaction: transaction).missing($0, trusts, trusted) }
    }
  }

  /// Returns the parts of other devices' tables that those of this file lack, because the grammar doesn't have them,
  /// with one line for each.
  public func leftOut(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [String] {
    let others = try foreignSchemas(trusts: trusts)
    return try read { transaction in
      try others.flatMap { table in
        let own = try TableSchema.read(transaction.db, table.name)?.travelling?.rules?.leftOut ?? []
        return (table.rules?.leftOut ?? []).filter { !own.contains($0) }.map { $0.text(table: table.name) }
      }
    }
  }

  /// The result of one transaction of an adoption.
  public struct Adoption: Hashable, Sendable {
    /// The parts of tables that SQLite refused, with one line for each.
    public var leftOut: [String] = []
    /// Whether more columns are missing, so that the method has to be called again.
    public var hasMore = false
  }

  /// Creates the missing tables, adds the missing columns, and synchronizes all tables in one transaction. If one of
  /// the tables is refused, nothing is done. SQLite reads a table's whole text for each added column, so many columns
  /// take several calls, and programs can write in between.
  ///
  /// - Parameter trusts: Returns whether the renamings of a device are also made here.
  @discardableResult
  public func adopt(
    _ descriptions: [SchemaDescription], integerKeys: Bool = false, trusts: (DeviceID) -> Bool = { _ in true },
    now: Int64
  ) throws -> Adoption {
    let keyed = descriptions.contains { $0.columns[$0.key].declaredType.asciiLowercased == "integer" }
    let adoption = try write { transaction in
      var (adoption, room) = (Adoption(), StoreLimits.columnsTogether)
      let descriptions = try descriptions.filter { try !transaction.tableList.isFormerName($0.name) }
      for description in descriptions {
        adoption.leftOut += try SchemaAdopter(transaction: transaction).adopt(description, &room, trusts).map {
          $0.text(table: description.name)
        }
      }
      adoption.hasMore = room < 0
      func names(_ isPrivate: Bool, besides tracked: Set<FoldedName> = []) -> [String] {
        descriptions.filter { $0.isPrivate == isPrivate && !tracked.contains($0.name.folded) }.map(\.name)
      }
      var tracked: Set<FoldedName> = []
      if adoption.hasMore {
        // A synchronized table only gets its triggers, once, as if a program had added the columns.
        try TrackingRules.validate(
          transaction.db, tables: names(false), private: names(true), integerKeys: integerKeys || keyed)
        tracked = Set(try TrackedTable.all(transaction.db).map(\.name.folded))
      }
      _ = try transaction.install(
        names(false, besides: tracked), private: names(true, besides: tracked), integerKeys: integerKeys || keyed)
      return adoption
    }
    try takeIn(now: now)
    return adoption
  }
}

extension SchemaDescription {
  /// Adds the columns of another description. References to existing columns stay unchanged. No more columns are added
  /// than a table can have.
  ///
  /// - Parameter names: The folded names of the existing columns.
  fileprivate mutating func addColumns(of other: SchemaDescription, besides names: inout Set<FoldedName>) {
    isPrivate = isPrivate || other.isPrivate
    let references = Dictionary(grouping: other.foreignKeys, by: \.column)
    for (index, column) in other.columns.enumerated()
    where columns.count < Limits.columns && index != other.key && names.insert(column.name.folded).inserted {
      columns.append(column)
      for reference in references[index] ?? [] where foreignKeys.count < Self.foreignKeyLimit {
        foreignKeys.append(
          ForeignKey(
            column: columns.count - 1, parent: reference.parent, onDelete: reference.onDelete,
            onUpdate: reference.onUpdate))
      }
    }
  }
}

extension Transaction {
  /// Deletes descriptions. For another account, those of a few devices are kept, each at most as long as a message.
  fileprivate func forgetSchemas(besides device: DeviceID, _ accounts: Accounts) throws {
    guard let account = accounts.account(certifying: device) else { return }
    let others = try foreignSchemas.devices().filter { $0 != device && accounts.account(certifying: $0) == account }
    for other in others.sorted().dropFirst(StoreLimits.schemasOfAccount - 1) {
      try foreignSchemas.removeAll(of: other)
    }
  }

  /// Begins to capture the tables, and requests the import of their rows.
  fileprivate func install(
    _ tables: [String], private privateTables: [String], integerKeys: Bool, readded: ReaddedColumns? = nil
  ) throws -> [TrackedTable] {
    // The fate of the other tables must be noted.
    _ = try noteSchema(readded)
    let before = Set(try TrackedTable.all(db).map(\.id))
    let known = try tableList.known().mapValues { $0 ? TableSlice.again : TableSlice.anew }
    let installed = try Capture.install(db, tables: tables, private: privateTables, integerKeys: integerKeys)
    let renaming = TableRenaming(transaction: self)
    for table in installed where !before.contains(table.id) {
      try renaming.requireNoRoot(in: table)
      try work.request(.takeIn, table.id, layout: known[table.id] ?? 0)
      if let layout = table.layout { try assets.awaitAll(of: catalog.layout(layout), in: table.id) }
      try renaming.adoptRecords(for: table)
      try renaming.followFormerTable(of: table)
    }
    // The tables may contain records of a share that is read-only here, as soon as they are shown.
    try updatePermissions()
    try work.requestShow()
    return installed
  }

  fileprivate func summary(_ table: TrackedTable) throws -> Store.TableSummary {
    var rows: Int64 = 0
    if let schema = table.schema { rows = try sql.integer("SELECT count(*) FROM main.\(schema.name.quotedName)") ?? 0 }
    return Store.TableSummary(
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

  /// Returns the descriptions of tables by other devices, in the order of names and devices.
  ///
  /// - Parameter trusts: Returns whether the expressions of a device are adopted.
  func foreignDescriptions(
    trusts: (DeviceID) -> Bool
  ) throws -> [(device: DeviceID, table: SchemaDescription)] {
    try foreignSchemas.list().compactMap { entry in
      guard let device = entry.device else { return nil }
      var described = entry.table
      if trusts(device), let bytes = entry.rules {
        var reader = ByteReader(bytes)
        described.rules = try? SchemaRules(from: &reader)
        if (try? described.check()) == nil { described.rules = nil }
      }
      return (device, described)
    }
  }
}
