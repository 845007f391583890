import ArgumentParser
import MeshControl
import MeshCore

/// The words of a command line: the command that they name, and the words behind it.
struct CommandWords {
  /// The command that the words name, as far as they name one.
  private(set) var command: any ParsableCommand.Type = Mesh.self
  private var verb = "mesh"
  private var rest: ArraySlice<String>

  init(_ words: some Sequence<String>) {
    rest = Array(words)[...]
    if rest.first == "help" { rest.removeFirst() }
    while let word = rest.first, let next = Self.subcommand(word, of: command) {
      (command, verb) = (next, "\(verb) \(word)")
      rest.removeFirst()
    }
  }

  /// The reason that the words name no command, or nil if they do. The parser would call an unknown command an
  /// unexpected argument of the one before it, and would not know an option before the command.
  var fault: UsageFault? {
    let configuration = command.configuration
    guard !configuration.subcommands.isEmpty, let word = rest.first else { return nil }
    guard word.hasPrefix("-") else { return fault("\(verb) has no command “\(printable(word))”. \(advice(on: word))") }
    guard !Self.ownOptions.contains(word), configuration.defaultSubcommand == nil,
      let index = rest.firstIndex(where: { Self.subcommand($0, of: command) != nil })
    else { return nil }
    let corrected = ([verb] + (rest[index...] + rest[..<index]).map(Self.quoted)).joined(separator: " ")
    return fault("Write options behind the command: \(corrected)")
  }

  /// The reason that an option is missing although a similar one was given, or nil if none is similar. The parser would
  /// name only the missing one.
  var mistypedOption: UsageFault? {
    let known = Set(Mesh.usageString(for: command).split { " []<>".contains($0) }.map(String.init))
    for word in rest.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = String(word.prefix { $0 != "=" })
      guard !known.contains(name) else { continue }
      let longer = name.count > 3 ? known.filter { $0.hasPrefix(name) }.min() : nil
      guard let nearest = longer ?? Suggestion.nearest(to: name, among: known.sorted()) else { continue }
      return fault("Unknown option “\(printable(name))”. Did you mean “\(nearest)”?")
    }
    return nil
  }

  func fault(_ message: String) -> UsageFault {
    UsageFault(
      message: message,
      usage: "Usage: \(Mesh.usageString(for: command))\n  See “\(verb) --help” for more information.")
  }

  /// Returns the command that may have been meant, or all commands.
  private func advice(on word: String) -> String {
    let names = command.configuration.subcommands.map { $0._commandName }
    let meant =
      names.count == 1
      ? (names + rest.map(Self.quoted)).joined(separator: " ") : Suggestion.nearest(to: word, among: names)
    return meant.map { "Did you mean “\(verb) \($0)”?" } ?? "It has: \(names.joined(separator: ", "))."
  }

  /// The options that a command with subcommands has itself.
  private static let ownOptions: Set<String> = ["-h", "--help", "--version"]

  private static func subcommand(
    _ word: String, of command: any ParsableCommand.Type
  ) -> (any ParsableCommand.Type)? {
    command.configuration.subcommands.first { $0._commandName == word }
  }

  /// Returns a word as it is typed in a shell.
  private static func quoted(_ word: String) -> String {
    let text = printable(word)
    return !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || "-_./:=,@%+".contains($0) }
      ? text : "'\(text)'"
  }
}

/// Arguments that make no sense, with the usage of their command.
struct UsageFault: Error {
  let message: String
  let usage: String

  var refusal: Refusal { Refusal(code: "arguments.invalid", message: message, exit: .usage) }
}
