import Foundation
import Testing

extension Daemons {
  @Suite struct DemoTests {
    @Test("the demo shows three equal rows and a conflict, and removes its directory")
    func theDemoRunsToItsEndAndRemovesWhatItMade() async throws {
      try await MeshProcess.scope { mesh in
        let demo = try await mesh.start(
          ["bash", "\(MeshProcess.root)/tools/demo"], executable: "/usr/bin/env",
          environment: ["MESH_BINARY": try Child.binary()])
        let finished = try await demo.finished(within: .seconds(300))
        #expect(finished.status == 0, "\(finished)")
        let lines = finished.stdout.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines.filter { $0 == "Moby-Dick|Whales|signed, rebound" }.count == 3)
        #expect(lines.contains { $0.contains("kept  Whales  van") })
        #expect(lines.contains { $0.contains("lost  A7      desk") })
        #expect(lines.filter { $0.contains("  equal  ") }.count == 2)
        let place = try #require(finished.stdout.firstMatch(of: #/\/tmp\/mesh-demo-\w+/#))
        #expect(!FileManager.default.fileExists(atPath: String(place.output)))
      }
    }
  }
}
