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
    _ = try bob.store.saveForeignSchema(
      alice.store.schemaDescriptions(), device: alice.author(SharedList.share).device, isOwn: false)
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
    #expect(try bob.store.receipts(SharedList.share).isEmpty)
    // Afterwards as well, and what others have stays out of reach.
    try bob.run("UPDATE reminders SET rank = 'again'")
    #expect(throws: DatabaseError.self) { try bob.run("UPDATE reminders SET rank = 'x', title = 'mine'") }
    try alice.run("UPDATE reminders SET done = 1 WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try bob.rows(Self.rows) == ["r1|milk|again"])
    #expect(try bob.rows("SELECT done FROM reminders") == ["1"])
    #expect(try bob.store.receipts(SharedList.share).isEmpty)
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
    #expect(try bob.store.receipts(SharedList.share).isEmpty)
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
      _ = try bob.store.saveForeignSchema(
        alice.store.schemaDescriptions(), device: alice.author(SharedList.share).device, isOwn: false)
    }
    try bob.settle()
    try bob.run("UPDATE reminders SET rank = 'new' WHERE id = 'p'")
    let numbers = try bob.store.mergedVector(SharedList.bobs)[bob.author(SharedList.bobs)]
    try bob.settle()
    #expect(try bob.store.mergedVector(SharedList.bobs)[bob.author(SharedList.bobs)] != numbers, "the edit is sent")
    #expect(try bob.store.tables().allSatisfy { $0.isShareable || $0.name != "reminders" })
    #expect(try bob.held().isEmpty)
  }
}
