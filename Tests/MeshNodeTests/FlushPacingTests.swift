import Testing

@testable import MeshNode

/// The time at which writes of programs are flushed.
@Suite struct FlushPacingTests {
  /// Returns the times of the flushes, for commits that are noticed at these milliseconds. The database is checked
  /// every millisecond up to `end`.
  private func flushes(commitsAt commits: [Int], through end: Int) -> [Int] {
    var pacing = FlushPacing()
    let start = ContinuousClock.now
    return (0...end).filter { pacing.look(isChanged: commits.contains($0), at: start + .milliseconds($0)) }
  }

  @Test("a lone commit is flushed at once")
  func loneCommit() {
    #expect(flushes(commitsAt: [0], through: 100) == [0])
    #expect(flushes(commitsAt: [0, 20, 45], through: 100) == [0, 20, 45])
  }

  @Test("a burst is flushed at its bound, right after a commit, and in the pause that follows")
  func burst() {
    let loop = stride(from: 0, through: 200, by: 5).map { $0 }
    let flushes = flushes(commitsAt: loop, through: 300)
    #expect(flushes.first == 0 && flushes.last == 212)
    for (flush, next) in zip(flushes.dropFirst(), flushes.dropFirst(2)) { #expect(next - flush <= 85) }
    #expect(flushes.dropLast().allSatisfy(loop.contains))
    #expect(flushes.count == 4)
  }
}
