import MeshCore
import Testing

@testable import MeshStore

/// Deletes of records that another device of the account has moved to a share.
@Suite struct DeleteBesideMoveTests {
  private static let standing = ZoneStanding(
    zone: Member.zone(4), role: .owned, root: RecordName(table: "lists", key: .text("M")))

  @Test("a delete of a record that followed its parent is carried out if only earlier writes meet it")
  func earlierWrites() throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    try converge([alice, laptop])
    try laptop.run("UPDATE reminders SET title = 'seen' WHERE id = 'r2'")
    try converge([alice, laptop])
    try alice.run("DELETE FROM reminders WHERE id = 'r2'")
    try alice.settle()
    try laptop.stand(Self.standing)
    try laptop.settle()
    try alice.stand(Self.standing)
    try converge([alice, laptop])
    for device in [alice, laptop] {
      #expect(try device.rows("SELECT id FROM reminders WHERE id = 'r2'").isEmpty)
      #expect(try device.store.conflicts.list(limit: 9).isEmpty)
    }
  }

  @Test(
    "a delete is listed if it would take a write along at any depth, and carried out otherwise",
    arguments: [
      ("INSERT INTO notes VALUES ('n', 's2', 'written')", true),
      ("INSERT INTO pins VALUES ('p', 'r2', 'written')", false),
    ])
  func depth(write: String, stays: Bool) throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    for device in [alice, laptop] {
      try device.run(
        """
        CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, step TEXT REFERENCES steps ON DELETE CASCADE, text TEXT);
        CREATE TABLE pins (id TEXT PRIMARY KEY NOT NULL, reminder TEXT REFERENCES reminders ON DELETE SET NULL, text TEXT)
        """)
      try device.store.tables.track(tables: ["notes", "pins"], integerKeys: false, now: device.now)
    }
    try converge([alice, laptop])
    try alice.run("DELETE FROM reminders WHERE id = 'r2'")
    try alice.settle()
    try laptop.stand(Self.standing)
    try laptop.settle()
    try laptop.run(write)
    try laptop.settle()
    try alice.stand(Self.standing)
    try converge([alice, laptop])
    for device in [alice, laptop] {
      #expect(try device.rows("SELECT id FROM reminders WHERE id = 'r2'").isEmpty == !stays)
    }
  }

  @Test("an edit that lost to a move is over when its device, which brought it along, deletes the record")
  func lostToTheMove() throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    try converge([alice, laptop])
    try laptop.stand(Self.standing)
    try laptop.settle()
    alice.now += 1_000
    try alice.run("UPDATE reminders SET title = 'mine' WHERE id = 'r2'")
    try alice.settle()
    try laptop.pull(SharedList.home, from: alice)
    try alice.stand(Self.standing)
    try converge([alice, laptop])
    try #require(try laptop.rows("SELECT title FROM reminders WHERE id = 'r2'") == ["mine"])
    try alice.run("DELETE FROM reminders WHERE id = 'r2'")
    try converge([alice, laptop])
    for device in [alice, laptop] { #expect(try device.store.conflicts.list(limit: 9).isEmpty) }
  }
}
