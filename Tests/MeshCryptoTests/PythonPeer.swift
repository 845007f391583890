import Foundation

/// A process of `noise_peer.py`. Its standard input and output carry frames.
final class PythonPeer {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let errors = Pipe()

  /// Starts the process.
  ///
  /// - Parameter privateKey: The peer's static key, 32 bytes.
  init(role: String, privateKey: [UInt8]) throws {
    let python = ProcessInfo.processInfo.environment["MESH_TEST_PYTHON"] ?? "python3"
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("noise_peer.py")
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [python, script.path, role, hex(privateKey)]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = errors
    try process.run()
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.terminate()
  }

  func send(_ message: [UInt8]) throws {
    let header = [UInt8(message.count >> 8), UInt8(message.count & 0xff)]
    try input.fileHandleForWriting.write(contentsOf: Data(header + message))
  }

  func receive() throws -> [UInt8] {
    let header = try read(2)
    return try read(Int(header[0]) << 8 | Int(header[1]))
  }

  private func read(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let more = try output.fileHandleForReading.read(upToCount: count - bytes.count), !more.isEmpty else {
        let reason = try errors.fileHandleForReading.readToEnd() ?? Data()
        throw Failure(
          description: "the Python peer ended: \(String(decoding: reason, as: UTF8.self)) "
            + "(tools/test installs what it needs and sets MESH_TEST_PYTHON)")
      }
      bytes += more
    }
    return bytes
  }
}
