import Foundation
import MeshCrypto
import MeshTransport
import Testing

/// Compares with an independent implementation of framing and Noise, over a real socket.
@Suite(.timeLimit(.minutes(2)))
struct PythonLinkTests {
  private let sizes = [1, 65_518, 65_519, 1 << 20]

  @Test("an independent peer dials us") func anIndependentPeerDialsUs() async throws {
    try await withListener { listener, links in
      let peer = try PythonLinkPeer(["dial", PythonLinkPeer.privateKey, "\(listener.port)"])
      try await converse(try #require(await links.next()))
      #expect(try await peer.exit() == "")
    }
  }

  @Test("We dial an independent peer") func weDialAnIndependentPeer() async throws {
    let peer = try PythonLinkPeer(["listen", PythonLinkPeer.privateKey])
    let port = try await peer.readPort()
    try await converse(try await transport(1).dial(host: "127.0.0.1", port: port))
    #expect(try await peer.exit() == "")
  }

  private func converse(_ link: Link) async throws {
    #expect(link.remoteStatic == PythonLinkPeer.keys.sessionKey)
    var messages = link.messages.makeAsyncIterator()
    for size in sizes {
      link.send(counting(size))
      #expect(await messages.next() == counting(size).reversed())
    }
    link.close()
    await link.waitUntilClosed()
  }
}

/// A process of `link_peer.py`.
final class PythonLinkPeer {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The seed of all keys of `keys(9)`.
  static let privateKey = String(repeating: "09", count: 32)
  static var keys: DeviceKeys { DeviceKeys(randomness: FixedRandomness(value: 9)) }

  private let process = Process()
  private let output = Pipe()
  private let errors = Pipe()

  init(_ arguments: [String]) throws {
    let python = ProcessInfo.processInfo.environment["MESH_TEST_PYTHON"] ?? "python3"
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("link_peer.py")
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [python, script.path] + arguments
    process.standardOutput = output
    process.standardError = errors
    try process.run()
  }

  deinit { process.terminate() }

  /// Returns the port in the first line that the process prints.
  func readPort() async throws -> Int {
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw Failure(
        description: "the Python peer ended: \(try await errorText()) "
          + "(tools/test installs what it needs and sets MESH_TEST_PYTHON)")
    }
    return port
  }

  /// Returns the errors that the process printed until it ended.
  func exit() async throws -> String {
    let text = try await errorText()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? text : text + "exit status \(process.terminationStatus)"
  }

  /// Waits on a separate thread. Tasks have only as many threads as there are processors, and the peer may need one to
  /// continue.
  private func errorText() async throws -> String {
    let errors = errors.fileHandleForReading
    return try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(with: Result { String(decoding: try errors.readToEnd() ?? Data(), as: UTF8.self) })
      }
    }
  }
}
