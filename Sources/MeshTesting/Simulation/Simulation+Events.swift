import MeshCore
import MeshReplication

/// What events do: the driver of every replica, in virtual time.
extension Simulation {
  func handle(_ event: Event) throws {
    switch event {
    case .start(let node): try start(nodes[node])
    case .tick(let node, let life) where alive(node, life):
      try input(nodes[node]) { replica, now in
        // A slow poll behind the notices, which may be missed.
        if now.steady % (4 * Self.tickInterval) < Self.tickInterval { replica.databaseChanged() }
        try replica.tick(now: now)
      }
      queue.add(.tick(node: node, life: life), at: time.now + Self.tickInterval)
    case .work(let node, let life) where alive(node, life): try work(nodes[node])
    case .noticed(let node, let life) where alive(node, life):
      try input(nodes[node]) { replica, _ in replica.databaseChanged() }
    case .dial(let route, let life): dial(route, life)
    case .handshaken(let route, let wire): try handshaken(route, wire)
    case .arrived(let wire, let from, let bytes): try arrived(wire, from, bytes)
    case .closed(let wire, let end): try noticeClosed(wire, end)
    case .heal: heal()
    case .step: try step()
    case .check: try check()
    case .tick, .work, .noticed: break
    }
  }

  // MARK: One node

  private func start(_ node: SimulatedNode) throws {
    guard node.replica == nil else { return }
    do {
      try node.start()
    } catch {
      return violate("n\(node.index) does not start: \(error)")
    }
    say(node.index, node.life == 1 ? "starts" : "starts again, life \(node.life)")
    if node.index == 0, zone == nil {
      try input(node) { replica, now in zone = try replica.createPrivateZone(title: "private", now: now) }
    }
    queue.add(.tick(node: node.index, life: node.life), at: time.now + Self.tickInterval)
    for route in network.routes.indices where network.routes[route].from == node.index {
      network.routes[route].wire = nil
      queue.add(.dial(route: route, life: node.life), at: time.now + Int64.random(in: 1...200, using: &generator))
    }
  }

  /// Every input goes through here: the replica deals with it, and its actions are performed, unless the node dies in between.
  func input(_ node: SimulatedNode, _ body: (Replica, Moment) throws -> Void) throws {
    guard let replica = node.replica else { return }
    do {
      try body(replica, node.clock.moment)
    } catch is SimulatedDeath {
      return try crash(node, "is killed between commit and mark")
    } catch {
      return violate("n\(node.index) fails: \(error)")
    }
    if node.isDoomed { return try crash(node, "is killed with its answers unsent") }
    perform(node, replica.takeActions())
    queueWork(node)
  }

  private func queueWork(_ node: SimulatedNode) {
    guard !node.isWorkQueued else { return }
    node.isWorkQueued = true
    queue.add(.work(node: node.index, life: node.life), at: time.now + Int64.random(in: 0...2, using: &generator))
  }

  private func work(_ node: SimulatedNode) throws {
    var hasMore = false
    // While this input runs, work is not queued by it.
    try input(node) { replica, now in hasMore = try replica.work(now: now) }
    guard node.replica != nil else { return }
    node.isWorkQueued = false
    guard hasMore else { return }
    try lookAtMerged(node)
    queueWork(node)
  }

  private func perform(_ node: SimulatedNode, _ actions: [Replica.Action]) {
    for action in actions {
      switch action {
      case .send(let link, let bytes):
        guard let (wire, end) = network.wire(node.index, link) else { continue }
        counts.messages += 1
        counts.bytes += bytes.count
        guard let at = network.send(wire, from: end, bytes: bytes.count, now: time.now) else { continue }
        queue.add(.arrived(wire: wire, from: end, bytes: bytes), at: at)
        if let waiting = network.wires[wire]?.ends[end].inFlight, waiting > SimulatedNetwork.queueBound {
          violate("n\(node.index) has \(waiting) bytes on their way in one connection")
        }
      case .close(let link, let reason):
        guard let (wire, end) = network.wire(node.index, link) else { continue }
        say(node.index, "closes connection \(wire): \(named(reason))")
        if let at = network.close(wire, end: end) {
          queue.add(.closed(wire: wire, end: 1 - end), at: max(at, time.now))
        }
        lostConnection(wire, end)
      case .log(let level, let text):
        if level == .warning { say(node.index, "warns: \(named(text))") }
      }
    }
  }

  // MARK: Connections

  private func dial(_ route: Int, _ life: Int) {
    let (from, to) = (network.routes[route].from, network.routes[route].to)
    guard alive(from, life), network.routes[route].wire == nil else { return }
    guard nodes[to].replica != nil, network.canReach(from, to), !isConnected(from, to) || generator.once(in: 10) else {
      return queueDial(route)
    }
    let (wire, delay) = network.connect((from, life), (to, nodes[to].life))
    network.routes[route].wire = wire
    queue.add(.handshaken(route: route, wire: wire), at: time.now + delay)
  }

  private func queueDial(_ route: Int) {
    let node = nodes[network.routes[route].from]
    queue.add(.dial(route: route, life: node.life), at: time.now + network.retryDelay(route, now: time.now))
  }

  private func isConnected(_ a: Int, _ b: Int) -> Bool {
    network.wires.values.contains { wire in
      wire.state == .whole && wire.ends.allSatisfy(\.isOpen) && Set(wire.ends.map(\.node)) == [a, b]
    }
  }

  private func handshaken(_ route: Int, _ wire: Int) throws {
    guard let known = network.wires[wire] else { return }
    let (dialler, listener) = (known.ends[0], known.ends[1])
    guard alive(dialler.node, dialler.life) else { return }
    guard known.state == .whole, alive(listener.node, listener.life) else {
      _ = network.close(wire, end: 1)
      _ = network.close(wire, end: 0)
      return lostConnection(wire, 0)
    }
    counts.connections += 1
    network.routes[route].connectedAt = time.now
    say(dialler.node, "connects to n\(listener.node) by connection \(wire), \(known.latency) ms, \(known.rate) B/ms")
    let hash = generator.bytes(64)
    func info(_ role: SessionBinding.Role, _ peer: Int) -> LinkInfo {
      LinkInfo(role: role, handshakeHash: hash, remoteStatic: nodes[peer].sessionKey, address: "n\(peer)")
    }
    try input(nodes[listener.node]) { try $0.linkOpened(listener.link, info(.listener, dialler.node), now: $1) }
    try input(nodes[dialler.node]) { try $0.linkOpened(dialler.link, info(.dialler, listener.node), now: $1) }
  }

  private func arrived(_ wire: Int, _ from: Int, _ bytes: [UInt8]) throws {
    network.arrived(wire, from: from, bytes: bytes.count)
    guard let known = network.wires[wire], known.state == .whole else { return }
    let end = known.ends[1 - from]
    guard end.isOpen, alive(end.node, end.life) else { return }
    try input(nodes[end.node]) { try $0.received(end.link, bytes, now: $1) }
  }

  private func noticeClosed(_ wire: Int, _ end: Int) throws {
    guard let known = network.wires[wire]?.ends[end], known.isOpen, alive(known.node, known.life) else { return }
    _ = network.close(wire, end: end)
    try input(nodes[known.node]) { $0.linkClosed(known.link, now: $1) }
    lostConnection(wire, end)
  }

  /// Whoever dialled dials again.
  private func lostConnection(_ wire: Int, _ end: Int) {
    guard end == 0, let route = network.routes.firstIndex(where: { $0.wire == wire }) else { return }
    network.routes[route].wire = nil
    queueDial(route)
  }

  /// Devices as the nodes they are.
  func named(_ text: String) -> String {
    nodes.reduce(text) { text, node in
      text.split(separator: "\(node.device)", omittingEmptySubsequences: false).joined(separator: "n\(node.index)")
    }
  }
}
