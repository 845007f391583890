import MeshTesting
import Testing

/// Whole meshes under faults. Every failure names its seed: `tools/simulate` shows what happened. `tools/soak` runs
/// other seeds for as long as you like.
@Suite struct SimulationTests {
  /// With `MESH_TEST_FAST`, few of each kind.
  static let isFast = TestSeeds.isFast

  @Test(arguments: 1...(isFast ? 3 : 24))
  func `small meshes converge and lose nothing`(seed: UInt64) throws {
    try run(seed: seed, nodes: 2 + Int(seed % 3), steps: 60, profile: "ordinary")
  }

  @Test(arguments: 1...(isFast ? 1 : 10))
  func `three nodes in a line converge, the middle one relaying`(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 80, profile: "line")
  }

  @Test(arguments: 1...(isFast ? 1 : 15))
  func `nodes that are killed and lose their power again and again lose nothing`(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 80, profile: "crashing")
  }

  @Test(arguments: 1...(isFast ? 1 : 10))
  func `nodes that are parted again and again converge`(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 80, profile: "partitioned")
  }

  @Test(arguments: 1...(isFast ? 1 : 6))
  func `nodes whose clocks are wrong by minutes converge`(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 60, profile: "wrong-clocks")
  }

  @Test(arguments: 1...(isFast ? 1 : 6))
  func `writes of the same millisecond converge`(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 100, profile: "simultaneous")
  }

  @Test(arguments: 1...(isFast ? 1 : 12))
  func `nodes whose disks fail and fill up lose nothing`(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 80, profile: "bad-disks")
  }

  @Test(arguments: 1...(isFast ? 1 : 6))
  func `units of thousands of records, long values and revocations leave the others equal`(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 60, profile: "writing")
  }

  @Test(arguments: 1...(isFast ? 1 : 10))
  func `counters that all nodes increment end as the sum of what was committed`(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 120, profile: "counting")
  }

  @Test(arguments: 1...(isFast ? 1 : 10))
  func `a member that lies harms nobody`(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 80, profile: "lying")
  }

  @Test(arguments: 1...(isFast ? 1 : 10))
  func `files and homes that are restored, copied and run twice lose nothing that another had`(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 100, profile: "history")
  }

  @Test(
    "files that are restored while the node has them open fork nothing and lose nothing",
    arguments: 1...(isFast ? 1 : 12))
  func liveRestores(seed: UInt64) throws {
    let counts = try run(seed: seed, nodes: 3, steps: 100, profile: "live-restores")
    #expect(counts.refusals["fork"] == nil, "a number was given twice")
  }

  @Test(arguments: 1...(isFast ? 1 : 10))
  func `apps that alter, drop and rename come to the same rows`(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 100, profile: "schemas")
  }

  @Test(
    "machines that rename in stages, untrack and track, and join with copies lose nothing unlisted",
    arguments: 1...(isFast ? 1 : 15))
  func migrations(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 100, profile: "migrations")
  }

  @Test(arguments: 1...(isFast ? 1 : 8))
  func `accounts that share, lower, remove, leave and stop read and write what they may`(seed: UInt64) throws {
    try run(seed: seed, nodes: 6, steps: 100, profile: "shares")
  }

  @Test(arguments: 1...(isFast ? 4 : 24))
  func `the model store keeps the same promises`(seed: UInt64) throws {
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

  @Test(.enabled(if: !isFast))
  func `a larger mesh converges`() throws {
    try run(seed: 4_711, nodes: 10, steps: 250, profile: "ordinary")
  }

  @Test(.enabled(if: !isFast))
  func `a wide mesh converges`() throws {
    try run(seed: 40, nodes: 40, steps: 100, profile: "wide")
  }

  @Test(arguments: try PlanFile.all())
  func `what once failed stands`(file: PlanFile) throws {
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
