import MeshCore
import MeshReplication

/// Faults of machines and connections.
struct MachineFaults: MeshPart {
  let mesh: SimulatedMesh

  // MARK: Machines

  func kill(_ node: SimulatedNode) throws {
    guard node.replica != nil else { return }
    occurred("nodes.kills")
    switch Int.random(in: 0...3, using: &mesh.generator) {
    case 0: node.isDoomed = true
    case 1: node.vault.diesAtMark = true
    case 2: try mesh.crash(node, "is killed", isMachine: false)
    default: try mesh.crash(node, "is killed, and its app", isMachine: true)
    }
  }

  func cutPower(_ node: SimulatedNode) throws {
    guard node.replica != nil else { return }
    occurred("nodes.powerCuts")
    try mesh.crash(node, "loses its power", isMachine: true, losesUnsynced: true)
  }

  func beginDeath(_ node: SimulatedNode) {
    guard node.replica != nil else { return }
    guard let disk = node.database.disk else {
      node.vault.diesAtMark = true
      return
    }
    disk.die(within: Int.random(in: plan.deathWithin, using: &mesh.generator))
  }

  /// Makes a node say goodbye, close its file and start again.
  func restart(_ node: SimulatedNode) throws {
    guard let replica = node.replica else { return }
    occurred("nodes.restarts")
    say(node.index, "stops")
    replica.stop()
    mesh.perform(node, replica.takeActions())
    mesh.abandonConnections(node)
    do {
      try node.end()
      // Sometimes it was the last process with the file open, and SQLite tidies up.
      if mesh.generator.once(in: 2) { try node.database.close() }
    } catch {
      if node.database.disk?.isDead == true { return try mesh.die(node) }
      if !mesh.isFault(node, error) { return violate("n\(node.index) cannot stop: \(error)") }
    }
    mesh.comeBack(node)
  }

  func pause(_ node: SimulatedNode) {
    guard node.replica != nil, node.pausedUntil <= time.now else { return }
    occurred("nodes.pauses")
    node.pausedUntil = time.now + Int64(Int.random(in: plan.pauseTime, using: &mesh.generator))
    say(node.index, "pauses for \(node.pausedUntil - time.now) ms")
  }

  // MARK: Disks and clocks

  func failDisk(_ node: SimulatedNode) {
    guard let disk = node.database.disk, mesh.deadline == nil else { return }
    let duration = Int.random(in: plan.diskErrorTime, using: &mesh.generator)
    say(node.index, duration == 0 ? "its disk is about to fail once" : "its disk fails for \(duration) ms")
    disk.fail(rate: plan.diskErrorRate, times: duration == 0 ? 1 : nil)
    if duration > 0 { mesh.schedule(.mend(node.index), in: Int64(duration)) }
  }

  func fillDisk(_ node: SimulatedNode) {
    guard let disk = node.database.disk, mesh.deadline == nil else { return }
    let duration = Int.random(in: plan.fullDiskTime, using: &mesh.generator)
    say(node.index, "its disk is full for \(duration) ms")
    disk.fill(rate: plan.fullDiskRate)
    mesh.schedule(.mend(node.index), in: Int64(duration))
  }

  func jump(_ node: SimulatedNode) {
    occurred("clock.jumps")
    let milliseconds = Int64.random(in: -Int64(plan.clockError)...Int64(plan.clockError), using: &mesh.generator)
    node.clock.jump(toAhead: milliseconds)
    say(node.index, "its clock jumps to \(milliseconds) ms ahead")
  }

  // MARK: Connections

  func cut(_ node: SimulatedNode) {
    guard let wire = anyWire() else { return }
    occurred("network.cuts")
    say(nil, "connection \(wire) is cut")
    mesh.network.cut(wire)
    for end in 0...1 { mesh.tell(wire, end) }
  }

  func cutSilently(_ node: SimulatedNode) {
    guard let wire = anyWire() else { return }
    occurred("network.silentCuts")
    say(nil, "connection \(wire) is cut, and nobody is told")
    mesh.network.cut(wire)
  }

  func stall(_ node: SimulatedNode) {
    guard let wire = anyWire() else { return }
    occurred("network.stalls")
    let duration = Int64(Int.random(in: plan.stallTime, using: &mesh.generator))
    say(nil, "connection \(wire) stalls for \(duration) ms")
    mesh.network.stall(wire, until: time.now + duration)
  }

  private func anyWire() -> Int? {
    let wires = mesh.network.wires.keys.sorted()
    return wires.isEmpty ? nil : wires[Int.random(in: 0..<wires.count, using: &mesh.generator)]
  }

  func partition(_ node: SimulatedNode) { partition(isOneWay: false) }
  func partitionOneWay(_ node: SimulatedNode) { partition(isOneWay: true) }

  private func partition(isOneWay: Bool) {
    guard !mesh.network.isPartitioned else { return }
    let end = time.now + Int64(Int.random(in: plan.partitionTime, using: &mesh.generator))
    let crossing = mesh.network.partition(isOneWay: isOneWay, until: end)
    guard mesh.network.isPartitioned else { return }
    occurred(isOneWay ? "network.oneWayPartitions" : "network.partitions")
    say(nil, "\(isOneWay ? "one-way " : "")partition: \(mesh.network.sides.map(String.init).joined())")
    for wire in isOneWay ? [] : crossing {
      mesh.network.cut(wire)
      if mesh.generator.once(in: 2) { for end in 0...1 { mesh.tell(wire, end) } }
    }
    mesh.schedule(.heal, at: end)
  }

  func heal() {
    guard mesh.network.isPartitioned else { return }
    mesh.network.heal()
    say(nil, "the partition heals")
  }
}
