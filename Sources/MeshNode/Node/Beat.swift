/// The moments at which the loops of an idle node look for what no event tells them. All of them look at the same
/// moments, so the node wakes once for all.
enum Beat {
  static let interval = Duration.milliseconds(500)
  private static let start = ContinuousClock.now

  /// Waits for the next beat.
  ///
  /// - Parameter period: The number of beats from one to the next at which the loop looks. A loop that hears of nearly
  ///   all changes by events needs only every second one.
  static func wait(period: Int = 1) async {
    let pause = interval * period
    let count = ((ContinuousClock.now - start) / pause).rounded(.down) + 1
    try? await Task.sleep(until: start + pause * count, clock: .continuous)
  }
}
