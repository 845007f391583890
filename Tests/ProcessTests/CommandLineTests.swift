import Foundation
import MeshControl
import Testing

@Suite struct CommandLineTests {
  static let verbs: [[String]] = [
    ["init"], ["track"], ["untrack"], ["rescan"], ["accept-file"], ["schema"], ["serve"], ["device"],
    ["device", "invite"], ["device", "list"], ["device", "revoke"], ["device", "promote"], ["device", "demote"],
    ["device", "confirm"], ["device", "restamp"], ["account"], ["account", "show"], ["account", "recovery"],
    ["account", "replace-key"], ["share"], ["share", "create"], ["share", "rename"], ["share", "invite"],
    ["share", "join"], ["share", "invites"], ["share", "uninvite"], ["share", "set-permission"], ["share", "remove"],
    ["share", "leave"], ["share", "stop"], ["share", "list"], ["share", "show"], ["share", "receipt"], ["status"],
    ["peers"], ["zones"], ["held"], ["held", "list"], ["held", "resolve"], ["held", "retry"], ["held", "discard"],
    ["asset"], ["asset", "list"], ["asset", "show"], ["asset", "fetch"], ["asset", "evict"], ["asset", "policy"],
    ["conflicts"], ["conflicts", "list"], ["conflicts", "dismiss"], ["restore"], ["explain"], ["explain", "record"],
    ["verify"], ["wait"], ["doctor"], ["backup"],
  ]

  @Test("--version prints a version of three parts") func theVersionIsPrinted() async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run("--version")
      #expect(finished.status == 0)
      #expect(finished.stdout.split(separator: ".").count == 3)
      #expect(finished.stderr.isEmpty)
    }
  }

  private struct Help: Decodable { let command: Described }

  /// A command as `--experimental-dump-help` describes it.
  private struct Described: Decodable {
    let commandName: String
    let subcommands: [Described]?

    /// The names of the commands below this one, each with the commands that it belongs to.
    var verbs: [[String]] {
      (subcommands ?? []).filter { $0.commandName != "help" }.flatMap { command in
        [[command.commandName]] + command.verbs.map { [command.commandName] + $0 }
      }
    }
  }

  @Test("the tests of each command leave none out") func verbsAreComplete() async throws {
    try await MeshProcess.scope { mesh in
      let help = try await mesh.run("--experimental-dump-help")
      let mesh = try JSONDecoder().decode(Help.self, from: Data(help.stdout.utf8)).command
      #expect(Set(mesh.verbs) == Set(Self.verbs))
    }
  }

  @Test("each command prints an overview and an example with --help", arguments: [[]] + verbs)
  func everyVerbHasHelpWithExamples(verb: [String]) async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run(verb + ["--help"])
      #expect(finished.status == 0)
      #expect(finished.stdout.contains("mesh \(verb.joined(separator: " "))"))
      #expect(finished.stdout.contains("OVERVIEW: "))
      #expect(verb.isEmpty || finished.stdout.contains("Example"))
    }
  }

  @Test(
    "invalid arguments exit with the usage status and create no home",
    arguments: [
      ["nonsense"], ["status", "--nonsense"], ["init"], ["init", "--database"], ["track"], ["untrack"],
      ["init", "--database", "x.db", "--adopt-schema"], ["init", "--database", "x.db", "--link", "-"],
      ["init", "--database", "x.db", "--link", "l", "--account", "a"],
      ["init", "--database", "x.db", "--device", "a\u{1b}b"],
      ["serve", "--listen", "7404"], ["serve", "--peer", "host"], ["serve", "--json"], ["device", "revoke"],
      ["device", "invite", "--expires", "15"], ["verify", "--timeout", "soon"], ["wait", "--timeout", "400d"],
      ["account", "recovery", "--json"], ["share", "join", "-", "--json"],
      ["share", "invite", "x", "--permission", "read-only", "--uses", "9007199254740993"],
      ["device", "invite", "--expires", "0s"], ["help", "nonsense"], ["--home", "x", "status"],
    ])
  func argumentsThatMakeNoSenseAreUsage(arguments: [String]) async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run(arguments)
      #expect(finished.status == ExitStatus.usage.rawValue)
      #expect(finished.stdout.isEmpty)
      #expect(finished.stderr.contains(arguments.contains("--json") ? "arguments.invalid" : "Error: "))
      #expect(!FileManager.default.fileExists(atPath: mesh.home))
    }
  }

  @Test("an error about an unknown command names the known ones")
  func aVerbThatThereIsNotIsToldThoseThatThereAre() async throws {
    try await MeshProcess.scope { mesh in
      for (words, known) in [(["share", "shw"], "show"), (["sttus", "--json"], "status")] {
        let finished = try await mesh.run(words)
        #expect(finished.status == ExitStatus.usage.rawValue)
        #expect(
          finished.stderr.contains("has no command “\(words.first { $0 != "share" } ?? "")”")
            && finished.stderr.contains(known))
      }
    }
  }

  @Test(
    "an error about a misplaced or mistyped word says what was meant",
    arguments: [
      (["--home", "x y", "status", "--json"], "Write options behind the command: mesh status --json --home 'x y'"),
      (["help", "device", "lst"], "Did you mean “mesh device list”?"),
      (["init", "--databse", "b.db"], "Unknown option “--databse”. Did you mean “--database”?"),
      (["init", "--data=b.db"], "Unknown option “--data”. Did you mean “--database”?"),
      (["explain", "notes", "n1"], "Did you mean “mesh explain record notes n1”?"),
      (["share", "invit", "x"], "See “mesh share --help”"),
    ])
  func correctedWords(arguments: [String], correction: String) async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run(arguments)
      #expect(finished.status == ExitStatus.usage.rawValue && finished.stdout.isEmpty)
      #expect(finished.stderr.contains(correction), "\(finished.stderr)")
    }
  }

  @Test(
    "an error about a value names the rule that it breaks",
    arguments: [
      (["serve", "--listen", "foo"], "an address is HOST:PORT"),
      (["serve", "--peer", "127.0.0.1:80000"], "a port of at most 65535"),
      (["restore", "--conflict", "abc"], "a whole number is needed"),
      (["share", "invite", "x", "--permission", "read-only", "--uses", "-1"], "a whole number is needed"),
      (["device", "invite", "--expires", "-1s"], "a duration is a whole number and its unit"),
      (["device", "invite", "--expires", "0s"], "it must be longer than 0"),
    ])
  func rulesOfValues(arguments: [String], rule: String) async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run(arguments)
      #expect(finished.status == ExitStatus.usage.rawValue && finished.stderr.contains(rule), "\(finished.stderr)")
    }
  }

  @Test("an error about a malformed duration explains the format") func aDurationThatIsNoneIsExplained() async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run("wait", "--timeout", "soon")
      #expect(finished.stderr.contains("a duration is a whole number and its unit: 90s, 15m, 2h or 7d."))
    }
  }
}
