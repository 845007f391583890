/// Works whenever it is woken, for as long as there is something to do; what failed is tried again later, longer each time, woken
/// or not: nobody says when a disk has room again.
struct WorkLoop {
  /// After `slice`, one of many that nobody waits for, programs that wait for the write lock have their turn.
  enum Step { case done, more, slice, failed }

  /// SQLite tells no waiting program that the lock is free: it looks again after 1 to 100 ms, oftenest after 25.
  static let turn = Duration.milliseconds(25)

  let backoff: Backoff

  /// Until no more wake-ups can come, or the task is cancelled.
  ///
  /// - Parameter sleep: Until the next try.
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
