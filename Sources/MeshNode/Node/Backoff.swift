/// Waits between tries: doubling from a first to a last, each somewhere between half and one and a half of its length, so that
/// nodes which failed together do not come back together.
struct Backoff: Sendable {
  let first: Duration
  let last: Duration

  /// A database that is locked, a disk that is full.
  static let work = Backoff(first: .milliseconds(50), last: .seconds(5))
  /// An address that does not answer, or a session that ended.
  static let dial = Backoff(first: .milliseconds(200), last: .seconds(30))

  /// After so many failures in a row, from 1.
  func delay(after failures: Int) -> Duration {
    let doubled = first * (1 << min(max(failures - 1, 0), 16))
    return min(doubled, last) * Double.random(in: 0.5...1.5)
  }
}
