import MeshCore

/// What one node's app has written and been told is committed: of each cell, the last value.
struct Ledger {
  struct Cell: Hashable, Comparable {
    let record: RecordName
    let column: String
    static func < (left: Cell, right: Cell) -> Bool {
      left.record == right.record ? left.column < right.column : left.record < right.record
    }
  }

  private(set) var values: [Cell: Value] = [:]
  private(set) var deletes: Set<RecordName> = []
  /// Rows that were there when nothing was pending: of what came and went since, no change set need tell.
  private var base: Set<RecordName> = []

  /// Rows that went since: what hangs on them goes with them, even where the app does not enforce foreign keys.
  private var gone: Set<RecordName> = []

  mutating func flushed(_ contents: Contents) {
    base = Set(contents.keys)
    gone = []
  }

  /// The differences that one transaction made, by looking at the tables: effects of SQL that the harness need not know.
  mutating func note(before: Contents, after: Contents) {
    for name in before.keys where after[name] == nil {
      if base.contains(name) { deletes.insert(name) }
      gone.insert(name)
      values = values.filter { $0.key.record != name }
    }
    let hasDeletes = before.keys.contains { after[$0] == nil }
    for (name, row) in after {
      let old = before[name]
      if old == nil { deletes.remove(name) }
      for (column, value) in row where old?[column] != value {
        // What a deleted parent does to its children is derived by every node, not written.
        let isDerived = old != nil && hasDeletes && value == .null && Self.isSetNull(name.table, column)
        values[Cell(record: name, column: column)] = isDerived ? nil : value
      }
    }
    forgetOrphans(after)
  }

  private mutating func forgetOrphans(_ contents: Contents) {
    var orphans: Set<RecordName> = []
    for (name, row) in contents {
      for column in AppSchema.table(name.table)?.columns ?? [] {
        guard let reference = column.reference, reference.cascades, let key = row[column.name] else { continue }
        let parent = RecordName(table: reference.parent, key: key)
        if contents[parent] == nil, gone.contains(parent) { orphans.insert(name) }
      }
    }
    if !orphans.isEmpty { values = values.filter { !orphans.contains($0.key.record) } }
  }

  private static func isSetNull(_ table: String, _ column: String) -> Bool {
    AppSchema.table(table)?.columns.first { $0.name == column }?.reference?.cascades == false
  }
}
