import MeshCore
import MeshReplication

/// The lies that a liar's sessions carry beside the messages of its replica.
extension Simulation {
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
      let authors = try node.store?.storedVector(occasion.zone).authors.filter { $0.device != node.device } ?? []
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
    guard let zone = zoneToLieIn(node), let epoch = try? node.replica?.zoneView(zone)?.epoch,
      let key = node.vault.epochKeys(zone)[epoch], let victim = honest.randomElement(using: &mesh.generator)
    else { return nil }
    return Liar.Occasion(
      zone: zone, citation: node.replica?.shareState(zone)?.citation(zones.account(of: node)), epoch: epoch,
      key: key, keys: node.keys, device: node.device, victim: victim.device, now: node.clock.milliseconds(),
      cryptography: cryptography)
  }

  func wires(_ node: SimulatedNode) -> [Int] {
    mesh.network.wires(of: node.index).filter { mesh.network.wires[$0]?.isEstablished == true }
  }

  func tell(_ fault: String, _ node: SimulatedNode, _ messages: [[UInt8]], by wire: Int? = nil) {
    guard !messages.isEmpty, let wire = wire ?? wires(node).randomElement(using: &mesh.generator),
      let end = mesh.network.wires[wire]?.ends.firstIndex(where: { $0.node == node.index })
    else { return }
    occurred(fault)
    for message in messages { mesh.send(node, wire, end, message) }
  }
}
