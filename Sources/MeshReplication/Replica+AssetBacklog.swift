public import MeshCore

/// Tells peers how many bytes of assets are missing here.
extension Replica {
  /// The milliseconds between two statements about assets that are downloading.
  private static let backlogInterval: Int64 = 1_000

  /// Returns what this node is missing of a zone's assets.
  public func assetBacklog(_ zone: ZoneID, now: Moment) throws -> AssetBacklog {
    try store.assetBacklog(zone, absent: fetching.absent(assetPeers, now: now.steady))
  }

  /// Sends the current backlogs of assets to the peers.
  ///
  /// An acknowledgement covers rows, but not the chunks that travel separately. A peer that waits until its writes are
  /// on another device relies on these backlogs. The acknowledgement isn't delayed until the chunks arrive, because a
  /// source that never returns would then block everything. So after each acknowledgement, and while chunks arrive, the
  /// node says how much of the acknowledged assets is missing.
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
