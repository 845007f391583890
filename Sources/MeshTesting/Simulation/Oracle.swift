import MeshCore

/// The merged state as the change sets themselves tell it, merged with nothing but the merge rule: what every store must agree
/// with, whatever it did on the way.
struct Oracle {
  private(set) var states: [RecordName: RecordState<String>] = [:]
  /// Every value that somebody sent for a cell.
  private(set) var sent: [Ledger.Cell: Set<Value>] = [:]
  private(set) var deleted: Set<RecordName> = []
  private(set) var faults: [String] = []

  /// - Parameter log: A whole log in the order of merging.
  init(_ log: [[UInt8]], keys: [EpochID: EpochKey], _ cryptography: any Cryptography) {
    var last: [Author: ChangeSet] = [:]
    for bytes in log {
      guard let changeSet = try? ChangeSet(bytes, with: cryptography), let key = keys[changeSet.header.epoch],
        changeSet.isSigned(with: cryptography), let plaintext = changeSet.body(key: key, with: cryptography),
        let body = try? ChangeSetBody(plaintext, author: changeSet.header.author)
      else {
        faults.append("a change set of the log cannot be read")
        continue
      }
      check(changeSet, after: last[changeSet.header.author])
      last[changeSet.header.author] = changeSet
      guard case .changes(let tables) = body.content else { continue }
      for table in tables { merge(table, changeSet.header) }
    }
  }

  /// Numbers without gaps, a chain, times that only grow.
  private mutating func check(_ changeSet: ChangeSet, after last: ChangeSet?) {
    let header = changeSet.header
    if header.number != (last?.header.number ?? 0) + 1 { faults.append("number \(header.number) does not continue") }
    if header.previous != last?.id { faults.append("number \(header.number) does not name the one before") }
    if let last, header.time <= last.header.time { faults.append("number \(header.number) is not later") }
  }

  private mutating func merge(_ table: TableChanges, _ header: ChangeSetHeader) {
    for row in table.rows {
      let name = RecordName(table: table.table, key: row.key)
      let state = row.state(columns: table.columns)
      if row.stamp.time > header.time { faults.append("\(name) is stamped later than its change set") }
      if !row.generation.isAlive { deleted.insert(name) }
      for (column, cell) in state.cells {
        sent[Ledger.Cell(record: name, column: column), default: []].insert(cell.value)
      }
      if row.isLife, row.generation.isAlive {
        for column in AppSchema.table(name.table)?.columns ?? [] where state.cells[column.name] == nil {
          sent[Ledger.Cell(record: name, column: column.name), default: []].insert(column.unsent(name))
        }
      }
      states[name, default: RecordState()].merge(state)
    }
  }
}

extension Oracle {
  /// Committed writes that are in no change set: lost.
  func lost(_ ledger: Ledger) -> [String] {
    var lost: [String] = []
    for (cell, value) in ledger.values.sorted(by: { $0.key < $1.key }) where sent[cell]?.contains(value) != true {
      lost.append("\(cell.record).\(cell.column) = \(value.shown) was committed and is in no change set")
    }
    for name in ledger.deletes.sorted() where states[name]?.isAlive == true && !deleted.contains(name) {
      lost.append("\(name) was deleted and no change set says so")
    }
    return lost
  }

  /// Where tables differ from the merged state.
  func differences(_ contents: Contents, held: [RecordName: String]) -> [String] {
    var differences: [String] = []
    for (name, row) in contents.sorted(by: { $0.key < $1.key }) {
      guard let state = states[name], state.isAlive else {
        differences.append("\(name) is shown and does not live")
        continue
      }
      for column in AppSchema.table(name.table)?.columns ?? [] {
        let merged = state.cells[column.name]?.value ?? column.unsent(name)
        let shown = row[column.name] ?? .null
        if shown != merged, !isSetNull(column, merged, shown, contents) {
          differences.append("\(name).\(column.name) shows \(shown.shown) and is \(merged.shown)")
        }
      }
    }
    for (name, state) in states.sorted(by: { $0.key < $1.key }) where state.isAlive && contents[name] == nil {
      if held[name] == nil {
        differences.append("\(name) lives and is neither shown nor held")
      } else if !lacksParent(name, state, contents) {
        differences.append("\(name) is held (\(held[name] ?? "")) although its parents are here")
      }
    }
    return differences
  }

  private func isSetNull(_ column: AppSchema.Column, _ merged: Value, _ shown: Value, _ contents: Contents) -> Bool {
    guard let reference = column.reference, !reference.cascades, shown == .null else { return false }
    return contents[RecordName(table: reference.parent, key: merged)] == nil
  }

  private func lacksParent(_ name: RecordName, _ state: RecordState<String>, _ contents: Contents) -> Bool {
    (AppSchema.table(name.table)?.columns ?? []).contains { column in
      guard let reference = column.reference, let value = state.cells[column.name]?.value, value != .null else {
        return false
      }
      return contents[RecordName(table: reference.parent, key: value)] == nil
    }
  }
}
