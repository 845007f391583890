public import MeshCore

/// The assets to download, and the amount that is missing.
extension StoreAssets {
  public func wantedAssets(limit: Int, besides: Set<AssetID>) throws -> WantedAssets {
    try read { transaction in
      try transaction.sweepStaging(staged.known)
      var room = FetchRoom()
      var wanted = WantedAssets([], isAll: true)
      var met: Set<AssetID> = []
      for (asset, device) in try transaction.assets.inWant(limit: limit + besides.count + 1) {
        guard !besides.contains(asset.id) else {
          room.occupy(staged.present(asset.id) * Limits.chunk, of: device)
          continue
        }
        guard !met.contains(asset.id), let manifest = try transaction.manifest(asset.id) else { continue }
        let uses = try transaction.assets.wants(asset.id)
        guard uses.contains(where: { transaction.takes(asset.size, table: $0.ref.table, column: $0.column) }) else {
          continue
        }
        guard met.count < limit, room.take(asset.size, of: device) else {
          wanted.isAll = false
          continue
        }
        met.insert(asset.id)
        if try transaction.stopSharing(asset, uses) { refusedAssets.remove(asset.id) }
        let fault = try transaction.takeFromRows(asset, manifest, uses)
        wanted.assets.append(
          WantedAsset(
            asset: asset, zones: try transaction.assets.zones(using: asset.id),
            staged: try staged.here(asset, manifest),
            fault: fault ?? staged.unplaceable[asset.id]?.reason))
      }
      return wanted
    }
  }

  public func assetBacklog(_ zone: ZoneID, absent: Set<AssetID>) throws -> AssetBacklog {
    try settleAssets()
    return try read { transaction in
      var isComing: [Asset: Bool] = [:]
      for use in try transaction.assetsLacking(in: zone) {
        let isTaken = transaction.takes(use.asset.size, table: use.table, column: use.column)
        let comes = use.isFetched && isTaken && !absent.contains(use.asset.id)
        isComing[use.asset] = comes || isComing[use.asset] ?? false
      }
      var backlog = AssetBacklog()
      for (asset, comes) in isComing where !staged.isKept(asset.id) {
        let bytes = max(0, asset.size - staged.present(asset.id) * Limits.chunk)
        let amount = AssetBacklog.Amount(assets: 1, bytes: bytes)
        if comes { backlog.coming += amount } else { backlog.absent += amount }
      }
      return backlog
    }
  }

  /// Makes the assets that were reported as present survive a power cut. Chunks that arrive are requested again after a
  /// power cut, so nothing is synced before.
  func settleAssets() throws {
    try guarding { for asset in refusedAssets { try staged.settle(asset) } }
    guard hasUnsettledAssets else { return }
    // A durable commit syncs all commits before it, and this one changes a page.
    try write { try $0.applying {} }
    hasUnsettledAssets = false
  }
}

extension Transaction {
  /// Returns the records that lack bytes of assets.
  ///
  /// - Parameter zone: The zone, or nil for all zones.
  func assetsLacking(in zone: ZoneID? = nil) throws -> [AssetTable.Lack] {
    let hasPlace = try placesOfAssets()
    return try assets.lacking(in: zone).filter { hasPlace($0.table, $0.column) }
  }

  /// Returns a function that tells whether some device has the column, as far as this one knows. Nothing waits for the
  /// BLOBs of a column that was dropped, or renamed, everywhere.
  func placesOfAssets() throws -> (_ table: Int64, _ column: Int64) -> Bool {
    let missing = try assets.missingColumns().filter { use in
      catalog.table(use.table).map { $0.isHere && $0.indexes[use.column] == nil } ?? false
    }
    if missing.isEmpty { return { _, _ in true } }
    let described = try foreignDescriptions(trusts: { _ in false }).map(\.table)
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
