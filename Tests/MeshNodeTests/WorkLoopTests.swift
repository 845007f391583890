import Testing

@testable import MeshNode

/// A failed step is tried again, even if no event announces that it would now succeed.
@Suite struct WorkLoopTests {
  private actor Script {
    private var steps: [WorkLoop.Outcome]
    private(set) var waits: [Duration] = []

    init(_ steps: [WorkLoop.Outcome]) { self.steps = steps }

    var isOver: Bool { steps.isEmpty }
    func next() -> WorkLoop.Outcome { steps.isEmpty ? .done : steps.removeFirst() }
    func wait(_ duration: Duration) { waits.append(duration) }
  }

  /// Runs the loop with one wake-up only.
  ///
  /// - Parameter time: The time that each step takes.
  private func run(_ steps: [WorkLoop.Outcome], taking time: Duration = .zero) async -> Script {
    let script = Script(steps)
    let (wakeups, waker) = AsyncStream.makeStream(of: Void.self)
    waker.yield()
    waker.finish()
    await WorkLoop(backoff: .work).run(
      wakeups, sleep: { await script.wait($0) }, step: { (await script.next(), time) })
    return script
  }

  @Test("work goes on while there is more, at once") func workGoesOnWhileThereIsMoreAtOnce() async {
    let script = await run([.more, .more, .done])
    let waits = await script.waits
    #expect(await script.isOver)
    #expect(waits.isEmpty)
  }

  @Test("between slices of long work others have their turn") func betweenSlicesOfLongWorkOthersHaveTheirTurn() async {
    let script = await run([.slice, .more, .slice, .done])
    #expect(await script.isOver)
    #expect(await script.waits == [WorkLoop.turn, WorkLoop.turn])
  }

  @Test("after a long step, the pause is longer than the sleep of a program that has waited for it")
  func pausesAfterLongSteps() async {
    // SQLite's own busy handler sleeps for these times, one after the other, and then for the last again and again.
    let sleeps = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100, 100, 100, 100, 100]
    for time in [129, 178, 229, 600] {
      var waited = 0
      let sleep = sleeps.first { sleep in
        waited += sleep
        return waited >= time
      }
      let script = await run([.more, .done], taking: .milliseconds(time))
      let waits = await script.waits
      #expect(waits.count == 1 && waits[0] > .milliseconds(sleep ?? 0), "\(time) ms")
    }
    let waits = await run([.more, .slice, .done], taking: .milliseconds(128)).waits
    #expect(waits == [WorkLoop.turn])
  }

  @Test("after failures it is tried again, later each time, until it goes")
  func afterFailuresItIsTriedAgainLaterEachTimeUntilItGoes() async {
    let script = await run([.failed, .failed, .failed, .failed, .more, .done])
    let waits = await script.waits
    #expect(await script.isOver)
    #expect(waits.count == 4)
    for (failures, wait) in waits.enumerated() {
      let expected = Backoff.work.first * (1 << failures)
      #expect(wait >= expected * 0.5 && wait <= expected * 1.5)
    }
  }

  @Test("a success in between makes the next wait short") func aSuccessInBetweenMakesTheNextWaitShort() async {
    let script = await run([.failed, .failed, .failed, .more, .failed, .done])
    let waits = await script.waits
    #expect(waits.count == 4 && (waits.last ?? .seconds(9)) <= Backoff.work.first * 1.5)
  }
}
