public import MeshCore

/// What is lacking of assets, said to those who rely on it.
extension Replica {
  /// Between two statements about assets that come, in milliseconds.
  private static let backlogInterval: Int64 = 1_000

  /// What this node lacks of a zone's assets.
  public func assetBacklog(_ zone: ZoneID, now: Moment) throws -> AssetBacklog {
    try store.assetBacklog(zone, absent: fetching.absent(assetPeers, now: now.steady))
  }

  /// Peers that wait for what they wrote to be elsewhere rely on it: an acknowledgement is about rows, and says nothing of the chunks
  /// that travel beside them. It is not held back until they are here: a source that never returns would keep everything from being
  /// settled. So after each acknowledgement, and while chunks come, it is said how much of what was acknowledged is lacking.
  func tellBacklogs(now: Moment) throws {
    guard !needsPlacing, !needsAssets else { return }
    for id in zones.keys.sorted() where hasBacklogMoved || zones[id]?.toldBacklog == nil {
      let links = links(sharing: id)
      guard !links.isEmpty, let zone = zones[id] else { continue }
      let isComing = zone.toldBacklog.map { $0.coming.assets > 0 } ?? zone.hasBacklog
      guard !isComing || fetching.isEmpty || now.steady &- zone.backlogTold >= Self.backlogInterval else { continue }
      let backlog = try assetBacklog(id, now: now)
      zones[id]?.hasBacklog = backlog.coming.assets > 0
      zones[id]?.backlogTold = now.steady
      guard zones[id]?.toldBacklog != backlog else { continue }
      zones[id]?.toldBacklog = backlog
      for link in links { send(link, .assetBacklog(id, backlog)) }
    }
    hasBacklogMoved = zones.values.contains { $0.hasBacklog }
  }
}
