import MeshTesting
import Testing

/// The rare branches that runs reach.
@Suite struct CoverageTests {
  /// The greatest number of seeds for one plan.
  private static let seeds: UInt64 = 12

  @Test(
    "a plan reaches the branches that it is for", .enabled(if: !SimulationTests.isFast),
    arguments: Coverage.purposes.keys.sorted())
  func purposes(name: String) throws {
    var missing = try #require(Coverage.purposes[name])
    let plan = try #require(FaultPlan.plan(named: name))
    #expect(missing.isSubset(of: Coverage.branches), "a branch that nothing counts")
    for seed in 1...Self.seeds where !missing.isEmpty {
      let nodes = plan.accounts > 1 ? 6 : 4
      let outcome = try Simulation(seed: seed, nodes: nodes, steps: 120, plan: plan).run()
      #expect(outcome.violation == nil, "tools/simulate --seed \(seed) --nodes \(nodes) --steps 120 --profile \(name)")
      missing.subtract(outcome.counts.branches.keys)
    }
    #expect(missing.isEmpty, "not reached: tools/simulate --profile \(name) --coverage \(Self.seeds) shows the others")
  }
}
