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
  /// The number of short sessions in a row after which the pause grows: a peer that ends each session at once is not
  /// dialled all the time.
  private static let shortSessions = 10
  private var count = 0
  private var short = 0

  /// The pause before the next attempt.
  var pause: Duration { Backoff.dial.delay(after: count) }

  /// Notes an attempt.
  ///
  /// - Parameter duration: The time from the attempt's beginning to the end of its session.
  mutating func note(_ outcome: Outcome, after duration: Duration) {
    let isGood = outcome != .failed && duration > Self.goodSession
    short = outcome == .lost && !isGood ? short + 1 : isGood ? 0 : short
    count = isGood || outcome == .lost && short <= Self.shortSessions ? 1 : count + 1
  }
}
