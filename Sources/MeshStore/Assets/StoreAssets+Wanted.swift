public import MeshCore

/// The assets to download, and the amount that is missing.
extension StoreAssets {
  public func wantedAssets(limit: Int, besides: Set<AssetID>) throws -> WantedAssets {
    try read { transaction in
      try AssetPlacing(transaction: transaction).sweepStaging(staged.known)
      let places = AssetPlaces(transaction: transaction)
      var room = FetchRoom()
      var wanted = WantedAssets([], isAll: true)
      var met: Set<AssetID> = []
      for (asset, device) in try transaction.assets.inWant(limit: limit + besides.count + 1) {
        guard !besides.contains(asset.id) else {
          room.occupy(staged.present(asset.id) * Limits.chunk, of: device)
          continue
        }
        guard !met.contains(asset.id), let manifest = try transaction.contents.manifest(asset.id) else { continue }
        let uses = try transaction.assets.wants(asset.id)
        guard uses.contains(where: { places.takes(asset.size, table: $0.ref.table, column: $0.column) }) else {
          continue
        }
        guard met.count < limit, room.take(asset.size, of: device) else {
          wanted.isAll = false
          continue
        }
        met.insert(asset.id)
        if try transaction.sources.stopSharing(asset, uses) { refusedAssets.remove(asset.id) }
        let fault = try transaction.sources.takeFromRows(asset, manifest, uses)
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
      let places = AssetPlaces(transaction: transaction)
      for use in try places.lacking(in: zone) {
        let isTaken = places.takes(use.asset.size, table: use.table, column: use.column)
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
