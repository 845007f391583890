import MeshCore
import Testing

@testable import MeshStore

/// What a program writes without having been able to see what it overwrites, though its machine had merged it.
@Suite struct BlindWriteTests {
  private static let schema = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list, a TEXT, b TEXT CHECK (b <> 'no'))
    """

  private func peers() throws -> (Peer, Peer) {
    (
      try Peer(1, schema: Self.schema, track: ["list", "item"]),
      try Peer(2, schema: Self.schema.replacing("'no'", with: "'never'"), track: ["list", "item"])
    )
  }

  private func lost(_ peer: Peer) throws -> Set<String> {
    Set(try peer.store.conflicts.list(limit: 9).map { "\($0.column ?? "") \(text($0.loserValue))" })
  }

  private func text(_ value: Value) -> String {
    if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { "\(value)" }
  }

  @Test(
    "an insert over a held record lists what the record had", arguments: ["missing parent", "check"], [false, true])
  func insertOverHeld(reason: String, isDeleted: Bool) throws {
    let (a, b) = try peers()
    let row = reason == "check" ? "'i', NULL, 'theirs', 'no'" : "'i', 'nowhere', 'theirs', 'x'"
    try b.run("INSERT INTO item VALUES (\(row))")
    try a.pull(from: b)
    #expect(try a.store.held.list(limit: 9).count == 1)
    try a.run("INSERT INTO item VALUES ('i', NULL, 'mine', 'y')")
    if isDeleted { try a.run("DELETE FROM item") }
    try a.flush()
    let expected: Set<String> = reason == "check" ? ["a theirs", "b no"] : ["a theirs", "b x", "list nowhere"]
    #expect(try lost(a).isSuperset(of: expected))
    try synchronize([a, b])
    #expect(try a.rows("SELECT a FROM item") == (isDeleted ? [] : ["\"mine\""]))
    #expect(try a.digest() == b.digest())
    // What the check refuses comes back with no row.
    if reason == "check", isDeleted { return }
    let conflict = try #require(try a.store.conflicts.list(limit: 9).first { $0.column == "a" })
    _ = try a.store.history.restore(.conflict(conflict.id)) { _ in a.reader }
    #expect(try a.rows("SELECT a FROM item") == ["\"theirs\""])
  }

  @Test("what this device wrote itself is listed too, if it was hidden when a program overwrote it")
  func ownValuesThatWereHidden() throws {
    let (a, b) = try peers()
    try a.run("INSERT INTO list VALUES ('l'); INSERT INTO item VALUES ('i', 'l', 'old', 'same')")
    try synchronize([a, b])
    try b.run("PRAGMA foreign_keys = OFF; DELETE FROM list")
    try synchronize([a, b])
    #expect(try a.rows("SELECT id FROM item").isEmpty)
    try a.run("INSERT INTO item VALUES ('i', NULL, 'new', 'same')")
    try synchronize([a, b])
    #expect(try lost(a) == ["a old", "list l"])
  }

  @Test("a row that was shown, deleted and inserted again lists nothing")
  func insertOverShown() throws {
    let (a, b) = try peers()
    try b.run("INSERT INTO item VALUES ('i', NULL, 'theirs', 'x')")
    try a.pull(from: b)
    try a.run("DELETE FROM item; INSERT INTO item VALUES ('i', NULL, 'mine', 'y')")
    try synchronize([a, b])
    #expect(try lost(a).isEmpty && lost(b).isEmpty)
  }

  @Test("a row that was deleted and inserted again lists what it had in a column that this table lacks")
  func insertOverUnreadableColumn() throws {
    let schema = "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["note"]), try Peer(2, schema: schema, track: ["note"]))
    try b.run("ALTER TABLE note ADD COLUMN c TEXT; INSERT INTO note VALUES ('i', 'x', 'theirs')")
    try synchronize([a, b])
    try a.run("DELETE FROM note; INSERT INTO note VALUES ('i', 'y')")
    try synchronize([a, b])
    #expect(try lost(a) == ["c theirs"])
    #expect(try b.rows("SELECT * FROM note") == ["\"i\"|\"y\"|NULL"])
    let conflict = try #require(try a.store.conflicts.list(limit: 9).first)
    #expect(throws: RestoreError.lacking(table: "note", key: .text("i"), columns: ["c"])) {
      try a.store.history.restore(.conflict(conflict.id)) { _ in a.reader }
    }
    try a.run("ALTER TABLE note ADD COLUMN c TEXT")
    try synchronize([a, b])
    _ = try a.store.history.restore(.conflict(conflict.id)) { _ in a.reader }
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT * FROM note", ["\"i\"|\"y\"|\"theirs\""])
    #expect(try lost(a).isEmpty && lost(b).isEmpty)
  }

  @Test("a value under a column's former name beats one under the new name, which is listed")
  func formerName() throws {
    let schema = "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, u TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["note"]), try Peer(2, schema: schema, track: ["note"]))
    try a.run("INSERT INTO note VALUES ('1', 'first'), ('2', 'first')")
    try b.pull(from: a)
    try a.run("ALTER TABLE note RENAME COLUMN u TO v")
    try a.flush()
    try a.run("UPDATE note SET v = 'a' WHERE id = '1'; INSERT INTO note VALUES ('3', 'a')")
    try b.pull(from: a)
    try b.run("UPDATE note SET u = 'b1'")
    try b.flush()
    try b.run("UPDATE note SET u = 'b2'")
    try a.pull(from: b)
    try synchronize([a, b])
    #expect(try a.rows("SELECT id, v FROM note") == ["\"1\"|\"b2\"", "\"2\"|\"b2\"", "\"3\"|\"b2\""])
    let listed = try a.store.conflicts.list(limit: 9).map { "\(text($0.key)) \(text($0.loserValue))" }.sorted()
    #expect(listed == ["1 a", "3 a"])
    try b.run("ALTER TABLE note RENAME COLUMN u TO v")
    try synchronize([a, b])
    #expect(try a.rows("SELECT * FROM note") == b.rows("SELECT * FROM note"))
    #expect(try a.digest() == b.digest())
  }
}
