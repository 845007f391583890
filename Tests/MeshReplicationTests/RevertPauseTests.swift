import Testing

@testable import MeshReplication

@Suite struct RevertPauseTests {
  @Test(
    "the next revert waits nine times as long as the last one took, ten minutes at most",
    arguments: [
      (took: Int64(0), length: Int64(0)), (1, 9), (2_000, 18_000), (66_666, 599_994), (3_600_000, 599_994), (-5, 0),
    ])
  func pauses(took: Int64, length: Int64) {
    var pause = RevertPause()
    let done = 1_000 + took
    let before = pause.isOver(now: 1_000)
    pause.begin(now: 1_000)
    pause.noteWork(now: done)
    let looks = [0, length - 1, length, length + 1_000_000].map {
      // Only the first work after the revert tells how long it took.
      pause.noteWork(now: done + $0)
      return pause.isOver(now: done + $0)
    }
    #expect(before, "nothing was reverted yet")
    #expect(looks == [length == 0, false, true, true])
  }
}
