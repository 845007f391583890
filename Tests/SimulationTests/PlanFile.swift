import Foundation
import MeshTesting
import Testing

/// A run that once failed, as a plan that says what it found.
struct PlanFile: Sendable, CustomTestStringConvertible {
  let name: String
  let run: PlannedRun

  var testDescription: String { name }

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
  }
}
