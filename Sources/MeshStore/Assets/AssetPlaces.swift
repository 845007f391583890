import MeshCore

/// The records that name assets, and whether their tables can show them.
struct AssetPlaces: InTransaction {
  let transaction: Transaction

  func list(_ places: AssetTable.Places, limit: Int) throws -> [AssetPlace] {
    let hasPlace = try havingColumns()
    return try assets.list(places, limit: limit).filter { $0.place.isShown || hasPlace($0.table, $0.column) }
      .map(complete)
  }

  /// Returns the place with the names of its table and column, and the state of its download.
  private func complete(_ found: AssetTable.Found) throws -> AssetPlace {
    var place = found.place
    place.table = try catalog.tableName(found.table)
    place.column = try catalog.column(found.column).name
    if place.held == nil || place.held == .assetIncomplete {
      place.obstacle = obstacle(place.asset.size, table: found.table, column: found.column)
    }
    if place.isShown {
      place.here = place.asset.size
    } else if let manifest = try contents.manifest(place.asset.id) {
      place.here = min(place.asset.size, try staged.here(place.asset, manifest).present * Limits.chunk)
    }
    return place
  }

  /// Returns the records that lack bytes of assets.
  ///
  /// - Parameter zone: The zone, or nil for all zones.
  func lacking(in zone: ZoneID? = nil) throws -> [AssetTable.Lack] {
    let hasPlace = try havingColumns()
    return try assets.lacking(in: zone).filter { hasPlace($0.table, $0.column) }
  }

  /// Returns a function that tells whether some device has the column, as far as this one knows. Nothing waits for the
  /// BLOBs of a column that was dropped, or renamed, everywhere.
  func havingColumns() throws -> (_ table: Int64, _ column: Int64) -> Bool {
    let missing = try assets.missingColumns().filter { use in
      catalog.table(use.table).map { $0.isHere && $0.indexes[use.column] == nil } ?? false
    }
    if missing.isEmpty { return { _, _ in true } }
    let described = try ForeignSchemas(transaction: transaction).list(trusts: { _ in false }).map(\.table)
    var nowhere: [Int64: Set<Int64>] = [:]
    for (table, column) in missing {
      let (name, of) = (try catalog.column(column).name.folded, try catalog.tableName(table).folded)
      if !described.contains(where: { $0.name.folded == of && $0.columns.contains { $0.name.folded == name } }) {
        nowhere[table, default: []].insert(column)
      }
    }
    return { [nowhere] table, column in nowhere[table]?.contains(column) != true }
  }

  func takes(_ size: Int, table: Int64, column: Int64) -> Bool {
    catalog.table(table) != nil && obstacle(size, table: table, column: column) == nil
  }

  /// Returns why the table can't show an asset of this size in the column. Returns nil if it can, or if the table is
  /// not here.
  func obstacle(_ size: Int, table: Int64, column: Int64) -> String? {
    guard let table = catalog.table(table) else { return nil }
    guard let index = table.indexes[column] else {
      return "the table has no such column here: mesh schema --apply adds it"
    }
    return table.takes(size, in: index) ? nil : table.advice(index)
  }
}
