import GRDB
import Testing

@testable import MeshStore

@Suite struct TrackingRulesTests {
  private func violations(
    _ schema: String, _ tables: [String] = ["t"], private privateTables: [String] = [], integerKeys: Bool = false,
    prepare: (Database) throws -> Void = { _ in }
  ) throws -> [String] {
    let bench = try CaptureBench()
    return try bench.file.write { db in
      try prepare(db)
      try db.execute(sql: schema)
      return try TrackingRules.violations(db, tables: tables, private: privateTables, integerKeys: integerKeys)
        .map(\.description)
    }
  }

  static let refused: [(schema: String, word: String)] = [
    ("", "no such table"),
    ("CREATE VIEW t AS SELECT 1", "it is a view"),
    ("CREATE VIRTUAL TABLE t USING fts5(a)", "it is a virtual table"),
    ("CREATE TABLE t (a)", "no primary key"),
    ("CREATE TABLE t (a NOT NULL, b NOT NULL, PRIMARY KEY (a, b))", "several columns (a, b)"),
    ("CREATE TABLE t (id TEXT PRIMARY KEY)", "may be NULL"),
    ("CREATE TABLE t (id INTEGER PRIMARY KEY)", "--integer-keys"),
    ("CREATE TABLE t (id INT PRIMARY KEY NOT NULL)", "--integer-keys"),
    ("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a UNIQUE)", "a is UNIQUE"),
    ("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a); CREATE UNIQUE INDEX i ON t (a) WHERE a > 0", "the index i"),
    ("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a); CREATE UNIQUE INDEX i ON t (a || 'x')", "an expression"),
    ("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL); CREATE UNIQUE INDEX i ON t (id COLLATE NOCASE)", "the index i"),
    ("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, p REFERENCES other)", "other, which is not synchronized"),
    (
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, p REFERENCES t (a))",
      "p refers to t.a; refer to the primary key"
    ),
    ("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, p REFERENCES t ON DELETE RESTRICT)", "ON DELETE RESTRICT"),
    (
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, p, q, FOREIGN KEY (p, q) REFERENCES t (id, p))",
      "(p, q) has several columns"
    ),
    ("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, Mesh_x)", "the column Mesh_x is not synchronized"),
    ("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, sqlite_x AS (a))", "the column sqlite_x is not synchronized"),
  ]

  @Test("each unfit table is refused with its rule", arguments: refused)
  func eachUnfitTableIsRefusedWithItsRule(schema: String, word: String) throws {
    let found = try violations(schema)
    #expect(found.count == 1, "\(found)")
    #expect(found.allSatisfy { $0.hasPrefix("t: ") && $0.contains(word) }, "\(found)")
  }

  @Test("reserved names are refused", arguments: ["mesh_x", "MESH_x", "sqlite_x", "Sqlite_schema"])
  func reservedNamesAreRefused(name: String) throws {
    #expect(try violations("", [name]).allSatisfy { $0.contains("reserved") })
    #expect(try violations("", [name]).count == 1)
  }

  @Test(
    "functions that only an app has are refused by name",
    arguments: [
      "a DEFAULT (slug()), b", "a CHECK (slug(a) > 0), b", "a, b AS (slug(a))", "a, b); CREATE INDEX i ON t (slug(a)",
      "a, b); CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT slug(); END; CREATE TABLE u (x",
      "a, b); CREATE TRIGGER g BEFORE UPDATE OF a ON t BEGIN SELECT slug(); END; CREATE TABLE u (x",
      "a, b); CREATE TRIGGER g AFTER DELETE ON t WHEN slug() BEGIN SELECT 1; END; CREATE TABLE u (x",
    ])
  func functionsThatOnlyAnAppHasAreRefusedByName(columns: String) throws {
    let slug = DatabaseFunction("slug", argumentCount: nil, pure: true) { _ in 1 }
    let bench = try CaptureBench()
    // An app registers the function, and makes the table; the node's connection does not know it.
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let app = try DatabaseQueue(path: bench.path, configuration: configuration)
    try app.write { db in
      db.add(function: slug)
      try db.execute(sql: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, \(columns))")
    }
    try app.close()
    let found = try bench.file.read { try TrackingRules.violations($0, tables: ["t"]).map(\.description) }
    #expect(found.count == 1, "\(found)")
    #expect(found.allSatisfy { $0.contains("function: slug") }, "\(found)")
  }

  @Test(
    "fit tables are accepted",
    arguments: [
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, p REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE)",
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, p REFERENCES T (ID) ON DELETE SET NULL ON UPDATE RESTRICT)",
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL UNIQUE)",
      "CREATE TABLE t (id TEXT PRIMARY KEY) WITHOUT ROWID", "CREATE TABLE t (id TEXT PRIMARY KEY) STRICT",
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a); CREATE UNIQUE INDEX i ON t (a, id)",
      "CREATE TABLE t (id UUID PRIMARY KEY NOT NULL, a DEFAULT CURRENT_TIMESTAMP CHECK (length(a) > 1), b AS (upper(a)))",
      """
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a); CREATE VIRTUAL TABLE f USING fts5(a, content=t);
      CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO f (rowid, a) VALUES (NEW.rowid, NEW.a); END
      """,
    ])
  func fitTablesAreAccepted(schema: String) throws {
    #expect(try violations(schema).isEmpty)
  }

  @Test("cycles of references are accepted, and tables that are synchronized already count")
  func cyclesOfReferencesAreAcceptedAndTablesThatAreSynchronizedAlreadyCount() throws {
    let bench = try CaptureBench(
      """
      CREATE TABLE a (id TEXT PRIMARY KEY NOT NULL, b REFERENCES b); CREATE TABLE b (id TEXT PRIMARY KEY NOT NULL, a
      REFERENCES a); CREATE TABLE c (id INTEGER PRIMARY KEY, a REFERENCES a)
      """)
    try bench.file.write { db in
      #expect(try TrackingRules.violations(db, tables: ["a"]).count == 1)
      try Capture.install(db, tables: ["a"], private: ["B"])
      try Capture.install(db, tables: ["c"], integerKeys: true)
      #expect(try TrackedTable.all(db).map(\.name) == ["a", "b", "c"])
    }
  }

  @Test("a custom collation on the key is refused, and no other") func aCustomCollationOnTheKeyIsRefusedAndNoOther()
    throws
  {
    let found = try violations(
      """
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL COLLATE swiftCompare);
      CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, a COLLATE swiftCompare)
      """, ["t", "u"])
    #expect(found.count == 1, "\(found)")
    #expect(found.allSatisfy { $0.hasPrefix("t: ") && $0.contains("collation swiftCompare") })
  }

  @Test("a trigger that names a table which is not here is told from one that calls what only an app has")
  func aTriggerThatNamesATableWhichIsNotHereIsToldFromOneThatCallsWhatOnlyAnAppHas() throws {
    let found = try violations(
      """
      CREATE TABLE aux (x); CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL);
      CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO aux VALUES (1); END; DROP TABLE aux
      """)
    #expect(found.count == 1 && found.allSatisfy { $0.contains("no such table: main.aux); create it") }, "\(found)")
  }

  @Test("one error lists every reason of every table") func oneErrorListsEveryReasonOfEveryTable() throws {
    let bench = try CaptureBench(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE, p REFERENCES x ON DELETE RESTRICT); CREATE TABLE u (a)")
    let error = #expect(throws: StoreError.self) {
      try bench.file.write { try Capture.install($0, tables: ["t", "u", "nix"]) }
    }
    #expect(error?.code == .schemaRefused)
    let lines = error.map { $0.message.split(separator: "\n").map { $0.prefix(3) } }
    #expect(lines == ["t: ", "t: ", "t: ", "t: ", "u: ", "nix"])
    #expect(error?.reasons.joined(separator: "\n") == error?.message && error?.reasons.count == 6)
    #expect(try bench.file.read { try TrackedTable.all($0) }.isEmpty)
  }
}
