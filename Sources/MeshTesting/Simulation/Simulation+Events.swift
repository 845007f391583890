import MeshCore
import MeshReplication
import MeshStore

/// Handles events. It drives every replica in virtual time.
extension Simulation {
  func handle(_ event: SimulatedMesh.Event) throws {
    switch event {
    case .start(let node): try start(nodes[node])
    case .tick(let node, let life) where mesh.alive(node, life): try tick(nodes[node], life)
    case .work(let node, let life) where mesh.alive(node, life): try work(nodes[node])
    case .noticed(let node, let life) where mesh.alive(node, life): try notice(nodes[node])
    case .dial(let route, let life): dial(route, life)
    case .handshaken(let route, let wire): try handshaken(route, wire)
    case .arrived(let wire, let from, let bytes): try arrived(wire, from, bytes)
    case .closed(let wire, let end): try noticeClosed(wire, end)
    case .join(let join, _): try joins.attempt(join)
    case .joinOpened(let join, _, let wire): try joins.open(join, wire)
    case .evict(let eviction) where mesh.alive(eviction.node, eviction.life): try assets.goOn(eviction)
    case .heal: machines.heal()
    case .mend(let node): nodes[node].database.disk?.mend()
    case .step: try step()
    case .check: try check()
    case .tick, .work, .noticed, .evict: break
    }
  }

  // MARK: One node

  private func start(_ node: SimulatedNode) throws {
    guard node.replica == nil, !node.isStopped else { return }
    do {
      if let damage = try node.database.damage() {
        return violate("n\(node.index)'s file is damaged when it starts: \(damage)")
      }
      try apps.writeOlderCopy(node)
      try node.start()
    } catch {
      return try failStart(node, error)
    }
    guard node.setAside == nil else { return violate("n\(node.index) works with another account's file") }
    say(node.index, node.life == 1 ? "starts" : "starts again, life \(node.life)")
    try makePrivateZone(node)
    guard node.replica != nil else { return }
    if node.home.place == 0 { history.noteRevoked(node) }
    try mesh.guarded(node) { try look(node) }
    guard node.replica != nil else { return }
    mesh.schedule(.tick(node: node.index, life: node.life), in: Self.tickInterval)
    for route in mesh.network.routes.indices where mesh.network.routes[route].from == node.index {
      mesh.network.routes[route].wire = nil
      mesh.schedule(.dial(route: route, life: node.life), in: Int64.random(in: 1...200, using: &mesh.generator))
    }
  }

  /// Handles a failed start. The operator starts the node again.
  private func failStart(_ node: SimulatedNode, _ error: any Error) throws {
    if node.database.disk?.isDead == true || error is SimulatedDeath {
      return try mesh.crash(node, "dies while it starts", isMachine: true)
    }
    if case ReplicaError.foreignDatabase = error, try history.putBack(node) {
      if mesh.deadline != nil { try migrations.complete(node) }
      return mesh.schedule(.start(node.index), in: Int64.random(in: 500...3_000, using: &mesh.generator))
    }
    guard mesh.isFault(node, error) else { return violate("n\(node.index) does not start: \(mesh.named("\(error)"))") }
    say(node.index, "does not start: its disk fails")
    try node.end()
    mesh.schedule(.start(node.index), in: Int64.random(in: 500...3_000, using: &mesh.generator))
  }

  private func tick(_ node: SimulatedNode, _ life: Int) throws {
    // This is a slow poll in addition to the notices, which may be missed.
    if time.now % (4 * Self.tickInterval) < Self.tickInterval { try notice(node) }
    guard mesh.alive(node.index, life) else { return }
    try mesh.input(node) { replica, now in try replica.tick(now: now) }
    mesh.schedule(.tick(node: node.index, life: life), in: Self.tickInterval)
  }

  /// Reacts like a node that sees its file change.
  private func notice(_ node: SimulatedNode) throws {
    try mesh.input(node) { replica, _ in
      guard try node.database.hasChanged() else { return }
      replica.databaseChanged()
    }
  }

  private func work(_ node: SimulatedNode) throws {
    guard let replica = node.replica else { return }
    var (hasMore, hasFailed) = (false, true)
    try mesh.guarded(node) {
      hasMore = try replica.work(now: node.clock.moment)
      if mesh.rewritesHistory, !node.isLiar { try history.archiveWrites(of: node) }
      hasFailed = false
    }
    guard try mesh.finish(node, replica) else { return }
    node.isWorkQueued = false
    // A faulty operation is tried again later.
    if hasFailed { return mesh.queueWork(node, after: Int64.random(in: 100...2_000, using: &mesh.generator)) }
    guard hasMore else { return }
    try mesh.guarded(node) { try look(node) }
    if stepsLeft > 0, hastyLeft > 0, node.replica === replica, mesh.generator.once(in: plan.hasty) { try hurry(node) }
    if node.replica === replica { mesh.queueWork(node) }
  }

  // MARK: Connections

  private func dial(_ route: Int, _ life: Int) {
    let (from, to) = (mesh.network.routes[route].from, mesh.network.routes[route].to)
    guard mesh.alive(from, life), mesh.network.routes[route].wire == nil else { return }
    guard nodes[to].replica != nil, nodes[to].pausedUntil <= time.now, mesh.network.canReach(from, to) else {
      return mesh.queueDial(route)
    }
    if isConnected(from, to) {
      guard mesh.generator.once(in: plan.doubleDials) else { return mesh.queueDial(route) }
      occurred("network.doubleDials")
    }
    let (wire, delay) = mesh.network.connect((from, life), (to, nodes[to].life))
    mesh.network.routes[route].wire = wire
    mesh.schedule(.handshaken(route: route, wire: wire), in: delay)
  }

  private func isConnected(_ a: Int, _ b: Int) -> Bool {
    mesh.network.wires(of: a).contains { wire in
      guard let wire = mesh.network.wires[wire], wire.state == .whole, wire.ends.allSatisfy(\.isOpen) else {
        return false
      }
      return wire.ends.contains { $0.node == b }
    }
  }

  private func handshaken(_ route: Int, _ wire: Int) throws {
    guard let known = mesh.network.wires[wire] else { return }
    let (dialler, listener) = (known.ends[0], known.ends[1])
    guard mesh.alive(dialler.node, dialler.life) else { return }
    guard known.state == .whole, mesh.alive(listener.node, listener.life) else {
      _ = mesh.network.close(wire, end: 1)
      _ = mesh.network.close(wire, end: 0)
      return mesh.lostConnection(wire, 0)
    }
    mesh.counts.connections += 1
    mesh.network.routes[route].connectedAt = time.now
    if known.isSlow { occurred("network.slowLinks") }
    mesh.network.establish(wire)
    say(dialler.node, "connects to n\(listener.node) by connection \(wire), \(known.latency) ms, \(known.rate) B/ms")
    let hash = mesh.generator.bytes(64)
    try mesh.input(nodes[listener.node], link: listener.link) {
      try $0.linkOpened(listener.link, mesh.linkInfo(.listener, peer: dialler.node, hash: hash), now: $1)
    }
    try mesh.input(nodes[dialler.node], link: dialler.link) {
      try $0.linkOpened(dialler.link, mesh.linkInfo(.dialler, peer: listener.node, hash: hash), now: $1)
    }
  }

  private func arrived(_ wire: Int, _ from: Int, _ bytes: [UInt8]) throws {
    mesh.network.arrived(wire, from: from, bytes: bytes.count)
    guard let known = mesh.network.wires[wire], known.state == .whole else { return }
    let end = known.ends[1 - from]
    guard end.isOpen, mesh.alive(end.node, end.life) else { return }
    nodes[end.node].liar?.heard(received: bytes)
    if from == 1, let join = known.join { return try joins.heard(join, bytes) }
    try mesh.input(nodes[end.node], link: end.link) { try $0.received(end.link, bytes, now: $1) }
  }

  private func noticeClosed(_ wire: Int, _ end: Int) throws {
    guard let known = mesh.network.wires[wire] else { return }
    let closed = known.ends[end]
    guard closed.isOpen, mesh.alive(closed.node, closed.life) else { return }
    _ = mesh.network.close(wire, end: end)
    if end == 0, let join = known.join { return joins.lostConnection(join) }
    try mesh.input(nodes[closed.node]) { $0.linkClosed(closed.link, now: $1) }
    mesh.lostConnection(wire, end)
  }

}
