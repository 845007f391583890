import ArgumentParser
import Glibc

/// The answers and invites that a person types or pipes.
enum Input {
  /// Returns an invite that was given as an argument, or reads it from standard input if the argument is "-". Other
  /// users of the machine can see arguments, but not standard input.
  ///
  /// - Parameter verb: The verb that prints such invites.
  static func invite(_ argument: String, printedBy verb: String) throws -> String {
    guard argument == "-" else { return argument }
    if isatty(STDIN_FILENO) == 1 { Output.note("Paste the line that \(verb) printed, and press Enter:") }
    guard let line = readLine(), !line.isEmpty else {
      throw ValidationError("No invite came on standard input. Paste the line that \(verb) printed.")
    }
    return line
  }

  /// Asks a question, and returns whether the answer is yes.
  static func ask(_ question: String) -> Bool {
    Output.note("\(question) [y/N]")
    return ["y", "yes"].contains(readLine()?.lowercased())
  }
}
