import MeshCore
import MeshReplication

/// Apps that change their tables, each node's at another time.
extension Simulation {
  /// Now and then a column is filled at once.
  func addColumn(_ node: SimulatedNode) throws {
    guard let (table, column) = draw(node, { $1.isAdded && $1.formerly == nil && !$2.contains($1.name) }) else {
      return
    }
    var sql = [AppSchema.addition(table, column)]
    if generator.once(in: 2) { sql.append("UPDATE \(table.name) SET \(column.name) = 'n\(node.index)-filled'") }
    try alter(node, "writers.addedColumns", table, sql)
  }

  func dropColumn(_ node: SimulatedNode) throws {
    guard let (table, column) = draw(node, { $1.isDropped && $2.contains($1.name) }) else { return }
    try alter(
      node, "writers.droppedColumns", table, ["ALTER TABLE \(table.name) DROP COLUMN \(column.name)"],
      losing: .column(column.name))
  }

  /// To its new name, or back.
  func renameColumn(_ node: SimulatedNode) throws {
    guard
      let (table, column) = draw(
        node, { $1.formerly.map($2.contains) ?? false != $2.contains($1.name) && $1.formerly != nil }),
      let former = column.formerly
    else { return }
    let isBack = node.database.columns[table.name]?.contains(column.name) == true
    let (old, new) = isBack ? (column.name, former) : (former, column.name)
    try alter(
      node, "writers.renamedColumns", table, ["ALTER TABLE \(table.name) RENAME COLUMN \(old) TO \(new)"],
      losing: .column(old))
  }

  /// The table is made anew with the rows that it had, as one does where `ALTER TABLE` can't.
  func rebuild(_ node: SimulatedNode) throws {
    guard let (table, _) = draw(node, { table, _, _ in table.isChildless }) else { return }
    try rebuild(node, "writers.alterations", table, isStrict: node.database.strict.contains(table.name))
  }

  /// From now on the table refuses rows that it took, or takes them again. Where it has such a row, the migration fails.
  func constrain(_ node: SimulatedNode) throws {
    guard let (table, _) = draw(node, { table, _, _ in table.isChildless && table.stricter != nil }) else { return }
    try rebuild(node, "writers.constraints", table, isStrict: !node.database.strict.contains(table.name))
  }

  private func rebuild(_ node: SimulatedNode, _ fault: String?, _ table: AppSchema.Table, isStrict: Bool) throws {
    let columns = node.database.columns[table.name] ?? []
    let copy = "\(table.name)_new"
    var sql = [table.sql(isStrict: isStrict).replacing(table.name, with: copy)]
    for column in table.columns where column.isAdded && columns.contains(column.name) {
      sql.append(AppSchema.addition(table, column).replacing("TABLE \(table.name)", with: "TABLE \(copy)"))
    }
    for column in table.columns where !column.isAdded && column.name != table.key && !columns.contains(column.name) {
      sql.append("ALTER TABLE \(copy) DROP COLUMN \(column.name)")
    }
    let names = columns.sorted().joined(separator: ", ")
    sql += [
      "INSERT INTO \(copy) (\(names)) SELECT \(names) FROM \(table.name)", "DROP TABLE \(table.name)",
      "ALTER TABLE \(copy) RENAME TO \(table.name)",
    ]
    try alter(node, fault, table, sql)
  }

  /// At once, or the table is missing until the app makes it anew.
  func recreate(_ node: SimulatedNode) throws {
    guard let (table, _) = draw(node, { table, _, _ in table.isChildless }) else {
      return try makeMissingTables(node)
    }
    let drop = "DROP TABLE \(table.name)"
    try alter(
      node, "writers.recreatedTables", table, generator.once(in: 2) ? [drop] : [drop, table.sql], losing: .rows)
  }

  func rescan(_ node: SimulatedNode) throws {
    guard storage == .sqlite, node.replica != nil, !node.isRevoked else { return }
    occurred("nodes.rescans")
    say(node.index, "compares all rows")
    try input(node) { replica, _ in
      try node.database.rescan()
      replica.databaseChanged()
    }
  }

  // MARK: The end

  /// Equal schemas, at last: each table, and each column that anybody has.
  func completeSchema(_ node: SimulatedNode) throws {
    guard storage == .sqlite, !node.isRevoked, !node.isStopped else { return }
    try makeMissingTables(node)
    for table in AppSchema.tables where node.database.strict.contains(table.name) {
      try rebuild(node, nil, table, isStrict: false)
    }
    for table in AppSchema.tables {
      for column in table.columns
      where nodes.contains(where: { $0.database.columns[table.name]?.contains(column.name) == true || !column.isAdded })
        && node.database.columns[table.name]?.contains(column.name) == false
      { try alter(node, nil, table, [AppSchema.addition(table, column)]) }
    }
  }

  private func makeMissingTables(_ node: SimulatedNode) throws {
    guard storage == .sqlite, !node.isRevoked, node.database.columns.count > 0 else { return }
    for table in AppSchema.tables where node.database.columns[table.name] == nil {
      try alter(node, nil, table, [table.sql.replacing("CREATE TABLE ", with: "CREATE TABLE IF NOT EXISTS ")])
    }
  }

  // MARK: Altering

  /// A table that the node has, and one of its columns, for which it holds; it is told what columns there are.
  private func draw(
    _ node: SimulatedNode, _ isFit: (AppSchema.Table, AppSchema.Column, Set<String>) -> Bool
  ) -> (AppSchema.Table, AppSchema.Column)? {
    guard storage == .sqlite, !node.isRevoked, deadline == nil else { return nil }
    let fit = AppSchema.tables.flatMap { table in
      table.columns.filter { column in
        node.database.columns[table.name].map { isFit(table, column, $0) } ?? false
      }.map { (table, $0) }
    }
    return fit.isEmpty ? nil : fit[Int.random(in: 0..<fit.count, using: &generator)]
  }

  private func alter(
    _ node: SimulatedNode, _ fault: String?, _ table: AppSchema.Table, _ sql: [String],
    losing loss: AppTransaction.Loss = .nothing
  ) throws {
    if let fault { occurred(fault) }
    try write(
      node, AppTransaction(statements: [.alter(table: table.name, sql: sql, losing: loss)], ending: .commit),
      node.replica == nil)
  }
}
