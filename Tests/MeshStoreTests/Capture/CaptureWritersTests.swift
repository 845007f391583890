import Foundation
import Testing

@testable import MeshStore

/// Every program's writes are noted alike.
@Suite struct CaptureWritersTests {
  static let options = ["", "STRICT", "WITHOUT ROWID", "STRICT, WITHOUT ROWID"]

  @Test("the same statements leave the same log, whoever writes", arguments: Writer.allCases, options)
  func theSameStatementsLeaveTheSameLogWhoeverWrites(writer: Writer, options: String) throws {
    let bench = try CaptureBench(
      "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT, done INTEGER, size REAL) \(options)",
      track: ["item"])
    try writer.run(
      [
        "INSERT INTO item VALUES ('a', 'milk', 0, 1), ('b', 'eggs', 0, 2), ('c', 'tea', 1, 3)",
        "UPDATE item SET done = 1",
        "UPDATE item SET title = title",
        "INSERT INTO item VALUES ('a', 'bread', 0, 1) ON CONFLICT (id) DO UPDATE SET title = excluded.title, size = 9",
        "INSERT INTO item VALUES ('a', 'x', 0, 1) ON CONFLICT DO NOTHING",
        "INSERT OR IGNORE INTO item (id) VALUES ('b'), ('d')",
        "INSERT OR REPLACE INTO item (id, title) VALUES ('c', 'coffee')",
        "INSERT INTO item (id) VALUES ('e'), ('a')",
        "UPDATE item SET id = 'z' WHERE id = 'd' RETURNING id",
        "DELETE FROM item WHERE id IN ('b', 'z')",
      ], on: bench.path)
    #expect(
      try bench.noted() == [
        "item insert 'a'", "item insert 'b'", "item insert 'c'",
        "item update 'a' [done]", "item update 'b' [done]",
        "item update 'a' [title size]",
        "item insert 'd'",
        "item insert 'c'",
        "item rekey 'd'", "item insert 'z'",
        "item delete 'b'", "item delete 'z'",
      ])
  }

  @Test("what is rolled back leaves nothing", arguments: Writer.allCases)
  func whatIsRolledBackLeavesNothing(writer: Writer) throws {
    let bench = try CaptureBench("CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, v)", track: ["item"])
    try writer.run(
      [
        "BEGIN", "INSERT INTO item VALUES ('a', 1)", "ROLLBACK",
        "BEGIN", "INSERT INTO item VALUES ('b', 1)", "SAVEPOINT s", "INSERT INTO item VALUES ('c', 1)", "ROLLBACK TO s",
        "INSERT INTO item VALUES ('d', 1)", "RELEASE s", "COMMIT",
        "BEGIN", "INSERT INTO item VALUES ('e', 1)", "INSERT OR ROLLBACK INTO item VALUES ('b', 2)",
        "INSERT OR FAIL INTO item VALUES ('f', 1), ('b', 2), ('g', 1)",
        "INSERT OR ABORT INTO item VALUES ('h', 1), ('b', 2)",
      ], on: bench.path)
    #expect(try bench.noted() == ["item insert 'b'", "item insert 'd'", "item insert 'f'"])
  }

  @Test(
    "a key that is written again is an insert, with the delete where SQLite tells of it", arguments: Writer.allCases)
  func aKeyThatIsWrittenAgainIsAnInsertWithTheDeleteWhereSQLiteTellsOfIt(writer: Writer) throws {
    let bench = try CaptureBench("CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, v)", track: ["item"])
    try bench.execute("INSERT INTO item VALUES ('a', 1), ('b', 1)")
    _ = try bench.noted()
    let statements = ["REPLACE INTO item VALUES ('a', 2)", "UPDATE OR REPLACE item SET id = 'a' WHERE id = 'b'"]
    try writer.run(statements, on: bench.path, recursiveTriggers: false)
    #expect(try bench.noted() == ["item insert 'a'", "item rekey 'b'", "item insert 'a'"])
    try bench.execute("INSERT INTO item VALUES ('b', 1)")
    _ = try bench.noted()
    try writer.run(statements, on: bench.path, recursiveTriggers: true)
    #expect(
      try bench.noted()
        == ["item delete 'a'", "item insert 'a'", "item delete 'a'", "item rekey 'b'", "item insert 'a'"])
  }

  @Test("cascades are noted where foreign keys are on", arguments: Writer.allCases, [false, true])
  func cascadesAreNotedWhereForeignKeysAreOn(writer: Writer, foreignKeys: Bool) throws {
    let bench = try CaptureBench(
      """
      CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, over TEXT REFERENCES list ON DELETE CASCADE);
      CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list (id) ON DELETE CASCADE);
      CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, item TEXT REFERENCES item ON DELETE SET NULL ON UPDATE CASCADE);
      CREATE TABLE mark (id TEXT PRIMARY KEY NOT NULL, item TEXT DEFAULT 'i2' REFERENCES item ON DELETE SET DEFAULT);
      INSERT INTO list VALUES ('l', NULL), ('m', 'l');
      INSERT INTO item VALUES ('i', 'm'), ('i2', NULL);
      INSERT INTO note VALUES ('n', 'i'); INSERT INTO mark VALUES ('k', 'i');
      """, track: ["list", "item", "note", "mark"])
    try writer.run(["DELETE FROM list WHERE id = 'l'"], on: bench.path, foreignKeys: foreignKeys)
    let log = try bench.noted().sorted()
    if foreignKeys {
      #expect(
        log == [
          "item delete 'i'", "list delete 'l'", "list delete 'm'", "mark update 'k' [item]", "note update 'n' [item]",
        ])
    } else {
      #expect(log == ["list delete 'l'"])
    }
    try writer.run(["UPDATE item SET id = 'i3' WHERE id = 'i2'"], on: bench.path, foreignKeys: foreignKeys)
    // With foreign keys on, mark's reference (no action) refuses the update.
    #expect(try bench.noted() == (foreignKeys ? [] : ["item rekey 'i2'", "item insert 'i3'"]))
  }

  @Test("names that need quoting are quoted", arguments: Writer.allCases)
  func namesThatNeedQuotingAreQuoted(writer: Writer) throws {
    let table = #""sel""ect 'ünï;-- ""#
    let bench = try CaptureBench(
      #"""
      CREATE TABLE \#(table) ("my key" TEXT PRIMARY KEY NOT NULL, "order" TEXT, "a""b" TEXT, "naïve col'n" TEXT,
        "OLD" TEXT, "mask" TEXT)
      """#, track: [#"sel"ect 'ünï;-- "#])
    try writer.run(
      [
        "INSERT INTO \(table) (\"my key\") VALUES ('k')",
        #"UPDATE \#(table) SET "order" = 1, "a""b" = 2, "naïve col'n" = 3, "OLD" = 4, "mask" = 5"#,
      ], on: bench.path)
    #expect(
      try bench.noted() == [
        #"sel"ect 'ünï;--  insert 'k'"#, #"sel"ect 'ünï;--  update 'k' [order a"b naïve col'n OLD mask]"#,
      ])
  }

  @Test("the time is the writer's, in whole milliseconds", arguments: Writer.allCases)
  func theTimeIsTheWritersInWholeMilliseconds(writer: Writer) throws {
    let bench = try CaptureBench("CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL)", track: ["item"])
    let before = Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down))
    try writer.run(["INSERT INTO item VALUES ('a')"], on: bench.path)
    let after = Int64((Date().timeIntervalSince1970 * 1_000).rounded(.up))
    let walls = try bench.entries().map(\.wall)
    #expect(walls.count == 1)
    #expect(walls.allSatisfy { (before...after).contains($0) })
  }
}
