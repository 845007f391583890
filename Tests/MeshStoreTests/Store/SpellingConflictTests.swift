import MeshCore
import Testing

@testable import MeshStore

/// Keys that are equal without regard to case, and how they are spelled.
@Suite struct SpellingConflictTests {
  @Test("a key's new spelling that loses without having been seen is listed", arguments: ["tag", "tAg"])
  func spellingLoses(loser: String) throws {
    let schema = "CREATE TABLE tag (name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, color INTEGER) WITHOUT ROWID"
    let (zero, one) = (try Peer(1, schema: schema, track: ["tag"]), try Peer(2, schema: schema, track: ["tag"]))
    try zero.run("INSERT INTO tag VALUES ('TAG', 0)")
    try zero.flush()
    try zero.run("REPLACE INTO tag VALUES ('\(loser)', 1)")
    try zero.flush()
    // Its clock goes on from there.
    one.now = zero.now + 60_000
    try one.run("INSERT INTO tag VALUES ('other', 0)")
    try one.flush()
    try one.run("INSERT INTO tag VALUES ('TAG', 2)")
    try one.flush()
    zero.now = one.now
    try zero.pull(from: one)
    try one.pull(from: zero)
    for peer in [zero, one] {
      #expect(try peer.rows("SELECT * FROM tag WHERE color > 0") == [#""TAG"|2"#])
      let listed = try peer.store.conflicts.list(limit: 10)
      #expect(listed.first { $0.column == "name" }?.loserValue == .text(Array(loser.utf8)))
      #expect(listed.contains { $0.column == "color" && $0.loserValue == .integer(1) })
    }
  }

  @Test("two spellings of a new key meet: one is shown, and the other is listed", arguments: ["tag", "TAG"])
  func spellingsMeet(first: String) throws {
    let schema = "CREATE TABLE tag (name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, color INTEGER) WITHOUT ROWID"
    let second = first == "tag" ? "TAG" : "tag"
    let (zero, one) = (try Peer(1, schema: schema, track: ["tag"]), try Peer(2, schema: schema, track: ["tag"]))
    try zero.run("INSERT INTO tag VALUES ('\(first)', 1)")
    try zero.flush()
    one.now = zero.now + 60_000
    try one.run("INSERT INTO tag VALUES ('\(second)', 1)")
    try one.flush()
    zero.now = one.now
    try zero.pull(from: one)
    try one.pull(from: zero)
    for peer in [zero, one] {
      #expect(try peer.rows("SELECT name FROM tag") == ["\"\(second)\""])
      let lost = try peer.store.conflicts.list(limit: 10).first { $0.column == "name" }
      #expect(lost?.loserValue == .text(Array(first.utf8)))
    }
    #expect(try zero.digest() == one.digest())
  }

  @Test("a row that is tracked again under another spelling of its key is kept as a conflict")
  func spellingOfARowThatIsTakenIn() throws {
    let schema = "CREATE TABLE tag (name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, color INTEGER) WITHOUT ROWID"
    let (zero, one) = (try Peer(1, schema: schema, track: ["tag"]), try Peer(2, schema: schema, track: ["tag"]))
    try one.run("INSERT INTO tag VALUES ('TAG', 1)")
    try zero.pull(from: one)
    try zero.store.tables.untrack(["tag"])
    try zero.run("DELETE FROM tag; INSERT INTO tag VALUES ('tag', 1)")
    try one.run("UPDATE tag SET name = 'Tag'")
    try zero.pull(from: one)
    try zero.store.tables.track(tables: ["tag"], integerKeys: true, now: zero.now)
    try synchronize([zero, one])
    for peer in [zero, one] { #expect(try peer.rows("SELECT name FROM tag") == ["\"Tag\""]) }
    #expect(try zero.store.conflicts.list(limit: 9).map(\.loserValue) == [.text(Array("tag".utf8))])
  }
}
