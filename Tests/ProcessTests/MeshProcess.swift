import Foundation
import MeshControl

/// The built `mesh` with its own home in a temporary directory. All processes that it started end with the scope.
struct MeshProcess: Sendable {
  /// The directory, with a short path, so that the socket's path fits its address.
  let directory: String
  private let children = Children()

  var home: String { "\(directory)/home" }
  var database: String { "\(directory)/data.db" }

  /// The package's directory.
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// The deadline of a command on a busy machine. A command that takes longer hangs.
  static let deadline = Duration.seconds(60)

  /// Calls `body` with a fresh directory. Afterwards, it kills the remaining processes and removes the directory.
  static func scope<Result>(_ body: (MeshProcess) async throws -> Result) async throws -> Result {
    let directory = "/tmp/mesh-\(UInt64.random(in: 0..<1 << 40))"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let mesh = MeshProcess(directory: directory)
    do {
      let result = try await body(mesh)
      await mesh.cleanUp()
      return result
    } catch {
      await mesh.cleanUp()
      throw error
    }
  }

  /// Runs several nodes, each with its own home.
  static func scope<Result>(nodes: Int, _ body: ([MeshProcess]) async throws -> Result) async throws -> Result {
    try await scope(nodes: nodes, [], body)
  }

  private static func scope<Result>(
    nodes: Int, _ made: [MeshProcess], _ body: ([MeshProcess]) async throws -> Result
  ) async throws -> Result {
    if made.count == nodes { return try await body(made) }
    return try await scope { try await scope(nodes: nodes, made + [$0], body) }
  }

  private func cleanUp() async {
    for child in await children.all { await child.kill() }
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// Starts `mesh` without waiting for it.
  func start(
    _ arguments: [String], executable: String? = nil, input: String? = "", environment: [String: String] = [:]
  ) async throws -> Child {
    var variables = ["MESH_HOME": home, "HOME": directory, "PATH": "/usr/bin:/bin"]
    // The variables contain the path of the Swift libraries, and the options of a sanitizer or coverage run.
    for name in ["LD_LIBRARY_PATH", "LLVM_PROFILE_FILE", "TSAN_OPTIONS"] {
      variables[name] = ProcessInfo.processInfo.environment[name]
    }
    variables.merge(environment) { $1 }
    let child = try Child(
      executable: executable, arguments: arguments, input: input, environment: variables,
      logs: "\(directory)/\(await children.nextName())")
    await children.add(child)
    return child
  }

  /// Runs one command to its end.
  func run(_ arguments: String..., input: String = "", environment: [String: String] = [:]) async throws -> Finished {
    try await run(arguments, input: input, environment: environment)
  }

  func run(_ arguments: [String], input: String = "", environment: [String: String] = [:]) async throws -> Finished {
    try await start(arguments, input: input, environment: environment).finished(within: Self.deadline)
  }

  /// Runs a command with `--json` and reads its object, for any exit code.
  func report<Report: Decodable>(_ type: Report.Type, _ arguments: String...) async throws -> Report {
    let finished = try await run(arguments + ["--json"])
    do {
      return try ControlJSON.decode(type, from: Array(finished.stdout.utf8))
    } catch {
      throw Unexpected("mesh \(arguments.joined(separator: " ")) printed no \(type): \(finished)")
    }
  }

  func status() async throws -> StatusReport { try await report(StatusReport.self, "status") }

  /// Starts the daemon on a port that the system chooses, and waits until it accepts. The address is in
  /// `status().listen`.
  func serve(_ arguments: String..., environment: [String: String] = [:]) async throws -> Child {
    let listen = arguments.contains("--listen") ? [] : ["--listen", "127.0.0.1:0"]
    // The daemon is started through another program. A program with a preloaded library may not find its arguments,
    // because the library sets variables and Swift looks for the arguments beside them.
    let line = [try Child.binary(), "serve"] + listen + arguments
    let child = try await start(line, executable: Self.env, environment: environment)
    try await eventually("mesh serve accepts") {
      if let finished = child.result { throw Unexpected("mesh serve ended: \(finished)") }
      return try await status().running
    }
    return child
  }

  private actor Children {
    private(set) var all: [Child] = []
    private var count = 0

    func add(_ child: Child) { all.append(child) }

    func nextName() -> String {
      count += 1
      return "process-\(count)"
    }
  }
}

extension StatusReport {
  /// Everything that a person should look into.
  var complaints: [String] { alarms + warnings }
}

/// Checks repeatedly until `condition` holds. Fails if it doesn't hold by the deadline.
func eventually(
  _ what: String, within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while try await !condition() {
    guard ContinuousClock.now < deadline else { throw Unexpected("\(what): not within \(limit)") }
    try await Task.sleep(for: .milliseconds(20))
  }
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
