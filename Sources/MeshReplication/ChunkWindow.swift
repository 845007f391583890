/// How many chunks one peer is asked for at once. What waits on the line and in the two nodes, rows wait behind: so it grows only while
/// answers take hardly longer than the fastest of late, which had nothing before it.
struct ChunkWindow: Sendable {
  /// 2 MiB keep a fast line busy, and a long one.
  static let widest = 8
  /// What an answer may take beyond the fastest, in milliseconds; on a long line, where times differ by more, a quarter of that.
  static let delay: Int64 = 4
  /// The fastest answer is looked for anew after so many milliseconds: the line may be another.
  static let memory: Int64 = 60_000

  private(set) var size = 1
  private var fastest = Int64.max
  /// Since when the fastest is looked for.
  private var began: Int64?

  /// - Parameters:
  ///   - asked: When the chunk was asked for, in steady milliseconds.
  ///   - now: When it came.
  mutating func answered(asked: Int64, now: Int64) {
    if began.map({ now - $0 > Self.memory }) ?? true { (began, fastest, size) = (now, .max, 1) }
    // It had others before it in the line, as many as the window was wide.
    guard let began, asked >= began else { return }
    let time = now - asked
    fastest = min(fastest, time)
    let isDelayed = time - fastest > max(Self.delay, fastest / 4)
    size = isDelayed ? max(1, size - 1) : min(Self.widest, size + 1)
  }
}
