/// The moments at which the loops of an idle node look for what no event tells them. All of them look at the same
/// moments, so the node wakes once for all.
enum Beat {
  static let interval = Duration.milliseconds(500)
  private static let start = ContinuousClock.now

  /// Waits for the next beat.
  static func wait() async {
    let count = ((ContinuousClock.now - start) / interval).rounded(.down) + 1
    try? await Task.sleep(until: start + interval * count, clock: .continuous)
  }
}
