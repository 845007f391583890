import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// What one statement notes.
@Suite struct CaptureStatementsTests {
  @Test("a change of case, type or spelling is a change, an equal value is none")
  func aChangeOfCaseTypeOrSpellingIsAChangeAnEqualValueIsNone() throws {
    let bench = try CaptureBench(
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT COLLATE NOCASE, b, c TEXT COLLATE RTRIM, r REAL)",
      track: ["t"])
    try bench.execute("INSERT INTO t VALUES ('k', 'milk', 1, 'x', 1)")
    _ = try bench.noted()
    let expected: [(String, [String])] = [
      ("a = 'Milk'", ["t update 'k' [a]"]), ("a = 'Milk'", []),
      ("b = 1.0", ["t update 'k' [b]"]), ("b = '1'", ["t update 'k' [b]"]), ("b = x'31'", ["t update 'k' [b]"]),
      ("b = NULL", ["t update 'k' [b]"]), ("b = NULL", []),
      ("c = 'x '", ["t update 'k' [c]"]), ("r = 1.0", []), ("r = '1'", []), ("r = 2", ["t update 'k' [r]"]),
      ("b = 9007199254740993", ["t update 'k' [b]"]), ("b = 9007199254740992.0", ["t update 'k' [b]"]),
      ("b = CAST(x'610062' AS TEXT)", ["t update 'k' [b]"]), ("b = CAST(x'610063' AS TEXT)", ["t update 'k' [b]"]),
    ]
    for (assignment, log) in expected {
      try bench.execute("UPDATE t SET \(assignment)")
      #expect(try bench.noted() == log, "\(assignment)")
    }
  }

  @Test("keys are noted as spelled, and move only when the collation sees another key")
  func keysAreNotedAsSpelledAndMoveOnlyWhenTheCollationSeesAnotherKey() throws {
    let bench = try CaptureBench(
      """
      CREATE TABLE nocase (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, v);
      CREATE TABLE rtrim (id TEXT PRIMARY KEY NOT NULL COLLATE RTRIM, v);
      CREATE TABLE any (id PRIMARY KEY NOT NULL, v);
      CREATE TABLE blob (id BLOB PRIMARY KEY NOT NULL, v) WITHOUT ROWID;
      """, track: ["nocase", "rtrim", "any", "blob"])
    let expected: [(String, [String])] = [
      ("INSERT INTO nocase VALUES ('Key', 1)", ["nocase insert 'Key'"]),
      ("UPDATE nocase SET id = 'KEY', v = 2", ["nocase update 'KEY' [id v]"]),
      ("UPDATE nocase SET id = 'other'", ["nocase rekey 'KEY'", "nocase insert 'other'"]),
      ("DELETE FROM nocase WHERE id = 'OTHER'", ["nocase delete 'other'"]),
      ("INSERT INTO rtrim VALUES ('a  ', 1)", ["rtrim insert 'a  '"]),
      ("UPDATE rtrim SET id = 'a'", ["rtrim update 'a' [id]"]),
      ("INSERT INTO any VALUES (1, 1)", ["any insert 1"]),
      ("UPDATE any SET id = 1.0", ["any update 1.0 [id]"]),
      ("UPDATE any SET id = '1'", ["any rekey 1.0", "any insert '1'"]),
      ("UPDATE any SET id = 1.5", ["any rekey '1'", "any insert 1.5"]),
      ("INSERT INTO blob VALUES (x'00ff', 1)", ["blob insert X'00FF'"]),
      ("UPDATE blob SET v = 2 WHERE id = x'00ff'", ["blob update X'00FF' [v]"]),
    ]
    for (sql, log) in expected {
      try bench.execute(sql)
      #expect(try bench.noted() == log, "\(sql)")
    }
  }

  @Test("integer keys and the rowid behind them are followed") func integerKeysAndTheRowidBehindThemAreFollowed() throws
  {
    let bench = try CaptureBench(
      "CREATE TABLE t (v, id INTEGER PRIMARY KEY AUTOINCREMENT); CREATE TABLE u (id INT PRIMARY KEY NOT NULL, v)",
      track: ["t", "u"], integerKeys: true)
    try bench.execute(
      """
      INSERT INTO t (v) VALUES ('a'), ('b'); UPDATE t SET rowid = 9 WHERE v = 'b'; UPDATE t SET v = 'c' WHERE _rowid_ = 9;
      INSERT INTO u VALUES (1, 1); UPDATE u SET rowid = 7; UPDATE u SET id = 2
      """)
    #expect(
      try bench.noted() == [
        "t insert 1", "t insert 2", "t rekey 2", "t insert 9", "t update 9 [v]",
        "u insert 1", "u rekey 1", "u insert 2",
      ])
  }

  @Test("generated columns are not columns") func generatedColumnsAreNotColumns() throws {
    let bench = try CaptureBench(
      """
      CREATE TABLE t (g1 AS (a || 'x'), id TEXT PRIMARY KEY NOT NULL, a, g2 TEXT AS (upper(b)) STORED, b)
      """, track: ["t"])
    try bench.execute("INSERT INTO t (id, a, b) VALUES ('k', 1, 2); UPDATE t SET b = 3; UPDATE t SET a = 3")
    #expect(try bench.noted() == ["t insert 'k'", "t update 'k' [b]", "t update 'k' [a]"])
  }

  @Test("each word of 63 columns has its row, where its mask is not zero", arguments: [1, 62, 63, 64, 126, 127, 200])
  func eachWordOf63ColumnsHasItsRowWhereItsMaskIsNotZero(count: Int) throws {
    let names = (0..<count).map { "c\($0)" }
    let bench = try CaptureBench(
      "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, \(names.joined(separator: ", ")))", track: ["t"])
    try bench.execute("INSERT INTO t (id) VALUES ('k')")
    #expect(try bench.noted() == ["t insert 'k'"])
    try bench.execute("UPDATE t SET " + names.map { "\($0) = 1" }.joined(separator: ", "))
    let entries = try bench.entries()
    #expect(entries.map(\.word) == Array(0..<(count + 62) / 63))
    #expect(entries.flatMap(\.columns) == names)
    #expect(entries.first?.mask == (count >= 63 ? Int64.max : 1 << count - 1))
    _ = try bench.noted()
    let last = try #require(names.last)
    try bench.execute("UPDATE t SET \(last) = 2")
    let one = try bench.entries()
    #expect(one.map(\.word) == [(count - 1) / 63])
    #expect(one.map(\.mask) == [1 << ((count - 1) % 63)])
  }

  @Test("the node's own writes are not noted, and others' are again afterwards")
  func theNodesOwnWritesAreNotNotedAndOthersAreAgainAfterwards() throws {
    let bench = try CaptureBench("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v)", track: ["t"])
    try bench.file.write { db in
      try db.execute(
        sql: """
          UPDATE mesh_state SET applying = 1;
          INSERT INTO t VALUES ('a', 1); UPDATE t SET v = 2; DELETE FROM t; INSERT INTO t VALUES ('b', 1);
          UPDATE mesh_state SET applying = 0; UPDATE t SET v = 3;
          """)
    }
    #expect(try bench.noted() == ["t update 'b' [v]"])
    try bench.execute("DELETE FROM mesh_state; DELETE FROM t")
    #expect(try bench.noted() == ["t delete 'b'"])
  }

  @Test("what an app's own triggers write is noted", arguments: [false, true])
  func whatAnAppsOwnTriggersWriteIsNoted(recursive: Bool) throws {
    let bench = try CaptureBench(
      """
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v, n INTEGER DEFAULT 0);
      CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL);
      CREATE TRIGGER touch AFTER UPDATE OF v ON t BEGIN UPDATE t SET n = n + 1 WHERE id = NEW.id; END;
      CREATE TRIGGER copy AFTER INSERT ON t BEGIN INSERT OR IGNORE INTO u VALUES (NEW.id); END;
      """, track: ["t", "u"])
    try Writer.grdb.run(
      ["INSERT OR FAIL INTO t (id, v) VALUES ('a', 1)", "UPDATE OR REPLACE t SET v = 2"], on: bench.path,
      recursiveTriggers: recursive)
    #expect(
      try bench.noted().sorted() == ["t insert 'a'", "t update 'a' [n]", "t update 'a' [v]", "u insert 'a'"])
  }
}
