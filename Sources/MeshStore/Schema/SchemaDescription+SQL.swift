import MeshCore

extension SchemaDescription {
  /// A statement that adopts a part of a description.
  struct Statement: Hashable {
    var sql: String
    /// The statement to run if SQLite refuses `sql`.
    var fallback: String?
    /// The parts that are missing then. If it is empty, no part may be missing, and the adoption fails.
    var optional: [SchemaRules.LeftOut] = []
  }

  /// The statements that bring a table into the described form, and the parts that can't be adopted.
  struct Plan: Hashable {
    var statements: [Statement] = []
    var leftOut: [SchemaRules.LeftOut] = []
  }

  /// Returns the plan that creates the table and its indexes.
  func creation() throws(FormatError) -> Plan {
    Plan(statements: [Statement(sql: try createTable())] + (rules?.indexes ?? []).compactMap(creation))
  }

  /// Returns the plan that adds missing columns to a table, and the `CHECK`s and indexes that read them.
  ///
  /// In a table with rows, SQLite accepts no computed default, and no `CHECK` that a row breaks.
  ///
  /// - Parameter count: The number of columns to add now. A rule that reads several of them is added with the last one.
  func addition(of lacking: [Int], atMost count: Int = .max, hasRows: Bool) throws(FormatError) -> Plan {
    var (plan, described) = (Plan(), self)
    let added = lacking.prefix(count)
    if hasRows {
      let computed = Set(added.map { columns[$0].name.folded })
      let lost = (rules?.defaults ?? []).filter { computed.contains($0.column.folded) }
      plan.leftOut = lost.map { .init(.initial, $0.column, SchemaRefusal(.rows)) }
      described.rules?.defaults.removeAll { lost.contains($0) }
    }
    try described.check()
    for index in added {
      // A `CHECK` is added with the last of its columns.
      let reading = (rules?.checks ?? []).filter { $0.expression.columns.contains(columns[index].name.folded) }
      let later = reading.isEmpty ? [] : Set(lacking.drop { $0 <= index }.map { columns[$0].name.folded })
      let checks = reading.filter { $0.expression.columns.isDisjoint(with: later) }
      let plain = try described.addColumn(index)
      plan.statements.append(
        checks.isEmpty
          ? Statement(sql: plain)
          : Statement(
            sql: ([plain] + checks.map(\.sql)).joined(separator: " "), fallback: plain,
            optional: checks.map { .init(.check, $0.name ?? "", SchemaRefusal(.refused)) }))
    }
    let names = Set(added.map { columns[$0].name.folded })
    let later = Set(lacking.dropFirst(count).map { columns[$0].name.folded })
    for index in rules?.indexes ?? []
    where !index.columns.isDisjoint(with: names) && index.columns.isDisjoint(with: later) {
      if let statement = creation(index) { plan.statements.append(statement) }
    }
    return plan
  }

  private func creation(_ index: SchemaRules.Index) -> Statement? {
    index.name.map { name in
      Statement(
        sql: index.sql(table: self.name, schema: "main."),
        optional: [.init(.index, name, SchemaRefusal(.refused))])
    }
  }

  /// Returns the `CREATE TABLE` statement. Throws if the description breaks a rule. So every text in the statement is a
  /// name, a type, a literal or an expression of the grammar.
  func createTable() throws(FormatError) -> String {
    try check()
    let constraints =
      (rules?.checks.map(\.sql) ?? []) + (rules?.indexes ?? []).filter { $0.name == nil }.map { $0.sql(table: name) }
    let lines = (columns.indices.map(definition) + constraints).map { "  \($0)" }
    let options = [isStrict ? "STRICT" : nil, isWithoutRowid ? "WITHOUT ROWID" : nil].compactMap { $0 }
    return "CREATE TABLE main.\(name.quotedName) (\n\(lines.joined(separator: ",\n"))\n)"
      + (options.isEmpty ? "" : " " + options.joined(separator: ", "))
  }

  /// Returns the `ALTER TABLE` statement that adds the column `index` of a checked description to a table, without
  /// `CHECK`s.
  ///
  /// SQLite can't add a `NOT NULL` column without a default to a table with rows. In that case, the column may be NULL.
  func addColumn(_ index: Int) throws(FormatError) -> String {
    guard columns.indices.contains(index), index != key else { throw .invalid("a column to add is not the key") }
    var relaxed = self
    if columns[index].defaultValue ?? .null == .null, rules?.initial(of: columns[index].name) == nil {
      relaxed.columns[index].notNull = false
    }
    return "ALTER TABLE main.\(name.quotedName) ADD COLUMN \(relaxed.definition(index))"
  }

  /// Returns a column's definition, as in `CREATE TABLE`.
  func definition(_ index: Int) -> String {
    let column = columns[index]
    var parts = [column.name.quotedName]
    if !column.declaredType.isEmpty { parts.append(column.declaredType) }
    if index == key { parts.append(isAutoincrement ? "PRIMARY KEY AUTOINCREMENT" : "PRIMARY KEY") }
    if column.notNull || index == key { parts.append("NOT NULL") }
    if column.collation != .binary { parts.append("COLLATE \(column.collation.sql)") }
    if let value = column.defaultValue { parts.append("DEFAULT \(value.literal)") }
    if let computed = rules?.initial(of: column.name) { parts.append("DEFAULT (\(computed.sql))") }
    for reference in foreignKeys where reference.column == index {
      // Without a column, the reference is to the parent's primary key.
      parts.append("REFERENCES \(reference.parent.quotedName)")
      if reference.onDelete != .noAction { parts.append("ON DELETE \(reference.onDelete.sql)") }
      if reference.onUpdate != .noAction { parts.append("ON UPDATE \(reference.onUpdate.sql)") }
    }
    return parts.joined(separator: " ")
  }
}
