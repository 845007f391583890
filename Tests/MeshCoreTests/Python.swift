import Foundation

/// Runs a Python program to its end.
enum Python {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// What it prints. `input` is its standard input.
  static func run(_ arguments: [String], input: String = "") throws -> String {
    let process = Process()
    let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [ProcessInfo.processInfo.environment["MESH_TEST_PYTHON"] ?? "python3"] + arguments
    process.standardInput = standardInput
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try standardInput.fileHandleForWriting.close()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    let reason = try errors.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(
        description: "Python: \(String(decoding: reason, as: UTF8.self)) "
          + "(tools/test installs what it needs and sets MESH_TEST_PYTHON)")
    }
    return String(decoding: text, as: UTF8.self)
  }
}
