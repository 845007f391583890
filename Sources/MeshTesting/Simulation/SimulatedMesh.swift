import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore

/// The world that all parts of a simulation act on: the nodes, the network between them, virtual time, and the events
/// to come. It passes inputs to nodes, performs their actions, and ends their processes.
final class SimulatedMesh {
  enum Event {
    case start(Int)
    case tick(node: Int, life: Int)
    case work(node: Int, life: Int)
    case noticed(node: Int, life: Int)
    case dial(route: Int, life: Int)
    case handshaken(route: Int, wire: Int)
    case arrived(wire: Int, from: Int, bytes: [UInt8])
    case closed(wire: Int, end: Int)
    case join(Int, node: Int)
    case joinOpened(Int, node: Int, wire: Int)
    case evict(PendingEviction)
    case heal
    case mend(Int)
    case step
    case check
  }

  let time = VirtualTime()
  let plan: FaultPlan
  let storage: Simulation.Storage
  let cryptography: any Cryptography
  let nodes: [SimulatedNode]
  let zones: KnownZones
  let branches = BranchCounts()
  /// The values that the apps of all nodes wrote.
  let written = WrittenValues()
  var network: SimulatedNetwork
  /// The source of all random draws that are not a node's own. Their order is a part of the trace.
  var generator: SplitMix64
  var counts = Outcome.Counts()
  /// The time by which the nodes have to be equal. Set when the steps are over.
  var deadline: Int64?
  private(set) var violation: String?
  private var queue = EventQueue<Event>()
  private var trace: Trace

  init(seed: UInt64, nodes count: Int, plan: FaultPlan, storage: Simulation.Storage) throws {
    (self.plan, self.storage) = (plan, storage)
    let homes = NodeBuilder.homes(of: count, plan)
    network = SimulatedNetwork(
      nodes: count, liars: plan.liars, accounts: homes.map(\.account), plan: plan,
      generator: SplitMix64(seed: seed, stream: 3))
    cryptography = try Sodium(randomness: SeededRandomness(seed: seed, stream: 4))
    trace = Trace(cryptography) { _ in }
    let accounts = try Set(homes.map(\.account)).sorted().map { account in
      try TestAccount(devices: homes.count { $0.account == account }, seed: seed &+ UInt64(account) &* 1_000_003)
    }
    var builder = NodeBuilder(
      seed: seed, plan: plan, storage: storage, time: time, accounts: accounts, probe: branches.probe, written: written)
    nodes = try homes.indices.map { try builder.node($0, homes[$0], isLiar: $0 >= count - plan.liars) }
    zones = KnownZones(nodes, accounts, cryptography)
    generator = builder.generator
    counts.faults = builder.faults
  }

  /// Whether merged change sets may be reverted, apart from those of revoked devices.
  var rewritesHistory: Bool {
    plan.restores + plan.liveRestores + plan.homeRestores + plan.fileCopies + plan.homeCopies + plan.forks > 0
      || zones.hasShares
  }

  // MARK: Events

  func schedule(_ event: Event, at time: Int64) { queue.add(event, at: time) }

  func schedule(_ event: Event, in milliseconds: Int64) { queue.add(event, at: time.now + milliseconds) }

  /// Advances the time to the next event and returns the event. An event that belongs to a paused process is put off.
  func nextEvent() -> Event? {
    while let next = queue.next() {
      time.advance(to: next.time)
      counts.events += 1
      guard let node = node(of: next.event), nodes[node].pausedUntil > time.now else { return next.event }
      queue.add(next.event, at: nodes[node].pausedUntil)
    }
    return nil
  }

  /// Returns the node of an event that belongs to one process.
  private func node(of event: Event) -> Int? {
    switch event {
    case .tick(let node, _), .work(let node, _), .noticed(let node, _): node
    case .dial(let route, _): network.routes[route].from
    case .arrived(let wire, let from, _): network.wires[wire]?.ends[1 - from].node
    case .closed(let wire, let end): network.wires[wire]?.ends[end].node
    case .evict(let eviction): eviction.node
    case .join(_, let node), .joinOpened(_, let node, _): node
    case .start, .handshaken, .heal, .mend, .step, .check: nil
    }
  }

  // MARK: The trace

  func beginTrace(_ print: @escaping (String) -> Void) { trace = Trace(cryptography, print: print) }

  var traceDigest: String { trace.digest }

  func say(_ node: Int?, _ text: String) { trace.line(time.now, node, text) }

  /// Notes a violation. Only the first one counts, because later ones may be its consequences.
  func violate(_ text: String) {
    if violation == nil { violation = text } else { say(nil, "and: \(text)") }
  }

  /// - Parameter fault: Its key in a plan.
  func occurred(_ fault: String) { counts.faults[fault, default: 0] += 1 }

  /// Returns the text with devices named as nodes.
  func named(_ text: String) -> String {
    nodes.reduce(text) { text, node in
      text.split(separator: "\(node.firstDevice)", omittingEmptySubsequences: false).joined(separator: "n\(node.index)")
    }
  }

  /// Returns the vector with authors as nodes. Several instances of one device are in the order of their ids.
  func text(_ vector: VersionVector) -> String {
    let parts = vector.authors.map { author in
      let node = nodes.first { $0.firstDevice == author.device }.map { "n\($0.index)" } ?? "?"
      return "\(node):\(vector[author])"
    }
    return parts.isEmpty ? "nothing" : parts.sorted().joined(separator: " ")
  }

  // MARK: Inputs and actions of a node

  func alive(_ node: Int, _ life: Int) -> Bool { nodes[node].replica != nil && nodes[node].life == life }

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
    if try finish(node, replica) { queueWork(node) }
  }

  /// Performs the actions of a replica that has handled something, unless its node has died. Returns whether it lives.
  func finish(_ node: SimulatedNode, _ replica: Replica) throws -> Bool {
    guard node.replica === replica else { return false }
    if node.isDoomed {
      try crash(node, "is killed with its answers unsent", isMachine: false)
      return false
    }
    perform(node, replica.takeActions())
    return true
  }

  func queueWork(_ node: SimulatedNode, after delay: Int64? = nil) {
    guard !node.isWorkQueued else { return }
    node.isWorkQueued = true
    schedule(.work(node: node.index, life: node.life), in: delay ?? Int64.random(in: 0...2, using: &generator))
  }

  func perform(_ node: SimulatedNode, _ actions: [ReplicaAction]) {
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
      case .close(let link, let ending):
        guard let (wire, end) = network.wire(node.index, link) else { continue }
        say(node.index, "closes connection \(wire): \(named(ending.text))")
        close(wire, end)
      case .log(let level, let text):
        if level == .warning { say(node.index, "warns: \(named(text))") }
      }
    }
    if zones.hasShares { node.noteMembers() }
  }

  // MARK: Errors

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

  // MARK: Ends of processes

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

  /// Reacts like a node that finds another history in its file.
  func startOver(_ node: SimulatedNode) throws {
    say(node.index, "starts over with its file")
    abandonConnections(node)
    try node.end()
    comeBack(node)
  }

  func comeBack(_ node: SimulatedNode) {
    schedule(.start(node.index), in: deadline == nil ? Int64(Int.random(in: plan.downTime, using: &generator)) : 1)
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

  // MARK: Connections

  func send(_ node: SimulatedNode, _ wire: Int, _ end: Int, _ bytes: [UInt8]) {
    counts.messages += 1
    counts.bytes += bytes.count
    guard let at = network.send(wire, from: end, bytes: bytes.count, now: time.now) else { return }
    schedule(.arrived(wire: wire, from: end, bytes: bytes), at: at)
    // The messages with which a liar floods are its own problem.
    if !node.isLiar, let waiting = network.wires[wire]?.ends[end].inFlight, waiting > SimulatedNetwork.queueBound {
      violate("n\(node.index) has \(waiting) bytes on their way in one connection")
    }
  }

  func close(_ wire: Int, _ end: Int) {
    if let at = network.close(wire, end: end) {
      schedule(.closed(wire: wire, end: 1 - end), at: max(at, time.now))
    }
    lostConnection(wire, end)
  }

  /// Returns the information that a handshake gives a node about its peer.
  func linkInfo(_ role: SessionBinding.Role, peer: Int, hash: [UInt8]) -> LinkInfo {
    LinkInfo(role: role, handshakeHash: hash, remoteStatic: nodes[peer].sessionKey, address: "n\(peer)")
  }

  /// Lets an end of a connection notice soon that it is cut.
  func tell(_ wire: Int, _ end: Int) {
    schedule(.closed(wire: wire, end: end), in: Int64.random(in: 0...500, using: &generator))
  }

  /// Makes the node that dialed dial again.
  func lostConnection(_ wire: Int, _ end: Int) {
    guard end == 0, let route = network.route(of: wire) else { return }
    network.routes[route].wire = nil
    queueDial(route)
  }

  func queueDial(_ route: Int) {
    let node = nodes[network.routes[route].from]
    schedule(.dial(route: route, life: node.life), in: network.retryDelay(route, now: time.now))
  }
}
