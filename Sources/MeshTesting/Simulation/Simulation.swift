import MeshCore
import MeshCrypto
import MeshReplication

/// Simulates nodes, a network and an app on each node, with all faults that can happen between them. It uses virtual
/// time, and one seed determines everything.
///
/// ```swift
/// let outcome = try Simulation(seed: 7, nodes: 4, steps: 100, plan: .badDisks).run { print($0) }
/// precondition(outcome.violation == nil)
/// ```
///
/// The replicas and the stores are the real ones. After the steps, all faults heal, and the nodes must come to the same
/// state.
public final class Simulation {
  public enum Storage: String, Sendable, CaseIterable {
    /// SQLite files on disks in memory.
    case sqlite
    /// `ModelStore`, which is many times faster and has no foreign keys.
    case model
  }

  /// The greatest number of devices that the account certifies for one simulation. More devices would show nothing new
  /// and take long.
  public static let mostNodes = 256
  /// The virtual milliseconds in which the nodes have to come to the same state after everything is healed.
  public static let settlingTime: Int64 = 30 * 60_000
  /// The milliseconds between two ticks of a replica, and between two checks of the whole.
  static let tickInterval: Int64 = 250
  static let checkInterval: Int64 = 1_000

  enum Event {
    case start(Int)
    case tick(node: Int, life: Int)
    case work(node: Int, life: Int)
    case noticed(node: Int, life: Int)
    case dial(route: Int, life: Int)
    case handshaken(route: Int, wire: Int)
    case arrived(wire: Int, from: Int, bytes: [UInt8])
    case closed(wire: Int, end: Int)
    case join(Int)
    case joinOpened(Int, wire: Int)
    case evict(Eviction)
    case heal
    case mend(Int)
    case step
    case check
  }

  let time = VirtualTime()
  let plan: FaultPlan
  let storage: Storage
  let cryptography: any Cryptography
  var queue = EventQueue<Event>()
  var network: SimulatedNetwork
  var nodes: [SimulatedNode] = []
  var generator: SplitMix64
  var trace: Trace
  var counts = Outcome.Counts()
  let branches = BranchCounts()
  let written = WrittenValues()
  var stepsLeft: Int
  /// The number of hasty writes that may still be made in this step.
  var hastyLeft = 0
  /// Set when the steps are over.
  var deadline: Int64?
  var violation: String?
  var isOver = false
  /// The zones in the order in which they were met: each account's private zone, and shares.
  var zones: [KnownZone] = []
  /// The invites by which nodes try to join.
  var joins: [Join] = []
  /// The assets that nodes gave up because a liar claimed to have them.
  var trustedLiars: Set<AssetID> = []
  /// The assets whose bytes only a file had that was replaced.
  var abandonedAssets: Set<AssetID> = []
  /// The states of control logs that were read plainly, by their heads.
  var plainlyRead: Set<Set<ControlID>> = []
  /// The keys that liars gave away.
  var leaks: Set<Leak> = []
  let accounts: [TestAccount]
  /// The digest of each merged state that some node had. The last change set of each author identifies the state.
  var digests: [[Author: ChangeSetID]: ZoneDigest] = [:]
  var archive = Archive()
  /// Writes whose file was replaced by another one. Other nodes have merged them and must not lose them.
  var entrusted: [Archive.Write] = []
  private let seed: UInt64

  /// - Parameters:
  ///   - nodes: The number of nodes, at least one. The first one makes the account's zone.
  ///   - steps: The number of writes and faults.
  public init(
    seed: UInt64, nodes count: Int, steps: Int, plan: FaultPlan = .ordinary, storage: Storage = .sqlite
  ) throws {
    guard (1...Self.mostNodes).contains(count) else {
      throw SimulationError("a simulation has 1 to \(Self.mostNodes) nodes")
    }
    guard plan.liars < count else {
      throw SimulationError("of \(count) nodes \(plan.liars) are to lie: take more nodes, or fewer liars")
    }
    self.seed = seed
    let plan = plan.withoutIdleKeys(storage)
    self.plan = plan
    self.storage = storage
    stepsLeft = steps
    generator = SplitMix64(seed: seed, stream: 2)
    let homes = Self.homes(of: count, plan)
    network = SimulatedNetwork(
      nodes: count, liars: plan.liars, accounts: homes.map(\.account), plan: plan,
      generator: SplitMix64(seed: seed, stream: 3))
    cryptography = try Sodium(randomness: SeededRandomness(seed: seed, stream: 4))
    trace = Trace(cryptography) { _ in }
    accounts = try Set(homes.map(\.account)).sorted().map { account in
      try TestAccount(devices: homes.count { $0.account == account }, seed: seed &+ UInt64(account) &* 1_000_003)
    }
    for index in 0..<count {
      let node = try node(index, homes[index])
      node.keepsCopies = generator.once(in: plan.keptCopies)
      if index >= count - plan.liars {
        node.liar = Liar(plan: plan, generator: SplitMix64(seed: seed, stream: UInt64(10_000 + index)))
      }
      nodes.append(node)
    }
  }

  private func node(_ index: Int, _ home: (account: Int, place: Int)) throws -> SimulatedNode {
    let account = accounts[home.account]
    let stream = UInt64(100 + index * 10)
    let randomness = SeededRandomness(seed: seed, stream: stream)
    let error = Int64(plan.clockError)
    let clock = VirtualClock(time, ahead: Int64.random(in: -error...error, using: &generator))
    let cryptography = try Sodium(randomness: randomness)
    let known = plan.meetsGradually ? try account.state(knowing: [0, home.place], cryptography) : account.state
    return try SimulatedNode(
      index: index, home: home, clock: clock, account: account, known: known,
      database: try database(clock, cryptography, stream),
      cryptography: cryptography, randomness: randomness, probe: branches.probe, written: written,
      writer: AppWriter(
        node: index, place: accounts.count > 1 ? (home.account, accounts.count) : nil,
        isFirstDevice: home.place == 0, plan: plan,
        generator: SplitMix64(seed: seed, stream: stream + 2)))
  }

  private func database(
    _ clock: VirtualClock, _ cryptography: any Cryptography, _ stream: UInt64
  ) throws -> any SimulatedDatabase {
    let (isOff, isBad) = (generator.once(in: plan.foreignKeysOff), generator.once(in: plan.badTriggers))
    guard storage == .sqlite else { return ModelDatabase(cryptography) }
    if isOff { occurred("writers.foreignKeysOff") }
    if isBad { occurred("writers.badTriggers") }
    var spelled = SplitMix64(seed: seed, stream: stream + 3)
    let hasOwnSpelling = spelled.once(in: plan.spellings)
    if hasOwnSpelling { occurred("writers.spellings") }
    let disk = try VirtualDisk(
      clock: clock, randomness: SeededRandomness(seed: seed, stream: stream + 1), seed: seed &+ stream)
    return SQLiteDatabase(
      disk: disk, clock: clock, cryptography: cryptography, tables: tables, foreignKeys: !isOff, hasBadTrigger: isBad,
      spelling: hasOwnSpelling ? Spelling(&spelled) : .plain, probe: branches.probe)
  }

  /// Runs the simulation to its end. `print` gets each line of the trace. The last line is `digest` and the outcome's
  /// digest.
  public func run(print: @escaping (String) -> Void = { _ in }) throws -> Outcome {
    trace = Trace(cryptography, print: print)
    defer { for node in nodes { try? node.database.close() } }
    for node in nodes { queue.add(.start(node.index), at: Int64(node.index)) }
    queue.add(.step, at: 1_000)
    queue.add(.check, at: Self.checkInterval)
    while violation == nil, !isOver, let next = queue.next() {
      time.advance(to: next.time)
      counts.events += 1
      try handle(next.event)
    }
    counts.branches = branches.counts
    if let violation { say(nil, "violation: \(violation)") }
    for line in counts.summary { say(nil, line) }
    let digest = trace.digest
    print("digest \(digest)")
    return Outcome(violation: violation, digest: digest, counts: counts, virtualTime: time.now)
  }

  func say(_ node: Int?, _ text: String) { trace.line(time.now, node, text) }

  /// Notes a violation. Only the first one counts, because later ones may be its consequences.
  func violate(_ text: String) {
    if violation == nil { violation = text } else { say(nil, "and: \(text)") }
  }

  /// - Parameter fault: Its key in a plan.
  func occurred(_ fault: String) { counts.faults[fault, default: 0] += 1 }

  func alive(_ node: Int, _ life: Int) -> Bool { nodes[node].replica != nil && nodes[node].life == life }
}
