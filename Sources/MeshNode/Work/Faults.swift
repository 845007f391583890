/// The faults of the node itself (a full disk, a locked database …), as long as they are worth showing.
struct Faults {
  /// The last fault of the work, or nil once the work continues.
  private var ofWork: String?
  /// The last fault that ended a session, with its time and the number of transactions committed before it.
  private var ofLink: (text: String, at: ContinuousClock.Instant, commits: Int)?

  /// The time for which a session's fault is shown if nothing is committed. A later commit ends the fault. Other
  /// successful work proves nothing, because most of it writes nothing. The time is longer than a peer takes to return.
  static let shown = Duration.seconds(60)

  mutating func workFailed(_ text: String) { ofWork = text }

  mutating func workSucceeded() { ofWork = nil }

  mutating func linkFailed(_ text: String, at time: ContinuousClock.Instant, commits: Int) {
    ofLink = (text, time, commits)
  }

  /// Returns the fault to show, or nil if there is none.
  ///
  /// - Parameter commits: The number of transactions committed until now.
  func shown(at time: ContinuousClock.Instant, commits: Int) -> String? {
    if let ofWork { return ofWork }
    guard let ofLink, ofLink.commits == commits, time - ofLink.at < Self.shown else { return nil }
    return ofLink.text
  }
}
