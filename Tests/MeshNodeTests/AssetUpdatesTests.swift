import MeshControl
import Testing

/// The updates about awaited assets, as a sequence.
@Suite struct AssetUpdatesTests {
  /// A clock that doesn't sleep.
  private struct Instant: Clock {
    var now: ContinuousClock.Instant { ContinuousClock().now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  @Test("asset updates yield an unchanged report once and end when the task is cancelled")
  func aReportComesOnceAndTheSequenceEndsWithItsTask() async throws {
    try await withThrowingTaskGroup(of: Int.self) { group in
      let updates = StubNode().assetUpdates(clock: Instant())
      let (started, starter) = AsyncStream<Void>.makeStream()
      group.addTask {
        var count = 0
        do {
          for try await report in updates {
            let expected = try StubNode.answer(to: AssetsRequest.self)
            #expect(report == expected)
            count += 1
            starter.finish()
          }
        } catch is CancellationError {}
        return count
      }
      for await _ in started {}
      for _ in 0..<100 { await Task.yield() }
      group.cancelAll()
      let count = try await group.next()
      #expect(count == 1)
    }
  }
}
