import MeshCore
import MeshReplication

/// The data that a node must never have.
extension Simulation {
  /// Checks that a node whose account was never given an invite knows nothing of a share: no log, no change sets, no
  /// key.
  func lookForLeaks(_ node: SimulatedNode, _ store: any ReplicaStore) throws {
    let known = Set(try store.zones())
    for zone in zones where node.home.account != zone.account && !zone.invited.contains(node.home.account) {
      if !node.vault.epochKeys(zone.id).isEmpty {
        violate("n\(node.index) has a key of \(zone.name), and no part in it")
      }
      if known.contains(zone.id) { violate("n\(node.index) knows \(zone.name), and has no part in it") }
    }
  }

  /// Checks that a removed account gets no key of an epoch that was minted after its removal, and neither does a
  /// revoked device.
  func checkKeys(_ zone: KnownZone, _ state: ZoneState, _ log: ControlLog) {
    for node in nodes where node.home.account != zone.account && !node.isLiar {
      let account = accountID(node.home.account)
      for epoch in node.vault.epochKeys(zone.id).keys.sorted() {
        // If nobody else knows the epoch, the node was out when it minted it.
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

  /// Checks that reading the same records in another order, with the same accounts, gives the same state.
  func checkSecondReading(_ zone: KnownZone, _ node: SimulatedNode, _ state: ZoneState, _ records: [ControlRecord]) {
    let second = ZoneState(
      zone.id, records: records.shuffled(using: &generator), accounts: accountsKnown(to: node), cryptography)
    if second != state { violate("the control log of \(zone.name) says something else in another order") }
  }
}
