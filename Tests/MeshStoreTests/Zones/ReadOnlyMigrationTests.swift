import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// A participant that may not write migrates its tables all the same.
@Suite struct ReadOnlyMigrationTests {
  private static let fill = "BEGIN; ALTER TABLE reminders ADD COLUMN rank TEXT; UPDATE reminders SET rank = 'r'; COMMIT"
  private static let rows = "SELECT id, title, rank FROM reminders ORDER BY id"

  private func bob(of alice: Member) throws -> Member {
    let bob = try Member(
      9,
      [
        ZoneStanding(zone: SharedList.bobs, role: .privateZone),
        ZoneStanding(zone: SharedList.share, role: .readOnly, root: SharedList.root),
      ])
    _ = try bob.store.schema.saveForeignSchema(
      alice.store.schema.schemaDescriptions(), device: alice.author(SharedList.share).device, isOwn: false)
    try converge([alice, bob])
    return bob
  }

  @Test("a read-only participant fills a column that only it has")
  func fillsNewColumn() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try bob.other.writeWithoutTransaction { try $0.execute(sql: Self.fill) }
    try converge([alice, bob])
    #expect(try bob.rows(Self.rows) == ["r1|milk|r"])
    #expect(try bob.store.zones.receipts(SharedList.share).isEmpty)
    // Afterwards as well, and what others have stays out of reach.
    try bob.run("UPDATE reminders SET rank = 'again'")
    #expect(throws: DatabaseError.self) { try bob.run("UPDATE reminders SET rank = 'x', title = 'mine'") }
    try alice.run("UPDATE reminders SET done = 1 WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try bob.rows(Self.rows) == ["r1|milk|again"])
    #expect(try bob.rows("SELECT done FROM reminders") == ["1"])
    #expect(try bob.store.zones.receipts(SharedList.share).isEmpty)
  }

  @Test("what the owner has in a column wins over a read-only participant's migration")
  func ownerWins() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try alice.run("ALTER TABLE reminders ADD COLUMN rank TEXT")
    try alice.settle()
    try alice.run("UPDATE reminders SET rank = 'alice' WHERE id = 'r1'")
    try converge([alice, bob])
    try bob.other.writeWithoutTransaction { try $0.execute(sql: Self.fill) }
    try converge([alice, bob])
    #expect(try bob.rows(Self.rows) == ["r1|milk|alice"])
    #expect(try bob.store.zones.receipts(SharedList.share).isEmpty)
    #expect(try lost(bob) == [[.text("r1"), .text("rank"), .text("r")]])
  }

  /// The lost values of a participant, all of its own.
  private func lost(_ member: Member) throws -> [[Value]] {
    try member.store.conflicts.list(ConflictFilter(limit: 100)).conflicts.map { conflict in
      #expect(conflict.loser.author.device == member.device)
      #expect(conflict.winner.author.device != member.device)
      return [conflict.key, .text(conflict.column ?? ""), conflict.loserValue]
    }
  }

  /// Bob has a column of his own in two tables, and filled it.
  private func ownColumns(_ bob: Member, _ alice: Member) throws {
    try bob.run(
      "ALTER TABLE reminders ADD COLUMN rank TEXT; ALTER TABLE steps ADD COLUMN rank TEXT")
    try bob.settle()
    try bob.run("UPDATE reminders SET rank = 'mine'; UPDATE steps SET rank = 'own'")
    try converge([alice, bob])
  }

  @Test("a read-only participant's own values are listed when the owner fills a column of the same name")
  func ownerAddsTheSameColumn() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try ownColumns(bob, alice)
    try alice.run("ALTER TABLE reminders ADD COLUMN rank TEXT")
    try alice.settle()
    try converge([alice, bob])
    #expect(try lost(bob).isEmpty)
    #expect(try bob.rows(Self.rows) == ["r1|milk|mine"])
    try alice.run("UPDATE reminders SET rank = 'alice'")
    try converge([alice, bob])
    #expect(try bob.rows(Self.rows) == ["r1|milk|alice"])
    #expect(try lost(bob) == [[.text("r1"), .text("rank"), .text("mine")]])
    try alice.run("UPDATE reminders SET rank = 'again', title = 'bread'")
    try converge([alice, bob])
    #expect(try lost(bob) == [[.text("r1"), .text("rank"), .text("mine")]])
    #expect(try alice.store.conflicts.list(ConflictFilter(limit: 100)).total == 0)
  }

  @Test("a read-only participant's own BLOBs are listed with their bytes when the owner fills the column")
  func ownBLOB() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try bob.run("ALTER TABLE reminders ADD COLUMN photo BLOB")
    try bob.settle()
    try bob.run("UPDATE reminders SET photo = randomblob(50000)")
    try converge([alice, bob])
    try alice.run("ALTER TABLE reminders ADD COLUMN photo BLOB")
    try alice.settle()
    try alice.run("UPDATE reminders SET photo = x'01'")
    try converge([alice, bob])
    #expect(try bob.rows("SELECT hex(photo) FROM reminders") == ["01"])
    let conflict = try #require(try bob.store.conflicts.list(ConflictFilter(limit: 100)).conflicts.first)
    #expect(conflict.loserValue.asset?.size == 50_000)
    #expect(conflict.hasBytes == true)
  }

  @Test("a read-only participant's own values of a row that the owner deleted are shown and can't be restored")
  func restored() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try ownColumns(bob, alice)
    try alice.run("DELETE FROM reminders WHERE id = 'r1'")
    try converge([alice, bob])
    let conflicts = try bob.store.conflicts.list(ConflictFilter(table: "reminders", limit: 9)).conflicts
    let id = try #require(conflicts.first).id
    let error = try #require(
      #expect(throws: RestoreError.self) { try bob.store.history.restore(.conflict(id)) { bob.reader($0) } })
    guard case .readOnly(let values) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(values["rank"] == .text("mine") && error.description.contains("rank = 'mine'"))
    #expect(!error.description.contains("Write the row"))
  }

  @Test("a read-only participant's own values stay with a row that is out of its table for a while")
  func withdrawn() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try ownColumns(bob, alice)
    // The reminder gets another key, and its step refers to nothing meanwhile.
    try alice.other.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA foreign_keys = OFF; UPDATE reminders SET id = 'r9' WHERE id = 'r1'")
    }
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id FROM steps").isEmpty)
    #expect(try lost(bob) == [[.text("r1"), .text("rank"), .text("mine")]], "the reminder was deleted")
    try alice.run("UPDATE steps SET title = 'on' WHERE id = 's1'")
    try converge([alice, bob])
    try alice.run("UPDATE steps SET reminder = 'r9' WHERE id = 's1'")
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id, reminder, title, rank FROM steps") == ["s1|r9|on|own"])
    #expect(try lost(bob) == [[.text("r1"), .text("rank"), .text("mine")]])
  }

  @Test("a read-only participant's own values stay with a row whose place another share's row takes for a while")
  func displaced() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try ownColumns(bob, alice)
    let first = Member.zone(0)
    let carol = try Member(5, [ZoneStanding(zone: first, role: .privateZone)])
    try carol.run("INSERT INTO lists VALUES ('N', 'n'); INSERT INTO reminders VALUES ('r1', 'N', 'carol''s', 0)")
    try carol.settle()
    try bob.stand(ZoneStanding(zone: first, role: .readOnly, root: RecordName(table: "lists", key: .text("N"))))
    try bob.pull(first, from: carol)
    #expect(try bob.rows(Self.rows) == ["r1|carol's|NULL"])
    // What is merged of a record that is out of its table changes, too.
    try alice.run("UPDATE reminders SET title = 'bread' WHERE id = 'r1'; UPDATE steps SET title = 'on' WHERE id = 's1'")
    try alice.settle()
    try bob.pull(SharedList.share, from: alice)
    try carol.run("DELETE FROM reminders")
    try carol.settle()
    try bob.pull(first, from: carol)
    #expect(try bob.rows(Self.rows) == ["r1|bread|mine"])
    #expect(try bob.rows("SELECT id, title, rank FROM steps") == ["s1|on|own"])
    #expect(try lost(bob).isEmpty)
  }

  @Test("a read-only participant's own values are in receipts once the share has left its machine")
  func dropped() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try ownColumns(bob, alice)
    try bob.drop(SharedList.share)
    #expect(try bob.rows(Self.rows).isEmpty)
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(Set(receipts.map(\.record.key)) == [.text("r1"), .text("s1")])
    #expect(receipts.first { $0.record.key == .text("r1") }?.values == ["rank": .text("mine")])
  }

  @Test("a read-only participant's own values that the owner overwrote are in receipts once the share has left")
  func overwrittenAndDropped() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try ownColumns(bob, alice)
    try alice.run("ALTER TABLE reminders ADD COLUMN rank TEXT")
    try alice.settle()
    try alice.run("UPDATE reminders SET rank = 'alice' WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try lost(bob) == [[.text("r1"), .text("rank"), .text("mine")]])
    try bob.drop(SharedList.share)
    #expect(try lost(bob).isEmpty)
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(receipts.filter { $0.record.key == .text("r1") }.map(\.values) == [["rank": .text("mine")]])
  }

  @Test("a read-only participant's own values are listed when a cutoff reverts the row's birth")
  func birthReverted() throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    let author = try alice.author(SharedList.share)
    let before = try alice.store.log.mergedVector(SharedList.share)[author]
    try alice.run("INSERT INTO reminders VALUES ('r3', 'L', 'tea', 0)")
    try converge([alice, bob])
    try ownColumns(bob, alice)
    bob.cuts[SharedList.share] = [author: before]
    try bob.store.merges.revert(
      [author: before], aftermath: [author: .kept], zone: SharedList.share, bob.reader(SharedList.share), now: bob.now)
    #expect(try bob.rows(Self.rows) == ["r1|milk|mine"])
    let own = try bob.store.conflicts.list(ConflictFilter(device: bob.device, limit: 9)).conflicts
    #expect(own.map(\.key) == [.text("r3")] && own.map(\.loserValue) == [.text("mine")])
  }

  @Test(
    "a table that an app alters is synchronized on, whatever the node hears before it looks", arguments: [false, true])
  func alteredBeforeAStanding(isStanding: Bool) throws {
    let alice = try SharedList.alice()
    let bob = try bob(of: alice)
    try bob.run("INSERT INTO lists VALUES ('P', 'private'); INSERT INTO reminders VALUES ('p', 'P', 'mine', 0)")
    try bob.settle()
    try bob.run("ALTER TABLE reminders ADD COLUMN rank TEXT")
    if isStanding {
      // The last permission of a kind goes, and its triggers with it.
      try bob.stand(ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root))
    } else {
      try alice.run("ALTER TABLE lists ADD COLUMN color TEXT")
      try alice.settle()
      _ = try bob.store.schema.saveForeignSchema(
        alice.store.schema.schemaDescriptions(), device: alice.author(SharedList.share).device, isOwn: false)
    }
    try bob.settle()
    try bob.run("UPDATE reminders SET rank = 'new' WHERE id = 'p'")
    let numbers = try bob.store.log.mergedVector(SharedList.bobs)[bob.author(SharedList.bobs)]
    try bob.settle()
    #expect(try bob.store.log.mergedVector(SharedList.bobs)[bob.author(SharedList.bobs)] != numbers, "the edit is sent")
    #expect(try bob.store.tables.list().allSatisfy { $0.isShareable || $0.name != "reminders" })
    #expect(try bob.held().isEmpty)
  }
}
