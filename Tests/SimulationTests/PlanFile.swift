import Foundation
import MeshTesting
import Testing

/// A run that once failed, as a plan that says what it found.
struct PlanFile: Sendable, CustomTestStringConvertible {
  let name: String
  let run: PlannedRun

  var testDescription: String { name }

  /// The size of a run, as nodes times steps, that `tools/test --fast` has time for.
  private static let quickSize = 240

  private var isQuick: Bool { (run.nodes ?? 0) * (run.steps ?? 0) <= Self.quickSize }

  /// Returns the plans of all files. With `MESH_TEST_FAST`, those of small meshes.
  static func all() throws -> [PlanFile] {
    let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Seeds")
    return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "json" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
      .map { url in
        PlanFile(
          name: url.deletingPathExtension().lastPathComponent,
          run: try PlannedRun(json: Array(try Data(contentsOf: url))))
      }
      .filter { !TestSeeds.isFast || $0.isQuick }
  }
}
