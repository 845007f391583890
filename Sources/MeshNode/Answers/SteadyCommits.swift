/// Tells whether programs commit without a pause, so that a command doesn't wait for work that comes after their rows.
struct SteadyCommits {
  /// The time without a commit that is a pause.
  private static let pause = Duration.milliseconds(500)

  private var version: Int?
  private var last: ContinuousClock.Instant?
  private var since: ContinuousClock.Instant?

  /// Notes the version of the data at this look.
  ///
  /// - Returns: True if programs have committed without a pause for as long as a command waits for a silent device.
  mutating func look(_ version: Int, now: ContinuousClock.Instant) -> Bool {
    if let known = self.version, known != version { (last, since) = (now, since ?? now) }
    self.version = version
    if let last, now - last > Self.pause { since = nil }
    return since.map { now - $0 >= Arrivals.patience } ?? false
  }
}
