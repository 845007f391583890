import MeshCore
import MeshStore

/// The model store as a node's database. It has no disk and no foreign keys, and holds no records back.
final class ModelDatabase: SimulatedDatabase {
  private let store: ModelStore
  private var isNew = true
  /// The store's count of writes at the last look.
  private var seen = 0
  private var looked = 0

  init(_ cryptography: any Cryptography) { store = ModelStore(cryptography) }

  var disk: VirtualDisk? { nil }
  var refusals: Int { 0 }
  /// Assets are kept permanently.
  func needlessAssets() -> [AssetID] { [] }
  var sqlite: Store? { nil }
  var added: Set<String> { [] }
  var columns: [String: Set<String>] { [:] }
  var strict: Set<String> { [] }
  var unique: Set<String> { [] }
  var referring: Set<String> { [] }
  var untracked: Set<String> { [] }
  var away: Set<String> { [] }
  var spelling: Spelling { .plain }
  func isInStep() -> Bool { true }
  func isReverting() -> Bool { false }
  func mergedIDs() -> Set<ChangeSetID> { store.mergedIDs }
  func receipts(_ zone: ZoneID) -> [Receipt] { store.receipts(zone) }
  func rescan() {}
  func beforeTransaction(_ count: Int, _ body: (() -> Void)?) {}
  func restoreLive(from files: [String: [UInt8]]) {}
  func dropPermissions() {}

  func open() -> any ReplicaStore {
    isNew = true
    return store
  }

  func setTracked(_ table: String, _ isTracked: Bool) {}

  func hasChanged() -> Bool {
    defer { (isNew, seen) = (false, store.writes) }
    return isNew || seen != store.writes
  }

  func contents(_ tables: [String]?) -> Contents {
    tables.map { tables in store.rows.filter { tables.contains($0.key.table) } } ?? store.rows
  }
  func changedContents() -> Contents? {
    defer { looked = store.writes }
    return looked == store.writes ? nil : store.rows
  }

  /// Returns what cuts have reverted. Without it, every write of a revoked device that another node had merged would
  /// count as lost. A write that no cut has kept still does.
  func kept() -> Set<Ledger.Fact> {
    var facts: Set<Ledger.Fact> = []
    for (name, states) in store.kept {
      for state in states {
        if !state.isAlive { facts.insert(.delete(name)) }
        for (column, cell) in state.cells {
          facts.insert(.value(Ledger.CellName(record: name, column: column), cell.value))
        }
      }
    }
    return facts
  }

  func held(_ zone: ZoneID) -> [RecordName: String] { [:] }
  func shownHereOnly() -> Set<RecordName> { [] }
  func recordHashes(_ zone: ZoneID) -> [RecordName: [UInt8]]? { nil }
  func damage() -> String? { nil }
  func conflicts() -> Set<LostValue>? { nil }
  func groups() -> [Int: (rows: Int, values: [Value])] {
    var groups: [Int: (rows: Int, values: [Value])] = [:]
    for group in 0..<AppSchema.groups {
      let rows = (0..<AppSchema.groupSize).compactMap { store.rows[Self.leg(group, $0)] }
      if !rows.isEmpty { groups[group] = (rows.count, Set(rows.compactMap { $0["value"] }).sorted()) }
    }
    return groups
  }
  /// Does nothing: every call that returned is kept, as after a commit.
  func closeStore() {}
  func crash(losesUnsynced: Bool) {}
  func close() {}

  private static func leg(_ group: Int, _ row: Int) -> RecordName {
    RecordName(table: AppSchema.leg.name, key: .text("g\(group)-\(row)"))
  }

  func run(_ transaction: AppTransaction) throws -> Bool {
    let before = store.checkpoint
    for (index, statement) in transaction.statements.enumerated() {
      if let savepoint = transaction.savepoint, index >= savepoint { break }
      guard run(statement) else {
        store.restore(before)
        return false
      }
    }
    guard transaction.ending == .commit else {
      store.restore(before)
      return false
    }
    return true
  }

  /// Runs a statement. Returns false if the real database would refuse it.
  private func run(_ statement: AppTransaction.Statement) -> Bool {
    switch statement {
    case .insert(let table, let values):
      guard let name = name(table, values), store.rows[name] == nil else { return false }
      store.write(name, full(table, values))
    case .upsert(let table, let values):
      guard let name = name(table, values) else { return false }
      store.write(name, store.rows[name] == nil ? full(table, values) : without(table, values))
    case .replace(let table, let values):
      guard let name = name(table, values) else { return false }
      store.write(name, full(table, values))
    case .update(let table, let key, let values):
      guard let name = name(table, key), store.rows[name] != nil else { return true }
      store.write(name, values)
    case .updateAll(let table, let column, let value):
      for name in store.rows.keys.sorted() where name.table == table { store.write(name, [column: value]) }
    case .delete(let table, let key):
      guard let name = name(table, key) else { return false }
      store.delete(name)
    case .group(let group, let value):
      for row in 0..<AppSchema.groupSize { store.write(Self.leg(group, row), ["value": value]) }
    case .bulk(let count, let amount?):
      for row in 0..<count {
        store.write(
          RecordName(table: AppSchema.stock.name, key: .text("s\(row)")), ["amount": .integer(Int64(amount))])
      }
    case .bulk(_, nil):
      for name in store.rows.keys.sorted() where name.table == AppSchema.stock.name { store.delete(name) }
    case .fill(let list, let count, let title):
      for row in 0..<count {
        store.write(
          RecordName(table: "item", key: .text("many\(row)")),
          full("item", ["list": list, "title": title]))
      }
    case .empty:
      for name in store.rows.keys.sorted() where name.key.shown.hasPrefix("many") { store.delete(name) }
    case .alter, .tally: break
    case .rename(let table, let key, let to):
      guard let old = name(table, key), let new = name(table, to) else { return false }
      guard var row = store.rows[old] else { return true }
      guard old == new || store.rows[new] == nil else { return false }
      if old != new { store.delete(old) }
      if let form = AppSchema.table(table), form.columns.contains(where: { $0.name == form.key }) { row[form.key] = to }
      store.write(new, row)
    }
    return true
  }

  private func name(_ table: String, _ key: Value) -> RecordName? {
    AppSchema.table(table).map { RecordName(table: table, key: $0.canonical(key)) }
  }

  private func name(_ table: String, _ values: [String: Value]) -> RecordName? {
    AppSchema.table(table).flatMap { form in values[form.key].flatMap { name(table, $0) } }
  }

  /// Returns the values, with defaults for columns that are not given.
  private func full(_ table: String, _ values: [String: Value]) -> [String: Value] {
    guard let form = AppSchema.table(table) else { return [:] }
    return Dictionary(
      form.firstColumns.map { ($0.name, values[$0.name] ?? $0.defaultValue) }, uniquingKeysWith: { first, _ in first })
  }

  private func without(_ table: String, _ values: [String: Value]) -> [String: Value] {
    guard let form = AppSchema.table(table) else { return [:] }
    return values.filter { $0.key != form.key }
  }
}
