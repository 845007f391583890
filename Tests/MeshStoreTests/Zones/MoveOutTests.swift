import GRDB
import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Records that leave a share, or come to one, and what is written to them meanwhile.
@Suite struct MoveOutTests {
  private static let (home, share) = (SharedList.home, SharedList.share)
  private static let secret = "private thought"

  private func members() throws -> (alice: Member, bob: Member) {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try converge([alice, bob])
    return (alice, bob)
  }

  /// Nobody else has read it, and nothing is left over.
  private func expectSecret(_ alice: Member, _ bob: Member, _ query: String) throws {
    #expect(try !SharedList.texts(bob).contains(Self.secret))
    #expect(try alice.rows(query) == [Self.secret])
    #expect(try alice.held().isEmpty && alice.store.localWrites.pendingCount() == 0)
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test(
    "a participant's delete of a record that leaves the share is listed at its owner, and can be carried out",
    arguments: [false, true])
  func aDeleteOfWhatLeaves(isMovedFirst: Bool) throws {
    let (alice, bob) = try members()
    let laptop = try SharedList.laptop()
    try converge([alice, laptop, bob])
    try bob.run("DELETE FROM reminders WHERE id = 'r1'")
    try bob.settle()
    try alice.run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    try alice.settle()
    if isMovedFirst { try laptop.pull(Self.home, from: alice) } else { try laptop.pull(Self.share, from: bob) }
    try converge([alice, laptop, bob])
    #expect(try bob.rows("SELECT id FROM reminders").isEmpty && bob.store.conflicts.list(limit: 9).isEmpty)
    for device in [alice, laptop] {
      #expect(try device.rows("SELECT list FROM reminders WHERE id = 'r1'") == ["M"])
      #expect(try device.store.conflicts.list(limit: 9).count { $0.key == .text("r1") && $0.column == nil } == 1)
    }
    let lost = try #require(try alice.store.conflicts.list(limit: 9).first { $0.key == .text("r1") })
    #expect(lost.zone == Self.home)
    _ = try alice.store.history.restore(.conflict(lost.id), alice.reader)
    try converge([alice, laptop, bob])
    for device in [alice, laptop] { #expect(try device.rows("SELECT id FROM reminders WHERE id = 'r1'").isEmpty) }
  }

  @Test("a participant's delete of a record that follows its parent out of the share is not carried out")
  func aDeleteOfWhatFollows() throws {
    let (alice, bob) = try members()
    let laptop = try SharedList.laptop()
    try alice.run("INSERT INTO steps VALUES ('s8', 'r1', 'stays')")
    try converge([alice, laptop, bob])
    try bob.run("DELETE FROM steps WHERE id = 's8'")
    try bob.settle()
    try alice.run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    try alice.settle()
    try laptop.pull(Self.share, from: bob)
    try converge([alice, laptop, bob])
    for device in [alice, laptop] {
      #expect(try device.rows("SELECT title FROM steps WHERE id = 's8'") == ["stays"])
      #expect(try device.store.conflicts.list(limit: 9).count { $0.key == .text("s8") && $0.column == nil } == 1)
    }
  }

  @Test("a row that was to move into a share is private, with its edits, if the share's root is deleted first")
  func aMoveIntoADeletedShare() throws {
    let alice = try SharedList.alice()
    let bob = try Member(
      9,
      [
        ZoneStanding(zone: SharedList.bobs, role: .privateZone),
        ZoneStanding(zone: Self.share, role: .readWrite, root: SharedList.root),
      ], foreignKeys: false)
    try converge([alice, bob])
    try bob.run("INSERT INTO lists VALUES ('B', 'mine'); INSERT INTO reminders VALUES ('p', 'B', 'private', 0)")
    try bob.settle()
    bob.lacking = [Self.share]
    try bob.run("UPDATE reminders SET list = 'L', title = 'moved' WHERE id = 'p'")
    try bob.settle()
    try bob.run("DELETE FROM lists WHERE id = 'L'")
    try bob.settle()
    #expect(try bob.store.zones.receipts(Self.share).isEmpty)
    #expect(try Array(bob.held().values) == [.parentElsewhere] && bob.store.localWrites.pendingCount() == 0)
    let phone = try Member(10, [ZoneStanding(zone: SharedList.bobs, role: .privateZone)])
    try phone.pull(SharedList.bobs, from: bob)
    try phone.run("INSERT INTO lists VALUES ('L', 'again')")
    try phone.settle()
    #expect(try phone.rows("SELECT list, title FROM reminders") == ["L|moved"])
  }

  @Test("an edit under a parent that leaves the share is not shared")
  func whatIsWrittenUnderAParentThatHasLeftIsNotShared() throws {
    let (alice, bob) = try members()
    try alice.run(
      "UPDATE reminders SET list = 'M' WHERE id = 'r1'; UPDATE steps SET title = '\(Self.secret)' WHERE id = 's1'")
    try converge([alice, bob])
    try expectSecret(alice, bob, "SELECT title FROM steps WHERE id = 's1'")
    #expect(try alice.records(Self.share) == ["lists L"])
  }

  @Test("an edit of a record that left is not shared, even after many other writes")
  func whatIsWrittenToARecordThatHasLeftIsNotSharedHoweverMuchWasWrittenBetween() throws {
    let (alice, bob) = try members()
    try alice.run(
      """
      UPDATE reminders SET list = 'M' WHERE id = 'r1';
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Choices.slice))
        INSERT INTO tags SELECT 't' || i, 'x' FROM n;
      UPDATE reminders SET title = '\(Self.secret)' WHERE id = 'r1';
      """)
    try converge([alice, bob])
    try expectSecret(alice, bob, "SELECT title FROM reminders WHERE id = 'r1'")
    #expect(try alice.records(Self.share) == ["lists L"])
  }

  @Test("an edit that waits for the share's key goes to the zone of its moved record")
  func anEditThatWaitsForAKeyGoesWhereItsRecordGoes() throws {
    let (alice, bob) = try members()
    alice.lacking = [Self.share]
    try alice.run("UPDATE reminders SET title = 'harmless' WHERE id = 'r1'")
    try alice.settle()
    try alice.run("UPDATE reminders SET list = 'M', title = '\(Self.secret)' WHERE id = 'r1'")
    try alice.settle()
    alice.lacking = []
    try converge([alice, bob])
    try expectSecret(alice, bob, "SELECT title FROM reminders WHERE id = 'r1'")
    #expect(try alice.records(Self.share) == ["lists L"])
  }

  @Test("an edit that waits goes where its record goes, however its key is spelled")
  func aKeyThatIsSpelledOtherwise() throws {
    let (alice, bob) = try members()
    for device in [alice, bob] {
      try device.run(
        "CREATE TABLE notes (id TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, list TEXT REFERENCES lists, title TEXT)")
      try device.store.tables.track(tables: ["notes"], private: [], integerKeys: false, now: device.now)
    }
    try alice.run("INSERT INTO notes VALUES ('n1', 'L', 'harmless')")
    try converge([alice, bob])
    alice.lacking = [Self.share]
    try alice.run("UPDATE notes SET id = 'N1', title = 'harmless, too' WHERE id = 'n1'")
    try alice.settle()
    try alice.run("UPDATE notes SET list = 'M', title = '\(Self.secret)' WHERE id = 'N1'")
    try alice.settle()
    alice.lacking = []
    try converge([alice, bob])
    #expect(try alice.rows("SELECT id, list, title FROM notes") == ["N1|M|\(Self.secret)"])
    #expect(try bob.rows("SELECT id FROM notes").isEmpty && !SharedList.texts(bob).contains(Self.secret))
    #expect(
      try !alice.records(Self.share).contains { $0.hasPrefix("notes") } && alice.store.localWrites.pendingCount() == 0)
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("an index finds the notes of a record that have a zone")
  func routedNotesAreFoundByAnIndex() throws {
    let alice = try SharedList.alice()
    let plan = try alice.rows("EXPLAIN QUERY PLAN \(PendingTable.ofRecord.replacing("?", with: "1"))")
    #expect(plan.count == 1 && plan.allSatisfy { $0.contains("USING INDEX mesh_pending_routed") }, "\(plan)")
  }

  @Test("an edit that lost because its record left the share is listed with the value that the record has now")
  func anEditOfWhatLeft() throws {
    let (alice, bob) = try members()
    try bob.run("UPDATE reminders SET title = 'lost' WHERE id = 'r1'")
    try bob.settle()
    try alice.run("UPDATE reminders SET list = 'M', title = 'kept' WHERE id = 'r1'")
    try alice.settle()
    try converge([alice, bob])
    let conflict = try #require(alice.store.conflicts.list(limit: 9).first { $0.column == "title" })
    #expect(conflict.loserValue == .text("lost") && conflict.winnerValue == .text("kept") && !conflict.isWinnerDelete)
    _ = try alice.store.history.restore(.conflict(conflict.id), alice.reader)
    try alice.settle()
    #expect(try alice.rows("SELECT list, title FROM reminders WHERE id = 'r1'") == ["M|lost"])
    #expect(try !alice.store.conflicts.list(limit: 9).contains { $0.column == "title" })
    let bobs = try bob.store.conflicts.list(limit: 9).filter { $0.column == "title" }
    #expect(bobs.map(\.loserValue) == [.text("lost")] && bobs.allSatisfy(\.isWinnerDelete))
  }

  @Test("a move into a share that waits for its key can be undone") func aMoveIntoAShareThatWaitsForAKeyCanBeTakenBack()
    throws
  {
    let (alice, bob) = try members()
    alice.lacking = [Self.share]
    try alice.run("UPDATE reminders SET list = 'L' WHERE id = 'r2'")
    try alice.settle()
    try alice.run("UPDATE reminders SET list = 'M', title = '\(Self.secret)' WHERE id = 'r2'")
    try alice.settle()
    alice.lacking = []
    try converge([alice, bob])
    try expectSecret(alice, bob, "SELECT title FROM reminders WHERE id = 'r2'")
    #expect(try alice.records(Self.share) == ["lists L", "reminders r1", "steps s1"])
  }

  @Test("a record that returns before its move was flushed stays in the share")
  func aRecordThatIsBackBeforeItWasGoneStays() throws {
    let (alice, bob) = try members()
    alice.lacking = [Self.share]
    try alice.run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    try alice.settle()
    try alice.run("UPDATE reminders SET list = 'L', title = 'back' WHERE id = 'r1'")
    try alice.settle()
    alice.lacking = []
    try converge([alice, bob])
    #expect(try bob.contents() == ["lists|L|shared", "reminders|r1|L|back|0", "steps|s1|r1|go"])
    #expect(try alice.records(Self.share) == ["lists L", "reminders r1", "steps s1"])
    #expect(try alice.held().isEmpty && alice.store.localWrites.pendingCount() == 0)
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a record that moves onto another record's key in a share keeps its values")
  func aRecordThatMovesToWhereAnotherHasItsKeyKeepsItsValues() throws {
    let (alice, bob) = try members()
    try bob.run("INSERT INTO reminders VALUES ('r2', 'L', 'bob''s', 0)")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT list, title FROM reminders WHERE id = 'r2'") == ["M|secret"])
    try alice.run("UPDATE reminders SET list = 'L' WHERE id = 'r2'")
    try converge([alice, bob])
    for member in [alice, bob] {
      #expect(try member.rows("SELECT list, title FROM reminders WHERE id = 'r2'") == ["L|secret"])
    }
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a private row held without its parent does not join a share's row with that key")
  func whatWaitsForAPrivateParentDoesNotGoToAnothersOfItsKey() throws {
    let (alice, laptop, bob) = (try SharedList.alice(), try SharedList.laptop(), try SharedList.bob())
    try converge([alice, laptop, bob])
    try alice.run("DELETE FROM reminders WHERE id = 'r2'")
    try laptop.run("INSERT INTO steps VALUES ('s9', 'r2', '\(Self.secret)')")
    try converge([alice, laptop, bob])
    #expect(try Array(alice.held().values) == [.parentDeleted])
    try bob.run("INSERT INTO reminders VALUES ('r2', 'L', 'planted', 0)")
    try converge([alice, laptop, bob])
    #expect(try !SharedList.texts(bob).contains(Self.secret))
    #expect(try alice.held().count == 1 && alice.records(Self.home).contains("steps s9"), "it is kept")
    #expect(try alice.contents() == laptop.contents())
  }

  @Test("a child that is inserted before its parent stays in its writer's table while it moves to the parent's share")
  func childBeforeItsParent() throws {
    let (alice, bob) = (try SharedList.alice(foreignKeys: false), try SharedList.bob())
    try converge([alice, bob])
    try alice.run("INSERT INTO steps VALUES ('s9', 'r9', 'first')")
    try alice.settle()
    try alice.run("INSERT INTO reminders VALUES ('r9', 'L', 'later', 0)")
    var isMore = true
    while isMore {
      isMore = try alice.step()
      #expect(try alice.rows("SELECT title FROM steps WHERE id = 's9'") == ["first"])
    }
    #expect(try alice.store.localWrites.pendingCount() == 0, "the last step said that nothing is left")
    try converge([alice, bob])
    #expect(try bob.rows("SELECT title FROM steps WHERE id = 's9'") == ["first"])
    #expect(try alice.held().isEmpty)
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a private child does not follow a record of the share that has the key of its deleted parent")
  func anothersRecordWithTheKeyOfAParent() throws {
    let (alice, bob) = (try SharedList.alice(foreignKeys: false), try SharedList.bob())
    try converge([alice, bob])
    try alice.run("DELETE FROM reminders WHERE id = 'r2'; INSERT INTO steps VALUES ('s9', 'r2', '\(Self.secret)')")
    try alice.settle()
    try bob.run("INSERT INTO reminders VALUES ('r2', 'L', 'planted', 0)")
    try converge([alice, bob])
    #expect(try !SharedList.texts(bob).contains(Self.secret))
    #expect(try alice.records(Self.home).contains("steps s9"), "it is kept")
  }

  @Test(
    "a row that is written and moved out and back in haste stays in its table, whatever is flushed in between",
    arguments: TestSeeds.isFast ? 2..<4 : 0..<6, 0..<6)
  func outAndBackBetweenSteps(first: Int, second: Int) throws {
    let (alice, bob) = try members()
    func run(_ sql: String) throws {
      try alice.other.write { db in
        try db.execute(sql: sql)
        #expect(db.changesCount == 1)
      }
    }
    try run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    for _ in 0..<first { _ = try alice.step() }
    try run("UPDATE reminders SET title = 'middle' WHERE id = 'r1'")
    // The note is routed to the private zone before the row goes back.
    if second > 0 { _ = try alice.step() }
    try run("UPDATE reminders SET list = 'L' WHERE id = 'r1'")
    for _ in 0..<second { _ = try alice.step() }
    try run("UPDATE reminders SET done = 1 WHERE id = 'r1'")
    try run("UPDATE steps SET title = 'last' WHERE id = 's1'")
    try converge([alice, bob])
    for member in [alice, bob] {
      #expect(try member.rows("SELECT list, title, done FROM reminders WHERE id = 'r1'") == ["L|middle|1"])
      #expect(try member.rows("SELECT title FROM steps WHERE id = 's1'") == ["last"])
    }
    #expect(try alice.held().isEmpty && alice.store.localWrites.pendingCount() == 0)
  }

  @Test("a hidden record that the row of another share overwrites is listed")
  func hiddenRecordIsOverwritten() throws {
    let (alice, bob) = try members()
    // Alice's row is private and shown. Bob's has the same key and is held on Alice's machine.
    try alice.run("INSERT INTO reminders VALUES ('r7', 'M', 'private', 0)")
    try bob.run("INSERT INTO reminders VALUES ('r7', 'L', 'bobs', 1)")
    try converge([alice, bob])
    let isBobsHidden = try alice.rows("SELECT title FROM reminders WHERE id = 'r7'") == ["private"]
    #expect(isBobsHidden)
    try alice.run("UPDATE reminders SET list = 'L' WHERE id = 'r7'")
    try converge([alice, bob])
    #expect(try bob.rows("SELECT title FROM reminders WHERE id = 'r7'") == ["private"])
    let lost = try alice.store.conflicts.list(limit: 9).filter { $0.key == .text("r7") }.map(\.loserValue)
    #expect(lost.contains(.text("bobs")) && lost.contains(.integer(1)))
    let wanted = Restoration.record(table: "reminders", key: .text("r7"), columns: ["title"])
    #expect(try alice.store.history.restore(wanted, alice.reader).values == ["title": .text("bobs")])
  }

  @Test("a record that is in no table is listed if a program writes a row with its key in another share")
  func heldRecordIsOverwritten() throws {
    let (alice, bob) = try members()
    try alice.run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    try bob.run("INSERT INTO steps VALUES ('s9', 'r1', 'bobs')")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT title FROM steps WHERE id = 's9'").isEmpty)
    try alice.run("INSERT INTO steps VALUES ('s9', 'r1', 'private')")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT title FROM steps WHERE id = 's9'") == ["private"])
    let lost = try alice.store.conflicts.list(limit: 9).filter { $0.key == .text("s9") }.map(\.loserValue)
    #expect(lost == [.text("bobs")])
  }

  @Test(
    "a refused value is listed if a program writes over its row and moves it to another share",
    arguments: ["INSERT OR REPLACE INTO reminders VALUES ('r1', 'M', 'mine', 0)", "UPDATE reminders SET list = 'M'"])
  func refusedValueIsOverwritten(write: String) throws {
    let (alice, bob) = try members()
    try alice.run(
      """
      CREATE TRIGGER refuse BEFORE UPDATE OF title ON reminders WHEN NEW.title LIKE 'refused%'
      BEGIN SELECT RAISE(ABORT, 'refused'); END
      """)
    try bob.run("UPDATE reminders SET title = 'refused by alice' WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["milk"])
    try alice.run(write)
    try converge([alice, bob])
    let lost = try alice.store.conflicts.list(limit: 9).filter { $0.key == .text("r1") }.map(\.loserValue)
    let isOverwritten = write.hasPrefix("INSERT")
    #expect(lost == (isOverwritten ? [.text("refused by alice")] : []))
    if !isOverwritten { #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'r1'") != ["refused by alice"]) }
  }
}
