import MeshCore
import MeshReplication
import MeshStore

/// Apps that change their tables, at a different time on each node.
struct AppMigrations: MeshPart {
  let mesh: SimulatedMesh
  let apps: AppWrites

  /// Adds a column. Sometimes it is filled at once.
  func addColumn(_ node: SimulatedNode) throws {
    guard
      let (table, column) = draw(
        node, { $1.isAdded && $1.formerly == nil && $1.reference == nil && !$2.contains($1.name) })
    else { return }
    var sql = [AppSchema.addition(table, column, spelling: node.database.spelling)]
    if mesh.generator.once(in: 2) { sql.append("UPDATE \(table.name) SET \(column.name) = 'n\(node.index)-filled'") }
    try alter(node, "writers.addedColumns", table, sql)
  }

  func dropColumn(_ node: SimulatedNode) throws {
    guard let (table, column) = draw(node, { $1.isDropped && $2.contains($1.name) }) else { return }
    try alter(
      node, "writers.droppedColumns", table, ["ALTER TABLE \(table.name) DROP COLUMN \(column.name)"],
      losing: .column(column.name))
  }

  /// Drops a column and adds it again, which the node sees only by its values.
  func readdColumn(_ node: SimulatedNode) throws {
    guard let (table, column) = draw(node, { $1.isDropped && $2.contains($1.name) }) else { return }
    try alter(
      node, "writers.readdedColumns", table,
      [
        "ALTER TABLE \(table.name) DROP COLUMN \(column.name)",
        AppSchema.addition(table, column, spelling: node.database.spelling),
      ],
      losing: .column(column.name))
  }

  /// Renames a column, or gives it back its first name.
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
      losing: .renamed(old, to: new))
  }

  /// Recreates the table with its rows, as a person does if `ALTER TABLE` isn't enough.
  func rebuild(_ node: SimulatedNode) throws {
    guard let (table, _) = draw(node, { table, _, _ in table.isChildless }) else { return }
    try rebuild(node, "writers.alterations", table, isStrict: node.database.strict.contains(table.name))
  }

  /// Makes the table refuse rows that it accepted, or accept them again. If it has such a row, the migration fails.
  func constrain(_ node: SimulatedNode) throws {
    guard let (table, _) = draw(node, { table, _, _ in table.isChildless && table.stricter != nil }) else { return }
    try rebuild(node, "writers.constraints", table, isStrict: !node.database.strict.contains(table.name))
  }

  /// Makes the table refuse or accept repeated values of a column. If there is a repeated value, the migration fails.
  func toggleUnique(_ node: SimulatedNode) throws {
    guard let (table, _) = draw(node, { table, _, _ in table.unique != nil }), let column = table.unique else { return }
    let index = AppSchema.index(table)
    let sql =
      node.database.unique.contains(table.name)
      ? "DROP INDEX \(index)" : "CREATE UNIQUE INDEX \(index) ON \(table.name) (\(column) COLLATE NOCASE)"
    try alter(node, "writers.uniques", table, [sql])
  }

  /// Changes a column that refers to another table, besides the table's first reference. It is added as a foreign key,
  /// stops being one, and becomes one again.
  func refer(_ node: SimulatedNode) throws {
    guard let (table, column) = draw(node, { $1.isAdded && $1.reference != nil && !$2.isEmpty }) else { return }
    guard node.database.columns[table.name]?.contains(column.name) == true else {
      return try alter(
        node, "writers.references", table, [AppSchema.addition(table, column, spelling: node.database.spelling)])
    }
    try rebuild(
      node, "writers.references", table, isStrict: node.database.strict.contains(table.name),
      refers: !node.database.referring.contains(table.name))
  }

  /// - Parameter refers: Whether its added reference is a foreign key, or nil for no change.
  private func rebuild(
    _ node: SimulatedNode, _ fault: String?, _ table: AppSchema.Table, isStrict: Bool, refers: Bool? = nil
  ) throws {
    let columns = node.database.columns[table.name] ?? []
    let refers = refers ?? node.database.referring.contains(table.name)
    let (copy, spelling) = ("\(table.name)_new", node.database.spelling)
    var sql = [spelling.sql(table, isStrict: isStrict, named: copy)]
    for column in table.columns where column.isAdded && columns.contains(column.name) {
      sql.append(AppSchema.addition(table, column, refers: refers, spelling: spelling, to: copy))
    }
    for column in table.columns where !column.isAdded && column.name != table.key && !columns.contains(column.name) {
      sql.append("ALTER TABLE \(copy) DROP COLUMN \(column.name)")
    }
    let names = columns.sorted().joined(separator: ", ")
    sql += [
      "INSERT INTO \(copy) (\(names)) SELECT \(names) FROM \(table.name)", "DROP TABLE \(table.name)",
      "ALTER TABLE \(copy) RENAME TO \(spelling.name(table.name))",
    ]
    try alter(node, fault, table, sql)
  }

  /// Recreates a table at once, or leaves it missing until the app recreates it.
  func recreate(_ node: SimulatedNode) throws {
    guard let (table, _) = draw(node, { table, _, _ in table.isChildless }) else {
      return try makeMissingTables(node)
    }
    let drop = "DROP TABLE \(table.name)"
    try alter(
      node, "writers.recreatedTables", table,
      mesh.generator.once(in: 2) ? [drop] : [drop, node.database.spelling.sql(table)], losing: .rows)
  }

  /// Renames a table, or gives it back its name. In between, its node misses it.
  func renameTable(_ node: SimulatedNode) throws {
    guard mesh.storage == .sqlite, !node.isRevoked, mesh.deadline == nil,
      let table = AppSchema.movable.randomElement(using: &mesh.generator), !node.database.untracked.contains(table.name)
    else { return }
    let spelling = node.database.spelling
    let (name, away) = (spelling.name(table.name), AppSchema.away(table))
    if node.database.away.contains(table.name) {
      try alter(node, "writers.renamedTables", table, ["ALTER TABLE \(away) RENAME TO \(name)"])
    } else if node.database.columns[table.name] != nil {
      try alter(node, "writers.renamedTables", table, ["ALTER TABLE \(name) RENAME TO \(away)"])
    }
  }

  /// Stops or restarts the synchronization of a table.
  func untrack(_ node: SimulatedNode) throws {
    guard
      let (table, _) = draw(
        node,
        { table, _, _ in
          // With shares, another table refers to the items, and would have to be untracked as well.
          table.isChildless && AppSchema.mixed.contains { $0.name == table.name }
            && !(zones.hasShares && table.name == AppSchema.items)
        }),
      let store = node.database.sqlite, node.replica != nil
    else { return }
    let isUntracked = node.database.untracked.contains(table.name)
    // Like a node, this flushes pending rows first.
    var isFlushed = false
    try mesh.guarded(node) {
      isFlushed = try isUntracked || store.localWrites.pendingCount() == 0 && !store.capture.isDue()
    }
    guard isFlushed else { return }
    occurred("writers.untrackedTables")
    say(node.index, "\(isUntracked ? "tracks" : "untracks") \(table.name)")
    try setTracked(node, table.name, isUntracked)
  }

  private func setTracked(_ node: SimulatedNode, _ table: String, _ isTracked: Bool) throws {
    try mesh.input(node) { replica, _ in
      try node.database.setTracked(table, isTracked)
      try replica.schemaChanged()
    }
  }

  func rescan(_ node: SimulatedNode) throws {
    guard mesh.storage == .sqlite, node.replica != nil, !node.isRevoked else { return }
    occurred("nodes.rescans")
    say(node.index, "compares all rows")
    try mesh.input(node) { replica, _ in
      try node.database.rescan()
      replica.databaseChanged()
    }
  }

  // MARK: The end

  /// Brings all schemas to the same form: each table, and each column that any node has.
  func complete(_ node: SimulatedNode) throws {
    guard mesh.storage == .sqlite, !node.isRevoked, !node.isStopped else { return }
    try trackAgain(node)
    try makeMissingTables(node)
    try trackAgain(node)
    for table in AppSchema.tables {
      if node.database.unique.contains(table.name) {
        try alter(node, nil, table, ["DROP INDEX \(AppSchema.index(table))"])
      }
      guard !node.database.strict.union(node.database.referring).isDisjoint(with: [table.name]) else { continue }
      // The added foreign key is left out, because there may be rows that it refuses.
      try rebuild(node, nil, table, isStrict: false, refers: false)
    }
    for table in AppSchema.tables {
      for column in table.columns
      where nodes.contains(where: { $0.database.columns[table.name]?.contains(column.name) == true || !column.isAdded })
        && node.database.columns[table.name]?.contains(column.name) == false
      {
        try alter(
          node, nil, table, [AppSchema.addition(table, column, refers: false, spelling: node.database.spelling)])
      }
    }
  }

  /// Synchronizes the tables again that are not, except those that the app has dropped.
  private func trackAgain(_ node: SimulatedNode) throws {
    for table in node.database.untracked.sorted() where node.database.columns[table] != nil && node.replica != nil {
      try setTracked(node, table, true)
    }
  }

  private func makeMissingTables(_ node: SimulatedNode) throws {
    guard mesh.storage == .sqlite, !node.isRevoked, node.database.columns.count > 0 else { return }
    let spelling = node.database.spelling
    for table in AppSchema.tables where node.database.columns[table.name] == nil {
      let isAway = node.database.away.contains(table.name)
      if isAway, mesh.deadline == nil { continue }
      let create = spelling.sql(table).replacing("CREATE TABLE ", with: "CREATE TABLE IF NOT EXISTS ")
      let rename = "ALTER TABLE \(AppSchema.away(table)) RENAME TO \(spelling.name(table.name))"
      try alter(node, nil, table, [isAway ? rename : create])
    }
  }

  // MARK: Altering

  /// Returns a table of the node and one of its columns that satisfy the condition. The condition also gets the
  /// existing columns.
  private func draw(
    _ node: SimulatedNode, _ isFit: (AppSchema.Table, AppSchema.Column, Set<String>) -> Bool
  ) -> (AppSchema.Table, AppSchema.Column)? {
    guard mesh.storage == .sqlite, !node.isRevoked, mesh.deadline == nil else { return nil }
    let fit = AppSchema.tables.flatMap { table in
      table.columns.filter { column in
        node.database.columns[table.name].map { isFit(table, column, $0) } ?? false
      }.map { (table, $0) }
    }
    return fit.isEmpty ? nil : fit[Int.random(in: 0..<fit.count, using: &mesh.generator)]
  }

  private func alter(
    _ node: SimulatedNode, _ fault: String?, _ table: AppSchema.Table, _ sql: [String],
    losing loss: AppTransaction.Loss = .nothing
  ) throws {
    if let fault { occurred(fault) }
    var transaction = AppTransaction(
      statements: [.alter(table: table.name, sql: sql, losing: loss)], ending: .commit)
    // At the end, every migration has to succeed.
    transaction.ignoresForeignKeys = fault == nil
    try apps.write(node, transaction)
  }
}
