import ArgumentParser
import MeshControl
import MeshNode

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check this node, and say what to do about problems.",
    discussion: """
      Prints each check, its result, and what to do about a problem. Works with and without a daemon, and also if the node \
      can't be opened. Exit code 0: everything is in order; 1: something is not.

      Examples:
        mesh doctor
        mesh doctor --deep
        mesh doctor --json | jq '.checks[] | select(.state != "ok")'
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Flag(help: "Read the whole database file as well. It takes seconds for each gigabyte.")
  var deep = false

  func run() async throws {
    let report = await report()
    if json.isOn { try Output.json(report) } else { show(report) }
    if !report.healthy { throw ExitCode(ExitStatus.no.rawValue) }
  }

  /// Returns the report. A node that can't be opened is a finding, not a failure.
  private func report() async -> DoctorReport {
    do {
      let access = try home.access()
      return deep
        ? try await access.perform(DeepDoctorRequest(), telling: "reading the whole file")
        : try await access.perform(DoctorRequest())
    } catch {
      let refusal =
        (error as? any Refusing)?.refusal ?? Refusal(code: "node.unopened", message: "the node can't open: \(error)")
      return DoctorReport(unopened: refusal)
    }
  }

  private func show(_ report: DoctorReport) {
    let sorted = report.checks.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
    for (_, check) in sorted {
      Output.facts([(check.state.rawValue, "\(check.name): \(check.what)")])
      if let wayOut = check.wayOut, check.state != .ok { Output.facts([("", "→ \(wayOut)")]) }
    }
  }
}

extension HealthCheck {
  /// The order of the states, the worst first.
  fileprivate var rank: Int {
    switch state {
    case .alarm: 0
    case .warning: 1
    case .ok: 2
    }
  }
}
