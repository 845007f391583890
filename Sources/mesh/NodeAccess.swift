import MeshControl
import MeshCore
import MeshNode

/// Connects a command to the node of a home: through the daemon's socket if one runs, or else by opening the home
/// itself.
struct NodeAccess {
  enum Need {
    /// The home alone is enough.
    case home
    /// Only a running daemon can do it. The text says why.
    case daemon(because: String)
  }

  let home: Home
  /// The name of another user whose home root reads, which only the daemon may open. It is nil for a home of this user.
  var owner: String?
  var opening: any NodeOpening = NodeOpener()

  /// The longest wait for a daemon that is starting, or for another command. Opening a database after a crash takes a
  /// second or two.
  static let patience = Duration.seconds(10)

  /// The time after which a daemon that was started in the same moment has the home, as with `mesh serve & mesh wait`.
  static let daemonStart = Duration.seconds(1)

  /// The time between two checks of the socket and the lock.
  private static let poll = Duration.milliseconds(50)

  /// Performs one request, and prints `what` with the elapsed time if it takes long.
  func perform<Request: ControlRequest>(
    _ request: Request, _ need: Need = .home, telling what: String? = nil
  ) async throws -> Request.Answer {
    try await withNode(need) { node in
      guard let what else { return try await node.perform(request) }
      return try await ProgressLine.during(what) { try await node.perform(request) }
    }
  }

  /// Waits until the merged values are in this machine's tables, and while connected devices send their changes.
  ///
  /// - Parameter what: The node's work in the meantime, for the person who waits.
  func filled(_ what: String) async throws {
    let report = try await withNode(.home) { node in
      try await ProgressLine.during(what, detail: { await ProgressLine.filling(node) }) {
        try await node.perform(WaitRequest(here: true))
      }
    }
    guard !report.complete else { return }
    let names = report.missing.map { printable($0.name ?? $0.device) }
    let waits = names.isEmpty ? "" : " and waits for \(Set(names).sorted().joined(separator: ", "))"
    Output.note(report.locked.map { printable($0) } ?? "\(what) goes on in the background\(waits): mesh wait")
  }

  func withNode<Answer>(_ need: Need, _ body: (any NodeControl) async throws -> Answer) async throws -> Answer {
    let begun = ContinuousClock.now
    while true {
      let socket = home.path(of: .controlSocket)
      if UnixSocket.isListening(at: socket) { return try await body(ControlClient(socket: socket)) }
      if let owner {
        throw Refusal(
          code: "home.otherUser",
          message:
            "\(home.path) belongs to the user \(owner), and no daemon runs on it. Run the command as that user: sudo -u "
            + "\(owner) mesh …", exit: .daemonNeeded)
      }
      if case .daemon = need, ContinuousClock.now < begun + Self.daemonStart {
        try await Task.sleep(for: Self.poll)
        continue
      }
      if let lock = try lock(lastAttempt: ContinuousClock.now >= begun + Self.patience) {
        defer { lock.release() }
        if case .daemon(let reason) = need { throw Self.daemonNeeded(reason) }
        if let notice = try home.leaveOtherLog() { Output.note("mesh: \(printable(notice)).") }
        return try await body(opening.local(home: home, lock: lock))
      }
      try await Task.sleep(for: Self.poll)
    }
  }

  /// Takes the lock. Returns nil while another process has it and there is time left.
  private func lock(lastAttempt: Bool) throws -> HomeLock? {
    do throws(HomeError) {
      return try home.lock(as: .verb)
    } catch {
      guard error.code == .locked else { throw error }
      guard lastAttempt else { return nil }
      guard let holder = error.holder, holder.purpose == .daemon else { throw error }
      throw Refusal(
        code: "daemon.notAccepting",
        message:
          "the daemon (process \(holder.pid)) has \(home.path) and accepts no requests. See its log, or stop it: "
          + "kill \(holder.pid)",
        exit: .daemonNeeded)
    }
  }

  private static func daemonNeeded(_ reason: String) -> Refusal {
    Refusal(
      code: "daemon.needed", message: "\(reason) No daemon runs on this home. Start it: mesh serve",
      exit: .daemonNeeded)
  }
}
