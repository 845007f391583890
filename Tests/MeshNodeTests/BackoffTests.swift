import Testing

@testable import MeshNode

/// Nodes that failed together must not return together, nor often.
@Suite struct BackoffTests {
  @Test("the delay between attempts doubles up to a maximum and varies randomly", arguments: [Backoff.dial, .work])
  func waitsDoubleUpToALastAndAreSpread(backoff: Backoff) {
    var expected = backoff.first
    for failures in 1...40 {
      let waits = (0..<200).map { _ in backoff.delay(after: failures) }
      #expect(waits.allSatisfy { $0 >= expected * 0.5 && $0 <= expected * 1.5 })
      let spread = (waits.max() ?? .zero) - (waits.min() ?? .zero)
      #expect(spread > expected * 0.5, "after \(failures) failures all wait about as long")
      expected = min(expected * 2, backoff.last)
    }
    #expect(expected == backoff.last)
  }

  @Test("the delay has a lower and an upper bound for any count of failures")
  func theFirstFailureIsTheShortestWaitAndNoneIsZero() {
    for failures in [-1, 0, 1] { #expect(Backoff.dial.delay(after: failures) >= Backoff.dial.first * 0.5) }
    #expect(Backoff.dial.delay(after: .max) <= Backoff.dial.last * 1.5)
  }
}
