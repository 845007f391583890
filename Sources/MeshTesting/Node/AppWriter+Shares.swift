import MeshCore

/// Transactions if there are several accounts. Each account has records with its own keys, and sometimes uses another
/// account's key.
extension AppWriter {
  /// The number of keys for each table and account.
  private static let pool = 4
  /// One new record in this many has a key of another account.
  private static let strangeKeys = 10
  /// One statement in this many on a record that can be shared deletes the record or changes its key.
  private static let rootDeletes = 25

  /// Returns a statement that writes to many rows of one list, so that they move with it between zones, or deletes them.
  mutating func fill(_ count: Int) -> AppTransaction.Statement {
    guard let list = AppSchema.table("list"), !generator.once(in: 4) else { return .empty }
    return .fill(list: sharedKey(list, isNew: false), count: count, title: .text("n\(node)-\(written)"))
  }

  mutating func sharedStatement(_ added: Set<String>) -> AppTransaction.Statement {
    let names = ["list", "list", "list", "item", "item", "item", "item", "step", "step", "step", "tag", "folder"]
    let name = names[Int.random(in: 0..<names.count, using: &generator)]
    guard let table = AppSchema.table(name) else { return .delete(table: name, key: .null) }
    let columns = table.columns.filter { !$0.isAdded || added.contains("\(table.name).\($0.name)") }
    let key = sharedKey(table, isNew: false)
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<6: return .insert(table: name, values: row(table, columns, sharedKey(table, isNew: true)))
    case 6: return .upsert(table: name, values: row(table, columns, sharedKey(table, isNew: true)))
    case 7 where !table.isRoot: return .replace(table: name, values: row(table, columns, key))
    case 8 where generator.once(in: 3):
      let column = plain(table, columns)
      return .updateAll(table: name, column: column.name, value: value(table, column))
    case 9..<13 where !table.isRoot: return .update(table: name, key: key, values: reparented(table))
    case 13 where !table.isRoot || generator.once(in: Self.rootDeletes):
      return .rename(table: name, key: key, to: sharedKey(table, isNew: true))
    case 14..<16 where !table.isRoot || generator.once(in: Self.rootDeletes): return .delete(table: name, key: key)
    default: return .update(table: name, key: key, values: edit(table, columns))
    }
  }

  /// Returns values with another parent, from any zone.
  private mutating func reparented(_ table: AppSchema.Table) -> [String: Value] {
    var values: [String: Value] = [:]
    for column in table.firstColumns where column.reference != nil { values[column.name] = value(table, column) }
    return values
  }

  mutating func sharedKey(_ table: AppSchema.Table, isNew: Bool) -> Value {
    guard let place else { return .null }
    if !isNew, let key = known[table.name]?.randomElement(using: &generator), !generator.once(in: 6) { return key }
    let isOwn = generator.once(in: 2) || isNew && !generator.once(in: Self.strangeKeys)
    let account = isOwn ? place.account : Int.random(in: 0..<place.of, using: &generator)
    let number = Int.random(in: 0..<Self.pool, using: &generator)
    let name = "\(table.name)\(number)\(UnicodeScalar(UInt8(97 + account)))"
    return .text(table.keyCollation == .nocase && generator.once(in: 2) ? name.uppercased() : name)
  }
}
