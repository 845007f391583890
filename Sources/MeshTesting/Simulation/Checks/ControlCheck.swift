import MeshCore
import MeshReplication

/// Checks what nodes conclude from the control logs of shares, and which keys they have.
final class ControlCheck: MeshPart {
  let mesh: SimulatedMesh
  private let liars: Liars
  /// The states of control logs that were read plainly, by their heads.
  private var plainlyRead: Set<Set<ControlID>> = []

  init(_ mesh: SimulatedMesh, _ liars: Liars) { (self.mesh, self.liars) = (mesh, liars) }

  /// Checks what a node concludes from a share's control log against a plain reading of the same records. Each state of
  /// a log is read once.
  func look(_ node: SimulatedNode) throws {
    guard let replica = node.replica, let store = node.store, !node.isLiar, !node.isHistoryLost else { return }
    for zone in zones.all {
      guard let root = zone.root, let state = replica.shareState(zone.id), let owner = state.owner,
        !plainlyRead.contains(Set(state.heads))
      else { continue }
      let records = try zones.controlRecords(store, zone.id)
      let named = Set(records.flatMap { $0.parents + ($0.previous.map { [$0] } ?? []) })
      // Records may have arrived that the replica has not read yet.
      guard Set(records.map(\.id)).subtracting(named) == Set(state.heads) else { continue }
      plainlyRead.insert(Set(state.heads))
      let plain = plainZone(node, records, owner: owner)
      guard differs(state, plain) else { continue }
      // A certificate may have arrived that the replica has not read yet.
      guard let fresh = try zones.state(of: zone.id, at: node), differs(fresh, plain) else { continue }
      violate("n\(node.index) reads the control log of \(zone.name), of \(root), in another way than it is worded")
    }
  }

  private func plainZone(_ node: SimulatedNode, _ records: [ControlRecord], owner: AccountID) -> PlainZone {
    let known = zones.accounts.indices.compactMap { node.replica?.accountState(zones.accountID($0)) }
    return PlainZone(
      records,
      PlainZone.Accounts(
        owner: owner, account: { device in known.first { $0.certificates[device] != nil }?.id },
        isExcluded: { device in known.contains { $0.isExcluded(device) } }))
  }

  private func differs(_ state: ZoneState, _ plain: PlainZone) -> Bool {
    let others = zones.accounts.indices.map(zones.accountID).filter { $0 != state.owner }
    return state.isStopped != plain.isStopped
      || others.contains { state.participants[$0]?.status != plain.status($0) }
      || Set(state.currentEpochs.map(\.bytes)) != plain.currentEpochs
  }

  // MARK: The end

  /// Checks the log of a zone by reading it a second time, and checks which nodes have which keys.
  func check(_ zone: KnownZone) throws {
    guard let owner = honest.first(where: { $0.home.account == zone.account }), let store = owner.store,
      let state = try zones.state(of: zone.id, at: owner)
    else { return }
    let records = try zones.controlRecords(store, zone.id)
    checkSecondReading(zone, owner, state, records)
    try checkLimits(zone, owner, state, records)
    let known = try nodes.filter { !$0.isLiar }.flatMap {
      try $0.store.map { try zones.controlRecords($0, zone.id) } ?? []
    }
    let log = ControlLog(records + known) { state.account(of: $0) }
    checkKeys(zone, state, log)
    for form in log.rareForms(owner: state.owner) { mesh.branches.add(form.rawValue) }
  }

  /// Checks that reading the same records in another order, with the same accounts, gives the same state.
  private func checkSecondReading(
    _ zone: KnownZone, _ node: SimulatedNode, _ state: ZoneState, _ records: [ControlRecord]
  ) {
    let second = ZoneState(
      zone.id, records: records.shuffled(using: &mesh.generator), accounts: zones.accountsKnown(to: node), cryptography)
    if second != state { violate("the control log of \(zone.name) says something else in another order") }
  }

  /// Checks where authors end, which follows from the records that they cite.
  private func checkLimits(
    _ zone: KnownZone, _ node: SimulatedNode, _ state: ZoneState, _ records: [ControlRecord]
  ) throws {
    guard zone.root != nil, let owner = state.owner, let store = node.store else { return }
    let plain = plainZone(node, records, owner: owner)
    for (author, citation) in try store.log.citations(zone.id).sorted(by: { $0.key < $1.key }) {
      guard state.account(of: author.device) != owner else { continue }
      if state.lostPermission(author, citation) != plain.limit(author, citation) {
        let writer = nodes.first { $0.device == author.device }.map { "n\($0.index)" } ?? "?"
        violate("an author of \(writer) ends at another number than \(zone.name) says")
      }
    }
  }

  /// Checks that a removed account gets no key of an epoch that was minted after its removal, and neither does a
  /// revoked device.
  private func checkKeys(_ zone: KnownZone, _ state: ZoneState, _ log: ControlLog) {
    for node in nodes where node.home.account != zone.account && !node.isLiar {
      let account = zones.account(of: node)
      for epoch in node.vault.epochKeys(zone.id).keys.sorted() {
        // If nobody else knows the epoch, the node was out when it minted it.
        guard let id = ControlID(epoch.bytes), log.record(id) != nil else { continue }
        if !liars.leaks.contains(Leak(node: node.index, epoch: epoch)), log.isOut(account, at: id) {
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
}
