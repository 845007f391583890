import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Change sets that are stored and wait for something: what they cost meanwhile, and that each is merged once it may be.
@Suite struct WaitingTests {
  private let peer: Peer
  private let absent: Forger
  private let time: HybridTime

  init() throws {
    peer = try Peer(1, schema: "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)", track: ["t"])
    absent = try Forger(99)
    time = HybridTime(milliseconds: peer.now - 1_000)
    try peer.apply()
  }

  /// The past that has the absent author's first change set.
  private var past: CausalContext { CausalContext([absent.author: .init(number: 1, time: time)]) }

  private func store(_ changeSets: [ChangeSet]) throws {
    let outcomes = try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
    #expect(outcomes == changeSets.map { _ in .stored })
  }

  private func keys() throws -> [String] { try peer.rows("SELECT id FROM t ORDER BY id") }

  @Test("what waits is decrypted once, however many others come meanwhile")
  func waitsForFree() throws {
    let counting = CountingCryptography(base: peer.cryptography)
    let reader = ChangeSetReader(keys: [Peer.epoch: Peer.key], cuts: [:], cryptography: counting)
    func apply() throws { while case .merged = try peer.store.merges.apply(Peer.zone, reader, now: peer.now) {} }
    for seed in 10..<30 {
      var forger = try Forger(UInt8(seed))
      try store([try forger.make(forger.births([seed], .value(.null), time: time), time: time, context: past)])
    }
    var honest = try Forger(2)
    for index in 0..<40 {
      let time = HybridTime(time.value + UInt64(index))
      try store([try honest.make(honest.births([1_000 + index], .value(.null), time: time), time: time)])
      try apply()
    }
    #expect(try keys().count == 40)
    #expect(counting.decryptions == 20 + 40)
    var absent = absent
    try store([try absent.make(.changes([]), time: time)])
    try apply()
    #expect(try keys().count == 60)
    #expect(counting.decryptions == 20 + 40 + 1 + 20)
  }

  @Test("accounts have turns, however many authors they write as")
  func accountsHaveTurns() throws {
    let (crowd, other) = (try TestAccount(devices: 20, seed: 1), try TestAccount(devices: 1, seed: 2))
    var authors = try crowd.devices.map { try Forger($0) }
    var honest = try Forger(other.devices[0])
    peer.store.control.setAccounts(Accounts([crowd.state, other.state]), device: peer.author.device)
    // One transaction merges less than the crowd has written.
    let (rows, each) = (Choices.slice * 2, Choices.slice / 10)
    try store(
      authors.indices.map { index in
        let births = authors[index].births(Array(index * each..<(index + 1) * each), .value(.null), time: time)
        return try authors[index].make(births, time: time)
      })
    _ = try peer.store.merges.apply(Peer.zone, peer.reader, now: peer.now)
    #expect(try keys().count <= Choices.slice)
    try store([try honest.make(honest.births([rows], .value(.null), time: time), time: time)])
    _ = try peer.store.merges.apply(Peer.zone, peer.reader, now: peer.now)
    #expect(try keys().contains("\(rows)"))
    #expect(try keys().count < rows)
    try peer.apply()
    #expect(try keys().count == rows + 1)
  }

  @Test("what is known of each author is what the file says, whatever came and went")
  func standings() throws {
    var (one, two) = (try Forger(10), try Forger(11))
    func check() throws {
      let vector = try peer.store.log.storedVector(Peer.zone)
      #expect(try peer.store.log.authorCount(Peer.zone) == vector.numbers.count)
      for author in [one.author, two.author] {
        let (number, citation) = try peer.store.log.stored(Peer.zone, author)
        #expect(try number == vector[author] && citation == peer.store.log.citations(Peer.zone)[author])
      }
    }
    try check()
    try store([try one.make(one.births([1], .value(.null), time: time), time: time)])
    try check()
    try store([try two.make(two.births([2], .value(.null), time: time), time: time, context: past)])
    try peer.apply()
    try check()
    #expect(try peer.store.log.authorCount(Peer.zone) == 2)
    try peer.store.merges.revert([two.author: 0], zone: Peer.zone, peer.reader, now: peer.now)
    try check()
    #expect(try peer.store.log.authorCount(Peer.zone) == 1)
    try peer.reopen()
    try check()
    #expect(try keys() == ["1"])
  }

  @Test("an author that waits again waits for what it lacks now")
  func waitsForTheNext() throws {
    var (forger, other) = (try Forger(2), try Forger(3))
    let both = CausalContext([
      absent.author: .init(number: 1, time: time), other.author: .init(number: 1, time: time),
    ])
    try store([try forger.make(forger.births([1], .value(.null), time: time), time: time, context: both)])
    try peer.apply()
    var absent = absent
    try store([try absent.make(.changes([]), time: time)])
    try peer.apply()
    #expect(try keys().isEmpty)
    try store([try other.make(.changes([]), time: time)])
    try peer.apply()
    #expect(try keys() == ["1"])
  }

  @Test("more of an author that waits changes nothing of what it waits for")
  func waitsWithMoreBehind() throws {
    var forger = try Forger(2)
    try store([try forger.make(forger.births([1], .value(.null), time: time), time: time, context: past)])
    try peer.apply()
    try store([try forger.make(forger.births([2], .value(.null), time: time.next), time: time.next)])
    try peer.apply()
    #expect(try keys().isEmpty)
    var absent = absent
    try store([try absent.make(.changes([]), time: time)])
    try peer.apply()
    #expect(try keys() == ["1", "2"])
  }

  @Test("once a cut has taken away what waited, the author's next change set at its number waits for nothing")
  func waitsNoMoreAfterACut() throws {
    var first = try Forger(2)
    let begin = try first.make(first.births([1], .value(.null), time: time), time: time)
    var second = first
    try store([
      begin, try first.make(first.births([2], .value(.null), time: time.next), time: time.next, context: past),
    ])
    try peer.apply()
    #expect(try keys() == ["1"])
    try peer.store.merges.revert([first.author: 1], zone: Peer.zone, peer.reader, now: peer.now)
    try store([try second.make(second.births([3], .value(.null), time: time.next), time: time.next)])
    try peer.apply()
    #expect(try keys() == ["1", "3"])
  }

  @Test("whoever waits for an author that is cut waits no more")
  func waitsForNoOneWhoIsCut() throws {
    var forger = try Forger(2)
    try store([try forger.make(forger.births([1], .value(.null), time: time), time: time, context: past)])
    try peer.apply()
    #expect(try keys().isEmpty)
    peer.cuts = [absent.author: 0]
    try peer.apply()
    #expect(try keys() == ["1"])
  }

  @Test("a unit waits for its end, a later time for the clock, another epoch for its key")
  func waitsForEachReason() throws {
    var (unit, early, locked) = (try Forger(2), try Forger(3), try Forger(4))
    let ahead = HybridTime(milliseconds: peer.now + Choices.clockBound + 1_000)
    try store([
      try unit.make(
        unit.births([1], .value(.null), time: time), time: time, part: .init(index: 0, planned: 2, isFinal: false)),
      try early.make(early.births([2], .value(.null), time: ahead), time: ahead),
      try locked.make(locked.births([3], .value(.null), time: time), time: time),
    ])
    let blind = ChangeSetReader(keys: [:], cuts: [:], cryptography: peer.cryptography)
    for _ in 0..<2 {
      let progress = try peer.store.merges.apply(Peer.zone, blind, now: peer.now)
      #expect(progress == .idle(waiting: [.unfinishedUnit: 1, .futureTime: 1, .epochKey: 1]))
    }
    try peer.apply()
    #expect(try keys() == ["3"])
    try store([
      try unit.make(
        unit.births([4], .value(.null), time: time.next), time: time.next,
        part: .init(index: 1, planned: 2, isFinal: true))
    ])
    try peer.apply()
    #expect(try keys() == ["1", "3", "4"])
    peer.now += 1_000
    try peer.apply()
    #expect(try keys() == ["1", "2", "3", "4"])
  }
}
