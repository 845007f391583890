/// The waits between attempts. They double from `first` to `last`. Each is randomly between half and one and a half of
/// its length, so that nodes that failed together don't return together.
struct Backoff: Sendable {
  let first: Duration
  let last: Duration

  /// The waits for a locked database or a full disk.
  static let work = Backoff(first: .milliseconds(50), last: .seconds(5))
  /// The waits for an address that doesn't answer, or after a session that ended.
  static let dial = Backoff(first: .milliseconds(200), last: .seconds(30))

  /// Returns the wait after a number of failures in a row, from 1.
  func delay(after failures: Int) -> Duration {
    let doubled = first * (1 << min(max(failures - 1, 0), 16))
    return min(doubled, last) * Double.random(in: 0.5...1.5)
  }
}
