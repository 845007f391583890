import GRDB
public import MeshCore

/// The time at which the assets of a table's rows are downloaded: always at once, or on request.
public enum AssetPolicy: String, Sendable, Hashable, CaseIterable {
  case always
  /// Download an asset only when somebody requests it.
  case onDemand = "on-demand"
}

/// The node's own choice of the assets to keep. No other node learns it.
extension StoreAssets {
  /// Returns the policies of the synchronized tables, and of others that download on request.
  public func policies() throws -> [String: AssetPolicy] {
    try read { try $0.tableList.assetPolicies() }
  }

  /// Sets a table's policy. Assets that are here stay, and choices for single assets stay as they are.
  ///
  /// The table may be one that only other devices have yet. Its assets are downloaded when this file has the table.
  public func setPolicy(_ policy: AssetPolicy, table name: String) throws {
    try write { transaction in
      let isDescribed = try ForeignSchemas(transaction: transaction).list(trusts: { _ in false }).contains {
        $0.table.name.folded == name.folded
      }
      let known = transaction.catalog.knownTable(name)
      guard let table = try known ?? (isDescribed ? transaction.catalog.tableNumber(name) : nil) else {
        throw Self.unknownTable(name)
      }
      try transaction.tableList.set(policy, of: table)
    }
  }

  /// Requests the download of an asset, whatever its table's policy.
  public func request(_ asset: AssetID) throws {
    try write { try $0.assets.choose(asset, isFetched: true) }
  }

  /// Requests the download of all assets that rows of a table wait for now, whatever its policy.
  public func requestAll(table name: String) throws {
    try write { transaction in
      guard let table = transaction.catalog.knownTable(name) else { throw Self.unknownTable(name) }
      try transaction.assets.fetchAll(of: table)
    }
  }

  /// Removes an asset from the rows that show it, and doesn't download it until it is requested.
  ///
  /// The records keep their value. They return to the state before the BLOB arrived, so nothing is sent, and no row
  /// says that somebody cleared the column. Each row shows NULL in it, or the default if the column is `NOT NULL`. The
  /// asset is also removed from the staging.
  ///
  /// Nothing may be pending. The caller has made sure that another device has the bytes.
  ///
  /// - Returns: The number of rows that showed it.
  /// - Throws: `EvictionError`. In that case, only changes of an earlier call remain.
  @discardableResult
  public func evict(_ asset: AssetID) throws -> Int {
    var rows = 0
    while true {
      let version = try read { try $0.dataVersion() }
      let cells = try read { try Eviction(transaction: $0).evictable(asset) }
      // Bytes can be written without firing triggers, so the compared state must still be valid.
      let done = try write { transaction in
        guard try transaction.dataVersion() == version else {
          transaction.reached(.evictionInterrupted)
          throw EvictionError.written
        }
        return try Eviction(transaction: transaction).evict(cells, asset)
      }
      rows += done
      guard done == StoreLimits.placedRows else { break }
    }
    refusedAssets.remove(asset)
    try guarding { try staged.remove(asset) }
    return rows
  }
}

public enum EvictionError: Error, Hashable, CustomStringConvertible {
  /// A program writes to the file. Try again.
  case written
  /// A row has bytes other than the merged ones.
  case changed(table: String)
  /// The column has no other value that it could show.
  case required(table: String, column: String)
  /// SQLite refused the change, with this message.
  case refused(table: String, column: String, String)

  public var description: String {
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
private struct Eviction: Step {
  let transaction: Transaction

  /// A cell of a record that shows the asset.
  struct ShownAsset {
    let zone: Int64
    let cell: Cell
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
        guard let row = try zoneRows.read(id: zone) else { continue }
        let materialiser = try Materialiser(ZoneRecords(transaction, zone: row))
        for entry in group { try materialiser.evict(entry.ref, entry.cell) }
      }
    }
    if !cells.isEmpty { reached(.assetEvicted) }
    try assets.choose(asset, isFetched: false)
    try assets.forgetKept(asset)
    return cells.count
  }
}

extension Materialiser {
  /// Returns the record to its state before the BLOB arrived.
  fileprivate func evict(_ ref: RecordRef, _ cell: Cell) throws {
    let column = cell.column
    guard let old = try records.load(ref), old.isShown, old.extra[column.id] == nil,
      case .asset(let asset)? = old.shown[column.id]
    else { return }
    let value = column.schema.notNull ? column.schema.defaultValue ?? .null : .null
    guard !column.schema.notNull || value != .null else {
      throw EvictionError.required(table: cell.table.schema.name, column: column.name)
    }
    do {
      try update(cell.table, cell.key, [column.id: value], [column.id])
    } catch let error as DatabaseError where error.refusesRow {
      throw EvictionError.refused(table: cell.table.schema.name, column: column.name, error.reason)
    }
    var record = old
    record.extra[column.id] = .asset(asset)
    record.shown[column.id] = value == .null ? nil : value
    try records.save(ref, record, replacing: old)
  }
}
