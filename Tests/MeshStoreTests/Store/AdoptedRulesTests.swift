import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// A table that is made from another device's description computes and refuses what the original does.
@Suite struct AdoptedRulesTests {
  private func tell(_ a: Peer, _ b: Peer) throws {
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: a.author.device, isOwn: true)
  }

  /// What came of a statement: the rows, or SQLite's refusal.
  private func outcome(_ peer: Peer, _ sql: String) -> String {
    do {
      try peer.run(sql)
      return "done"
    } catch let error as DatabaseError {
      return "\(error.extendedResultCode)"
    } catch {
      return "\(error)"
    }
  }

  static let tables: [(String, [String])] = [
    (
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, \"at\" TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, n INT DEFAULT (1 + 2))",
      ["INSERT INTO t (id) VALUES ('k')", "INSERT INTO t (id, \"at\") VALUES ('l', NULL)"]
    ),
    (
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(16)))), n)",
      ["INSERT INTO t (n) VALUES (1)", "INSERT INTO t DEFAULT VALUES"]
    ),
    (
      """
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a INT CHECK (a > 0), b INT,
        c TEXT CHECK (c IN ('x', 'y') OR c COLLATE NOCASE = 'Z'), CONSTRAINT ordered CHECK (b IS NULL OR b >= a),
        CHECK (id NOT LIKE '%bad%' AND length(id) < 9))
      """,
      [
        "INSERT INTO t VALUES ('k', 1, 2, 'x')", "INSERT INTO t VALUES ('l', 0, 2, 'x')",
        "INSERT INTO t VALUES ('l', 3, 2, 'x')",
        "INSERT INTO t VALUES ('verybad', 1, 2, 'x')", "INSERT INTO t VALUES ('123456789', 1, 2, 'x')",
        "INSERT INTO t VALUES ('l', 1, 2, 'X')", "INSERT INTO t VALUES ('l', 1, 2, 'z')", "UPDATE t SET b = 0",
        "INSERT INTO t VALUES ('n', NULL, NULL, NULL)",
      ]
    ),
    (
      """
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, UNIQUE (a, id)) WITHOUT ROWID;
      CREATE INDEX by_a ON t (lower(a), id DESC) WHERE a IS NOT NULL; CREATE UNIQUE INDEX "odd ""name" ON t (id, a COLLATE NOCASE)
      """,
      ["INSERT INTO t VALUES ('k', 'A') ON CONFLICT (a, id) DO NOTHING", "INSERT INTO t VALUES ('k', 'a')"]
    ),
  ]

  @Test("an adopted table takes and refuses the same rows", arguments: tables)
  func behavesAlike(schema: String, statements: [String]) throws {
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2))
    try tell(a, b)
    #expect(try b.store.schema.adopt(b.store.schema.foreign(), now: b.now) == StoreSchema.Adoption())
    #expect(try b.store.schema.leftOut().isEmpty)
    var seen: Set<String> = []
    for statement in statements {
      let (there, here) = (outcome(a, statement), outcome(b, statement))
      #expect(there == here, "\(statement)")
      seen.insert(there)
    }
    #expect(seen.contains("done"))
    let shape = "SELECT count(*), group_concat(length(id)) FROM t"
    #expect(try a.rows(shape) == b.rows(shape))
    // Neither looks different to the other, nor would its description make another table.
    try tell(b, a)
    #expect(try b.store.schema.differences().isEmpty && a.store.schema.differences().isEmpty)
    #expect(try b.store.schema.schemaDescriptions() == a.store.schema.schemaDescriptions())
  }

  @Test("many columns are added in several transactions, and what reads two of them comes with the later")
  func manyColumns() throws {
    let columns = (0..<600).map { ", c\($0)\($0 == 400 ? " CHECK (c400 <> c10)" : "")" }.joined()
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL\(columns))", track: ["t"])
    try a.run("CREATE INDEX early ON t (c5, c6); CREATE INDEX across ON t (c20, c550)")
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    try tell(a, b)
    var adoptions: [StoreSchema.Adoption] = []
    repeat {
      adoptions.append(try b.store.schema.adopt(b.store.schema.foreign(), now: b.now))
      // A program, or the next start, finds the columns that came captured.
      try b.run("INSERT INTO t (id, c\(adoptions.count)) VALUES ('early\(adoptions.count)', 1)")
      try b.flush()
    } while adoptions.last?.hasMore == true
    #expect(adoptions.map(\.hasMore) == [true, true, true, false])
    #expect(adoptions.flatMap(\.leftOut) == [])
    #expect(try b.rows("SELECT count(*) FROM pragma_table_info('t')") == ["601"])
    #expect(
      try b.rows("SELECT name FROM pragma_index_list('t') WHERE origin = 'c' ORDER BY name") == [
        #""across""#, #""early""#,
      ])
    #expect(outcome(b, "INSERT INTO t (id, c10, c400) VALUES ('k', 1, 1)") != "done")
    try b.run("INSERT INTO t (id, c10, c400) VALUES ('k', 1, 2)")
    try b.flush()
    try a.pull(from: b)
    #expect(
      try a.rows("SELECT id, c1, c2, c3, c4, c10, c400 FROM t ORDER BY id") == [
        #""early1"|1|NULL|NULL|NULL|NULL|NULL"#, #""early2"|NULL|1|NULL|NULL|NULL|NULL"#,
        #""early3"|NULL|NULL|1|NULL|NULL|NULL"#, #""early4"|NULL|NULL|NULL|1|NULL|NULL"#,
        #""k"|NULL|NULL|NULL|NULL|1|2"#,
      ])
  }

  @Test("a computed default is the writer's, also on the device that adopted it")
  func computedDefault() throws {
    let (a, b) = (try Peer(1, schema: Self.tables[0].0, track: ["t"]), try Peer(2))
    try tell(a, b)
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    try b.run("INSERT INTO t (id) VALUES ('k')")
    try b.flush()
    try a.pull(from: b)
    #expect(try a.rows("SELECT * FROM t") == b.rows("SELECT * FROM t"))
    #expect(try b.rows("SELECT n, length(\"at\") FROM t") == ["3|19"])
  }

  @Test("what others compute is taken from trusted devices alone")
  func trust() throws {
    let (a, b) = (try Peer(1, schema: Self.tables[2].0, track: ["t"]), try Peer(2))
    try tell(a, b)
    let table = try #require(try b.store.schema.foreign(trusts: { _ in false }).first)
    #expect(table.rules == nil && table.columns.map(\.name) == ["id", "a", "b", "c"])
    #expect(try b.store.schema.missing(trusts: { _ in false }).first?.statements.first?.contains("CHECK") == false)
    #expect(try b.store.schema.missing().first?.statements.first?.contains("CHECK") == true)
    try b.store.schema.adopt([table], now: b.now)
    #expect(outcome(b, "INSERT INTO t VALUES ('l', 3, 2, 'x')") == "done")
    #expect(try b.store.schema.differences(trusts: { _ in false }).isEmpty)
    #expect(try b.store.schema.differences().map(\.there).contains { $0.hasPrefix("CONSTRAINT \"ordered\" CHECK") })
  }

  @Test("rules that several devices describe differently are named before and after a table is adopted")
  func severalForms() throws {
    let (a, b) = (
      try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n INT DEFAULT 1 CHECK (n < 5))", track: ["t"]),
      try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n INT DEFAULT 2 CHECK (n < 9))", track: ["t"])
    )
    let (c, d) = (
      try Peer(3), try Peer(4, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    )
    for peer in [a, b] {
      for other in [c, d] { try tell(peer, other) }
    }
    for peer in [c, d] {
      let before = try peer.store.schema.differences()
      let wanted = try #require(try peer.store.schema.foreign().first)
      let isFirst = wanted.columns[1].defaultValue == .integer(1)
      let other = isFirst ? b : a
      #expect(before.map(\.device) == Array(repeating: other.author.device, count: 3))
      #expect(before.map(\.column) == ["n", "", ""])
      #expect(before.first?.there.contains(isFirst ? "DEFAULT 2" : "DEFAULT 1") == true)
      #expect(before.last?.there.contains(isFirst ? "9" : "5") == true)
    }
    try c.store.schema.adopt(c.store.schema.foreign(), now: c.now)
    #expect(try c.store.schema.differences().count == 3)
    #expect(try a.store.schema.differences().isEmpty, "nobody told it anything")
  }

  @Test("parts that the grammar doesn't have are named, each time, until this file has them")
  func leftOut() throws {
    let a = try Peer(
      1,
      schema: """
        CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n INT CHECK (replace(n, 1, 2) <> 3) DEFAULT (printf('%d', 1)), g AS (n),
          CHECK (g > 0));
        CREATE INDEX by_n ON t (n) WHERE n NOT LIKE '%a%b%c%d%e%';
        CREATE TRIGGER touch AFTER INSERT ON t BEGIN SELECT 1; END
        """, track: ["t"])
    let b = try Peer(2)
    try tell(a, b)
    let lines = [
      "DEFAULT of t.n: it calls printf()", "CHECK on t: it calls replace()",
      "CHECK on t: it reads g, which is no ordinary column",
      "index by_n on t: its pattern or format is no short literal",
      "generated column t.g: it stays on the machine that has it",
      "trigger touch on t: it stays on the machine that has it",
    ]
    #expect(try b.store.schema.leftOut() == lines)
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    #expect(try b.store.schema.leftOut() == lines && b.store.schema.missing().isEmpty)
    try b.run("CREATE TRIGGER touch AFTER INSERT ON t BEGIN SELECT 1; END")
    #expect(try b.store.schema.leftOut() == Array(lines.dropLast()))
  }

  @Test("a UNIQUE that the rules of mesh refuse stays at home")
  func unique() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n)", track: ["t"])
    let b = try Peer(2)
    try a.run("CREATE UNIQUE INDEX one_n ON t (n)")
    try tell(a, b)
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    #expect(try b.store.schema.leftOut() == ["UNIQUE one_n on t: two machines could write equal values"])
    #expect(try b.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'one_n'") == ["0"])
  }

  @Test("columns that are added to a table with rows get what SQLite can add, and the rest is said")
  func addedColumns() throws {
    let a = try Peer(
      1,
      schema: """
        CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, "at" TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, n INT DEFAULT 1 CHECK (n > 0),
          m INT DEFAULT 0, CONSTRAINT ordered CHECK (m > n), CHECK (id <> '' OR m = 0));
        CREATE INDEX by_n ON t (n, "at"); CREATE INDEX taken ON t (m)
        """, track: ["t"])
    let narrow =
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL); CREATE TABLE other (x); CREATE INDEX taken ON other (x)"
    let full = try Peer(2, schema: narrow, track: ["t"])
    try full.run("INSERT INTO t VALUES ('k')")
    try tell(a, full)
    #expect(
      try full.store.schema.missing().first?.leftOut == ["DEFAULT of t.at: SQLite doesn't add it to a table with rows"])
    let lines = try full.store.schema.adopt(full.store.schema.foreign(), now: full.now).leftOut
    #expect(lines.count == 4 && lines[0] == "DEFAULT of t.at: SQLite doesn't add it to a table with rows")
    #expect(lines[1].hasPrefix("CHECK ordered on t: SQLite refused it"))
    #expect(lines[2].hasPrefix("CHECK on t: SQLite refused it"))
    #expect(lines[3] == "index taken on t: SQLite refused it: index taken already exists")
    #expect(outcome(full, "UPDATE t SET n = 0") == "\(ResultCode.SQLITE_CONSTRAINT_CHECK)")
    #expect(try full.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'by_n'") == ["1"])
    // Whatever it lacks is a difference from then on.
    let there = try full.store.schema.differences().map(\.there)
    #expect(
      there.contains { $0.contains("DEFAULT (CURRENT_TIMESTAMP)") } && there.contains { $0.contains("\"ordered\"") })

    let empty = try Peer(3, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    try tell(a, empty)
    #expect(try empty.store.schema.adopt(empty.store.schema.foreign(), now: empty.now) == StoreSchema.Adoption())
    #expect(try empty.store.schema.differences().isEmpty)
  }

  @Test("a file of the format before keeps the descriptions, and learns the rules when they are told again")
  func formerFormat() throws {
    let (a, b) = (try Peer(1, schema: Self.tables[2].0, track: ["t"]), try Peer(2))
    try tell(a, b)
    try b.run("ALTER TABLE mesh_foreign_schema DROP COLUMN rules; UPDATE mesh_state SET format = 12")
    try b.reopen()
    #expect(try b.store.schema.foreign().map(\.rules) == [nil])
    #expect(try b.store.schema.missing().map(\.columns) == [["id", "a", "b", "c"]])
    try tell(a, b)
    #expect(try b.store.schema.foreign().first?.rules?.checks.count == 4)
  }

  @Test("a CHECK, an index or a default that only one of two devices has is a difference, and spelling is none")
  func differences() throws {
    let a = try Peer(
      1,
      schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n INT CHECK (N > 0 and n<9)); CREATE INDEX I ON t(n desc)",
      track: ["t"])
    let same = try Peer(
      2,
      schema: """
        CREATE TABLE T ("ID" TEXT NOT NULL PRIMARY KEY, N INTEGER, CONSTRAINT c CHECK (("n" > 0) AND n < 9));
        CREATE INDEX i ON T (N DESC)
        """, track: ["t"])
    let other = try Peer(
      3, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, n INT CHECK (n > 0) DEFAULT (1 + 1))", track: ["t"])
    for peer in [same, other] {
      try tell(a, peer)
      try tell(peer, a)
    }
    #expect(try same.store.schema.differences().isEmpty)
    let found = try other.store.schema.differences().map { [$0.here, $0.there] }
    #expect(
      found == [
        [#""n" INT DEFAULT ((1 + 1))"#, #""n" INT"#],
        [#"CHECK (("n" > 0))"#, ""], ["", #"CHECK ((("N" > 0) AND ("n" < 9)))"#],
        ["", #"CREATE INDEX "I" ON "t" ("n" DESC)"#],
      ])
    // A device that doesn't say what it computes is no other for it.
    var silent = try a.store.schema.schemaDescriptions()
    silent[0].rules = nil
    _ = try other.store.schema.saveForeignSchema(silent, device: a.author.device, isOwn: true)
    #expect(try other.store.schema.differences().isEmpty)
  }
}
