import MeshCore
import Testing

@testable import MeshStore

/// What is merged and not in its table can be listed, with what it waits for, and is tried again.
@Suite struct HeldTests {
  private static let lists = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list (id) ON DELETE CASCADE)
    """

  private func explain(_ peer: Peer, _ table: String, _ key: String) throws -> HeldEntry? {
    try peer.store.history.explain(table: table, key: .text(Array(key.utf8))) { _ in peer.reader }.first?.held
  }

  @Test("a record with only a key is held until its table exists")
  func aRecordThatIsNothingButItsKeyIsShownOnceItsTableIsHere() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    let b = try Peer(2)
    try a.run("INSERT INTO t VALUES ('k')")
    try b.pull(from: a)
    #expect(try b.store.held.list(limit: 9).map(\.reason) == [.unknownTable])
    try b.run("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)")
    try b.store.tables.track(tables: ["t"], now: b.now)
    try b.apply()
    #expect(try b.rows("SELECT id FROM t") == ["\"k\""])
    #expect(try b.store.held.list(limit: 9).isEmpty)
    #expect(try a.digest() == b.digest())
  }

  @Test("a held record names its reason, its missing parent and the time") func itSaysWhatARecordWaitsForAndSinceWhen()
    throws
  {
    let a = try Peer(1, schema: Self.lists, track: ["list", "item"])
    let b = try Peer(2, schema: Self.lists, track: ["list", "item"])
    try a.run("INSERT INTO item VALUES ('i', 'l')")
    try b.pull(from: a)
    let waiting = try #require(try b.store.held.list(limit: 9).first)
    #expect(waiting.reason == .missingParent)
    #expect(waiting.waitsFor == [.init(table: "list", key: .text(Array("l".utf8)), zone: nil)])
    let since = try #require(waiting.since)
    #expect(since > 0)
    #expect(try explain(b, "item", "i") == waiting)
    // The parent came and went: it is another reason, and the record was in its table in between.
    try a.run("INSERT INTO list VALUES ('l')")
    try b.pull(from: a)
    #expect(try b.store.held.list(limit: 9).isEmpty && explain(b, "item", "i") == nil)
    try a.run("INSERT INTO item VALUES ('j', 'l')")
    try b.run("DELETE FROM list")
    try synchronize([a, b])
    #expect(try b.store.held.list(limit: 9).map(\.reason) == [.parentDeleted])
  }

  @Test("a held record keeps its time when the reason changes") func fromOneReasonToTheNextTheTimeStays() throws {
    let a = try Peer(1, schema: Self.lists, track: ["list", "item"])
    let b = try Peer(2)
    try a.run("INSERT INTO item VALUES ('i', 'l')")
    try b.pull(from: a)
    let unknown = try #require(try b.store.held.list(limit: 9).first)
    try b.run(Self.lists)
    try b.store.tables.track(tables: ["list", "item"], now: b.now)
    try b.apply()
    let missing = try #require(try b.store.held.list(limit: 9).first)
    #expect(unknown.reason == .unknownTable && missing.reason == .missingParent)
    #expect(missing.since == unknown.since)
  }

  @Test("a row with a value that is too long is listed and explained as held") func aRowThatIsTooLongIsExplained()
    throws
  {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)", track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', printf('%.*c', \(Limits.longValue + 1), 'x'))")
    try a.flush()
    #expect(try explain(a, "t", "k")?.reason == .valueTooLong)
    #expect(try a.store.held.list(limit: 9).map(\.reason) == [.valueTooLong])
  }

  @Test("a retry shows rows that a trigger refused because of another table")
  func whatATriggerRefusedForAnotherTablesSakeIsShownWhenItIsTriedAgain() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)"
    let a = try Peer(1, schema: schema, track: ["t"])
    let b = try Peer(2, schema: schema + "; CREATE TABLE settings (closed)", track: ["t"])
    try b.run(
      """
      CREATE TRIGGER door BEFORE INSERT ON t WHEN EXISTS (SELECT 1 FROM settings WHERE closed)
      BEGIN SELECT RAISE(ABORT, 'the door is closed'); END;
      INSERT INTO settings VALUES (1);
      """)
    try b.upkeep()
    try a.run("INSERT INTO t VALUES ('k'), ('l')")
    try b.pull(from: a)
    #expect(try b.store.held.list(limit: 9).map(\.message) == ["the door is closed", "the door is closed"])
    try b.run("DELETE FROM settings")
    try b.apply()
    #expect(try b.rows("SELECT id FROM t").isEmpty, "nothing told that it would fit now")
    try b.store.held.retry()
    #expect(try b.store.merges.isShowing())
    try b.apply()
    #expect(try b.rows("SELECT id FROM t") == ["\"k\"", "\"l\""])
    #expect(try !b.store.merges.isShowing() && a.digest() == b.digest())
  }

  @Test("a record that a file of format 2 holds has no time and is shown later")
  func whatAnOlderFileHoldsWithoutATimeIsFoundAndShown() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    let b = try Peer(2)
    try a.run("INSERT INTO t VALUES ('k')")
    try b.pull(from: a)
    try b.run("UPDATE mesh_record SET extra = NULL; UPDATE mesh_state SET format = 2")
    try b.reopen()
    #expect(try b.store.held.list(limit: 9).map(\.since) == [nil])
    try b.run("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)")
    try b.store.tables.track(tables: ["t"], now: b.now)
    try b.apply()
    #expect(try b.rows("SELECT id FROM t") == ["\"k\""])
  }

  @Test("a row that is too long keeps its held time through later edits")
  func aRowThatIsTooLongSaysSinceWhenAndGoesOnSayingIt() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n INTEGER, v TEXT)", track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', 1, printf('%.*c', \((64 << 20) + 1), 'x'))")
    try a.flush()
    let first = try #require(try a.store.held.list(limit: 9).first)
    #expect(first.reason == .valueTooLong)
    let since = try #require(first.since)
    #expect(since > 1_700_000_000_000)
    try a.run("UPDATE mesh_held SET since = 5; UPDATE t SET n = 2")
    try a.flush()
    #expect(try a.store.held.list(limit: 9).map(\.since) == [5])
  }

  @Test("the counts of held records have the same reasons as the list") func theCountsSayWhatTheListSays() throws {
    let schema = """
      CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE c (id TEXT PRIMARY KEY NOT NULL, p TEXT REFERENCES p (id) ON DELETE CASCADE)
      """
    let peers = try [1, 2, 3].map { try Peer($0, schema: schema, track: ["p", "c"]) }
    let (a, b, c) = (peers[0], peers[1], peers[2])
    func expectReason(_ reason: HeldReason, _ peer: Peer) throws {
      #expect(try peer.store.held.list(limit: 9).map(\.reason) == [reason])
      #expect(try peer.store.figures.status().held == [reason: 1])
    }
    try a.run("INSERT INTO c VALUES ('x', 'k')")
    try b.pull(from: a)
    try expectReason(.shownHereOnly, a)
    try expectReason(.missingParent, b)
    // The parent is merged with its delete.
    try c.run("INSERT INTO p VALUES ('k')")
    try c.flush()
    try c.run("DELETE FROM p")
    for peer in [a, b] { try peer.pull(from: c) }
    for peer in [a, b] { try expectReason(.parentDeleted, peer) }
  }
}
