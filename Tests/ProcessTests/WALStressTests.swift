import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Programs in other languages that write to a database and checkpoint it beside its node: `tools/wal-stress`, for
  /// seconds.
  @Suite struct WALStressTests {
    private struct Result: Decodable {
      let commits: Int
      let missing: [String: Int]
      let failed: Int
      let integrity: String
    }

    private func stress(_ mesh: MeshProcess, _ extras: [String]) async throws -> Result {
      let child = try await mesh.start(
        ["python3", "\(MeshProcess.root)/tools/wal-stress", "--database", mesh.database, "--seconds", "3"]
          + extras.flatMap { ["--with", $0] }, executable: "/usr/bin/env")
      let finished = try await child.finished(within: MeshProcess.deadline)
      guard finished.status == 0 else { throw Unexpected("wal-stress: \(finished)") }
      return try JSONDecoder().decode(Result.self, from: Data(finished.stdout.utf8))
    }

    private func figures(_ mesh: MeshProcess) async throws -> [String: Int] {
      let report = try await mesh.report(DoctorReport.self, "doctor")
      return try #require(report.checks.first { $0.name == "write-ahead-log" }).figures
    }

    @Test(
      "programs that write beside a node lose no commit, and its log is short afterwards",
      arguments: [[], ["readers", "checkpoints"]])
    func nothingIsLostBesideANode(extras: [String]) async throws {
      try await MeshProcess.scope { mesh in
        _ = try await mesh.found()
        let result = try await stress(mesh, extras)
        #expect(result.commits > 0)
        #expect(result.missing.isEmpty)
        #expect(result.failed == 0)
        #expect(result.integrity == "ok")
        if extras.isEmpty { #expect(try await figures(mesh)["foreignResets"] == 0, "nobody else began the log anew") }
        try await eventually("all is flushed") { try await mesh.status().pending == 0 }
        try await eventually("the log is short again") { (try await figures(mesh)["bytes"] ?? .max) < 24 << 20 }
      }
    }
  }
}
