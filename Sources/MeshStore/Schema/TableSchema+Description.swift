import MeshCore

extension TableSchema {
  /// The table as data for other nodes. Nil if it has no single-column key with a built-in collation.
  ///
  /// Parts that the grammar of expressions doesn't include are left out and named in the rules. They are generated
  /// columns, triggers, custom collations, and some defaults, `CHECK`s and indexes. A declared type that others would
  /// not accept is replaced by one with the same affinity.
  var travelling: SchemaDescription? {
    let columns = columns.filter { $0.generated == .no }
    guard let key = columns.firstIndex(where: \.isKey), KeyForm(self) != nil else { return nil }
    var description = SchemaDescription(
      name: name, columns: columns.map { travelling($0) }, key: key,
      foreignKeys: foreignKeys.compactMap { reference in
        guard reference.columns.count == 1,
          let column = columns.firstIndex(where: {
            $0.name.folded == reference.columns[0].folded
          })
        else { return nil }
        return .init(
          column: column, parent: reference.parent, onDelete: reference.onDelete, onUpdate: reference.onUpdate)
      },
      isStrict: isStrict, isWithoutRowid: isWithoutRowid, isAutoincrement: isAutoincrement)
    guard (try? description.check()) != nil else { return nil }
    description.rules = rules(for: description)
    // The name of a constraint or an index may be one that no other device accepts.
    if (try? description.check()) == nil { description.rules = nil }
    return description
  }

  private func travelling(_ column: Column) -> SchemaDescription.Column {
    let words = column.declaredType.split(separator: " ").joined(separator: " ")
    return SchemaDescription.Column(
      name: column.name,
      declaredType: SchemaDescription.isDeclaredType(words) ? words : column.affinity.typeName,
      notNull: column.notNull || column.isKey,
      collation: ColumnCollation(sql: column.collation) ?? .binary,
      defaultValue: column.defaultValue.flatMap { $0.isSmallDefault ? $0 : nil })
  }
}

extension Value {
  fileprivate var isSmallDefault: Bool {
    switch self {
    case .text(let bytes): bytes.count <= SchemaDescription.defaultLimit && !bytes.contains(0)
    case .blob(let bytes): bytes.count <= SchemaDescription.defaultLimit
    case .null, .integer, .real: true
    case .asset: false
    }
  }
}
