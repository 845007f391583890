import MeshCore
import Testing

@testable import MeshStore

private let table = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT, w BLOB)"

/// Parts, long values, cuts, forks, and what is refused.
@Suite struct LogTests {
  private func peer(_ seed: UInt8) throws -> Peer { try Peer(seed, schema: table, track: ["t"]) }

  @Test("long values travel in pieces and arrive complete") func longValuesTravelInPieces() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO t VALUES (1, hex(randomblob(1500000)), NULL)")
    try a.run("INSERT INTO t VALUES (2, hex(randomblob(400000)), randomblob(300000)), (3, 'x', NULL)")
    #expect(try a.flush() == 1)
    let same = "SELECT id, v, hex(w) FROM t ORDER BY id"
    try b.pull(from: a)
    #expect(try b.rows(same) == a.rows(same))
    #expect(try a.digest() == b.digest())
    #expect(try a.store.log.mergedVector(Peer.zone)[a.author] > 8)
    try b.run("UPDATE t SET v = 'edited' WHERE id = 1")
    try a.pull(from: b)
    #expect(try b.rows(same) == a.rows(same))
    #expect(try a.digest() == b.digest())
  }

  @Test("a row with a value over the limit is held until the value is shorter")
  func aValueOverTheLimitIsNotSentAndSaysSo() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO t VALUES (1, zeroblob(\(Limits.longValue + 1)), NULL), (2, 'x', NULL)")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t") == ["2"])
    #expect(try a.store.figures.heldCounts() == ["value-too-long": 1])
    try a.run("UPDATE t SET v = x'01' WHERE id = 1")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t") == ["1", "2"])
    #expect(try a.store.figures.heldCounts().isEmpty)
  }

  @Test("a deleted row whose value was too long leaves the held list")
  func aTooLongValueThatIsDeletedIsNotToldOfAnyMore() throws {
    let a = try peer(1)
    try a.run("INSERT INTO t VALUES (1, zeroblob(\(Limits.longValue + 1)), NULL)")
    try a.flush()
    #expect(try a.store.figures.status().held == [.valueTooLong: 1])
    try a.run("DELETE FROM t")
    try a.flush()
    #expect(try a.store.figures.status().held == [:])
  }

  @Test("a write is unsent until a change set has it, and unsendable if too long")
  func whatAProgramWroteIsUnsentTillAChangeSetHasIt() throws {
    let a = try peer(1)
    #expect(try a.store.capture.unsent(Peer.zone) == .nothing)
    try a.run("INSERT INTO t VALUES (1, 'x', NULL)")
    #expect(try a.store.capture.unsent(Peer.zone) == .pending)
    try a.flush()
    #expect(try a.store.capture.unsent(Peer.zone) == .nothing)
    try a.run("ALTER TABLE t ADD COLUMN more DEFAULT 7")
    #expect(try a.store.capture.unsent(Peer.zone) == .pending, "no trigger saw what a migration wrote")
    try a.upkeep()
    #expect(try a.store.capture.unsent(Peer.zone) == .nothing)
    try a.run("INSERT INTO t VALUES (2, zeroblob(\(Limits.longValue + 1)), NULL, NULL)")
    try a.flush()
    #expect(try a.store.capture.unsent(Peer.zone) == .unsendable)
  }

  @Test("a unit continues after writer and reader are reopened between its parts")
  func aUnitGoesOnAfterACrashBetweenItsParts() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 18500) INSERT INTO t SELECT i, i, NULL FROM n"
    )
    // The parts of a batch are sent once all of them would survive a power cut.
    for part in 1...17 {
      let progress = try a.store.localWrites.flush(a.writer, now: a.now)
      #expect(progress.hasMore && !progress.unitEnded && progress.isSendable == (part == 16))
    }
    #expect(try a.store.log.mergedVector(Peer.zone)[a.author] == 0)
    try b.receive(from: a)
    #expect(try b.apply() == [.unfinishedUnit: 16])
    try a.reopen()
    try b.receive(from: a)
    #expect(try b.store.log.storedVector(Peer.zone)[a.author] == 16)
    #expect(try a.flush() == 2)
    #expect(try a.store.log.mergedVector(Peer.zone)[a.author] == 19)
    try b.receive(from: a)
    b.now = a.now
    // The reader stops between slices as well.
    #expect(try b.store.merges.apply(Peer.zone, b.reader, now: b.now) == .merged(records: 1_000, unitEnded: false))
    #expect(try b.store.log.mergedVector(Peer.zone)[a.author] == 0)
    try b.reopen()
    #expect(try b.apply() == [:])
    #expect(try b.rows("SELECT count(*) FROM t") == ["18500"])
    #expect(try a.digest() == b.digest())
  }

  @Test("a revert leaves the state of a peer that never merged the reverted change sets")
  func aCutLeavesWhatANodeHasThatNeverMergedIt() throws {
    let (a, b, c) = (try peer(1), try peer(2), try peer(3))
    try a.run("INSERT INTO t VALUES (1, 'a', NULL), (2, 'a', NULL), (3, 'a', NULL)")
    try b.pull(from: a)
    try b.run("UPDATE t SET v = 'b kept' WHERE id = 1")
    try b.flush()
    for peer in [a, c] {
      try peer.pull(from: b)
      try peer.pull(from: a)
    }
    let limit = try b.store.log.mergedVector(Peer.zone)[b.author]
    let kept = try c.digest()
    try b.run("UPDATE t SET v = 'b cut' WHERE id = 2; DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (4, 'b', NULL)")
    try a.pull(from: b)
    #expect(try a.rows("SELECT id FROM t") == ["1", "2", "4"])
    a.cuts = [b.author: limit]
    try a.store.merges.revert(a.cuts, zone: Peer.zone, a.reader, now: a.now)
    #expect(try a.digest() == kept)
    #expect(try a.rows("SELECT * FROM t") == c.rows("SELECT * FROM t"))
    #expect(try a.store.log.storedVector(Peer.zone)[b.author] == limit)
    // What comes again is not merged, and a second cut drops it.
    #expect(try a.receive(from: b) == [.stored])
    try a.apply()
    #expect(try a.digest() == kept)
    try a.store.merges.revert(a.cuts, zone: Peer.zone, a.reader, now: a.now)
    #expect(try a.digest() == kept)
    try a.run("UPDATE t SET v = 'after' WHERE id = 2")
    try c.pull(from: a)
    #expect(try a.digest() == c.digest())
  }

  @Test("a revert without the epoch key fails and changes nothing") func whatCantBeReadAgainForLackOfAKeyIsNotCut()
    throws
  {
    let (a, b) = (try peer(1), try peer(2))
    try b.run("INSERT INTO t VALUES (1, 'b', NULL)")
    try a.pull(from: b)
    let before = try a.digest()
    let blind = ChangeSetReader(keys: [:], cuts: [:], cryptography: a.cryptography)
    #expect(throws: MissingKey(epoch: Peer.epoch)) {
      try a.store.merges.revert([b.author: 0], zone: Peer.zone, blind, now: a.now)
    }
    #expect(try a.digest() == before && a.rows("SELECT id FROM t") == ["1"])
    #expect(try a.store.log.mergedVector(Peer.zone)[b.author] == 1)
    try a.store.merges.revert([b.author: 0], zone: Peer.zone, a.reader, now: a.now)
    #expect(try a.rows("SELECT id FROM t").isEmpty)
  }

  @Test("a change set that depends on a reverted one is still merged") func whatDependedOnACutChangeSetIsStillMerged()
    throws
  {
    let (a, b, c) = (try peer(1), try peer(2), try peer(3))
    try b.run("INSERT INTO t VALUES (1, 'b', NULL)")
    try a.pull(from: b)
    try a.run("INSERT INTO t VALUES (2, 'a', NULL)")
    try a.flush()
    c.cuts = [b.author: 0]
    try c.store.merges.revert(c.cuts, zone: Peer.zone, c.reader, now: c.now)
    try c.pull(from: a)
    #expect(try c.rows("SELECT id FROM t") == ["2"])
    try a.store.merges.revert(c.cuts, zone: Peer.zone, a.reader, now: a.now)
    #expect(try a.digest() == c.digest())
  }

  @Test("the log tells stored, duplicate, forked and out-of-sequence change sets apart")
  func chainsForksAndGapsAreToldApart() throws {
    let (a, b) = (try peer(1), try peer(2))
    let twin = try peer(1)
    for value in 1...3 {
      try a.run("INSERT INTO t VALUES (\(value), 'a', NULL)")
      try a.flush()
    }
    try twin.run("INSERT INTO t VALUES (9, 'twin', NULL)")
    try twin.flush()
    func log(_ peer: Peer) throws -> [ChangeSet] {
      try peer.store.log.changeSets(Peer.zone, beyond: VersionVector(), of: nil, after: 0, maximumBytes: 1 << 20)
        .changeSets.map { try ChangeSet($0, with: peer.cryptography) }
    }
    let (own, other) = (try log(a), try log(twin))
    #expect(
      try b.store.log.store([own[1], own[0], own[0], own[2]], zone: Peer.zone, now: b.now) == [
        .gap, .stored, .duplicate, .gap,
      ])
    #expect(try b.store.log.store(other, zone: Peer.zone, now: b.now) == [.fork(existing: own[0].id)])
    #expect(try b.store.log.store(Array(own[1...]), zone: Peer.zone, now: b.now) == [.stored, .stored])
    #expect(try b.store.log.storedVector(Peer.zone)[a.author] == 3)
  }

  @Test("a malformed change set blocks its author and no other author")
  func aBodyThatBreaksARuleStopsItsAuthorAndNobodyElse() throws {
    let (a, c) = (try peer(1), try peer(3))
    let time = HybridTime(milliseconds: a.now)
    func forged(_ change: TableChanges, time stamp: HybridTime) throws -> ChangeSet {
      let header = ChangeSetHeader(
        zone: Peer.zone, author: a.author, number: 1, previous: nil, time: time, epoch: Peer.epoch, part: .only)
      let body = ChangeSetBody(context: CausalContext(), content: .changes([change])).encoded(author: a.author)
      return try ChangeSet(header, body: body, key: Peer.key, secrets: a.keys, with: a.cryptography)
    }
    func row(_ generation: UInt64, _ stamp: HybridTime) -> RowChange {
      RowChange(
        key: .integer(1), generation: generation, isLife: true, stamp: Stamp(time: stamp, author: a.author), fields: [])
    }
    let bad: [TableChanges] = [
      TableChanges(table: "t", columns: [], rows: [row(1, HybridTime(time.value + 1))]),
      TableChanges(table: "t", columns: [], rows: [row(2 * time.value + 1, time)]),
      TableChanges(table: "mesh_log", columns: [], rows: [row(1, time)]),
      TableChanges(table: "t", columns: ["v", "V"], rows: [row(1, time)]),
    ]
    try c.run("INSERT INTO t VALUES (7, 'c', NULL)")
    try c.flush()
    for change in bad {
      let reader = try peer(4)
      #expect(try reader.store.log.store([forged(change, time: time)], zone: Peer.zone, now: reader.now) == [.stored])
      #expect(try reader.apply() == [.malformed: 1])
      try reader.pull(from: c)
      #expect(try reader.rows("SELECT id FROM t") == ["7"])
      #expect(try reader.store.figures.status().malformed.count == 1)
    }
  }

  @Test("a change set dated ahead or without its epoch key waits")
  func whatIsSignedAheadOfTheClockOrUnderAnUnknownEpochWaits() throws {
    let (a, b) = (try peer(1), try peer(2))
    a.now += 10 * 60_000
    try a.run("INSERT INTO t VALUES (1, 'a', NULL)")
    try a.flush()
    try b.receive(from: a)
    #expect(try b.apply() == [.futureTime: 1])
    b.now = a.now
    let blind = ChangeSetReader(keys: [:], cuts: [:], cryptography: b.cryptography)
    #expect(try b.store.merges.apply(Peer.zone, blind, now: b.now) == .idle(waiting: [.epochKey: 1]))
    #expect(try b.apply() == [:])
    #expect(try b.rows("SELECT id FROM t") == ["1"])
  }

  @Test("a merge that fails on a full disk loses nothing and leaves capture on")
  func aFullDiskLosesNothingAndLeavesCaptureOn() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO t VALUES (1, hex(zeroblob(450000)), NULL)")
    try b.run("UPDATE t SET v = v")
    let pages = try b.store.access.read { try $0.sql.integer("PRAGMA page_count") ?? 0 }
    try a.flush()
    try b.receive(from: a)
    b.now = a.now
    let stored = try b.store.access.read { try $0.sql.integer("PRAGMA page_count") ?? 0 }
    #expect(stored > pages)
    _ = try b.store.access.read { try $0.sql.integer("PRAGMA max_page_count = \(stored + 10)") }
    #expect(throws: StoreError.self) { try b.apply() }
    #expect(try b.rows("SELECT applying FROM mesh_state") == ["0"])
    #expect(try b.rows("SELECT id FROM t").isEmpty)
    _ = try b.store.access.read { try $0.sql.integer("PRAGMA max_page_count = 1000000") }
    try b.apply()
    #expect(try a.digest() == b.digest())
  }

  @Test("a store keeps control records, account states and the latest acknowledgements")
  func zonesKeepTheirControlRecordsAccountsAndAcknowledgements() throws {
    let a = try peer(1)
    let (id, account) = (
      ControlID([UInt8](repeating: 1, count: 32)).unsafe, AccountID([UInt8](repeating: 2, count: 32)).unsafe
    )
    #expect(try a.store.control.knownZones().isEmpty)
    try a.store.control.insertControlRecord([1, 2], id: id, zone: Peer.zone)
    try a.store.control.insertControlRecord([1, 2], id: id, zone: Peer.zone)
    #expect(try a.store.control.controlRecords(Peer.zone) == [[1, 2]])
    #expect(try a.store.control.knownZones() == [Peer.zone])
    try a.store.control.saveAccountStates([account: [5]])
    try a.store.control.saveAccountStates([account: [6]])
    #expect(try a.store.control.accountState(account) == [6])
    #expect(try a.store.control.accounts() == [account])
    try a.store.control.saveAcknowledgement([2], device: a.author.device, time: HybridTime(2), zone: Peer.zone)
    try a.store.control.saveAcknowledgement([1], device: a.author.device, time: HybridTime(1), zone: Peer.zone)
    #expect(try a.store.control.acknowledgements(Peer.zone) == [a.author.device: [2]])
    #expect(try a.store.zones.instance(Peer.zone) == a.author.instance)
  }
}
