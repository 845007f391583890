import Testing

@testable import MeshNode

@Suite struct FailedDialsTests {
  private let shortest = Backoff.dial.first * 0.5...Backoff.dial.first * 1.5

  @Test("the pause is the shortest after ten short sessions in a row, whatever came before, and grows after more")
  func lost() {
    var failures = FailedDials()
    for _ in 0..<20 { failures.note(.failed, after: .zero) }
    #expect(failures.pause > shortest.upperBound)
    for _ in 0..<10 {
      failures.note(.lost, after: .milliseconds(1))
      #expect(shortest.contains(failures.pause))
    }
    for _ in 0..<20 { failures.note(.lost, after: .milliseconds(1)) }
    #expect(failures.pause >= Backoff.dial.last * 0.5)
    failures.note(.lost, after: .seconds(60))
    #expect(shortest.contains(failures.pause))
    failures.note(.failed, after: .zero)
    failures.note(.failed, after: .zero)
    #expect(failures.pause >= Backoff.dial.first * 2)
  }

  @Test("the pause grows while attempts fail, however long each takes")
  func failed() {
    var failures = FailedDials()
    for _ in 0..<20 { failures.note(.failed, after: .seconds(60)) }
    #expect(failures.pause >= Backoff.dial.last * 0.5)
  }

  @Test("the pause grows while sessions are refused, unless they last")
  func refused() {
    var failures = FailedDials()
    for _ in 0..<20 { failures.note(.refused, after: .seconds(1)) }
    #expect(failures.pause >= Backoff.dial.last * 0.5)
    failures.note(.refused, after: .seconds(60))
    #expect(shortest.contains(failures.pause))
  }
}
