import ArgumentParser
import Glibc
import MeshControl

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
    let words = CommandWords(CommandLine.arguments.dropFirst())
    do {
      try NamesInUTF8.check()
      if let fault = words.fault { throw fault }
      let command = try await asyncParseAsRoot()
      do {
        if var command = command as? any AsyncParsableCommand {
          try await command.run()
        } else {
          var command = command
          try command.run()
        }
        try Output.requirePrinted()
      } catch let error as ValidationError {
        // The parser has ended and no longer knows the command. It would print the usage of mesh itself.
        throw words.fault(error.message)
      }
    } catch {
      leave(with: error, words)
    }
  }

  /// Prints the reason on standard error, and exits with the matching status.
  private static func leave(with error: any Error, _ words: CommandWords) -> Never {
    // The parser has discarded its values, and a caller that wants JSON is a program.
    let isJSON = CommandLine.arguments.contains("--json")
    if let error = error as? any Refusing {
      if isJSON { Output.complainInJSON(error.refusal) } else { Output.complain(error.refusal) }
      Glibc.exit(error.refusal.exit.rawValue)
    }
    if error is CancellationError { Glibc.exit(ExitStatus.no.rawValue) }
    let status = exitCode(for: error)
    if status.isSuccess {
      Output.print(fullMessage(for: error))
      Glibc.exit(ExitStatus.done.rawValue)
    }
    // The parser uses the number of sysexits.h.
    if error is UsageFault || status == .validationFailure {
      complain(ofUsage: error, words, inJSON: isJSON)
      Glibc.exit(ExitStatus.usage.rawValue)
    }
    let message = fullMessage(for: error)
    if !message.isEmpty { Output.note(message) }
    Glibc.exit(error is ExitCode ? status.rawValue : ExitStatus.refused.rawValue)
  }

  private static func complain(ofUsage error: any Error, _ words: CommandWords, inJSON isJSON: Bool) {
    let message = message(for: error)
    let isMissing = message.hasPrefix("Missing expected argument")
    let fault = error as? UsageFault ?? (isMissing ? words.mistypedOption : nil)
    if isJSON {
      Output.complainInJSON((fault ?? words.fault(message)).refusal)
    } else if let fault {
      Output.note("Error: \(fault.message)\n\(fault.usage)")
    } else {
      Output.note(fullMessage(for: error))
    }
  }
}
