import MeshTesting
import Testing

/// Whole meshes under faults. Every failure names its seed: `tools/simulate` shows what happened. `tools/soak` runs
/// other seeds for as long as you like.
@Suite struct SimulationTests {
  /// With `MESH_TEST_FAST`, few of each kind.
  static let isFast = TestSeeds.isFast

  @Test("small meshes converge and lose nothing", arguments: 1...(isFast ? 3 : 24))
  func smallMeshesConvergeAndLoseNothing(seed: UInt64) throws {
    try run(seed: seed, nodes: 2 + Int(seed % 3), steps: 60, profile: "ordinary")
  }

  @Test("three nodes in a line converge, the middle one relaying", arguments: 1...(isFast ? 1 : 10))
  func threeNodesInALineConvergeTheMiddleOneRelaying(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 80, profile: "line")
  }

  @Test("nodes that are killed and lose their power again and again lose nothing", arguments: 1...(isFast ? 1 : 15))
  func nodesThatAreKilledAndLoseTheirPowerAgainAndAgainLoseNothing(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 80, profile: "crashing")
  }

  @Test("nodes that are parted again and again converge", arguments: 1...(isFast ? 1 : 10))
  func nodesThatArePartedAgainAndAgainConverge(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 80, profile: "partitioned")
  }

  @Test("nodes whose clocks are wrong by minutes converge", arguments: 1...(isFast ? 1 : 6))
  func nodesWhoseClocksAreWrongByMinutesConverge(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 60, profile: "wrong-clocks")
  }

  @Test("writes of the same millisecond converge", arguments: 1...(isFast ? 1 : 6))
  func writesOfTheSameMillisecondConverge(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 100, profile: "simultaneous")
  }

  @Test("nodes whose disks fail and fill up lose nothing", arguments: 1...(isFast ? 1 : 12))
  func nodesWhoseDisksFailAndFillUpLoseNothing(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 80, profile: "bad-disks")
  }

  @Test(
    "units of thousands of records, long values and revocations leave the others equal", arguments: 1...(isFast ? 1 : 6)
  )
  func unitsOfThousandsOfRecordsLongValuesAndRevocationsLeaveTheOthersEqual(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 60, profile: "writing")
  }

  @Test("counters that all nodes increment end as the sum of what was committed", arguments: 1...(isFast ? 1 : 10))
  func countersThatAllNodesIncrementEndAsTheSumOfWhatWasCommitted(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 120, profile: "counting")
  }

  @Test("apps that write within their nodes' work lose nothing", arguments: 1...(isFast ? 1 : 8))
  func interruptedNodes(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 100, profile: "interrupting")
  }

  @Test("a member that lies harms nobody", arguments: 1...(isFast ? 1 : 10))
  func aMemberThatLiesHarmsNobody(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 80, profile: "lying")
  }

  @Test(
    "files and homes that are restored, copied and run twice lose nothing that another had",
    arguments: 1...(isFast ? 1 : 10))
  func filesAndHomesThatAreRestoredCopiedAndRunTwiceLoseNothingThatAnotherHad(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 100, profile: "history")
  }

  @Test(
    "files that are restored while the node has them open fork nothing and lose nothing",
    arguments: 1...(isFast ? 1 : 12))
  func liveRestores(seed: UInt64) throws {
    let counts = try run(seed: seed, nodes: 3, steps: 100, profile: "live-restores")
    #expect(counts.refusals["fork"] == nil, "a number was given twice")
  }

  @Test("apps that alter, drop and rename come to the same rows", arguments: 1...(isFast ? 1 : 10))
  func appsThatAlterDropAndRenameComeToTheSameRows(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 100, profile: "schemas")
  }

  @Test(
    "machines that rename in stages, untrack and track, and join with copies lose nothing unlisted",
    arguments: 1...(isFast ? 1 : 15))
  func migrations(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 100, profile: "migrations")
  }

  @Test(
    "accounts that share, lower, remove, leave and stop read and write what they may", arguments: 1...(isFast ? 1 : 8))
  func accountsThatShareLowerRemoveLeaveAndStopReadAndWriteWhatTheyMay(seed: UInt64) throws {
    try run(seed: seed, nodes: 6, steps: 100, profile: "shares")
  }

  @Test("the model store keeps the same promises", arguments: 1...(isFast ? 4 : 24))
  func theModelStoreKeepsTheSamePromises(seed: UInt64) throws {
    let profiles = ["ordinary", "crashing", "partitioned", "wrong-clocks", "line", "lying"]
    try run(seed: seed, nodes: 5, steps: 120, profile: profiles[Int(seed) % profiles.count], storage: .model)
  }

  /// The plans mix what the tests above keep apart.
  @Test("mixed meshes keep all promises", arguments: 1...(isFast ? 2 : 32))
  func mixtures(seed: UInt64) throws {
    try run(
      seed: seed, nodes: 3 + Int(seed % 4), steps: 40 + Int(seed % 3) * 20, profile: FaultPlan.mixture(from: seed),
      storage: seed.isMultiple(of: 5) ? .model : .sqlite)
  }

  @Test("a larger mesh converges", .enabled(if: !isFast))
  func aLargerMeshConverges() throws {
    try run(seed: 4_711, nodes: 10, steps: 250, profile: "ordinary")
  }

  @Test("a wide mesh converges", .enabled(if: !isFast))
  func aWideMeshConverges() throws {
    try run(seed: 40, nodes: 40, steps: 100, profile: "wide")
  }

  @Test("what once failed stands", arguments: try PlanFile.all())
  func whatOnceFailedStands(file: PlanFile) throws {
    let run = file.run
    let outcome = try Simulation(
      seed: try #require(run.seed), nodes: try #require(run.nodes), steps: try #require(run.steps), plan: run.plan,
      storage: run.storage ?? .sqlite
    ).run()
    let command = "tools/simulate --faults Tests/SimulationTests/Seeds/\(file.name).json"
    #expect(outcome.violation == nil, "\(command)")
  }

  @discardableResult
  private func run(
    seed: UInt64, nodes: Int, steps: Int, profile: String, storage: Simulation.Storage = .sqlite
  ) throws -> Outcome.Counts {
    let outcome = try Simulation(
      seed: seed, nodes: nodes, steps: steps, plan: try #require(FaultPlan.plan(named: profile)), storage: storage
    ).run()
    #expect(
      outcome.violation == nil,
      "tools/simulate --seed \(seed) --nodes \(nodes) --steps \(steps) --profile \(profile) --storage \(storage.rawValue)"
    )
    #expect(outcome.counts.changeSets > 0, "nothing was replicated")
    return outcome.counts
  }
}
