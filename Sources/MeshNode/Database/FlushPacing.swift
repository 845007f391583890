/// Decides when the node writes beside programs that write. After a lone commit, it flushes immediately. In a burst of
/// commits, the flush waits for a pause or for a bound, so that programs without a busy timeout rarely meet the node's
/// write lock. Merges wait for that flush: each one flushes what is pending, and if programs on two machines wrote in
/// loops, each machine's merge would make the other one merge.
struct FlushPacing {
  /// Two commits within this time belong to a burst. A loop that starts a process for each insert takes less. A person,
  /// or a program that waits for something, takes more.
  static let burst = Duration.milliseconds(10)
  /// The time without a commit after which a burst is over.
  static let pause = Duration.milliseconds(12)
  /// The longest wait of the first commit of a burst. Messages and merges wait twice as long at most.
  static let bound = Duration.milliseconds(75)
  /// The time without a commit after which a loop is over. On a busy machine, the commits of a loop come as slowly as
  /// those of a person who hurries, but many in a row.
  static let beat = Duration.milliseconds(20)
  /// The time after a commit of a loop in which its program isn't about to commit again.
  static let gap = Duration.milliseconds(4)
  /// The commits within a beat that make a loop. A slower one counts against several quick ones, because programs that
  /// pause at random are quick now and then.
  private static let loop = (least: 8, most: 16, slow: 4)

  private var last: ContinuousClock.Instant?
  /// The commits within a beat, less those that came later.
  private var quick = 0
  /// The time at which the oldest unflushed commit was noticed.
  private var waitingSince: ContinuousClock.Instant?
  /// The time at which the last flush was due.
  private var lastDue: ContinuousClock.Instant?
  /// The time since which a message or merge waits.
  private var heldSince: ContinuousClock.Instant?

  private var isLoop: Bool { quick >= Self.loop.least }

  /// Notes a look at the database, and decides whether to flush.
  ///
  /// - Parameters:
  ///   - isChanged: True if another program has committed since the last check.
  ///   - now: The current time.
  /// - Returns: True if the pending rows are to be flushed now. In a burst, this is right after a commit if possible,
  ///   because the next commit is then furthest away.
  mutating func look(isChanged: Bool, at now: ContinuousClock.Instant) -> Bool {
    let quiet = last.map { now - $0 } ?? .seconds(1)
    if isChanged {
      last = now
      quick = quiet < Self.beat ? min(quick + 1, Self.loop.most) : max(quick - Self.loop.slow, 0)
    }
    guard let since = waitingSince ?? (isChanged ? now : nil) else { return false }
    let isDue =
      isChanged
      ? quiet >= (isLoop ? Self.beat : Self.burst) || now - since >= Self.bound
      : quiet >= (isLoop ? Self.beat : Self.pause)
    waitingSince = isDue ? nil : since
    if isDue { lastDue = now }
    return isDue
  }

  /// Notes that the node is about to write something else than a flush. While a program commits in a loop, such writes
  /// begin right after a flush was due.
  ///
  /// - Returns: True if they have to wait.
  mutating func hold(at now: ContinuousClock.Instant) -> Bool {
    let since = heldSince ?? now
    let isOver = last.map { now - $0 >= Self.beat } ?? true
    let isDue = lastDue.map { now - $0 < Self.gap } ?? false
    heldSince = isLoop && !isOver && !isDue && now - since < Self.bound * 2 ? since : nil
    return heldSince != nil
  }
}
