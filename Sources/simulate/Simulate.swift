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
    The last line is “digest” and a hash over the whole trace. Exit code 1 where a rule was broken, 2 where the arguments \
    or the plan cannot be used.

    A plan of faults is a JSON file: --keys lists what it may say, Sources/MeshTesting/MeshTesting.docc/FaultPlans.md \
    explains it, Tests/SimulationTests/Seeds has examples.
    """

  @Option(help: "What everything is drawn from. (default: the plan's, or 1)")
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

  @Flag(help: "Print the last line only.")
  var quiet = false

  @Flag(help: "List the keys of a plan, and end.")
  var keys = false

  @Flag(help: "Print the plan as a file has it, and end.")
  var showPlan = false

  func run() throws {
    if keys {
      for key in FaultPlan.keys { print("\(key.path): \(key.summary); \(key.form)") }
      return
    }
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
