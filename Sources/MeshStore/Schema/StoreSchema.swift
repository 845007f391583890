package import MeshCore

/// The schema of others: what other devices say of their tables, adopting it here, and the policies of columns.
package struct StoreSchema: SchemaStore, StorePart {
  let access: StoreAccess
  let capture: StoreCapture

  package func schemaDescriptions() throws -> [SchemaDescription] {
    try read { transaction in
      try TrackedTable.all(transaction.db).compactMap { table in
        var description = table.schema?.travelling
        description?.isPrivate = table.isPrivate
        description?.policies = try transaction.policies.own(of: table.name)
        description?.formerNames = try FormerNaming(transaction: transaction).names(of: table.id)
        return description
      }
    }
  }

  package func saveForeignSchema(_ descriptions: [SchemaDescription], device: DeviceID, isOwn: Bool) throws -> [String]
  {
    try write { transaction in
      try transaction.foreignSchemas.removeAll(of: device)
      if !isOwn { try ForeignSchemas(transaction: transaction).forget(besides: device, owners) }
      for var description in descriptions {
        description.isPrivate = isOwn && description.isPrivate
        try transaction.foreignSchemas.insert(description, of: device)
        // Another account's word would make this account's records continue under names of its choice.
        if isOwn { try FormerNaming(transaction: transaction).take(description) }
      }
      let owner = isOwn ? nil : owners.account(certifying: device)
      let hasNew = try descriptions.reduce(false) { hasNew, description in
        guard isOwn || owner != nil else { return hasNew }
        return try description.policies.reduce(hasNew) {
          try PolicyChanges(transaction: transaction).save($1, of: description.name, by: owner) || $0
        }
      }
      if hasNew { try PolicyChanges(transaction: transaction).apply() }
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
  package func foreign(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [SchemaDescription] {
    try read { transaction in
      var others: [String: Bool] = [:]
      func isOthers(_ name: String) throws -> Bool {
        if let known = others[name] { return known }
        let found =
          try TrackedTable.read(transaction.db, name: name) == nil && TableSchema.kind(transaction.db, name) != nil
        others[name] = found
        return found
      }
      let all = try ForeignSchemas(transaction: transaction).list(trusts: trusts).filter {
        try trusts($0.device) || !isOthers($0.table.name)
      }
      let former = Set(all.flatMap(\.table.formerNames.tables).map(\.folded))
      var merged: [SchemaDescription] = []
      for (name, tables) in Dictionary(grouping: all.map(\.table), by: \.name.folded).sorted(by: { $0.key < $1.key }) {
        // Some devices have not renamed it yet.
        if try former.contains(name) && TableSchema.kind(transaction.db, tables[0].name) == nil { continue }
        merged.append(try merge(tables, transaction))
      }
      return merged
    }
  }

  /// Merges what several devices say of one table. A column that was renamed counts only under its present name.
  private func merge(_ tables: [SchemaDescription], _ transaction: Transaction) throws -> SchemaDescription {
    var formerNames = FormerNames()
    if let known = transaction.catalog.knownTable(tables[0].name) {
      formerNames = try FormerNaming(transaction: transaction).names(of: known)
    }
    for table in tables {
      formerNames.tables += table.formerNames.tables
      formerNames.columns += table.formerNames.columns
    }
    let columns = tables.map { Set($0.columns.map(\.name.folded)) }
    let renamed = tables.reduce(into: Set<FoldedName>()) { renamed, table in
      for (former, name) in formerNames.successors(table.columns.map(\.name)) {
        // A device that has both has given the name to a new column.
        if !columns.contains(where: { $0.isSuperset(of: [former, name.folded]) }) { renamed.insert(former) }
      }
    }
    func isBehind(_ table: SchemaDescription) -> Bool { table.columns.contains { renamed.contains($0.name.folded) } }
    // A table with expressions comes first, because its rules are about its own columns.
    let ranked = [(false, true), (false, false), (true, true), (true, false)].flatMap { behind, ruled in
      tables.filter { isBehind($0) == behind && ($0.rules != nil) == ruled }
    }
    var table = ranked[0]
    var names = Set(table.columns.map(\.name.folded)).union(renamed)
    for next in ranked.dropFirst() { table.addColumns(of: next, besides: &names) }
    table.formerNames = formerNames
    return table
  }

  /// A table or columns that other devices have and this file lacks.
  package struct Missing: Hashable, Sendable {
    package var table: String
    /// Whether the table is here and lacks columns.
    package var exists: Bool
    package var columns: [String]
    /// The table of this file that other devices renamed to this one.
    package var former: String?
    /// The names that other devices gave to columns, by the column of this file's table.
    package var renamed: [String: String] = [:]
    /// The SQL that `adopt` would run.
    package var statements: [String]
    /// The reason that it can't be adopted, or nil if it can.
    package var refusal: String?
    /// The parts that the table will lack, or lacks since it was adopted, with one line for each.
    package var leftOut: [String] = []
  }

  package func missing(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [Missing] {
    let wanted = try foreign(trusts: trusts)
    return try read { transaction in
      let trusted = try TableRenaming(transaction: transaction).tablesOfOthers(trusts)
      return try wanted.compactMap { try SchemaAdopter(transaction: transaction).missing($0, trusts, trusted) }
    }
  }

  /// Returns the parts of other devices' tables that those of this file lack, because the grammar doesn't have them,
  /// with one line for each.
  package func leftOut(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [String] {
    let others = try foreign(trusts: trusts)
    return try read { transaction in
      try others.flatMap { table in
        let own = try TableSchema.read(transaction.db, table.name)?.travelling?.rules?.leftOut ?? []
        return (table.rules?.leftOut ?? []).filter { !own.contains($0) }.map { $0.text(table: table.name) }
      }
    }
  }

  /// The result of one transaction of an adoption.
  package struct Adoption: Hashable, Sendable {
    /// The parts of tables that SQLite refused, with one line for each.
    package var leftOut: [String] = []
    /// Whether more columns are missing, so that the method has to be called again.
    package var hasMore = false
  }

  /// Creates the missing tables, adds the missing columns, and synchronizes all tables in one transaction. If one of
  /// the tables is refused, nothing is done. SQLite reads a table's whole text for each added column, so many columns
  /// take several calls, and programs can write in between.
  ///
  /// - Parameter trusts: Returns whether the renamings of a device are also made here.
  @discardableResult
  package func adopt(
    _ descriptions: [SchemaDescription], integerKeys: Bool = false, trusts: (DeviceID) -> Bool = { _ in true },
    now: Int64
  ) throws -> Adoption {
    let keyed = descriptions.contains { $0.columns[$0.key].declaredType.asciiLowercased == "integer" }
    let adoption = try write { transaction in
      var (adoption, room) = (Adoption(), StoreLimits.columnReads)
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
      _ = try TableInstaller(transaction: transaction).install(
        names(false, besides: tracked), private: names(true, besides: tracked), integerKeys: integerKeys || keyed,
        trusts: isOfThisAccount)
      let names = Set(descriptions.map(\.name.folded))
      // Only devices of this account are trusted, so the tables of others come without former names.
      for (_, table) in try ForeignSchemas(transaction: transaction).list(trusts: isOfThisAccount)
      where names.contains(table.name.folded) {
        try FormerNaming(transaction: transaction).take(table)
      }
      return adoption
    }
    try capture.takeIn(now: now)
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

/// The descriptions of tables that other devices sent.
struct ForeignSchemas: InTransaction {
  let transaction: Transaction

  /// Deletes descriptions. For another account, those of a few devices are kept, each at most as long as a message.
  func forget(besides device: DeviceID, _ accounts: Accounts) throws {
    guard let account = accounts.account(certifying: device) else { return }
    let others = try foreignSchemas.devices().filter { $0 != device && accounts.account(certifying: $0) == account }
    for other in others.sorted().dropFirst(StoreLimits.schemasOfAccount - 1) {
      try foreignSchemas.removeAll(of: other)
    }
  }

  /// Returns the descriptions of tables by other devices, in the order of names and devices.
  ///
  /// - Parameter trusts: Returns whether the expressions of a device are adopted.
  func list(
    trusts: (DeviceID) -> Bool
  ) throws -> [(device: DeviceID, table: SchemaDescription)] {
    try foreignSchemas.list().compactMap { entry in
      guard let device = entry.device else { return nil }
      var described = entry.table
      if trusts(device) { described.formerNames = entry.formerNames }
      if trusts(device), let bytes = entry.rules {
        var reader = ByteReader(bytes)
        described.rules = try? SchemaRules(from: &reader)
        if (try? described.check()) == nil { described.rules = nil }
      }
      return (device, described)
    }
  }
}
