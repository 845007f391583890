import GRDB
import MeshCore

package enum EvictionError: Error, Hashable, CustomStringConvertible {
  /// A program writes to the file. Try again.
  case written
  /// A row has bytes other than the merged ones.
  case changed(table: String)
  /// The column has no other value that it could show.
  case required(table: String, column: String)
  /// SQLite refused the change, with this message.
  case refused(table: String, column: String, String)

  package var description: String {
    switch self {
    case .written: "a program is writing to the database; try again"
    case .changed(let table):
      "a row of \(table) has other bytes than the mesh knows: mesh rescan \(table) takes them in; then try again"
    case .required(let table, let column):
      "\(table).\(column) is NOT NULL without a default: a row can't be without its BLOB"
    case .refused(let table, let column, let words):
      "SQLite refuses a row of \(table) whose \(column) has no BLOB: \(words)"
    }
  }
}

/// Removes an asset from the rows that show it.
struct Eviction: InTransaction {
  let transaction: Transaction

  /// A cell of a record that shows the asset.
  struct ShownAsset {
    let zone: Int64
    let cell: RowCell
    var ref: RecordRef { RecordRef(table: cell.table.id, key: cell.key) }
  }

  /// Returns as many cells as one transaction can take. Each is compared byte by byte.
  func evictable(_ id: AssetID) throws -> [ShownAsset] {
    guard try !transaction.hasPending() else {
      reached(.evictionInterrupted)
      throw EvictionError.written
    }
    guard let manifest = try contents.manifest(id) else { return [] }
    let shown = try assets.shown(id, limit: StoreLimits.placedRows).compactMap { use in
      contents.cell(use).map { ShownAsset(zone: use.zone, cell: $0) }
    }
    for entry in shown where try !contents.holds(manifest, entry.cell) {
      throw EvictionError.changed(table: entry.cell.table.schema.name)
    }
    return shown
  }

  func evict(_ cells: [ShownAsset], _ asset: AssetID) throws -> Int {
    try transaction.applying {
      for (zone, group) in Dictionary(grouping: cells, by: \.zone) {
        guard let row = try counters.read(id: zone) else { continue }
        let records = ZoneRecords(transaction, zone: row)
        for entry in group { try evict(entry.ref, entry.cell, records) }
      }
    }
    if !cells.isEmpty { reached(.assetEvicted) }
    try assets.choose(asset, isFetched: false)
    try assets.forgetKept(asset)
    return cells.count
  }

  /// Returns the record to its state before the BLOB arrived.
  private func evict(_ ref: RecordRef, _ cell: RowCell, _ records: ZoneRecords) throws {
    let column = cell.column
    guard let old = try records.load(ref), old.isShown, old.extra[column.id] == nil,
      case .asset(let asset)? = old.shown[column.id]
    else { return }
    let value = column.schema.notNull ? column.schema.defaultValue ?? .null : .null
    guard !column.schema.notNull || value != .null else {
      throw EvictionError.required(table: cell.table.schema.name, column: column.name)
    }
    do {
      try RowWriter(records: records).update(cell.table, cell.key, [column.id: value], [column.id])
    } catch let error as DatabaseError where error.refusesRow {
      throw EvictionError.refused(table: cell.table.schema.name, column: column.name, error.reason)
    }
    var record = old
    record.extra[column.id] = .asset(asset)
    record.shown[column.id] = value == .null ? nil : value
    try records.save(ref, record, replacing: old)
  }
}
