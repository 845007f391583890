import Foundation

/// The directory of one simulation, removed with it. In memory where the machine offers that: a simulated disk need not be flushed.
final class SimulationFiles {
  private let root: URL

  init() throws {
    let memory = "/dev/shm"
    let parent =
      FileManager.default.isWritableFile(atPath: memory)
      ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
    root = parent.appendingPathComponent("mesh-simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
  }

  func directory(_ node: Int) -> URL { root.appendingPathComponent("n\(node)") }

  deinit { try? FileManager.default.removeItem(at: root) }
}
