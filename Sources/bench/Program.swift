import Foundation

/// A process of the benchmark, with lines to and from it.
final class Program {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var buffer: [UInt8] = []
  var id: Int32 { process.processIdentifier }

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - errors: The file for its standard error.
  ///   - speaks: True if its lines are read.
  init(_ arguments: [String], environment: [String: String] = [:], errors: String, speaks: Bool = true) throws {
    guard FileManager.default.createFile(atPath: errors, contents: nil) else { throw Trouble("cannot write \(errors)") }
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = speaks ? output : FileHandle.nullDevice
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.run()
    Interruption.note(process: process.processIdentifier)
  }

  func send(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// Returns the next line, or nil at the end.
  func line() -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer.removeSubrange(...end) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      buffer += more
    }
  }

  /// Ends its input, and returns its last line and its exit code.
  func finish() -> (last: String, code: Int32) {
    try? input.fileHandleForWriting.close()
    var last = ""
    while let next = line() { last = next }
    process.waitUntilExit()
    Interruption.forget(process: process.processIdentifier)
    return (last, process.terminationStatus)
  }

  /// Asks it to end and waits.
  func stop() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
    Interruption.forget(process: process.processIdentifier)
  }
}
