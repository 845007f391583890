import Testing

@testable import MeshNode

@Suite struct SteadyCommitsTests {
  @Test("programs commit without a pause if no look for 3 seconds finds half a second without a commit")
  func steady() {
    var commits = SteadyCommits()
    let start = ContinuousClock.now
    var version = 1
    func look(_ milliseconds: Int) -> Bool { commits.look(version, now: start + .milliseconds(milliseconds)) }
    for time in stride(from: 0, through: 3_000, by: 100) {
      version += 1
      #expect(!look(time))
    }
    version += 1
    #expect(look(3_150))
    #expect(!look(3_700))
    version += 1
    #expect(!look(3_800))
  }
}
