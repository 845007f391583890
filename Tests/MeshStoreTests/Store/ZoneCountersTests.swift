import MeshCore
import Testing

@testable import MeshStore

/// A transaction has one copy of each zone's counters, and its end saves them.
@Suite struct ZoneCountersTests {
  private struct Failure: Error {}

  private func peer(_ seed: UInt8) throws -> Peer {
    try Peer(seed, schema: "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT)", track: ["item"])
  }

  private func row(_ peer: Peer) throws -> ZoneRow {
    try #require(try peer.store.access.read { try $0.counters.read(Peer.zone)?.row })
  }

  @Test("a flush and other changes to records in one transaction count together, whichever began first")
  func oneCopy() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO item VALUES ('a', 'first'), ('b', 'first')")
    try a.flush()
    try b.pull(from: a)
    let before = try row(a)
    try a.run("INSERT INTO item VALUES ('c', 'second')")
    a.now += 10
    try a.store.access.write { transaction in
      let records = ZoneRecords(transaction, zone: try transaction.counters.obtain(Peer.zone))
      let table = try transaction.catalog.tableNumber("item")
      let ref = RecordRef(table: table, key: .text("b"))
      let record = try #require(try records.load(ref))
      let flushed = try a.store.localWrites.flushWithin(
        transaction, about: Peer.zone, [Peer.zone: a.writer], now: a.now, or: nil)
      #expect(flushed?.heads[Peer.zone]?.number == 2)
      try records.remove(ref, record)
    }
    let after = try row(a)
    #expect(after.live == 2)
    #expect(after.nextPosition == before.nextPosition + 1)
    #expect(after.clock.last > before.clock.last)
    // The digest is that of the remaining records, 'a' and 'c'.
    try b.run("DELETE FROM item WHERE id = 'b'")
    try b.learn(from: a)
    #expect(try b.digest() == a.digest())
    // The next change set has the next place in the order of merging.
    try a.run("INSERT INTO item VALUES ('d', 'third')")
    try a.flush()
    #expect(try a.rows("SELECT number FROM mesh_order ORDER BY position") == ["1", "2", "3"])
  }

  @Test("changes to counters are dropped if the transaction fails or is rolled back")
  func rollback() throws {
    let peer = try peer(1)
    let before = try row(peer)
    #expect(throws: Failure.self) {
      try peer.store.access.write { transaction in
        try transaction.counters.obtain(Peer.zone).live = 7
        throw Failure()
      }
    }
    try peer.store.access.transact { transaction in
      try transaction.counters.obtain(Peer.zone).live = 8
      return .rollBack(())
    }
    #expect(try row(peer) == before)
    try peer.store.access.write { try $0.counters.obtain(Peer.zone).ahead = 3 }
    #expect(try row(peer).ahead == 3)
    #expect(try row(peer).live == before.live)
  }

  @Test("the ends of runs and of early hashes concern zones that the transaction has changed and others")
  func allZones() throws {
    let peer = try peer(1)
    let other = Member.zone(2)
    try peer.store.access.write { transaction in
      for zone in [Peer.zone, other] {
        let counters = try transaction.counters.obtain(zone)
        (counters.ahead, counters.runLast, counters.runRows) = (5, 6, 2)
      }
    }
    try peer.store.access.write { transaction in
      #expect(try transaction.hasRun())
      let counters = try transaction.counters.obtain(Peer.zone)
      (counters.runLast, counters.runRows) = (9, 4)
      try transaction.run.endAll(transaction.counters)
      #expect(try !transaction.hasRun())
      try transaction.counters.endAhead()
      counters.ahead = 5
    }
    #expect(
      try peer.rows("SELECT ahead, run_last, run_rows FROM mesh_zone ORDER BY id") == ["5|0|0", "0|0|0"])
  }

  @Test("a zone that is dropped while a run of its rows is flushed has no run any more")
  func droppedRun() throws {
    let alice = try SharedList.alice()
    let count = 2 * Choices.slice + 1
    try alice.run(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO reminders SELECT 'n' || i, 'L', 'many', 0 FROM n
      """)
    alice.now += 10
    let runs = "SELECT run_last > 0 FROM mesh_zone ORDER BY id"
    while try alice.rows(runs) == ["0", "0"] { #expect(try alice.step()) }
    #expect(try alice.rows(runs) == ["0", "1"])
    #expect(try alice.store.zones.dropZone(SharedList.share, keepingCopy: false, unsent: [:], now: alice.now))
    #expect(try alice.rows(runs) == ["0", "0"])
  }
}
