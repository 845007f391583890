import MeshCore

/// Handles local values: those that only the row has. Programs wrote them in a zone that this device may not write, to a
/// column that no other device had or that a migration fills. So they have no stamp, and nobody could see them.
///
/// They stay in the row, and with the record while it is out of its table. A merge that overwrites or deletes them lists
/// them as conflicts.
final class LocalValues {
  private let records: ZoneRecords
  /// True during a flush, which lists the values that its notes tell of.
  private let isFlushing: Bool
  /// The indexes of the columns that a list of columns lacks, by the list.
  private var uncovered: [Int64: [Int]] = [:]
  /// The columns whose local values are listed already.
  private var lost: [RecordRef: Set<Int64>] = [:]
  private var transaction: Transaction { records.transaction }

  init(_ records: ZoneRecords, isFlushing: Bool) { (self.records, self.isFlushing) = (records, isFlushing) }

  /// Returns the local values of a record.
  ///
  /// - Parameter columns: The columns to look at, or nil for all.
  func of(
    _ ref: RecordRef, _ table: TableForm, _ old: StoredRecord, in columns: Set<Int64>? = nil
  ) throws -> [Int64: Value] {
    let unstamped = try unstamped(table, old).filter { columns?.contains(table.columns[$0].id) ?? true }
    guard old.isShown else {
      return old.extra.filter { column, value in
        unstamped.contains { table.columns[$0].id == column && table.defaultValue($0) != value }
      }
    }
    let unseen = old.extra.isEmpty ? [] : table.columns.indices.filter { old.unseen($0, table) != nil }
    guard !unstamped.isEmpty || !unseen.isEmpty, let row = try records.row(table, ref.key) else { return [:] }
    let found = (unstamped.filter { old.extra[table.columns[$0].id] == nil } + unseen).filter {
      row[$0] != table.defaultValue($0)
    }
    return Dictionary(found.map { (table.columns[$0].id, row[$0]) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the indexes of the columns that have no stamp, except the key.
  private func unstamped(_ table: TableForm, _ record: StoredRecord) throws -> [Int] {
    let layout = record.stamps.layout
    if uncovered[layout] == nil {
      let covered = Set(try transaction.catalog.layout(layout))
      uncovered[layout] = table.columns.indices.filter {
        $0 != table.keyColumn && !covered.contains(table.columns[$0].id)
      }
    }
    guard let indexes = uncovered[layout], !indexes.isEmpty else { return [] }
    let others = Set(record.stamps.exceptions.map(\.column))
    return indexes.filter { !others.contains(table.columns[$0].id) }
  }

  /// Returns the local values that a record keeps in its new state, and lists the others. Call it before the row
  /// changes.
  ///
  /// - Parameter columns: The columns that are written, or nil if the row is written as a whole or removed.
  func take(
    _ ref: RecordRef, _ table: TableForm, _ old: StoredRecord?, in columns: Set<Int64>? = nil,
    to state: ZoneRecords.State
  ) throws -> [Int64: Value] {
    guard !isFlushing, let old, old.isAlive else { return [:] }
    var kept: [Int64: Value] = [:]
    for (column, value) in try of(ref, table, old, in: columns).sorted(by: { $0.key < $1.key }) {
      let merged = state.cells[column]
      if state.generation == old.generation, merged == nil, value.asset == nil {
        kept[column] = value
      } else if merged?.value != value || !state.isAlive {
        try lose(value, ref, column, table, to: merged?.stamp ?? state.life)
      }
    }
    return kept
  }

  /// Returns the values of a record that is out of its table: the merged ones, and the local ones that stay with it.
  func aside(
    _ values: [Int64: Value], _ ref: RecordRef, _ table: TableForm, _ old: StoredRecord?, _ record: StoredRecord
  ) throws -> [Int64: Value] {
    guard let old, old.isAlive, old.generation == record.generation else { return values }
    return values.merging(try of(ref, table, old).filter { $0.value.asset == nil }) { merged, _ in merged }
  }

  /// Lists a local value, once for each access.
  private func lose(
    _ value: Value, _ ref: RecordRef, _ column: Int64, _ table: TableForm, to winner: Stamp?
  ) throws {
    guard let device = transaction.device, lost[ref, default: []].insert(column).inserted else { return }
    var value = value
    if value.isUnread, let size = value.asset?.size, let index = table.indexes[column],
      let manifest = try transaction.contents.manifest(
        of: RowCell(table: table, key: ref.key, index: index), size: size,
        key: AssetManifest.key(of: records.zone.zone, transaction.cryptography))
    {
      value = .asset(try transaction.contents.remember(manifest))
    }
    let author = Author(device: device, instance: records.zone.instance ?? InstanceID(0))
    try records.noteConflict(
      ref,
      ZoneRecords.State.Loss(
        column: column, loser: ZoneRecords.State.Cell(stamp: Stamp(time: .zero, author: author), value: value),
        winner: winner,
        wasLocal: true),
      now: try records.time.get())
  }
}
