import MeshCore
import MeshReplication

/// Faults of machines and connections.
extension Simulation {
  // MARK: Deaths

  func kill(_ node: SimulatedNode) throws {
    guard node.replica != nil else { return }
    occurred("nodes.kills")
    switch Int.random(in: 0...3, using: &generator) {
    case 0: node.isDoomed = true
    case 1: node.vault.diesAtMark = true
    case 2: try crash(node, "is killed", isMachine: false)
    default: try crash(node, "is killed, and its app", isMachine: true)
    }
  }

  func cutPower(_ node: SimulatedNode) throws {
    guard node.replica != nil else { return }
    occurred("nodes.powerCuts")
    try crash(node, "loses its power", isMachine: true, losesUnsynced: true)
  }

  func beginDeath(_ node: SimulatedNode) {
    guard node.replica != nil else { return }
    guard let disk = node.database.disk else {
      node.vault.diesAtMark = true
      return
    }
    disk.die(within: Int.random(in: plan.deathWithin, using: &generator))
  }

  /// Handles the operation in which the node was to die.
  func die(_ node: SimulatedNode) throws {
    occurred("nodes.deaths")
    let losesPower = generator.once(in: 2)
    try crash(
      node, losesPower ? "loses its power in a storage operation" : "is killed in a storage operation", isMachine: true,
      losesUnsynced: losesPower)
  }

  /// - Parameter isMachine: True if the app dies as well.
  func crash(_ node: SimulatedNode, _ how: String, isMachine: Bool, losesUnsynced: Bool = false) throws {
    say(node.index, how)
    abandonConnections(node)
    do {
      if isMachine { try node.crash(losesUnsynced: losesUnsynced) } else { try node.end() }
    } catch {
      if node.database.disk?.isDead == true {
        try node.crash(losesUnsynced: losesUnsynced)
      } else if !isFault(node, error) {
        return violate("n\(node.index) cannot crash: \(error)")
      }
    }
    comeBack(node)
  }

  func comeBack(_ node: SimulatedNode) {
    let down = deadline == nil ? Int64(Int.random(in: plan.downTime, using: &generator)) : 1
    queue.add(.start(node.index), at: time.now + down)
  }

  func abandonConnections(_ node: SimulatedNode) {
    for wire in network.wires(of: node.index) {
      guard let known = network.wires[wire], let end = known.ends.firstIndex(where: { $0.node == node.index }) else {
        continue
      }
      _ = network.close(wire, end: end)
      network.cut(wire)
      if !generator.once(in: 3) { tell(wire, 1 - end) }
    }
  }

  /// Makes a node say goodbye, close its file and start again.
  func restart(_ node: SimulatedNode) throws {
    guard let replica = node.replica else { return }
    occurred("nodes.restarts")
    say(node.index, "stops")
    replica.stop()
    perform(node, replica.takeActions())
    abandonConnections(node)
    do {
      try node.end()
      // Sometimes it was the last process with the file open, and SQLite tidies up.
      if generator.once(in: 2) { try node.database.close() }
    } catch {
      if node.database.disk?.isDead == true { return try die(node) }
      if !isFault(node, error) { return violate("n\(node.index) cannot stop: \(error)") }
    }
    comeBack(node)
  }

  func pauseProcess(_ node: SimulatedNode) {
    guard node.replica != nil, node.pausedUntil <= time.now else { return }
    occurred("nodes.pauses")
    node.pausedUntil = time.now + Int64(Int.random(in: plan.pauseTime, using: &generator))
    say(node.index, "pauses for \(node.pausedUntil - time.now) ms")
  }

  // MARK: Disks and clocks

  func failDisk(_ node: SimulatedNode) {
    guard let disk = node.database.disk, deadline == nil else { return }
    let duration = Int.random(in: plan.diskErrorTime, using: &generator)
    say(node.index, duration == 0 ? "its disk is about to fail once" : "its disk fails for \(duration) ms")
    disk.fail(rate: plan.diskErrorRate, times: duration == 0 ? 1 : nil)
    if duration > 0 { queue.add(.mend(node.index), at: time.now + Int64(duration)) }
  }

  func fillDisk(_ node: SimulatedNode) {
    guard let disk = node.database.disk, deadline == nil else { return }
    let duration = Int.random(in: plan.fullDiskTime, using: &generator)
    say(node.index, "its disk is full for \(duration) ms")
    disk.fill(rate: plan.fullDiskRate)
    queue.add(.mend(node.index), at: time.now + Int64(duration))
  }

  func mend(_ node: SimulatedNode) {
    node.database.disk?.fail(rate: 0)
    node.database.disk?.fill(rate: 0)
  }

  func jump(_ node: SimulatedNode) {
    occurred("clock.jumps")
    let milliseconds = Int64.random(in: -Int64(plan.clockError)...Int64(plan.clockError), using: &generator)
    node.clock.jump(toAhead: milliseconds)
    say(node.index, "its clock jumps to \(milliseconds) ms ahead")
  }

  // MARK: Connections

  func cut(_ node: SimulatedNode) {
    guard let wire = anyWire() else { return }
    occurred("network.cuts")
    say(nil, "connection \(wire) is cut")
    network.cut(wire)
    for end in 0...1 { tell(wire, end) }
  }

  func cutSilently(_ node: SimulatedNode) {
    guard let wire = anyWire() else { return }
    occurred("network.silentCuts")
    say(nil, "connection \(wire) is cut, and nobody is told")
    network.cut(wire)
  }

  func stall(_ node: SimulatedNode) {
    guard let wire = anyWire() else { return }
    occurred("network.stalls")
    let duration = Int64(Int.random(in: plan.stallTime, using: &generator))
    say(nil, "connection \(wire) stalls for \(duration) ms")
    network.stall(wire, until: time.now + duration)
  }

  private func anyWire() -> Int? {
    let wires = network.wires.keys.sorted()
    return wires.isEmpty ? nil : wires[Int.random(in: 0..<wires.count, using: &generator)]
  }

  private func tell(_ wire: Int, _ end: Int) {
    queue.add(.closed(wire: wire, end: end), at: time.now + Int64.random(in: 0...500, using: &generator))
  }

  func partition(_ node: SimulatedNode) { partition(isOneWay: false) }
  func partitionOneWay(_ node: SimulatedNode) { partition(isOneWay: true) }

  private func partition(isOneWay: Bool) {
    guard !network.isPartitioned else { return }
    let end = time.now + Int64(Int.random(in: plan.partitionTime, using: &generator))
    let crossing = network.partition(isOneWay: isOneWay, until: end)
    guard network.isPartitioned else { return }
    occurred(isOneWay ? "network.oneWayPartitions" : "network.partitions")
    say(nil, "\(isOneWay ? "one-way " : "")partition: \(network.sides.map(String.init).joined())")
    for wire in isOneWay ? [] : crossing {
      network.cut(wire)
      if generator.once(in: 2) { for end in 0...1 { tell(wire, end) } }
    }
    queue.add(.heal, at: end)
  }

  func heal() {
    guard network.isPartitioned else { return }
    network.heal()
    say(nil, "the partition heals")
  }
}
