/// Counts the attempts at an address that failed in a row. The pause before the next attempt grows with them.
struct FailedDials {
  /// The outcome of an attempt.
  enum Outcome {
    /// No session was opened.
    case failed
    /// A side ended the session for a reason that may hold at the next attempt too.
    case refused
    /// A session was open. Then the peer stopped, the network failed, or a database was replaced.
    case lost
  }

  /// The duration after which a session was good, however it ended.
  private static let goodSession = Duration.seconds(10)
  private var count = 0

  /// The pause before the next attempt.
  var pause: Duration { Backoff.dial.delay(after: count) }

  /// Notes an attempt.
  ///
  /// - Parameter duration: The time from the attempt's beginning to the end of its session.
  mutating func note(_ outcome: Outcome, after duration: Duration) {
    let isGood = outcome == .lost || outcome == .refused && duration > Self.goodSession
    count = isGood ? 1 : count + 1
  }
}
