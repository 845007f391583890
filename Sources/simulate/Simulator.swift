import ArgumentParser
import Foundation

/// The simulator's commands: one run, which needs no name, and many.
@main
struct Simulator: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate", abstract: "Runs nodes under simulated faults.",
    subcommands: [Simulate.self, SoakCommand.self],
    defaultSubcommand: Simulate.self)

  /// Arguments that cannot be used end with 2. Help is that of the command that needs no name.
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    if ["-h", "--help"].contains(arguments.first ?? "") { return print(Simulate.helpMessage()) }
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let code as ExitCode {
      Foundation.exit(code.rawValue)
    } catch {
      let isAsked = exitCode(for: error) == .success
      let text = fullMessage(for: error)
      if isAsked { print(text) } else { PlanSource.complain(text) }
      Foundation.exit(isAsked ? 0 : 2)
    }
  }
}
