import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// A table that is shared gets another foreign key: nothing goes out of sight for it, and nothing private into the share.
@Suite struct SecondForeignKeyTests {
  private static let migrations = [
    "ALTER TABLE reminders ADD COLUMN tag TEXT REFERENCES tags ON DELETE SET NULL",
    "ALTER TABLE reminders ADD COLUMN other TEXT REFERENCES lists ON DELETE CASCADE",
    "ALTER TABLE reminders ADD COLUMN other REFERENCES lists",
  ]

  private func members(_ migration: String) throws -> (alice: Member, laptop: Member, bob: Member) {
    let (alice, laptop, bob) = (try SharedList.alice(), try SharedList.laptop(), try SharedList.bob())
    try converge([alice, laptop, bob])
    for member in [alice, bob] {
      try member.run(migration)
      try member.settle()
    }
    return (alice, laptop, bob)
  }

  @Test("shared rows stay visible to all members after a second foreign key is added", arguments: migrations)
  func whatIsInAShareStaysInSight(migration: String) throws {
    let (alice, laptop, bob) = try members(migration)
    try bob.run(
      "UPDATE reminders SET title = 'oat milk' WHERE id = 'r1'; UPDATE steps SET title = 'run' WHERE id = 's1'")
    try bob.run("UPDATE lists SET title = 'renamed' WHERE id = 'L'")
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try member.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["oat milk"])
      #expect(try member.rows("SELECT title FROM steps WHERE id = 's1'") == ["run"])
      #expect(try member.held().isEmpty)
    }
    // A machine that has not migrated goes on putting rows into the share, and all see them.
    try laptop.run("INSERT INTO reminders VALUES ('r5', 'L', 'bread', 0)")
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try member.rows("SELECT title FROM reminders WHERE id = 'r5'") == ["bread"])
    }
    // Who comes with the new schema sees the same.
    let carol = try Member(
      11,
      [
        ZoneStanding(zone: Member.zone(4), role: .privateZone),
        ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root),
      ])
    try carol.run(migration)
    try carol.settle()
    try converge([alice, carol])
    #expect(try carol.rows("SELECT title FROM reminders ORDER BY id") == ["oat milk", "bread"])
    #expect(try carol.rows("SELECT title FROM steps") == ["run"])
  }

  @Test("a new row of a table with two foreign keys stays private", arguments: migrations)
  func whatIsWrittenAnewWithSeveralReferencesStaysPrivate(migration: String) throws {
    let (alice, _, bob) = try members(migration)
    try alice.run("INSERT INTO reminders (id, list, title) VALUES ('r7', 'L', 'private gift')")
    try alice.run("UPDATE reminders SET title = 'secret gift' WHERE id = 'r2'")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'r7'") == ["private gift"])
    #expect(try bob.rows("SELECT id FROM reminders") == ["r1"])
    #expect(try SharedList.texts(bob).isDisjoint(with: ["private gift", "secret gift", "secret"]))
    #expect(try alice.held().isEmpty)
  }

  @Test("a row leaves its share with its children after a second foreign key is added", arguments: migrations)
  func whatMovesAfterItMovesAsBefore(migration: String) throws {
    let (alice, laptop, bob) = try members(migration)
    try alice.run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    #expect(try alice.rows("SELECT id FROM reminders ORDER BY id") == ["r1", "r2"])
    #expect(try alice.rows("SELECT id FROM steps ORDER BY id") == ["s1", "s2"])
    #expect(
      try alice.records(SharedList.home).contains("reminders r1") && alice.records(SharedList.home).contains("steps s1")
    )
    #expect(try bob.rows("SELECT id FROM reminders").isEmpty && bob.rows("SELECT id FROM steps").isEmpty)
    for member in [alice, laptop, bob] { #expect(try member.held().isEmpty) }
  }

  @Test("a notice says that new rows join no share after a second foreign key is added")
  func itIsSaidThatNewRowsGoIntoNoShare() throws {
    let alice = try SharedList.alice()
    #expect(try alice.store.capture.trackingFaults().isEmpty)
    try alice.run(Self.migrations[0])
    guard case .schemaChanged(let notices) = try alice.store.capture.upkeep(alice.reader, now: alice.now) else {
      Issue.record("the change is not seen")
      return
    }
    #expect(notices.count == 1 && notices[0].contains("reminders") && notices[0].contains("join no share"))
    #expect(try alice.store.capture.trackingFaults().count == 1)
  }

  @Test("a reference to a private row shows other members NULL or their own row")
  func aReferenceToSomethingPrivateShowsNothingOfIt() throws {
    let (alice, laptop, bob) = try members(Self.migrations[0])
    try alice.run("INSERT INTO tags VALUES ('t', 'doctor'); UPDATE reminders SET tag = 't' WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    #expect(try alice.rows("SELECT tag FROM reminders WHERE id = 'r1'") == ["t"])
    #expect(try bob.rows("SELECT tag FROM reminders WHERE id = 'r1'") == ["NULL"], "the tag is not his")
    #expect(try bob.rows("SELECT id FROM tags").isEmpty && !SharedList.texts(bob).contains("doctor"))
    // With one of his own of that key he sees his own.
    try bob.run("INSERT INTO tags VALUES ('t', 'his')")
    try converge([alice, laptop, bob])
    #expect(try bob.rows("SELECT tags.title FROM reminders JOIN tags ON tags.id = tag") == ["his"])
    #expect(try alice.rows("SELECT tags.title FROM reminders JOIN tags ON tags.id = tag") == ["doctor"])
  }

  /// Makes the table again with one foreign key.
  private static let withoutSecond = """
    CREATE TABLE other (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES lists ON DELETE CASCADE, title TEXT,
      done INTEGER DEFAULT 0, tag TEXT);
    INSERT INTO other SELECT id, list, title, done, tag FROM reminders; DROP TABLE reminders;
    ALTER TABLE other RENAME TO reminders
    """

  @Test("a row goes to its parent's share when its table loses the second foreign key")
  func losesSecondForeignKey() throws {
    let (alice, laptop, bob) = try members(Self.migrations[0])
    try alice.run("INSERT INTO reminders (id, list, title) VALUES ('r7', 'L', 'gift')")
    try alice.run("INSERT INTO steps VALUES ('s7', 'r7', 'wrap')")
    try alice.settle()
    #expect(try alice.records(SharedList.home).contains("reminders r7"))
    try alice.other.inDatabase { try $0.execute(sql: "PRAGMA foreign_keys = OFF") }
    try alice.run(Self.withoutSecond)
    try alice.settle()
    let share = try alice.records(SharedList.share)
    #expect(share.contains("reminders r7") && share.contains("steps s7"))
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try member.rows("SELECT title FROM reminders WHERE id = 'r7'") == ["gift"])
      #expect(try member.rows("SELECT title FROM steps WHERE id = 's7'") == ["wrap"])
      #expect(try member.held().isEmpty)
    }
  }

  @Test("a row under another account's read-only record is held when its table loses the second foreign key")
  func losesSecondForeignKeyReadOnly() throws {
    let (alice, _, bob) = try members(Self.migrations[0])
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readOnly, root: SharedList.root))
    try bob.run("INSERT INTO reminders (id, list, title) VALUES ('r7', 'L', 'mine')")
    try bob.settle()
    #expect(try bob.records(SharedList.bobs) == ["reminders r7"])
    try bob.other.inDatabase { try $0.execute(sql: "PRAGMA foreign_keys = OFF") }
    try bob.run(Self.withoutSecond)
    try bob.settle()
    #expect(try bob.rows("SELECT id FROM reminders ORDER BY id") == ["r1"])
    #expect(try bob.store.held.list(limit: 10).map(\.reason) == [.parentElsewhere])
    #expect(try bob.store.zones.receipts(SharedList.share).isEmpty)
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root))
    try bob.settle()
    try converge([alice, bob])
    #expect(try alice.rows("SELECT id FROM reminders ORDER BY id") == ["r1", "r2", "r7"])
    #expect(try bob.rows("SELECT id FROM reminders ORDER BY id") == ["r1", "r7"])
  }
}
