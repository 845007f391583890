import MeshCore
import MeshReplication

/// What a node must not have, at any time.
extension Simulation {
  /// A node whose account nobody ever gave a link to knows nothing of a share: no log, no change sets, no key.
  func lookForLeaks(_ node: SimulatedNode, _ store: any ReplicaStore) throws {
    let known = Set(try store.zones())
    for zone in zones where node.home.account != zone.account && !zone.invited.contains(node.home.account) {
      if !node.vault.epochKeys(zone.id).isEmpty {
        violate("n\(node.index) has a key of \(zone.name), and no part in it")
      }
      if known.contains(zone.id) { violate("n\(node.index) knows \(zone.name), and has no part in it") }
    }
  }

  /// Who was put out gets no key of an epoch that was minted over that; nor does a device that was revoked.
  func checkKeys(_ zone: KnownZone, _ state: ZoneState, _ log: ControlLog) {
    for node in nodes where node.home.account != zone.account && !node.isLiar {
      let account = accountID(node.home.account)
      for epoch in node.vault.epochKeys(zone.id).keys.sorted() {
        // Of an epoch that nobody else knows: it was out when it minted that.
        guard let id = ControlID(epoch.bytes), log.record(id) != nil else { continue }
        if !leaks.contains(Leak(node: node.index, epoch: epoch)), log.isOut(account, at: id) {
          violate("n\(node.index) has a key of \(zone.name) that was minted over its account's removal")
        }
      }
    }
    for node in nodes where node.isRevoked {
      for epoch in node.vault.epochKeys(zone.id).keys.sorted() {
        guard let id = ControlID(epoch.bytes), log.hasCut(node.firstDevice, before: id) else { continue }
        violate("n\(node.index) has a key of \(zone.name) that was minted over its revocation")
      }
    }
  }

  /// Whoever knows the same accounts and reads the same records in another order reads the same.
  func checkSecondReading(_ zone: KnownZone, _ node: SimulatedNode, _ state: ZoneState, _ records: [ControlRecord]) {
    let second = ZoneState(
      zone.id, records: records.shuffled(using: &generator), accounts: accountsKnown(to: node), cryptography)
    if second != state { violate("the control log of \(zone.name) says something else in another order") }
  }
}
