import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Programs with foreign keys off see their own rows as without a mesh; other machines hold what refers to nothing.
@Suite struct ForeignKeysOffTests {
  private static let schema = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, title TEXT);
    CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list (id) ON DELETE CASCADE, n INTEGER);
    CREATE TABLE label (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list (id) ON DELETE SET NULL)
    """

  private func pair() throws -> (Peer, Peer) {
    let tables = ["list", "item", "label"]
    return (try Peer(1, schema: Self.schema, track: tables), try Peer(2, schema: Self.schema, track: tables))
  }

  private func equal(_ a: Peer, _ b: Peer) throws {
    for table in ["list", "item", "label"] {
      #expect(try a.rows("SELECT * FROM \(table) ORDER BY id") == b.rows("SELECT * FROM \(table) ORDER BY id"))
    }
    #expect(try a.digest() == b.digest())
    for peer in [a, b] { #expect(try peer.store.figures.status().held.isEmpty) }
  }

  @Test("a child that is written before its parent stays in the writer's table, and takes its updates")
  func aChildBeforeItsParent() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO item VALUES ('i', 'l', 1); INSERT INTO label VALUES ('x', 'l')")
    try b.pull(from: a)
    #expect(try a.rows("SELECT * FROM item") == ["\"i\"|\"l\"|1"] && a.rows("SELECT * FROM label") == ["\"x\"|\"l\""])
    #expect(try a.store.figures.status().held == [.shownHereOnly: 2])
    #expect(
      try a.store.held.list(limit: 9).first?.waitsFor
        == [.init(table: "list", key: .text(Array("l".utf8)), zone: nil)])
    #expect(try b.rows("SELECT * FROM item").isEmpty && b.store.figures.status().held == [.missingParent: 1])
    try a.run("UPDATE item SET n = 2 WHERE list = 'l'")
    #expect(try a.flush() == 1)
    // Others' edits of the row, a rescan and a restart are no reason to take it away.
    try a.store.capture.rescan()
    #expect(try a.flush() == 0)
    try a.reopen()
    try a.apply()
    #expect(try a.rows("SELECT n FROM item") == ["2"])
    try a.run("INSERT INTO list VALUES ('l', 'late')")
    try synchronize([a, b])
    try equal(a, b)
    #expect(try b.rows("SELECT * FROM item") == ["\"i\"|\"l\"|2"])
  }

  @Test("another machine's reference to a row that exists ends the note")
  func anotherReferenceEndsTheNote() throws {
    let (a, b) = try pair()
    try b.run("INSERT INTO list VALUES ('k', '')")
    try a.run("INSERT INTO item VALUES ('i', 'l', 1)")
    try synchronize([a, b])
    #expect(try a.store.figures.status().held == [.shownHereOnly: 1])
    try b.run("INSERT INTO item VALUES ('i', 'k', 5)")
    try synchronize([a, b])
    try equal(a, b)
    #expect(try a.rows("SELECT * FROM item") == ["\"i\"|\"k\"|5"])
  }

  @Test("another machine's edit leaves a row that is shown here only where it is")
  func anEditOfOthersKeepsIt() throws {
    let (a, b) = try pair()
    try b.run("INSERT INTO list VALUES ('k', '')")
    try a.run("INSERT INTO item VALUES ('i', 'l', 1)")
    try synchronize([a, b])
    // It is held there, and another parent brings it back.
    try b.run("INSERT INTO item VALUES ('i', 'l', 5)")
    try a.pull(from: b)
    #expect(try a.store.figures.status().held == [.shownHereOnly: 1])
    try synchronize([a, b])
    #expect(try a.rows("SELECT n FROM item") == ["5"] && b.rows("SELECT n FROM item") == ["5"])
    try b.run("UPDATE item SET n = 6")
    try synchronize([a, b])
    #expect(try a.rows("SELECT n FROM item") == ["6"])
  }

  @Test("a parent that is deleted elsewhere takes the child along, also at its writer")
  func aDeleteElsewhereCounts() throws {
    let (a, b) = try pair()
    try a.run("INSERT INTO item VALUES ('i', 'l', 1)")
    try b.pull(from: a)
    try b.run("INSERT INTO list VALUES ('l', '')")
    try synchronize([a, b])
    try b.run("DELETE FROM list")
    try synchronize([a, b])
    #expect(try a.rows("SELECT * FROM item").isEmpty && b.rows("SELECT * FROM item").isEmpty)
    #expect(try a.digest() == b.digest())
  }

  @Test("a key that is renamed before its children's references loses no child")
  func aKeyIsRenamedFirst() throws {
    let (a, b) = try pair()
    try a.run(
      "INSERT INTO list VALUES ('old', 'x'); INSERT INTO item VALUES ('i', 'old', 1), ('j', 'old', 2); INSERT INTO label VALUES ('x', 'old')"
    )
    try b.pull(from: a)
    try a.run("UPDATE list SET id = 'new'")
    try b.pull(from: a)
    #expect(try a.rows("SELECT id FROM item WHERE list = 'old'").count == 2)
    #expect(try a.rows("SELECT list FROM label") == ["\"old\""])
    // Held there, and not deleted.
    #expect(try b.rows("SELECT id FROM item").isEmpty && b.store.figures.status().held == [.parentDeleted: 2])
    try a.run("UPDATE item SET list = 'new' WHERE list = 'old'; UPDATE label SET list = 'new' WHERE list = 'old'")
    try synchronize([a, b])
    try equal(a, b)
    #expect(try b.rows("SELECT id, list FROM item ORDER BY id") == ["\"i\"|\"new\"", "\"j\"|\"new\""])
  }

  @Test("a parent that is deleted takes its children along although the writer had foreign keys off")
  func aDeleteStillCascades() throws {
    let (a, b) = try pair()
    try a.run(
      "INSERT INTO list VALUES ('l', ''); INSERT INTO item VALUES ('i', 'l', 1); INSERT INTO label VALUES ('x', 'l')")
    try b.pull(from: a)
    try a.run("DELETE FROM list")
    try synchronize([a, b])
    try equal(a, b)
    #expect(try a.rows("SELECT id FROM item").isEmpty && a.rows("SELECT * FROM label") == ["\"x\"|NULL"])
    // Renamed and deleted at once: what referred to the old key refers to nothing, and stays.
    try a.run("INSERT INTO list VALUES ('m', ''); INSERT INTO item VALUES ('j', 'm', 1)")
    try a.flush()
    try a.run("UPDATE list SET id = 'n'; DELETE FROM list")
    try b.pull(from: a)
    #expect(try a.rows("SELECT id FROM item") == ["\"j\""] && b.store.figures.status().held == [.parentDeleted: 1])
  }

  @Test("a child that is written after its parent's delete is not deleted with it, and comes back with the parent")
  func aChildWrittenAfterTheDelete() throws {
    let (a, b) = try pair()
    try a.run(
      "INSERT INTO list VALUES ('l', ''); INSERT INTO item VALUES ('edited', 'l', 1), ('earlier', 'l', 1), ('i', 'l', 1)"
    )
    try b.pull(from: a)
    // All of it is flushed at once, as after a time without a node.
    try a.run(
      """
      INSERT INTO item VALUES ('new', 'l', 1); UPDATE item SET n = 2 WHERE id = 'earlier'; DELETE FROM list;
      UPDATE item SET n = 2 WHERE id IN ('edited', 'new'); INSERT INTO item VALUES ('after', 'l', 1);
      """)
    try synchronize([a, b])
    let stays = ["\"after\"|\"l\"|1", "\"edited\"|\"l\"|2", "\"new\"|\"l\"|2"]
    #expect(try a.rows("SELECT * FROM item ORDER BY id") == stays)
    #expect(try a.store.figures.status().held == [.shownHereOnly: 3])
    #expect(try b.rows("SELECT * FROM item").isEmpty && b.store.figures.status().held == [.parentDeleted: 3])
    #expect(try a.digest() == b.digest())
    try b.run("INSERT INTO list VALUES ('l', 'back')")
    try synchronize([a, b])
    try equal(a, b)
    #expect(try b.rows("SELECT * FROM item ORDER BY id") == stays)
  }

  @Test(
    "a row that is written below a deleted one stays, with what is between them",
    arguments: [
      "INSERT INTO sub VALUES ('new', 'i', 'written')", "UPDATE sub SET text = 'written' WHERE id = 's'",
      "UPDATE deep SET text = 'written' WHERE id = 'd'", "INSERT INTO deep VALUES ('new', 's', 'written')",
    ])
  func aWriteFarBelowTheDelete(write: String) throws {
    let schema =
      Self.schema + """
        ;CREATE TABLE sub (id TEXT PRIMARY KEY NOT NULL, item TEXT REFERENCES item (id) ON DELETE CASCADE, text TEXT);
        CREATE TABLE deep (id TEXT PRIMARY KEY NOT NULL, sub TEXT REFERENCES sub (id) ON DELETE CASCADE, text TEXT)
        """
    let tables = ["list", "item", "sub", "deep"]
    let (a, b) = (try Peer(1, schema: schema, track: tables), try Peer(2, schema: schema, track: tables))
    try a.run(
      """
      INSERT INTO list VALUES ('l', ''); INSERT INTO item VALUES ('i', 'l', 1), ('j', 'l', 1);
      INSERT INTO sub VALUES ('s', 'i', ''), ('t', 'j', ''); INSERT INTO deep VALUES ('d', 's', ''), ('e', 't', '')
      """)
    try b.pull(from: a)
    try a.run("PRAGMA foreign_keys = OFF; DELETE FROM list; \(write)")
    try synchronize([a, b])
    let texts = "SELECT text FROM sub UNION ALL SELECT text FROM deep"
    #expect(try a.rows(texts).contains("\"written\""))
    // What nobody wrote after the delete is deleted with the list.
    #expect(try a.rows("SELECT id FROM item") == ["\"i\""] && a.rows("SELECT id FROM deep WHERE id = 'e'").isEmpty)
    #expect(try b.rows("SELECT id FROM item").isEmpty && b.store.figures.status().held[.parentDeleted] == 1)
    #expect(try a.digest() == b.digest())
    try b.run("INSERT INTO list VALUES ('l', 'back')")
    try synchronize([a, b])
    for table in tables {
      #expect(try a.rows("SELECT * FROM \(table) ORDER BY id") == b.rows("SELECT * FROM \(table) ORDER BY id"))
    }
    #expect(try b.rows(texts).contains("\"written\"") && a.digest() == b.digest())
    for peer in [a, b] { #expect(try peer.store.figures.status().held.isEmpty) }
  }

  @Test(
    "a row that is written keeps no row of another table with the same key, and none to which it refers with SET NULL")
  func equalKeys() throws {
    let schema = """
      CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, title TEXT);
      CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list (id) ON DELETE CASCADE, n INTEGER);
      CREATE TABLE sub (id TEXT PRIMARY KEY NOT NULL, item TEXT REFERENCES item (id) ON DELETE CASCADE, text TEXT);
      CREATE TABLE deep (id TEXT PRIMARY KEY NOT NULL, sub TEXT REFERENCES sub (id) ON DELETE CASCADE, text TEXT);
      CREATE TABLE pin (id TEXT PRIMARY KEY NOT NULL, item TEXT REFERENCES item (id) ON DELETE SET NULL, text TEXT)
      """
    let a = try Peer(1, schema: schema, track: ["list", "item", "sub", "deep", "pin"])
    try a.run(
      """
      INSERT INTO list VALUES ('l', ''); INSERT INTO item VALUES ('i', 'l', 1), ('j', 'l', 1), ('k', 'l', 1);
      INSERT INTO sub VALUES ('s', 'i', ''), ('t', 'j', ''); INSERT INTO deep VALUES ('t', 's', '');
      INSERT INTO pin VALUES ('p', 'k', '')
      """)
    try synchronize([a])
    try a.run(
      """
      PRAGMA foreign_keys = OFF; DELETE FROM list; UPDATE deep SET text = 'written' WHERE id = 't';
      UPDATE pin SET text = 'written' WHERE id = 'p'
      """)
    try synchronize([a])
    #expect(try a.rows("SELECT id FROM item") == ["\"i\""])
    #expect(try a.rows("SELECT id FROM sub") == ["\"s\""])
  }

  // MARK: SET DEFAULT and NO ACTION

  @Test("a row whose default parent does not exist is held until that one is here")
  func aDefaultParentIsMissing() throws {
    let schema = """
      CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE item (
        id TEXT PRIMARY KEY NOT NULL, list TEXT DEFAULT 'inbox' REFERENCES list (id) ON DELETE SET DEFAULT)
      """
    let (a, b) = (
      try Peer(1, schema: schema, track: ["list", "item"]), try Peer(2, schema: schema, track: ["list", "item"])
    )
    try a.run("INSERT INTO list VALUES ('l'); INSERT INTO item VALUES ('i', 'l')")
    try b.pull(from: a)
    try a.run("DELETE FROM list")
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(try peer.rows("SELECT * FROM item").isEmpty && peer.store.figures.status().held.values.reduce(0, +) == 1)
    }
    try b.run("INSERT INTO list VALUES ('inbox')")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT * FROM item") == ["\"i\"|\"inbox\""]) }
    // It goes with the default parent, and returns with its own.
    try a.run("DELETE FROM list")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT * FROM item").isEmpty) }
    try a.run("INSERT INTO list VALUES ('l')")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT * FROM item") == ["\"i\"|\"l\""]) }
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a NO ACTION reference gives the same result in every order",
    arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
  func noActionInEveryOrder(order: [Int]) throws {
    let schema = """
      CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES list (id))
      """
    let peers = try (UInt8(1)...4).map { try Peer($0, schema: schema, track: ["list", "item"]) }
    try peers[0].run("INSERT INTO list VALUES ('l'), ('m')")
    try synchronize(peers)
    // At once: a child, the delete of its parent, and another parent for it.
    try peers[0].run("INSERT INTO item VALUES ('i', 'l')")
    try peers[1].run("DELETE FROM list WHERE id = 'l'")
    try peers[2].run(
      "INSERT INTO item VALUES ('j', 'm'); DELETE FROM item WHERE id = 'j'; INSERT INTO item VALUES ('k', 'l')")
    for index in order { try peers[3].pull(from: peers[index]) }
    #expect(try peers[3].rows("SELECT id FROM item").isEmpty)
    #expect(try peers[3].store.held.list(limit: 9).map(\.reason) == [.parentDeleted, .parentDeleted])
    try peers[3].run("INSERT INTO list VALUES ('l')")
    try synchronize(peers)
    for peer in peers { #expect(try peer.rows("SELECT id FROM item ORDER BY id") == ["\"i\"", "\"k\""]) }
  }
}
