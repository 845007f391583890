import MeshCore

/// What a simulated app does at once.
struct AppTransaction: Sendable {
  enum Statement: Sendable {
    case insert(table: String, values: [String: Value])
    case upsert(table: String, values: [String: Value])
    case replace(table: String, values: [String: Value])
    case update(table: String, key: Value, values: [String: Value])
    /// One column of every row: a statement with many rows.
    case updateAll(table: String, column: String, value: Value)
    case delete(table: String, key: Value)
    case rename(table: String, key: Value, to: Value)
  }

  enum Ending: Sendable { case commit, rollback }

  var statements: [Statement]
  var ending: Ending
  /// Statements from here on run in a savepoint that is rolled back.
  var savepoint: Int?
}

extension AppTransaction.Statement: CustomStringConvertible {
  var description: String {
    func text(_ values: [String: Value]) -> String {
      values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.shown)" }.joined(separator: " ")
    }
    return switch self {
    case .insert(let table, let values): "insert \(table) \(text(values))"
    case .upsert(let table, let values): "upsert \(table) \(text(values))"
    case .replace(let table, let values): "replace \(table) \(text(values))"
    case .update(let table, let key, let values): "update \(table)/\(key.shown) \(text(values))"
    case .updateAll(let table, let column, let value): "update \(table) all \(column)=\(value.shown)"
    case .delete(let table, let key): "delete \(table)/\(key.shown)"
    case .rename(let table, let key, let to): "rename \(table)/\(key.shown) to \(to.shown)"
    }
  }
}

/// Makes random transactions. Keys come from a small pool, so that nodes meet; values are almost all new, so that each can be
/// followed.
struct AppWriter: Sendable {
  private var generator: SplitMix64
  private var written = 0
  private let node: Int
  /// Keys per table.
  private static let pool = 10

  init(node: Int, generator: SplitMix64) {
    self.node = node
    self.generator = generator
  }

  mutating func next() -> AppTransaction {
    let count = generator.once(in: 3) ? Int.random(in: 2...5, using: &generator) : 1
    let statements = (0..<count).map { _ in statement() }
    return AppTransaction(
      statements: statements, ending: generator.once(in: 12) ? .rollback : .commit,
      savepoint: count > 2 && generator.once(in: 4) ? Int.random(in: 1..<count, using: &generator) : nil)
  }

  private mutating func statement() -> AppTransaction.Statement {
    let table = AppSchema.tables[Int.random(in: 0..<AppSchema.tables.count, using: &generator)]
    let key = key(table)
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<6: return .insert(table: table.name, values: row(table, key))
    case 6..<8: return .upsert(table: table.name, values: row(table, key))
    case 8: return .replace(table: table.name, values: row(table, key))
    case 9..<16: return .update(table: table.name, key: key, values: edit(table))
    case 16:
      let column = plain(table)
      return .updateAll(table: table.name, column: column.name, value: value(table, column))
    case 17: return .rename(table: table.name, key: key, to: self.key(table))
    default: return .delete(table: table.name, key: key)
    }
  }

  private mutating func key(_ table: AppSchema.Table) -> Value {
    let name = "\(table.name)\(Int.random(in: 0..<Self.pool, using: &generator))"
    return .text(table.keyCollation == .nocase && generator.once(in: 2) ? name.uppercased() : name)
  }

  private mutating func row(_ table: AppSchema.Table, _ key: Value) -> [String: Value] {
    var values: [String: Value] = [:]
    for column in table.columns where column.name != table.key {
      if column.reference == nil, generator.once(in: 5) { continue }
      values[column.name] = value(table, column)
    }
    values[table.key] = key
    return values
  }

  private mutating func edit(_ table: AppSchema.Table) -> [String: Value] {
    var values: [String: Value] = [:]
    for _ in 0..<Int.random(in: 1...2, using: &generator) {
      let column = table.columns[Int.random(in: 0..<table.columns.count, using: &generator)]
      if column.name == table.key { continue }
      values[column.name] = value(table, column)
    }
    if values.isEmpty {
      let column = plain(table)
      values[column.name] = value(table, column)
    }
    return values
  }

  /// A column that is neither key nor reference.
  private mutating func plain(_ table: AppSchema.Table) -> AppSchema.Column {
    let columns = table.columns.filter { $0.name != table.key && $0.reference == nil }
    return columns[Int.random(in: 0..<columns.count, using: &generator)]
  }

  private mutating func value(_ table: AppSchema.Table, _ column: AppSchema.Column) -> Value {
    if let reference = column.reference, let parent = AppSchema.table(reference.parent) {
      return !reference.cascades && generator.once(in: 3) ? .null : key(parent)
    }
    written += 1
    switch (table.name, column.name) {
    case (_, "rank"): return generator.once(in: 6) ? .null : .real(Double(written) / 4)
    case (_, "done"), (_, "color"): return .integer(Int64(node * 100_000 + written))
    case (_, "photo"): return .blob(generator.bytes(generator.once(in: 8) ? 3_000 : written % 40))
    case ("list", "title"): return text()
    default: return generator.once(in: 10) ? .null : text()
    }
  }

  private mutating func text() -> Value {
    // Now and then a text that differs from another only in case, or is long.
    switch Int.random(in: 0..<12, using: &generator) {
    case 0: .text("Milk")
    case 1: .text("milk")
    case 2: .text(String(repeating: "long n\(node)-\(written) ", count: 200))
    default: .text("n\(node)-\(written)")
    }
  }
}
