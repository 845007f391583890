import Testing

@testable import MeshNode

/// A fault is shown only while it lasts.
@Suite struct FaultsTests {
  private let start = ContinuousClock.now

  @Test("a fault of the work is told until the work goes on") func aFaultOfTheWorkIsToldUntilTheWorkGoesOn() {
    var faults = Faults()
    #expect(faults.shown(at: start, commits: 0) == nil)
    faults.workFailed("no space left")
    #expect(faults.shown(at: start + .seconds(3_600), commits: 9) == "no space left")
    faults.workSucceeded()
    #expect(faults.shown(at: start, commits: 9) == nil)
  }

  @Test("a fault for which a session was ended is told until something is written again")
  func aFaultForWhichASessionWasEndedIsToldUntilSomethingIsWrittenAgain() {
    var faults = Faults()
    faults.linkFailed("no space left", at: start, commits: 4)
    #expect(faults.shown(at: start + .seconds(1), commits: 4) == "no space left")
    faults.workSucceeded()
    #expect(faults.shown(at: start + .seconds(1), commits: 4) != nil, "work that had nothing to write")
    #expect(faults.shown(at: start + .seconds(1), commits: 5) == nil)
    faults.linkFailed("no space left", at: start + .seconds(2), commits: 5)
    #expect(faults.shown(at: start + .seconds(2), commits: 5) != nil, "again")
  }

  @Test("where nothing is written it is told for a while") func whereNothingIsWrittenItIsToldForAWhile() {
    var faults = Faults()
    faults.linkFailed("no space left", at: start, commits: 4)
    #expect(faults.shown(at: start + Faults.shown - .nanoseconds(1), commits: 4) != nil)
    #expect(faults.shown(at: start + Faults.shown, commits: 4) == nil)
  }
}
