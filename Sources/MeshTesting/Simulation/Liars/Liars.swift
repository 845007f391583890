import MeshCore
import MeshCrypto
import MeshReplication

/// A key that a liar gave away.
struct Leak: Hashable {
  let node: Int
  let epoch: EpochID
}

/// The lies that the sessions of liars carry beside the messages of their replicas.
final class Liars: MeshPart {
  let mesh: SimulatedMesh
  /// The keys that liars gave away.
  private(set) var leaks: Set<Leak> = []

  init(_ mesh: SimulatedMesh) { self.mesh = mesh }

  func lie(_ node: SimulatedNode) throws {
    guard let occasion = try occasion(node), var liar = node.liar else { return }
    defer { node.liar = liar }
    let plan = self.plan
    func isDue(_ chance: Int) -> Bool { liar.generator.once(in: chance) }
    if isDue(plan.forgeries) { tell("liars.forgeries", node, try liar.forgery(occasion)) }
    if isDue(plan.truncations) { tell("liars.truncations", node, liar.truncation()) }
    if isDue(plan.replays) { tell("liars.replays", node, liar.replay()) }
    if isDue(plan.gaps) { tell("liars.gaps", node, try liar.gap(occasion)) }
    if isDue(plan.brokenChains) { tell("liars.brokenChains", node, try liar.brokenChain(occasion)) }
    if isDue(plan.farFutures) { tell("liars.farFutures", node, try liar.future(occasion)) }
    if isDue(plan.generations) { tell("liars.generations", node, try liar.generation(occasion)) }
    if isDue(plan.floods) { tell("liars.floods", node, try liar.flood(occasion)) }
    if isDue(plan.contexts) { tell("liars.contexts", node, try liar.context(occasion)) }
    if isDue(plan.unknownTables) { tell("liars.unknownTables", node, try liar.unknownTable(occasion)) }
    if isDue(plan.forgedHeads) {
      let authors = try node.store?.log.storedVector(occasion.zone).authors.filter { $0.device != node.device } ?? []
      tell("liars.forgedHeads", node, liar.forgedHeads(occasion, authors))
    }
    if isDue(plan.clockLies) { lieAboutTheTime(node, liar.clock(occasion)) }
    try lieAsMany(node, occasion, &liar)
    try lieInShares(node, occasion, &liar)
    if isDue(plan.forks), let first = wires(node).first, let last = wires(node).last, first != last {
      let (one, other) = try liar.fork(occasion)
      tell("liars.forks", node, [one], by: first)
      tell("liars.forks", node, [other], by: last)
    }
  }

  /// Sends a wrong time. The account's own devices may sign by it, and others must not.
  private func lieAboutTheTime(_ node: SimulatedNode, _ messages: [[UInt8]]) {
    for wire in wires(node) {
      guard let other = mesh.network.wires[wire]?.ends.first(where: { $0.node != node.index }),
        nodes[other.node].home.account != node.home.account
      else { continue }
      return tell("liars.clocks", node, messages, by: wire)
    }
  }

  private func occasion(_ node: SimulatedNode) throws -> Liar.Occasion? {
    // A disk that has just failed ends the process at its next step.
    guard let zone = zoneToLieIn(node), let epoch = try? node.replica?.zoneViews.view(zone)?.epoch,
      let key = node.vault.epochKeys(zone)[epoch], let victim = honest.randomElement(using: &mesh.generator)
    else { return nil }
    return Liar.Occasion(
      zone: zone, citation: node.replica?.shareState(zone)?.citation(zones.account(of: node)), epoch: epoch,
      key: key, keys: node.keys, device: node.device, victim: victim.device, now: node.clock.milliseconds(),
      cryptography: cryptography)
  }

  /// Returns a share whose keys the liar has, as a member or a former member. If there are no shares, returns the only
  /// zone.
  private func zoneToLieIn(_ node: SimulatedNode) -> ZoneID? {
    guard zones.hasShares else { return zones.firstPrivateZone }
    let shares = zones.all.filter { $0.root != nil && !node.vault.epochKeys($0.id).isEmpty }
    return shares.randomElement(using: &mesh.generator)?.id
  }

  private func wires(_ node: SimulatedNode) -> [Int] {
    mesh.network.wires(of: node.index).filter { mesh.network.wires[$0]?.isEstablished == true }
  }

  private func tell(_ fault: String, _ node: SimulatedNode, _ messages: [[UInt8]], by wire: Int? = nil) {
    guard !messages.isEmpty, let wire = wire ?? wires(node).randomElement(using: &mesh.generator),
      let end = mesh.network.wires[wire]?.ends.firstIndex(where: { $0.node == node.index })
    else { return }
    occurred(fault)
    for message in messages { mesh.send(node, wire, end, message) }
  }

  // MARK: Many devices

  /// Lies in the names of many devices, with signed messages of others, and with descriptions of tables.
  private func lieAsMany(_ node: SimulatedNode, _ occasion: Liar.Occasion, _ liar: inout Liar) throws {
    // Devices of one account trust each other, so only an account that belongs to liars alone certifies more of them.
    let isApart = nodes.allSatisfy { $0.isLiar || $0.home.account != node.home.account }
    if liar.generator.once(in: plan.crowds) {
      let account = isApart ? zones.accounts[node.home.account] : nil
      let known = node.replica?.accountState(zones.account(of: node))
      let heads = node.replica?.shareState(occasion.zone)?.heads ?? []
      tell("liars.crowds", node, try liar.crowd(occasion, account, known, heads))
    }
    if isApart, liar.generator.once(in: plan.certificateFloods),
      let known = node.replica?.accountState(zones.account(of: node))
    {
      for wire in wires(node) {
        let state = try liar.certificates(zones.accounts[node.home.account], known, cryptography)
        tell("liars.certificates", node, [Message.account(state.encoded).encoded], by: wire)
      }
    }
    if liar.generator.once(in: plan.relays) { tell("liars.relays", node, liar.relay(zones.all.map(\.id))) }
    if liar.generator.once(in: plan.hostileSchemas) {
      tell(
        "liars.schemas", node, liar.schemas(mayBePrivate: isApart, AppSchema.tables(plan, hasShares: zones.hasShares)))
    }
  }

  // MARK: Shares

  /// Attacks that a participant or a former participant may try.
  private func lieInShares(_ node: SimulatedNode, _ occasion: Liar.Occasion, _ liar: inout Liar) throws {
    guard zones.hasShares, let state = node.replica?.shareState(occasion.zone) else { return }
    if liar.generator.once(in: plan.overreaches) {
      tell("liars.overreaches", node, try liar.overreach(occasion, state))
    }
    if liar.generator.once(in: plan.controlForgeries) {
      tell("liars.controlForgeries", node, [try liar.forgedRecord(occasion, state, zones.account(of: node))])
    }
    if liar.generator.once(in: plan.oldEpochs) {
      tell("liars.oldEpochs", node, try liar.oldEpoch(occasion, node.vault.epochKeys(occasion.zone)))
    }
    if liar.generator.once(in: plan.keyLeaks) { leakKeys(node, occasion) }
    if liar.generator.once(in: plan.revokedWrites),
      let revoked = nodes.filter(\.isRevoked).randomElement(using: &mesh.generator)
    {
      let account = zones.accountID(revoked.home.account)
      let theirs = occasion.of(revoked.keys, revoked.device, citation: state.citation(account))
      tell(
        "liars.revokedWrites", node,
        liar.generator.once(in: 2)
          ? try liar.revokedWrite(theirs) : [try liar.forgedRecord(theirs, state, zones.account(of: node))])
    }
  }

  /// Sends keys to a device that may not be part of the share. They must not give it access to anything else.
  private func leakKeys(_ node: SimulatedNode, _ occasion: Liar.Occasion) {
    guard let wire = wires(node).randomElement(using: &mesh.generator),
      let other = mesh.network.wires[wire]?.ends.first(where: { $0.node != node.index }).map({ nodes[$0.node] })
    else { return }
    let keys = node.vault.epochKeys(occasion.zone)
    var sealed: [EpochID: [UInt8]] = [:]
    for epoch in keys.keys.sorted() {
      guard let key = keys[epoch] else { continue }
      sealed[epoch] = cryptography.seal(
        key.bytes, to: other.keys.sealingKey, epoch: epoch.bytes,
        context: occasion.zone.bytes + epoch.bytes + other.device.bytes)
      leaks.insert(Leak(node: other.index, epoch: epoch))
    }
    tell("liars.keyLeaks", node, [Message.keys(occasion.zone, sealed).encoded], by: wire)
  }
}
