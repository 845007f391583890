package import MeshCore

/// Gives the assets that are here to members, and gives up the bytes of an asset if a trusted device has them. A trusted
/// device belongs to this account or, in another account's share, to the owner. The statement of another participant
/// can't be checked.
///
/// Two devices that evict at the same time must not rely on each other. A device that evicts therefore first says to
/// all peers that it has nothing, and then asks. If several devices evict, the last one to begin asks when all others
/// already say that they have nothing. It counts none of them, so at least one copy remains that no device gives up.
package final class AssetCopies: Part {
  /// The maximum number of assets whose growth is told to one peer, and of those that could not be given.
  private static let toldAssets = 2_048

  let context: Context
  /// Assets that received a chunk since the peers were told.
  private var grown: Set<AssetID> = []
  /// Assets of which a chunk could not be given. A program may have written to the row, and the flush of the row shows
  /// whether the chunk is there.
  private var withheld: Set<AssetID> = []
  /// Assets whose bytes are about to be given up.
  private var evictions: [AssetID: Eviction] = [:]

  /// The answers of the trusted devices since an eviction began.
  private struct Eviction {
    /// The sessions whose devices have not answered.
    var asked: Set<LinkID>
    let askedCount: Int
    var holder: DeviceID?
  }

  init(_ context: Context) { self.context = context }

  /// True if something waits for the next tick.
  var needsTick: Bool { !grown.isEmpty || !evictions.isEmpty }

  // MARK: Giving chunks

  /// Gives chunks only to members of a zone in which a record uses the asset. It is not enough to know the asset's
  /// name.
  func give(_ link: LinkID, _ zone: ZoneID, _ asset: AssetID, _ chunks: Range<Int>) throws {
    guard sessions.isCommon(zone, link), evictions[asset] == nil else {
      return sessions.send(link, .assetHas(zone, asset, nil))
    }
    var lacks = chunks.isEmpty
    for index in chunks {
      guard sessions[link]?.outflow.hasRoom == true else {
        // The chunk is given once the connection has accepted the earlier ones.
        sessions[link]?.outflow.put(Outflow.Chunk(zone: zone, asset: asset, index: index))
        continue
      }
      if let bytes = try store.assets.chunk(index, of: asset, zone: zone) {
        sessions.send(link, .assetChunk(zone, asset, index, bytes))
      } else {
        lacks = true
      }
    }
    if lacks {
      if withheld.count < Self.toldAssets { withheld.insert(asset) }
      try tell(link, zone, asset)
    }
  }

  /// Gives one delayed chunk.
  func give(_ link: LinkID, _ chunk: Outflow.Chunk) throws {
    try give(link, chunk.zone, chunk.asset, chunk.index..<chunk.index + 1)
  }

  private func tell(_ link: LinkID, _ zone: ZoneID, _ asset: AssetID) throws {
    let isGiven = sessions.isCommon(zone, link) && evictions[asset] == nil
    let chunks = isGiven ? try store.assets.chunks(of: asset, zone: zone) : nil
    sessions.send(link, .assetHas(zone, asset, chunks))
    sessions[link]?.chunks.told(zone, asset, isIncomplete: chunks?.isComplete == false, bound: Self.toldAssets)
  }

  func noteGrown(_ asset: AssetID) { grown.insert(asset) }

  /// Notes that rows were flushed or merged. They may have what could not be given before.
  func noteRows() {
    grown.formUnion(withheld)
    withheld = []
  }

  /// Tells the peers of assets of which more is here now.
  func tellGrown() throws {
    for link in sessions.links {
      for told in sessions[link]?.chunks.told(of: grown) ?? [] { try tell(link, told.zone, told.asset) }
    }
    grown = []
  }

  // MARK: Evictions

  package enum Holders: Sendable, Equatable {
    /// A device has not answered yet.
    case asking
    /// A device has the whole asset, and would still have it after a power failure.
    case held(by: DeviceID)
    /// None has it. The number is that of the trusted devices that are connected and were asked.
    case nobody(asked: Int)
  }

  /// Begins an eviction. From now on, this node gives nothing of the asset. Returns false if an eviction of it is
  /// already running.
  package func beginEviction(_ asset: AssetID, zones: Set<ZoneID>) -> Bool {
    guard evictions[asset] == nil else { return false }
    var asked: Set<LinkID> = []
    for link in sessions.links {
      guard let peer = sessions[link]?.peer, !incidents.liars.contains(peer.device),
        let zone = zones.sorted().first(where: { sessions.isCommon($0, link) && reliesOn(peer.account, $0) })
      else { continue }
      asked.insert(link)
      sessions.send(link, .assetWant(zone, asset, 0..<0))
    }
    evictions[asset] = Eviction(asked: asked, askedCount: asked.count)
    return true
  }

  package func holders(_ asset: AssetID) -> Holders {
    guard let eviction = evictions[asset] else { return .nobody(asked: 0) }
    if let holder = eviction.holder { return .held(by: holder) }
    let isAsking = eviction.asked.contains { sessions[$0] != nil }
    return isAsking ? .asking : .nobody(asked: eviction.askedCount)
  }

  package func endEviction(_ asset: AssetID) {
    evictions[asset] = nil
    noteGrown(asset)
  }

  private func reliesOn(_ other: AccountID, _ zone: ZoneID) -> Bool {
    other == account.id || other == zones[zone]?.state.owner
  }

  func learnHolder(_ link: LinkID, _ asset: AssetID, _ chunks: ChunkSet?) {
    guard evictions[asset]?.asked.remove(link) != nil, let chunks, chunks.isComplete else { return }
    evictions[asset]?.holder = sessions[link]?.peer?.device
  }
}

/// The chunks that a peer gave unasked, and the assets of which it is told.
struct ChunkProgress {
  /// An incomplete asset of which a peer was told.
  struct ToldAsset: Hashable {
    let zone: ZoneID
    let asset: AssetID
  }

  /// Assets that are not complete here. The peer is told when more of them arrives.
  private var toldAssets: Set<ToldAsset> = []
  private(set) var unasked = 0

  mutating func noteUnasked() { unasked += 1 }

  mutating func told(_ zone: ZoneID, _ asset: AssetID, isIncomplete: Bool, bound: Int) {
    let told = ToldAsset(zone: zone, asset: asset)
    if isIncomplete, toldAssets.count < bound { toldAssets.insert(told) } else { toldAssets.remove(told) }
  }

  func told(of assets: Set<AssetID>) -> [ToldAsset] {
    toldAssets.filter { assets.contains($0.asset) }.sorted { ($0.zone, $0.asset) < ($1.zone, $1.asset) }
  }
}
