public import MeshCore

/// Gives up the bytes of an asset if a trusted device has them. A trusted device belongs to this account or, in another
/// account's share, to the owner. The statement of another participant can't be checked.
///
/// Two devices that evict at the same time must not rely on each other. A device that evicts therefore first says to
/// all peers that it has nothing, and then asks. If several devices evict, the last one to begin asks when all others
/// already say that they have nothing. It counts none of them, so at least one copy remains that no device gives up.
extension Replica {
  /// The answers of the trusted devices since an eviction began.
  struct Eviction {
    /// The sessions whose devices have not answered.
    var asked: Set<LinkID>
    let askedCount: Int
    var holder: DeviceID?
  }

  public enum Holders: Sendable, Equatable {
    /// A device has not answered yet.
    case asking
    /// A device has the whole asset, and would still have it after a power failure.
    case held(by: DeviceID)
    /// None has it. The number is that of the trusted devices that are connected and were asked.
    case nobody(asked: Int)
  }

  /// Begins an eviction. From now on, this node gives nothing of the asset. Returns false if an eviction of it is
  /// already running.
  public func beginEviction(_ asset: AssetID, zones: Set<ZoneID>) -> Bool {
    guard evictions[asset] == nil else { return false }
    var asked: Set<LinkID> = []
    for link in sessions.keys.sorted() {
      guard let peer = sessions[link]?.peer, !liars.contains(peer.device),
        let zone = zones.sorted().first(where: { isCommon($0, link) && reliesOn(peer.account, $0) })
      else { continue }
      asked.insert(link)
      send(link, .assetWant(zone, asset, 0..<0))
    }
    evictions[asset] = Eviction(asked: asked, askedCount: asked.count)
    return true
  }

  public func holders(_ asset: AssetID) -> Holders {
    guard let eviction = evictions[asset] else { return .nobody(asked: 0) }
    if let holder = eviction.holder { return .held(by: holder) }
    let isAsking = eviction.asked.contains { sessions[$0] != nil }
    return isAsking ? .asking : .nobody(asked: eviction.askedCount)
  }

  public func endEviction(_ asset: AssetID) {
    evictions[asset] = nil
    grownAssets.insert(asset)
  }

  private func reliesOn(_ other: AccountID, _ zone: ZoneID) -> Bool {
    other == account.id || other == zones[zone]?.state.owner
  }

  func learnHolder(_ link: LinkID, _ asset: AssetID, _ chunks: ChunkSet?) {
    guard evictions[asset]?.asked.remove(link) != nil, let chunks, chunks.isComplete else { return }
    evictions[asset]?.holder = sessions[link]?.peer?.device
  }

  // MARK: Requests of a person

  /// Handles requested assets and changed policies of tables.
  public func assetChoicesChanged() {
    fetching.forgetAside()
    needsAssets = true
    for zone in zones.keys { zones[zone]?.toldBacklog = nil }
  }

  /// The state of an asset's download.
  public struct AssetTransfer: Sendable {
    /// The devices that have missing chunks, or are being asked.
    public var sources: [DeviceID]
    /// The speed in bytes per second.
    public var speed: Int
    /// True if no connected device has more of it than this node.
    public var isAbsent: Bool
    /// The reason that the asset can't be stored now.
    public var fault: String?
  }

  /// Returns the state of an asset's download.
  ///
  /// - Parameter absent: The result of `absentAssets`.
  public func assetTransfer(_ asset: AssetID, absent: Set<AssetID>?, now: Moment) -> AssetTransfer {
    let peers = assetPeers
    let links = fetching.sources(of: asset, peers, now: now.steady)
    return AssetTransfer(
      sources: links.compactMap { sessions[$0]?.peer?.device }, speed: fetching.speed(of: asset, now: now.steady),
      isAbsent: absent?.contains(asset) ?? true, fault: assetFaults[asset])
  }

  /// Returns the assets of which no connected device has more than this node, or nil if no device is connected.
  public func absentAssets(now: Moment) -> Set<AssetID>? {
    let peers = assetPeers
    return peers.isEmpty ? nil : fetching.absent(peers, now: now.steady)
  }

  /// Returns the devices that currently give any asset.
  public func assetSources(now: Moment) -> [DeviceID] {
    fetching.sources(assetPeers, now: now.steady).compactMap { sessions[$0]?.peer?.device }
  }

  /// Returns the speed of all assets in bytes per second.
  public func assetSpeed(now: Moment) -> Int { assetRate.perSecond(now: now.steady) }

  /// Handles a lost peer. Its assets name it as their last source.
  func loseSource(_ link: LinkID, _ device: DeviceID?) {
    if let device {
      for asset in fetching.given(by: link) { lastSources[asset] = device }
    }
    fetching.lost(link)
  }
}
