import ArgumentParser
import MeshTesting

/// Replication under simulated faults. The same arguments print the same bytes; a violation ends with exit code 1.
@main
struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs nodes under simulated faults, in virtual time and from one seed.",
    discussion: "The last line is “digest” and a hash over the whole trace. Exit code 1 where a rule was broken.")

  @Option(help: "What everything is drawn from.")
  var seed: UInt64

  @Option(help: "How many nodes, 1 to 32.")
  var nodes = 3

  @Option(help: "How many steps: writes and faults.")
  var steps = 200

  @Option(help: "ordinary, crashing, partitioned, wrong-clocks or line.")
  var profile = "ordinary"

  @Option(help: "sqlite (the real store) or model (in memory, faster).")
  var storage = "sqlite"

  @Flag(help: "Print the last lines only.")
  var quiet = false

  func validate() throws {
    guard Profile.named[profile] != nil else {
      throw ValidationError("there is no profile “\(profile)”: \(Profile.named.keys.sorted().joined(separator: ", "))")
    }
    guard Simulation.Storage(rawValue: storage) != nil else {
      throw ValidationError("there is no storage “\(storage)”: sqlite, model")
    }
    guard (1...32).contains(nodes), steps >= 0 else { throw ValidationError("1 to 32 nodes, 0 or more steps") }
  }

  func run() throws {
    let simulation = try Simulation(
      seed: seed, nodes: nodes, steps: steps, profile: Profile.named[profile] ?? .ordinary,
      storage: Simulation.Storage(rawValue: storage) ?? .sqlite)
    let isQuiet = quiet
    let outcome = try simulation.run { line in
      if !isQuiet || line.hasPrefix("digest") { print(line) }
    }
    guard let violation = outcome.violation else { return }
    print("violation with --seed \(seed) --nodes \(nodes) --steps \(steps) --profile \(profile): \(violation)")
    throw ExitCode(1)
  }
}
