import ArgumentParser
import Foundation
import MeshTesting

/// Runs on until the time is over or a rule is broken.
struct SoakCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "soak", abstract: "Runs seed after seed over varied plans; makes the first run that fails smaller.",
    discussion: "Exit code 1: a rule was broken; 2: the arguments or the plan can't be used.")

  @Option(help: "How long to run, in minutes.")
  var minutes = 1.0

  @Option(help: ArgumentHelp("A plan for every run, in JSON. (default: they vary)", valueName: "file"))
  var faults: String?

  @Option(help: "The number of the first run.")
  var first: UInt64 = 1

  @Option(help: ArgumentHelp("The file for the smallest run that fails.", valueName: "file"))
  var output = "failing-plan.json"

  func run() throws {
    let soak: Soak
    do {
      soak = Soak(plan: try faults.map { try PlanSource.read($0).plan })
    } catch {
      throw PlanSource.refuse(error)
    }
    let end = ContinuousClock.now + .seconds(minutes * 60)
    var number = first
    while ContinuousClock.now < end {
      let run = soak.run(number)
      if let violation = try Soak.violation(run) { return try report(number, run, violation) }
      number += 1
    }
    print("\(number - first) runs, from \(first) to \(number - 1): no rule was broken")
  }

  private func report(_ number: UInt64, _ run: PlannedRun, _ violation: String) throws {
    print("run \(number) fails: \(violation)")
    try write(run)
    print("tools/simulate --faults \(output)")
    print("making it smaller:")
    var smallest = try Soak.shrunk(run) { print("  it fails with \($0)") }
    let last = try Soak.violation(smallest) ?? violation
    smallest.plan.about = last
    try write(smallest)
    print("\(smallest.nodes ?? 0) nodes, \(smallest.steps ?? 0) steps, in \(output): \(last)")
    throw ExitCode(1)
  }

  private func write(_ run: PlannedRun) throws {
    try Data(run.json.utf8).write(to: URL(fileURLWithPath: output))
  }
}
