import ArgumentParser
import Foundation
import MeshTesting

/// Plans in files, and what is said of those that cannot be used.
enum PlanSource {
  static func read(_ path: String, storage: Simulation.Storage? = nil) throws -> PlannedRun {
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw SimulationError("\(path) cannot be read: give the path of a plan in JSON")
    }
    return try PlannedRun(json: Array(bytes), storage: storage)
  }

  static func refuse(_ error: any Error) -> ExitCode {
    complain("simulate: \(error)")
    return ExitCode(2)
  }

  static func complain(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
