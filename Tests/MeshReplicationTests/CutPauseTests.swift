import Testing

@testable import MeshReplication

@Suite struct CutPauseTests {
  @Test(
    "the next cut waits nine times as long as the last one took, ten minutes at most",
    arguments: [
      (took: Int64(0), pause: Int64(0)), (1, 9), (2_000, 18_000), (66_666, 599_994), (3_600_000, 599_994), (-5, 0),
    ])
  func pauses(took: Int64, pause: Int64) {
    var cuts = CutPause()
    let done = 1_000 + took
    let before = cuts.isOver(now: 1_000)
    cuts.begin(now: 1_000)
    cuts.noteWork(now: done)
    let looks = [0, pause - 1, pause, pause + 1_000_000].map {
      // Only the first work after the cut tells how long the cut took.
      cuts.noteWork(now: done + $0)
      return cuts.isOver(now: done + $0)
    }
    #expect(before, "nothing was cut yet")
    #expect(looks == [pause == 0, false, true, true])
  }
}
