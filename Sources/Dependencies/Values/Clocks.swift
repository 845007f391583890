private enum ContinuousClockKey: DependencyKey {
  static var liveValue: any Clock<Duration> { ContinuousClock() }
  static var testValue: any Clock<Duration> { UnsetClock() }
}

extension DependencyValues {
  /// The clock that measures and sleeps, also while the machine is suspended.
  ///
  /// ```swift
  /// @Dependency(\.continuousClock) var clock
  /// try await clock.sleep(for: .seconds(1))
  /// ```
  public var continuousClock: any Clock<Duration> {
    get { self[ContinuousClockKey.self] }
    set { self[ContinuousClockKey.self] = newValue }
  }
}

/// The clock of a test that doesn't set one: it reports an issue each time it is used.
private struct UnsetClock: Clock {
  private let clock = ContinuousClock()

  var now: ContinuousClock.Instant {
    report()
    return clock.now
  }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    report()
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }

  private func report() {
    DependencyValues.reportUnset(ContinuousClockKey.self, (any Clock<Duration>).self, in: .test)
  }
}
