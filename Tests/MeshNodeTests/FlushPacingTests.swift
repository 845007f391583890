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
    #expect(flushes.first == 0 && flushes.last == 220)
    for (flush, next) in zip(flushes.dropFirst(), flushes.dropFirst(2)) { #expect(next - flush <= 85) }
    #expect(flushes.dropLast().allSatisfy(loop.contains))
    #expect(flushes.count == 4)
  }

  /// Returns the times at which other writes of the node may begin.
  private func openings(commitsAt commits: [Int], from begin: Int = 0, through end: Int) -> [Int] {
    var pacing = FlushPacing()
    let start = ContinuousClock.now
    return (0...end).filter { time in
      let now = start + .milliseconds(time)
      _ = pacing.look(isChanged: commits.contains(time), at: now)
      return time >= begin && !pacing.hold(at: now)
    }
  }

  @Test("commits of a loop on a busy machine are a burst, although some come late")
  func slowLoop() {
    var commits = [0]
    while let last = commits.last, last < 1_000 { commits.append(last + (commits.count % 7 == 0 ? 30 : 14)) }
    let late = flushes(commitsAt: commits, through: 1_000).filter { $0 > 300 }
    #expect(late.count <= 14)
  }

  @Test("commits at random intervals of 10 to 30 ms are flushed at once, nearly always")
  func restedCommits() {
    var (commits, state) = ([0], UInt64(1))
    while let last = commits.last, last < 20_000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      commits.append(last + 12 + Int(state >> 33) % 20)
    }
    let flushed = Set(flushes(commitsAt: commits, through: 20_000))
    #expect(commits.filter { !flushed.contains($0) }.count * 200 <= commits.count)
  }

  @Test("messages and merges don't wait after lone commits")
  func othersAfterLoneCommits() {
    #expect(openings(commitsAt: [10, 45, 80], through: 100) == Array(0...100))
  }

  @Test("messages and merges begin with the flushes of a loop, and when it has ended")
  func othersInLoop() {
    let loop = stride(from: 0, through: 500, by: 10).map { $0 }
    let flushed = flushes(commitsAt: loop, through: 600)
    let open = openings(commitsAt: loop, from: 150, through: 600)
    for time in open where time < 520 { #expect(flushed.contains { (0..<4).contains(time - $0) }) }
    #expect(flushed.filter { $0 >= 150 }.allSatisfy(open.contains) && Set(520...600).isSubset(of: open))
    // A commit begins the wait, and another one ends it.
    for (last, next) in zip(open, open.dropFirst()) { #expect(next - last <= 75 + 2 * 10) }
  }

  @Test("messages and merges don't wait forever if they miss the flushes of a loop")
  func othersAtBound() {
    let loop = stride(from: 0, through: 1_000, by: 5).map { $0 }
    let flushed = flushes(commitsAt: loop, through: 1_000)
    var pacing = FlushPacing()
    let start = ContinuousClock.now
    let open = (0...1_000).filter { time in
      let now = start + .milliseconds(time)
      _ = pacing.look(isChanged: loop.contains(time), at: now)
      let isRight = flushed.contains { (0..<4).contains(time - $0) }
      return !isRight && !pacing.hold(at: now)
    }
    // The times of a flush, which are left out, come on top.
    for (last, next) in zip(open, open.dropFirst()) { #expect(next - last <= 150 + 5) }
    #expect(open.last ?? 0 > 800)
  }
}
