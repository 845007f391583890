import MeshCore
import MeshReplication
import MeshStore

/// Handles events. It drives every replica in virtual time.
extension Simulation {
  func handle(_ event: Event) throws {
    if let node = node(of: event), nodes[node].pausedUntil > time.now {
      return queue.add(event, at: nodes[node].pausedUntil)
    }
    switch event {
    case .start(let node): try start(nodes[node])
    case .tick(let node, let life) where alive(node, life): try tick(nodes[node], life)
    case .work(let node, let life) where alive(node, life): try work(nodes[node])
    case .noticed(let node, let life) where alive(node, life): try notice(nodes[node])
    case .dial(let route, let life): dial(route, life)
    case .handshaken(let route, let wire): try handshaken(route, wire)
    case .arrived(let wire, let from, let bytes): try arrived(wire, from, bytes)
    case .closed(let wire, let end): try noticeClosed(wire, end)
    case .join(let join): try tryToJoin(join)
    case .joinOpened(let join, let wire): try openJoin(join, wire)
    case .evict(let eviction) where alive(eviction.node, eviction.life): try goOn(eviction)
    case .heal: heal()
    case .mend(let node): mend(nodes[node])
    case .step: try step()
    case .check: try check()
    case .tick, .work, .noticed, .evict: break
    }
  }

  /// Returns the node of an event that belongs to one process.
  private func node(of event: Event) -> Int? {
    switch event {
    case .tick(let node, _), .work(let node, _), .noticed(let node, _): node
    case .dial(let route, _): network.routes[route].from
    case .arrived(let wire, let from, _): network.wires[wire]?.ends[1 - from].node
    case .closed(let wire, let end): network.wires[wire]?.ends[end].node
    case .evict(let eviction): eviction.node
    case .join(let join): joins[join].node
    case .joinOpened(let join, _): joins[join].node
    case .start, .handshaken, .heal, .mend, .step, .check: nil
    }
  }

  // MARK: One node

  private func start(_ node: SimulatedNode) throws {
    guard node.replica == nil, !node.isStopped else { return }
    do {
      if let damage = try node.database.damage() {
        return violate("n\(node.index)'s file is damaged when it starts: \(damage)")
      }
      try writeOlderCopy(node)
      try node.start()
    } catch {
      return try failStart(node, error)
    }
    guard node.setAside == nil else { return violate("n\(node.index) works with another account's file") }
    say(node.index, node.life == 1 ? "starts" : "starts again, life \(node.life)")
    try makePrivateZone(node)
    guard node.replica != nil else { return }
    if node.home.place == 0 { noteRevoked(node) }
    try guarded(node) { try look(node) }
    guard node.replica != nil else { return }
    queue.add(.tick(node: node.index, life: node.life), at: time.now + Self.tickInterval)
    for route in network.routes.indices where network.routes[route].from == node.index {
      network.routes[route].wire = nil
      queue.add(.dial(route: route, life: node.life), at: time.now + Int64.random(in: 1...200, using: &generator))
    }
  }

  /// Handles a failed start. The operator starts the node again.
  private func failStart(_ node: SimulatedNode, _ error: any Error) throws {
    if node.database.disk?.isDead == true || error is SimulatedDeath {
      return try crash(node, "dies while it starts", isMachine: true)
    }
    if case ReplicaError.foreignDatabase = error, try putBack(node) {
      return queue.add(.start(node.index), at: time.now + Int64.random(in: 500...3_000, using: &generator))
    }
    guard isFault(node, error) else { return violate("n\(node.index) does not start: \(named("\(error)"))") }
    say(node.index, "does not start: its disk fails")
    try node.end()
    queue.add(.start(node.index), at: time.now + Int64.random(in: 500...3_000, using: &generator))
  }

  private func tick(_ node: SimulatedNode, _ life: Int) throws {
    // This is a slow poll in addition to the notices, which may be missed.
    if time.now % (4 * Self.tickInterval) < Self.tickInterval { try notice(node) }
    guard alive(node.index, life) else { return }
    try input(node) { replica, now in try replica.tick(now: now) }
    queue.add(.tick(node: node.index, life: life), at: time.now + Self.tickInterval)
  }

  /// Reacts like a node that sees its file change.
  private func notice(_ node: SimulatedNode) throws {
    try input(node) { replica, _ in
      guard try node.database.hasChanged() else { return }
      replica.databaseChanged()
    }
  }

  /// Passes an input to a node. The replica handles it, and its actions are performed, unless the node dies in between.
  /// An internal fault only ends the session from which the input came.
  func input(_ node: SimulatedNode, link: LinkID? = nil, _ body: (Replica, Moment) throws -> Void) throws {
    guard let replica = node.replica else { return }
    try guarded(node) {
      do {
        try body(replica, node.clock.moment)
      } catch  where link != nil && node.database.disk?.isDead != true && !(error is SimulatedDeath) {
        try fault(node, error)
        if let link, let (wire, end) = network.wire(node.index, link) { close(wire, end) }
        if let link { replica.linkClosed(link, now: node.clock.moment) }
      }
    }
    guard node.replica === replica else { return }
    if node.isDoomed { return try crash(node, "is killed with its answers unsent", isMachine: false) }
    perform(node, replica.takeActions())
    queueWork(node)
  }

  /// Runs `body` on a node's machine, which may die during it.
  func guarded(_ node: SimulatedNode, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      try fault(node, error)
    }
    if node.database.disk?.isDead == true { try die(node) }
  }

  /// Handles an error. A death, or a failure of a disk that was told to fail, is expected. Any other error breaks a
  /// promise.
  func fault(_ node: SimulatedNode, _ error: any Error) throws {
    if node.database.disk?.isDead == true { return try die(node) }
    if error is SimulatedDeath { return try crash(node, "is killed between commit and mark", isMachine: false) }
    if (error as? StoreError)?.code == .replaced { return try startOver(node) }
    guard isFault(node, error) else { return violate("n\(node.index) fails: \(named("\(error)"))") }
    say(node.index, "has a fault: its disk fails")
  }

  /// Returns whether the disk has failed as planned since the last look, and the error says so.
  func isFault(_ node: SimulatedNode, _ error: any Error) -> Bool {
    guard let disk = node.database.disk else { return false }
    let failures = disk.failures.errors + disk.failures.full
    defer { node.failuresSeen = failures }
    return failures > node.failuresSeen && StorageFault.isOne(error)
  }

  private func queueWork(_ node: SimulatedNode, after delay: Int64? = nil) {
    guard !node.isWorkQueued else { return }
    node.isWorkQueued = true
    queue.add(
      .work(node: node.index, life: node.life),
      at: time.now + (delay ?? Int64.random(in: 0...2, using: &generator)))
  }

  private func work(_ node: SimulatedNode) throws {
    guard let replica = node.replica else { return }
    var (hasMore, hasFailed) = (false, true)
    try guarded(node) {
      hasMore = try replica.work(now: node.clock.moment)
      if rewritesHistory, !node.isLiar { try takeToArchive(node) }
      hasFailed = false
    }
    guard node.replica === replica else { return }
    if node.isDoomed { return try crash(node, "is killed with its answers unsent", isMachine: false) }
    perform(node, replica.takeActions())
    node.isWorkQueued = false
    // A faulty operation is tried again later.
    if hasFailed { return queueWork(node, after: Int64.random(in: 100...2_000, using: &generator)) }
    guard hasMore else { return }
    try guarded(node) { try look(node) }
    if stepsLeft > 0, hastyLeft > 0, node.replica === replica, generator.once(in: plan.hasty) { try hurry(node) }
    if node.replica === replica { queueWork(node) }
  }

  func perform(_ node: SimulatedNode, _ actions: [Replica.Action]) {
    for action in actions {
      switch action {
      case .send(let link, let bytes):
        guard let (wire, end) = network.wire(node.index, link) else { continue }
        node.liar?.heard(sent: bytes)
        let passed = node.isLiar ? node.liar?.passOn(bytes) : bytes
        if passed != bytes { occurred("liars.wrongChunks") }
        if !node.isLiar, let other = network.wires[wire]?.ends[1 - end].node {
          LeakCheck(self, node, to: nodes[other])?(bytes, on: wire)
        }
        if let passed { send(node, wire, end, passed) }
      case .close(let link, let reason):
        guard let (wire, end) = network.wire(node.index, link) else { continue }
        say(node.index, "closes connection \(wire): \(named(reason))")
        close(wire, end)
      case .log(let level, let text):
        if level == .warning { say(node.index, "warns: \(named(text))") }
      }
    }
    if hasShares { node.noteMembers() }
  }

  func send(_ node: SimulatedNode, _ wire: Int, _ end: Int, _ bytes: [UInt8]) {
    counts.messages += 1
    counts.bytes += bytes.count
    guard let at = network.send(wire, from: end, bytes: bytes.count, now: time.now) else { return }
    queue.add(.arrived(wire: wire, from: end, bytes: bytes), at: at)
    // The messages with which a liar floods are its own problem.
    if !node.isLiar, let waiting = network.wires[wire]?.ends[end].inFlight, waiting > SimulatedNetwork.queueBound {
      violate("n\(node.index) has \(waiting) bytes on their way in one connection")
    }
  }

  func close(_ wire: Int, _ end: Int) {
    if let at = network.close(wire, end: end) {
      queue.add(.closed(wire: wire, end: 1 - end), at: max(at, time.now))
    }
    lostConnection(wire, end)
  }

  // MARK: Connections

  private func dial(_ route: Int, _ life: Int) {
    let (from, to) = (network.routes[route].from, network.routes[route].to)
    guard alive(from, life), network.routes[route].wire == nil else { return }
    guard nodes[to].replica != nil, nodes[to].pausedUntil <= time.now, network.canReach(from, to) else {
      return queueDial(route)
    }
    if isConnected(from, to) {
      guard generator.once(in: plan.doubleDials) else { return queueDial(route) }
      occurred("network.doubleDials")
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
    network.wires(of: a).contains { wire in
      guard let wire = network.wires[wire], wire.state == .whole, wire.ends.allSatisfy(\.isOpen) else { return false }
      return wire.ends.contains { $0.node == b }
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
    if known.isSlow { occurred("network.slowLinks") }
    network.establish(wire)
    say(dialler.node, "connects to n\(listener.node) by connection \(wire), \(known.latency) ms, \(known.rate) B/ms")
    let hash = generator.bytes(64)
    func info(_ role: SessionBinding.Role, _ peer: Int) -> LinkInfo {
      LinkInfo(role: role, handshakeHash: hash, remoteStatic: nodes[peer].sessionKey, address: "n\(peer)")
    }
    try input(nodes[listener.node], link: listener.link) {
      try $0.linkOpened(listener.link, info(.listener, dialler.node), now: $1)
    }
    try input(nodes[dialler.node], link: dialler.link) {
      try $0.linkOpened(dialler.link, info(.dialler, listener.node), now: $1)
    }
  }

  private func arrived(_ wire: Int, _ from: Int, _ bytes: [UInt8]) throws {
    network.arrived(wire, from: from, bytes: bytes.count)
    guard let known = network.wires[wire], known.state == .whole else { return }
    let end = known.ends[1 - from]
    guard end.isOpen, alive(end.node, end.life) else { return }
    nodes[end.node].liar?.heard(received: bytes)
    if from == 1, let join = joins.firstIndex(where: { $0.wire == wire }) { return try heardWhileJoining(join, bytes) }
    try input(nodes[end.node], link: end.link) { try $0.received(end.link, bytes, now: $1) }
  }

  private func noticeClosed(_ wire: Int, _ end: Int) throws {
    guard let known = network.wires[wire]?.ends[end], known.isOpen, alive(known.node, known.life) else { return }
    _ = network.close(wire, end: end)
    if end == 0, let join = joins.firstIndex(where: { $0.wire == wire }) {
      joins[join].wire = nil
      return
    }
    try input(nodes[known.node]) { $0.linkClosed(known.link, now: $1) }
    lostConnection(wire, end)
  }

  /// Makes the node that dialed dial again.
  private func lostConnection(_ wire: Int, _ end: Int) {
    guard end == 0, let route = network.route(of: wire) else { return }
    network.routes[route].wire = nil
    queueDial(route)
  }

  /// Returns the text with devices named as nodes.
  func named(_ text: String) -> String {
    nodes.reduce(text) { text, node in
      text.split(separator: "\(node.firstDevice)", omittingEmptySubsequences: false).joined(separator: "n\(node.index)")
    }
  }
}
