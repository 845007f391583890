import Testing

@testable import MeshNode

@Suite struct ArrivalsTests {
  private let start = ContinuousClock.now
  private let almost = Arrivals.patience - .milliseconds(1)

  @Test("a device that sends something is waited for, and no longer than the patience after that")
  func waitsWhileSomethingArrives() {
    var arrivals = Arrivals()
    var now = start
    for count: UInt64 in [0, 1, 9] {
      let isQuiet = [now, now + almost].map { arrivals.look("a", count: count, now: $0) }
      #expect(isQuiet == [false, false])
      now = now + almost
    }
    let isQuiet = arrivals.look("a", count: 9, now: now + .milliseconds(1))
    #expect(isQuiet)
  }

  @Test("neither another device nor a new session makes a silent device one that sends")
  func othersDontCount() {
    var arrivals = Arrivals()
    _ = arrivals.look("silent", count: 2, now: start)
    _ = arrivals.look("other", count: 2, now: start)
    let isOtherQuiet = arrivals.look("other", count: 3, now: start + almost)
    let isQuiet = [0, 2].map { arrivals.look("silent", count: $0, now: start + Arrivals.patience) }
    #expect(!isOtherQuiet && isQuiet == [true, true])
  }
}
