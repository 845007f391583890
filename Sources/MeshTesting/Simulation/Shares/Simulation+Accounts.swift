import MeshCore
import MeshReplication

/// The zones, and whether nodes agree on them.
extension Simulation {
  /// Makes the private zone of the account whose key a node holds.
  func makePrivateZone(_ node: SimulatedNode) throws {
    guard node.home.place == 0, zones.privateZone(of: node) == nil else { return }
    var made: ZoneID?
    try mesh.input(node) { replica, now in
      made = try replica.administration.createPrivateZone(title: "private", now: now)
    }
    guard let made else { return }
    zones.notePrivateZone(made, of: node)
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

  /// Returns the reason why the nodes concerned don't agree on a zone, or nil if they agree.
  func disagreement(_ zone: KnownZone) throws -> String? {
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
      } else if try store.zones().contains(zone.id) {
        guard own?.permission(account) == nil else {
          let why = own.map { difference($0, state) } ?? "nothing"
          return "n\(node.index) thinks it is a member of \(zone.name): \(why)"
        }
        guard try store.storedVector(zone.id).authors.isEmpty else { return "n\(node.index) still has \(zone.name)" }
      }
    }
    return nil
  }
}
