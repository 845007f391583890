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
    return try read { session in try installed.map(session.summary) }
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
      try write { session in
        _ = try Capture.remove(session.db, table: name)
        try session.updatePermissions()
      }
    }
  }

  private func requireNoReferences(to tables: [String]) throws {
    let going = Set(tables.map(\.folded))
    let reasons = try read { session in
      try TrackedTable.all(session.db).filter { !going.contains($0.name.folded) }.flatMap { table in
        (table.schema?.foreignKeys ?? []).filter { going.contains($0.parent.folded) }.map {
          "\($0.parent): \(table.name) refers to it and stays synchronized; untrack \(table.name) as well"
        }
      }
    }
    guard reasons.isEmpty else { throw StoreError(.schemaRefused, reasons: reasons) }
  }

  /// Moves a slice of the table's merged values to the tables of mesh. Returns false if none is left.
  private func keepValues(_ table: Int64) throws -> Bool {
    try write { session in
      let rows = try session.recordRows.some(of: table, onlyShown: true, limit: Choices.slice)
      for (zone, ref) in rows {
        guard let zone = try session.zoneRows.read(id: zone) else { continue }
        let records = ZoneRecords(session, zone: zone)
        guard let old = try records.load(ref) else { continue }
        let form = session.catalog.table(table)
        let row = try form.flatMap { form in try records.row(form, ref.key).map { records.named($0, old, form) } }
        var kept = old
        kept.extra = try records.values(ref, old)
        kept.held = .untracked
        var base = kept.extra
        for column in old.extra.keys {
          guard let index = form?.indexes[column] else {
            base[column] = .null
            continue
          }
          if let row { base[column] = row[index] }
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
    try read { session in
      try TrackedTable.all(session.db).map(session.summary)
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
    try read { session in
      try TrackedTable.all(session.db).compactMap { table in
        var description = table.schema?.travelling
        description?.isPrivate = table.isPrivate
        description?.policies = try session.policies.own(of: table.name)
        return description
      }
    }
  }

  public func saveForeignSchema(_ descriptions: [SchemaDescription], device: DeviceID, isOwn: Bool) throws -> [String] {
    try write { session in
      try session.foreignSchemas.removeAll(of: device)
      if !isOwn { try session.forgetSchemas(besides: device, owners) }
      for var description in descriptions {
        description.isPrivate = isOwn && description.isPrivate
        try session.foreignSchemas.insert(description, of: device)
      }
      let owner = isOwn ? nil : owners.account(certifying: device)
      let hasNew = try descriptions.reduce(false) { hasNew, description in
        guard isOwn || owner != nil else { return hasNew }
        return try description.policies.reduce(hasNew) {
          try session.savePolicy($1, of: description.name, by: owner) || $0
        }
      }
      if hasNew { try session.policiesChanged() }
      let isPrivate = Set(isOwn ? descriptions.filter(\.isPrivate).map(\.name.folded) : [])
      let tables = try TrackedTable.all(session.db).filter {
        !$0.isPrivate && isPrivate.contains($0.name.folded)
      }
      for table in tables {
        try session.tableList.setPrivate(table.id)
      }
      if !tables.isEmpty { session.catalog.forget() }
      // A column that only this device had may now be on other devices.
      try session.updatePermissions()
      return tables.map(\.name)
    }
  }

  /// Returns the descriptions of other devices' tables: one for each name, with the columns of all. The expressions
  /// come from one device.
  ///
  /// - Parameter trusts: Returns whether the expressions of a device are adopted, and whether the device may describe a
  ///   table that is in this file and isn't synchronized. A program may use such a table for something else.
  public func foreignSchemas(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [SchemaDescription] {
    try read { session in
      var others: [String: Bool] = [:]
      func isOthers(_ name: String) throws -> Bool {
        if let known = others[name] { return known }
        let found = try TrackedTable.read(session.db, name: name) == nil && TableSchema.kind(session.db, name) != nil
        others[name] = found
        return found
      }
      let all = try session.foreignDescriptions(trusts: trusts).filter {
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
    return try read { session in
      let trusted = try session.tablesOfOthers(trusts)
      return try wanted.compactMap { try session.missing($0, trusts, trusted) }
    }
  }

  /// Returns the parts of other devices' tables that those of this file lack, because the grammar doesn't have them,
  /// with one line for each.
  public func leftOut(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [String] {
    let others = try foreignSchemas(trusts: trusts)
    return try read { session in
      try others.flatMap { table in
        let own = try TableSchema.read(session.db, table.name)?.travelling?.rules?.leftOut ?? []
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
    let adoption = try write { session in
      var (adoption, room) = (Adoption(), StoreLimits.columnsTogether)
      let descriptions = try descriptions.filter { try !session.tableList.isFormerName($0.name) }
      for description in descriptions {
        adoption.leftOut += try session.adopt(description, &room, trusts).map { $0.text(table: description.name) }
      }
      adoption.hasMore = room < 0
      func names(_ isPrivate: Bool, besides tracked: Set<FoldedName> = []) -> [String] {
        descriptions.filter { $0.isPrivate == isPrivate && !tracked.contains($0.name.folded) }.map(\.name)
      }
      var tracked: Set<FoldedName> = []
      if adoption.hasMore {
        // A synchronized table only gets its triggers, once, as if a program had added the columns.
        try TrackingRules.validate(
          session.db, tables: names(false), private: names(true), integerKeys: integerKeys || keyed)
        tracked = Set(try TrackedTable.all(session.db).map(\.name.folded))
      }
      _ = try session.install(
        names(false, besides: tracked), private: names(true, besides: tracked), integerKeys: integerKeys || keyed)
      return adoption
    }
    try takeIn(now: now)
    return adoption
  }
}

extension SchemaDescription {
  /// Returns the columns that a table doesn't have. The key is excluded, because machines may have different names for
  /// it.
  fileprivate func lacking(_ here: TableSchema?) -> [Int] {
    guard let here else { return Array(columns.indices) }
    let known = Set(here.columns.map(\.name.folded))
    return columns.indices.filter { $0 != key && !known.contains(columns[$0].name.folded) }
  }

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

extension Session {
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
    for table in installed where !before.contains(table.id) {
      try requireNoRoot(in: table)
      try work.request(.takeIn, table.id, layout: known[table.id] ?? 0)
      if let layout = table.layout { try assets.awaitAll(of: catalog.layout(layout), in: table.id) }
      try adoptRecords(for: table)
      try followFormerTable(of: table)
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

  /// Returns the missing parts of a table, or nil if none is missing. A table that is here and isn't synchronized lacks
  /// no column, but still counts as missing.
  fileprivate func missing(
    _ description: SchemaDescription, _ trusts: (DeviceID) -> Bool, _ trusted: [Set<FoldedName>]
  ) throws -> Store.MissingSchema? {
    let here = try TableSchema.read(db, description.name)
    let lacking = try lacking(description, here)
    guard try !tableList.isFormerName(description.name),
      try !lacking.isEmpty || TrackedTable.read(db, name: description.name) == nil
    else { return nil }
    var missing = Store.MissingSchema(
      table: description.name, exists: here != nil, columns: lacking.map { description.columns[$0].name },
      former: try formerName(description, trusted), statements: [])
    if let former = missing.former {
      missing.statements = [renaming(former, to: description.name)]
      return missing
    }
    do {
      let renamed = try renamed(description, lacking, trusts)
      missing.renamed = renamed.reduce(into: [:]) { $0[$1.value] = description.columns[$1.key].name }
      let plan = try plan(description, lacking, here, renamed)
      missing.statements = plan.steps.map(\.sql)
      missing.leftOut = plan.leftOut.map { $0.text(table: description.name) }
    } catch let error as MeshCore.DecodingError {
      missing.refusal = "its description breaks a rule: \(error)"
    }
    return missing
  }

  private func plan(
    _ description: SchemaDescription, _ lacking: [Int], _ here: TableSchema?, _ renamed: [Int: String],
    atMost count: Int = .max
  ) throws -> SchemaDescription.Plan {
    guard let here else { return try description.creation() }
    let hasRows = try sql.integer("SELECT EXISTS (SELECT 1 FROM main.\(here.name.quotedName))") == 1
    var plan = try description.addition(
      of: lacking.filter { renamed[$0] == nil }, atMost: count, hasRows: hasRows)
    plan.steps += renamed.sorted { $0.key < $1.key }.map { index, former in
      SchemaDescription.Step(
        sql: "ALTER TABLE main.\(here.name.quotedName) RENAME COLUMN \(former.quotedName) "
          + "TO \(description.columns[index].name.quotedName)")
    }
    return plan
  }

  /// Returns the described columns that a table doesn't have, except former names of its columns.
  private func lacking(_ description: SchemaDescription, _ here: TableSchema?) throws -> [Int] {
    let table = try here.flatMap { try TrackedTable.read(db, name: $0.name) }.flatMap { catalog.table($0.id) }
    let former = Set(try (table?.successors ?? [:]).keys.map { try catalog.column($0).name.folded })
    return description.lacking(here).filter { !former.contains(description.columns[$0].name.folded) }
  }

  /// Returns the missing columns that other devices have in place of a column of this table, by their index, with the
  /// column's name here.
  ///
  /// A device that renames a column writes each value again under the new name, with the same stamp. Some records are
  /// enough to find out.
  private func renamed(
    _ description: SchemaDescription, _ lacking: [Int], _ trusts: (DeviceID) -> Bool
  ) throws -> [Int: String] {
    guard !lacking.isEmpty,
      let table = try TrackedTable.read(db, name: description.name).flatMap({ catalog.table($0.id) })
    else { return [:] }
    var indexes: [Int64: Int] = [:]
    for index in lacking {
      if let column = try catalog.knownColumn(description.columns[index].name, of: table.id) { indexes[column] = index }
    }
    let others =
      try indexes.isEmpty
      ? []
      : foreignDescriptions(trusts: trusts).filter { trusts($0.device) }.map(\.table)
        .filter { $0.name.folded == description.name.folded }.map { Set($0.columns.map(\.name.folded)) }
    guard !others.isEmpty else { return [:] }
    var renamed: [Int: String] = [:]
    for (record, values) in try someRecords(of: table) {
      let stamps = Dictionary(
        record.columns.map { ($0.column, $0.stamp) }, uniquingKeysWith: { first, _ in first })
      let places = Dictionary(grouping: table.columns.indices.filter { !table.columns[$0].schema.isKey }) { place in
        let column = table.columns[place].id
        return Carried(stamp: stamps[column], value: values[column])
      }
      for (column, value) in record.extra where value != .null && stamps[column] != nil {
        guard let index = indexes[column] else { continue }
        let name = description.columns[index].name.folded
        let former = (places[Carried(stamp: stamps[column], value: value)] ?? []).filter { place in
          let own = table.columns[place].schema.name.folded
          return others.contains { $0.contains(name) && !$0.contains(own) }
        }
        // If two columns have the same value, it is unknown which one was renamed.
        if former.count == 1 { renamed[index] = table.columns[former[0]].schema.name }
      }
    }
    return renamed
  }

  private struct Carried: Hashable {
    let stamp: LocalStamp?
    let value: Value?
  }

  /// Returns a few shown records, with their merged values.
  private func someRecords(
    of table: TableForm
  ) throws -> [(record: (columns: [(column: Int64, stamp: LocalStamp)], extra: [Int64: Value]), values: [Int64: Value])]
  {
    try recordRows.some(of: table.id, onlyShown: true, limit: StoreLimits.recordsThatTell).compactMap { zone, ref in
      guard let zone = try zoneRows.read(id: zone) else { return nil }
      let records = ZoneRecords(self, zone: zone)
      guard let record = try records.load(ref), !record.extra.isEmpty else { return nil }
      return ((try records.columns(record.stamps), record.extra), try records.values(ref, record))
    }
  }

  /// Adopts a description.
  ///
  /// - Parameter room: The number of columns that may still be added. It becomes negative if there are more.
  fileprivate func adopt(
    _ description: SchemaDescription, _ room: inout Int, _ trusts: (DeviceID) -> Bool
  ) throws -> [SchemaRules.LeftOut] {
    let here = try TableSchema.read(db, description.name)
    let lacking = try lacking(description, here)
    let plan = try plan(description, lacking, here, try renamed(description, lacking, trusts), atMost: max(0, room))
    if here != nil { room -= lacking.count }
    return try plan.leftOut + plan.steps.flatMap(run)
  }

  private func run(_ step: SchemaDescription.Step) throws -> [SchemaRules.LeftOut] {
    guard !step.optional.isEmpty else {
      try db.execute(sql: step.sql)
      return []
    }
    try db.execute(sql: "SAVEPOINT mesh_adopt")
    do {
      try db.execute(sql: step.sql)
      try db.execute(sql: "RELEASE mesh_adopt")
      return []
    } catch let error as DatabaseError where [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode) {
      try db.execute(sql: "ROLLBACK TO mesh_adopt; RELEASE mesh_adopt")
      if let fallback = step.fallback { try db.execute(sql: fallback) }
      return step.optional.map { .init($0.part, $0.name, SchemaRefusal(.refused, error.reason)) }
    }
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
