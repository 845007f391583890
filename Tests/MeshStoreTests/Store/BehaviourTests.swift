import MeshCore
import Testing

@testable import MeshStore

/// What an app that knows SQLiteData expects of synchronized tables. `Behaviour.md` lists all such cases, and where each is tested.
@Suite struct BehaviourTests {
  private static let schema = """
    CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '');
    CREATE TABLE reminders (id TEXT PRIMARY KEY NOT NULL, title TEXT, done INTEGER NOT NULL DEFAULT 0, hidden INTEGER DEFAULT 0,
      list TEXT NOT NULL REFERENCES lists ON DELETE CASCADE);
    CREATE TABLE tags (title TEXT PRIMARY KEY NOT NULL COLLATE NOCASE);
    CREATE TABLE taggings (id TEXT PRIMARY KEY NOT NULL, reminder TEXT NOT NULL REFERENCES reminders ON DELETE CASCADE,
      tag TEXT NOT NULL REFERENCES tags ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE VIEW visible AS SELECT * FROM reminders WHERE NOT hidden;
    """
  private static let tables = ["lists", "reminders", "tags", "taggings"]

  private func peers() throws -> (Peer, Peer) {
    (
      try Peer(1, schema: Self.schema, track: Self.tables, foreignKeys: true),
      try Peer(2, schema: Self.schema, track: Self.tables, foreignKeys: true)
    )
  }

  private func expectEqual(_ a: Peer, _ b: Peer, location: SourceLocation = #_sourceLocation) throws {
    for table in Self.tables {
      let rows = try (a.rows("SELECT * FROM \(table) ORDER BY 1"), b.rows("SELECT * FROM \(table) ORDER BY 1"))
      #expect(rows.0 == rows.1, sourceLocation: location)
    }
    #expect(try a.digest() == b.digest(), sourceLocation: location)
    #expect(try a.store.figures.heldCounts().isEmpty && b.store.figures.heldCounts().isEmpty, sourceLocation: location)
  }

  // MARK: Order

  @Test("a duplicate change set changes nothing, and a pending edit survives it")
  func whatArrivesTwiceChangesNothingAndAnEditThatWaitsSurvivesIt() throws {
    let (a, b) = try peers()
    try a.run("INSERT INTO lists VALUES ('l', 'one')")
    try b.pull(from: a)
    try b.run("UPDATE lists SET title = 'edited here'")
    let again = try a.store.log.changeSets(Peer.zone, beyond: VersionVector(), of: nil, after: 0, maximumBytes: 1 << 20)
    let outcomes = try b.store.log.store(
      again.changeSets.map { try ChangeSet($0, with: b.cryptography) }, zone: Peer.zone, now: b.now)
    #expect(outcomes == [.duplicate])
    try b.apply()
    try a.pull(from: b)
    #expect(try a.rows("SELECT title FROM lists") == ["\"edited here\""])
    try expectEqual(a, b)
  }

  @Test("500 children in five units are held until their parent arrives")
  func fiveHundredChildrenInFiveUnitsWaitForTheirParent() throws {
    let (a, b) = try peers()
    let loose = try Peer(3, schema: Self.schema, track: Self.tables)
    for unit in 0..<5 {
      try loose.run(
        """
        WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 99)
        INSERT INTO reminders (id, title, list) SELECT 'r\(unit)-' || i, i, 'late' FROM n
        """)
      try b.pull(from: loose)
    }
    #expect(try b.store.figures.status().held == [.missingParent: 500])
    // Whoever starts anew meanwhile has forgotten nothing.
    try b.reopen()
    try a.run("INSERT INTO lists VALUES ('late', 'here')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*) FROM reminders") == ["500"])
    try b.run("UPDATE reminders SET done = 1 WHERE id = 'r0-7'")
    try synchronize([a, b, loose])
    #expect(try loose.rows("SELECT id FROM reminders WHERE done") == ["\"r0-7\""])
    try expectEqual(a, b)
  }

  @Test("a write that a foreign key refuses leaves nothing to send") func aWriteThatItsForeignKeyRefusesLeavesNoTrace()
    throws
  {
    let (a, _) = try peers()
    #expect(throws: (any Error).self) { try a.run("INSERT INTO reminders (id, list) VALUES ('r', 'nowhere')") }
    #expect(try a.store.localWrites.pendingCount() == 0 && a.flush() == 0)
  }

  @Test("a cascade that deletes all lists deletes their children on the other peer")
  func parentsAndChildrenThatAreDeletedTogetherAreGoneInAnyOrder() throws {
    let (a, b) = try peers()
    try a.run(
      """
      INSERT INTO lists VALUES ('l', ''), ('m', ''); INSERT INTO reminders (id, list) VALUES ('r', 'l'), ('s', 'm');
      INSERT INTO tags VALUES ('red'), ('blue');
      INSERT INTO taggings VALUES ('1', 'r', 'red'), ('2', 'r', 'blue'), ('3', 's', 'red'), ('4', 's', 'blue');
      """)
    try b.pull(from: a)
    try a.run("DELETE FROM lists")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM tags ORDER BY 1") == ["\"blue\"", "\"red\""])
    #expect(try b.rows("SELECT id FROM reminders UNION ALL SELECT id FROM taggings").isEmpty)
    try expectEqual(a, b)
  }

  // MARK: References

  @Test("a move and a concurrent edit are both kept, and the later of two moves wins")
  func aMoveElsewhereAndAnEditHereAreBothKept() throws {
    let (a, b) = try peers()
    try a.run(
      "INSERT INTO lists VALUES ('l', ''), ('m', ''), ('n', ''); INSERT INTO reminders (id, list) VALUES ('r', 'l')")
    try b.pull(from: a)
    try a.run("UPDATE reminders SET list = 'm'")
    try a.flush()
    b.now += 50
    try b.run("UPDATE reminders SET title = 'edited'")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT title, list FROM reminders") == ["\"edited\"|\"m\""]) }
    // Of two moves the later one counts, seen or not.
    try a.run("UPDATE reminders SET list = 'l'")
    try a.flush()
    b.now += 500
    try b.run("UPDATE reminders SET list = 'n'")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT list FROM reminders") == ["\"n\""]) }
    try expectEqual(a, b)
  }

  @Test("a row whose key is its reference waits for its parent, and goes with it")
  func keyThatRefers() throws {
    let schema = """
      CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE covers (list TEXT PRIMARY KEY NOT NULL REFERENCES lists ON DELETE CASCADE, image TEXT)
      """
    let (a, b) = (
      try Peer(1, schema: schema, track: ["covers", "lists"], foreignKeys: true),
      try Peer(2, schema: schema, track: ["covers", "lists"], foreignKeys: true)
    )
    try a.run("INSERT INTO lists VALUES ('l'), ('m'); INSERT INTO covers VALUES ('l', 'one')")
    try synchronize([a, b])
    #expect(try b.rows("SELECT * FROM covers") == ["\"l\"|\"one\""])
    try a.run("DELETE FROM lists")
    try a.flush()
    try b.run("UPDATE covers SET image = 'two'; INSERT INTO covers VALUES ('m', 'new')")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT * FROM covers") == []) }
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a move to a parent that is deleted concurrently follows the foreign key's action",
    arguments: ["CASCADE", "SET NULL", "SET DEFAULT"])
  func aMoveToAParentThatIsDeletedMeanwhileEndsAsTheForeignKeySays(action: String) throws {
    let schema = """
      CREATE TABLE parent (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE child (id TEXT PRIMARY KEY NOT NULL, parent TEXT DEFAULT 'p0' REFERENCES parent ON DELETE \(action))
      """
    let (a, b) = (
      try Peer(1, schema: schema, track: ["parent", "child"], foreignKeys: true),
      try Peer(2, schema: schema, track: ["parent", "child"], foreignKeys: true)
    )
    try a.run("INSERT INTO parent VALUES ('p0'), ('p1'), ('p2'); INSERT INTO child VALUES ('c', 'p1')")
    try b.pull(from: a)
    try a.run("DELETE FROM parent WHERE id = 'p2'")
    try a.flush()
    try b.run("UPDATE child SET parent = 'p2'")
    try synchronize([a, b])
    let expected = ["CASCADE": [], "SET NULL": ["NULL"], "SET DEFAULT": ["\"p0\""]][action]
    for peer in [a, b] { #expect(try peer.rows("SELECT parent FROM child") == expected) }
    let sets = try a.rows("SELECT count(*) FROM mesh_log")
    for peer in [a, b] { #expect(try peer.flush() == 0, "what follows from the merge is not sent") }
    #expect(try a.rows("SELECT count(*) FROM mesh_log") == sets && a.digest() == b.digest())
  }

  @Test("two moves that form a cycle leave the same visible rows on both peers")
  func twoMovesThatWouldCloseACircleEndEqualAndInSight() throws {
    let schema = "CREATE TABLE node (id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES node ON DELETE CASCADE)"
    let (a, b) = (try Peer(1, schema: schema, track: ["node"]), try Peer(2, schema: schema, track: ["node"]))
    try a.run("INSERT INTO node VALUES ('x', NULL), ('y', NULL), ('leaf', 'x')")
    try b.pull(from: a)
    try a.run("UPDATE node SET parent = 'y' WHERE id = 'x'")
    try b.run("UPDATE node SET parent = 'x' WHERE id = 'y'")
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(
        try peer.rows("SELECT id, parent FROM node ORDER BY id") == ["\"leaf\"|\"x\"", "\"x\"|\"y\"", "\"y\"|\"x\""])
    }
    // Whoever breaks it breaks it for both.
    try b.run("UPDATE node SET parent = NULL WHERE id = 'x'")
    try a.pull(from: b)
    #expect(try a.rows("SELECT parent FROM node WHERE id = 'x'") == ["NULL"] && a.digest() == b.digest())
  }

  @Test("a renamed key reaches the other peer with the rows that refer to it")
  func aKeyThatIsRenamedTakesWhatRefersToItAlong() throws {
    let (a, b) = try peers()
    try a.run(
      """
      INSERT INTO lists VALUES ('l', ''); INSERT INTO reminders (id, list) VALUES ('r', 'l'); INSERT INTO tags VALUES ('weekend');
      INSERT INTO taggings VALUES ('g', 'r', 'weekend')
      """)
    try b.pull(from: a)
    try a.run("UPDATE tags SET title = 'optional' WHERE title = 'weekend'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM tags") == ["\"optional\""])
    #expect(try b.rows("SELECT tag FROM taggings") == ["\"optional\""])
    try expectEqual(a, b)
  }

  @Test("a row with two foreign keys waits for both parents") func aJoinWaitsForBothOfItsSides() throws {
    let (a, b) = try peers()
    let loose = try Peer(3, schema: Self.schema, track: Self.tables)
    try loose.run("INSERT INTO taggings VALUES ('g', 'r', 'red')")
    try b.pull(from: loose)
    let waiting = try #require(try b.store.held.list(limit: 9).first)
    #expect(Set(waiting.waitsFor.map(\.table)) == ["reminders", "tags"])
    try a.run("INSERT INTO tags VALUES ('Red')")
    try b.pull(from: a)
    #expect(try b.store.held.list(limit: 9).first?.waitsFor.map(\.table) == ["reminders"])
    try a.run("INSERT INTO lists VALUES ('l', ''); INSERT INTO reminders (id, list) VALUES ('r', 'l')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM taggings") == ["\"g\""])
  }

  // MARK: Keys

  @Test("a key that both peers insert concurrently becomes one row") func theSameKeyMadeOnBothSidesIsOneRow() throws {
    let (a, b) = try peers()
    try a.run("INSERT INTO tags VALUES ('Weekend'); INSERT INTO lists VALUES ('l', 'by a')")
    try b.run("INSERT INTO tags VALUES ('weekend'); INSERT INTO lists VALUES ('l', 'by b')")
    b.now += 100
    try synchronize([a, b])
    #expect(try a.rows("SELECT count(*) FROM tags") == ["1"] && a.rows("SELECT count(*) FROM lists") == ["1"])
    try expectEqual(a, b)
    #expect(try a.store.conflicts.list(limit: 9).count == b.store.conflicts.list(limit: 9).count)
  }

  @Test(
    "keys of each type and collation stay distinct and match on both peers",
    arguments: [
      (
        "TEXT PRIMARY KEY NOT NULL",
        ["'milk'", "'Milk'", "'MILK'", "''", "' '", "'a:b'", "'_x'", "'ä'", "'Ä'", "'0'", "'00'"]
      ),
      ("TEXT PRIMARY KEY NOT NULL COLLATE NOCASE", ["'milk'", "'ä'", "'Ä'", "' milk'"]),
      ("TEXT PRIMARY KEY NOT NULL COLLATE RTRIM", ["'milk'", "' milk'", "'Milk'"]),
      ("INTEGER PRIMARY KEY", ["0", "-1", "9223372036854775807", "-9223372036854775808"]),
      ("INT PRIMARY KEY NOT NULL", ["1", "'x'", "1.5", "x'01'"]),
      ("BLOB PRIMARY KEY NOT NULL", ["x''", "x'00'", "x'0000'", "'text'", "7"]),
      ("REAL PRIMARY KEY NOT NULL", ["1", "1.5", "9e999", "-0.25"]),
      ("PRIMARY KEY NOT NULL", ["1", "'1'", "x'31'", "1.25"]),
    ]) func keysOfEveryTypeAndCollationStayApartAndMeet(key: String, values: [String]) throws
  {
    let schema = "CREATE TABLE t (id \(key), v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    for (index, value) in values.enumerated() {
      try (index.isMultiple(of: 2) ? a : b).run("INSERT INTO t VALUES (\(value), 'first \(index)')")
    }
    try synchronize([a, b])
    #expect(try a.rows("SELECT count(*) FROM t") == ["\(values.count)"])
    // Each is edited and deleted on the other side, by the key as it is there.
    for (index, value) in values.enumerated() {
      let other = index.isMultiple(of: 2) ? b : a
      try other.run(
        index.isMultiple(of: 3) ? "DELETE FROM t WHERE id = \(value)" : "UPDATE t SET v = 'edited' WHERE id = \(value)")
    }
    try synchronize([a, b])
    let rows = "SELECT quote(id), typeof(id), v FROM t ORDER BY quote(id)"
    #expect(try a.rows(rows) == b.rows(rows) && a.digest() == b.digest())
    let edited = values.indices.count { !$0.isMultiple(of: 3) }
    #expect(try a.rows("SELECT count(*), sum(v = 'edited') FROM t") == ["\(edited)|\(edited)"])
    #expect(try a.store.figures.status().held.isEmpty)
  }

  @Test("table and column names with colons, spaces and quotes sync") func namesWithColonsSpacesAndQuotesTravel() throws
  {
    let schema =
      "CREATE TABLE \"my: \"\"table\" (\"a key\" TEXT PRIMARY KEY NOT NULL, \"zone:name\" TEXT, \"etag\" TEXT)"
    let (a, b) = (
      try Peer(1, schema: schema, track: ["my: \"table"]), try Peer(2, schema: schema, track: ["my: \"table"])
    )
    try a.run("INSERT INTO \"my: \"\"table\" VALUES ('k', 'v', 'w')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM \"my: \"\"table\"") == ["\"k\"|\"v\"|\"w\""] && a.digest() == b.digest())
  }

  // MARK: Rows that an app hides

  @Test("rows that an app filters from a view sync like other rows")
  func rowsThatAnAppHidesAreSynchronizedLikeAnyOther() throws {
    let (a, b) = try peers()
    try a.run("INSERT INTO lists VALUES ('l', ''); INSERT INTO reminders (id, title, list) VALUES ('r', 'seen', 'l')")
    try b.pull(from: a)
    try a.run("UPDATE reminders SET hidden = 1")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM visible").isEmpty && b.rows("SELECT hidden FROM reminders") == ["1"])
    // A change that arrives for a hidden row finds the one that is there.
    try a.run("UPDATE reminders SET title = 'edited unseen'")
    try b.run("UPDATE reminders SET done = 1")
    try synchronize([a, b])
    #expect(try b.rows("SELECT title, done, hidden FROM reminders") == ["\"edited unseen\"|1|1"])
    try a.run("DELETE FROM lists")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM reminders").isEmpty)
    try expectEqual(a, b)
  }

  // MARK: Time

  @Test("an edit between two flushes arrives without a conflict") func anEditBetweenTwoFlushesIsSentWithATimeOfItsOwn()
    throws
  {
    let (a, b) = try peers()
    try a.run("INSERT INTO lists VALUES ('l', 'first')")
    try a.flush()
    try a.run("UPDATE lists SET title = 'second'")
    try b.receive(from: a)
    try a.flush()
    try b.pull(from: a)
    #expect(try b.rows("SELECT title FROM lists") == ["\"second\""] && b.store.conflicts.list(limit: 9).isEmpty)
    try expectEqual(a, b)
  }

  @Test("a later NULL wins over a concurrent edit") func clearingAValueIsAnEditLikeAnyOther() throws {
    let (a, b) = try peers()
    try a.run("INSERT INTO lists VALUES ('l', ''); INSERT INTO reminders (id, title, list) VALUES ('r', 'text', 'l')")
    try b.pull(from: a)
    try a.run("UPDATE reminders SET title = 'longer'")
    try a.flush()
    b.now += 500
    try b.run("UPDATE reminders SET title = NULL")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT title FROM reminders") == ["NULL"]) }
    try expectEqual(a, b)
  }
}
