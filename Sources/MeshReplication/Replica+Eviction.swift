public import MeshCore

/// Giving up the bytes of an asset, if another device has them whose word this account relies on: one of its own or, in another
/// account's share, one of the owner's. What another participant says of its copy nobody can check.
///
/// Two that evict at once must not rely on each other. So whoever means to evict says first, to whoever asks, that it has nothing, and asks
/// then. Of several that do, the last to begin asks when all others say so already: it counts none of them, and so at least one
/// copy is left that nobody is giving up.
extension Replica {
  /// What those devices have said since an eviction began.
  struct Eviction {
    /// Those that have not answered.
    var asked: Set<LinkID>
    let askedCount: Int
    var holder: DeviceID?
  }

  public enum Holders: Sendable, Equatable {
    /// Somebody has not answered yet.
    case asking
    /// A device has all of it, and would have it after a power cut.
    case held(by: DeviceID)
    /// Of those devices so many are connected, and were asked.
    case nobody(asked: Int)
  }

  /// From now on this node gives nothing of the asset. False where an eviction of it is under way.
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

  // MARK: What a person asks for

  /// Assets were requested, or tables have another policy.
  public func assetChoicesChanged() {
    fetching.forgetAside()
    needsAssets = true
    for zone in zones.keys { zones[zone]?.toldBacklog = nil }
  }

  /// How an asset comes.
  public struct AssetTransfer: Sendable {
    /// Devices that have something of it that is not here, or are being asked.
    public var sources: [DeviceID]
    /// Bytes in a second.
    public var speed: Int
    /// Nobody who is connected has more of it than is here.
    public var isAbsent: Bool
    /// Why it can't be kept now.
    public var fault: String?
  }

  /// - Parameter absent: What `absentAssets` said.
  public func assetTransfer(_ asset: AssetID, absent: Set<AssetID>?, now: Moment) -> AssetTransfer {
    let peers = assetPeers
    let links = fetching.sources(of: asset, peers, now: now.steady)
    return AssetTransfer(
      sources: links.compactMap { sessions[$0]?.peer?.device }, speed: fetching.speed(of: asset, now: now.steady),
      isAbsent: absent?.contains(asset) ?? true, fault: assetFaults[asset])
  }

  /// Assets of which nobody who is connected has more than is here; nil where nobody is connected.
  public func absentAssets(now: Moment) -> Set<AssetID>? {
    let peers = assetPeers
    return peers.isEmpty ? nil : fetching.absent(peers, now: now.steady)
  }

  /// Devices that give any asset now.
  public func assetSources(now: Moment) -> [DeviceID] {
    fetching.sources(assetPeers, now: now.steady).compactMap { sessions[$0]?.peer?.device }
  }

  /// Bytes of assets in a second.
  public func assetSpeed(now: Moment) -> Int { assetRate.perSecond(now: now.steady) }

  /// A peer is gone: whoever asks for what it had is told so.
  func loseSource(_ link: LinkID, _ device: DeviceID?) {
    if let device {
      for asset in fetching.given(by: link) { lastSources[asset] = device }
    }
    fetching.lost(link)
  }
}
