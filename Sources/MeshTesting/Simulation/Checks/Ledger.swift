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

/// The committed writes of one node's app: for each cell, the last value.
struct Ledger {
  struct CellName: Hashable, Comparable {
    let record: RecordName
    let column: String
    static func < (left: CellName, right: CellName) -> Bool {
      left.record == right.record ? left.column < right.column : left.record < right.record
    }
  }

  /// A write of which an app was told that it is committed.
  enum Fact: Hashable, CustomStringConvertible {
    case value(CellName, Value)
    case delete(RecordName)

    var record: RecordName {
      switch self {
      case .value(let cell, _): cell.record
      case .delete(let record): record
      }
    }

    /// The column, or nil for a delete.
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
        facts.insert(.value(CellName(record: name, column: column), naming?.name(value) ?? value))
      }
    }
    return facts
  }

  /// The names of long BLOBs in change sets.
  var naming: AssetNaming?

  private(set) var rows: [RecordName: [String: Value]] = [:]
  private(set) var deletes: Set<RecordName> = []
  /// The rows that existed when nothing was pending. If a row was inserted and deleted since, no change set has to
  /// contain it.
  private var base: Set<RecordName> = []

  /// The rows that were deleted since. Rows that belong to them are deleted with them, even if the app doesn't enforce
  /// foreign keys and writes them afterwards.
  private var gone: Set<RecordName> = []

  /// Notes that nothing is pending, and that these are all rows of these tables.
  mutating func flushed(_ contents: Contents, tables: [String]) {
    base = base.filter { !tables.contains($0.table) }.union(contents.keys)
    gone = gone.filter { !tables.contains($0.table) }
  }

  /// Notes the differences that one transaction made. It compares the tables that the transaction can change, so the
  /// harness need not know the effects of SQL.
  ///
  /// - Parameters:
  ///   - absent: The cells whose merged BLOB is not here. A write of the whole row with the shown value keeps the
  ///     merged one.
  ///   - madeAnew: The recreated tables, in which nobody notices deletes.
  ///   - newColumns: By table, the columns that the node has not looked at yet. Their values come from a migration,
  ///     which loses against every edit.
  mutating func note(
    before: Contents, after: Contents, absent: Set<CellName> = [], madeAnew: Set<String> = [],
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
        if old == nil, value == .null, absent.contains(CellName(record: name, column: column)) {
          rows[name]?[column] = nil
          continue
        }
        // A value that a migration fills into a new column loses against every edit, so no change set has to contain
        // it. The rows of a recreated table may be copies.
        let isNew = newColumns[name.table]?.contains(column) == true
        if old.map({ isNew || $0[column] == nil }) ?? (isNew && madeAnew.contains(name.table)) {
          rows[name]?[column] = nil
          continue
        }
        // The effect of a deleted parent on its children is derived by every node, and not written.
        let isDerived = old != nil && hasDeletes && value == .null && Self.isSetNull(name.table, column)
        rows[name, default: [:]][column] = isDerived ? nil : value
      }
    }
    if !gone.isEmpty { forgetOrphans(after) }
  }

  /// Removes data that an app discarded, possibly with unflushed values. Deletes that were noted are still sent.
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

  /// Removes the facts of these tables. It is unknown whether a transaction on them was committed, because the machine
  /// died in it or its disk failed.
  mutating func doubt(_ tables: [String]) {
    rows = rows.filter { !tables.contains($0.key.table) }
    deletes = deletes.filter { !tables.contains($0.table) }
    base = base.filter { !tables.contains($0.table) }
  }

  /// Removes facts that no node can know. They are written values that are the defaults of their columns.
  mutating func forgetDefaults(of tables: Set<String>) {
    for (name, row) in rows where tables.contains(name.table) {
      let columns = AppSchema.table(name.table)?.columns ?? []
      rows[name] = row.filter { column, value in
        !columns.contains { $0.name == column && $0.defaultValue == value }
      }
    }
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
