/// The number of chunks that are requested from one peer at once.
///
/// Rows wait behind all chunks that wait in the connection and in the two nodes. The window therefore grows only while
/// answers take hardly longer than the fastest recent answer, which had nothing in front of it.
struct ChunkWindow: Sendable {
  /// 2 MiB, which keep a fast connection busy, and one with a long round trip too.
  static let widest = 8
  /// The milliseconds by which an answer may be slower than the fastest. On a connection with a long round trip, where
  /// times vary more, the limit is a quarter of the fastest time.
  static let delay: Int64 = 4
  /// After this time in milliseconds, the fastest answer is measured again, because the connection may have changed.
  static let memory: Int64 = 60_000

  private(set) var size = 1
  private var fastest = Int64.max
  /// The time at which the current measurement of the fastest answer began.
  private var began: Int64?

  /// Adjusts the window to an answer.
  ///
  /// - Parameters:
  ///   - asked: The time of the request, in steady milliseconds.
  ///   - now: The time of the answer, in steady milliseconds.
  mutating func answered(asked: Int64, now: Int64) {
    if began.map({ now - $0 > Self.memory }) ?? true { (began, fastest, size) = (now, .max, 1) }
    // An earlier answer had others before it on the connection, as many as the window was wide.
    guard let began, asked >= began else { return }
    let time = now - asked
    fastest = min(fastest, time)
    let isDelayed = time - fastest > max(Self.delay, fastest / 4)
    size = isDelayed ? max(1, size - 1) : min(Self.widest, size + 1)
  }
}
