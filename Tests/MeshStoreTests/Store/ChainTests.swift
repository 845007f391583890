import MeshCore
import Testing

@testable import MeshStore

private let table = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)"

/// What a store asks of an author's next change set, at each bound and one beyond.
@Suite struct ChainTests {
  private func peer(_ seed: UInt8 = 1) throws -> Peer { try Peer(seed, schema: table, track: ["t"]) }

  private func take(_ changeSets: [ChangeSet], _ peer: Peer) throws -> [StoreOutcome] {
    try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
  }

  private func chain(_ forger: inout Forger, _ count: Int, _ peer: Peer) throws -> [ChangeSet] {
    try (1...count).map { number in
      let time = HybridTime(milliseconds: peer.now - 1_000 + Int64(number))
      return try forger.make(forger.births([number], .value(.text([65])), time: time), time: time)
    }
  }

  @Test(
    "a time is later than the one before it",
    arguments: [(-1, .timeNotGreater), (0, .timeNotGreater), (1, .stored)] as [(Int64, StoreOutcome)])
  func aTimeIsLaterThanTheOneBeforeIt(step: Int64, outcome: StoreOutcome) throws {
    let peer = try peer()
    var forger = try Forger(9)
    let time = HybridTime(milliseconds: peer.now)
    let first = try forger.make(.changes([]), time: time)
    let second = try forger.make(.changes([]), time: HybridTime(time.value &+ UInt64(bitPattern: step)))
    #expect(try take([first, second], peer) == [.stored, outcome])
    #expect(try peer.store.log.storedVector(Peer.zone)[forger.author] == (outcome == .stored ? 2 : 1))
  }

  @Test("a change set names the one before it") func aChangeSetNamesTheOneBeforeIt() throws {
    let peer = try peer()
    var forger = try Forger(9)
    let time = HybridTime(milliseconds: peer.now)
    let first = try forger.make(.changes([]), time: time)
    let other = ChangeSetID([UInt8](repeating: 4, count: 32)).unsafe
    let second = try forger.make(.changes([]), time: time.next, previous: other)
    #expect(try take([first, second], peer) == [.stored, .brokenChain])
    #expect(try peer.store.log.storedVector(Peer.zone)[forger.author] == 1)
  }

  @Test(
    "a part continues its unit",
    arguments: [(0, .partOutOfOrder), (1, .stored), (2, .partOutOfOrder)] as [(UInt64, StoreOutcome)])
  func aPartContinuesItsUnit(index: UInt64, outcome: StoreOutcome) throws {
    let peer = try peer()
    var forger = try Forger(9)
    let time = HybridTime(milliseconds: peer.now)
    let first = try forger.make(.changes([]), time: time, part: .init(index: 0, planned: 3, isFinal: false))
    let second = try forger.make(.changes([]), time: time.next, part: .init(index: index, planned: 3, isFinal: true))
    #expect(try take([first, second], peer) == [.stored, outcome])
  }

  @Test("a cut leaves its own number, and what it took back comes again once nothing refuses it")
  func aCutLeavesItsOwnNumberAndWhatItTookBackComesAgainOnceNothingRefusesIt() throws {
    let peer = try peer()
    var forger = try Forger(9)
    let chain = try chain(&forger, 3, peer)
    #expect(try take(chain, peer) == [.stored, .stored, .stored])
    try peer.apply()
    try peer.store.merges.revert([forger.author: 2], zone: Peer.zone, peer.reader, now: peer.now)
    #expect(try peer.rows("SELECT id FROM t") == ["1", "2"])
    #expect(try take(chain, peer) == [.duplicate, .duplicate, .stored])
    try peer.apply()
    #expect(try peer.rows("SELECT id FROM t") == ["1", "2", "3"])
  }

  @Test("a cut that a crash left half done is finished, whatever the limits are by then")
  func aCutThatACrashLeftHalfDoneIsFinishedWhateverTheLimitsAreByThen() throws {
    let peer = try peer()
    var forger = try Forger(9)
    let chain = try chain(&forger, 3, peer)
    #expect(try take(chain, peer) == [.stored, .stored, .stored])
    try peer.apply()
    try peer.run("UPDATE mesh_head SET cut = 2")
    try peer.reopen()
    try peer.store.merges.revert([:], zone: Peer.zone, peer.reader, now: peer.now)
    #expect(try peer.rows("SELECT id FROM t") == ["1", "2"])
    #expect(try peer.store.log.storedVector(Peer.zone)[forger.author] == 2)
    #expect(try peer.rows("SELECT cut FROM mesh_head") == ["NULL"])
  }

  @Test("what is here above a cut that is not carried out yet is neither merged nor waited for")
  func whatIsHereAboveACutThatIsNotCarriedOutYetIsNeitherMergedNorWaitedFor() throws {
    let peer = try peer()
    var forger = try Forger(9)
    let chain = try chain(&forger, 3, peer)
    #expect(try take(chain, peer) == [.stored, .stored, .stored])
    peer.cuts = [forger.author: 2]
    #expect(try peer.apply() == [:])
    #expect(try peer.store.log.mergedVector(Peer.zone)[forger.author] == 2)
    #expect(try peer.rows("SELECT id FROM t") == ["1", "2"])
  }

  @Test("what is signed at the bound of the future is merged, and a millisecond later it waits")
  func whatIsSignedAtTheBoundOfTheFutureIsMergedAndAMillisecondLaterItWaits() throws {
    for (ahead, waiting) in [(Choices.clockBound, [:]), (Choices.clockBound + 1, [WaitingReason.futureTime: 1])] {
      let peer = try peer()
      var forger = try Forger(9)
      let time = HybridTime(milliseconds: peer.now + ahead)
      _ = try take([forger.make(forger.births([1], .value(.text([65])), time: time), time: time)], peer)
      #expect(try peer.apply() == waiting)
      #expect(try peer.rows("SELECT id FROM t") == (waiting.isEmpty ? ["1"] : []))
    }
  }

  @Test("what is here and not merged is nobody's past") func whatIsHereAndNotMergedIsNobodysPast() throws {
    let (peer, reader) = (try peer(1), try peer(2))
    var (early, late) = (try Forger(8), try Forger(9))
    let (time, future) = (
      HybridTime(milliseconds: peer.now), HybridTime(milliseconds: peer.now + Choices.clockBound + 1)
    )
    let first = try early.make(early.births([1], .value(.text([65])), time: time), time: time)
    let second = try early.make(early.births([2], .value(.text([65])), time: future), time: future)
    var seen = CausalContext()
    seen[early.author] = .init(number: 2, time: future)
    let after = try late.make(late.births([3], .value(.text([65])), time: time), time: time, context: seen)
    #expect(try take([first, second, after], peer) == [.stored, .stored, .stored])
    #expect(try peer.apply() == [.futureTime: 1, .causalPast: 1])
    #expect(try peer.store.log.storedVector(Peer.zone)[early.author] == 2)
    #expect(try peer.store.log.mergedVector(Peer.zone)[early.author] == 1)
    #expect(try peer.rows("SELECT id FROM t") == ["1"])
    // What is written now has seen the first and not the second: whoever has the first can merge it.
    try peer.run("INSERT INTO t VALUES (4, 'own')")
    try peer.flush()
    try reader.receive(from: peer)
    #expect(try reader.apply() == [:])
    #expect(try reader.rows("SELECT id FROM t") == ["1", "4"])
    #expect(try reader.digest() == peer.digest())
  }
}
