/// The bytes per second, over the last seconds.
struct TransferRate: Sendable {
  /// The number of seconds that are counted: long enough for the chunks of a slow connection.
  private static let span: Int64 = 8

  private var bytes: [Int64: Int] = [:]

  mutating func add(_ count: Int, now: Int64) {
    let second = now / 1_000
    bytes = bytes.filter { $0.key > second - Self.span }
    bytes[second, default: 0] += count
  }

  /// Returns the bytes per second.
  ///
  /// - Parameter now: The time on the steady clock, in milliseconds.
  func perSecond(now: Int64) -> Int {
    let second = now / 1_000
    let recent = bytes.filter { $0.key > second - Self.span }
    guard let first = recent.keys.min() else { return 0 }
    // The current second counts as far as it has passed.
    return recent.values.reduce(0, +) * 1_000 / max(1_000, Int(now - first * 1_000))
  }
}
