import Foundation
import Testing

extension Daemons {
  /// The commands in README and in the guides, which `tools/guides` runs with the built `mesh`.
  @Suite struct GuideProcessTests {
    @Test("the commands in a guide print what the guide shows", arguments: try guides())
    func theCommandsPrintWhatTheGuideShows(guide: String) async throws {
      let finished = try await Self.run(guide)
      #expect(finished.status == 0, "\(finished.stdout)\(finished.stderr)")
    }

    @Test(
      "a guide that shows another output, or a verb that mesh lacks, fails",
      arguments: [
        "```console\na$ mesh status\nnode  running\n```\n", "```console\na$ echo milk\nbread\n```\n",
        "```console\na$ false\n```\n", "Run `mesh shar list`.\n", "```sh\nmesh status --jsn\n```\n",
      ])
    func aGuideThatIsWrongFails(text: String) async throws {
      try await MeshProcess.scope { mesh in
        let guide = "\(mesh.directory)/Guide.md"
        try text.write(toFile: guide, atomically: true, encoding: .utf8)
        let finished = try await Self.run(guide)
        #expect(finished.status == 1)
        #expect(finished.stdout.contains("Guide.md:"))
      }
    }

    @Test("the rules of tools/guides and tools/prose hold", arguments: ["guides", "prose"])
    func theRulesOfTheToolsHold(tool: String) async throws {
      let finished = try await Self.run("--self-test", tool: tool)
      #expect(finished.status == 0, "\(finished.stderr)")
    }

    static func guides() throws -> [String] {
      let articles = "\(MeshProcess.root)/Sources/MeshNode/MeshNode.docc"
      let names = try FileManager.default.contentsOfDirectory(atPath: articles).filter { $0.hasSuffix(".md") }
      return ["\(MeshProcess.root)/README.md"] + names.sorted().map { "\(articles)/\($0)" }
    }

    private static func run(_ argument: String, tool: String = "guides") async throws -> Finished {
      try await MeshProcess.scope { mesh in
        let python = ProcessInfo.processInfo.environment["MESH_TEST_PYTHON"]
        let child = try await mesh.start(
          (python == nil ? ["python3"] : []) + ["\(MeshProcess.root)/tools/\(tool)", argument],
          executable: python ?? MeshProcess.env, environment: ["MESH_BINARY": try Child.binary()])
        return try await child.finished(within: .seconds(120))
      }
    }
  }
}
