public import MeshCore

extension Store {
  /// A column that another device's table has in another form: the two can show one record differently, or one hold what the
  /// other shows.
  public struct SchemaDifference: Hashable, Sendable {
    public let device: DeviceID
    public let table: String
    public let column: String
    /// It is the key: records that are two for one can be one for the other.
    public let isKey: Bool
    /// Its definition in this file, as SQL.
    public let here: String
    public let there: String
  }

  /// Of synchronized tables, as far as descriptions tell: other spellings of one type, and collations, which the
  /// identity of records alone depends on, are no difference.
  public func schemaDifferences() throws -> [SchemaDifference] {
    try read { session in
      let tables = try TrackedTable.all(session.db).compactMap { $0.schema?.travelling }
      let own = Dictionary(tables.map { ($0.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
      let others = try session.sql.all("SELECT device, bytes FROM mesh_foreign_schema ORDER BY name, device") { row in
        var reader = ByteReader(row.bytes(1))
        return (device: DeviceID(row.bytes(0)), table: try SchemaDescription(from: &reader))
      }
      return others.flatMap { other in
        guard let device = other.device, let here = own[other.table.name.folded] else {
          return [SchemaDifference]()
        }
        return here.differences(from: other.table).map { (index, there) in
          SchemaDifference(
            device: device, table: here.name, column: here.columns[index].name,
            isKey: index == here.key || there == other.table.key, here: here.definition(index),
            there: other.table.definition(there))
        }
      }
    }
  }
}

extension SchemaDescription {
  /// Places of one column in each.
  fileprivate func differences(from other: SchemaDescription) -> [(Int, Int)] {
    let (here, there) = (comparable, other.comparable)
    let places = Dictionary(
      there.columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    return here.columns.enumerated().compactMap { index, column in
      guard let place = places[column.name], here.definition(index) != there.definition(place)
      else { return nil }
      return (index, place)
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
