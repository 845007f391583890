/// What goes wrong with a node of its own (disk full, database locked …), as long as it is worth telling.
struct Faults {
  /// The last of the work; nil once work goes on.
  private var ofWork: String?
  /// The last for which a session was ended, and the transactions that were committed before it.
  private var ofLink: (text: String, at: ContinuousClock.Instant, commits: Int)?

  /// A link's fault is over once something was committed after it: that other work succeeds says nothing, since most of it writes
  /// nothing. Where nothing is written at all it is shown for longer than a peer takes to come again.
  static let shown = Duration.seconds(60)

  mutating func workFailed(_ text: String) { ofWork = text }

  mutating func workSucceeded() { ofWork = nil }

  mutating func linkFailed(_ text: String, at time: ContinuousClock.Instant, commits: Int) {
    ofLink = (text, time, commits)
  }

  /// - Parameter commits: Transactions that were committed until now.
  func shown(at time: ContinuousClock.Instant, commits: Int) -> String? {
    if let ofWork { return ofWork }
    guard let ofLink, ofLink.commits == commits, time - ofLink.at < Self.shown else { return nil }
    return ofLink.text
  }
}
