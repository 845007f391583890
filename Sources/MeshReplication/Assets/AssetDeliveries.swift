import MeshCore

/// Finds out which of the assets that this account wrote into a share of another account the owner has. Until the owner
/// has an asset, it would be lost for the others if this account lost the share.
///
/// A backlog tells only how many assets a device lacks, and these may be others' assets that nobody has any more. So a
/// device of the owner is asked for each asset by name, once its backlog has changed and nothing is coming.
///
/// Most devices of a participant are never connected to the owner, because another device of the account is. For such a
/// device, its account's devices count instead.
struct AssetDeliveries: Part {
  /// The maximum number of questions that a device has not answered.
  private static let questions = 64

  let context: Context

  /// Asks a device for the assets that the owner may lack. If its backlog has changed, it may have received some since
  /// it was asked before, and is asked for all of them again.
  func noteBacklog(_ link: LinkID, _ zone: ZoneID, _ backlog: AssetBacklog) throws {
    guard let owner = zones[zone]?.state.owner, owner != account.id, let peer = sessions[link]?.peer,
      peer.account == owner || peer.account == account.id
    else { return }
    sessions[link]?.deliveries.learn(zone, backlog)
    guard backlog.coming.assets == 0, try !store.assets.undelivered(zone, limit: 1).isEmpty,
      try peer.account == owner || !hasMet(owner, zone)
    else { return }
    try ask(link, zone)
  }

  /// Returns whether a device of the owner has acknowledged something to this device.
  private func hasMet(_ owner: AccountID, _ zone: ZoneID) throws -> Bool {
    try store.control.acknowledgements(zone).keys.contains { zones[zone]?.state.account(of: $0) == owner }
  }

  /// Takes an answer. The last one of a round begins the next round.
  func learn(_ link: LinkID, _ zone: ZoneID, _ asset: AssetID, _ chunks: ChunkSet?) throws {
    guard sessions[link]?.deliveries.answer(zone, asset, isComplete: chunks?.isComplete == true) == true,
      let delivered = sessions[link]?.deliveries.delivered.removeValue(forKey: zone)
    else { return }
    if !delivered.isEmpty { try store.assets.noteDelivered(delivered, in: zone) }
    try ask(link, zone)
  }

  private func ask(_ link: LinkID, _ zone: ZoneID) throws {
    guard let deliveries = sessions[link]?.deliveries, deliveries.asked[zone] == nil else { return }
    let lacking = deliveries.lacking[zone] ?? []
    let assets = try store.assets.undelivered(zone, limit: lacking.count + Self.questions).map(\.id)
    let asked = assets.filter { !lacking.contains($0) }.prefix(Self.questions)
    guard !asked.isEmpty else { return }
    sessions[link]?.deliveries.asked[zone] = Set(asked)
    sessions[link]?.deliveries.delivered[zone] = []
    for asset in asked { sessions.send(link, .assetWant(zone, asset, 0..<0)) }
  }
}

/// The questions to a device of a share's owner, and its answers, by zone.
struct DeliveryProgress {
  /// The assets for which an answer is missing. A zone is absent if none is.
  fileprivate(set) var asked: [ZoneID: Set<AssetID>] = [:]
  /// The assets that the device has said it has, and that are not noted in the store.
  fileprivate(set) var delivered: [ZoneID: Set<AssetID>] = [:]
  /// The assets that the device has said it lacks, since its backlog changed.
  fileprivate(set) var lacking: [ZoneID: Set<AssetID>] = [:]
  private var backlogs: [ZoneID: AssetBacklog] = [:]

  fileprivate mutating func learn(_ zone: ZoneID, _ backlog: AssetBacklog) {
    guard backlogs.updateValue(backlog, forKey: zone) != backlog else { return }
    lacking[zone] = nil
  }

  /// Returns whether it is the last answer of a round.
  fileprivate mutating func answer(_ zone: ZoneID, _ asset: AssetID, isComplete: Bool) -> Bool {
    guard asked[zone]?.remove(asset) != nil else { return false }
    if isComplete { delivered[zone]?.insert(asset) } else { lacking[zone, default: []].insert(asset) }
    guard asked[zone]?.isEmpty == true else { return false }
    asked[zone] = nil
    return true
  }
}
