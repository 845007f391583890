import GRDB
import MeshCore

/// Adds the tables and columns that other devices have and this file lacks.
struct SchemaAdopter: InTransaction {
  let transaction: Transaction

  /// Returns the missing parts of a table, or nil if none is missing. A table that is here and isn't synchronized lacks
  /// no column, but still counts as missing.
  func missing(
    _ description: SchemaDescription, _ trusts: (DeviceID) -> Bool, _ trusted: [Set<FoldedName>]
  ) throws -> StoreSchema.Missing? {
    let here = try TableSchema.read(db, description.name)
    let lacking = try lacking(description, here)
    guard try !transaction.tableList.isFormerName(description.name),
      try !lacking.isEmpty || TrackedTable.read(db, name: description.name) == nil
    else { return nil }
    var missing = StoreSchema.Missing(
      table: description.name, exists: here != nil, columns: lacking.map { description.columns[$0].name },
      former: try TableRenaming(transaction: transaction).formerName(description, trusted), statements: [])
    if here == nil, let name = try transaction.tableList.newName(of: description.name) {
      missing.refusal =
        "it was renamed to \(name) here; rename \(name) back to \(description.name), or run mesh untrack \(description.name) and "
        + "mesh track \(name) on every machine"
      return missing
    }
    if let former = missing.former {
      missing.statements = [TableRenaming(transaction: transaction).sql(former, to: description.name)]
      return missing
    }
    if let here = here?.travelling, description.hasOtherKeys(than: here),
      try TrackedTable.read(db, name: description.name) == nil
    {
      missing.refusal = description.needsItsKey(in: here)
      return missing
    }
    do {
      let renamed = try renamed(description, lacking, trusts)
      missing.renamed = renamed.reduce(into: [:]) { $0[$1.value] = description.columns[$1.key].name }
      let plan = try plan(description, lacking, here, renamed)
      missing.statements = plan.statements.map(\.sql)
      missing.leftOut = plan.leftOut.map { $0.text(table: description.name) }
    } catch let error as FormatError {
      missing.refusal =
        "its description breaks a rule (\(error)); create it yourself, and run mesh track \(description.name)"
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
    plan.statements += renamed.sorted { $0.key < $1.key }.map { index, former in
      SchemaDescription.Statement(
        sql: "ALTER TABLE main.\(here.name.quotedName) RENAME COLUMN \(former.quotedName) "
          + "TO \(description.columns[index].name.quotedName)")
    }
    return plan
  }

  /// Returns the described columns that a table doesn't have, except former names of its columns. A column that is
  /// described beside the one that was renamed is a new one.
  private func lacking(_ description: SchemaDescription, _ here: TableSchema?) throws -> [Int] {
    let described = Set(description.columns.map(\.name.folded))
    let former = try here.map(renamings)?.reduce(into: Set<FoldedName>()) { former, renaming in
      if try !described.contains(catalog.column(renaming.value).name.folded) {
        former.insert(try catalog.column(renaming.key).name.folded)
      }
    }
    return description.lacking(here).filter { former?.contains(description.columns[$0].name.folded) != true }
  }

  /// Returns the columns of former names with those that took their place. If the table was just renamed, those of the
  /// table that it was.
  private func renamings(of here: TableSchema) throws -> [(key: Int64, value: Int64)] {
    if let table = try TrackedTable.read(db, name: here.name).flatMap({ catalog.table($0.id) }) {
      return table.successors.map { ($0.key, $0.value) }
    }
    guard let former = try transaction.tableList.former(of: here.name) else { return [] }
    return try transaction.names.origins(of: former).map { ($0.value, $0.key) }
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
    var renamed: [Int: String] = [:]
    let successors = description.formerNames.successors(description.columns.map(\.name))
    for column in table.columns {
      guard let name = successors[column.name.folded]?.folded else { continue }
      for index in lacking where description.columns[index].name.folded == name {
        renamed[index] = column.schema.name
      }
    }
    var indexes: [Int64: Int] = [:]
    for index in lacking where renamed[index] == nil {
      if let column = try catalog.knownColumn(description.columns[index].name, of: table.id) { indexes[column] = index }
    }
    let others =
      try indexes.isEmpty
      ? []
      : ForeignSchemas(transaction: transaction).list(trusts: trusts).filter { trusts($0.device) }.map(\.table)
        .filter { $0.name.folded == description.name.folded }.map { Set($0.columns.map(\.name.folded)) }
    guard !others.isEmpty else { return renamed }
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
    try transaction.recordRows.some(of: table.id, onlyShown: true, limit: StoreLimits.recordsThatTell).compactMap {
      zone, ref in
      guard let zone = try transaction.counters.read(id: zone) else { return nil }
      let records = ZoneRecords(transaction, zone: zone)
      guard let record = try records.load(ref), !record.extra.isEmpty else { return nil }
      return ((try records.columns(record.stamps), record.extra), try records.values(ref, record))
    }
  }

  /// Adopts a description.
  ///
  /// - Parameter room: The number of columns that SQLite may still read. It becomes negative if columns are left.
  func adopt(
    _ description: SchemaDescription, _ room: inout Int, _ trusts: (DeviceID) -> Bool
  ) throws -> [SchemaRules.LeftOut] {
    let here = try TableSchema.read(db, description.name)
    let lacking = try lacking(description, here)
    let renamed = try renamed(description, lacking, trusts)
    guard let here else { return try carryOut(plan(description, lacking, nil, renamed)) }
    func reads(_ count: Int) -> Int { count * (here.columns.count + count / 2) }
    // A transaction that has room adds at least one.
    let count = room > 0 ? (1...max(1, lacking.count)).last { $0 == 1 || reads($0) <= room } ?? 1 : 0
    room -= reads(lacking.count)
    let plan = try plan(description, lacking, here, renamed, atMost: count)
    // SQLite also reads the triggers of the table for each column, and puts the new names of columns into them.
    guard plan.statements.count > 1, renamed.isEmpty, let table = try TrackedTable.read(db, name: here.name) else {
      return try carryOut(plan)
    }
    return try Capture.withoutTriggers(db, table.id) { try carryOut(plan) }
  }

  private func carryOut(_ plan: SchemaDescription.Plan) throws -> [SchemaRules.LeftOut] {
    try plan.leftOut + plan.statements.flatMap(run)
  }

  private func run(_ statement: SchemaDescription.Statement) throws -> [SchemaRules.LeftOut] {
    guard !statement.optional.isEmpty else {
      try db.execute(sql: statement.sql)
      return []
    }
    try db.execute(sql: "SAVEPOINT mesh_adopt")
    do {
      try db.execute(sql: statement.sql)
      try db.execute(sql: "RELEASE mesh_adopt")
      return []
    } catch let error as DatabaseError where [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode) {
      try db.execute(sql: "ROLLBACK TO mesh_adopt; RELEASE mesh_adopt")
      if let fallback = statement.fallback { try db.execute(sql: fallback) }
      return statement.optional.map { .init($0.part, $0.name, SchemaRefusal(.refused, error.reason)) }
    }
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
}
