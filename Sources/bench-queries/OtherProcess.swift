import Foundation

/// This program, started once more: it adds a row for each line that it reads, and answers after the commit.
///
/// `@unchecked` because the benchmark uses it from one task.
final class OtherProcess: @unchecked Sendable {
  static let argument = "add-rows"

  private let process = Process()
  private let requests = Pipe()
  private let answers = Pipe()

  init(database path: String) throws {
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [Self.argument, path]
    process.standardInput = requests
    process.standardOutput = answers
    try process.run()
  }

  deinit {
    try? requests.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Adds a row and returns after the commit.
  func add() throws {
    try requests.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    _ = try answers.fileHandleForReading.read(upToCount: 1)
  }

  /// The body of the other process.
  static func run(_ arguments: [String]) throws {
    let c = try CAPI(path: arguments[1])
    while readLine() != nil {
      try c.execute(BenchQueries.addition)
      try FileHandle.standardOutput.write(contentsOf: Data("\n".utf8))
    }
  }
}
