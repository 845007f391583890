import Foundation
import Synchronization

/// What a process left behind.
struct Finished: Sendable {
  /// The exit code, or minus the number of the signal that ended it.
  let status: Int32
  let stdout: String
  let stderr: String
}

/// A process that was started, with its output in files, so that no pipe ever fills up.
final class Child: Sendable {
  let pid: Int32
  private let logs: String
  private let end: End

  init(arguments: [String], input: String, environment: [String: String], logs: String) throws {
    self.logs = logs
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try Self.binary())
    process.arguments = arguments
    process.environment = environment
    try Data(input.utf8).write(to: URL(fileURLWithPath: "\(logs).in"))
    process.standardInput = FileHandle(forReadingAtPath: "\(logs).in")
    process.standardOutput = try Self.file("\(logs).out")
    process.standardError = try Self.file("\(logs).err")
    let end = End()
    process.terminationHandler = { process in
      let status = process.terminationStatus
      end.status.withLock { $0 = process.terminationReason == .exit ? status : -status }
    }
    try process.run()
    pid = process.processIdentifier
    self.end = end
  }

  /// Apart from the child, because the process may end before `init` does.
  private final class End: Sendable {
    /// Set once, when the process has ended.
    let status = Mutex<Int32?>(nil)
  }

  private static func file(_ path: String) throws -> FileHandle {
    guard FileManager.default.createFile(atPath: path, contents: nil), let handle = FileHandle(forWritingAtPath: path)
    else {
      throw Unexpected("cannot write \(path)")
    }
    return handle
  }

  /// Nil while the process runs.
  var result: Finished? {
    end.status.withLock { $0 }.map { Finished(status: $0, stdout: text("out"), stderr: text("err")) }
  }

  private func text(_ suffix: String) -> String {
    String(decoding: FileManager.default.contents(atPath: "\(logs).\(suffix)") ?? Data(), as: UTF8.self)
  }

  /// Waits for the end; a process that is late is killed, and what it had said is in the error.
  func finished(within limit: Duration) async throws -> Finished {
    do {
      try await eventually("the process ends", within: limit) { result != nil }
    } catch {
      await kill()
      throw Unexpected("\(error); it said: \(text("out")) \(text("err"))")
    }
    guard let result else { throw Unexpected("no result") }
    return result
  }

  /// As a crash: no handler runs. Returns once the process is gone.
  func kill() async {
    send(SIGKILL)
    try? await eventually("the process is gone") { result != nil }
  }

  /// Asks it to stop in good order, and waits.
  func terminate() async throws -> Finished {
    send(SIGTERM)
    return try await finished(within: MeshProcess.deadline)
  }

  func send(_ signal: Int32) {
    if result == nil { Foundation.kill(pid, signal) }
  }

  /// Beside the test bundle, else where a build of this package puts it.
  private static func binary() throws -> String {
    let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let places = [beside.appendingPathComponent("mesh").path, root.appendingPathComponent(".build/debug/mesh").path]
    guard let place = places.first(where: FileManager.default.isExecutableFile) else {
      throw Unexpected("no mesh at \(places)")
    }
    return place
  }
}
