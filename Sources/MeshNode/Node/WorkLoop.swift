/// Works whenever it is woken, as long as there is something to do. A failed step is tried again after growing waits,
/// even without a wake-up, because no event says that a disk has room again.
struct WorkLoop {
  /// The outcome of a step. After `slice`, one of many that no user waits for, programs that wait for the write lock
  /// have their turn.
  enum Step { case done, more, slice, failed }

  /// The pause for waiting programs. SQLite doesn't tell a waiting program that the lock is free. The program checks
  /// again after 1 to 100 ms, most often after 25 ms.
  static let turn = Duration.milliseconds(25)

  let backoff: Backoff

  /// Runs until no more wake-ups can come, or until the task is cancelled.
  ///
  /// - Parameter sleep: Waits until the next attempt.
  func run(
    _ wakeups: AsyncStream<Void>, sleep: (Duration) async -> Void = { try? await Task.sleep(for: $0) },
    step: () async -> Step
  ) async {
    for await _ in wakeups {
      var failures = 0
      var next = await step()
      while next != .done, !Task.isCancelled {
        if next == .failed {
          failures += 1
          await sleep(backoff.delay(after: failures))
          if Task.isCancelled { return }
        } else {
          failures = 0
          if next == .slice { await sleep(Self.turn) } else { await Task.yield() }
        }
        next = await step()
      }
      if Task.isCancelled { return }
    }
  }
}
