import MeshCore

/// The names of long BLOBs that were first written in a zone.
struct AssetNaming {
  let zone: ZoneID
  let cryptography: any Cryptography

  func name(_ value: Value) -> Value {
    guard case .blob(let bytes) = value, Asset.isAsset(size: bytes.count) else { return value }
    var builder = AssetManifest.Builder(key: AssetManifest.key(of: zone, cryptography), cryptography)
    for index in 0..<Asset.chunkCount(size: bytes.count) {
      builder.add(Array(bytes[Asset.range(ofChunk: index, size: bytes.count)]))
    }
    return (try? builder.manifest?.asset(cryptography)).map(Value.asset) ?? value
  }

  func name(_ contents: Contents) -> Contents { contents.mapValues { $0.mapValues(name) } }
}

/// What one node's app has written and been told is committed: of each cell, the last value.
struct Ledger {
  struct Cell: Hashable, Comparable {
    let record: RecordName
    let column: String
    static func < (left: Cell, right: Cell) -> Bool {
      left.record == right.record ? left.column < right.column : left.record < right.record
    }
  }

  /// What an app was told is committed.
  enum Fact: Hashable, CustomStringConvertible {
    case value(Cell, Value)
    case delete(RecordName)

    var record: RecordName {
      switch self {
      case .value(let cell, _): cell.record
      case .delete(let record): record
      }
    }

    /// Nil of a delete.
    var column: String? { if case .value(let cell, _) = self { cell.column } else { nil } }

    var description: String {
      switch self {
      case .value(let cell, let value): "\(cell.record).\(cell.column) = \(value.shown)"
      case .delete(let record): "the delete of \(record)"
      }
    }
  }

  var facts: Set<Fact> {
    var facts = Set(deletes.map { Fact.delete($0) })
    for (name, row) in rows {
      for (column, value) in row {
        facts.insert(.value(Cell(record: name, column: column), naming?.name(value) ?? value))
      }
    }
    return facts
  }

  /// How long BLOBs are called where change sets have them.
  var naming: AssetNaming?

  private(set) var rows: [RecordName: [String: Value]] = [:]
  private(set) var deletes: Set<RecordName> = []
  /// Rows that were there when nothing was pending: of what came and went since, no change set need tell.
  private var base: Set<RecordName> = []

  /// Rows that went since: what hangs on them goes with them, even where the app does not enforce foreign keys and writes it
  /// afterwards.
  private var gone: Set<RecordName> = []

  /// Nothing is pending, and these are all rows of these tables.
  mutating func flushed(_ contents: Contents, tables: [String]) {
    base = base.filter { !tables.contains($0.table) }.union(contents.keys)
    gone = gone.filter { !tables.contains($0.table) }
  }

  /// The differences that one transaction made, by looking at the tables that it can change: effects of SQL that the harness
  /// need not know.
  ///
  /// - Parameters:
  ///   - absent: Whose merged BLOB is not here: who writes the row as a whole, and what it shows there, keeps what is merged.
  ///   - madeAnew: Tables of which nobody sees what is deleted.
  ///   - newColumns: By table, columns that the node has not looked at yet: what is in them is a migration's, which loses
  ///     against every edit.
  mutating func note(
    before: Contents, after: Contents, absent: Set<Cell> = [], madeAnew: Set<String> = [],
    newColumns: [String: Set<String>] = [:]
  ) {
    var hasDeletes = false
    for name in before.keys where after[name] == nil {
      hasDeletes = true
      if base.contains(name), !madeAnew.contains(name.table) { deletes.insert(name) }
      gone.insert(name)
      rows[name] = nil
    }
    for (name, row) in after {
      let old = before[name]
      if old == row { continue }
      if old == nil { deletes.remove(name) }
      for (column, value) in row where old?[column] != value {
        if old == nil, value == .null, absent.contains(Cell(record: name, column: column)) {
          rows[name]?[column] = nil
          continue
        }
        // What a migration fills into a column that it adds loses against every edit: no change set need have it. The rows of a
        // table that was made anew may be copies.
        let isNew = newColumns[name.table]?.contains(column) == true
        if old.map({ isNew || $0[column] == nil }) ?? (isNew && madeAnew.contains(name.table)) {
          rows[name]?[column] = nil
          continue
        }
        // What a deleted parent does to its children is derived by every node, not written.
        let isDerived = old != nil && hasDeletes && value == .null && Self.isSetNull(name.table, column)
        rows[name, default: [:]][column] = isDerived ? nil : value
      }
    }
    if !gone.isEmpty { forgetOrphans(after) }
  }

  /// An app dropped these with values that may not have been flushed. Deletes that were noted are still told.
  mutating func lose(_ losses: [String: AppTransaction.Loss]) {
    for (name, row) in rows {
      switch losses[name.table] {
      case .rows: rows[name] = nil
      case .column(let column): rows[name] = row.filter { $0.key != column }
      case .renamed(let old, let new):
        var row = row
        row[new] = row.removeValue(forKey: old)
        rows[name] = row
      case .nothing, nil: break
      }
    }
  }

  /// Whether a transaction on these tables was committed is not known: the machine died in it, or its disk failed.
  mutating func doubt(_ tables: [String]) {
    rows = rows.filter { !tables.contains($0.key.table) }
    deletes = deletes.filter { !tables.contains($0.table) }
    base = base.filter { !tables.contains($0.table) }
  }

  private mutating func forgetOrphans(_ contents: Contents) {
    for (name, row) in contents where rows[name] != nil {
      for column in AppSchema.table(name.table)?.columns ?? [] {
        guard let reference = column.reference, reference.cascades, let key = row[column.name] else { continue }
        let parent = RecordName(table: reference.parent, key: key)
        if contents[parent] == nil, gone.contains(parent) { rows[name] = nil }
      }
    }
  }

  private static func isSetNull(_ table: String, _ column: String) -> Bool {
    AppSchema.table(table)?.columns.first { $0.name == column }?.reference?.cascades == false
  }
}
