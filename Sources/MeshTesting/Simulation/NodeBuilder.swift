import MeshCore
import MeshCrypto

/// Makes the nodes of a simulation, each with a clock, a database and an app.
struct NodeBuilder {
  private let seed: UInt64
  private let plan: FaultPlan
  private let storage: Simulation.Storage
  private let time: VirtualTime
  private let accounts: [TestAccount]
  private let probe: BranchProbe
  private let written: WrittenValues
  private(set) var generator: SplitMix64
  /// The faults that nodes have from the beginning, by their keys in a plan.
  private(set) var faults: [String: Int] = [:]

  init(
    seed: UInt64, plan: FaultPlan, storage: Simulation.Storage, time: VirtualTime, accounts: [TestAccount],
    probe: @escaping BranchProbe, written: WrittenValues
  ) {
    (self.seed, self.plan, self.storage, self.time, self.accounts) = (seed, plan, storage, time, accounts)
    (self.probe, self.written) = (probe, written)
    generator = SplitMix64(seed: seed, stream: 2)
  }

  /// Returns the account of each node. If there are several accounts, liars have one of their own. The other nodes take
  /// turns.
  static func homes(of count: Int, _ plan: FaultPlan) -> [(account: Int, place: Int)] {
    let honest = count - plan.liars
    let isApart = plan.liars > 0 && plan.accounts > 1
    let groups = max(1, min(isApart ? plan.accounts - 1 : plan.accounts, honest))
    var sizes: [Int: Int] = [:]
    return (0..<count).map { index in
      let account = isApart && index >= honest ? groups : index % groups
      defer { sizes[account, default: 0] += 1 }
      return (account, sizes[account, default: 0])
    }
  }

  mutating func node(_ index: Int, _ home: (account: Int, place: Int), isLiar: Bool) throws -> SimulatedNode {
    let account = accounts[home.account]
    let stream = UInt64(100 + index * 10)
    let randomness = SeededRandomness(seed: seed, stream: stream)
    let error = Int64(plan.clockError)
    let clock = VirtualClock(time, ahead: Int64.random(in: -error...error, using: &generator))
    let cryptography = try Sodium(randomness: randomness)
    let known = plan.meetsGradually ? try account.state(knowing: [0, home.place], cryptography) : account.state
    let node = try SimulatedNode(
      index: index, home: home, clock: clock, account: account, known: known,
      database: try database(clock, cryptography, stream),
      cryptography: cryptography, randomness: randomness, probe: probe, written: written,
      writer: AppWriter(
        node: index, place: accounts.count > 1 ? (home.account, accounts.count) : nil,
        isFirstDevice: home.place == 0, plan: plan,
        generator: SplitMix64(seed: seed, stream: stream + 2)))
    node.keepsCopies = generator.once(in: plan.keptCopies)
    if isLiar { node.liar = Liar(plan: plan, generator: SplitMix64(seed: seed, stream: UInt64(10_000 + index))) }
    return node
  }

  private mutating func database(
    _ clock: VirtualClock, _ cryptography: any Cryptography, _ stream: UInt64
  ) throws -> any SimulatedDatabase {
    let (isOff, isBad) = (generator.once(in: plan.foreignKeysOff), generator.once(in: plan.badTriggers))
    guard storage == .sqlite else { return ModelDatabase(cryptography) }
    var spelled = SplitMix64(seed: seed, stream: stream + 3)
    let hasOwnSpelling = spelled.once(in: plan.spellings)
    for (fault, occurs) in [
      ("writers.foreignKeysOff", isOff), ("writers.badTriggers", isBad), ("writers.spellings", hasOwnSpelling),
    ] where occurs {
      faults[fault, default: 0] += 1
    }
    let disk = try VirtualDisk(
      clock: clock, randomness: SeededRandomness(seed: seed, stream: stream + 1), seed: seed &+ stream)
    return SQLiteDatabase(
      disk: disk, clock: clock, cryptography: cryptography,
      tables: AppSchema.tables(plan, hasShares: accounts.count > 1), foreignKeys: !isOff, hasBadTrigger: isBad,
      spelling: hasOwnSpelling ? Spelling(&spelled) : .plain, probe: probe)
  }
}
