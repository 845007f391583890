import MeshReplication

/// Who knows whose address, what connections there are, and who can reach whom.
struct SimulatedNetwork {
  /// One node that dials another.
  struct Route {
    let from: Int
    let to: Int
    /// The connection, or the attempt, that is there.
    var wire: Int?
    var failures = 0
    var connectedAt: Int64?
  }

  private(set) var wires: [Int: Wire] = [:]
  var routes: [Route]
  /// The side of the partition that each node is on.
  private(set) var sides: [Int]
  private var generator: SplitMix64
  private var made = 0
  private let profile: Profile

  /// Bytes that one direction of a connection may ever hold: the credit window, one batch beyond it, and control messages.
  static let queueBound = (8 << 20) + (2 << 20)
  /// Delay before dialling again: doubled with each failure up to the bound.
  private static let firstRetry: Int64 = 100
  private static let retryBound: Int64 = 5_000

  init(nodes: Int, profile: Profile, generator: SplitMix64) {
    self.profile = profile
    self.generator = generator
    sides = [Int](repeating: 0, count: nodes)
    routes = []
    for (a, b) in pairs(nodes) {
      let forward = self.generator.once(in: 2)
      routes.append(Route(from: forward ? a : b, to: forward ? b : a))
      // Both know each other's address: both dial, and one of the sessions must give way.
      if self.generator.once(in: 3) { routes.append(Route(from: forward ? b : a, to: forward ? a : b)) }
    }
  }

  private mutating func pairs(_ nodes: Int) -> [(Int, Int)] {
    guard nodes > 1 else { return [] }
    var pairs = (1..<nodes).map { node in
      (profile.topology == .line ? node - 1 : Int.random(in: 0..<node, using: &generator), node)
    }
    if profile.topology == .random {
      for _ in 0..<(nodes / 2) {
        let a = Int.random(in: 0..<nodes, using: &generator)
        let b = Int.random(in: 0..<nodes, using: &generator)
        if a != b, !pairs.contains(where: { ($0, $1) == (min(a, b), max(a, b)) }) {
          pairs.append((min(a, b), max(a, b)))
        }
      }
    }
    return pairs
  }

  // MARK: Connections

  /// Opens a connection; its handshake is over after one and a half round trips.
  mutating func connect(_ from: (node: Int, life: Int), _ to: (node: Int, life: Int)) -> (wire: Int, delay: Int64) {
    made += 1
    let latency = Int64.random(in: profile.latency, using: &generator)
    let isSlow = generator.once(in: profile.slowLinks)
    let rate = isSlow ? Int.random(in: profile.slowRate, using: &generator) : 100_000
    wires[made] = Wire(
      ends: [
        Wire.End(node: from.node, life: from.life, link: LinkID(UInt64(made) * 2)),
        Wire.End(node: to.node, life: to.life, link: LinkID(UInt64(made) * 2 + 1)),
      ], latency: latency, rate: rate)
    return (made, latency * 3)
  }

  func canReach(_ a: Int, _ b: Int) -> Bool { sides[a] == sides[b] }

  /// When a message arrives, or nil where it never does.
  mutating func send(_ wire: Int, from end: Int, bytes: Int, now: Int64) -> Int64? {
    guard wires[wire]?.state == .whole else { return nil }
    let jitter = Int64.random(in: 0...profile.jitter, using: &generator)
    return wires[wire]?.send(from: end, bytes: bytes, jitter: jitter, now: now)
  }

  mutating func arrived(_ wire: Int, from end: Int, bytes: Int) { wires[wire]?.ends[end].inFlight -= bytes }

  /// An end closes in good order. True where the other end is to be told, after what was sent before.
  mutating func close(_ wire: Int, end: Int) -> Int64? {
    wires[wire]?.ends[end].isOpen = false
    defer { forgetIfOver(wire) }
    guard let known = wires[wire], known.state == .whole, known.ends[1 - end].isOpen else { return nil }
    return max(known.ends[end].lastArrival, known.ends[end].busyUntil + known.latency)
  }

  mutating func cut(_ wire: Int) { wires[wire]?.state = .cut }

  private mutating func forgetIfOver(_ wire: Int) {
    if wires[wire]?.ends.contains(where: \.isOpen) == false { wires[wire] = nil }
  }

  func wire(_ node: Int, _ link: LinkID) -> (wire: Int, end: Int)? {
    let (wire, end) = (Int(link.value / 2), Int(link.value % 2))
    guard let known = wires[wire], known.ends[end].node == node else { return nil }
    return (wire, end)
  }

  func wires(of node: Int) -> [Int] {
    wires.filter { $0.value.ends.contains { $0.node == node && $0.isOpen } }.keys.sorted()
  }

  // MARK: Partitions

  /// Draws two sides; returns the connections that cross.
  mutating func partition() -> [Int] {
    for node in sides.indices { sides[node] = Int.random(in: 0...1, using: &generator) }
    return wires.filter { !canReach($0.value.ends[0].node, $0.value.ends[1].node) }.keys.sorted()
  }

  mutating func heal() { sides = [Int](repeating: 0, count: sides.count) }

  var isPartitioned: Bool { Set(sides).count > 1 }

  // MARK: Dialling

  /// How long to wait before a route is tried again. A connection that lasted forgets the failures before it.
  mutating func retryDelay(_ route: Int, now: Int64) -> Int64 {
    if let since = routes[route].connectedAt, now - since > Self.retryBound { routes[route].failures = 0 }
    routes[route].connectedAt = nil
    routes[route].failures += 1
    let ceiling = min(Self.firstRetry << Int64(min(routes[route].failures, 10)), Self.retryBound)
    return Int64.random(in: ceiling / 2...ceiling, using: &generator)
  }
}
