import MeshCore
import Testing

@testable import MeshStore

/// Rows and values that nobody noted as they were written: of tables that are tracked, tracked again, or filled by a migration.
@Suite struct ImportTests {
  private static let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, n INTEGER NOT NULL DEFAULT 0)"
  private static let rows = "SELECT id, a, n FROM t ORDER BY id"

  private func peers() throws -> (Peer, Peer) {
    let a = try Peer(1, schema: Self.schema, track: ["t"])
    let b = try Peer(2, schema: Self.schema, track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', 'k', 1), ('l', 'l', 2), ('m', 'm', 3), ('o', 'o', 4)")
    try synchronize([a, b])
    return (a, b)
  }

  // MARK: Untracked for a while

  @Test("edits and deletes of an untracked table are merged when it is tracked again", arguments: [true, false])
  func untrackedEdits(_ isPulled: Bool) throws {
    let (a, b) = try peers()
    try b.store.tables.untrack(["t"])
    try b.run("UPDATE t SET a = 'b' WHERE id = 'k'; DELETE FROM t WHERE id = 'l'; INSERT INTO t VALUES ('z', 'z', 9)")
    try a.run("UPDATE t SET n = 7 WHERE id = 'k'; DELETE FROM t WHERE id = 'm'")
    if isPulled { try b.pull(from: a) }
    try b.store.tables.track(tables: ["t"], now: b.now)
    try synchronize([a, b])
    try expectEqual([a, b], Self.rows, ["\"k\"|\"b\"|7", "\"o\"|\"o\"|4", "\"z\"|\"z\"|9"])
    try expectNoConflicts([a, b])
  }

  @Test("an edit of an untracked table that meets another's is listed and can be restored")
  func untrackedConflicts() throws {
    let (a, b) = try peers()
    try b.store.tables.untrack(["t"])
    try b.run("UPDATE t SET a = 'b' WHERE id IN ('k', 'm'); DELETE FROM t WHERE id = 'l'")
    try a.run("UPDATE t SET a = 'a' WHERE id IN ('k', 'l'); DELETE FROM t WHERE id = 'm'")
    try b.pull(from: a)
    try b.store.tables.track(tables: ["t"], now: b.now)
    try synchronize([a, b])
    try expectEqual([a, b], Self.rows, ["\"k\"|\"a\"|1", "\"l\"|\"a\"|2", "\"o\"|\"o\"|4"])
    let conflicts = try b.store.conflicts.list(limit: 9)
    #expect(
      Set(conflicts.map { "\($0.key) \($0.column ?? "delete") \($0.loserValue)" })
        == Set(["k a b", "m a b"].map { "\(Value.text(Array($0.prefix(1).utf8))) a \(Value.text(Array("b".utf8)))" })
        .union(["\(Value.text(Array("l".utf8))) delete \(Value.null)"]))
    for conflict in conflicts { _ = try b.store.history.restore(.conflict(conflict.id)) { _ in b.reader } }
    try synchronize([a, b])
    try expectEqual([a, b], Self.rows, ["\"k\"|\"b\"|1", "\"m\"|\"b\"|3", "\"o\"|\"o\"|4"])
  }

  @Test("most rows of an untracked table can be deleted, and stay deleted when it is tracked again")
  func untrackedDeletes() throws {
    let (a, b) = try peers()
    try b.store.tables.untrack(["t"])
    try b.run("DELETE FROM t WHERE id <> 'o'")
    try b.store.tables.track(tables: ["t"], now: b.now)
    try synchronize([a, b])
    try expectEqual([a, b], Self.rows, ["\"o\"|\"o\"|4"])
    // Without its rows, the table could be another one of the same name.
    try b.store.tables.untrack(["t"])
    try b.run("DROP TABLE t; \(Self.schema)")
    try b.store.tables.track(tables: ["t"], now: b.now)
    try synchronize([a, b])
    try expectEqual([a, b], Self.rows, ["\"o\"|\"o\"|4"])
  }

  @Test("a row that was deleted before a table was untracked can be inserted meanwhile")
  func untrackedBirth() throws {
    let (a, b) = try peers()
    try b.run("DELETE FROM t WHERE id = 'k'")
    try synchronize([a, b])
    try b.store.tables.untrack(["t"])
    try b.run("INSERT INTO t VALUES ('k', 'again', 5)")
    try b.store.tables.track(tables: ["t"], now: b.now)
    try synchronize([a, b])
    #expect(try a.rows("SELECT a, n FROM t WHERE id = 'k'") == ["\"again\"|5"])
    #expect(try a.digest() == b.digest())
  }

  // MARK: Joining

  @Test("a joiner's older copy loses against the mesh and is listed on the joiner alone", arguments: [true, false])
  func olderCopy(_ isPulled: Bool) throws {
    let a = try Peer(1, schema: Self.schema)
    // Greater by its device's id as well.
    let b = try Peer(2, schema: Self.schema)
    let (first, second) = a.author.device < b.author.device ? (a, b) : (b, a)
    try first.run("INSERT INTO t VALUES ('k', 'now', 1), ('l', 'same', 2), ('gone', 'x', 3), ('other', 'u', 5)")
    try first.store.tables.track(tables: ["t"], now: first.now)
    try first.flush()
    try first.run("DELETE FROM t WHERE id IN ('gone', 'other')")
    try first.flush()
    let tracked = first.now
    second.now = first.now + 60_000
    try second.run(
      """
      INSERT INTO t VALUES ('k', 'older', 1), ('l', 'same', 2), ('gone', 'x', 3), ('other', 'v', 5), ('mine', 'y', 4)
      """)
    if isPulled { try second.pull(from: first) }
    try second.store.tables.track(tables: ["t"], now: second.now)
    try synchronize([first, second])
    try expectEqual([first, second], Self.rows, ["\"k\"|\"now\"|1", "\"l\"|\"same\"|2", "\"mine\"|\"y\"|4"])
    try expectNoConflicts([first])
    let lost = try second.store.conflicts.list(limit: 9)
    #expect(lost.filter { $0.key == .text("k") }.map(\.loserValue) == [.text("older")])
    // If the joiner tracks first, it meets the very values that it has, and then a delete by somebody who had seen them.
    let gone = lost.filter { $0.key == .text("gone") }.map(\.loserValue)
    #expect(Set(gone) == (isPulled ? [.text("x"), .integer(3)] : []))
    let other = lost.filter { $0.key == .text("other") && $0.isWinnerDelete }.map(\.loserValue)
    #expect(Set(other) == (isPulled ? [.text("v"), .integer(5)] : [.text("v")]))
    #expect(lost.allSatisfy { $0.loser.time.isImport && $0.loser.time.noted.milliseconds >= tracked })
    let old = try #require(lost.first { $0.key == .text("k") })
    #expect(old.winner.time.isImport)
    // What was kept is named by its own time, also after an edit.
    try first.run("UPDATE t SET a = 'later' WHERE id = 'k'")
    try synchronize([first, second])
    let after = try #require(try second.store.conflicts.list(limit: 9).first { $0.id == old.id })
    #expect(after.winnerValue == .text("later") && !after.winner.time.isImport)
    _ = try second.store.history.restore(.conflict(old.id)) { _ in second.reader }
    try synchronize([first, second])
    #expect(try first.rows("SELECT a FROM t WHERE id = 'k'") == ["\"older\""])
  }

  // MARK: Migrations

  private static let fill = "ALTER TABLE t ADD COLUMN c TEXT; UPDATE t SET c = 'calculated'"

  /// Waits until the file's clock has gone on.
  private func edit(_ peer: Peer, _ sql: String) throws {
    let walls = "SELECT count(DISTINCT wall) FROM mesh_pending"
    let before = try peer.rows(walls)
    repeat { try peer.run(sql) } while try peer.rows(walls) == before
  }

  @Test("an edit of a new column wins against every machine's backfill", arguments: [true, false])
  func backfill(_ isFirst: Bool) throws {
    let (a, b) = try peers()
    let (editor, other) = isFirst ? (a, b) : (b, a)
    try editor.run(Self.fill)
    try edit(editor, "UPDATE t SET c = 'mine' WHERE id = 'k'")
    try other.run(Self.fill)
    try synchronize([a, b])
    let rows = ["\"k\"|\"mine\"", "\"l\"|\"calculated\"", "\"m\"|\"calculated\"", "\"o\"|\"calculated\""]
    try expectEqual([a, b], "SELECT id, c FROM t ORDER BY id", rows)
    // A third that comes later, and knows what is merged.
    try other.run("UPDATE t SET c = 'seen' WHERE id = 'l'")
    try synchronize([a, b])
    #expect(try a.rows("SELECT c FROM t WHERE id = 'l'") == ["\"seen\""])
    try expectNoConflicts([editor])
    #expect(try other.store.conflicts.list(limit: 9).map(\.loserValue) == [.text("calculated")])
  }

  @Test("what can't be told from a backfill is listed where it was shown")
  func ambiguousBackfill() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t ADD COLUMN c TEXT; UPDATE t SET c = 'typed' WHERE id = 'k'")
    try b.run("ALTER TABLE t ADD COLUMN c TEXT; UPDATE t SET c = 'typed too' WHERE id = 'k'")
    try synchronize([a, b])
    let shown = try a.rows("SELECT c FROM t WHERE id = 'k'")
    #expect(try b.rows("SELECT c FROM t WHERE id = 'k'") == shown && a.digest() == b.digest())
    let (loser, winner) = shown == ["\"typed\""] ? (b, a) : (a, b)
    #expect(try loser.store.conflicts.list(limit: 9).count == 1)
    try expectNoConflicts([winner])
  }

  @Test("a backfill over an edit that the row did not show yet is listed")
  func backfillAfterMerge() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t ADD COLUMN c TEXT")
    try a.flush()
    try a.run("UPDATE t SET c = 'edited' WHERE id = 'k'")
    try b.pull(from: a)
    try b.run(Self.fill)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT c FROM t WHERE id = 'k'", ["\"edited\""])
    #expect(try b.store.conflicts.list(limit: 9).map(\.loserValue) == [.text("calculated")])
    try expectNoConflicts([a])
  }

  // MARK: Values that were set back

  private static let added = "ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'none'"

  @Test("a new column that was set back to its default wins against another's backfill", arguments: [true, false])
  func setBack(_ isFilled: Bool) throws {
    let (a, b) = try peers()
    for (editor, other) in [(a, b), (b, a)] {
      let column = editor === a ? "c" : "d"
      let fill = "UPDATE t SET \(column) = 'calculated'"
      let added = "ALTER TABLE t ADD COLUMN \(column) TEXT DEFAULT 'none'"
      try editor.run(added)
      try editor.run(isFilled ? fill : "UPDATE t SET \(column) = 'typed' WHERE id = 'k'")
      try edit(editor, "UPDATE t SET \(column) = 'none' WHERE id = 'k'")
      try other.run("\(added); \(fill)")
      try synchronize([a, b])
      let rows = ["\"k\"|\"none\"", "\"l\"|\"calculated\"", "\"m\"|\"calculated\"", "\"o\"|\"calculated\""]
      try expectEqual([a, b], "SELECT id, \(column) FROM t ORDER BY id", rows)
      #expect(try editor.store.conflicts.list(limit: 9).allSatisfy { $0.column != column })
    }
  }

  @Test("a default that can't be told from a backfill stays, or is listed where it was written")
  func ambiguousSetBack() throws {
    for (isSecond, several) in [(false, true), (true, true), (false, false), (true, false)] {
      let (a, b) = try peers()
      let (editor, other) = isSecond ? (b, a) : (a, b)
      let added = several ? "\(Self.added); ALTER TABLE t ADD COLUMN d TEXT" : Self.added
      try editor.run("\(added); UPDATE t SET c = 'typed' WHERE id IN ('k', 'l')")
      try edit(editor, "UPDATE t SET c = 'none' WHERE id \(several ? "= 'k'" : "IN ('k', 'l')")")
      try other.run("\(added); UPDATE t SET c = 'calculated'")
      try synchronize([a, b])
      let shown = try a.rows("SELECT c FROM t WHERE id = 'k'")
      #expect(try b.rows("SELECT c FROM t WHERE id = 'k'") == shown && a.digest() == b.digest())
      let isKept = shown == ["\"none\""]
      let (loser, value) = isKept ? (other, "calculated") : (editor, "none")
      let lost = try #require(try loser.store.conflicts.list(limit: 9).first { $0.key == .text("k") })
      #expect(lost.loserValue == .text(value))
      _ = try loser.store.history.restore(.conflict(lost.id)) { _ in loser.reader }
      try synchronize([a, b])
      try expectEqual([a, b], "SELECT c FROM t WHERE id = 'k'", ["\"\(value)\""])
    }
  }

  @Test("an update that writes the default of a new column changes nothing, and is no write")
  func defaultOverDefault() throws {
    let (a, b) = try peers()
    try a.run("\(Self.added); UPDATE t SET c = 'none' WHERE id = 'k'")
    try b.run("\(Self.added); UPDATE t SET c = 'calculated' WHERE id = 'k'")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT c FROM t WHERE id = 'k'", ["\"calculated\""])
    try expectNoConflicts([a, b])
  }

  @Test("a default that was set over an edit that the row did not show yet is listed")
  func setBackAfterMerge() throws {
    let (a, b) = try peers()
    try a.run(Self.added)
    try a.flush()
    try a.run("UPDATE t SET c = 'edited' WHERE id = 'k'")
    try b.pull(from: a)
    try b.run("\(Self.added); UPDATE t SET c = 'typed' WHERE id = 'k'")
    try edit(b, "UPDATE t SET c = 'none' WHERE id = 'k'")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT c FROM t WHERE id = 'k'", ["\"edited\""])
    #expect(try b.store.conflicts.list(limit: 9).map(\.loserValue) == [.text("none")])
    try expectNoConflicts([a])
  }

  @Test("an edit of another column tells nothing of a new one, which others edit")
  func untouchedColumn() throws {
    let (a, b) = try peers()
    try a.run("\(Self.added); ALTER TABLE t ADD COLUMN d TEXT; UPDATE t SET d = 'calculated'")
    try b.run("\(Self.added); ALTER TABLE t ADD COLUMN d TEXT")
    try b.flush()
    try b.run("UPDATE t SET c = 'edited' WHERE id = 'k'")
    try edit(a, "UPDATE t SET d = 'mine', n = 9 WHERE id = 'k'")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT c, d, n FROM t WHERE id = 'k'", ["\"edited\"|\"mine\"|9"])
    try expectNoConflicts([b])
  }

  @Test("a value that was changed and set back before a flush stays, or is listed", arguments: [false, true])
  func setBackBeforeFlush(_ isSecond: Bool) throws {
    let (a, b) = try peers()
    let (editor, other) = isSecond ? (b, a) : (a, b)
    try other.run("UPDATE t SET n = 6 WHERE id = 'k'")
    try editor.run("UPDATE t SET n = 5 WHERE id = 'k'")
    try editor.run("UPDATE t SET n = 1 WHERE id = 'k'")
    try synchronize([a, b])
    let shown = try a.rows("SELECT n FROM t WHERE id = 'k'")
    #expect(try b.rows("SELECT n FROM t WHERE id = 'k'") == shown && a.digest() == b.digest())
    let (loser, value) = shown == ["1"] ? (other, Value.integer(6)) : (editor, .integer(1))
    #expect(try loser.store.conflicts.list(limit: 9).map(\.loserValue) == [value])
    // An update that changes nothing is no write.
    try editor.run("UPDATE t SET n = n")
    #expect(try editor.flush() == 0)
  }
}
