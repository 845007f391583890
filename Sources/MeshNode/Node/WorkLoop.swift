/// Works whenever it is woken, for as long as there is something to do; what failed is tried again later, longer each time, woken
/// or not: nobody says when a disk has room again.
struct WorkLoop {
  enum Step { case done, more, failed }

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
          await Task.yield()
        }
        next = await step()
      }
      if Task.isCancelled { return }
    }
  }
}
