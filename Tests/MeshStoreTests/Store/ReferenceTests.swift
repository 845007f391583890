import MeshCore
import Testing

@testable import MeshStore

private let lists = """
  CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, name TEXT);
  CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list (id) ON DELETE CASCADE, text TEXT);
  CREATE TABLE tag (id TEXT PRIMARY KEY NOT NULL, list TEXT DEFAULT 'none' REFERENCES list (id) ON DELETE SET NULL, text TEXT);
  CREATE TABLE node (id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES node (id) ON DELETE CASCADE);
  """
private let names = ["list", "item", "tag", "node"]

/// What the tables show where rows refer to rows.
@Suite struct ReferenceTests {
  private func pair(foreignKeys: Bool = false) throws -> (Peer, Peer) {
    (
      try Peer(1, schema: lists, track: names, foreignKeys: foreignKeys),
      try Peer(2, schema: lists, track: names, foreignKeys: foreignKeys)
    )
  }

  @Test("a deleted parent removes its children, with foreign keys on or off", arguments: [true, false])
  func deletingAParentDeletesItsChildrenWhateverTheWriterEnforces(foreignKeys: Bool) throws {
    let (a, b) = try pair(foreignKeys: foreignKeys)
    try a.run("INSERT INTO list VALUES ('l', 'x'); INSERT INTO item VALUES ('i', 'l', '1'), ('j', 'l', '2')")
    try a.run(
      "INSERT INTO node VALUES ('a', NULL); INSERT INTO node VALUES ('b', 'a'); INSERT INTO node VALUES ('c', 'b')")
    try b.pull(from: a)
    try a.run("DELETE FROM list; DELETE FROM node WHERE id = 'a'")
    try b.pull(from: a)
    for peer in [a, b] {
      #expect(try peer.rows("SELECT id FROM item UNION SELECT id FROM node").isEmpty)
      #expect(try peer.digest().records == 0)
      #expect(try peer.store.figures.status().held.isEmpty)
    }
    #expect(try a.digest() == b.digest())
  }

  /// Of the tag t, by column.
  private func withheld(_ peer: Peer) throws -> [String: RecordExplanation.Withheld] {
    let found = try peer.store.history.explain(table: "tag", key: .text("t")) { _ in peer.reader }
    return Dictionary(
      found.flatMap(\.columns).compactMap { column in column.withheld.map { (column.name, $0) } },
      uniquingKeysWith: { $1 })
  }

  @Test(
    "a SET NULL reference becomes NULL with its parent's delete and returns with the parent", arguments: [true, false])
  func aReferenceIsResetWithItsParentAndReturnsWithIt(foreignKeys: Bool) throws {
    let (a, b) = try pair(foreignKeys: foreignKeys)
    try a.run("INSERT INTO list VALUES ('l', 'x'); INSERT INTO tag VALUES ('t', 'l', '1')")
    try b.pull(from: a)
    try a.run("DELETE FROM list")
    try b.pull(from: a)
    for peer in [a, b] {
      #expect(try peer.rows("SELECT list FROM tag") == ["NULL"])
      let expected = RecordExplanation.Withheld(
        shown: .null, parent: .init(table: "list", key: .text("l"), zone: nil), isParentDeleted: true)
      #expect(try withheld(peer) == ["list": expected])
    }
    #expect(try a.digest() == b.digest())
    try b.run("INSERT INTO list VALUES ('l', 'back')")
    try a.pull(from: b)
    for peer in [a, b] { #expect(try withheld(peer).isEmpty) }
    for peer in [a, b] { #expect(try peer.rows("SELECT list FROM tag") == ["\"l\""]) }
    #expect(try a.digest() == b.digest())
    #expect(try a.rows("SELECT * FROM mesh_wait").isEmpty)
  }

  @Test("a concurrent move to another parent wins over the reset by a deleted parent")
  func aResetBeatsNoConcurrentMoveToAnotherParent() throws {
    let (a, b) = try pair(foreignKeys: true)
    try a.run("INSERT INTO list VALUES ('l', 'x'), ('m', 'y'); INSERT INTO tag VALUES ('t', 'l', '1')")
    try b.pull(from: a)
    try b.run("UPDATE tag SET list = 'm'")
    try b.flush()
    a.now += 100
    try a.run("DELETE FROM list WHERE id = 'l'")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT list FROM tag") == ["\"m\""]) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a NULL that a program writes before it deletes the parent stays NULL")
  func aNullThatAPersonWroteBeforeDeletingTheParentStays() throws {
    let (a, b) = try pair(foreignKeys: true)
    try a.run("INSERT INTO list VALUES ('l', 'x'); INSERT INTO tag VALUES ('t', 'l', '1')")
    try b.pull(from: a)
    // Some time passes between the two.
    try a.run("UPDATE tag SET list = NULL; UPDATE mesh_pending SET wall = wall - 5; DELETE FROM list")
    try b.pull(from: a)
    try b.run("INSERT INTO list VALUES ('l', 'back')")
    try a.pull(from: b)
    for peer in [a, b] { #expect(try peer.rows("SELECT list FROM tag") == ["NULL"]) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a NULL that a program writes over a reference reaches the other peer") func aNullThatAPersonWroteIsSent()
    throws
  {
    let (a, b) = try pair(foreignKeys: true)
    try a.run("INSERT INTO list VALUES ('l', 'x'); INSERT INTO tag VALUES ('t', 'l', '1')")
    try b.pull(from: a)
    try a.run("UPDATE tag SET list = NULL")
    try b.pull(from: a)
    #expect(try b.rows("SELECT list FROM tag") == ["NULL"])
    #expect(try a.digest() == b.digest())
  }

  @Test("a child without its parent is held by everybody but its writer, and shown with it")
  func aChildWithoutItsParent() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO item VALUES ('i', 'later', '1')")
    try b.pull(from: a)
    #expect(try a.rows("SELECT id FROM item") == ["\"i\""] && a.store.figures.status().held == [.shownHereOnly: 1])
    #expect(try b.rows("SELECT id FROM item").isEmpty && b.store.figures.status().held == [.missingParent: 1])
    try b.run("INSERT INTO list VALUES ('later', 'x')")
    try a.pull(from: b)
    for peer in [a, b] { #expect(try peer.rows("SELECT * FROM item") == ["\"i\"|\"later\"|\"1\""]) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a child inserted while its parent is deleted is held on both peers")
  func aChildInsertedWhileItsParentIsDeletedIsHeld() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO list VALUES ('l', 'x')")
    try b.pull(from: a)
    try a.run("DELETE FROM list")
    try b.run("INSERT INTO item VALUES ('i', 'l', 'new')")
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(try peer.rows("SELECT id FROM item").isEmpty)
      #expect(try peer.store.held.list(limit: 9).map(\.reason) == [.parentDeleted])
    }
    #expect(try a.digest() == b.digest())
    try a.run("INSERT INTO list VALUES ('l', 'again')")
    try b.pull(from: a)
    for peer in [a, b] { #expect(try peer.rows("SELECT text FROM item") == ["\"new\""]) }
  }

  @Test("rows that refer to each other in a cycle appear together") func cyclesAreShownTogether() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO node VALUES ('x', 'y'), ('y', 'z'), ('z', 'x'), ('self', 'self')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*) FROM node") == ["4"])
    #expect(try a.digest() == b.digest())
  }

  @Test("a held cycle appears when its missing row arrives") func aHeldCycleAppearsWithWhatItLacked() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO node VALUES ('x', 'y')")
    try b.pull(from: a)
    try a.run("INSERT INTO node VALUES ('w', 'x')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM node").isEmpty)
    try a.run("INSERT INTO node VALUES ('y', 'x')")
    try b.pull(from: a)
    for peer in [a, b] { #expect(try peer.rows("SELECT id FROM node ORDER BY id") == ["\"w\"", "\"x\"", "\"y\""]) }
  }

  @Test("a child written before its parent in one change set is shown")
  func childrenThatArriveBeforeTheirParentsInOneChangeSetAreShown() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO item VALUES ('i', 'l', '1'); INSERT INTO list VALUES ('l', 'x')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM item") == ["\"i\""])
  }

  @Test("a pending delete of a held row is not undone when its parent arrives")
  func aDeleteThatWaitsForItsFlushIsNotUndoneByTheParentThatComes() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO tag VALUES ('t', 'a', 'waits for its list')")
    try a.flush()
    // The parent is in the first part of the flush, and the delete in the second.
    try a.run(
      """
      INSERT INTO list VALUES ('a', 'comes');
      WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
      INSERT INTO list SELECT 'b' || i, 'others' FROM n;
      DELETE FROM tag WHERE id = 't';
      """)
    try b.pull(from: a)
    for peer in [a, b] { #expect(try peer.rows("SELECT id FROM tag").isEmpty) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a deleted parent removes 2,300 children on both peers, and slice by slice on the one that deletes it")
  func aBigCascadeGoesInSlices() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO list VALUES ('l', 'x')")
    try a.run(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2300)
      INSERT INTO item SELECT 'i' || i, 'l', i FROM n
      """)
    try b.pull(from: a)
    try a.run("DELETE FROM list")
    // Its program has foreign keys turned off, so the node deletes the children.
    var (left, hasMore) = ([2_300], true)
    a.now += 10
    while hasMore {
      hasMore = try a.store.localWrites.flush(a.writer, now: a.now).hasMore
      left.append(try a.rows("SELECT id FROM item").count)
    }
    #expect(zip(left, left.dropFirst()).allSatisfy { $0 - $1 <= Choices.slice } && left.last == 0, "\(left)")
    try b.pull(from: a)
    for peer in [a, b] {
      #expect(try peer.rows("SELECT id FROM item").isEmpty)
      #expect(try peer.digest().records == 0)
    }
  }

  @Test("a pending edit survives when its record is shown again after a schema change")
  func anEditThatWaitsForItsFlushIsNotOverwrittenByWhatIsShownAgain() throws {
    let schema = """
      CREATE TABLE folder (id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES folder(id) ON DELETE SET NULL);
      CREATE TABLE other (id TEXT PRIMARY KEY NOT NULL)
      """
    let a = try Peer(1, schema: schema, track: ["folder", "other"])
    let b = try Peer(2, schema: schema, track: ["folder", "other"])
    try b.run("INSERT INTO folder VALUES ('child', 'missing'), ('there', NULL)")
    try a.pull(from: b)
    #expect(try a.rows("SELECT parent FROM folder WHERE id = 'child'") == ["NULL"])
    try a.run("UPDATE folder SET parent = 'there' WHERE id = 'child'; ALTER TABLE other ADD COLUMN more TEXT")
    try a.upkeep()
    // The schema has changed, so what is held or shown in part is looked at again, beside the pending edit.
    for _ in 0..<10 { _ = try a.store.merges.apply(Peer.zone, a.reader, flushing: [Peer.zone: a.writer], now: a.now) }
    #expect(try a.rows("SELECT parent FROM folder WHERE id = 'child'") == ["\"there\""])
    try b.pull(from: a)
    #expect(try b.rows("SELECT parent FROM folder WHERE id = 'child'") == ["\"there\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("an edit that is flushed after its record was withdrawn is sent, and shown once the parent returns")
  func flushedAfterWithdrawal() throws {
    let schema = """
      CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE c (id TEXT PRIMARY KEY NOT NULL, p TEXT REFERENCES p ON DELETE CASCADE, v TEXT, n INTEGER);
      """
    let (a, b) = (try Peer(1, schema: schema, track: ["p", "c"]), try Peer(2, schema: schema, track: ["p", "c"]))
    try a.run("INSERT INTO p VALUES ('p')")
    try b.pull(from: a)
    try a.run("INSERT INTO c VALUES ('c', 'p', 'before', 1)")
    try a.flush()
    try b.run("DELETE FROM p")
    try b.flush()
    // More is pending than one transaction flushes, so the delete is merged beside the edit.
    try a.run(
      """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(Choices.slice + 1))
      INSERT INTO p SELECT 'p' || i FROM n;
      UPDATE c SET v = 'edit'
      """)
    try a.receive(from: b)
    for _ in 0..<10 { _ = try a.store.merges.apply(Peer.zone, a.reader, flushing: [Peer.zone: a.writer], now: a.now) }
    #expect(try a.rows("SELECT * FROM c").isEmpty)
    #expect(try a.store.localWrites.pendingCount() > 0)
    try a.flush()
    try b.pull(from: a)
    try b.run("INSERT INTO p VALUES ('p')")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT v, n FROM c") == ["\"edit\"|1"]) }
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a reference that a delete set to NULL comes back with its parent, however its key is spelled",
    arguments: [false, true])
  func resetWithAnotherSpelling(hasShare: Bool) throws {
    let schema = """
      CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, v TEXT);
      CREATE TABLE c (id TEXT PRIMARY KEY NOT NULL, p TEXT COLLATE NOCASE REFERENCES p (id) ON DELETE SET NULL);
      """
    let tables = ["p", "c"]
    let a = try Peer(1, schema: schema, track: tables, foreignKeys: true)
    let b = try Peer(2, schema: schema, track: tables, foreignKeys: true)
    if hasShare { try a.standBesideShare() }
    try a.run("INSERT INTO p VALUES ('ABC', 'x'); INSERT INTO c VALUES ('c1', 'ABC')")
    try synchronize([a, b])
    try a.run("DELETE FROM p")
    try synchronize([a, b])
    // The reference is still merged. SQLite's NULL was not sent as an edit.
    for peer in [a, b] {
      #expect(try peer.rows("SELECT extra IS NULL FROM mesh_record WHERE key = 'c1'") == ["0"])
    }
    _ = try b.store.history.restore(.record(table: "p", key: .text(Array("ABC".utf8)), columns: [])) { _ in b.reader }
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT id, p FROM c") == ["\"c1\"|\"ABC\""]) }
  }
}
