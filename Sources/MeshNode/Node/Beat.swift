/// The moments at which the loops of an idle node look for what no event tells them. All of them look at the same
/// moments, so the node wakes once for all.
enum Beat {
  static let interval = Duration.milliseconds(500)
  private static let start = ContinuousClock.now

  /// Waits for the next beat.
  static func wait() async { await wait(interval) }

  /// Waits for the next second beat, which is the same for all. Only the guard of the write-ahead log needs each beat.
  /// The other loops hear of nearly all changes by events.
  static func waitForSecond() async { await wait(interval * 2) }

  private static func wait(_ interval: Duration) async {
    let count = ((ContinuousClock.now - start) / interval).rounded(.down) + 1
    try? await Task.sleep(until: start + interval * count, clock: .continuous)
  }
}
