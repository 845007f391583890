import Foundation
import MeshTesting
import Testing

/// A seed that once failed: `key value` lines, and comment lines that say what it found.
struct SeedFile: Sendable, CustomTestStringConvertible {
  let name: String
  let seed: UInt64
  let nodes: Int
  let steps: Int
  let profile: String
  let storage: Simulation.Storage

  var testDescription: String { name }

  struct Malformed: Error { let file: String }

  static func all() throws -> [SeedFile] {
    let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Seeds")
    return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "seed" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
      .map(SeedFile.init)
  }

  init(_ url: URL) throws {
    var values: [String: String] = [:]
    for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ", maxSplits: 1)
      if words.count == 2 { values[String(words[0])] = String(words[1]) }
    }
    name = url.deletingPathExtension().lastPathComponent
    guard let seed = values["seed"].flatMap(UInt64.init), let nodes = values["nodes"].flatMap(Int.init),
      let steps = values["steps"].flatMap(Int.init), let profile = values["profile"],
      let storage = values["storage"].flatMap(Simulation.Storage.init)
    else { throw Malformed(file: name) }
    (self.seed, self.nodes, self.steps, self.profile, self.storage) = (seed, nodes, steps, profile, storage)
  }
}
