public import MeshCore

extension Store {
  /// A column, a `CHECK` or an index that another device's table has in another form: the two can show one record differently, or
  /// one hold what the other shows.
  public struct SchemaDifference: Hashable, Sendable {
    public let device: DeviceID
    public let table: String
    /// Empty for a `CHECK` or an index.
    public let column: String
    /// It is the key: records that are two for one can be one for the other.
    public let isKey: Bool
    /// Its definition in this file, as SQL; empty for a `CHECK` or an index that this file lacks.
    public let here: String
    public let there: String
  }

  /// Of synchronized tables, as far as descriptions tell: other spellings of one type, and collations, which the
  /// identity of records alone depends on, are no difference. What a table computes is compared with devices that told it.
  ///
  /// - Parameter trusts: Devices whose expressions count.
  public func schemaDifferences(trusts: (DeviceID) -> Bool = { _ in true }) throws -> [SchemaDifference] {
    try read { session in
      let tables = try TrackedTable.all(session.db).compactMap { $0.schema?.travelling }
      let own = Dictionary(tables.map { ($0.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
      let others = try session.foreignDescriptions(trusts: trusts)
      return others.flatMap { other in
        guard let here = own[other.table.name.folded] else { return [SchemaDifference]() }
        let columns = here.differences(from: other.table).map { (index, there) in
          SchemaDifference(
            device: other.device, table: here.name, column: here.columns[index].name,
            isKey: index == here.key || there == other.table.key, here: here.definition(index),
            there: other.table.definition(there))
        }
        let rules = here.rulesBesides(other.table).map { ($0, "") } + other.table.rulesBesides(here).map { ("", $0) }
        return columns
          + rules.map { here, there in
            SchemaDifference(
              device: other.device, table: other.table.name, column: "", isKey: false, here: here, there: there)
          }
      }
    }
  }
}

extension SchemaDescription {
  /// Places of one column in each.
  fileprivate func differences(from other: SchemaDescription) -> [(Int, Int)] {
    var (here, there) = (comparable, other.comparable)
    // One of them didn't say what it computes.
    if rules == nil || other.rules == nil { (here.rules, there.rules) = (nil, nil) }
    let places = Dictionary(
      there.columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    return here.columns.enumerated().compactMap { index, column in
      guard let place = places[column.name], here.definition(index) != there.definition(place)
      else { return nil }
      return (index, place)
    }
  }

  /// The `CHECK`s and indexes that the other lacks, as far as it has their columns; none where it didn't say which it has.
  fileprivate func rulesBesides(_ other: SchemaDescription) -> [String] {
    guard let rules, let others = other.rules else { return [] }
    let known = Set(other.columns.map(\.name.folded))
    let (checks, indexes) = (Set(others.checks.map(\.comparable)), Set(others.indexes.map(\.comparable)))
    return rules.checks.filter { !checks.contains($0.comparable) && $0.expression.columns.isSubset(of: known) }.map(
      \.sql)
      + rules.indexes.filter { !indexes.contains($0.comparable) && $0.columns.isSubset(of: known) }.map {
        $0.sql(table: name)
      }
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
  /// Its name changes nothing.
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
