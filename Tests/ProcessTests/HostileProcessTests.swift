import Foundation
import Testing

extension Daemons {
  /// A peer in Python that was written from the documents, against real daemons: `Tests/Hostile`. `tools/attack` runs
  /// the same attacks for longer and in parallel.
  @Suite struct HostileProcessTests {
    /// The time limit for all attacks of a module on a busy machine.
    private static let patience = Duration.seconds(600)

    /// Runs one of the Python programs. If it fails, the error contains its output.
    private func python(_ program: String, _ arguments: String...) async throws {
      try await MeshProcess.scope { node in
        let variables = ["MESH_BINARY": try Child.binary(), "PYTHONDONTWRITEBYTECODE": "1"]
        let interpreter = ProcessInfo.processInfo.environment["MESH_TEST_PYTHON"] ?? "python3"
        let finished = try await node.start(
          ["\(MeshProcess.root)/Tests/Hostile/\(program)"] + arguments, executable: interpreter, environment: variables
        ).finished(within: Self.patience)
        print(finished.stdout)
        #expect(finished.status == 0, "\(program) \(arguments):\n\(finished.stdout)\(finished.stderr)")
      }
    }

    @Test("every number on the wire has an attack, and the documents describe each message as the peer does")
    func everyNumberHasAnAttack() async throws { try await python("coverage.py") }

    @Test("a peer written from the documents joins a share, reads its rows and writes some")
    func thePeerIsHonest() async throws { try await python("honest.py") }

    @Test("attacks that slow honest rows down fail") func slowRowsFail() async throws { try await python("pace.py") }

    @Test(
      "honest devices sync, keep their pace, survive a restart and are not blamed after attacks",
      arguments: [
        "accounts", "apart", "assets", "changesets", "claims", "control", "crowds", "extremes", "listener", "owners",
        "parts",
        "relays", "thieves", "transport",
      ])
    func honestDevicesGoOn(attacks: String) async throws { try await python("run.py", attacks) }
  }
}
