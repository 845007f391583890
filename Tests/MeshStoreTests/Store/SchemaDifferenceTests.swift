import MeshCore
import MeshCrypto
import MeshTesting
import Testing

@testable import MeshStore

/// Nodes whose tables differ keep all that is merged, and show it when they can.
@Suite struct SchemaDifferenceTests {
  @Test("rows of an unknown table are held, and adopting the table shows them")
  func aTableThatIsNotHereIsHeldAndShownWhenAdopted() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)", track: ["t"])
    let b = try Peer(2)
    try a.run("INSERT INTO t VALUES ('k', 'v'), ('l', 'w')")
    try b.pull(from: a)
    #expect(try b.store.figures.status().held == [.unknownTable: 2])
    #expect(try a.digest() == b.digest())
    #expect(try b.store.held.undescribed() == ["t"])
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: a.author.device, isOwn: true)
    #expect(try b.store.schema.missing().map(\.table) == ["t"] && b.store.held.undescribed().isEmpty)
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    try b.apply()
    #expect(try b.rows("SELECT * FROM t ORDER BY id") == ["\"k\"|\"v\"", "\"l\"|\"w\""])
    #expect(try b.store.figures.status().held.isEmpty)
    #expect(try b.flush() == 0)
    #expect(try b.store.schema.missing().isEmpty)
    #expect(try a.digest() == b.digest())
  }

  @Test("the differences list columns whose default or foreign key differs on another device")
  func columnsOfAnotherFormAreTold() throws {
    let parent = "CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL);"
    let a = try Peer(
      1,
      schema: parent
        + "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v VARCHAR(9), n INT DEFAULT 1, p TEXT REFERENCES p ON DELETE SET NULL, a)",
      track: ["p", "t"])
    let b = try Peer(
      2,
      schema: parent
        + """
        CREATE TABLE T (ID TEXT NOT NULL PRIMARY KEY, V text COLLATE NOCASE, n INTEGER DEFAULT 2,
          p TEXT REFERENCES P(id) ON DELETE CASCADE, b)
        """, track: ["p", "t"])
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: a.author.device, isOwn: true)
    let differences = try b.store.schema.differences()
    #expect(differences.map(\.column) == ["n", "p"], "not the spelling of a type, nor what one of them lacks")
    #expect(
      differences.map(\.here).first == #""n" INTEGER DEFAULT 2"#
        && differences.map(\.there).first == #""n" INT DEFAULT 1"#)
    #expect(differences.map(\.there).last == #""p" TEXT REFERENCES "p" ON DELETE SET NULL"#)
    #expect(differences.allSatisfy { $0.device == a.author.device && $0.table == "T" })
  }

  @Test("a key with another default names the same records, and another type or collation of the key doesn't")
  func onlyWhatComparesKeysMakesThemDiffer() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL DEFAULT 'x', v)", track: ["t"])
    for (key, isKey) in [("TEXT", false), ("TEXT COLLATE NOCASE", true), ("BLOB", true)] {
      let b = try Peer(2, schema: "CREATE TABLE t (id \(key) PRIMARY KEY NOT NULL, v)", track: ["t"])
      _ = try b.store.schema.saveForeignSchema(
        a.store.schema.schemaDescriptions(), device: a.author.device, isOwn: true)
      #expect(try b.store.schema.differences().map(\.isKey) == [isKey], "\(key)")
    }
  }

  @Test("a table whose key identifies other records than on another device of the account is refused")
  func aTableWithAnotherKeyThanElsewhereIsNotTracked() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v)", track: ["t"])
    let descriptions = try a.store.schema.schemaDescriptions()
    for (key, isTaken) in [
      ("INTEGER PRIMARY KEY", false), ("TEXT PRIMARY KEY NOT NULL COLLATE NOCASE", false),
      ("VARCHAR(9) PRIMARY KEY NOT NULL", true),
    ] {
      let b = try Peer(2, schema: "CREATE TABLE T (id \(key), v)")
      _ = try b.store.schema.saveForeignSchema(descriptions, device: a.author.device, isOwn: true)
      let track = { _ = try b.store.tables.track(tables: ["T"], integerKeys: true, now: b.now) }
      guard !isTaken else {
        try track()
        continue
      }
      let missing = try b.store.schema.missing()
      #expect(
        missing.count == 1 && missing.map(\.refusal).allSatisfy { $0?.contains("re-create the table here") == true },
        "\(missing)")
      #expect(throws: StoreError.self) { try track() }
      #expect(throws: StoreError.self) { try b.store.schema.adopt(descriptions, now: b.now) }
      #expect(try b.store.tables.list().isEmpty)
    }
  }

  @Test(
    "a reference finds a parent whose key has another type, as in SQLite",
    arguments: [
      ("INTEGER PRIMARY KEY", "TEXT"), ("TEXT PRIMARY KEY NOT NULL", "INTEGER"),
    ])
  func aReferenceIsConverted(parent: String, child: String) throws {
    let schema =
      "CREATE TABLE p (id \(parent)); CREATE TABLE c (id TEXT PRIMARY KEY NOT NULL, p \(child) REFERENCES p)"
    let (a, b) = (try Peer(1, schema: schema, track: ["p", "c"]), try Peer(2, schema: schema, track: ["p", "c"]))
    try a.run("INSERT INTO p VALUES ('7'); INSERT INTO c VALUES ('c', '7')")
    try synchronize([a, b])
    #expect(try b.rows("SELECT id FROM c") == ["\"c\""])
    #expect(try b.store.held.list(limit: 9).isEmpty && a.digest() == b.digest())
  }

  @Test("what a revoked device said of a key keeps nobody from tracking a table", arguments: [false, true])
  func aKeyOfARevokedDeviceIsNoReason(isRevoked: Bool) throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
    let account = try TestAccount(devices: 2, seed: 2)
    let (own, other) = (try account.device(0), try account.device(1))
    var state = account.state
    let certificate = try #require(state.certificates[other])
    if isRevoked {
      state.insert(Revocation(certificate, issued: certificate.issued + 1, sign: account.key.sign), b.cryptography)
    }
    b.store.control.setAccounts(Accounts([state]), device: own)
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: other, isOwn: true)
    let tracked = try? b.store.tables.track(tables: ["t"], integerKeys: true, now: b.now)
    #expect((tracked != nil) == isRevoked)
  }

  @Test("what another account says of a key keeps nobody from tracking a table")
  func aKeyOfAnotherAccountIsNoReason() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
    let others = try TestAccount(devices: 1, seed: 2)
    b.store.control.setAccounts(Accounts([others.state]), device: b.author.device)
    let device = DeviceID(others.devices[0].signingKey).unsafe
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: device, isOwn: false)
    try b.store.tables.track(tables: ["t"], integerKeys: true, now: b.now)
    #expect(try b.store.tables.list().map(\.name) == ["t"])
  }

  @Test("a table that is STRICT on one of two devices differs, even if all columns have the same form")
  func strictnessIsTold() throws {
    let table = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: table + " STRICT", track: ["t"]), try Peer(2, schema: table, track: ["t"]))
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: a.author.device, isOwn: true)
    _ = try a.store.schema.saveForeignSchema(b.store.schema.schemaDescriptions(), device: b.author.device, isOwn: true)
    #expect(try b.store.schema.differences().map { [$0.here, $0.there] } == [["", "STRICT"]])
    #expect(try a.store.schema.differences().map { [$0.here, $0.there] } == [["STRICT", ""]])
    #expect(try a.store.schema.differences().allSatisfy { !$0.isKey })
  }

  @Test("no table is adopted if the schema of one is refused") func whereOneTableIsRefusedNoneIsAdopted() throws {
    let a = try Peer(
      1,
      schema: """
        CREATE TABLE s (id TEXT PRIMARY KEY NOT NULL); CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT);
        CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL, v TEXT)
        """, track: ["s", "t", "u"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT); CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL)", track: ["u"])
    _ = try b.store.schema.saveForeignSchema(a.store.schema.schemaDescriptions(), device: a.author.device, isOwn: true)
    let before = try b.rows("SELECT name, sql FROM sqlite_schema ORDER BY name")
    #expect(throws: StoreError.self) { try b.store.schema.adopt(b.store.schema.foreign(), now: b.now) }
    #expect(try b.rows("SELECT name, sql FROM sqlite_schema ORDER BY name") == before)
    try b.run("DROP TABLE t")
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    #expect(try b.store.schema.missing().isEmpty && b.store.tables.list().map(\.name).sorted() == ["s", "t", "u"])
    try b.run("INSERT INTO u (id, v) VALUES ('k', 'v'); INSERT INTO s VALUES ('l')")
    try a.pull(from: b)
    #expect(try a.rows("SELECT * FROM u") == ["\"k\"|\"v\""] && a.rows("SELECT * FROM s") == ["\"l\""])
  }

  @Test("an unknown column keeps its value through edits and shows it once it exists")
  func aColumnThatIsNotHereIsKeptThroughEditsAndShownLater() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT, more INTEGER)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)", track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', 'v', 5)")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t") == ["\"k\"|\"v\""])
    try b.run("UPDATE t SET v = 'w'")
    try a.pull(from: b)
    #expect(try a.rows("SELECT * FROM t") == ["\"k\"|\"w\"|5"])
    #expect(try a.digest() == b.digest())
    try b.run("ALTER TABLE t ADD COLUMN more INTEGER")
    #expect(try b.upkeep() == [])
    #expect(try b.upkeep() == nil)
    try b.apply()
    #expect(try b.rows("SELECT * FROM t") == ["\"k\"|\"w\"|5"])
    #expect(try b.flush() == 0)
    #expect(try a.digest() == b.digest())
  }

  @Test("a row that a CHECK refuses is held until an edit fits")
  func aRefusedRowIsHeldWithSQLitesWordsAndShownWhenItFits() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v INTEGER)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v INTEGER CHECK (v < 10))", track: ["t"])
    try a.run("INSERT INTO t VALUES ('ok', 1), ('big', 11)")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t") == ["\"ok\""])
    let held = try b.store.held.list(limit: 9)
    #expect(held.map(\.reason) == [.constraint])
    #expect(held.first?.message?.contains("CHECK") ?? false)
    #expect(try a.digest() == b.digest())
    try a.run("UPDATE t SET v = 2 WHERE id = 'big'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t ORDER BY id") == ["\"big\"", "\"ok\""])
    #expect(try b.store.held.list(limit: 9).isEmpty)
  }

  @Test("a trigger that rolls back the transaction holds only its own record")
  func aTriggerThatTakesTheTransactionBackHoldsOnlyItsRecord() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v INTEGER)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v INTEGER)", track: ["t"])
    try b.run(
      "CREATE TRIGGER guard BEFORE INSERT ON t WHEN NEW.v = 3 BEGIN SELECT RAISE (ROLLBACK, 'three is not allowed'); END"
    )
    try b.upkeep()
    try a.run("INSERT INTO t VALUES ('a', 1), ('b', 3), ('c', 4)")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM t ORDER BY id") == ["\"a\"", "\"c\""])
    #expect(try b.store.held.list(limit: 9).map(\.message) == ["three is not allowed"])
    #expect(try b.rows("SELECT applying FROM mesh_state") == ["0"])
    #expect(try a.digest() == b.digest())
  }

  @Test("a value that a column converts on one peer stays as it was written")
  func valuesThatAColumnWouldConvertAreKeptAsTheyWereWritten() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v INTEGER, w TEXT)", track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', '12')")
    try b.pull(from: a)
    try b.run("UPDATE t SET w = 'x'")
    try a.pull(from: b)
    #expect(try a.digest() == b.digest())
    #expect(try a.rows("SELECT v FROM t") == ["\"12\""])
  }

  @Test("rows that exist before tracking are sent and lose against edits")
  func existingRowsAreTakenInAndLoseAgainstRealEdits() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT);"
    let a = try Peer(1, schema: schema + "INSERT INTO t VALUES ('k', 'old a'), ('only a', 'x')", track: ["t"])
    try a.flush()
    try a.run("UPDATE t SET v = 'edited' WHERE id = 'k'")
    let b = try Peer(2, schema: schema + "INSERT INTO t VALUES ('k', 'old b'), ('only b', 'y')", track: ["t"])
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(
        try peer.rows("SELECT * FROM t ORDER BY id") == ["\"k\"|\"edited\"", "\"only a\"|\"x\"", "\"only b\"|\"y\""])
    }
    #expect(try a.digest() == b.digest())
  }

  @Test("a key's new spelling under NOCASE changes one record on both peers") func spellingsOfOneKeyAreOneRecord()
    throws
  {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, v TEXT)"
    let a = try Peer(1, schema: schema, track: ["t"])
    let b = try Peer(2, schema: schema, track: ["t"])
    try a.run("INSERT INTO t VALUES ('Milk', '1')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t") == ["\"Milk\"|\"1\""])
    try b.run("UPDATE t SET id = 'MILK'")
    try a.pull(from: b)
    #expect(try a.rows("SELECT * FROM t") == ["\"MILK\"|\"1\""])
    try b.run("UPDATE t SET id = 'milk'")
    try a.pull(from: b)
    #expect(try a.rows("SELECT * FROM t") == ["\"milk\"|\"1\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("an untracked table keeps its rows and shows later edits when it is tracked again")
  func whatIsUntrackedIsKeptAndReturns() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let a = try Peer(1, schema: schema, track: ["t"])
    let b = try Peer(2, schema: schema, track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', '1'), ('l', '1')")
    try b.pull(from: a)
    try b.store.tables.untrack(["t"])
    #expect(try b.store.tables.isTracked("t") == false)
    try a.run("UPDATE t SET v = '2' WHERE id = 'k'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT v FROM t ORDER BY id") == ["\"1\"", "\"1\""])
    try b.store.tables.track(tables: ["t"], now: b.now)
    try b.apply()
    #expect(try b.rows("SELECT v FROM t ORDER BY id") == ["\"2\"", "\"1\""])
    #expect(try a.digest() == b.digest())
  }

  @Test("a rescan finds inserts, edits and deletes that no trigger saw")
  func writesThatNoTriggerSawAreFoundByTheirValues() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let a = try Peer(1, schema: schema, track: ["t"])
    let b = try Peer(2, schema: schema, track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', '1'), ('l', '1'), ('m', '1')")
    try b.pull(from: a)
    try a.run("UPDATE mesh_state SET applying = 1")
    try a.run("UPDATE t SET v = 'quiet' WHERE id = 'k'; DELETE FROM t WHERE id = 'l'; INSERT INTO t VALUES ('n', 'q')")
    try a.run("UPDATE mesh_state SET applying = 0")
    #expect(try a.flush() == 0)
    try a.store.capture.rescan()
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t ORDER BY id") == ["\"k\"|\"quiet\"", "\"m\"|\"1\"", "\"n\"|\"q\""])
    #expect(try a.digest() == b.digest())
  }

  @Test(
    "a value that a column converts here is not taken for an edit when the schema changes",
    arguments: [
      ("TEXT", "INTEGER", "'007', '1e3', '+4'"), ("TEXT", "REAL", "'007', '1e3', '0x'"),
      ("INTEGER", "TEXT", "7, 1.5, NULL"),
      ("BLOB", "NUMERIC", "'007', 2.0, 'x'"),
    ])
  func convertedValues(there: String, here: String, values: String) throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a \(there), b \(there), c \(there))"
    let a = try Peer(1, schema: schema, track: ["t"])
    let b = try Peer(
      2, schema: schema.replacing(there + ",", with: here + ",").replacing("c " + there, with: "c " + here),
      track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', \(values))")
    try synchronize([a, b])
    let before = try a.rows("SELECT * FROM t")
    try b.run("ALTER TABLE t ADD COLUMN z TEXT")
    try b.upkeep()
    try b.store.capture.rescan()
    try synchronize([a, b])
    #expect(try a.rows("SELECT * FROM t") == before)
    #expect(try a.digest() == b.digest())
    // An edit there is one, as before.
    try b.run("UPDATE t SET a = 9")
    try synchronize([a, b])
    #expect(try a.rows("SELECT CAST(a AS INTEGER) FROM t") == ["9"])
    #expect(try a.digest() == b.digest())
  }
}
