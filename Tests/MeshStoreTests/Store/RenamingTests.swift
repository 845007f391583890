import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Columns and tables that machines rename one after the other, while people go on writing.
@Suite struct RenamingTests {
  private static let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, n INTEGER NOT NULL DEFAULT 0)"
  private static let rename = "ALTER TABLE t RENAME COLUMN a TO b"

  private func peers() throws -> (Peer, Peer) {
    let a = try Peer(1, schema: Self.schema, track: ["t"])
    let b = try Peer(2, schema: Self.schema, track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', 'old', 1), ('l', 'other', 2), ('m', 'third', 3)")
    try synchronize([a, b])
    return (a, b)
  }

  private static let renamed = "SELECT id, b FROM t ORDER BY id"

  /// As the guide says.
  private func renameTable(_ peer: Peer) throws {
    try peer.run("ALTER TABLE t RENAME TO u")
    try peer.flush()
    try peer.store.tables.untrack(["t"])
    try peer.store.tables.track(tables: ["u"], now: peer.now)
  }

  @Test("a table that was renamed while it was untracked goes on under its new name")
  func renamedWhileUntracked() throws {
    let (a, b) = try peers()
    try a.store.tables.untrack(["t"])
    try a.run("ALTER TABLE t RENAME TO u; UPDATE u SET a = 'new' WHERE id = 'k'; DELETE FROM u WHERE id = 'm'")
    try a.store.tables.track(tables: ["u"], now: a.now)
    try synchronize([a, b])
    try renameTable(b)
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(try peer.rows("SELECT * FROM u ORDER BY id") == ["\"k\"|\"new\"|1", "\"l\"|\"other\"|2"])
      #expect(try peer.store.figures.status().held.isEmpty)
    }
    #expect(try a.digest() == b.digest())
  }

  @Test("a new table in the place of an untracked one is no renamed one")
  func madeWhileUntracked() throws {
    let (a, b) = try peers()
    try a.store.tables.untrack(["t"])
    try a.run(
      """
      DROP TABLE t; CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL, x TEXT);
      CREATE TABLE w (id TEXT PRIMARY KEY NOT NULL, a TEXT, n INTEGER NOT NULL DEFAULT 0)
      """)
    try a.store.tables.track(tables: ["u", "w"], now: a.now)
    try synchronize([a, b])
    #expect(try a.rows("SELECT * FROM u UNION ALL SELECT id, a FROM w").isEmpty)
    #expect(try b.rows("SELECT id FROM t").count == 3)
  }

  enum Moment: CaseIterable {
    /// The other machine's renaming is merged before the edit, after it, or after both.
    case before, between, after
  }

  @Test("an edit under a column's old name survives the renaming", arguments: Moment.allCases, [true, false])
  func editUnderOldName(_ moment: Moment, isFlushed: Bool) throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try a.flush()
    if moment == .before { try b.pull(from: a) }
    try b.run("UPDATE t SET a = 'new' WHERE id = 'k'; UPDATE t SET a = NULL WHERE id = 'l'")
    if isFlushed { try b.flush() }
    if moment == .between { try b.pull(from: a) }
    try b.run(Self.rename)
    try synchronize([a, b])
    try expectEqual([a, b], Self.renamed, ["\"k\"|\"new\"", "\"l\"|NULL", "\"m\"|\"third\""])
    try expectNoConflicts([a, b])
  }

  @Test("an edit between a renaming and the node's look at it is an edit")
  func editBeforeLook() throws {
    let (a, b) = try peers()
    try a.run("\(Self.rename); UPDATE t SET b = 'at once' WHERE id = 'k'")
    try a.flush()
    try b.run("UPDATE t SET n = 5 WHERE id = 'k'")
    try b.run(Self.rename)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, b, n FROM t WHERE id = 'k'", ["\"k\"|\"at once\"|5"])
  }

  @Test("an edit under the old name appears under the new one")
  func aliasedColumn() throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try a.flush()
    try b.run("UPDATE t SET a = 'from b' WHERE id = 'k'")
    try synchronize([a, b])
    #expect(try a.rows(Self.renamed)[0] == "\"k\"|\"from b\"")
    // What somebody writes then has seen it.
    try a.run("UPDATE t SET b = 'later' WHERE id = 'k'")
    try synchronize([a, b])
    try b.run(Self.rename)
    try synchronize([a, b])
    try expectEqual([a, b], Self.renamed, ["\"k\"|\"later\"", "\"l\"|\"other\"", "\"m\"|\"third\""])
    try expectNoConflicts([a, b])
  }

  @Test("edits under both names are a conflict on both machines")
  func editsUnderBothNames() throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try a.flush()
    try a.run("UPDATE t SET b = 'new name' WHERE id = 'k'")
    try a.flush()
    b.now = a.now + 10_000
    try b.run("INSERT INTO t VALUES ('tick', 'x', 0)")
    try b.flush()
    try b.run("UPDATE t SET a = 'old name' WHERE id = 'k'")
    try b.flush()
    try b.run(Self.rename)
    try synchronize([a, b])
    #expect(try a.rows(Self.renamed)[0] == "\"k\"|\"old name\"")
    #expect(try a.digest() == b.digest())
    for peer in [a, b] {
      #expect(try peer.store.conflicts.list(limit: 9).map(\.loserValue) == [.text("new name")])
    }
  }

  @Test("a column that is renamed and renamed back is what it was")
  func renamedBack() throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try a.flush()
    try a.run("UPDATE t SET b = 'as b' WHERE id = 'k'")
    try a.flush()
    try a.run("ALTER TABLE t RENAME COLUMN b TO a")
    try synchronize([a, b])
    try expectEqual(
      [a, b], "SELECT id, a FROM t ORDER BY id", ["\"k\"|\"as b\"", "\"l\"|\"other\"", "\"m\"|\"third\""])
  }

  @Test("a table that each machine renames keeps edits and deletes of the old name", arguments: [true, false])
  func renamedTable(_ isFlushed: Bool) throws {
    let (a, b) = try peers()
    try renameTable(a)
    try a.flush()
    try b.run("UPDATE t SET a = 'new' WHERE id = 'k'; DELETE FROM t WHERE id = 'l'")
    if isFlushed { try b.pull(from: a) }
    try b.run("ALTER TABLE t RENAME TO u; INSERT INTO u VALUES ('z', 'under the new name', 9)")
    try b.upkeep()
    try b.flush()
    try b.store.tables.untrack(["t"])
    try b.store.tables.track(tables: ["u"], now: b.now)
    try synchronize([a, b])
    let rows = ["\"k\"|\"new\"|1", "\"m\"|\"third\"|3", "\"z\"|\"under the new name\"|9"]
    try expectEqual([a, b], "SELECT * FROM u ORDER BY id", rows)
    try expectNoConflicts([a, b])
    try a.run("UPDATE u SET a = 'goes on' WHERE id = 'k'; DELETE FROM u WHERE id = 'm'")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, a FROM u ORDER BY id", ["\"k\"|\"goes on\"", "\"z\"|\"under the new name\""])
  }

  @Test("what others wrote under a table's old name after it was renamed here is not taken back")
  func renamedTableEditedElsewhere() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t RENAME TO u")
    try a.flush()
    try b.run("UPDATE t SET a = 'late' WHERE id = 'k'; DELETE FROM t WHERE id = 'l'")
    try a.pull(from: b)
    try a.store.tables.untrack(["t"])
    try a.store.tables.track(tables: ["u"], now: a.now)
    try a.flush()
    try a.apply()
    #expect(try a.rows("SELECT id, a FROM u ORDER BY id") == ["\"k\"|\"late\"", "\"m\"|\"third\""])
    try expectNoConflicts([a])
    try b.run("ALTER TABLE t RENAME TO u")
    try b.flush()
    try b.store.tables.track(tables: ["u"], now: b.now)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, a FROM u ORDER BY id", ["\"k\"|\"late\"", "\"m\"|\"third\""])
  }

  @Test("a table that is renamed and renamed back takes back nothing that came meanwhile")
  func tableRenamedBack() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t RENAME TO u")
    try a.flush()
    try b.run("UPDATE t SET a = 'late' WHERE id = 'k'")
    try a.pull(from: b)
    try a.run("UPDATE u SET n = 7 WHERE id = 'k'; ALTER TABLE u RENAME TO t")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, a, n FROM t WHERE id = 'k'", ["\"k\"|\"late\"|7"])
  }

  @Test("an edit under a table's old name appears under the new one, and of two blind edits the loser is listed")
  func editUnderOldTableName() throws {
    let (a, b) = try peers()
    try renameTable(a)
    try a.flush()
    try b.run("UPDATE t SET a = 'from b' WHERE id = 'k'; DELETE FROM t WHERE id = 'l'")
    try a.pull(from: b)
    try a.flush()
    #expect(try a.rows("SELECT id, a FROM u ORDER BY id") == ["\"k\"|\"from b\"", "\"m\"|\"third\""])
    try expectNoConflicts([a])
    try a.run("UPDATE u SET a = 'under the new name' WHERE id = 'm'")
    try a.flush()
    try b.pull(from: a)
    try b.run("UPDATE t SET a = 'under the old name' WHERE id = 'm'")
    try a.pull(from: b)
    try a.flush()
    #expect(try a.store.conflicts.list(limit: 9).map(\.loserValue) == [.text("under the new name")])
    try renameTable(b)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, a FROM u ORDER BY id", ["\"k\"|\"from b\"", "\"m\"|\"under the old name\""])
  }

  @Test("a deleted table's rows go even if more than half of them were deleted under the new name")
  func mostRowsDeleted() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t RENAME TO u")
    try a.flush()
    try a.run("DELETE FROM u WHERE id <> 'm'")
    try a.store.tables.untrack(["t"])
    try a.store.tables.track(tables: ["u"], now: a.now)
    try renameTable(b)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id FROM u", ["\"m\""])
  }

  /// What a device says of its tables, as another hears it.
  ///
  /// - Parameter names: False for an earlier program, which tells no former names.
  private func tell(_ listener: Peer, of speaker: Peer, names: Bool = true) throws {
    var descriptions = try speaker.store.schema.schemaDescriptions()
    if !names { for index in descriptions.indices { descriptions[index].formerNames = FormerNames() } }
    _ = try listener.store.schema.saveForeignSchema(descriptions, device: speaker.author.device, isOwn: true)
  }

  @Test(
    "a renamed column is no missing column: the other machine is told to rename, and does", arguments: [true, false])
  func adoptedRenaming(names: Bool) throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try synchronize([a, b])
    try tell(a, of: b, names: names)
    try tell(b, of: a, names: names)
    #expect(try a.store.schema.missing() == [], "the former name is not missing")
    let missing = try #require(try b.store.schema.missing().first)
    #expect(missing.renamed == ["a": "b"] && missing.refusal == nil)
    #expect(missing.statements == ["ALTER TABLE main.\"t\" RENAME COLUMN \"a\" TO \"b\""])
    try b.run("UPDATE t SET a = 'edited before' WHERE id = 'k'")
    try b.flush()
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    #expect(try b.store.schema.missing() == [])
    try synchronize([a, b])
    try expectEqual([a, b], Self.renamed, ["\"k\"|\"edited before\"", "\"l\"|\"other\"", "\"m\"|\"third\""])
    try expectNoConflicts([a, b])
  }

  @Test("machines with different names for the key lack nothing of each other")
  func renamedKey() throws {
    let (a, b) = try peers()
    let c = try Peer(3, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT)", track: ["t"])
    try a.run("ALTER TABLE t RENAME COLUMN id TO uuid; ALTER TABLE t ADD COLUMN size INTEGER")
    try synchronize([a, b, c])
    for (listener, speaker) in [(a, b), (a, c), (b, a), (b, c), (c, a), (c, b)] { try tell(listener, of: speaker) }
    #expect(try a.store.schema.missing() == [])
    #expect(try b.store.schema.missing().map(\.columns) == [["size"]])
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    try b.run("UPDATE t SET size = 7")
    try synchronize([a, b, c])
    #expect(try a.rows("SELECT uuid, size FROM t ORDER BY 1") == b.rows("SELECT id, size FROM t ORDER BY 1"))
    #expect(try b.store.schema.missing() == [] && a.store.schema.missing() == [])
  }

  @Test("a device that isn't trusted renames no column of others")
  func untrustedRenaming() throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try synchronize([a, b])
    try tell(b, of: a)
    let trusts = { (device: DeviceID) in device != a.author.device }
    let missing = try #require(try b.store.schema.missing(trusts: trusts).first)
    #expect(missing.renamed.isEmpty && missing.statements.allSatisfy { !$0.contains("RENAME") })
    try b.store.schema.adopt(b.store.schema.foreign(trusts: trusts), trusts: trusts, now: b.now)
    #expect(try b.rows("SELECT name FROM pragma_table_info('t')").contains("\"a\""))
  }

  @Test(
    "of two columns with one value and one stamp, the renamed one is known only by its name", arguments: [true, false])
  func ambiguousRenaming(names: Bool) throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, c TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('k', 'same', 'same')")
    try synchronize([a, b])
    try a.run("\(Self.rename); ALTER TABLE t RENAME COLUMN c TO d")
    try synchronize([a, b])
    try tell(b, of: a, names: names)
    #expect(try b.store.schema.missing().map(\.renamed) == [names ? ["a": "b", "c": "d"] : [:]])
  }

  @Test("an edit under the former names of a table and of its column appears under both new names")
  func renamedTableAndColumn() throws {
    let (a, b) = try peers()
    try renameTable(a)
    try a.run("ALTER TABLE u RENAME COLUMN a TO b")
    try a.flush()
    try b.run("UPDATE t SET a = 'late' WHERE id = 'k'")
    try a.pull(from: b)
    try a.flush()
    #expect(try a.rows("SELECT b FROM u WHERE id = 'k'") == ["\"late\""])
    try renameTable(b)
    try b.run("ALTER TABLE u RENAME COLUMN a TO b")
    try synchronize([a, b])
    try expectEqual(
      [a, b], "SELECT id, b FROM u ORDER BY id", ["\"k\"|\"late\"", "\"l\"|\"other\"", "\"m\"|\"third\""])
    try expectNoConflicts([a, b])
  }

  @Test("columns that two machines added at the same time are no renaming")
  func addedOnBoth() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t ADD COLUMN x TEXT; UPDATE t SET x = 'same'")
    try b.run("ALTER TABLE t ADD COLUMN y TEXT; UPDATE t SET y = 'same'")
    try synchronize([a, b])
    try tell(b, of: a)
    #expect(try b.store.schema.missing().map(\.renamed) == [[:]])
  }

  @Test("the former name of a table is not missing where the table was renamed")
  func formerTable() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t RENAME TO u")
    try a.flush()
    try tell(a, of: b)
    let refusal = try a.store.schema.missing().first?.refusal
    #expect(refusal?.contains("it was renamed to u here") == true, "an empty t beside u would hide its writes")
    #expect(try a.store.capture.uncapturedTables() == ["u"] && a.store.capture.unsent(Peer.zone) == .unsendable)
    try a.other.vacuum()
    try a.flush()
    #expect(try a.store.capture.uncapturedTables() == ["u"], "VACUUM gives rows of sqlite_schema other numbers")
    #expect(try a.store.schema.missing().first?.refusal == refusal)
    try a.store.tables.untrack(["t"])
    #expect(try a.store.capture.uncapturedTables().isEmpty && a.store.capture.unsent(Peer.zone) == .nothing)
    #expect(try a.store.schema.missing() == [])
    try a.store.tables.track(tables: ["u"], now: a.now)
    #expect(try a.store.schema.missing() == [])
    try a.store.schema.adopt(a.store.schema.foreign(), now: a.now)
    #expect(try !a.store.tables.hasTable("t"))
  }

  /// As the node applies what others have.
  private func applySchema(_ peer: Peer, trusts: (DeviceID) -> Bool = { _ in true }) throws {
    let former = try peer.store.schema.renameTables(peer.store.schema.foreign(trusts: trusts), trusts: trusts)
    try peer.flush()
    if !former.isEmpty { try peer.store.tables.untrack(former) }
    try peer.store.schema.adopt(peer.store.schema.foreign(trusts: trusts), trusts: trusts, now: peer.now)
    try peer.flush()
  }

  @Test("a renamed table is no missing table: the other machine is told to rename, and does")
  func adoptedTableRenaming() throws {
    let (a, b) = try peers()
    try renameTable(a)
    try a.run("ALTER TABLE u ADD COLUMN x TEXT; UPDATE u SET x = 'added' WHERE id = 'm'")
    try synchronize([a, b])
    try tell(b, of: a)
    let missing = try #require(try b.store.schema.missing().first)
    #expect(missing.former == "t" && missing.refusal == nil)
    #expect(missing.statements == ["ALTER TABLE main.\"t\" RENAME TO \"u\""])
    // A crash after the renaming leaves a table that is here and not synchronized, and rows that are pending.
    try b.run("UPDATE t SET a = 'edited before' WHERE id = 'k'; DELETE FROM t WHERE id = 'l'")
    try applySchema(b)
    #expect(try b.store.schema.missing() == [] && !b.store.tables.hasTable("t"))
    try synchronize([a, b])
    try expectEqual(
      [a, b], "SELECT id, a, x FROM u ORDER BY id", ["\"k\"|\"edited before\"|NULL", "\"m\"|\"third\"|\"added\""])
    try expectNoConflicts([a, b])
  }

  @Test("the name that a table had in between is no unknown table, and what came under it goes on under the last one")
  func tableRenamedTwice() throws {
    let (a, b) = try peers()
    let c = try Peer(3, schema: Self.schema, track: ["t"])
    try synchronize([a, b, c])
    for peer in [a, c] { try renameTable(peer) }
    try synchronize([a, b, c])
    try a.run("ALTER TABLE u RENAME TO v")
    try a.flush()
    try a.store.tables.untrack(["u"])
    try a.store.tables.track(tables: ["v"], now: a.now)
    try a.flush()
    try synchronize([a, b])
    try tell(b, of: a)
    #expect(try b.store.schema.missing().map(\.former) == ["t"])
    try applySchema(b)
    try c.run("UPDATE u SET a = 'in between' WHERE id = 'k'")
    try synchronize([a, b, c])
    #expect(try b.store.held.list(limit: 9) == [])
    #expect(try b.store.figures.heldCounts() == [:])
    for peer in [a, b] {
      #expect(
        try peer.rows("SELECT id, a FROM v ORDER BY id") == [
          "\"k\"|\"in between\"", "\"l\"|\"other\"", "\"m\"|\"third\"",
        ])
    }
    try expectNoConflicts([a, b, c])
  }

  @Test("a device that isn't trusted renames no table of others")
  func untrustedTableRenaming() throws {
    let (a, b) = try peers()
    try renameTable(a)
    try synchronize([a, b])
    try tell(b, of: a)
    let trusts = { (device: DeviceID) in device != a.author.device }
    #expect(try b.store.schema.missing(trusts: trusts).map(\.former) == [nil])
    try applySchema(b, trusts: trusts)
    #expect(try b.store.tables.hasTable("t") && b.store.tables.hasTable("u"))
  }

  @Test("tables that one transaction filled with equal keys, or that the other device has both, are no renaming")
  func noTableRenaming() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, n INTEGER NOT NULL DEFAULT 0)"
    let other = "CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL, a TEXT, c TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run(other)
    try a.store.tables.track(tables: ["u"], now: a.now)
    try a.run("INSERT INTO t VALUES ('k', 'a value', 1); INSERT INTO u VALUES ('k', 'another', 'c')")
    try synchronize([a, b])
    try tell(b, of: a)
    #expect(try b.store.schema.missing().map(\.former) == [nil])
    try a.run("DROP TABLE t")
    try a.flush()
    try a.store.tables.untrack(["t"])
    try tell(b, of: a)
    #expect(try b.store.schema.missing().map(\.former) == [nil])
  }

  private static let two = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT)"

  private func pairOfTwo() throws -> (Peer, Peer) {
    let (a, b) = (try Peer(1, schema: Self.two, track: ["t"]), try Peer(2, schema: Self.two, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('1', 'a1', 'b1'), ('2', 'a2', 'b2'), ('3', 'a3', 'b3')")
    try a.flush()
    try a.run("UPDATE t SET b = 'b1x' WHERE id = '1'")
    try a.flush()
    try a.run("UPDATE t SET a = 'a2x' WHERE id = '2'")
    try synchronize([a, b])
    return (a, b)
  }

  private func rename(_ peer: Peer, _ steps: [String]) throws {
    for step in steps {
      try peer.run("ALTER TABLE t RENAME COLUMN \(step)")
      try peer.upkeep()
      try peer.flush()
    }
  }

  @Test("two columns whose names are swapped, one statement after the other, keep their values")
  func swappedColumns() throws {
    let (a, b) = try pairOfTwo()
    try rename(a, ["a TO x", "b TO a", "x TO b"])
    try synchronize([a, b])
    try expectEqual(
      [a, b], "SELECT id, a, b FROM t ORDER BY id",
      ["\"1\"|\"b1x\"|\"a1\"", "\"2\"|\"b2\"|\"a2x\"", "\"3\"|\"b3\"|\"a3\""])
    try a.run("UPDATE t SET a = 'new' WHERE id = '2'")
    try b.run("UPDATE t SET b = 'new' WHERE id = '3'")
    try synchronize([a, b])
    try expectEqual(
      [a, b], "SELECT id, a, b FROM t ORDER BY id",
      ["\"1\"|\"b1x\"|\"a1\"", "\"2\"|\"new\"|\"a2x\"", "\"3\"|\"b3\"|\"new\""])
  }

  @Test("a column gets the name of another that was renamed before, on one machine after the other")
  func reusedName() throws {
    let (a, b) = try pairOfTwo()
    let steps = ["a TO old_a", "b TO a"]
    let rows = ["\"1\"|\"a1\"|\"b1x\"", "\"2\"|\"a2x\"|\"b2\"", "\"3\"|\"a3\"|\"b3\""]
    try rename(a, steps)
    #expect(try a.rows("SELECT id, old_a, a FROM t ORDER BY id") == rows)
    try synchronize([a, b])
    try rename(b, steps)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, old_a, a FROM t ORDER BY id", rows)
  }

  @Test("an edit between the machines' renamings to a name that was another's is shown or listed")
  func reusedNameEdited() throws {
    let (a, b) = try pairOfTwo()
    try rename(a, ["a TO old_a", "b TO a"])
    try b.run("UPDATE t SET b = 'late' WHERE id = '3'")
    try synchronize([a, b])
    try rename(b, ["a TO old_a", "b TO a"])
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, old_a FROM t ORDER BY id", ["\"1\"|\"a1\"", "\"2\"|\"a2x\"", "\"3\"|\"a3\""])
    let shown = try a.rows("SELECT a FROM t WHERE id = '3'")
    let listed = try [a, b].flatMap { try $0.store.conflicts.list(limit: 9) }.map(\.loserValue)
    #expect(shown == ["\"late\""] || listed.contains(.text(Array("late".utf8))), "\(shown) \(listed)")
  }

  @Test("a new row under the former name, in a table that has both, is shown under the new one")
  func insertUnderFormerName() throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try synchronize([a, b])
    try b.run("ALTER TABLE t ADD COLUMN b TEXT")
    try synchronize([a, b])
    try b.run("INSERT INTO t (id, a) VALUES ('n', 'eggs')")
    try synchronize([a, b])
    try synchronize([a, b])
    #expect(try a.rows("SELECT b FROM t WHERE id = 'n'") == ["\"eggs\""])
    #expect(try b.rows("SELECT a, b FROM t WHERE id = 'n'") == ["\"eggs\"|\"eggs\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a merged value that the table refuses goes on under a column's new name")
  func refusedValue() throws {
    let a = try Peer(1, schema: Self.schema, track: ["t"])
    let strict = Self.schema.replacing("a TEXT", with: "a TEXT CHECK (a <> 'bad')")
    let b = try Peer(2, schema: strict, track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', 'old', 1)")
    try synchronize([a, b])
    try a.run("UPDATE t SET a = 'bad'")
    try synchronize([a, b])
    #expect(try b.rows("SELECT a FROM t") == ["\"old\""])
    try b.run(Self.rename)
    try synchronize([a, b])
    #expect(try b.rows("SELECT b FROM t") == ["\"old\""])
    #expect(try a.rows("SELECT a FROM t") == ["\"bad\""])
    try a.run(Self.rename)
    try synchronize([a, b])
    #expect(try a.rows("SELECT b FROM t") == ["\"bad\""])
    #expect(try a.digest() == b.digest())
    try expectNoConflicts([a, b])
  }

  @Test("a BLOB that is not here yet goes on under a column's new name")
  func awaitedAsset() throws {
    let (a, b) = (try Peer.withPhotos(1), try Peer.withPhotos(2))
    try a.insertPhoto("x", 50_000)
    try b.learn(from: a)
    try b.run("ALTER TABLE photo RENAME COLUMN image TO picture")
    try b.flush()
    try b.apply()
    try a.pull(from: b)
    #expect(try a.rows("SELECT length(image) FROM photo") == ["50000"])
    try b.fetch(from: a)
    try synchronize([a, b])
    #expect(try b.rows("SELECT length(picture) FROM photo") == ["50000"])
    #expect(try a.rows("SELECT length(image) FROM photo") == ["50000"])
    try expectNoConflicts([a, b])
  }
}
