import Testing

extension Daemons {
  /// Five daemons that are killed, paused, restarted and run out of disk space while programs write: `tools/soak
  /// --processes`.
  @Suite struct SoakTests {
    @Test("a minute of random faults violates no rule of the soak tool")
    func aMinuteOfFaultsViolatesNoRule() async throws {
      try await MeshProcess.scope { mesh in
        let soak = try await mesh.start(
          ["bash", "\(MeshProcess.root)/tools/soak", "--processes", "--minutes", "1", "--seed", "1"],
          executable: "/usr/bin/env", environment: ["MESH_BINARY": try Child.binary()])
        let finished = try await soak.finished(within: .seconds(600))
        #expect(finished.status == 0, "\(finished.stdout) \(finished.stderr)")
        #expect(finished.stdout.contains("nothing was violated"))
      }
    }
  }
}
