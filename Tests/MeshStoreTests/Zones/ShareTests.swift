import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Records of several zones in one file.
@Suite struct ShareTests {
  static let (home, share, bobs) = (Member.zone(1), Member.zone(2), Member.zone(3))
  static let root = RecordName(table: "lists", key: .text("L"))
  private static let mine = ZoneStanding(zone: home, role: .privateZone)
  private static let shared = ZoneStanding(zone: share, role: .owned, root: root)

  private func bob(_ role: ZoneStanding.Role = .readWrite, foreignKeys: Bool = true) throws -> Member {
    try Member(
      9,
      [
        ZoneStanding(zone: Self.bobs, role: .privateZone), ZoneStanding(zone: Self.share, role: role, root: Self.root),
      ], foreignKeys: foreignKeys)
  }

  /// Two lists; the one called L has a reminder with a step and a tag, and a cover in a private table.
  private func alice(_ seed: UInt8 = 1) throws -> Member {
    let alice = try Member(seed, [Self.mine])
    try alice.run(
      """
      INSERT INTO lists VALUES ('L', 'shared'), ('M', 'mine');
      INSERT INTO reminders VALUES ('r1', 'L', 'milk', 0), ('r2', 'M', 'secret', 0);
      INSERT INTO steps VALUES ('s1', 'r1', 'go'), ('s2', 'r2', 'hide');
      INSERT INTO tags VALUES ('t', 'red');
      INSERT INTO taggings VALUES ('g', 'r1', 't');
      INSERT INTO covers VALUES ('c', 'L', 'picture');
      """)
    try alice.settle()
    return alice
  }

  @Test("a share takes its root and the rows below it, and no other rows")
  func aShareTakesItsRootAndAllThatReachesItAndNothingElse() throws {
    let alice = try alice()
    try alice.run(
      """
      CREATE TABLE seen (what TEXT);
      CREATE TRIGGER seen_update AFTER UPDATE ON reminders BEGIN INSERT INTO seen VALUES ('update'); END;
      CREATE TRIGGER seen_delete AFTER DELETE ON reminders BEGIN INSERT INTO seen VALUES ('delete'); END;
      """)
    let before = try alice.contents()
    try alice.stand(Self.shared)
    try alice.settle()
    #expect(try alice.records(Self.share) == ["lists L", "reminders r1", "steps s1"])
    #expect(
      try alice.records(Self.home) == ["covers c", "lists M", "reminders r2", "steps s2", "taggings g", "tags t"])
    #expect(try alice.contents() == before)
    #expect(try alice.rows("SELECT * FROM seen").isEmpty, "the rows stay what they are")
    #expect(try alice.store.localWrites.pendingCount() == 0 && alice.held().isEmpty)
    let bob = try bob()
    try bob.pull(Self.share, from: alice)
    #expect(try bob.contents() == ["lists|L|shared", "reminders|r1|L|milk|0", "steps|s1|r1|go"])
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
  }

  @Test("a private row with the key of a share's root gets another key, and the root is shown")
  func aRivalOfARootGetsAnotherKey() throws {
    let (alice, bob) = (try alice(), try bob())
    try bob.run("INSERT INTO lists VALUES ('L', 'private')")
    try bob.settle()
    try alice.stand(Self.shared)
    try alice.settle()
    try bob.pull(Self.share, from: alice)
    #expect(try bob.rows("SELECT title FROM lists") == ["private"])
    try bob.run("UPDATE lists SET id = 'mine' WHERE id = 'L'")
    try bob.settle()
    #expect(try bob.contents() == ["lists|L|shared", "lists|mine|private", "reminders|r1|L|milk|0", "steps|s1|r1|go"])
    #expect(try bob.held().isEmpty && bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
    #expect(throws: DatabaseError.self) { try bob.run("UPDATE lists SET id = 'other' WHERE id = 'L'") }
  }

  @Test("a participant's rows outside the share's tree are held by the owner")
  func whoMayWriteToAShareWritesToNoOtherTables() throws {
    let alice = try alice()
    try alice.stand(Self.shared)
    try alice.settle()
    let before = try alice.contents()
    // Takes everything that is written to its file for the share's.
    let mallory = try Member(7, [ZoneStanding(zone: Self.share, role: .privateZone)])
    try mallory.pull(Self.share, from: alice)
    try mallory.run(
      """
      INSERT INTO lists VALUES ('X', 'another list'); INSERT INTO tags VALUES ('u', 'planted');
      INSERT INTO reminders VALUES ('r8', 'X', 'under it', 0), ('r9', 'L', 'part of it', 0);
      INSERT INTO taggings VALUES ('h', 'r1', 'u'); INSERT INTO covers VALUES ('d', 'L', 'planted');
      UPDATE lists SET title = 'renamed' WHERE id = 'L';
      """)
    try mallory.settle()
    try alice.pull(Self.share, from: mallory)
    #expect(
      try Set(alice.contents()).symmetricDifference(before)
        == ["reminders|r9|L|part of it|0", "lists|L|shared", "lists|L|renamed"])
    let held = """
      SELECT name || ' ' || key || ' ' || held FROM mesh_record JOIN mesh_table ON id = tbl WHERE held IS NOT NULL
      ORDER BY 1
      """
    let (outside, orphan) = (HeldReason.outsideShare.rawValue, HeldReason.missingParent.rawValue)
    #expect(
      try alice.rows(held) == [
        "covers d \(outside)", "lists X \(outside)", "reminders r8 \(orphan)", "taggings h \(outside)",
        "tags u \(outside)",
      ])
    #expect(try alice.store.zones.digest(Self.share) == mallory.store.zones.digest(Self.share))
    // An edit of what is held stays held, and a delete ends it.
    try mallory.run("UPDATE tags SET title = 'again' WHERE id = 'u'; DELETE FROM lists WHERE id = 'X'")
    try mallory.settle()
    try alice.pull(Self.share, from: mallory)
    #expect(try alice.rows("SELECT id FROM tags") == ["t"])
    let planted = ["covers d \(outside)", "taggings h \(outside)", "tags u \(outside)"]
    #expect(try alice.rows(held) == planted)
    #expect(try alice.store.zones.digest(Self.share) == mallory.store.zones.digest(Self.share))
    // Nor does it come in when the share ends.
    try alice.stand(ZoneStanding(zone: Self.share, role: .owned, root: Self.root, isStopped: true))
    try alice.settle()
    try alice.reopen()
    try alice.settle()
    #expect(try alice.rows("SELECT id FROM tags") == ["t"])
    #expect(try alice.rows(held) == planted)
    #expect(try alice.records(Self.home).contains("reminders r9"))
  }

  @Test("a table that is private on one device becomes private on the account's other devices")
  func aTableThatIsPrivateOnOneDeviceIsSoOnAll() throws {
    let alice = try alice()
    let told = try alice.store.schema.schemaDescriptions()
    #expect(told.filter(\.isPrivate).map(\.name) == ["covers"])
    #expect(told.shared(from: ["Lists"]).map(\.name).sorted() == ["lists", "reminders", "steps"])
    // To be synchronized again changes nothing.
    try alice.store.tables.track(tables: ["covers"], integerKeys: false, now: alice.now)
    #expect(try alice.store.schema.schemaDescriptions() == told)
    let device = try alice.author(Self.home).device
    let adopting = try Peer(5)
    #expect(try adopting.store.schema.saveForeignSchema(told, device: device, isOwn: true).isEmpty)
    try adopting.store.schema.adopt(adopting.store.schema.foreign(), now: alice.now)
    #expect(try adopting.store.schema.schemaDescriptions().filter(\.isPrivate).map(\.name) == ["covers"])
    let other = try Peer(6, schema: Member.schema, track: Member.tables + Member.privateTables)
    #expect(try other.store.schema.saveForeignSchema(told, device: device, isOwn: false).isEmpty)
    #expect(try other.store.schema.schemaDescriptions().allSatisfy { !$0.isPrivate }, "strangers decide nothing")
    #expect(try other.store.schema.saveForeignSchema(told, device: device, isOwn: true) == ["covers"])
    #expect(try other.store.schema.schemaDescriptions().filter(\.isPrivate).map(\.name) == ["covers"])
  }

  @Test("writes to a zone without its key do not delay other zones")
  func whatIsWrittenToAZoneThatCanNotBeWrittenNowKeepsNothingElseWaiting() throws {
    let alice = try alice()
    try alice.stand(Self.shared)
    try alice.settle()
    let other = try Member(2, [Self.mine, Self.shared])
    for zone in [Self.home, Self.share] { try other.pull(zone, from: alice) }
    try other.run("UPDATE lists SET title = 'other' WHERE id = 'M'; UPDATE reminders SET done = 2 WHERE id = 'r1'")
    try other.settle()
    alice.lacking = [Self.share]
    try alice.run("UPDATE reminders SET title = 'bread'; DELETE FROM tags")
    try alice.settle()
    #expect(try alice.rows("SELECT tbl, key FROM mesh_pending") == ["2|r1"])
    try alice.pull(Self.home, from: other)
    #expect(try alice.rows("SELECT title FROM lists WHERE id = 'M'") == ["other"])
    try alice.store(of: Self.share, from: other)
    #expect(
      try alice.store.merges.apply(Self.share, alice.reader(Self.share), flushing: alice.writers(), now: alice.now)
        == .flushFirst)
    alice.lacking = []
    try alice.settle()
    try alice.apply(Self.share)
    for zone in [Self.home, Self.share] { try other.pull(zone, from: alice) }
    #expect(try alice.contents() == other.contents())
    #expect(try alice.rows("SELECT title, done FROM reminders WHERE id = 'r1'") == ["bread|2"])
  }

  @Test("a move ends the same, whichever zone's change sets arrive first", arguments: [[home, share], [share, home]])
  func aMoveEndsTheSameInWhateverOrderItsTwoSidesArrive(order: [ZoneID]) throws {
    let desktop = try alice()
    let laptop = try Member(2, [Self.mine])
    try laptop.pull(Self.home, from: desktop)
    try desktop.stand(Self.shared)
    try desktop.settle()
    try laptop.stand(Self.shared)
    for zone in order { try laptop.pull(zone, from: desktop) }
    #expect(try laptop.contents() == desktop.contents())
    try converge([desktop, laptop])
    #expect(try laptop.contents() == desktop.contents())
    for zone in order { #expect(try laptop.store.zones.digest(zone) == desktop.store.zones.digest(zone)) }
    #expect(try laptop.held().isEmpty && desktop.held().isEmpty)
  }

  @Test("new rows join the zone of their parent, also if a participant writes them")
  func newDescendantsJoinByTheirParentWhoeverWritesThem() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try alice.settle()
    try bob.pull(Self.share, from: alice)
    try bob.run(
      """
      INSERT INTO reminders VALUES ('r3', 'L', 'eggs', 0);
      INSERT INTO steps VALUES ('s3', 'r3', 'count'), ('s4', 'r1', 'pay');
      INSERT INTO lists VALUES ('B', 'bob''s');
      INSERT INTO reminders VALUES ('r4', 'B', 'hidden', 0);
      """)
    try bob.settle()
    #expect(try bob.records(Self.bobs) == ["lists B", "reminders r4"])
    try alice.pull(Self.share, from: bob)
    #expect(try alice.rows("SELECT id FROM reminders ORDER BY id") == ["r1", "r2", "r3"])
    #expect(
      try alice.records(Self.share)
        == ["lists L", "reminders r1", "reminders r3", "steps s1", "steps s3", "steps s4"])
  }

  @Test("a record that gets a parent in another zone moves with its descendants")
  func aRecordThatGetsAnotherParentMovesWithItsDescendants() throws {
    let (alice, laptop, bob) = (try alice(), try Member(2, [Self.mine, Self.shared]), try bob())
    try alice.stand(Self.shared)
    try converge([alice, laptop, bob])
    try alice.run("UPDATE reminders SET list = 'M', title = 'moved' WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    #expect(try bob.contents() == ["lists|L|shared"])
    #expect(try laptop.rows("SELECT list, title FROM reminders WHERE id = 'r1'") == ["M|moved"])
    #expect(try alice.records(Self.share) == ["lists L"])
    try laptop.run("UPDATE reminders SET list = 'L' WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    #expect(try bob.rows("SELECT list, title FROM reminders") == ["L|moved"])
    #expect(try bob.rows("SELECT title FROM steps") == ["go"])
    #expect(try alice.contents() == laptop.contents())
    #expect(try alice.held().isEmpty && laptop.held().isEmpty && bob.held().isEmpty)
  }

  @Test("rows that the sharing device had not seen follow their root into the share")
  func whatItsMoverHadNotSeenFollows() throws {
    let (desktop, laptop, bob) = (try alice(), try Member(2, [Self.mine]), try bob())
    try laptop.pull(Self.home, from: desktop)
    try laptop.run(
      "INSERT INTO reminders VALUES ('late', 'L', 'offline', 0); INSERT INTO steps VALUES ('deep', 'late', 'x')")
    try laptop.settle()
    try desktop.stand(Self.shared)
    try desktop.settle()
    try desktop.pull(Self.home, from: laptop)
    try desktop.settle()
    #expect(try desktop.rows("SELECT title FROM reminders WHERE id = 'late'") == ["offline"])
    try laptop.stand(Self.shared)
    try converge([desktop, laptop, bob])
    #expect(try bob.rows("SELECT id FROM reminders ORDER BY id") == ["late", "r1"])
    #expect(try bob.rows("SELECT id FROM steps ORDER BY id") == ["deep", "s1"])
    #expect(try desktop.contents() == laptop.contents())
    #expect(try desktop.held().isEmpty && laptop.held().isEmpty)
  }

  @Test("a participant's row with the key of a private row does not displace it") func aGuessedKeyDisplacesNobodysRow()
    throws
  {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try alice.settle()
    try bob.pull(Self.share, from: alice)
    // A reminder under the shared list, with the key of a private one; and a step under it.
    try bob.run("INSERT INTO reminders VALUES ('r2', 'L', 'bob''s', 0); INSERT INTO steps VALUES ('mine', 'r2', 'x')")
    try bob.settle()
    try alice.pull(Self.share, from: bob)
    #expect(try alice.rows("SELECT list, title FROM reminders WHERE id = 'r2'") == ["M|secret"])
    #expect(Set(try alice.held().values) == [.slotTaken, .parentElsewhere])
    #expect(
      try alice.rows("SELECT * FROM steps WHERE id = 'mine'").isEmpty, "it is not under a row that is not its parent")
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
    try alice.run("DELETE FROM reminders WHERE id = 'r2'")
    try alice.settle()
    #expect(try alice.rows("SELECT list, title FROM reminders WHERE id = 'r2'") == ["L|bob's"])
    #expect(try alice.rows("SELECT reminder FROM steps WHERE id = 'mine'") == ["r2"])
    #expect(try alice.held().isEmpty)
    // And the other way: a private row comes to where a share's is shown.
    try bob.run("INSERT INTO reminders VALUES ('r9', 'L', 'first', 0)")
    try converge([alice, bob])
    let laptop = try Member(2, [Self.mine])
    try laptop.pull(Self.home, from: alice)
    try laptop.run("INSERT INTO reminders VALUES ('r9', 'M', 'private', 0)")
    try laptop.settle()
    try alice.pull(Self.home, from: laptop)
    #expect(try alice.rows("SELECT list, title FROM reminders WHERE id = 'r9'") == ["M|private"])
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("a record in a share whose parent is in the owner's private zone is held")
  func aRecordWhoseParentIsInAStrangersZoneIsHeld() throws {
    // With foreign keys off, a program can refer to a row that only Alice has.
    let (alice, bob) = (try alice(), try bob(foreignKeys: false))
    try alice.stand(Self.shared)
    try alice.settle()
    try bob.pull(Self.share, from: alice)
    try bob.run("INSERT INTO reminders VALUES ('bad', 'L', 'x', 0)")
    try bob.settle()
    try bob.run("UPDATE reminders SET list = 'M' WHERE id = 'bad'")
    // Even a list of that key that was in the share once.
    try bob.run("INSERT INTO reminders VALUES ('worse', 'L', 'x', 0); INSERT INTO steps VALUES ('w', 'worse', 'x')")
    try bob.settle()
    try bob.run("DELETE FROM reminders WHERE id = 'worse'")
    try alice.run("INSERT INTO reminders VALUES ('worse', 'M', 'private', 0)")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT * FROM reminders WHERE id = 'bad'").isEmpty)
    #expect(try alice.rows("SELECT * FROM steps WHERE id = 'w'").isEmpty)
    #expect(try alice.held().values.contains(.parentElsewhere))
    #expect(try !alice.records(Self.home).contains { $0.contains("bad") || $0.contains("steps w") })
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
  }

  @Test("SQLite refuses all writes to the rows of a read-only share", arguments: [true, false])
  func aShareThatIsReadOnlyHereTakesNoWrites(foreignKeys: Bool) throws {
    let alice = try alice()
    try alice.stand(Self.shared)
    try alice.settle()
    let carol = try bob(.readOnly, foreignKeys: foreignKeys)
    try carol.pull(Self.share, from: alice)
    try carol.run("INSERT INTO reminders VALUES ('free', NULL, 'mine', 0)")
    for sql in [
      "REPLACE INTO reminders VALUES ('r1', NULL, 'stolen', 0)",
      "UPDATE OR REPLACE reminders SET id = 'r1' WHERE id = 'free'",
      "INSERT INTO lists VALUES ('L', 'x') ON CONFLICT DO UPDATE SET title = excluded.title",
      "UPDATE lists SET title = 'x' WHERE id = 'L'", "UPDATE reminders SET title = 'x' WHERE id = 'r1'",
      "DELETE FROM reminders WHERE id = 'r1'", "DELETE FROM lists WHERE id = 'L'",
      "INSERT INTO reminders VALUES ('new', 'L', 'x', 0)", "INSERT INTO steps VALUES ('new', 'r1', 'x')",
      "REPLACE INTO lists VALUES ('L', 'x')",
    ] {
      let error = #expect(throws: (any Error).self, "\(sql)") { try carol.run(sql) }
      #expect("\(String(describing: error))".contains(ZoneStanding.refusal), "\(sql)")
    }
    try carol.run("INSERT INTO lists VALUES ('C', 'mine'); INSERT INTO reminders VALUES ('own', 'C', 'x', 0)")
    #expect(throws: (any Error).self) { try carol.run("UPDATE reminders SET list = 'L' WHERE id = 'own'") }
    try carol.settle()
    #expect(try carol.records(Self.bobs) == ["lists C", "reminders free", "reminders own"])
    #expect(try carol.store.log.storedVector(Self.share).authors.count == 1)
    try carol.stand(ZoneStanding(zone: Self.share, role: .readWrite, root: Self.root))
    try carol.run("UPDATE reminders SET title = 'x' WHERE id = 'r1'")
    #expect(try carol.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'mesh_permit*'").isEmpty)
  }

  @Test("a row written before its share arrived joins it once the share is read-write")
  func whatWasWrittenBeforeTheShareCameFollowsOnceItMay() throws {
    let alice = try alice()
    try alice.stand(Self.shared)
    try alice.settle()
    let bob = try bob(.readOnly, foreignKeys: false)
    try bob.run("INSERT INTO reminders VALUES ('early', 'L', 'bob''s', 0)")
    try bob.settle()
    try bob.pull(Self.share, from: alice)
    try bob.settle()
    #expect(try bob.rows("SELECT id FROM reminders") == ["r1"])
    #expect(try Array(bob.held().values) == [.parentElsewhere])
    try bob.stand(ZoneStanding(zone: Self.share, role: .readWrite, root: Self.root))
    try bob.settle()
    #expect(try bob.rows("SELECT id FROM reminders ORDER BY id") == ["early", "r1"])
    try alice.pull(Self.share, from: bob)
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'early'") == ["bob's"])
  }

  @Test("a held record names the zone in which its parent is by now", arguments: [1, 2, 7] as [Int64])
  func parentElsewhereByNow(noted: Int64) throws {
    let (alice, bob) = (try alice(), try bob(.readOnly, foreignKeys: false))
    try alice.stand(Self.shared)
    try alice.settle()
    try bob.run("INSERT INTO reminders VALUES ('early', 'L', 'bob''s', 0)")
    try bob.settle()
    let phone = try Member(10, bob.standings)
    try phone.pull(Self.bobs, from: bob)
    #expect(try phone.store.held.list(limit: 9).map(\.reason) == [.missingParent])
    try phone.pull(Self.share, from: alice)
    try phone.run("UPDATE mesh_record SET held = \(noted) WHERE key = 'early'")
    let held = try phone.store.held.list(limit: 9)
    #expect(held.map(\.reason) == [.parentElsewhere])
    #expect(held.first?.waitsFor.map(\.zone) == [Self.share])
    #expect(try phone.store.figures.heldCounts() == ["parent-in-other-zone": 1])
  }

  @Test("pending edits of a share that becomes read-only are undone and kept as receipts")
  func whatWasPendingWhenThePermissionWentIsRolledBackAndKept() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try bob.run(
      """
      UPDATE reminders SET title = 'edited' WHERE id = 'r1'; INSERT INTO reminders VALUES ('new', 'L', 'x', 0);
      DELETE FROM steps WHERE id = 's1'; INSERT INTO lists VALUES ('B', 'stays');
      """)
    try bob.stand(ZoneStanding(zone: Self.share, role: .readOnly, root: Self.root))
    try bob.settle()
    #expect(
      try bob.contents() == ["lists|B|stays", "lists|L|shared", "reminders|r1|L|milk|0", "steps|s1|r1|go"])
    let receipts = try bob.store.zones.receipts(Self.share)
    #expect(Set(receipts.map { "\($0.record.table) \($0.record.key)" }).count == 3)
    let edit = try #require(receipts.first { $0.record.key == .text("r1") })
    #expect(edit.values == ["title": .text("edited")] && edit.reason == .notPermitted)
    #expect(receipts.contains { $0.record.table == "steps" && $0.values == nil })
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
    #expect(try bob.records(Self.bobs) == ["lists B"] && bob.store.localWrites.pendingCount() == 0)
    // What others wrote meanwhile stays, but for what is restored.
    try alice.run("UPDATE reminders SET done = 1 WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try bob.store.zones.restoreReceipts(Self.share).written == 0, "still not permitted")
    try bob.stand(ZoneStanding(zone: Self.share, role: .readWrite, root: Self.root))
    #expect(try bob.store.zones.restoreReceipts(Self.share).written == 3)
    #expect(try bob.store.zones.receipts(Self.share).isEmpty)
    try converge([alice, bob])
    #expect(try alice.rows("SELECT title, done FROM reminders ORDER BY id") == ["x|0", "edited|1", "secret|0"])
    #expect(try alice.rows("SELECT id FROM steps") == ["s2"])
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
  }

  @Test("a delete without the permission is kept as a receipt, whatever was written to the other rows")
  func refusedDelete() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try alice.run("INSERT INTO reminders VALUES ('r9', 'L', 'eggs', 0)")
    try converge([alice, bob])
    // No row is left as it was merged, so it is unknown whether a change of the schema took values from the rows.
    try bob.run(
      """
      UPDATE reminders SET title = 'edited' WHERE id = 'r1'; DELETE FROM reminders WHERE id = 'r9';
      UPDATE steps SET title = 'edited'; UPDATE lists SET title = 'edited';
      CREATE TABLE other (id INTEGER); CREATE TABLE more (id INTEGER); DROP TABLE other;
      """)
    try bob.stand(ZoneStanding(zone: Self.share, role: .readOnly, root: Self.root))
    try bob.settle()
    #expect(try bob.rows("SELECT title FROM reminders ORDER BY id") == ["milk", "eggs"])
    let receipts = try bob.store.zones.receipts(Self.share)
    #expect(receipts.contains { $0.record.key == .text("r9") && $0.values == nil })
    #expect(receipts.contains { $0.record.key == .text("r1") && $0.values == ["title": .text("edited")] })
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
  }

  @Test(
    "a receipt of an edit stays if its record is gone, and one of an insert is restored",
    arguments: ["DELETE FROM reminders WHERE id = 'r1'", "UPDATE reminders SET list = 'M' WHERE id = 'r1'"])
  func receiptOfGoneRecord(removal: String) throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try bob.run(
      "UPDATE reminders SET title = 'edited' WHERE id = 'r1'; INSERT INTO reminders VALUES ('new', 'L', 'x', 0)")
    try bob.stand(ZoneStanding(zone: Self.share, role: .readOnly, root: Self.root))
    try bob.settle()
    try alice.run(removal)
    try converge([alice, bob])
    let before = try alice.contents()
    try bob.stand(ZoneStanding(zone: Self.share, role: .readWrite, root: Self.root))
    let restored = try bob.store.zones.restoreReceipts(Self.share)
    #expect(restored.written == 1 && restored.inTheWay.isEmpty)
    #expect(try bob.store.zones.receipts(Self.share).map(\.values) == [["title": .text("edited")]])
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id FROM reminders") == ["new"] && bob.records(Self.bobs).isEmpty)
    #expect(try Set(alice.contents()) == Set(before + ["reminders|new|L|x|0"]))
  }

  @Test("a private row that was moved into a share without the permission can be moved there later")
  func refusedMoveIsRestored() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try bob.run("INSERT INTO lists VALUES ('B', 'mine'); INSERT INTO reminders VALUES ('p', 'B', 'private', 0)")
    try converge([alice, bob])
    try bob.run(
      "UPDATE reminders SET title = 'mine' WHERE id = 'p'; UPDATE reminders SET list = 'L', done = 1 WHERE id = 'p'")
    try bob.stand(ZoneStanding(zone: Self.share, role: .readOnly, root: Self.root))
    try bob.settle()
    #expect(try bob.rows("SELECT list, title, done FROM reminders WHERE id = 'p'") == ["B|private|0"])
    #expect(
      try bob.store.zones.receipts(Self.share).map(\.values)
        == [["list": .text("L"), "title": .text("mine"), "done": .integer(1)]])
    try bob.stand(ZoneStanding(zone: Self.share, role: .readWrite, root: Self.root))
    let restored = try bob.store.zones.restoreReceipts(Self.share)
    #expect(restored.written == 1 && restored.inTheWay.isEmpty)
    try converge([alice, bob])
    #expect(try alice.rows("SELECT list, title, done FROM reminders WHERE id = 'p'") == ["L|mine|1"])
    #expect(try bob.held().isEmpty && bob.records(Self.bobs) == ["lists B"])
  }

  @Test(
    "what was written to a share that had ended is kept as receipts, and restored to that alone",
    arguments: [false, true])
  func whatWasWrittenToAShareThatHadEndedIsKeptAsReceiptsAndRestoredToThatAlone(isCopied: Bool)
    throws
  {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try bob.run(
      """
      UPDATE reminders SET title = 'edited' WHERE id = 'r1'; INSERT INTO reminders VALUES ('new', 'L', 'x', 0);
      INSERT INTO steps VALUES ('s9', 'new', 'y'), ('s8', 'r1', 'z'); INSERT INTO lists VALUES ('B', 'stays');
      """)
    try bob.stand(ZoneStanding(zone: Self.share, role: .ended))
    if isCopied { try bob.store.zones.keepCopy(of: Self.share) }
    try bob.settle()
    func receipts() throws -> Set<String> {
      Set(try bob.store.zones.receipts(Self.share).map { "\($0.record.table) \($0.record.key)" })
    }
    let all = Set(
      [("reminders", "r1"), ("reminders", "new"), ("steps", "s9"), ("steps", "s8")].map { table, key in
        "\(table) \(Value.text(Array(key.utf8)))"
      })
    #expect(try receipts() == all)
    #expect(
      try bob.store.zones.receipts(Self.share).first { $0.record.key == .text("new") }?.values?["title"] == .text("x"))
    try bob.drop(Self.share)
    try bob.settle()
    let copied = [
      "lists|B|stays", "lists|L|shared", "reminders|new|L|x|0", "reminders|r1|L|milk|0", "steps|s1|r1|go",
      "steps|s8|r1|z", "steps|s9|new|y",
    ]
    #expect(try bob.contents() == (isCopied ? copied : ["lists|B|stays"]))
    #expect(try bob.held().isEmpty && receipts() == all)
    try bob.stand(ZoneStanding(zone: Self.share, role: .readWrite, root: Self.root))
    try bob.pull(Self.share, from: alice)
    if isCopied {
      let restored = try bob.store.zones.restoreReceipts(Self.share)
      #expect(restored.written == 0 && restored.inTheWay == [Self.root])
      #expect(try bob.contents() == copied && receipts() == all)
      try bob.run("DELETE FROM lists WHERE id = 'L'")
      try bob.settle()
    }
    let restored = try bob.store.zones.restoreReceipts(Self.share)
    #expect(restored.written == 4 && restored.inTheWay.isEmpty)
    try converge([alice, bob])
    #expect(try alice.rows("SELECT id, title FROM reminders WHERE list = 'L' ORDER BY id") == ["new|x", "r1|edited"])
    #expect(try alice.rows("SELECT id FROM steps ORDER BY id") == ["s1", "s2", "s8", "s9"])
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
  }

  @Test(
    "a dropped share leaves no rows, or a private copy of them",
    arguments: [(false, false), (true, false), (true, true)])
  func aZoneThatIsDroppedLeavesNothingOrACopy(keepingCopy: Bool, isAskedForBefore: Bool) throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try bob.run("INSERT INTO lists VALUES ('B', 'bob''s')")
    try bob.settle()
    let before = try bob.contents()
    try bob.stand(ZoneStanding(zone: Self.share, role: .ended))
    if isAskedForBefore {
      try bob.store.zones.keepCopy(of: Self.share)
      try bob.reopen()
    }
    try bob.drop(Self.share, keepingCopy: keepingCopy && !isAskedForBefore)
    try bob.settle()
    #expect(try bob.contents() == (keepingCopy ? before : ["lists|B|bob's"]))
    #expect(try bob.records(Self.share).isEmpty)
    #expect(
      try bob.records(Self.bobs) == (keepingCopy ? ["lists B", "lists L", "reminders r1", "steps s1"] : ["lists B"]))
    // Let in again, it begins from nothing.
    if !keepingCopy {
      try bob.stand(ZoneStanding(zone: Self.share, role: .readWrite, root: Self.root))
      try bob.pull(Self.share, from: alice)
      #expect(try bob.contents() == before)
    }
  }

  @Test(
    "rows of a table that is tracked again stay in their share", arguments: [ZoneStanding.Role.readWrite, .readOnly])
  func aTableThatIsSynchronizedAgainHasItsRowsWhereTheyWere(role: ZoneStanding.Role) throws {
    let (alice, bob) = (try alice(), try bob(role))
    try alice.stand(Self.shared)
    try converge([alice, bob])
    let (before, rows, digest) = (
      try bob.records(Self.share), try bob.contents(), try alice.store.zones.digest(Self.share)
    )
    let tables = ["lists", "reminders", "steps", "taggings", "tags"]
    try bob.store.tables.untrack(tables + ["covers"])
    if role == .readWrite { try bob.run("UPDATE reminders SET title = 'cream' WHERE id = 'r1'") }
    // Children before parents, and parents before children.
    for order in [tables, tables.reversed()] {
      try bob.store.tables.track(tables: order, private: ["covers"], now: bob.now)
      try bob.settle()
      #expect(try bob.records(Self.share) == before && bob.records(Self.bobs).isEmpty && bob.held().isEmpty)
      if order == tables { try bob.store.tables.untrack(tables + ["covers"]) }
    }
    #expect(try bob.store.zones.receipts(Self.share).isEmpty)
    try converge([alice, bob])
    guard role == .readWrite else {
      #expect(try bob.contents() == rows && bob.store.zones.digest(Self.share) == digest)
      return
    }
    for member in [alice, bob] {
      #expect(try member.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["cream"])
    }
    try bob.run("INSERT INTO steps VALUES ('s9', 'r1', 'more')")
    try converge([alice, bob])
    #expect(try alice.records(Self.share).contains("steps s9"))
  }

  @Test("a participant's delete of the root sends nothing, and the owner's empties the share")
  func deletingTheRootLeavesAnothersShareAndEndsOnesOwn() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try bob.run("DELETE FROM lists WHERE id = 'L'")
    try bob.settle()
    #expect(bob.deletedRoots == [Self.share])
    #expect(try bob.store.log.storedVector(Self.share).authors.count == 1, "nothing was sent")
    try bob.reopen()
    try bob.settle()
    #expect(bob.deletedRoots == [Self.share], "until it is done")
    try alice.run("DELETE FROM lists WHERE id = 'L'")
    for _ in 0..<100 where alice.deletedRoots.isEmpty { _ = try alice.step() }
    #expect(alice.deletedRoots == [Self.share])
    #expect(try alice.records(Self.share).isEmpty, "nothing is left of it then that could come back")
    try alice.stand(ZoneStanding(zone: Self.share, role: .owned, root: Self.root, isStopped: true))
    try alice.settle()
    #expect(try alice.rows("SELECT id FROM lists WHERE id = 'L'").isEmpty)
  }

  @Test("leaving by deleting the root leaves no receipt that would delete the rows again")
  func deletingTheRootLeavesNoReceipts() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    let (writable, before) = (bob.standings, try bob.contents())
    try bob.run("UPDATE steps SET title = 'run' WHERE id = 's1'; DELETE FROM lists WHERE id = 'L'")
    try bob.settle()
    try bob.stand(ZoneStanding(zone: Self.share, role: .ended))
    try bob.drop(Self.share)
    #expect(try bob.store.zones.receipts(Self.share).isEmpty && bob.contents().isEmpty)
    try bob.stand(writable)
    try bob.pull(Self.share, from: alice)
    #expect(try bob.contents() == before && bob.store.zones.restoreReceipts(Self.share).written == 0)
  }

  @Test("a file of format 1 is upgraded with its stopped share") func aFileOfTheFirstFormatIsBroughtUp() throws {
    let alice = try alice()
    try alice.stand(ZoneStanding(zone: Self.share, role: .owned, root: Self.root, isStopped: true))
    try alice.settle()
    let before = try alice.contents()
    try alice.store.close()
    // Its triggers knew no shares.
    for trigger in try alice.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'mesh_capture_*_move'") {
      try alice.run("DROP TRIGGER \(trigger)")
    }
    try alice.run("ALTER TABLE mesh_zone DROP COLUMN stopped; UPDATE mesh_state SET format = 1")
    try alice.reopen()
    try alice.settle()
    #expect(try alice.rows("SELECT format FROM mesh_state") == ["\(MeshTables.format)"])
    #expect(try alice.rows("SELECT stopped FROM mesh_zone ORDER BY id") == ["0", "1"])
    #expect(try alice.contents() == before)
  }

  @Test("a record whose share was stopped can be shared again") func whatWasSharedOnceCanBeSharedAgain() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try alice.stand(ZoneStanding(zone: Self.share, role: .owned, root: Self.root, isStopped: true))
    try bob.drop(Self.share)
    try alice.settle()
    #expect(try alice.store.zones.obstacle(toSharing: Self.root) == nil && bob.rows("SELECT id FROM lists").isEmpty)
    let again = Member.zone(6)
    try alice.stand(ZoneStanding(zone: again, role: .owned, root: Self.root))
    try bob.stand([bob.standings[0], ZoneStanding(zone: again, role: .readWrite, root: Self.root)])
    try converge([alice, bob]) { member in member.standings.map(\.zone).filter { $0 != Self.share } }
    #expect(try alice.records(again) == ["lists L", "reminders r1", "steps s1"])
    #expect(try bob.rows("SELECT id FROM steps") == ["s1"] && bob.held().isEmpty && alice.held().isEmpty)
  }

  @Test("a share that its owner stops returns its records to the private zone")
  func aShareThatItsOwnerEndsGivesItsRecordsBack() throws {
    let (alice, laptop) = (try alice(), try Member(2, [Self.mine, Self.shared]))
    try alice.stand(Self.shared)
    try converge([alice, laptop])
    let before = try alice.contents()
    for member in [alice, laptop] {
      try member.stand(ZoneStanding(zone: Self.share, role: .owned, root: Self.root, isStopped: true))
    }
    try converge([alice, laptop])
    #expect(try alice.contents() == before && laptop.contents() == before)
    #expect(try alice.records(Self.share).isEmpty)
    #expect(try laptop.records(Self.home).count == 9)
  }

  @Test("a record that cannot be shared is reported with the reason") func whatCannotBeSharedIsToldWithItsReason()
    throws
  {
    let alice = try alice()
    func obstacle(_ table: String, _ key: String) throws -> ShareObstacle? {
      try alice.store.zones.obstacle(toSharing: RecordName(table: table, key: .text(key)))
    }
    #expect(try obstacle("lists", "L") == nil)
    #expect(try obstacle("LISTS", "L") == nil)
    #expect(try obstacle("lists", "nobody") == .noRecord(RecordName(table: "lists", key: .text("nobody"))))
    #expect(try obstacle("reminders", "r1") == .notRoot(table: "reminders", foreignKeys: ["list → lists"]))
    #expect(try obstacle("covers", "c") == .notRoot(table: "covers", foreignKeys: ["list → lists"]))
    #expect(try obstacle("others", "c") == .notSynchronized(table: "others"))
    try alice.stand(Self.shared)
    #expect(try obstacle("lists", "L") == .alreadyShared(Self.root, in: Self.share))
  }

  @Test("an edit of a record after its move into a share is no conflict") func anEditOfWhatHasMovedIsNoConflict() throws
  {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try bob.run("UPDATE reminders SET title = 'oat milk' WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try alice.store.conflicts.list(limit: 10).isEmpty && bob.store.conflicts.list(limit: 10).isEmpty)
    try alice.run("UPDATE lists SET title = 'A' WHERE id = 'L'")
    try bob.run("UPDATE lists SET title = 'B' WHERE id = 'L'")
    try converge([alice, bob])
    #expect(try alice.store.conflicts.list(limit: 10).count == 1)
  }

  @Test("the explanation of a record has its zones, writers, former value and move") func aRecordIsExplained() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try bob.run("UPDATE reminders SET title = 'oat milk' WHERE id = 'r1'")
    try converge([alice, bob])
    let found = try alice.store.history.explain(table: "reminders", key: .text("r1"), alice.reader)
    #expect(found.map(\.zone) == [Self.share, Self.home] && found.map(\.isAlive) == [true, false])
    #expect(found.map(\.movedTo) == [nil, Self.share])
    let title = try #require(found.first?.columns.first { $0.name == "title" })
    let (writer, mover) = (try bob.author(Self.share), try alice.author(Self.home))
    #expect(title.value == .text("oat milk") && title.stamp.author == writer)
    #expect(title.beaten?.value == .text("milk") && title.beaten?.stamp.author == mover)
    #expect(throws: StoreError.self) {
      try alice.store.history.explain(table: "nothing", key: .text("r1"), alice.reader)
    }
  }

  @Test("a record that is deleted and inserted in another zone counts as not moved")
  func whatIsDeletedAndMadeAnewElsewhereHasNotMoved() throws {
    let alice = try alice()
    try alice.stand(Self.shared)
    try alice.settle()
    try alice.run("DELETE FROM reminders WHERE id = 'r1'")
    try alice.settle()
    try alice.run("INSERT INTO reminders VALUES ('r1', 'M', 'bread', 0)")
    try alice.settle()
    let found = try alice.store.history.explain(table: "reminders", key: .text("r1"), alice.reader)
    #expect(found.map(\.zone) == [Self.home, Self.share] && found.map(\.isAlive) == [true, false])
    #expect(found.map(\.movedTo) == [nil, nil])
  }

  @Test("a private table shows a share's rows only after it is tracked as shareable")
  func aTableThatIsPrivateHereShowsNothingOfAShareTillItIsTrackedAnew() throws {
    let (alice, bob) = (try alice(), try bob())
    try bob.store.tables.untrack(["steps"])
    try bob.store.tables.track(tables: [], private: ["steps"], now: bob.now)
    try alice.stand(Self.shared)
    try converge([alice, bob])
    #expect(try bob.held().values.map(\.self) == [.outsideShare])
    #expect(try bob.rows("SELECT id FROM steps").isEmpty)
    try bob.store.tables.untrack(["steps"])
    try bob.store.tables.track(tables: ["steps"], now: bob.now)
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id FROM steps").isEmpty)
    #expect(throws: StoreError.self) {
      try bob.store.tables.track(tables: [], shareable: ["steps"], now: bob.now)
    }
    try bob.store.tables.untrack(["steps"])
    try bob.store.tables.track(tables: [], shareable: ["steps"], now: bob.now)
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id FROM steps") == ["s1"] && bob.held().isEmpty)
  }

  @Test("the list of tables tells which of them can be shared") func whichTablesGoWithTheirRootIsTold() throws {
    let alice = try alice()
    try alice.run("CREATE TABLE parts (id TEXT PRIMARY KEY NOT NULL, whole TEXT REFERENCES parts)")
    try alice.run("CREATE TABLE stickers (id TEXT PRIMARY KEY NOT NULL, cover TEXT REFERENCES covers)")
    try alice.store.tables.track(tables: ["parts", "stickers"], now: alice.now)
    let shareable = try alice.store.tables.list().filter(\.isShareable).map(\.name)
    #expect(Set(shareable) == ["lists", "reminders", "steps", "tags"])
  }

  @Test("rows that no share has wait until the private zone is known")
  func rowsWaitForThePrivateZone() throws {
    let phone = try Member(2, [Self.shared])
    try phone.run("INSERT INTO lists VALUES ('L', 'shared'), ('M', 'mine'); INSERT INTO tags VALUES ('t', 'red')")
    try phone.settle()
    #expect(try phone.records(Self.share).isEmpty)
    #expect(try phone.store.localWrites.pendingCount() > 0)
    try phone.stand(Self.mine)
    try phone.settle()
    #expect(try phone.records(Self.share) == ["lists L"])
    #expect(try phone.records(Self.home) == ["lists M", "tags t"])
  }

  @Test("a revert removes what a participant wrote after the cutoff and leaves its receipts")
  func aCutTakesBackWhatWasWrittenAfterItAndKeepsReceipts() throws {
    let (alice, bob) = (try alice(), try bob())
    try alice.stand(Self.shared)
    try converge([alice, bob])
    try bob.run("UPDATE reminders SET title = 'allowed' WHERE id = 'r1'")
    try converge([alice, bob])
    try bob.run(
      "UPDATE reminders SET title = 'too late' WHERE id = 'r1'; INSERT INTO reminders VALUES ('r5', 'L', 'new', 0)")
    try bob.run("DELETE FROM steps WHERE id = 's1'")
    try converge([alice, bob])
    let author = try bob.author(Self.share)
    for member in [alice, bob] {
      member.cuts[Self.share] = [author: 1]
      try member.store.merges.revert(
        [author: 1], aftermath: member === bob ? [author: .receipt] : [:], zone: Self.share, member.reader(Self.share),
        now: member.now)
      #expect(try member.rows("SELECT title FROM reminders WHERE list = 'L'") == ["allowed"])
      #expect(try member.rows("SELECT id FROM steps WHERE reminder = 'r1'") == ["s1"])
    }
    #expect(try alice.store.zones.digest(Self.share) == bob.store.zones.digest(Self.share))
    #expect(try alice.store.zones.receipts(Self.share).isEmpty)
    let receipts = try bob.store.zones.receipts(Self.share)
    #expect(receipts.allSatisfy { $0.reason == .cut } && receipts.count == 3)
    #expect(try bob.store.zones.receiptCounts() == [Self.share: 3] && alice.store.zones.receiptCounts() == [:])
    #expect(receipts.first { $0.record.key == .text("r1") }?.values == ["title": .text("too late")])
    #expect(receipts.first { $0.record.table == "steps" }.map { $0.values == nil } == true)
  }
}
