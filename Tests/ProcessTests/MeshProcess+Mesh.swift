import Foundation
import MeshControl
import Testing

/// Helpers for connecting nodes to a mesh.
extension MeshProcess {
  /// Runs a command that must succeed.
  @discardableResult
  func done(_ arguments: String..., input: String = "") async throws -> Finished {
    let finished = try await run(arguments, input: input)
    guard finished.status == 0 else { throw Unexpected("mesh \(arguments.joined(separator: " ")): \(finished)") }
    return finished
  }

  /// Creates an account on this node, with the two tables of `schema`, and starts its daemon.
  func found(device: String = "tower") async throws -> Child {
    try await sqlite(Self.schema)
    try await done("init", "--database", database, "--account", "alice", "--device", device)
    try await done("track", "notes", "tags")
    return try await serve()
  }

  /// Returns the last line that `mesh device invite` prints.
  func invite(_ arguments: String...) async throws -> String {
    let finished = try await run(["device", "invite"] + arguments)
    guard finished.status == 0, let invite = finished.stdout.split(separator: "\n").last else {
      throw Unexpected("mesh device invite: \(finished)")
    }
    return String(invite)
  }

  /// Joins with an invite of `host`'s daemon, including its tables. No daemon runs here yet.
  func join(_ host: MeshProcess, device: String) async throws {
    try await done(
      "init", "--database", database, "--link", "-", "--adopt-schema", "--device", device,
      input: try await host.invite() + "\n")
  }

  /// Returns the daemon's address.
  func address() async throws -> String {
    guard let listen = try await status().listen else { throw Unexpected("the daemon does not listen") }
    return listen
  }

  /// Sets `peers` as the configured addresses to dial.
  func configure(peers: [String]) throws {
    try configure("peers", "[\(peers.map { "\"\($0)\"" }.joined(separator: ", "))]")
  }

  /// Sets another path of the database.
  func configure(database: String) throws { try configure("database", "\"\(database)\"") }

  private func configure(_ key: String, _ value: String) throws {
    let path = "\(home)/config.toml"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
      line.hasPrefix(key) ? "\(key) = \(value)" : String(line)
    }
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
    try handle.close()
  }

  func isConnected(to device: String) async throws -> Bool {
    try await status().peers.contains { $0.name == device && $0.connected }
  }

  func connected(to device: String) async throws {
    try await eventually("\(device) is connected") { try await isConnected(to: device) }
  }

  /// Waits until the device is connected, no work is left, and the digests are equal.
  func settled(with device: String) async throws {
    try await connected(to: device)
    try await done("wait")
    try await done("verify")
  }

  /// Runs two linked nodes with an account, its tables and daemons: the devices `tower` and `laptop`.
  static func pair(
    _ body: (_ tower: MeshProcess, _ laptop: MeshProcess, _ daemons: (tower: Child, laptop: Child)) async throws -> Void
  ) async throws {
    try await scope(nodes: 2) { nodes in
      let tower = try await nodes[0].found()
      try await nodes[1].join(nodes[0], device: "laptop")
      let laptop = try await nodes[1].serve()
      try await nodes[1].connected(to: "tower")
      try await body(nodes[0], nodes[1], (tower, laptop))
    }
  }
}
