import ArgumentParser
import Glibc
import MeshControl
import MeshCore

/// The command line: a daemon, and the commands that create, query and change a node.
@main
struct Mesh: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mesh",
    abstract: "Synchronizes SQLite files between your machines, without a server.",
    discussion: """
      Every machine runs a node for an ordinary SQLite file. The node captures what any program writes to the file. It signs \
      and encrypts these changes, and exchanges them with the account's other devices.

      On the first machine:
        mesh init --database notes.db
        mesh track notes
        mesh serve
      On the first machine, in a second terminal:
        mesh device invite
      On the second machine, and paste the line that it printed:
        mesh init --database notes.db --adopt-schema --link -
        mesh serve

      Exit codes: 0 done; 1 the answer is no; 2 the arguments make no sense; 3 a daemon is needed and none \
      accepts; 4 no member is connected or can be reached; 5 refused, with the reason.
      """,
    version: MeshVersion.current.description,
    subcommands: [
      Init.self, Track.self, Untrack.self, Rescan.self, AcceptFile.self, Schema.self, Serve.self, Device.self,
      Account.self,
      ShareCommand.self,
      Status.self,
      Peers.self,
      ZonesCommand.self, Held.self, AssetCommand.self, Conflicts.self, Restore.self, Explain.self, Verify.self,
      Wait.self,
      DoctorCommand.self, Backup.self,
    ])

  static func main() async {
    do {
      try checkVerbs(CommandLine.arguments.dropFirst())
      let command = try await asyncParseAsRoot()
      do {
        if var command = command as? any AsyncParsableCommand {
          try await command.run()
        } else {
          var command = command
          try command.run()
        }
      } catch let error as ValidationError {
        // The parser has ended and no longer knows the command. It would print the usage of mesh itself.
        Output.note("Error: \(error.message)\nUsage: \(usageString(for: type(of: command)))")
        Glibc.exit(ExitStatus.usage.rawValue)
      }
    } catch {
      leave(with: error)
    }
  }

  /// Checks the names of commands. The parser would call an unknown command an unexpected argument of the one before
  /// it.
  private static func checkVerbs(_ words: some Sequence<String>) throws {
    var (command, verb): (any ParsableCommand.Type, String) = (self, "mesh")
    for word in words {
      let verbs = command.configuration.subcommands
      guard !verbs.isEmpty, !word.hasPrefix("-"), word != "help" else { return }
      guard let next = verbs.first(where: { $0._commandName == word }) else {
        let names = verbs.map { $0._commandName }
        throw ValidationError(
          "\(verb) has no command “\(printable(word))”. "
            + (Suggestion.nearest(to: word, among: names).map { "Did you mean “\(verb) \($0)”?" }
              ?? "It has: \(names.joined(separator: ", "))."))
      }
      (command, verb) = (next, "\(verb) \(word)")
    }
  }

  /// Prints the reason on standard error, and exits with the matching status.
  private static func leave(with error: any Error) -> Never {
    if let error = error as? any Refusing {
      // The parser has discarded its values, and a caller that wants JSON is a program.
      if CommandLine.arguments.contains("--json") {
        Output.complainInJSON(error.refusal)
      } else {
        Output.complain(error.refusal)
      }
      Glibc.exit(error.refusal.exit.rawValue)
    }
    if error is CancellationError { Glibc.exit(ExitStatus.no.rawValue) }
    let status = exitCode(for: error)
    let message = fullMessage(for: error)
    if status.isSuccess {
      Output.print(message)
      Glibc.exit(ExitStatus.done.rawValue)
    }
    if !message.isEmpty { Output.note(message) }
    switch status {
    // The parser uses the number of sysexits.h.
    case .validationFailure: Glibc.exit(ExitStatus.usage.rawValue)
    default: Glibc.exit(error is ExitCode ? status.rawValue : ExitStatus.refused.rawValue)
    }
  }
}
