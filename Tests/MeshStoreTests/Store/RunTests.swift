import MeshCore
import Testing

@testable import MeshStore

private let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT, note TEXT)"

/// Logs that are longer than one part are flushed in the order of keys.
@Suite struct RunTests {
  private func peer(_ seed: UInt8) throws -> Peer { try Peer(seed, schema: schema, track: ["item"]) }

  private func fill(_ peer: Peer, _ prefix: String, _ count: Int) throws {
    try peer.run(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO item SELECT '\(prefix)' || lower(hex(randomblob(8))), i, NULL FROM n
      """)
  }

  private let all = "SELECT id, title, note FROM item ORDER BY id"

  @Test("a bulk insert is flushed in the order of its keys") func itsPartsFollowEachOtherByKey() throws {
    let (a, b) = (try peer(1), try peer(2))
    try fill(a, "", 3_500)
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM item ORDER BY rowid") == a.rows("SELECT id FROM item ORDER BY id"))
    #expect(try a.digest() == b.digest())
  }

  @Test("a run of pending rows is bounded and plans only its own parts")
  func aLongerLogThanARunIsSeveralUnitsAndEachPlansItsOwnParts() throws {
    let a = try peer(1)
    try fill(a, "", Int(StoreLimits.runRows) + 500)
    #expect(try a.store.localWrites.flush(a.writer, now: a.now).unitEnded == false)
    let zone = try #require(try a.store.access.read { try $0.counters.read(Peer.zone) })
    #expect(zone.runLast == StoreLimits.runRows)
    #expect(zone.flushPlanned == UInt64(StoreLimits.runRows) / UInt64(Choices.slice))
  }

  @Test("writes between the parts of a run reach the other peer") func whatIsWrittenBetweenItsPartsIsAUnitOfItsOwn()
    throws
  {
    let (a, b) = (try peer(1), try peer(2))
    try fill(a, "", 2_500)
    #expect(try a.store.localWrites.flush(a.writer, now: a.now).unitEnded == false)
    // Rows of the part before, of parts to come, and new ones.
    try a.run("UPDATE item SET note = 'later' WHERE substr(id, 1, 1) IN ('0', 'f')")
    try a.run("DELETE FROM item WHERE substr(id, 1, 1) IN ('1', 'e')")
    try a.run("INSERT INTO item VALUES ('0new', 'n', NULL), ('gnew', 'n', NULL)")
    try a.run("UPDATE item SET note = 'again' WHERE substr(id, 1, 2) = 'ff'")
    try b.pull(from: a)
    #expect(try b.rows(all) == a.rows(all))
    #expect(try a.digest() == b.digest())
    #expect(try a.store.localWrites.pendingCount() == 0)
  }

  /// A record whose rows come apart in a run gets a later stamp each time, or its last value would lose.
  @Test("a record whose key is spelled in two ways keeps its last value") func aKeySpelledInTwoWaysKeepsItsLastValue()
    throws
  {
    let nocase = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, title TEXT, note TEXT)"
    let (a, b) = (try Peer(1, schema: nocase, track: ["item"]), try Peer(2, schema: nocase, track: ["item"]))
    try a.run("INSERT INTO item VALUES ('zebra', 'first', NULL)")
    try b.pull(from: a)
    try fill(a, "m", 2_500)
    try a.run("UPDATE item SET title = 'second' WHERE id = 'zebra'; UPDATE item SET id = 'ZEBRA' WHERE id = 'zebra'")
    try a.run("UPDATE item SET title = 'third' WHERE id = 'zebra'")
    #expect(try a.store.localWrites.flush(a.writer, now: a.now).unitEnded == false)
    try a.run("UPDATE item SET title = 'last' WHERE id = 'zebra'")
    try b.pull(from: a)
    #expect(try b.rows(all) == a.rows(all))
    #expect(try a.digest() == b.digest())
  }

  @Test("an edit keeps the time at which it was captured") func editsKeepTheTimesAtWhichTheyWereNoted() throws {
    let (a, b) = (try peer(1), try peer(2))
    try fill(a, "", 2_500)
    try a.run("INSERT INTO item VALUES ('~', 'a', NULL)")
    // As if the others had been written long after: their parts come first.
    let noted = a.now - 5_000
    try a.run("UPDATE mesh_pending SET wall = \(noted) WHERE key = '~'")
    try a.run("UPDATE mesh_pending SET wall = \(a.now - 1_000) WHERE key <> '~'")
    try b.pull(from: a)
    let record = try b.store.access.read { transaction in
      let zone = try #require(try transaction.counters.read(Peer.zone))
      let table = try #require(transaction.catalog.allTables.first)
      return try ZoneRecords(transaction, zone: zone).load(RecordRef(table: table.id, key: .text("~")))
    }
    #expect(record?.stamps.base.time == HybridTime(milliseconds: noted))
  }

  /// A program that writes more than a part between any two steps of the node.
  @Test("a peer's changes are merged while a program writes faster than the flush")
  func othersChangesHaveTheirTurnBesideAFasterWriter() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO item VALUES ('0', 'first', 'first'), ('z', 'first', 'first')")
    try b.pull(from: a)
    try b.run("UPDATE item SET title = 'of b'")
    try fill(b, "", 2_500)
    try b.flush()
    try a.receive(from: b)
    a.now = b.now
    var steps = 0
    var isMerged = false
    while !isMerged, steps < 100 {
      var ended = false
      while !ended {
        try fill(a, "", 1_100)
        // Of a record that is about to be merged: it has its own stamp first.
        try a.run("UPDATE item SET note = 'of a' WHERE id = 'z'")
        ended = try a.store.localWrites.flush(a.writer, now: a.now).unitEnded
        steps += 1
      }
      for _ in 0..<3 {
        try fill(a, "", 1_100)
        try a.run("UPDATE item SET note = note || '.' WHERE id = '0'")
        let progress = try a.store.merges.apply(Peer.zone, a.reader, flushing: [Peer.zone: a.writer], now: a.now)
        if case .merged(_, let unitEnded, _) = progress { isMerged = unitEnded }
      }
    }
    #expect(isMerged)
    #expect(try a.rows("SELECT count(*) FROM item WHERE title = 'of b'") == ["2"])
    try synchronize([a, b])
    #expect(try b.rows(all) == a.rows(all))
    #expect(try b.rows("SELECT count(*) FROM item WHERE id = 'z' AND note = 'of a'") == ["1"])
    #expect(try a.digest() == b.digest())
  }
}
