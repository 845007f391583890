import MeshCore
import Testing

@testable import MeshStore

/// Nodes whose schemas are versions apart keep everything, send nothing for a migration, and are equal once their schemas are.
@Suite struct SchemaDriftTests {
  /// What a node has in its log and its records: bytes and hashes.
  private func ledger(_ peer: Peer) throws -> [String] {
    try peer.rows("SELECT count(*), sum(size) FROM mesh_log")
      + peer.rows("SELECT count(*), sum(length(stamps)), sum(length(extra)), count(held) FROM mesh_record")
      + peer.rows("SELECT hex(hash), hex(stamps) FROM mesh_record ORDER BY tbl, key")
  }

  @Test(
    "a column added to 5,000 rows changes no record and sends nothing",
    arguments: ["", " DEFAULT 7", " NOT NULL DEFAULT 'x'", " DEFAULT NULL"])
  func addingAColumnToManyRowsWritesAndSendsNothing(clause: String) throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run(
      "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT 'k' || i, i FROM n"
    )
    try b.pull(from: a)
    let (before, there) = (try ledger(a), try ledger(b))
    for peer in [a, b] {
      try peer.run("ALTER TABLE t ADD COLUMN w\(clause)")
      #expect(try peer.flush() == 0)
      try peer.apply()
      #expect(try peer.store.localWrites.pendingCount() == 0)
    }
    #expect(try ledger(a) == before && ledger(b) == there)
    #expect(try a.digest() == b.digest())
    // One edit later one record has changed.
    try a.run("UPDATE t SET w = 'edited' WHERE id = 'k77'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t WHERE w = 'edited'") == ["\"k77\""])
    let changed = zip(try ledger(b).dropFirst(2), there.dropFirst(2)).count { $0 != $1 }
    #expect(changed == 1)
  }

  @Test("older rows show a new column's default, and an explicit NULL stays NULL")
  func olderRowsHaveTheDefaultAndAnExplicitNullStaysNull() throws {
    let old = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)", track: ["t"])
    let new = try Peer(
      2,
      schema:
        "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT, w TEXT DEFAULT 'calm', n INTEGER NOT NULL DEFAULT 5)",
      track: ["t"])
    try old.run("INSERT INTO t VALUES ('k', 'v'), ('l', 'v')")
    try new.pull(from: old)
    #expect(try new.rows("SELECT w, n FROM t") == ["\"calm\"|5", "\"calm\"|5"])
    try new.run("UPDATE t SET w = NULL WHERE id = 'k'")
    try old.pull(from: new)
    try old.run("UPDATE t SET v = 'edited' WHERE id = 'k'")
    try new.pull(from: old)
    #expect(try new.rows("SELECT v, w FROM t ORDER BY id") == ["\"edited\"|NULL", "\"v\"|\"calm\""])
    try old.run("ALTER TABLE t ADD COLUMN w TEXT DEFAULT 'calm'")
    try old.upkeep()
    try old.apply()
    #expect(try old.rows("SELECT w FROM t ORDER BY id") == ["NULL", "\"calm\""])
    // A machine that meets the record for the first time has the NULL as well, and not its own default.
    let third = try Peer(
      3, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, w TEXT DEFAULT 'other', v)", track: ["t"])
    try third.pull(from: old)
    #expect(try third.rows("SELECT w FROM t ORDER BY id") == ["NULL", "\"other\""])
    #expect(try old.digest() == new.digest() && old.digest() == third.digest())
  }

  /// Each version as a migration from the one before.
  private static let versions = [
    "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text TEXT, mood TEXT DEFAULT 'calm')",
    "ALTER TABLE note ADD COLUMN stars INTEGER NOT NULL DEFAULT 0",
    "CREATE TABLE tag (id TEXT PRIMARY KEY NOT NULL, note TEXT REFERENCES note ON DELETE CASCADE, name TEXT)",
    """
    CREATE TABLE new_note (id TEXT PRIMARY KEY NOT NULL, stars INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL DEFAULT '',
      text TEXT);
    INSERT INTO new_note (id, stars, text) SELECT id, stars, text FROM note;
    DROP TABLE note; ALTER TABLE new_note RENAME TO note
    """,
  ]

  private func peer(_ seed: UInt8, through version: Int) throws -> Peer {
    let peer = try Peer(seed, schema: Self.versions[0], track: ["note"])
    for migration in Self.versions[1...version] { try migrate(peer, migration) }
    return peer
  }

  private func migrate(_ peer: Peer, _ sql: String) throws {
    try peer.run(sql)
    if sql.contains("TABLE tag") { try peer.store.tables.track(tables: ["tag"], now: peer.now) }
    try peer.upkeep()
    try peer.apply()
  }

  @Test(
    "peers three schema versions apart converge once their schemas are equal",
    arguments: [[1, 2, 3], [1, 3, 2], [3, 1, 2]]) func threeVersionsApartAllConvergesOnceTheSchemasAreEqual(
      order: [Int]
    ) throws
  {
    let (oldest, newest) = (try Peer(1, schema: Self.versions[0], track: ["note"]), try peer(2, through: 3))
    try oldest.run("INSERT INTO note VALUES ('a', 'old text', 'glad'), ('b', 'other', NULL)")
    try newest.run(
      "INSERT INTO note (id, stars, body) VALUES ('c', 3, 'long'); INSERT INTO tag VALUES ('t', 'c', 'red'), ('u', 'a', 'blue')"
    )
    try synchronize([oldest, newest])
    #expect(try oldest.digest() == newest.digest())
    #expect(try newest.rows("SELECT id, stars, body, text FROM note ORDER BY id").count == 3)
    #expect(try oldest.store.figures.status().held == [.unknownTable: 2])
    try oldest.run("UPDATE note SET text = 'edited' WHERE id = 'c'; DELETE FROM note WHERE id = 'b'")
    try newest.run("UPDATE note SET stars = 5 WHERE id = 'a'; UPDATE tag SET name = 'green' WHERE id = 'u'")
    try synchronize([oldest, newest])
    // The oldest catches up, in any order that works, with edits of the newest in between.
    for version in order {
      if version == 3, order.firstIndex(of: 3) ?? 0 < order.firstIndex(of: 1) ?? 0 {
        try migrate(
          oldest,
          Self.versions[3].replacing("(id, stars, text) SELECT id, stars, text", with: "(id, text) SELECT id, text"))
      } else if version == 1, order.firstIndex(of: 3) ?? 0 < order.firstIndex(of: 1) ?? 0 {
        continue
      } else {
        try migrate(oldest, Self.versions[version])
      }
      try newest.run("UPDATE note SET body = body || '\(version)' WHERE id = 'c'")
      try synchronize([oldest, newest])
      #expect(try oldest.digest() == newest.digest())
    }
    // The third order leaves the column for the default out of place: columns are compared by name.
    for table in ["SELECT id, stars, body, text FROM note ORDER BY id", "SELECT id, note, name FROM tag ORDER BY id"] {
      #expect(try oldest.rows(table) == newest.rows(table))
    }
    #expect(try newest.rows("SELECT stars, body, text FROM note WHERE id = 'c'").first?.contains("edited") == true)
    for peer in [oldest, newest] { #expect(try peer.store.figures.status().held.isEmpty && peer.flush() == 0) }
  }

  @Test("rows that waited for their table appear slice by slice while an app writes")
  func whatWaitedForItsTableIsShownInSlicesWhileAnAppWrites() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v)", track: ["t"])
    let b = try Peer(2)
    try a.run(
      "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO t SELECT i, i FROM n"
    )
    try b.pull(from: a)
    try b.run("CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v)")
    try b.store.tables.track(tables: ["t"], integerKeys: true, now: b.now)
    try b.flush()
    var left: [Int] = []
    for step in 0..<1_000 {
      left.append(try b.store.figures.status().held[.unknownTable] ?? 0)
      try b.run("INSERT INTO t VALUES (\(10_000 + step), 'written meanwhile')")
      let progress = try b.store.merges.apply(Peer.zone, b.reader, flushing: [Peer.zone: b.writer], now: b.now)
      if progress == .flushFirst { try b.flush() }
      if left.last == 0 { break }
    }
    #expect(left.contains { (1..<2_500).contains($0) }, "it is to be seen how far it is: \(left)")
    #expect(zip(left, left.dropFirst()).allSatisfy { $0 - $1 <= Choices.slice }, "no slice is longer")
    try synchronize([a, b])
    #expect(try a.rows("SELECT * FROM t") == b.rows("SELECT * FROM t") && a.digest() == b.digest())
  }

  @Test("a notice tells a renamed or dropped table, missing columns and a lost key apart")
  func whatAMigrationTakesAwayIsNamedWithTheWayOut() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT, w TEXT)"
    func notice(_ sql: String) throws -> String {
      let peer = try Peer(1, schema: schema, track: ["t"])
      try peer.run("INSERT INTO t VALUES ('k', 'v', 'w')")
      try peer.flush()
      try peer.run(sql)
      return try peer.upkeep()?.joined(separator: " ") ?? ""
    }
    #expect(try notice("ALTER TABLE t RENAME TO u").contains("was renamed to u"))
    #expect(try notice("DROP TABLE t").contains("Its records stay in the mesh"))
    #expect(try notice("ALTER TABLE t RENAME COLUMN v TO x").contains("lacks columns that it had: v."))
    #expect(
      try notice("PRAGMA legacy_alter_table = ON; DROP TRIGGER mesh_capture_1_update; ALTER TABLE t DROP COLUMN w")
        .contains("lacks columns that it had"))
    #expect(
      try notice("CREATE TABLE n (id TEXT, v, w, PRIMARY KEY (id, v)); DROP TABLE t; ALTER TABLE n RENAME TO t")
        .contains("no single-column primary key"))
  }

  @Test("a missing table is reported as renamed or dropped until the store is reopened")
  func whatBecameOfATableIsToldAsLongAsItIsKnown() throws {
    let peer = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    #expect(try peer.store.capture.missingTables().isEmpty)
    try peer.run("ALTER TABLE t RENAME TO moved")
    for _ in 0..<2 {
      #expect(try peer.store.capture.missingTables() == ["t": .renamed(to: "moved")])
      #expect(try peer.store.capture.faults() == [.tableMissing("t", .renamed(to: "moved"))])
      try peer.upkeep()
    }
    try peer.run("ALTER TABLE moved RENAME TO t")
    try peer.upkeep()
    #expect(try peer.store.capture.missingTables().isEmpty)
    try peer.run("DROP TABLE t")
    for _ in 0..<2 {
      #expect(try peer.store.capture.missingTables() == ["t": .dropped])
      try peer.upkeep()
    }
    try peer.reopen()
    #expect(try peer.store.capture.missingTables() == ["t": .notKnown])
  }

  @Test("the work in progress shows how far a comparison and its display are") func howFarAMigrationIsCanBeSeen() throws
  {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n TEXT)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    let rows = 3_500
    try a.run(
      """
      WITH RECURSIVE i (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM i WHERE n < \(rows))
      INSERT INTO t SELECT n, 'v' || n FROM i
      """)
    try b.pull(from: a)
    #expect(try b.store.figures.workInProgress().isEmpty)
    try b.run("ALTER TABLE t ADD COLUMN n TEXT")
    var seen: [WorkInProgress] = []
    for _ in 0..<1_000 {
      if try b.store.capture.upkeep({ _ in b.reader }, now: b.now) == .done,
        case .idle = try b.store.merges.apply(Peer.zone, b.reader, now: b.now)
      {
        break
      }
      seen += try b.store.figures.workInProgress()
    }
    for task in [WorkInProgress.Kind.compare, .show] {
      let steps = seen.filter { $0.task == task }
      #expect(steps.contains { $0.done > 0 && $0.done < $0.total })
      #expect(steps.allSatisfy { $0.total == rows })
    }
    #expect(try b.store.figures.workInProgress().isEmpty)
    #expect(try b.rows("SELECT count(*) FROM t WHERE n = 'v' || id") == ["\(rows)"])
  }

  @Test("tables that exchange their names in one transaction exchange their rows everywhere", arguments: [2, 3])
  func exchangedNames(count: Int) throws {
    let names = ["one", "two", "three"].prefix(count)
    let schema = names.map { "CREATE TABLE \($0) (id TEXT PRIMARY KEY NOT NULL, v TEXT)" }.joined(separator: ";")
    let (a, b) = (
      try Peer(1, schema: schema, track: Array(names)), try Peer(2, schema: schema, track: Array(names))
    )
    for name in names { try a.run("INSERT INTO \(name) VALUES ('\(name)', '1'), ('all', '\(name)')") }
    try synchronize([a, b])
    try b.run("UPDATE one SET v = '2' WHERE id = 'one'")
    var moves = zip(names, names.dropFirst() + ["aside"]).reversed().map { "ALTER TABLE \($0) RENAME TO \($1)" }
    moves.append("ALTER TABLE aside RENAME TO one")
    try a.run(moves.joined(separator: "; "))
    try synchronize([a, b])
    let moved = zip(names, [names[count - 1]] + names.dropLast())
    for (name, former) in moved {
      let rows = ["\"all\"|\"\(former)\"", "\"\(former)\"|\"1\""].sorted()
      try expectEqual([a, b], "SELECT * FROM \(name) ORDER BY id", rows)
    }
    #expect(try a.store.conflicts.list(limit: 9).map(\.loserValue) == [.text(Array("2".utf8))])
  }
}
