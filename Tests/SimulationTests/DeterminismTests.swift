import Foundation
import MeshTesting
import Testing

@Suite struct DeterminismTests {
  private static let steps = TestSeeds.isFast ? 40 : 80

  private func trace(_ seed: UInt64, _ storage: Simulation.Storage) throws -> [String] {
    var lines: [String] = []
    _ = try Simulation(seed: seed, nodes: 4, steps: Self.steps, plan: .crashing, storage: storage).run {
      lines.append($0)
    }
    return lines
  }

  @Test("one seed gives one trace", arguments: Simulation.Storage.allCases)
  func oneSeedGivesOneTrace(storage: Simulation.Storage) throws {
    let first = try trace(11, storage)
    #expect(first == (try trace(11, storage)))
    #expect(first != (try trace(12, storage)))
    #expect(first.last?.hasPrefix("digest ") == true)
    #expect(first.count > Self.steps)
  }

  /// In two processes, whose hash tables are ordered differently.
  @Test("the command prints the same bytes for the same arguments", arguments: [("ordinary", 4), ("shares", 6)])
  func theCommandPrintsTheSameBytesForTheSameArguments(profile: String, nodes: Int) throws {
    let arguments = ["--seed", "21", "--nodes", "\(nodes)", "--steps", "\(Self.steps)", "--profile", profile]
    let first = try simulate(arguments)
    #expect(first == (try simulate(arguments)))
    #expect(first.contains("\ndigest "))
    let quiet = try simulate(arguments + ["--quiet"])
    #expect(quiet.hasPrefix("digest ") && first.hasSuffix(quiet))
  }

  private func simulate(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = try products().appendingPathComponent("simulate")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Where the test bundle is, the command is too.
  private func products() throws -> URL {
    let bundle = try #require(
      (CommandLine.arguments + [Bundle.main.executablePath ?? ""]).first { $0.contains(".xctest") },
      "the arguments name no test bundle")
    let path = try #require(bundle.range(of: "/[^/]*\\.xctest.*$", options: .regularExpression))
    return URL(fileURLWithPath: String(bundle[..<path.lowerBound]))
  }
}
