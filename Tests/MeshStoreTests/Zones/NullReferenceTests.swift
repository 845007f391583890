import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// References in a share that are set to NULL when what they refer to is deleted.
@Suite struct NullReferenceTests {
  /// With a table of notes on reminders.
  private func withNotes(_ member: Member) throws -> Member {
    try member.run(
      "CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, r TEXT REFERENCES reminders ON DELETE SET NULL, v)")
    try member.store.tables.track(tables: ["notes"], now: member.now)
    return member
  }

  /// And a note on a shared reminder.
  private func withNote(_ member: Member) throws -> Member {
    let member = try withNotes(member)
    try member.run("INSERT INTO notes VALUES ('n', 'r1', 'old')")
    try member.settle()
    return member
  }

  @Test("an edit is sent although another zone's flush shows its record again")
  func anEditIsSentAfterAnotherZonesFlushHasShownItsRecordAgain() throws {
    let alice = try withNote(SharedList.alice())
    try alice.run("DELETE FROM reminders WHERE id = 'r1'")
    try alice.settle()
    // The note waits for its parent, which comes back in the private zone while the note has an edit that is not flushed.
    try alice.run("INSERT INTO reminders VALUES ('r1', 'M', 'again', 0); UPDATE notes SET v = 'new'")
    try alice.settle()
    let bob = try withNotes(SharedList.bob())
    try bob.pull(SharedList.share, from: alice)
    #expect(try bob.rows("SELECT * FROM notes") == ["n|NULL|new"])
    #expect(try bob.store.zones.digest(SharedList.share) == alice.store.zones.digest(SharedList.share))
  }

  @Test("a reference stays NULL while its parent's key belongs to another zone")
  func whatIsShownAgainBesideANewRowOfAnotherZoneIsNotItsChild() throws {
    let alice = try withNote(SharedList.alice())
    try alice.run("DELETE FROM reminders WHERE id = 'r1'")
    try alice.settle()
    try alice.run("INSERT INTO reminders VALUES ('r1', 'M', 'again', 0); ALTER TABLE tags ADD COLUMN color TEXT")
    while try alice.store.capture.upkeep(alice.reader, now: alice.now) != .done {}
    _ = try alice.store.merges.apply(
      SharedList.share, alice.reader(SharedList.share), flushing: alice.writers(), now: alice.now)
    try alice.settle()
    #expect(try alice.rows("SELECT * FROM notes") == ["n|NULL|old"])
    // In the share it is its parent again.
    try alice.run("UPDATE reminders SET list = 'L'")
    try alice.settle()
    #expect(try alice.rows("SELECT * FROM notes") == ["n|r1|old"])
    #expect(try alice.rows("SELECT * FROM mesh_wait").isEmpty)
  }

  @Test("an edited row keeps its reference when its share is stopped")
  func aRecordThatIsBackBeforeItsParentShowsItsReferenceOnceThatIsBack() throws {
    let alice = try withNote(SharedList.alice())
    #expect(try alice.records(SharedList.share) == ["lists L", "notes n", "reminders r1", "steps s1"])
    var stopped = SharedList.shared
    stopped.isStopped = true
    try alice.run("UPDATE notes SET v = 'new'")
    try alice.stand(stopped)
    try alice.settle()
    #expect(try alice.records(SharedList.share).isEmpty)
    #expect(try alice.rows("SELECT * FROM notes") == ["n|r1|new"])
  }

  @Test("a reference to a deleted row that was written while foreign keys were off stays while its record moves")
  func writtenBeforeItHasLeft() throws {
    let alice = try withNotes(SharedList.alice())
    try alice.run("INSERT INTO reminders VALUES ('r3', 'M', 'own', 0); INSERT INTO notes VALUES ('n', 'r3', 'old')")
    try alice.settle()
    try alice.run("UPDATE notes SET r = 'r1'")
    try alice.arrive()
    while try alice.rows("SELECT 1 FROM mesh_pending WHERE op = 5 AND zone > 0").isEmpty { #expect(try alice.step()) }
    try alice.other.inDatabase { db in
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      try db.execute(sql: "BEGIN; DELETE FROM reminders WHERE id = 'r3'; UPDATE notes SET r = 'r3'; COMMIT")
    }
    try alice.settle()
    #expect(try alice.rows("SELECT * FROM notes") == ["n|r3|old"])
    #expect(try alice.store.held.list(limit: 9).map(\.reason) == [.shownHereOnly])
    let laptop = try withNotes(Member(2, alice.standings))
    try converge([alice, laptop])
    #expect(try laptop.rows("SELECT * FROM notes") == ["n|NULL|old"])
    try laptop.run("INSERT INTO reminders VALUES ('r3', 'L', 'again', 0)")
    try converge([alice, laptop])
    for device in [alice, laptop] { #expect(try device.rows("SELECT * FROM notes") == ["n|r3|old"]) }
  }

  @Test(
    "what was written to a row that does not go with the deleted root is kept as a receipt",
    arguments: ["before", "after", "beside"])
  func whatWasWrittenToARowThatDoesNotGoWithTheDeletedRootIsKeptAsAReceipt(order: String) throws {
    let (alice, bob) = (try withNote(SharedList.alice()), try withNotes(SharedList.bob()))
    try bob.pull(SharedList.share, from: alice)
    let digest = try bob.store.zones.digest(SharedList.share)
    let (edit, delete) = ("UPDATE notes SET v = 'new'", "DELETE FROM lists WHERE id = 'L'")
    switch order {
    case "before":
      try bob.run(edit)
      try bob.run(delete)
    case "after":
      try bob.run(delete)
      try bob.run(edit)
    default: try bob.run("UPDATE reminders SET title = 'gone as well' WHERE id = 'r1'; \(delete); \(edit)")
    }
    #expect(try bob.rows("SELECT * FROM notes") == ["n|NULL|new"])
    try bob.settle()
    #expect(try bob.store.localWrites.deletedRoots() == [SharedList.share])
    #expect(try bob.store.zones.digest(SharedList.share) == digest, "nothing of it is sent")
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(receipts.map(\.record.table) == ["notes"] && receipts.first?.values == ["v": .text("new")])
    #expect(try bob.store.localWrites.pendingCount() == 0)
  }

  @Test("what was on its way to a share that is left stays private, with what was written to it")
  func whatWasOnItsWayToAShareThatIsLeftStaysPrivateWithWhatWasWrittenToIt() throws {
    let (alice, bob) = (try withNote(SharedList.alice()), try withNotes(SharedList.bob()))
    try bob.pull(SharedList.share, from: alice)
    try bob.run("INSERT INTO notes VALUES ('own', NULL, 'old')")
    try bob.settle()
    try bob.run("UPDATE notes SET r = 'r1', v = 'new' WHERE id = 'own'")
    _ = try bob.store.localWrites.route(now: bob.now)
    try bob.run("DELETE FROM lists WHERE id = 'L'")
    try bob.settle()
    #expect(try bob.store.zones.receipts(SharedList.share).isEmpty)
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .ended, root: SharedList.root))
    try bob.drop(SharedList.share)
    try bob.settle()
    #expect(try bob.rows("SELECT * FROM notes") == ["own|NULL|new"])
    #expect(try bob.records(SharedList.bobs) == ["notes own"])
    let other = try withNotes(Member(9, [ZoneStanding(zone: SharedList.bobs, role: .privateZone)]))
    try other.pull(SharedList.bobs, from: bob)
    #expect(try other.rows("SELECT * FROM notes") == ["own|NULL|new"])
  }
}
