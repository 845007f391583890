/// Decides when writes of programs are flushed. After a lone commit, that is immediately. In a burst of commits, the
/// flush waits for a pause or for a bound, so that programs without a busy timeout rarely meet the node's write lock.
struct FlushPacing {
  /// Two commits within this time belong to a burst. A loop that starts a process for each insert takes less. A person,
  /// or a program that waits for something, takes more.
  static let burst = Duration.milliseconds(10)
  /// The time without a commit after which a burst is over.
  static let pause = Duration.milliseconds(12)
  /// The longest wait of the first commit of a burst.
  static let bound = Duration.milliseconds(75)

  private var last: ContinuousClock.Instant?
  /// The time at which the oldest unflushed commit was noticed.
  private var waitingSince: ContinuousClock.Instant?

  /// Notes a look at the database, and decides whether to flush.
  ///
  /// - Parameters:
  ///   - isChanged: True if another program has committed since the last check.
  ///   - now: The current time.
  /// - Returns: True if the pending rows are to be flushed now. In a burst, this is right after a commit if possible,
  ///   because the next commit is then furthest away.
  mutating func look(isChanged: Bool, at now: ContinuousClock.Instant) -> Bool {
    let quiet = last.map { now - $0 } ?? .seconds(1)
    if isChanged { last = now }
    guard let since = waitingSince ?? (isChanged ? now : nil) else { return false }
    let isDue = isChanged ? quiet >= Self.burst || now - since >= Self.bound : quiet >= Self.pause
    waitingSince = isDue ? nil : since
    return isDue
  }
}
