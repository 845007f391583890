import MeshCore
import MeshReplication
import MeshStore

/// BLOBs on their way.
extension Node {
  func assets() throws -> AssetsReport {
    let awaited = try store.awaitedAssets(limit: Self.assetsListed + 1)
    return AssetsReport(
      waiting: awaited.prefix(Self.assetsListed).map { item in
        AssetsReport.Item(
          asset: item.asset.id.description, size: item.asset.size, here: item.here, zone: item.zone.description,
          table: item.table, key: ReportedValue(item.key), column: item.column, reason: reason(item))
      }, complete: awaited.count <= Self.assetsListed, received: replica.assetBytes)
  }

  /// What this node lacks.
  func lackingAssets() throws -> LackingAssets {
    let now = time.now
    return try replica.zoneIDs.filter { replica.reasonOutside($0) == nil }.reduce(into: LackingAssets()) {
      $0 += LackingAssets(try replica.assetBacklog($1, now: now))
    }
  }

  /// What a peer lacks; nil where it has not said so of every zone in common.
  func lackingAssets(_ peer: Replica.PeerView) -> LackingAssets? {
    guard peer.zones.allSatisfy({ peer.backlogs[$0] != nil }) else { return nil }
    return peer.backlogs.values.reduce(into: LackingAssets()) { $0 += LackingAssets($1) }
  }

  /// Of a report that a person reads.
  private static let assetsListed = 1_000

  private func reason(_ item: AwaitedAsset) -> String? {
    if let fault = replica.assetFaults[item.asset.id] { return fault }
    switch item.held {
    case nil, .assetIncomplete, .constraint: return nil
    case .some(let held): return "its record is held (\(held.name)); mesh held says what would free it"
    }
  }
}

extension LackingAssets {
  init(_ backlog: AssetBacklog) {
    self.init(
      coming: Amount(assets: backlog.coming.assets, bytes: backlog.coming.bytes),
      absent: Amount(assets: backlog.absent.assets, bytes: backlog.absent.bytes))
  }
}
