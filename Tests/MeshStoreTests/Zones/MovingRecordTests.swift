import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Rows that are one zone's by what was written to them, and another's by what is merged.
@Suite struct MovingRecordTests {
  private static let (home, share, other) = (SharedList.home, SharedList.share, Member.zone(4))

  private func members() throws -> (alice: Member, bob: Member) {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try converge([alice, bob])
    return (alice, bob)
  }

  /// What is merged of a reminder's title; nil where it does not live.
  private func title(_ key: String, in zone: ZoneID, of member: Member) throws -> Value? {
    try member.store.access.read { transaction in
      guard let row = try transaction.counters.read(zone), let table = transaction.catalog.knownTable("reminders")
      else {
        return nil
      }
      let records = ZoneRecords(transaction, zone: row)
      let ref = RecordRef(table: table, key: .text(key))
      guard let record = try records.load(ref), record.isAlive else { return nil }
      let column = try transaction.catalog.columnNumber("title", of: table)
      return try records.state(ref, record).cells[column]?.value
    }
  }

  @Test("changes that arrive while many records move end none of the moves")
  func changesAmongManyMoves() throws {
    let (alice, laptop, bob) = (try SharedList.alice(), try SharedList.laptop(), try SharedList.bob())
    try alice.run(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(2 * Choices.slice + 2))
        INSERT INTO reminders SELECT 'x' || i, iif(i % 2, 'L', 'M'), 'x', 0 FROM n
      """)
    try converge([alice, laptop, bob])
    try bob.run("UPDATE reminders SET title = 'of Bob' WHERE id IN ('x1', 'x\(2 * Choices.slice + 1)')")
    try laptop.run("UPDATE reminders SET title = 'of the laptop' WHERE id IN ('x2', 'x\(2 * Choices.slice + 2)')")
    for device in [bob, laptop] { try device.settle() }
    try alice.store(of: Self.share, from: bob)
    try alice.store(of: Self.home, from: laptop)
    try alice.run("UPDATE reminders SET list = iif(list = 'L', 'M', 'L') WHERE id LIKE 'x%'")
    repeat {
      for zone in [Self.share, Self.home] {
        _ = try alice.store.merges.apply(zone, alice.reader(zone), flushing: alice.writers(), now: alice.now)
      }
    } while try alice.step()
    try converge([alice, laptop, bob])
    #expect(try alice.contents() == laptop.contents())
    #expect(
      try alice.rows("SELECT id FROM reminders WHERE list = 'L' ORDER BY id")
        == bob.rows("SELECT id FROM reminders ORDER BY id"))
    for zone in [Self.home, Self.share] {
      #expect(try alice.store.zones.digest(zone) == laptop.store.zones.digest(zone))
    }
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
    for device in [alice, laptop, bob] {
      #expect(try device.held().isEmpty && device.store.localWrites.pendingCount() == 0)
    }
    for title in ["of Bob", "of the laptop"] {
      let isKept = try alice.rows("SELECT count(*) FROM reminders WHERE title = '\(title)'") == ["2"]
      let lost = try alice.store.conflicts.list(limit: 9).count { $0.loserValue == .text(Array(title.utf8)) }
      #expect(isKept || lost == 2, "\(title)")
    }
  }

  /// A member of another's zone.
  private func neighbour(_ zone: ZoneID = other) throws -> Member {
    let member = try Member(5, [ZoneStanding(zone: zone, role: .privateZone)])
    try member.run("INSERT INTO lists VALUES ('N', 'n'); INSERT INTO reminders VALUES ('x', 'N', 'neighbour''s', 0)")
    try member.settle()
    return member
  }

  @Test(
    "a delete that meets a move is listed where it was made, and can be carried out after all",
    arguments: [false, true])
  func aDeleteThatMeetsAMove(isDeletedFirst: Bool) throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    try converge([alice, laptop])
    if isDeletedFirst { try laptop.run("DELETE FROM reminders WHERE id = 'r2'") }
    try alice.run("UPDATE reminders SET list = 'L' WHERE id = 'r2'")
    if !isDeletedFirst { try laptop.run("DELETE FROM reminders WHERE id = 'r2'") }
    try converge([alice, laptop])
    for device in [alice, laptop] {
      #expect(try device.rows("SELECT list FROM reminders WHERE id = 'r2'") == ["L"])
    }
    let lost = try #require(try laptop.store.conflicts.list(limit: 9).first { $0.key == .text("r2") })
    #expect(lost.zone == Self.share && lost.column == nil)
    _ = try laptop.store.history.restore(.conflict(lost.id), laptop.reader)
    try converge([alice, laptop])
    for device in [alice, laptop] { #expect(try device.rows("SELECT id FROM reminders WHERE id = 'r2'").isEmpty) }
    // A row that is inserted again is no move.
    try laptop.run("INSERT INTO reminders VALUES ('r2', 'M', 'again', 0)")
    try converge([alice, laptop])
    try laptop.run("DELETE FROM reminders WHERE id = 'r2'")
    try converge([alice, laptop])
    // Each zone has a clock of its own.
    alice.now += 1_000
    try alice.run("UPDATE reminders SET title = 'later' WHERE id = 'r1'")
    try alice.settle()
    try alice.run("INSERT INTO reminders VALUES ('r2', 'L', 'once more', 0)")
    try converge([alice, laptop])
    #expect(try laptop.store.conflicts.list(limit: 9).filter { $0.column == nil && $0.id > lost.id }.isEmpty)
  }

  /// Routes what is pending, and flushes nothing.
  private func route(_ member: Member) throws {
    while try member.store.access.read({ try $0.pending.hasUnrouted() }) {
      _ = try member.store.localWrites.route(now: member.now)
    }
    #expect(try member.store.localWrites.pendingCount() > 0)
  }

  @Test("a new row that is shared before it is flushed goes to the share, and takes what refers to it along")
  func aNewRootThatIsRouted() throws {
    let alice = try SharedList.alice()
    try alice.run(
      """
      INSERT INTO lists VALUES ('N', 'new'); INSERT INTO reminders VALUES ('n', 'N', 'tea', 0);
      INSERT INTO steps VALUES ('s', 'n', 'boil')
      """)
    try route(alice)
    let root = RecordName(table: "lists", key: .text("N"))
    try alice.stand(ZoneStanding(zone: Self.other, role: .owned, root: root))
    try alice.settle()
    #expect(try alice.records(Self.other) == ["lists N", "reminders n", "steps s"])
    #expect(try alice.records(Self.home) == ["lists M", "reminders r2", "steps s2"])
  }

  @Test("a new row that leaves a share before it is flushed is never sent to the share, nor is what refers to it")
  func aNewRowThatLeaves() throws {
    let (alice, bob) = try members()
    try alice.run("INSERT INTO reminders VALUES ('n', 'L', 'plan', 0); INSERT INTO steps VALUES ('s', 'n', 'own')")
    try route(alice)
    try alice.run("UPDATE reminders SET list = 'M', title = 'private' WHERE id = 'n'")
    try converge([alice, bob])
    #expect(try alice.records(Self.share) == ["lists L", "reminders r1", "steps s1"])
    #expect(try alice.records(Self.home) == ["lists M", "reminders n", "reminders r2", "steps s", "steps s2"])
    #expect(try SharedList.texts(bob).isDisjoint(with: ["private", "own", "plan"]))
  }

  @Test("a new row that moves into a share before it is flushed takes what refers to it along")
  func aNewRowThatJoins() throws {
    let (alice, bob) = try members()
    try alice.run("INSERT INTO reminders VALUES ('n', 'M', 'plan', 0); INSERT INTO steps VALUES ('s', 'n', 'go')")
    try route(alice)
    try alice.run("UPDATE reminders SET list = 'L' WHERE id = 'n'")
    try converge([alice, bob])
    #expect(try alice.records(Self.share) == ["lists L", "reminders n", "reminders r1", "steps s", "steps s1"])
    #expect(try alice.records(Self.home) == ["lists M", "reminders r2", "steps s2"])
    #expect(try bob.rows("SELECT title FROM steps WHERE id = 's'") == ["go"])
  }

  @Test("a record that comes back before it has left has the values that were written meanwhile, on all devices")
  func backBeforeItHasLeft() throws {
    let (alice, bob) = try members()
    try alice.run("UPDATE reminders SET list = 'M', title = 'elsewhere' WHERE id = 'r1'")
    try alice.arrive()
    try alice.run("UPDATE reminders SET list = 'L' WHERE id = 'r1'")
    try converge([alice, bob])
    for member in [alice, bob] {
      #expect(try member.rows("SELECT list, title FROM reminders WHERE id = 'r1'") == ["L|elsewhere"])
    }
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a record that was about to come back before it had left, and does not, leaves")
  func almostBack() throws {
    let (alice, bob) = try members()
    try alice.run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    try alice.arrive()
    try alice.run("UPDATE reminders SET list = 'L' WHERE id = 'r1'")
    try route(alice)
    try alice.run("UPDATE reminders SET list = 'M', title = 'private' WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try alice.records(Self.share) == ["lists L"])
    #expect(try alice.records(Self.home) == ["lists M", "reminders r1", "reminders r2", "steps s1", "steps s2"])
    #expect(try bob.records(Self.share) == ["lists L"])
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a record that returns because its list does has the list that was written meanwhile, on all devices")
  func backWithItsList() throws {
    let alice = try SharedList.alice()
    let (share, root) = (Self.other, RecordName(table: "lists", key: .text("M")))
    try alice.run("UPDATE reminders SET list = 'M', title = 'elsewhere' WHERE id = 'r1'")
    try alice.arrive()
    // The reminder that the step now refers to was moved to the share where the step still is.
    try alice.run("UPDATE steps SET reminder = 'r2' WHERE id = 's1'; UPDATE reminders SET list = 'L' WHERE id = 'r2'")
    try alice.stand(ZoneStanding(zone: share, role: .owned, root: root))
    try alice.settle()
    let laptop = try Member(2, alice.standings)
    try converge([alice, laptop])
    for zone in alice.standings.map(\.zone) {
      #expect(try alice.store.zones.digest(zone) == laptop.store.zones.digest(zone))
      #expect(try alice.records(zone) == laptop.records(zone))
    }
    #expect(try alice.contents() == laptop.contents())
    #expect(try laptop.rows("SELECT reminder FROM steps WHERE id = 's1'") == ["r2"])
  }

  @Test("a row that is deleted before its record has left its former zone does not come back")
  func deletedBeforeItHasLeft() throws {
    let (alice, bob) = try members()
    try alice.run("UPDATE reminders SET list = 'M', title = 'elsewhere' WHERE id = 'r1'")
    try alice.arrive()
    try alice.run("DELETE FROM reminders WHERE id = 'r1'")
    while try alice.step() { #expect(try alice.rows("SELECT id FROM reminders") == ["r2"]) }
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id FROM reminders").isEmpty)
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a row that is deleted while its move is being flushed stays deleted", arguments: [false, true])
  func deletedWhileItsMoveIsFlushed(isMovedIn: Bool) throws {
    let (alice, bob) = try members()
    let (row, list, zone) = isMovedIn ? ("r2", "L", Self.share) : ("r1", "M", Self.home)
    try alice.run("UPDATE reminders SET list = '\(list)' WHERE id = '\(row)'")
    try route(alice)
    let writer = try #require(try alice.writers()[zone])
    var flusher = Flusher(store: alice.store.localWrites, writer: writer, now: alice.now)
    // A program commits after the node has looked for rows to route.
    try alice.run("DELETE FROM reminders WHERE id = '\(row)'")
    while case .again = try flusher.attempt() {}
    try converge([alice, bob])
    let rest = isMovedIn ? ["r1"] : ["r2"]
    #expect(try alice.rows("SELECT id FROM reminders") == rest)
    #expect(try bob.rows("SELECT id FROM reminders") == (isMovedIn ? ["r1"] : []))
    for member in [alice, bob] { #expect(try member.store.conflicts.list(limit: 9).isEmpty) }
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a row of a table that was not tracked shows what is merged, also if another zone's rows wait for their flush")
  func trackedAgainBesideAnotherZone() throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    for device in [alice, laptop] {
      try device.run("CREATE TABLE memos (id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT)")
      _ = try device.store.tables.track(tables: ["memos"], now: device.now)
    }
    try alice.run("INSERT INTO memos VALUES ('m', 'old', 'old')")
    try converge([alice, laptop])
    try alice.store.tables.untrack(["memos"])
    try laptop.run("UPDATE memos SET a = 'theirs'")
    try laptop.settle()
    try alice.pull(Self.home, from: laptop)
    try alice.run("UPDATE memos SET a = 'mine', b = 'mine'")
    _ = try alice.store.tables.track(tables: ["memos"], now: alice.now)
    while case .worked = try alice.store.capture.upkeep(alice.reader, now: alice.now) {}
    try alice.run("UPDATE lists SET title = 'renamed' WHERE id = 'L'")
    try alice.settle()
    #expect(try alice.rows("SELECT * FROM memos") == ["m|theirs|mine"])
    try converge([alice, laptop])
    for device in [alice, laptop] { #expect(try device.rows("SELECT * FROM memos") == ["m|theirs|mine"]) }
    #expect(try alice.held().isEmpty)
    #expect(try alice.store.conflicts.list(limit: 9).map(\.loserValue) == [.text(Array("mine".utf8))])
  }

  @Test("SQLite refuses another key for the row that a share was made of, and names the ways out")
  func theRootKeepsItsKey() throws {
    let (alice, bob) = try members()
    for member in [alice, bob] {
      let error = #expect(throws: DatabaseError.self) { try member.run("UPDATE lists SET id = 'Z' WHERE id = 'L'") }
      #expect(error?.message?.contains("mesh share stop, or mesh share leave") == true)
      #expect(try member.rows("SELECT id FROM lists WHERE id IN ('L', 'Z')") == ["L"])
    }
    try alice.run("INSERT INTO lists VALUES ('O', 'private'); UPDATE lists SET id = 'N' WHERE id = 'O'")
    try alice.run("UPDATE lists SET title = 'other' WHERE id = 'L'")
    try converge([alice, bob])
    #expect(try bob.rows("SELECT title FROM lists") == ["other"] && alice.deletedRoots.isEmpty)
  }

  @Test("a participant's change of a moving record is merged after the record has left")
  func othersChangesOfARecordThatMovesWaitTillItHasLeft() throws {
    let (alice, bob) = try members()
    try bob.run("UPDATE reminders SET title = 'bob''s' WHERE id = 'r1'")
    try bob.settle()
    try alice.run("UPDATE reminders SET list = 'M', title = 'alice''s' WHERE id = 'r1'")
    try alice.store(of: Self.share, from: bob)
    let bobs = try bob.author(Self.share)
    var (isMerged, isIdle) = (false, false)
    for _ in 0..<100 where !isIdle {
      let progress = try alice.store.merges.apply(
        Self.share, alice.reader(Self.share), flushing: alice.writers(), now: alice.now)
      if try alice.store.log.mergedVector(Self.share)[bobs] == bob.store.log.mergedVector(Self.share)[bobs] {
        isMerged = true
        #expect(try title("r1", in: Self.share, of: alice) == nil, "it has left")
      }
      switch progress {
      case .idle: isIdle = true
      case .flushFirst: _ = try alice.step()
      case .merged: break
      }
    }
    #expect(isMerged && isIdle)
    try converge([alice, bob])
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["alice's"])
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a row that waits for its zone's key is not overwritten by another zone's record")
  func aRowThatWaitsForItsZonesKeyIsNotOverwrittenByAnothers() throws {
    let (alice, bob) = try members()
    bob.lacking = [Self.share]
    try bob.stand(
      ZoneStanding(zone: Self.other, role: .readWrite, root: RecordName(table: "lists", key: .text("N"))))
    try bob.run("INSERT INTO reminders VALUES ('x', 'L', 'bob''s', 0)")
    try bob.settle()
    try bob.pull(Self.other, from: neighbour())
    #expect(try bob.rows("SELECT title FROM reminders WHERE id = 'x'") == ["bob's"])
    bob.lacking = []
    try bob.settle()
    try bob.apply(Self.other)
    try converge([alice, bob]) { _ in [Self.share] }
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'x'") == ["bob's"])
    #expect(try title("x", in: Self.other, of: bob) == .text("neighbour's"))
    #expect(try Array(bob.held().values) == [.slotTaken])
  }

  @Test("an edit of a displaced record becomes a receipt when the share becomes read-only")
  func whatWasWrittenToARecordThatHasLostItsRowIsKeptWhenThePermissionGoes() throws {
    let (alice, bob) = try members()
    try alice.run("INSERT INTO reminders VALUES ('x', 'L', 'alice''s', 0)")
    try converge([alice, bob]) { _ in [Self.share] }
    bob.lacking = [Self.share]
    try bob.run("UPDATE reminders SET title = 'bob''s' WHERE id = 'x'")
    try bob.settle()
    // The other share's id is lower: its record takes the row.
    let first = Member.zone(0)
    try bob.stand(ZoneStanding(zone: first, role: .readWrite, root: RecordName(table: "lists", key: .text("N"))))
    try bob.pull(first, from: neighbour(first))
    #expect(try bob.rows("SELECT title FROM reminders WHERE id = 'x'") == ["neighbour's"])
    try bob.stand(ZoneStanding(zone: Self.share, role: .readOnly, root: SharedList.root))
    try bob.settle()
    #expect(try bob.store.zones.receipts(Self.share).map(\.values) == [["title": .text("bob's")]])
    #expect(try title("x", in: Self.share, of: bob) == .text("alice's"))
    #expect(try bob.rows("SELECT title FROM reminders WHERE id = 'x'") == ["neighbour's"])
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
  }

  @Test("a record that may no longer leave a read-only share keeps its merged values")
  func aRecordThatMayNotLeaveAnyMoreHasItsMergedValues() throws {
    let (alice, bob) = try members()
    try bob.run("INSERT INTO lists VALUES ('B', 'bob''s')")
    try bob.settle()
    try bob.run("UPDATE reminders SET list = 'B', title = 'edited on the way' WHERE id = 'r1'")
    while try !bob.records(SharedList.bobs).contains("reminders r1") { _ = try bob.step() }
    #expect(try bob.records(Self.share).contains("reminders r1"), "it has arrived, and not left")
    try bob.stand(ZoneStanding(zone: Self.share, role: .readOnly, root: SharedList.root))
    try bob.settle()
    #expect(try title("r1", in: Self.share, of: bob) == .text("milk"))
    #expect(try title("r1", in: SharedList.bobs, of: bob) == .text("edited on the way"))
    try alice.run("UPDATE reminders SET done = 1 WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a key that a moving record gives up goes to the share's waiting record")
  func aRowThatMovesGoesToTheFirstZoneThatWaitsForIt() throws {
    let (alice, bob) = try members()
    try alice.run("INSERT INTO lists VALUES ('P', 'private'); INSERT INTO reminders VALUES ('x', 'P', 'alice''s', 0)")
    try alice.stand(ZoneStanding(zone: Self.other, role: .owned, root: RecordName(table: "lists", key: .text("M"))))
    try bob.run("INSERT INTO reminders VALUES ('x', 'L', 'bob''s', 0)")
    try converge([alice, bob]) { _ in [Self.share] }
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'x'") == ["alice's"])
    try alice.run("UPDATE reminders SET list = 'M' WHERE id = 'x'")
    try alice.settle()
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'x'") == ["bob's"])
    #expect(try title("x", in: Self.other, of: alice) == .text("alice's"))
    #expect(try Array(alice.held().values) == [.slotTaken])
  }

  @Test("a record that is leaving a zone does not take its row back") func aRecordThatLeavesAZoneDoesNotTakeItsRowBack()
    throws
  {
    let alice = try SharedList.alice()
    let other = ZoneStanding(zone: Self.other, role: .owned, root: RecordName(table: "lists", key: .text("M")))
    try alice.stand(other)
    while try !alice.records(Self.other).contains("lists M") { _ = try alice.step() }
    #expect(try alice.records(Self.home).contains("lists M"), "it has arrived, and not left")
    let before = try alice.contents()
    try alice.run("ALTER TABLE tags ADD COLUMN color TEXT")
    while case .schemaChanged = try alice.store.capture.upkeep(alice.reader, now: alice.now) {}
    _ = try alice.store.merges.apply(Self.home, alice.reader(Self.home), flushing: alice.writers(), now: alice.now)
    let held = try alice.rows(
      """
      SELECT r.held FROM mesh_record r JOIN mesh_zone z ON z.id = r.zone JOIN mesh_table t ON t.id = r.tbl
      WHERE t.name = 'lists' AND r.key = 'M' AND z.zone = x'\(String(repeating: "01", count: 32))'
      """)
    #expect(held == ["\(HeldReason.slotTaken.rawValue)"])
    try alice.settle()
    #expect(try alice.contents() == before && alice.held().isEmpty)
    #expect(try alice.records(Self.other) == ["lists M", "reminders r2", "steps s2"])
  }
}
