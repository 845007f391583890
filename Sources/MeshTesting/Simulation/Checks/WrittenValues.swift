import MeshCore

/// The values that apps wrote, by cell. A table shows no other values, except for defaults, NULL, and what counters add
/// up to.
final class WrittenValues {
  private var values: [Ledger.CellName: Set<Value>] = [:]
  /// The values of transactions of which it is unknown whether they were committed, by table.
  private var doubted: [String: Set<Value>] = [:]
  /// The records from which rows got their keys, with the columns that the app saw. The values of the other columns go
  /// along unseen.
  private var formerRecords: [RecordName: [(record: RecordName, seen: Set<String>)]] = [:]

  func note(_ record: RecordName, _ column: String, _ value: Value) {
    values[Self.cell(record, column), default: []].insert(value.sample)
  }

  /// Notes that a transaction may have given a row another key.
  ///
  /// - Parameter columns: The columns of the row that the app saw.
  func noteKey(_ record: RecordName, from former: RecordName, seen columns: some Sequence<String>) {
    let seen = Set(columns.map { Self.cell(former, $0).column })
    formerRecords[record, default: []].append((former, seen))
  }

  /// Notes the differences that one transaction made.
  func note(_ before: Contents, _ after: Contents) {
    for (name, row) in after {
      let old = before[name]
      if old == row { continue }
      for (column, value) in row where old?[column] != value { note(name, column, value) }
    }
  }

  /// Notes a transaction of which it is unknown whether it was committed.
  ///
  /// - Parameter before: The tables before it. It may have moved their values to other keys, and a trigger of the app
  ///   may have counted up some of them.
  func doubt(_ transaction: AppTransaction, _ before: Contents) {
    for statement in transaction.statements {
      doubted[statement.table, default: []].formUnion(statement.values.map(\.sample))
      if case .bulk(_, let amount?) = statement {
        doubted[statement.table, default: []].insert(.integer(Int64(amount)))
      }
      if case .alter(_, let sql, _) = statement {
        // Every second piece is between quotes.
        let pieces = sql.flatMap { $0.split(separator: "'", omittingEmptySubsequences: false) }
        doubted[statement.table, default: []].formUnion(pieces.map { .text(String($0)) })
      }
    }
    for (name, row) in before {
      doubted[name.table, default: []].formUnion(row.values.map(\.sample))
      for case .real(let bits) in row.values {
        let number = Double(bitPattern: bits)
        for more in 1...transaction.statements.count + 1 {
          doubted[name.table]?.insert(.real((number + Double(more)).bitPattern))
        }
      }
    }
  }

  /// Returns whether the value was written to the cell, or is what the column has without a write.
  func has(_ record: RecordName, _ column: String, _ value: Value) -> Bool {
    if value == .null { return true }
    let sample = value.sample
    if values[Self.cell(record, column)]?.contains(sample) == true { return true }
    if cameAlong(with: record, column, sample, besides: [record]) { return true }
    guard let table = AppSchema.table(record.table) else { return false }
    if column == table.key { return table.canonical(value) == record.key }
    return table.columns.contains { $0.name == column && $0.defaultValue == value }
      || doubted[record.table]?.contains(sample) == true
  }

  /// Returns whether the value was written to the same column of a record from which the row got its key.
  private func cameAlong(
    with record: RecordName, _ column: String, _ sample: Value, besides visited: Set<RecordName>
  ) -> Bool {
    (formerRecords[record] ?? []).contains { former, seen in
      let cell = Self.cell(former, column)
      guard !visited.contains(former), !seen.contains(cell.column) else { return false }
      return values[cell]?.contains(sample) == true
        || cameAlong(with: former, column, sample, besides: visited.union([former]))
    }
  }

  /// Returns the cell, under the column's last name.
  private static func cell(_ record: RecordName, _ column: String) -> Ledger.CellName {
    let renamed = AppSchema.table(record.table)?.columns.first { $0.formerly == column }
    return Ledger.CellName(record: record, column: renamed?.name ?? column)
  }
}

extension Value {
  /// A short value that stands for this one. The size and bytes from all over a long value are compared instead of the
  /// whole value.
  fileprivate var sample: Value {
    let bytes: [UInt8]
    switch self {
    case .text(let text) where text.count > 512: bytes = text
    case .blob(let blob) where blob.count > 512: bytes = blob
    default: return self
    }
    let (count, step) = (bytes.count, max(1, bytes.count / 64))
    let middle = stride(from: 0, to: count, by: step).map { bytes[$0] }
    return .blob(withUnsafeBytes(of: count) { Array($0) } + bytes.prefix(32) + middle + bytes.suffix(32))
  }
}
