import MeshCore
import Testing

@testable import MeshStore

private let notes = """
  CREATE TABLE note (id INTEGER PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '', body TEXT, stars INTEGER);
  """

/// Two or three files exchange change sets by hand.
@Suite struct ExchangeTests {
  private func pair() throws -> (Peer, Peer) {
    (try Peer(1, schema: notes, track: ["note"]), try Peer(2, schema: notes, track: ["note"]))
  }

  @Test("inserts, updates, upserts, replacements, deletes and key changes reach the other peer")
  func everyWriterStatementArrives() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO note VALUES (1, 'one', 'x', 1), (2, 'two', NULL, 2), (3, 'three', 'z', 3)")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM note") == a.rows("SELECT * FROM note"))
    try a.run("UPDATE note SET stars = stars + 10")
    try a.run("INSERT INTO note VALUES (2, 'TWO', 'y', 5) ON CONFLICT (id) DO UPDATE SET title = excluded.title")
    try a.run("REPLACE INTO note VALUES (3, 'drei', NULL, NULL)")
    try a.run("DELETE FROM note WHERE id = 1")
    try a.run("UPDATE note SET id = 20 WHERE id = 2")
    try b.pull(from: a)
    #expect(
      try b.rows("SELECT * FROM note ORDER BY id") == ["3|drei|NULL|NULL", "20|TWO|NULL|12"].map { $0.quotedTexts })
    #expect(try a.digest() == b.digest())
    #expect(try b.digest().records == 2)
  }

  @Test("edits of different columns merge, and edits of the same column are a conflict")
  func editsOfDifferentColumnsMergeAndTheLaterOfOneWins() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO note VALUES (1, 'one', 'x', 1)")
    try b.pull(from: a)
    try a.run("UPDATE note SET title = 'from a', body = 'a' WHERE id = 1")
    try a.flush()
    b.now += 50
    try b.run("UPDATE note SET stars = 9, body = 'b' WHERE id = 1")
    try synchronize([a, b])
    #expect(try a.rows("SELECT * FROM note") == b.rows("SELECT * FROM note"))
    #expect(try a.digest() == b.digest())
    #expect(try a.rows("SELECT title, stars FROM note") == ["\"from a\"|9"])
    let conflicts = try a.store.conflicts.list(limit: 10)
    #expect(conflicts.map(\.column) == ["body"])
    #expect(try b.store.conflicts.list(limit: 10).map(\.loserValue) == conflicts.map(\.loserValue))
    #expect(conflicts.first.map { [$0.loserValue, $0.winnerValue].sorted() == [.text("a"), .text("b")] } ?? false)
  }

  @Test("an edit of a value that its author had seen is no conflict")
  func whatIsWrittenAfterItsPredecessorWasSeenIsNoConflict() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO note VALUES (1, 'one', 'x', 1)")
    try b.pull(from: a)
    try b.run("UPDATE note SET body = 'b' WHERE id = 1")
    try a.pull(from: b)
    #expect(try a.rows("SELECT body FROM note") == ["\"b\""])
    #expect(try a.store.figures.status().conflicts == 0)
  }

  @Test("a delete wins over a concurrent edit, and the conflict keeps the lost value")
  func deletingBeatsAConcurrentEditAndKeepsTheLostValue() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO note VALUES (1, 'one', 'x', 1)")
    try b.pull(from: a)
    try a.run("DELETE FROM note")
    try b.run("UPDATE note SET body = 'typed' WHERE id = 1")
    try synchronize([a, b])
    #expect(try a.rows("SELECT * FROM note").isEmpty)
    #expect(try b.rows("SELECT * FROM note").isEmpty)
    #expect(try a.digest() == b.digest())
    #expect(try a.store.conflicts.list(limit: 9).map(\.loserValue) == [.text("typed")])
    #expect(try b.store.conflicts.list(limit: 9).map(\.loserValue) == [.text("typed")])
  }

  @Test("an insert after a delete starts the row without its old values") func insertingAfterADeleteIsANewLife() throws
  {
    let (a, b) = try pair()
    try a.run("INSERT INTO note VALUES (1, 'one', 'x', 1)")
    try b.pull(from: a)
    try a.run("DELETE FROM note")
    try b.pull(from: a)
    try b.run("INSERT INTO note (id, title) VALUES (1, 'again')")
    try a.pull(from: b)
    #expect(try a.rows("SELECT * FROM note") == ["1|\"again\"|NULL|NULL"])
    try a.run("DELETE FROM note")
    try a.run("INSERT INTO note (id, title) VALUES (1, 'third')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT title FROM note") == ["\"third\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a row that is written as it was says nothing, and neither does one that is deleted before the flush")
  func nothingNew() throws {
    let (a, _) = try pair()
    try a.run("INSERT INTO note VALUES (1, 'one', 'x', 1)")
    #expect(try a.flush() == 1)
    try a.run("UPDATE note SET body = 'x'")
    #expect(try a.store.localWrites.pendingCount() == 0)
    try a.run("REPLACE INTO note VALUES (1, 'one', 'x', 1)")
    #expect(try a.flush() == 0)
    try a.run("INSERT INTO note VALUES (2, 'never', 'seen', 1)")
    try a.run("DELETE FROM note WHERE id = 2")
    #expect(try a.flush() == 0)
  }

  @Test("a merge asks for a flush while rows are pending") func applyAsksForAFlushWhileRowsArePending() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO note VALUES (1, 'a', NULL, 1)")
    try a.flush()
    try b.receive(from: a)
    try b.run("INSERT INTO note VALUES (2, 'b', NULL, 1)")
    b.now = a.now
    #expect(try b.store.merges.apply(Peer.zone, b.reader, now: b.now) == .flushFirst)
    try b.apply()
    #expect(try b.rows("SELECT id FROM note") == ["1", "2"])
  }

  @Test("a change set waits until the change sets it depends on arrive") func whatDependsOnMissingChangeSetsWaits()
    throws
  {
    let (a, b) = try pair()
    let c = try Peer(3, schema: notes, track: ["note"])
    try a.run("INSERT INTO note VALUES (1, 'a', NULL, 1)")
    try b.pull(from: a)
    try b.run("UPDATE note SET stars = 2")
    try b.flush()
    let theirs = try b.store.log.changeSets(
      Peer.zone, beyond: a.store.log.mergedVector(Peer.zone), of: nil, after: 0, maximumBytes: 1 << 20)
    _ = try c.store.log.store(
      theirs.changeSets.map { try ChangeSet($0, with: c.cryptography) }, zone: Peer.zone, now: c.now)
    c.now = b.now
    #expect(try c.apply() == [.causalPast: 1])
    try c.receive(from: a)
    #expect(try c.apply() == [:])
    #expect(try c.rows("SELECT stars FROM note") == ["2"])
    #expect(try c.digest() == b.digest())
  }

  @Test("5,500 rows travel in six change sets") func manyRowsTravelInSlices() throws {
    let (a, b) = try pair()
    try a.run(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5500)
      INSERT INTO note SELECT i, 'title ' || i, 'body ' || i, i % 7 FROM n
      """)
    #expect(try a.flush() == 6)
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*), sum(stars) FROM note") == a.rows("SELECT count(*), sum(stars) FROM note"))
    #expect(try a.digest() == b.digest())
    #expect(try a.store.log.mergedVector(Peer.zone)[a.author] == 6)
    try a.run("ALTER TABLE note ADD COLUMN colour TEXT DEFAULT 'red'")
    try a.upkeep()
    #expect(try a.flush() == 0)
  }
}

extension String {
  /// Words between bars as GRDB describes texts.
  fileprivate var quotedTexts: String {
    split(separator: "|").map { $0 == "NULL" || Int($0) != nil ? String($0) : "\"\($0)\"" }.joined(separator: "|")
  }
}
