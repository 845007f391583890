import MeshCore
import Testing

@testable import MeshStore

/// What a table of this file refuses is held with SQLite's own words, everything else goes on, and it is tried again when the
/// schema changes.
@Suite struct ConstraintTests {
  /// A table that takes everything, and another machine's that does not.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let columns: String
    var trigger = ""
    /// The refused value of `v`.
    let value: String
    let message: String
    /// Whether the message tells the column.
    var tellsColumn = false
    var testDescription: String { name }
  }

  private static let free = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v)"

  static let cases = [
    Case(
      name: "CHECK", columns: "v CHECK (v < 10))", value: "11", message: "CHECK constraint failed: v < 10",
      tellsColumn: true),
    Case(
      name: "a CHECK with a name", columns: "v, CONSTRAINT small CHECK (v < 10))", value: "11", message: "small",
      tellsColumn: true),
    Case(
      name: "NOT NULL", columns: "v NOT NULL)", value: "NULL", message: "NOT NULL constraint failed: t.v",
      tellsColumn: true),
    Case(
      name: "STRICT", columns: "v INTEGER) STRICT", value: "'x'", message: "cannot store TEXT value in INTEGER column",
      tellsColumn: true),
    Case(
      name: "RAISE (ABORT)", columns: "v)",
      trigger: "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.v = 3 BEGIN SELECT RAISE(ABORT, 'no three'); END",
      value: "3", message: "no three"),
    Case(
      name: "RAISE (FAIL) afterwards", columns: "v)",
      trigger: "CREATE TRIGGER g AFTER INSERT ON t WHEN NEW.v = 3 BEGIN SELECT RAISE(FAIL, 'no three'); END",
      value: "3", message: "no three"),
    Case(
      name: "RAISE (ROLLBACK)", columns: "v)",
      trigger: "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.v = 3 BEGIN SELECT RAISE(ROLLBACK, 'no three'); END",
      value: "3", message: "no three"),
    Case(
      name: "RAISE (IGNORE)", columns: "v)",
      trigger: "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.v = 3 BEGIN SELECT RAISE(IGNORE); END", value: "3",
      message: "RAISE (IGNORE)"),
  ]

  private func peers(_ one: Case) throws -> (Peer, Peer) {
    (try Peer(1, schema: Self.free, track: ["t"]), try refusing(one, 2))
  }

  /// Its trigger asks the same of an update.
  private func refusing(_ one: Case, _ seed: UInt8) throws -> Peer {
    let update = one.trigger.replacing("INSERT", with: "UPDATE").replacing("TRIGGER g", with: "TRIGGER h")
    return try Peer(
      seed,
      schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, \(one.columns); \(one.trigger); \(update)", track: ["t"])
  }

  @Test("a row that the table refuses is held, and a migration without the constraint shows it", arguments: cases)
  func whatIsRefusedIsHeldAndShownAfterAMigration(one: Case) throws {
    let (a, b) = try peers(one)
    try a.run("INSERT INTO t VALUES ('a', 1), ('b', \(one.value)), ('c', 2)")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t ORDER BY id") == ["\"a\"", "\"c\""], "the others go on")
    let held = try b.store.held.list(limit: 9)
    #expect(held.map(\.key) == [.text(Array("b".utf8))] && held.map(\.reason) == [.constraint])
    #expect(held.first?.message?.contains(one.message) == true, "\(held)")
    #expect(held.first?.deciding == (one.tellsColumn ? ["v"] : []))
    #expect(try a.digest() == b.digest())
    // It is edited while it is held, and a rescan is no statement about it.
    try b.store.capture.rescan()
    #expect(try b.flush() == 0)
    // A change of the schema that does not help, and one that does.
    try b.run("ALTER TABLE t ADD COLUMN more TEXT")
    try b.upkeep()
    try b.apply()
    #expect(try b.store.held.list(limit: 9).count == 1)
    try b.run(
      """
      CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL, v, more); INSERT INTO n SELECT * FROM t; DROP TABLE t;
      ALTER TABLE n RENAME TO t
      """)
    try b.upkeep()
    try b.apply()
    #expect(try b.rows("SELECT id, v FROM t ORDER BY id") == a.rows("SELECT id, v FROM t ORDER BY id"))
    #expect(try b.store.held.list(limit: 9).isEmpty && b.flush() == 0)
    #expect(try a.digest() == b.digest())
  }

  @Test("an edit that is refused leaves the last version that the table accepted, until an edit fits", arguments: cases)
  func aRefusedEditKeepsTheRow(one: Case) throws {
    let (a, b) = try peers(one)
    try a.run("INSERT INTO t VALUES ('a', 1)")
    try b.pull(from: a)
    try a.run("UPDATE t SET v = \(one.value)")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t") == ["\"a\"|1"])
    let held = try b.store.held.list(limit: 9)
    #expect(held.map(\.reason) == [.editRefused] && held.first?.refused.map(\.column) == ["v"])
    #expect(held.first?.message?.contains(one.message) == true, "\(held)")
    #expect(try a.digest() == b.digest() && b.flush() == 0)
    // A device that gets the record later accepts its first version as well.
    let c = try refusing(one, 3)
    try c.pull(from: a)
    #expect(try c.rows("SELECT * FROM t") == ["\"a\"|1"])
    try a.run("UPDATE t SET v = 2")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t") == ["\"a\"|2"] && b.store.figures.status().held.isEmpty)
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a trigger that refuses deletes does not stop a merged delete",
    arguments: ["ABORT, 'keep it'", "FAIL, 'keep it'", "ROLLBACK, 'keep it'", "IGNORE"])
  func aTriggerKeepsNoRowThatIsDeletedElsewhereNorAnythingElseBack(how: String) throws {
    let (a, b) = try peers(Case(name: "", columns: "v)", value: "", message: ""))
    try b.run("CREATE TRIGGER keep BEFORE DELETE ON t WHEN OLD.v = 1 BEGIN SELECT RAISE(\(how)); END")
    try b.upkeep()
    try a.run("INSERT INTO t VALUES ('a', 1), ('b', 2)")
    try b.pull(from: a)
    try a.run("DELETE FROM t; INSERT INTO t VALUES ('c', 3)")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t") == ["\"c\"|3"])
    #expect(try b.flush() == 0 && a.digest() == b.digest())
  }

  @Test(
    "a trigger that calls something missing here holds rows of its table only",
    arguments: [
      "CREATE TRIGGER only_app AFTER INSERT ON t BEGIN INSERT INTO log VALUES (of_the_app(NEW.id)); END",
      "CREATE TRIGGER only_app AFTER INSERT ON t BEGIN INSERT INTO gone VALUES (NEW.id); END",
      "CREATE TRIGGER only_app AFTER INSERT ON t WHEN (SELECT applying FROM mesh_state) IS NOT 1 "
        + "BEGIN SELECT of_the_app(NEW.id); END",
    ])
  func whatNeedsWhatOnlyTheAppHasHoldsItsTableAndNoOther(trigger: String) throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v); CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL, v)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t", "u"]), try Peer(2, schema: schema, track: ["t", "u"]))
    try a.run("INSERT INTO t VALUES ('before', 1)")
    try b.pull(from: a)
    try b.run("CREATE TABLE log (v); \(trigger)")
    try a.run("INSERT INTO t VALUES ('a', 1), ('b', 2); INSERT INTO u VALUES ('c', 3)")
    try a.run("DELETE FROM t WHERE id = 'before'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM u") == ["\"c\""] && b.rows("SELECT id FROM t").isEmpty)
    let held = try b.store.held.list(limit: 10)
    #expect(held.map(\.key) == [.text("a"), .text("b")] && held.allSatisfy { $0.reason == .constraint })
    #expect(held.allSatisfy { $0.message?.contains("no such") == true })
    #expect(try a.digest() == b.digest())
    try b.run("DROP TRIGGER only_app")
    try b.upkeep()
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t ORDER BY id") == ["\"a\"", "\"b\""] && b.store.held.list(limit: 10).isEmpty)
  }

  @Test("a row without a NOT NULL value is held only if the column has no default")
  func aColumnThatOlderRowsLackIsRefusedOnlyWhereItHasNoDefault() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)", track: ["t"])
    let b = try Peer(
      2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT NOT NULL, w TEXT NOT NULL DEFAULT 'new')",
      track: ["t"])
    try a.run("INSERT INTO t VALUES ('old')")
    try b.pull(from: a)
    #expect(try b.store.held.list(limit: 9).map(\.message) == ["NOT NULL constraint failed: t.v"])
    try a.run("ALTER TABLE t ADD COLUMN v TEXT")
    try a.upkeep()
    try a.run("UPDATE t SET v = 'given'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t") == ["\"old\"|\"given\"|\"new\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a UNIQUE index that is created after tracking is reported until it is dropped")
  func aUniqueThatAppearsAfterTrackingIsReported() throws {
    let a = try Peer(1, schema: Self.free, track: ["t"])
    #expect(try a.store.capture.trackingFaults().isEmpty)
    try a.run("CREATE UNIQUE INDEX one ON t (v)")
    let notices = try #require(try a.upkeep())
    #expect(notices.count == 1 && notices[0].contains("the index one is UNIQUE on v"))
    #expect(try a.store.capture.trackingFaults().count == 1)
    try a.run("DROP INDEX one")
    #expect(try a.upkeep() == [])
    #expect(try a.store.capture.trackingFaults().isEmpty)
  }
}
