import MeshControl
import MeshCore
import MeshNode

/// Tells a person on standard error that something takes a while.
enum ProgressLine {
  /// The time after which the first line is printed.
  private static let first = Duration.seconds(1)
  /// The time between later lines: short enough to show progress, and long enough for a log.
  private static let interval = Duration.seconds(5)

  /// Runs `work`, and prints a line with `detail` and the elapsed time while it runs.
  static func during<Answer: Sendable>(
    _ what: String, detail: @escaping @Sendable () async -> String? = { nil },
    _ work: @escaping @Sendable () async throws -> Answer
  ) async throws -> Answer {
    try await withThrowingTaskGroup(of: Answer?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        try await tell(what, detail)
        return nil
      }
      defer { group.cancelAll() }
      while let finished = try await group.next() {
        if let answer = finished { return answer }
      }
      throw CancellationError()
    }
  }

  private static func tell(_ what: String, _ detail: @Sendable () async -> String?) async throws {
    let start = ContinuousClock.now
    try await Task.sleep(for: first)
    while true {
      let more = await detail().map { ": \($0)" } ?? ""
      let seconds = (ContinuousClock.now - start).components.seconds
      try Task.checkCancellation()
      Output.note("\(what), \(seconds) s\(more)")
      try await Task.sleep(for: interval)
    }
  }

  /// Returns the progress of work on many rows.
  static func text(_ work: WorkReport) -> String {
    let table = work.table ?? ""
    let what =
      switch work.task {
      case .takeIn: "taking in the rows of \(table)"
      case .compare: "comparing the rows of \(table) with the merged rows"
      case .recall: "reading the values of \(table) from the log, change sets"
      case .show: "filling tables and columns with merged values, records"
      }
    let share = work.total == 0 ? 100 : work.done * 100 / work.total
    return "\(share) % (\(what): \(work.done) of \(work.total))"
  }

  /// Returns how far this machine is with its own tables, for `during`.
  static func filling(_ node: any NodeControl) async -> String? {
    guard let status = try? await node.perform(StatusRequest()) else { return nil }
    let behind = status.peers.filter { $0.connected && $0.behind.here > 0 }
    let names = behind.map { printable($0.name ?? $0.device ?? "?") }.joined(separator: ", ")
    let here = behind.reduce(0) { $0 + $1.behind.here }
    let what = names.isEmpty ? "nothing to receive" : "\(here) to receive from \(names)"
    return (status.work.map(text) + [what]).joined(separator: ", ")
  }

  /// Returns what the daemon has yet to receive and to send, for `during`.
  static func behind(_ node: any NodeControl) async -> String? {
    guard let status = try? await node.perform(StatusRequest()) else { return nil }
    let connected = status.peers.filter(\.connected)
    guard !connected.isEmpty else {
      let errors = status.peers.compactMap { peer in
        peer.lastError.map { "\(printable(peer.name ?? peer.address ?? "?")): \(printable($0))" }
      }
      return (["no device is connected yet"] + errors).joined(separator: "; ")
    }
    let here = connected.reduce(0) { $0 + $1.behind.here }
    let there = connected.reduce(0) { $0 + $1.behind.there }
    var text = "\(status.pending.counted("row", "rows")) pending, \(here) to receive, \(there) to send, "
    for (assets, end) in [
      (status.assets.coming, "to fetch"),
      (connected.reduce(into: LackingAssets()) { $0 += $1.assets ?? LackingAssets() }.coming, "others fetch"),
    ] where assets.assets > 0 {
      text += "\(Output.blobs(assets)) \(end), "
    }
    return text + "\(connected.count.counted("device", "devices")) connected"
  }
}
