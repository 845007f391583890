package import MeshCore

extension StoreSchema {
  /// A column, a `CHECK` or an index that has another form in another device's table. The two devices can show one
  /// record differently, or one may hold a record that the other shows.
  package struct Difference: Hashable, Sendable {
    package let device: DeviceID
    package let table: String
    /// The column, or an empty text for a `CHECK`, an index or `STRICT`.
    package let column: String
    /// True if the tables compare keys differently. Then one device may treat as one record what are two records for the
    /// other.
    package let isKey: Bool
    /// Its definition in this file, as SQL. Empty for a `CHECK`, an index or `STRICT` that this file doesn't have.
    package let here: String
    package let there: String
  }

  /// Returns the differences of synchronized tables, as far as descriptions show them. Other spellings of one type are
  /// no difference. Neither are collations, except for the key's, because only the identity of records depends on it.
  /// Expressions are compared with those of devices that sent them.
  ///
  /// If this file lacks a table or a column that other devices describe differently, the form that `adopt` makes is
  /// compared with the others.
  ///
  /// - Parameter trusts: Returns whether a device's expressions count.
  package func differences(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [Difference] {
    let wanted = try foreign(trusts: trusts)
    return try read { transaction in
      let tables = try TrackedTable.all(transaction.db).compactMap { $0.schema?.travelling }
      let own = Dictionary(tables.map { ($0.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
      let others = try ForeignSchemas(transaction: transaction).list(trusts: trusts)
      let adopted = Dictionary(wanted.map { ($0.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
      return others.flatMap { other in
        let name = other.table.name.folded
        let here = own[name]
        let known = Set(here?.columns.map(\.name.folded) ?? [])
        let lacking = adopted[name].map { $0.differences(from: other.table, on: other.device) { !known.contains($0) } }
        return (here?.differences(from: other.table, on: other.device) { _ in true } ?? []) + (lacking ?? [])
      }
    }
  }
}

extension SchemaDescription {
  /// Returns the differences from a device's table that concern some columns.
  fileprivate func differences(
    from other: SchemaDescription, on device: DeviceID, _ concerns: (FoldedName) -> Bool
  ) -> [StoreSchema.Difference] {
    let different = differences(from: other).filter { concerns(columns[$0.0].name.folded) }.map { (index, there) in
      StoreSchema.Difference(
        device: device, table: name, column: columns[index].name, isKey: identity(index) != other.identity(there),
        here: definition(index), there: other.definition(there))
    }
    var rules = rulesBesides(other, concerns).map { ($0, "") } + other.rulesBesides(self, concerns).map { ("", $0) }
    if isStrict != other.isStrict, concerns(columns[key].name.folded) {
      rules.append(isStrict ? ("STRICT", "") : ("", "STRICT"))
    }
    return different
      + rules.map { here, there in
        StoreSchema.Difference(device: device, table: other.name, column: "", isKey: false, here: here, there: there)
      }
  }
}

extension SchemaDescription {
  /// Returns what a column contributes to the identity of records, or nil if it isn't the key. A default of the key, or
  /// its being a reference, changes nothing about that.
  private func identity(_ index: Int) -> [String]? {
    guard index == key else { return nil }
    let affinity = Affinity(declaredType: columns[index].declaredType, isStrict: isStrict)
    return [affinity.typeName, columns[index].collation.sql]
  }

  /// Returns whether one device may treat as one record what are two records for the other.
  func hasOtherKeys(than other: SchemaDescription) -> Bool { identity(key) != other.identity(other.key) }

  /// Returns why a table can't be synchronized whose key isn't that of this description, and the ways out.
  func needsItsKey(in other: SchemaDescription) -> String {
    "its primary key is \(other.definition(other.key)) here and \(definition(key)) on another device, so the two would not "
      + "agree which rows are one record; re-create the table here with that key, or copy its rows into a table of "
      + "another name"
  }

  /// Returns the differing columns, as their indexes in both tables.
  fileprivate func differences(from other: SchemaDescription) -> [(Int, Int)] {
    var (here, there) = (comparable, other.comparable)
    // One of them didn't send its expressions.
    if rules == nil || other.rules == nil { (here.rules, there.rules) = (nil, nil) }
    let places = Dictionary(
      there.columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    return here.columns.enumerated().compactMap { index, column in
      guard let place = places[column.name], here.definition(index) != there.definition(place)
      else { return nil }
      return (index, place)
    }
  }

  /// Returns the `CHECK`s and indexes that the other table lacks, as far as it has their columns and one of them is
  /// concerned. Returns none if the other device didn't send its own.
  fileprivate func rulesBesides(_ other: SchemaDescription, _ concerns: (FoldedName) -> Bool) -> [String] {
    guard let rules, let others = other.rules else { return [] }
    let known = Set(other.columns.map(\.name.folded))
    func matters(_ columns: Set<FoldedName>) -> Bool {
      columns.isSubset(of: known) && (columns.isEmpty || columns.contains(where: concerns))
    }
    let (checks, indexes) = (Set(others.checks.map(\.comparable)), Set(others.indexes.map(\.comparable)))
    return rules.checks.filter { !checks.contains($0.comparable) && matters($0.expression.columns) }.map(\.sql)
      + rules.indexes.filter { !indexes.contains($0.comparable) && matters($0.columns) }.map { $0.sql(table: name) }
  }

  private var comparable: SchemaDescription {
    var copy = self
    copy.isAutoincrement = false
    for index in columns.indices {
      let affinity = Affinity(declaredType: columns[index].declaredType, isStrict: isStrict)
      copy.columns[index].name = columns[index].name.asciiLowercased
      copy.columns[index].declaredType = affinity.typeName
      if index != key { copy.columns[index].collation = .binary }
      if columns[index].defaultValue == .null { copy.columns[index].defaultValue = nil }
    }
    for index in foreignKeys.indices { copy.foreignKeys[index].parent = foreignKeys[index].parent.asciiLowercased }
    return copy
  }
}

extension SchemaRules.Check {
  /// The expression in a form for comparing. The name of a `CHECK` has no effect.
  fileprivate var comparable: SchemaExpression { expression.normalized }
}

extension SchemaRules.Index {
  fileprivate var comparable: SchemaRules.Index {
    SchemaRules.Index(
      name: name?.asciiLowercased, isUnique: isUnique,
      terms: terms.map { SchemaRules.Term($0.expression.normalized, isDescending: $0.isDescending) },
      condition: condition?.normalized)
  }
}
