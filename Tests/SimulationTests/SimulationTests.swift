import Foundation
import MeshTesting
import Testing

/// Whole meshes under faults. Every failure names its seed: `tools/simulate` shows what happened.
@Suite struct SimulationTests {
  /// With `MESH_TEST_FAST`, few of each kind.
  static let isFast = ProcessInfo.processInfo.environment["MESH_TEST_FAST"] != nil

  @Test(arguments: 1...(isFast ? 8 : 50))
  func `small meshes converge and lose nothing`(seed: UInt64) throws {
    try run(seed: seed, nodes: 2 + Int(seed % 3), steps: 60, profile: "ordinary")
  }

  @Test(arguments: 1...(isFast ? 3 : 10))
  func `three nodes in a line converge, the middle one relaying`(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 80, profile: "line")
  }

  @Test(arguments: 1...(isFast ? 3 : 10))
  func `nodes that are killed again and again converge and lose nothing`(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 100, profile: "crashing")
  }

  @Test(arguments: 1...(isFast ? 3 : 10))
  func `nodes that are parted again and again converge`(seed: UInt64) throws {
    try run(seed: seed, nodes: 4, steps: 100, profile: "partitioned")
  }

  @Test(arguments: 1...(isFast ? 2 : 6))
  func `nodes whose clocks are wrong by minutes converge`(seed: UInt64) throws {
    try run(seed: seed, nodes: 3, steps: 60, profile: "wrong-clocks")
  }

  @Test(arguments: 1...(isFast ? 10 : 60))
  func `the model store keeps the same promises`(seed: UInt64) throws {
    let profiles = Profile.named.keys.sorted()
    try run(
      seed: seed, nodes: 5, steps: 120, profile: profiles[Int(seed) % profiles.count], storage: .model)
  }

  @Test(.enabled(if: !isFast))
  func `a larger mesh converges`() throws {
    try run(seed: 4_711, nodes: 10, steps: 250, profile: "ordinary")
  }

  @Test(arguments: try SeedFile.all())
  func `what once failed stands`(file: SeedFile) throws {
    try run(seed: file.seed, nodes: file.nodes, steps: file.steps, profile: file.profile, storage: file.storage)
  }

  private func run(
    seed: UInt64, nodes: Int, steps: Int, profile: String, storage: Simulation.Storage = .sqlite
  ) throws {
    let outcome = try Simulation(
      seed: seed, nodes: nodes, steps: steps, profile: try #require(Profile.named[profile]), storage: storage
    ).run()
    #expect(
      outcome.violation == nil,
      "tools/simulate --seed \(seed) --nodes \(nodes) --steps \(steps) --profile \(profile) --storage \(storage.rawValue)"
    )
    #expect(outcome.counts.changeSets > 0, "nothing was replicated")
  }
}
