import GRDB
import MeshCore

/// The names that this file's tables and columns had before, and what other devices say of them.
///
/// A device that adopts a table under its present name has records with values under former names, like the device that
/// renamed it, and must handle them in the same way.
struct FormerNaming: InTransaction {
  let transaction: Transaction

  /// Returns the former names of a synchronized table and of its columns.
  func names(of table: Int64) throws -> FormerNames {
    let origins = Dictionary(
      try transaction.tableList.origins().map { ($0.table, $0.former) }, uniquingKeysWith: { first, _ in first })
    var names = FormerNames()
    var (next, seen) = (origins[table], Set([table]))
    while let former = next, seen.insert(former).inserted, names.tables.count < FormerNames.tableLimit {
      names.tables.append(try catalog.tableName(former))
      next = origins[former]
    }
    let columns = try transaction.names.origins(of: table).sorted { $0.key < $1.key }.suffix(FormerNames.columnLimit)
    names.columns = try columns.map { column, former in
      FormerNames.Column(name: try catalog.column(column).name, former: try catalog.column(former).name)
    }
    return names
  }

  /// Continues the former names of a description in the table of this file. A name that this file has, or whose
  /// successor it knows already, stays as it is.
  func take(_ description: SchemaDescription) throws {
    guard !description.formerNames.isEmpty, let tracked = try TrackedTable.read(db, name: description.name),
      let form = catalog.table(tracked.id), form.isHere
    else { return }
    let isChanged = try takeColumns(description, of: form)
    if try takeTables(description.formerNames.tables, of: form.id) || isChanged { catalog.forget() }
  }

  private func takeColumns(_ description: SchemaDescription, of table: TableForm) throws -> Bool {
    let names = description.formerNames
    // A new column of the other device may have the name.
    let theirs = names.successors(description.columns.map(\.name))
    let known = try transaction.names.origins(of: table.id)
    var (taken, room) = (Set(known.values), FormerNames.columnLimit - known.count)
    let successors = names.successors(table.columns.map(\.schema.name))
    var isChanged = false
    for entry in names.columns where room > 0 {
      guard successors[entry.former.folded] != nil, theirs[entry.former.folded] != nil else { continue }
      let (column, former) = (
        try catalog.columnNumber(entry.name, of: table.id), try catalog.columnNumber(entry.former, of: table.id)
      )
      guard known[column] == nil, taken.insert(former).inserted else { continue }
      try transaction.names.setOrigin(former, of: column)
      room -= 1
      isChanged = true
    }
    return isChanged
  }

  private func takeTables(_ formers: [String], of table: Int64) throws -> Bool {
    let origins = try transaction.tableList.origins()
    guard !origins.contains(where: { $0.table == table }) else { return false }
    var (last, taken) = (table, Set(origins.map(\.former)).union([table]))
    for name in formers {
      guard try TableSchema.kind(db, name) == nil else { break }
      let former = try catalog.tableNumber(name)
      guard try TrackedTable.read(db, id: former) == nil, !origins.contains(where: { $0.table == former }),
        taken.insert(former).inserted
      else { break }
      try transaction.tableList.setOrigin(former, of: last)
      last = former
    }
    return last != table
  }
}
