import MeshCore

extension TableSchema {
  /// Returns the table's rules, read from the SQL texts that created it.
  func rules(for description: SchemaDescription) -> SchemaRules {
    var reader = RulesReader(table: name, columns: Set(description.columns.map(\.name.folded)))
    let told = Set(description.columns.filter { $0.defaultValue != nil }.map(\.name))
    for column in columns where column.generated == .no {
      if ColumnCollation(sql: column.collation) == nil {
        reader.leaveOut(.collation, column.name, SchemaRefusal(.collation, column.collation))
      }
      if !told.contains(column.name), let sql = column.defaultSQL { reader.initial(column.name, sql) }
    }
    if let sql { reader.checks(sql) }
    for index in uniqueIndexes {
      guard TrackingRules.isImpliedByKey(index, self) else {
        reader.leaveOut(.unique, index.isIndex ? index.name : "", SchemaRefusal(.unique))
        continue
      }
      if let sql = index.sql { reader.index(index.name, sql, isUnique: true) } else { reader.constraint(index, self) }
    }
    for index in indexes { reader.index(index.name, index.sql, isUnique: false) }
    for column in columns where column.generated != .no {
      reader.leaveOut(.generated, column.name, SchemaRefusal(.program))
    }
    for trigger in triggers { reader.leaveOut(.trigger, trigger, SchemaRefusal(.program)) }
    reader.rules.leaveOut(reader.leftOut)
    return reader.rules
  }
}

/// Reads the texts that SQLite keeps in `sqlite_schema`. SQLite created tables and indexes from them, so their form is
/// known.
private struct RulesReader {
  let table: String
  let columns: Set<FoldedName>
  var rules = SchemaRules()
  var leftOut: [SchemaRules.LeftOut] = []

  init(table: String, columns: Set<FoldedName>) {
    self.table = table
    self.columns = columns
  }

  mutating func leaveOut(_ part: SchemaRules.LeftOut.Part, _ name: String, _ refusal: SchemaRefusal) {
    leftOut.append(.init(part, name, refusal))
  }

  mutating func initial(_ column: String, _ sql: String) {
    do throws(SchemaRefusal) {
      let expression = try SchemaExpression(sql: sql, in: .initial, table: table, columns: [])
      rules.defaults.append(.init(column: column, expression: expression))
      try requireRoom { $0.defaults.removeLast() }
    } catch {
      leaveOut(.initial, column, error)
    }
  }

  /// Reads the `CHECK`s. No column, type or table is called `CHECK` without quotes.
  mutating func checks(_ sql: String) {
    guard let tokens = try? SQLTokens.all(sql) else { return leaveOut(.check, "", SchemaRefusal(.syntax)) }
    var depth = 0
    for index in tokens.indices {
      if tokens[index] == .symbol("(") { depth += 1 }
      if tokens[index] == .symbol(")") { depth -= 1 }
      guard depth == 1, tokens[index].keyword == "check", let inside = tokens[(index + 1)...].grouped else { continue }
      let isNamed = index >= 2 && tokens[index - 2].keyword == "constraint"
      check(isNamed ? tokens[index - 1].name : nil, inside)
    }
  }

  private mutating func check(_ name: String?, _ tokens: ArraySlice<SQLToken>) {
    do throws(SchemaRefusal) {
      guard rules.checks.count < SchemaRules.checkLimit else { throw SchemaRefusal(.number) }
      rules.checks.append(.init(name: name, expression: try expression(tokens)))
      try requireRoom { $0.checks.removeLast() }
    } catch {
      leaveOut(.check, name ?? "", error)
    }
  }

  mutating func index(_ name: String, _ sql: String, isUnique: Bool) {
    do throws(SchemaRefusal) {
      guard rules.indexes.count < SchemaRules.indexLimit else { throw SchemaRefusal(.number) }
      let tokens = try SQLTokens.all(sql)
      guard let start = tokens.firstIndex(of: .symbol("(")), let inside = tokens[start...].grouped else {
        throw SchemaRefusal(.syntax)
      }
      var terms: [SchemaRules.Term] = []
      for term in inside.parts { terms.append(try self.term(term)) }
      let rest = tokens[(inside.endIndex + 1)...]
      let condition = rest.first?.keyword == "where" ? try expression(rest.dropFirst()) : nil
      guard terms.count <= SchemaRules.termLimit else { throw SchemaRefusal(.number) }
      rules.indexes.append(.init(name: name, isUnique: isUnique, terms: terms, condition: condition))
      try requireRoom { $0.indexes.removeLast() }
    } catch {
      leaveOut(.index, name, error)
    }
  }

  /// Adds a `UNIQUE` constraint that the key implies.
  mutating func constraint(_ index: TableSchema.UniqueIndex, _ schema: TableSchema) {
    let terms = zip(index.columns, index.collations).compactMap { name, collation -> SchemaRules.Term? in
      guard let name, columns.contains(name.folded), let known = ColumnCollation(sql: collation) else { return nil }
      let isOwn = schema.column(name)?.collation.folded == collation.folded
      return SchemaRules.Term(isOwn ? .column(name) : .collate(.column(name), known))
    }
    guard terms.count == index.columns.count, rules.indexes.count < SchemaRules.indexLimit else {
      return leaveOut(.unique, "", SchemaRefusal(.column, index.columns.compactMap(\.self).joined(separator: ", ")))
    }
    rules.indexes.append(.init(name: nil, isUnique: true, terms: terms))
  }

  private func term(_ tokens: ArraySlice<SQLToken>) throws(SchemaRefusal) -> SchemaRules.Term {
    let order = tokens.last?.keyword
    let isOrdered = tokens.count > 1 && (order == "asc" || order == "desc")
    return SchemaRules.Term(
      try expression(isOrdered ? tokens.dropLast() : tokens), isDescending: isOrdered && order == "desc")
  }

  private func expression(_ tokens: ArraySlice<SQLToken>) throws(SchemaRefusal) -> SchemaExpression {
    try SchemaExpression(tokens: tokens, in: .row, table: table, columns: columns)
  }

  /// Throws if the rules take more than half of the allowed bytes. The other half is for the list of parts that are
  /// left out.
  private mutating func requireRoom(_ undo: (inout SchemaRules) -> Void) throws(SchemaRefusal) {
    guard rules.encoded.count > SchemaRules.byteLimit / 2 else { return }
    undo(&rules)
    throw SchemaRefusal(.number)
  }
}

extension ArraySlice<SQLToken> {
  /// The content of the parentheses with which the tokens begin, or nil if they don't begin with any.
  fileprivate var grouped: ArraySlice<SQLToken>? {
    guard first == .symbol("(") else { return nil }
    var depth = 0
    for index in indices {
      if self[index] == .symbol("(") { depth += 1 }
      if self[index] == .symbol(")") { depth -= 1 }
      if depth == 0 { return self[(startIndex + 1)..<index] }
    }
    return nil
  }

  /// The parts that are separated by commas outside of parentheses.
  fileprivate var parts: [ArraySlice<SQLToken>] {
    var (parts, depth, start) = ([ArraySlice<SQLToken>](), 0, startIndex)
    for index in indices {
      if self[index] == .symbol("(") { depth += 1 }
      if self[index] == .symbol(")") { depth -= 1 }
      guard depth == 0, self[index] == .symbol(",") else { continue }
      parts.append(self[start..<index])
      start = index + 1
    }
    return parts + [self[start..<endIndex]]
  }
}
