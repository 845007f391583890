import MeshCore
import MeshReplication

/// The actions of people without the node's knowledge: restoring and copying files, and revoking devices. It remembers
/// the writes that went away with files.
final class FileIncidents: MeshPart {
  let mesh: SimulatedMesh
  private let assets: AssetUsers
  private(set) var archive = Archive()
  /// Writes whose file was replaced by another one. Other nodes have merged them and must not lose them.
  private(set) var entrusted: [Archive.Write] = []

  init(_ mesh: SimulatedMesh, _ assets: AssetUsers) { (self.mesh, self.assets) = (mesh, assets) }

  /// Replaces a node's files with an older copy. A copy is made now and then.
  func restoreFile(_ node: SimulatedNode) throws { try restore(node, withHome: false) }
  func restoreHome(_ node: SimulatedNode) throws { try restore(node, withHome: true) }

  private func restore(_ node: SimulatedNode, withHome: Bool) throws {
    guard canBeReplaced(node) else { return }
    guard let old = node.copies.popLast() else {
      if let copy = node.copy { node.copies.append(copy) }
      return say(node.index, "is copied for a bad day")
    }
    guard !withHome || old.device == node.device else { return }
    occurred(withHome ? "history.homeRestores" : "history.restores")
    try replace(node, withHome ? "gets its old home and file back" : "gets an older file back") {
      if withHome { takeHome(node, old) }
      node.take(old)
    }
  }

  /// Overwrites the file that the node and the app have open with an older copy.
  func restoreLive(_ node: SimulatedNode) throws {
    guard canBeReplaced(node), node.replica != nil, !node.isHistoryLost else { return }
    guard let old = node.copies.popLast(), old.device == node.device else {
      if let copy = node.copy { node.copies.append(copy) }
      return say(node.index, "is copied for a bad day")
    }
    occurred("history.liveRestores")
    node.database.disk?.die(within: 0)
    node.database.disk?.mend()
    try mesh.guarded(node) {
      try entrust(node)
      say(node.index, "has an older copy written into its open file")
      try node.restoreLive(old)
    }
  }

  func copyFile(_ node: SimulatedNode) throws {
    guard let other = another(node), let copy = other.copy else { return }
    occurred("history.fileCopies")
    try replace(node, "gets a copy of n\(other.index)'s file") {
      if other.home.account != node.home.account { node.setAside = node.copy }
      node.take(copy)
    }
  }

  /// Gives a node its own file back, after it has refused another account's. Returns false if it has none.
  func putBack(_ node: SimulatedNode) throws -> Bool {
    guard let own = node.setAside else { return false }
    say(node.index, "refuses another account's file, and gets its own back")
    // The app must not go on with the file that it has open.
    try node.crash(losesUnsynced: false)
    node.take(own)
    node.setAside = nil
    return true
  }

  /// Copies a home. The machine that had the place of the copy is gone for good.
  func copyHome(_ node: SimulatedNode) throws {
    guard let other = another(node), let copy = other.copy, other.device != node.device,
      other.home.account == node.home.account
    else { return }
    occurred("history.homeCopies")
    try replace(node, "becomes a copy of n\(other.index)") {
      node.become(other)
      takeHome(node, copy)
      node.take(copy)
    }
  }

  /// Gives a node a copied home. A copy of files knows its place, but a copy of a machine's whole disk doesn't.
  private func takeHome(_ node: SimulatedNode, _ copy: SimulatedNode.Copy) {
    node.vault.contents = copy.home
    node.vault.isFromElsewhere = mesh.generator.once(in: 2)
  }

  /// Returns whether the node's file can be replaced. The first node's can't, because it makes the zone and revokes
  /// devices.
  private func canBeReplaced(_ node: SimulatedNode) -> Bool {
    mesh.storage == .sqlite && !node.isRevoked && !node.isLiar && node.index > 0 && node.life > 0
      && mesh.deadline == nil && node.setAside == nil
  }

  /// Returns a node whose file can be copied to this one.
  private func another(_ node: SimulatedNode) -> SimulatedNode? {
    guard canBeReplaced(node) else { return nil }
    let others = nodes.filter { $0 !== node && canBeReplaced($0) }
    return others.isEmpty ? nil : others[Int.random(in: 0..<others.count, using: &mesh.generator)]
  }

  private func replace(_ node: SimulatedNode, _ how: String, _ body: () -> Void) throws {
    try entrust(node)
    let wasDown = node.replica == nil
    if wasDown {
      say(node.index, how)
      try node.database.crash(losesUnsynced: false)
    } else {
      try mesh.crash(node, how, isMachine: true)
    }
    body()
  }

  /// Stops all but one of the machines with the keys of one device. They take over each other's sessions, and report
  /// it.
  func stopCopies() throws {
    for (index, node) in nodes.enumerated() where honest.contains(where: { $0 === node }) {
      for copy in nodes[(index + 1)...] where copy.device == node.device && !copy.isStopped {
        try entrust(copy)
        copy.isStopped = true
        if copy.replica == nil {
          say(copy.index, "does not start again, for n\(index) runs as the same device")
        } else {
          try mesh.crash(copy, "is stopped, for n\(index) runs as the same device", isMachine: true)
        }
        goAround(copy)
      }
    }
  }

  // MARK: What goes away

  /// Archives the change sets of one zone that the node has signed, and those of liars that it has merged.
  func archiveWrites(of node: SimulatedNode, in zone: ZoneID, _ store: any ReplicaStore) throws {
    try archive.take(from: node.device, store, zone, cryptography)
    let liars = Set(nodes.filter(\.isLiar).flatMap(\.devices))
    if !liars.isEmpty { try archive.takeLies(of: liars, store, zone, cryptography) }
  }

  /// Archives what the node has signed in all zones.
  func archiveWrites(of node: SimulatedNode) throws {
    // The store of a file that was restored while it was open refuses everything.
    guard let store = node.store, !node.isHistoryLost else { return }
    for zone in try zones.zones(of: node) { try archiveWrites(of: node, in: zone.id, store) }
  }

  /// Notes that a node's file goes away. If another node has merged its committed writes, that node must not lose them.
  /// The only copies of its other writes were in the file.
  private func entrust(_ node: SimulatedNode) throws {
    try archiveWrites(of: node)
    try assets.noteAbandoned(node)
    let merged = try merged(by: honest.filter { $0 !== node })
    if let zone = zones.firstPrivateZone { node.ledger.naming = AssetNaming(zone: zone, cryptography: cryptography) }
    entrusted = (entrusted + (try archive.writes(of: node.ledger.facts, zones.keys, cryptography))).filter {
      !$0.isOverwritten && merged.contains($0.changeSet)
    }
  }

  /// Notes that devices of a node's keys take no further part. Other nodes list the writes that they had merged. Writes
  /// of others that only these devices had go with them.
  private func entrustRevoked(_ node: SimulatedNode) throws {
    guard !zones.hasShares else { return }
    let gone = honest.filter { $0.device == node.device }
    let left = try merged(by: honest.filter { $0.device != node.device })
    for one in gone { try entrust(one) }
    let lost = try merged(by: gone).subtracting(left)
    entrusted.removeAll { lost.contains($0.changeSet) }
  }

  /// Returns the change sets that one of the nodes has merged.
  private func merged(by nodes: [SimulatedNode]) throws -> Set<ChangeSetID> {
    try nodes.reduce(into: []) { merged, node in
      // The checker reads their files. Their disks may not fail meanwhile, nor may their machines die.
      if node.database.disk?.isDead == true { try mesh.die(node) }
      node.database.disk?.mend()
      let database = node.database
      merged.formUnion(try database.disk?.sparing(database.mergedIDs) ?? database.mergedIDs())
    }
  }

  // MARK: Revoked

  func revoke(_ node: SimulatedNode) throws {
    let keeper = zones.keeper(of: node)
    noteRevoked(keeper)
    guard zones.privateZone(of: node) != nil, keeper.replica != nil, node.home.place > 0, !node.isRevoked, !node.isLiar,
      nodes.filter(\.isRevoked).count < nodes.count / 3, keeper.replica?.account.certificates[node.device] != nil,
      // A copy of the keeper's home is the same device, and no machine revokes itself.
      node.device != keeper.device
    else { return }
    try entrustRevoked(node)
    say(keeper.index, "revokes n\(node.index)")
    let device = node.device
    try mesh.input(keeper) { replica, now in try replica.administration.revoke(device, now: now) }
    noteRevoked(keeper)
  }

  /// Notes a revocation, as the device with the account's key knows it. That device may have died before it was
  /// durable, or after.
  func noteRevoked(_ keeper: SimulatedNode) {
    guard let account = keeper.replica?.account else { return }
    for node in nodes where !node.isRevoked && account.isExcluded(node.device) {
      occurred("nodes.revocations")
      node.isRevoked = true
      goAround(node)
    }
  }

  /// Connects its neighbors to the first node of its account instead.
  private func goAround(_ node: SimulatedNode) {
    for route in mesh.network.replace(node.index, by: zones.keeper(of: node).index) {
      let from = nodes[mesh.network.routes[route].from]
      if from.replica != nil { mesh.schedule(.dial(route: route, life: from.life), in: 100) }
    }
  }
}
