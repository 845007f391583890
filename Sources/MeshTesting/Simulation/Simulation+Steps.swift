import MeshCore

/// Writes and faults, until the steps are over; then the healing of all.
extension Simulation {
  func step() throws {
    guard stepsLeft > 0 else { return try settle() }
    stepsLeft -= 1
    let node = nodes[Int.random(in: 0..<nodes.count, using: &generator)]
    // One draw for each kind in every step, so that changing one chance moves no other.
    let draws = (
      crash: generator.once(in: profile.crashes), jump: generator.once(in: profile.clockJumps),
      cut: generator.once(in: profile.cuts), silentCut: generator.once(in: profile.silentCuts),
      partition: generator.once(in: profile.partitions)
    )
    if draws.jump { jump(node) }
    if draws.cut { cut(isSilent: false) }
    if draws.silentCut { cut(isSilent: true) }
    if draws.partition { partition() }
    if draws.crash, node.replica != nil { try beginCrash(node) }
    try write(node)
    queue.add(.step, at: time.now + Int64.random(in: 0...profile.pause, using: &generator))
  }

  /// An app writes whether or not the daemon runs; here both die together, so only on a living node.
  private func write(_ node: SimulatedNode) throws {
    guard node.replica != nil else { return }
    do {
      let (transaction, isCommitted) = try node.write()
      let text = transaction.statements.map(\.description).joined(separator: "; ")
      say(node.index, "\(isCommitted ? "commits" : "takes back"): \(text)")
      guard isCommitted else { return }
    } catch {
      return violate("n\(node.index)'s app fails: \(error)")
    }
    counts.commits += 1
    // Now and then nobody notices, and the slow poll must.
    guard !generator.once(in: 10) else { return }
    queue.add(
      .noticed(node: node.index, life: node.life), at: time.now + Int64.random(in: 0...20, using: &generator))
  }

  // MARK: Faults

  private func beginCrash(_ node: SimulatedNode) throws {
    switch Int.random(in: 0...2, using: &generator) {
    case 0: try crash(node, "is killed")
    case 1: node.isDoomed = true
    default: node.vault.diesAtMark = true
    }
  }

  func crash(_ node: SimulatedNode, _ how: String) throws {
    say(node.index, how)
    counts.crashes += 1
    for wire in network.wires(of: node.index) {
      guard let known = network.wires[wire], let end = known.ends.firstIndex(where: { $0.node == node.index }) else {
        continue
      }
      _ = network.close(wire, end: end)
      network.cut(wire)
      if !generator.once(in: 3) { tell(wire, 1 - end) }
    }
    do {
      try node.crash()
    } catch {
      return violate("n\(node.index) cannot crash: \(error)")
    }
    let down = deadline == nil ? Int64.random(in: profile.downTime, using: &generator) : 1
    queue.add(.start(node.index), at: time.now + down)
  }

  private func cut(isSilent: Bool) {
    let wires = network.wires.keys.sorted()
    guard !wires.isEmpty else { return }
    let wire = wires[Int.random(in: 0..<wires.count, using: &generator)]
    say(nil, "connection \(wire) is cut\(isSilent ? ", and nobody is told" : "")")
    network.cut(wire)
    if !isSilent { for end in 0...1 { tell(wire, end) } }
  }

  private func tell(_ wire: Int, _ end: Int) {
    queue.add(.closed(wire: wire, end: end), at: time.now + Int64.random(in: 0...500, using: &generator))
  }

  private func partition() {
    guard !network.isPartitioned else { return }
    let crossing = network.partition()
    guard network.isPartitioned else { return }
    counts.partitions += 1
    say(nil, "partition: \(network.sides.map(String.init).joined())")
    for wire in crossing {
      network.cut(wire)
      if generator.once(in: 2) { for end in 0...1 { tell(wire, end) } }
    }
    queue.add(.heal, at: time.now + Int64.random(in: profile.partitionTime, using: &generator))
  }

  func heal() {
    guard network.isPartitioned else { return }
    network.heal()
    say(nil, "the partition heals")
  }

  private func jump(_ node: SimulatedNode) {
    let milliseconds = Int64.random(in: -profile.clockError...profile.clockError, using: &generator)
    node.clock.jump(toAhead: milliseconds)
    say(node.index, "its clock jumps to \(milliseconds) ms ahead")
  }

  private func settle() throws {
    deadline = time.now + Self.settlingTime
    say(nil, "the steps are over, all heals")
    heal()
    for node in nodes {
      node.isDoomed = false
      node.vault.diesAtMark = false
      if node.replica == nil { queue.add(.start(node.index), at: time.now) }
    }
  }
}
