import Foundation
import MeshControl
import Testing

@Suite struct CommandLineTests {
  static let verbs: [[String]] = [
    ["init"], ["track"], ["untrack"], ["schema"], ["serve"], ["device"], ["device", "invite"], ["device", "list"],
    ["device", "revoke"], ["account"], ["account", "show"], ["account", "recovery"], ["status"], ["peers"], ["zones"],
    ["conflicts"], ["verify"], ["wait"], ["doctor"], ["held"], ["held", "retry"], ["held", "discard"],
    ["share"], ["share", "create"], ["share", "rename"], ["share", "invite"], ["share", "join"], ["share", "invites"],
    ["share", "uninvite"], ["share", "set-permission"], ["share", "remove"], ["share", "leave"], ["share", "stop"],
    ["share", "list"], ["share", "show"], ["share", "receipt"],
  ]

  @Test("--version prints a version of three parts") func theVersionIsPrinted() async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run("--version")
      #expect(finished.status == 0)
      #expect(finished.stdout.split(separator: ".").count == 3)
      #expect(finished.stderr.isEmpty)
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
    ])
  func argumentsThatMakeNoSenseAreUsage(arguments: [String]) async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run(arguments)
      #expect(finished.status == ExitStatus.usage.rawValue)
      #expect(finished.stdout.isEmpty)
      #expect(finished.stderr.contains("Error: "))
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

  @Test("an error about a malformed duration explains the format") func aDurationThatIsNoneIsExplained() async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run("wait", "--timeout", "soon")
      #expect(finished.stderr.contains("a duration is a whole number and its unit: 90s, 15m, 2h or 7d."))
    }
  }
}
