import MeshCore

/// Makes random transactions. Keys come from a small pool, so that nodes write the same records. Values are almost
/// always new, so that each can be followed.
struct AppWriter: Sendable {
  var generator: SplitMix64
  var written = 0
  let node: Int
  /// Its account and the number of accounts, if there are several. Each account has records of its own.
  let place: (account: Int, of: Int)?
  /// Whether its device is the first one of its account.
  let isFirstDevice: Bool
  /// The keys in its tables, if there are several accounts. Most writes use these.
  var known: [String: [Value]] = [:]
  private let plan: FaultPlan
  /// The unusual actions, by their keys in a plan. The code that counts them empties the list.
  var oddities: [String] = []
  /// The number of keys for each table.
  private static let pool = 10
  /// The greatest number of keys in the table with thousands of rows.
  private static let stockBound = 20_000

  init(
    node: Int, place: (account: Int, of: Int)? = nil, isFirstDevice: Bool = false, plan: FaultPlan,
    generator: SplitMix64
  ) {
    self.node = node
    self.isFirstDevice = isFirstDevice
    self.place = place
    self.plan = plan
    self.generator = generator
  }

  /// - Parameter added: The columns that exist besides the first ones, as `table.column`.
  mutating func next(added: Set<String> = []) -> AppTransaction {
    if plan.counts > 0, generator.once(in: plan.counts) {
      return AppTransaction(statements: [.tally(tally())], ending: generator.once(in: 12) ? .rollback : .commit)
    }
    if let odd = odd() { return AppTransaction(statements: [odd], ending: .commit) }
    let count = generator.once(in: 3) ? Int.random(in: 2...5, using: &generator) : 1
    let statements = (0..<count).map { _ in place == nil ? statement(added) : sharedStatement(added) }
    return AppTransaction(
      statements: statements, ending: generator.once(in: 12) ? .rollback : .commit,
      savepoint: count > 2 && generator.once(in: 4) ? Int.random(in: 1..<count, using: &generator) : nil)
  }

  private mutating func odd() -> AppTransaction.Statement? {
    let (isGroup, isBulk, isLong) = (
      generator.once(in: place == nil ? 8 : 12), generator.once(in: plan.bulkWrites),
      generator.once(in: plan.longValues)
    )
    let isPhoto = generator.once(in: plan.photos)
    written += 1
    if isBulk {
      oddities.append("writers.bulk")
      let count = min(Self.stockBound, Int.random(in: plan.bulkSize, using: &generator))
      if place != nil, generator.once(in: 2) { return fill(count) }
      return .bulk(count: count, amount: generator.once(in: 4) ? nil : node * 100_000 + written)
    }
    if isLong {
      oddities.append("writers.longValues")
      return long(Int.random(in: plan.longSize, using: &generator))
    }
    if isPhoto {
      oddities.append("assets.photos")
      return photo()
    }
    guard isGroup else { return nil }
    return .group(Int.random(in: 0..<AppSchema.groups, using: &generator), value: .text("n\(node)-\(written)"))
  }

  private mutating func long(_ size: Int) -> AppTransaction.Statement {
    if generator.once(in: 2) {
      // Each BLOB is different: its bytes repeat, but their beginning doesn't.
      let bytes = Array("n\(node)-\(written) ".utf8)
      return .upsert(
        table: "folder",
        values: [
          "id": keyOfLong("folder"),
          "name": .text((0..<size).map { bytes[$0 % bytes.count] }),
        ])
    }
    let seed = generator.bytes(64)
    return .upsert(
      table: "tag",
      values: [
        "name": keyOfLong("tag"),
        "note": .blob((0..<size).map { seed[$0 % 64] }),
      ])
  }

  private mutating func keyOfLong(_ name: String) -> Value {
    if let table = AppSchema.table(name), place != nil { return sharedKey(table, isNew: false) }
    return .text("\(name)\(Int.random(in: 0..<Self.pool, using: &generator))")
  }

  /// Returns one of a few BLOBs. All writers use the same ones.
  private mutating func photo() -> AppTransaction.Statement {
    var content = SplitMix64(seed: UInt64(Int.random(in: 0..<6, using: &generator)))
    let seed = content.bytes(64)
    let size = Int.random(in: plan.longSize, using: &content)
    let photo = Value.blob((0..<size).map { seed[$0 % 64] })
    guard let item = AppSchema.table("item"), let list = AppSchema.table("list") else {
      return .bulk(count: 0, amount: 0)
    }
    if generator.once(in: 2) { return .update(table: item.name, key: key(item), values: ["photo": photo]) }
    return .upsert(table: item.name, values: ["id": key(item), "list": key(list), "photo": photo])
  }

  private mutating func statement(_ added: Set<String>) -> AppTransaction.Statement {
    let table = AppSchema.mixed[Int.random(in: 0..<AppSchema.mixed.count, using: &generator)]
    let columns = table.columns.filter { !$0.isAdded || added.contains("\(table.name).\($0.name)") }
    let key = key(table)
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<6: return .insert(table: table.name, values: row(table, columns, key))
    case 6..<8: return .upsert(table: table.name, values: row(table, columns, key))
    case 8: return .replace(table: table.name, values: row(table, columns, key))
    case 9..<16: return .update(table: table.name, key: key, values: edit(table, columns))
    case 16:
      let column = plain(table, columns)
      return .updateAll(table: table.name, column: column.name, value: value(table, column))
    case 17: return .rename(table: table.name, key: key, to: self.key(table))
    default: return .delete(table: table.name, key: key)
    }
  }

  mutating func key(_ table: AppSchema.Table) -> Value {
    if place != nil { return sharedKey(table, isNew: false) }
    let name = "\(table.name)\(Int.random(in: 0..<Self.pool, using: &generator))"
    return .text(table.keyCollation == .nocase && generator.once(in: 2) ? name.uppercased() : name)
  }

  mutating func row(
    _ table: AppSchema.Table, _ columns: [AppSchema.Column], _ key: Value
  ) -> [String: Value] {
    var values: [String: Value] = [:]
    for column in columns where column.name != table.key {
      if column.reference == nil, generator.once(in: 5) { continue }
      values[column.name] = value(table, column)
    }
    values[table.key] = key
    return values
  }

  mutating func edit(_ table: AppSchema.Table, _ columns: [AppSchema.Column]) -> [String: Value] {
    var values: [String: Value] = [:]
    for _ in 0..<Int.random(in: 1...2, using: &generator) {
      let column = columns[Int.random(in: 0..<columns.count, using: &generator)]
      if column.name == table.key { continue }
      values[column.name] = value(table, column)
    }
    if values.isEmpty {
      let column = plain(table, columns)
      values[column.name] = value(table, column)
    }
    return values
  }

  /// Returns a column that is neither key nor reference.
  mutating func plain(_ table: AppSchema.Table, _ columns: [AppSchema.Column]) -> AppSchema.Column {
    let columns = columns.filter { $0.name != table.key && $0.reference == nil }
    return columns[Int.random(in: 0..<columns.count, using: &generator)]
  }

  mutating func value(_ table: AppSchema.Table, _ column: AppSchema.Column) -> Value {
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
    // Sometimes a text differs from another one only in case, or is long.
    switch Int.random(in: 0..<12, using: &generator) {
    case 0: .text("Milk")
    case 1: .text("milk")
    case 2: .text(String(repeating: "long n\(node)-\(written) ", count: 200))
    default: .text("n\(node)-\(written)")
    }
  }
}
