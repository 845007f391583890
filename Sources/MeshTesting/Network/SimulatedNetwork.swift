import MeshCore
import MeshReplication

/// The addresses that nodes know, their connections, and the nodes that can reach each other.
struct SimulatedNetwork {
  /// A node that dials another one.
  struct Route {
    let from: Int
    let to: Int
    /// The current connection or attempt.
    var wire: Int?
    var failures = 0
    var connectedAt: Int64?
  }

  private(set) var wires: [Int: Wire] = [:]
  /// The connections of each node.
  private var byNode: [Int: Set<Int>] = [:]
  var routes: [Route]
  /// The side of the partition on which each node is. If `isOneWay` is true, only messages from side 1 are held back.
  private(set) var sides: [Int]
  private(set) var isOneWay = false
  private var healsAt: Int64 = 0
  private var generator: SplitMix64
  private var made = 0
  private let plan: FaultPlan

  /// Bytes that one direction of a connection may ever hold: the credit window, one batch beyond it, and control
  /// messages.
  static let queueBound = (8 << 20) + (2 << 20)
  /// Milliseconds before a node dials again. They double with each failure, up to the bound.
  private static let firstRetry: Int64 = 100
  private static let retryBound: Int64 = 5_000

  /// - Parameter liars: The number of liars, which are the last nodes. No other node depends on them, and each knows
  ///   two others.
  /// - Parameter accounts: The account of each node.
  init(nodes: Int, liars: Int, accounts: [Int], plan: FaultPlan, generator: SplitMix64) {
    self.plan = plan
    self.generator = generator
    sides = [Int](repeating: 0, count: nodes)
    routes = []
    let honest = nodes - liars
    let (hasShares, homes) = (Set(accounts).count > 1, Array(accounts.prefix(honest)))
    let known = hasShares ? pairs(of: homes) : pairs(honest)
    let liars = (honest..<nodes).flatMap { liar in
      hasShares ? everyAccount(of: homes, to: liar) : acquaintances(of: liar, among: honest)
    }
    for (a, b) in known + liars {
      let forward = self.generator.once(in: 2)
      routes.append(Route(from: forward ? a : b, to: forward ? b : a))
      // Both know each other's address. Both dial, and one of the sessions must give way.
      if self.generator.once(in: 3) { routes.append(Route(from: forward ? b : a, to: forward ? a : b)) }
    }
  }

  private mutating func acquaintances(of liar: Int, among honest: Int) -> [(Int, Int)] {
    let first = Int.random(in: 0..<honest, using: &generator)
    let second = Int.random(in: 0..<honest, using: &generator)
    return first == second ? [(first, liar)] : [(first, liar), (second, liar)]
  }

  /// Returns pairs of nodes that know each other. The devices of accounts that share a zone must reach each other
  /// without anybody else. So each account's devices know each other, and one or two know each other for each pair of
  /// accounts.
  private mutating func pairs(of accounts: [Int]) -> [(Int, Int)] {
    let groups = Dictionary(grouping: accounts.indices, by: { accounts[$0] })
    var pairs: [(Int, Int)] = []
    for account in groups.keys.sorted() {
      let devices = groups[account] ?? []
      for index in devices.indices.dropFirst() {
        pairs.append((devices[Int.random(in: 0..<index, using: &generator)], devices[index]))
      }
      for other in groups.keys.sorted() where other < account {
        for _ in 0...Int.random(in: 0...1, using: &generator) {
          guard let a = groups[other]?.randomElement(using: &generator),
            let b = devices.randomElement(using: &generator)
          else { continue }
          if !pairs.contains(where: { $0 == (a, b) }) { pairs.append((a, b)) }
        }
      }
    }
    return pairs
  }

  /// Returns pairs of one node of each account with a liar.
  private mutating func everyAccount(of accounts: [Int], to liar: Int) -> [(Int, Int)] {
    Set(accounts).sorted().compactMap { account in
      accounts.indices.filter { accounts[$0] == account }.randomElement(using: &generator).map { ($0, liar) }
    }
  }

  private mutating func pairs(_ nodes: Int) -> [(Int, Int)] {
    guard nodes > 1 else { return [] }
    var pairs = (1..<nodes).map { node in
      (plan.topology == .random ? Int.random(in: 0..<node, using: &generator) : node - 1, node)
    }
    var more = 0
    switch plan.topology {
    case .line: break
    case .random: more = nodes / 2
    case .regular:
      if nodes > 2 { pairs.append((0, nodes - 1)) }
      more = max(0, nodes * (plan.degree - 2) / 2)
    }
    for _ in 0..<more {
      let a = Int.random(in: 0..<nodes, using: &generator)
      let b = Int.random(in: 0..<nodes, using: &generator)
      if a != b, !pairs.contains(where: { ($0, $1) == (min(a, b), max(a, b)) }) { pairs.append((min(a, b), max(a, b))) }
    }
    return pairs
  }

  /// Returns whether one of them knows the other's address.
  func hasRoute(between a: Int, _ b: Int) -> Bool {
    routes.contains { ($0.from, $0.to) == (a, b) || ($0.from, $0.to) == (b, a) }
  }

  /// Makes the neighbors of a node that has left the mesh know another one instead. Returns the new routes.
  mutating func replace(_ gone: Int, by other: Int) -> [Int] {
    let neighbours = Set(routes.flatMap { $0.from == gone ? [$0.to] : $0.to == gone ? [$0.from] : [] })
    let first = routes.count
    for neighbour in neighbours.sorted() where neighbour != other { routes.append(Route(from: neighbour, to: other)) }
    return Array(first..<routes.count)
  }

  // MARK: Connections

  /// Opens a connection. Its handshake is complete after one and a half round trips.
  ///
  /// - Parameter invite: The invite with which the node that dials joins a share.
  mutating func connect(
    _ from: (node: Int, life: Int), _ to: (node: Int, life: Int), with invite: ShareInviteContent? = nil
  ) -> (wire: Int, delay: Int64) {
    made += 1
    let latency = Int64(Int.random(in: plan.latency, using: &generator))
    let isSlow = generator.once(in: plan.slowLinks)
    let rate = isSlow ? Int.random(in: plan.slowRate, using: &generator) : Wire.fullRate
    wires[made] = Wire(
      ends: [
        Wire.End(node: from.node, life: from.life, link: LinkID(UInt64(made) * 2)),
        Wire.End(node: to.node, life: to.life, link: LinkID(UInt64(made) * 2 + 1)),
      ], invite: invite, latency: latency, rate: rate)
    for node in [from.node, to.node] { byNode[node, default: []].insert(made) }
    return (made, latency * 3)
  }

  func canReach(_ a: Int, _ b: Int) -> Bool { sides[a] == sides[b] }

  /// Completes the handshake.
  mutating func establish(_ wire: Int) { wires[wire]?.isEstablished = true }

  /// Notes the attempt to join a share that uses a connection, or nil for none.
  mutating func mark(_ wire: Int, for join: Int?) { wires[wire]?.join = join }

  func route(of wire: Int) -> Int? { routes.firstIndex { $0.wire == wire } }

  /// Returns the time at which a message arrives, or nil if it never does.
  mutating func send(_ wire: Int, from end: Int, bytes: Int, now: Int64) -> Int64? {
    guard wires[wire]?.state == .whole else { return nil }
    let jitter = Int64(Int.random(in: 0...plan.jitter, using: &generator))
    if isOneWay, let ends = wires[wire]?.ends, sides[ends[end].node] == 1, sides[ends[1 - end].node] == 0 {
      wires[wire]?.stall(until: healsAt)
    }
    return wires[wire]?.send(from: end, bytes: bytes, jitter: jitter, now: now)
  }

  mutating func arrived(_ wire: Int, from end: Int, bytes: Int) { wires[wire]?.ends[end].inFlight -= bytes }

  /// Closes one end in good order. Returns the time at which the other end learns of it, after all earlier messages, or
  /// nil if it doesn't.
  mutating func close(_ wire: Int, end: Int) -> Int64? {
    wires[wire]?.ends[end].isOpen = false
    defer { forgetIfOver(wire) }
    guard let known = wires[wire], known.state == .whole, known.ends[1 - end].isOpen else { return nil }
    return max(known.ends[end].lastArrival, known.ends[end].busyUntil + known.latency)
  }

  mutating func cut(_ wire: Int) { wires[wire]?.state = .cut }

  mutating func stall(_ wire: Int, until time: Int64) { wires[wire]?.stall(until: time) }

  private mutating func forgetIfOver(_ wire: Int) {
    guard let known = wires[wire], !known.ends.contains(where: \.isOpen) else { return }
    for end in known.ends { byNode[end.node]?.remove(wire) }
    wires[wire] = nil
  }

  func wire(_ node: Int, _ link: LinkID) -> (wire: Int, end: Int)? {
    let (wire, end) = (Int(link.value / 2), Int(link.value % 2))
    guard let known = wires[wire], known.ends[end].node == node else { return nil }
    return (wire, end)
  }

  func wires(of node: Int) -> [Int] {
    (byNode[node] ?? []).filter { wires[$0]?.ends.contains { $0.node == node && $0.isOpen } == true }.sorted()
  }

  // MARK: Partitions

  /// Draws two sides, and returns the connections between them. A one-way partition keeps these connections, but they
  /// carry nothing from side 1 to side 0.
  mutating func partition(isOneWay: Bool, until time: Int64) -> [Int] {
    for node in sides.indices { sides[node] = Int.random(in: 0...1, using: &generator) }
    self.isOneWay = isOneWay
    healsAt = time
    return wires.filter { !canReach($0.value.ends[0].node, $0.value.ends[1].node) }.keys.sorted()
  }

  mutating func heal() {
    sides = [Int](repeating: 0, count: sides.count)
    isOneWay = false
  }

  var isPartitioned: Bool { Set(sides).count > 1 }

  // MARK: Dialling

  /// Returns the time to wait before a route is tried again. A connection that lasted resets the count of failures.
  mutating func retryDelay(_ route: Int, now: Int64) -> Int64 {
    if let since = routes[route].connectedAt, now - since > Self.retryBound { routes[route].failures = 0 }
    routes[route].connectedAt = nil
    routes[route].failures += 1
    let ceiling = min(Self.firstRetry << Int64(min(routes[route].failures, 10)), Self.retryBound)
    return Int64.random(in: ceiling / 2...ceiling, using: &generator)
  }
}
