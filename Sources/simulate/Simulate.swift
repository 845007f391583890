import ArgumentParser
import MeshTesting

/// Replication under simulated faults. The same arguments print the same bytes; a violation ends with exit code 1.
struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Runs nodes under simulated faults, in virtual time and from one seed.",
    discussion: discussion)

  /// The name of a plan that is drawn from the seed.
  private static let random = "random"

  static let discussion = """
    The last line is “digest” and a hash over the whole trace. Exit code 1: a rule was broken; 2: the \
    arguments or the plan can't be used.

    A plan of faults is a JSON file. --keys lists its keys. Sources/MeshTesting/MeshTesting.docc/FaultPlans.md \
    explains them, and Tests/SimulationTests/Seeds has examples.
    """

  @Option(help: "The seed of all random numbers. (default: the plan's, or 1)")
  var seed: UInt64?

  @Option(help: "How many nodes, 1 to \(Simulation.mostNodes). (default: the plan's, or 3)")
  var nodes: Int?

  @Option(help: "How many steps: writes and faults. (default: the plan's, or 200)")
  var steps: Int?

  @Option(help: ArgumentHelp("A file with a plan of faults, in JSON.", valueName: "file"))
  var faults: String?

  @Option(
    help: """
      A plan by its name: \(FaultPlan.named.keys.sorted().joined(separator: ", ")). Several with “+” between them are \
      mixed: shares+assets. With “\(Self.random)”, two to four are drawn from the seed.
      """)
  var profile: String?

  @Option(help: "sqlite (the real store) or model (in memory, faster). (default: the plan's, or sqlite)")
  var storage: String?

  @Option(
    help: """
      Run this many seeds, from --seed on, and list how many of them reached each rare branch of the code. Without a plan, \
      each seed draws a mixture.
      """)
  var coverage: Int?

  @Flag(help: "Print the last line only.")
  var quiet = false

  @Flag(help: "List the keys of a plan, and exit.")
  var keys = false

  @Flag(help: "Print the plan as JSON, and exit.")
  var showPlan = false

  func run() throws {
    if keys {
      for key in FaultPlan.Key.all { print("\(key.path): \(key.summary); \(key.form)") }
      return
    }
    if let coverage { return try cover(coverage) }
    let (run, simulation) = try prepared()
    if showPlan { return print(run.json, terminator: "") }
    let isQuiet = quiet
    let outcome = try simulation.run { line in
      if !isQuiet || line.hasPrefix("digest") { print(line) }
    }
    guard let violation = outcome.violation else { return }
    PlanSource.complain("violation with \(arguments(run)): \(violation)")
    throw ExitCode(1)
  }

  /// Runs many seeds, and prints the branches that they reached.
  private func cover(_ count: Int) throws {
    var seeds: [String: Int] = [:]
    var times: [String: Int] = [:]
    let first = seed ?? 1
    for seed in first..<first + UInt64(max(0, count)) {
      var one = self
      one.seed = seed
      if faults == nil { one.profile = profile ?? Self.random }
      let (run, simulation) = try one.prepared()
      let outcome = try simulation.run()
      if let violation = outcome.violation {
        PlanSource.complain("violation with \(one.arguments(run)): \(violation)")
        throw ExitCode(1)
      }
      for (branch, count) in outcome.counts.branches {
        seeds[branch, default: 0] += 1
        times[branch, default: 0] += count
      }
    }
    for branch in Coverage.branches where seeds[branch] != nil {
      print("\(branch): in \(seeds[branch] ?? 0) of \(count) seeds, \(times[branch] ?? 0) times")
    }
    let missed = Coverage.branches.filter { seeds[$0] == nil }
    print("never reached: \(missed.isEmpty ? "none" : missed.joined(separator: ", "))")
  }

  private func prepared() throws -> (PlannedRun, Simulation) {
    do {
      let run = try planned()
      return (
        run,
        try Simulation(
          seed: run.seed ?? 1, nodes: run.nodes ?? 3, steps: run.steps ?? 200, plan: run.plan,
          storage: run.storage ?? .sqlite)
      )
    } catch {
      throw PlanSource.refuse(error)
    }
  }

  /// The file's, and what the command line says instead.
  private func planned() throws -> PlannedRun {
    var run = PlannedRun(plan: .ordinary)
    let known = storage.flatMap { Simulation.Storage(rawValue: $0) }
    if let storage, known == nil { throw SimulationError("there is no storage “\(storage)”: use sqlite or model") }
    if let faults {
      guard profile == nil else { throw SimulationError("--faults and --profile name two plans: leave one out") }
      run = try PlanSource.read(faults, storage: known)
    } else if let profile {
      let name = profile == Self.random ? FaultPlan.mixture(from: seed ?? 1) : profile
      guard let plan = FaultPlan.plan(named: name) else {
        throw SimulationError(
          "there is no plan “\(profile)”: use one or several of \(FaultPlan.named.keys.sorted().joined(separator: ", "))"
        )
      }
      run.plan = plan
    }
    run.storage = known ?? run.storage
    (run.seed, run.nodes, run.steps) = (seed ?? run.seed, nodes ?? run.nodes, steps ?? run.steps)
    guard run.steps ?? 0 >= 0 else { throw SimulationError("--steps is below zero: give 0 or more") }
    return run
  }

  private func arguments(_ run: PlannedRun) -> String {
    let plan = faults.map { "--faults \($0)" } ?? "--profile \(profile ?? "ordinary")"
    return
      "\(plan) --seed \(run.seed ?? 1) --nodes \(run.nodes ?? 3) --steps \(run.steps ?? 200) "
      + "--storage \((run.storage ?? .sqlite).rawValue)"
  }
}
