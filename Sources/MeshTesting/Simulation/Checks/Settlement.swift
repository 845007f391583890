import MeshCore
import MeshReplication

/// Whether all nodes have come to the same state, after all faults have healed.
struct Settlement: MeshPart {
  let mesh: SimulatedMesh
  let joins: ShareJoins
  let assets: AssetUsers

  func isReached() throws -> Bool {
    guard zones.firstPrivateZone != nil, joins.unfinished.allSatisfy({ nodes[$0.node].isStopped }) else { return false }
    for node in honest {
      guard let store = node.store, try store.localWrites.pendingCount() == 0, try node.database.isInStep(),
        try !node.database.isReverting(), try !waitsForAsset(node), isTold(node)
      else { return false }
    }
    for zone in zones.all {
      if zones.hasShares {
        if try zones.isAbandoned(zone) { continue }
        guard try disagreement(zone) == nil else { return false }
      }
      var states: Set<[Author: ChangeSetID]> = []
      for node in try zones.members(zone) {
        guard let store = node.store, try !isInsideUnit(store, zone.id) else { return false }
        states.insert(try store.log.mergedTips(zone.id).mapValues(\.id))
      }
      guard states.count <= 1 else { return false }
    }
    return true
  }

  /// Returns whether peers have reported that no assets are missing for the acknowledged state.
  private func isTold(_ node: SimulatedNode) -> Bool {
    guard !nodes.contains(where: \.isLiar) else { return true }
    return node.replica?.peerViews.all.allSatisfy { peer in
      peer.zones.allSatisfy { zone in
        peer.acknowledged[zone] == nil || peer.backlogs[zone]?.coming == AssetBacklog().coming
      }
    } ?? true
  }

  /// Returns whether the node waits for an asset of which something will arrive.
  private func waitsForAsset(_ node: SimulatedNode) throws -> Bool {
    let wanted = try node.store?.assets.wantedAssets(limit: 1_000) ?? []
    guard assets.mayBeMissing else { return !wanted.isEmpty }
    return try wanted.contains { try $0.staged.isComplete || isGiven($0, to: node) }
  }

  /// Returns whether an honest neighbor has a chunk of it that the node lacks.
  private func isGiven(_ wanted: WantedAsset, to node: SimulatedNode) throws -> Bool {
    try honest.contains { other in
      try mesh.network.hasRoute(between: node.index, other.index)
        && wanted.zones.contains { zone in
          guard let chunks = try other.store?.assets.chunks(of: wanted.asset.id, zone: zone) else { return false }
          return (0..<wanted.staged.count).contains { chunks.contains($0) && !wanted.staged.contains($0) }
        }
    }
  }

  /// Returns the reason why the nodes concerned don't agree on a zone, or nil if they agree.
  private func disagreement(_ zone: KnownZone) throws -> String? {
    guard let state = try zones.authority(zone) else { return "its owner is down" }
    for node in honest {
      guard let store = node.store else { return "n\(node.index) is down" }
      let account = zones.account(of: node)
      let own = try zones.state(of: zone.id, at: node)
      if let own, let known = node.replica?.shareState(zone.id), known != own {
        return "n\(node.index) knows another state of \(zone.name) than its file has: \(difference(known, own))"
      }
      if state.permission(account) != nil {
        guard try own == state || zones.isUnmet(zone, by: node.home.account) else {
          return
            "n\(node.index) reads \(zone.name) as its owner does not: \(own.map { difference($0, state) } ?? "nothing")"
        }
      } else if try store.control.knownZones().contains(zone.id) {
        guard own?.permission(account) == nil else {
          let why = own.map { difference($0, state) } ?? "nothing"
          return "n\(node.index) thinks it is a member of \(zone.name): \(why)"
        }
        guard try store.log.storedVector(zone.id).authors.isEmpty else {
          return "n\(node.index) still has \(zone.name)"
        }
      }
    }
    return nil
  }

  private func difference(_ own: ZoneState, _ state: ZoneState) -> String {
    let parts: [(String, Bool)] = [
      ("heads", own.heads == state.heads), ("participants", own.participants == state.participants),
      ("epochs", own.epochs == state.epochs), ("cuts", own.cuts == state.cuts), ("ends", own.ends == state.ends),
      ("invites", own.invites == state.invites),
    ]
    let devices = nodes.filter { own.account(of: $0.firstDevice) != state.account(of: $0.firstDevice) }
    return (parts.filter { !$0.1 }.map(\.0) + devices.map { "whose n\($0.index) is" }).joined(separator: ", ")
  }

  // MARK: Texts

  /// Says what each node has, and why the nodes are not equal.
  func explain() throws {
    for node in nodes { say(node.index, try standing(node)) }
    for zone in zones.hasShares ? zones.all : [] {
      if try !zones.isAbandoned(zone), let reason = try disagreement(zone) { say(nil, reason) }
    }
    for join in joins.unfinished { say(join.node, "is still joining \(zones.name(join.invite.zone))") }
  }

  private func standing(_ node: SimulatedNode) throws -> String {
    guard let store = node.store else { return "is down" }
    let role = node.isLiar ? "lies, " : node.isRevoked ? "is revoked, " : node.isStopped ? "is stopped, " : ""
    let vectors = try zones.zones(of: node).map { zone in
      let (stored, merged) = (try store.log.storedVector(zone.id), try store.log.mergedVector(zone.id))
      let view = try node.replica?.zoneViews.view(zone.id)
      let waiting =
        view?.waiting.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue) \($0.value)" } ?? []
      let reasons = waiting + (view?.cannotWrite.map { ["cannot write: \($0)"] } ?? [])
      return
        "stored \(mesh.text(stored)), merged \(mesh.text(merged))\(zone.suffix)\(reasons.isEmpty ? "" : " (\(reasons.joined(separator: "; ")))"), "
    }
    return
      "\(role)\(vectors.joined())pending \(try store.localWrites.pendingCount())"
      + (try node.database.isInStep() ? "" : ", has not looked at its schema")
      + (try node.database.isReverting() ? ", is not done with what was cut" : "")
      + (try store.assets.wantedAssets(limit: 1).first.map { try sources($0) } ?? "")
  }

  /// Describes where the chunks are of an asset that a node waits for.
  private func sources(_ wanted: WantedAsset) throws -> String {
    let places = try nodes.compactMap { node -> String? in
      guard let zone = wanted.zones.first else { return nil }
      let given = try (0..<wanted.staged.count).filter {
        try node.store?.assets.chunk($0, of: wanted.asset.id, zone: zone) != nil
      }
      return "n\(node.index) gives \(given.count) of \(wanted.staged.count)"
    }
    return ", waits for \(wanted.asset.id) of \(wanted.asset.size) bytes (\(places.joined(separator: ", ")))"
  }
}
