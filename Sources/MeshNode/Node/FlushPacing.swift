/// When what programs wrote is flushed: at once after a lone commit. In a burst of commits it waits for a pause or for a bound, so
/// that programs without a busy timeout meet the node's write lock rarely.
struct FlushPacing {
  /// Two commits that are noticed within it belong to a burst. A loop that starts a process for each insert takes less; a person,
  /// or a program that waits for something, takes more.
  static let burst = Duration.milliseconds(10)
  /// Without a commit for so long, a burst is over.
  static let pause = Duration.milliseconds(12)
  /// What a burst began with waits no longer.
  static let bound = Duration.milliseconds(75)

  private var last: ContinuousClock.Instant?
  /// When the oldest commit that is not flushed was noticed.
  private var waitingSince: ContinuousClock.Instant?

  /// To be called at each look at the database.
  ///
  /// - Parameter isChanged: Another program has committed since the last look.
  /// - Returns: True if what is pending is to be flushed now. In a burst that is right after a commit, if it can be: the next one
  ///   is furthest away then.
  mutating func isDue(isChanged: Bool, at now: ContinuousClock.Instant) -> Bool {
    let quiet = last.map { now - $0 } ?? .seconds(1)
    if isChanged { last = now }
    guard let since = waitingSince ?? (isChanged ? now : nil) else { return false }
    let isDue = isChanged ? quiet >= Self.burst || now - since >= Self.bound : quiet >= Self.pause
    waitingSince = isDue ? nil : since
    return isDue
  }
}
