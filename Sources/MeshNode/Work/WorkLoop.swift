/// Works whenever it is woken, as long as there is something to do. A failed step is tried again after growing waits,
/// even without a wake-up, because no event says that a disk has room again.
struct WorkLoop {
  /// The outcome of a step. After `slice`, one of many that no user waits for, programs that wait for the write lock
  /// have their turn. A `held` step did nothing, because a program is about to write.
  enum Outcome { case done, more, slice, held, failed }

  /// The pause for waiting programs. SQLite doesn't tell a waiting program that the lock is free. The program checks
  /// again after 1 to 100 ms, most often after 25 ms.
  static let turn = Duration.milliseconds(25)

  /// Returns the pause after a step that took this long, or nil if there is none. A program that has waited longer
  /// checks less often: SQLite lets it sleep for 50 ms after the first 128 ms, and for 100 ms after 228 ms. A pause that
  /// is shorter than this sleep would let it wait for several steps.
  static func pause(after time: Duration, isSlice: Bool) -> Duration? {
    if time > .milliseconds(228) { return .milliseconds(110) }
    if time > .milliseconds(128) { return .milliseconds(55) }
    return isSlice ? turn : nil
  }

  let backoff: Backoff

  /// Runs until no more wake-ups can come, or until the task is cancelled.
  ///
  /// - Parameters:
  ///   - sleep: Waits until the next attempt.
  ///   - step: Does a step. Returns its outcome and how long it took, without the time in which it waited for its turn:
  ///     while the node handles messages, no program waits for this loop.
  func run(
    _ wakeups: AsyncStream<Void>, sleep: (Duration) async -> Void = { try? await Task.sleep(for: $0) },
    step: () async -> (outcome: Outcome, took: Duration)
  ) async {
    for await _ in wakeups {
      var failures = 0
      var next = await step()
      while next.outcome != .done, !Task.isCancelled {
        if next.outcome == .failed {
          failures += 1
          await sleep(backoff.delay(after: failures))
          if Task.isCancelled { return }
        } else if next.outcome == .held {
          await sleep(ReplicaDriver.lockLook)
        } else {
          failures = 0
          if let pause = Self.pause(after: next.took, isSlice: next.outcome == .slice) {
            await sleep(pause)
          } else {
            await Task.yield()
          }
        }
        next = await step()
      }
      if Task.isCancelled { return }
    }
  }
}
