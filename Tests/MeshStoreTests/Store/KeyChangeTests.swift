import MeshCore
import Testing

@testable import MeshStore

/// A table's key is what tells its records apart: a migration of one machine that makes it another may not change what others have.
@Suite struct KeyChangeTests {
  private static let schema = "CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL COLLATE RTRIM, v TEXT)"

  private static func rebuild(_ key: String, _ columns: String = "id, v") -> String {
    "CREATE TABLE m (\(key)); INSERT INTO m SELECT \(columns) FROM n; DROP TABLE n; ALTER TABLE m RENAME TO n"
  }

  @Test(
    "a table whose key form changed sends nothing until the form returns",
    arguments: [
      "id TEXT PRIMARY KEY NOT NULL, v TEXT", "id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, v TEXT",
      "id NUMERIC PRIMARY KEY NOT NULL, v TEXT", "id TEXT, v TEXT PRIMARY KEY NOT NULL",
    ])
  func whatChangesTheIdentityOfRowsIsNotSent(key: String) throws {
    let (a, b) = (try Peer(1, schema: Self.schema, track: ["n"]), try Peer(2, schema: Self.schema, track: ["n"]))
    try a.run("INSERT INTO n VALUES ('Abc', '1'), ('x', '2'), ('03', '3'), ('Sp ', '4')")
    try synchronize([a, b])
    let rows = try b.rows("SELECT * FROM n ORDER BY id")
    try a.run(Self.rebuild(key))
    try a.run("UPDATE n SET v = '9' WHERE id = 'x'; INSERT INTO n VALUES ('new', '7')")
    try synchronize([a, b])
    #expect(try b.rows("SELECT * FROM n ORDER BY id") == rows && a.digest() == b.digest())
    #expect(try a.rows("SELECT count(*) FROM n") == ["5"], "its rows stay as they are")
    #expect(try a.store.capture.unsent(Peer.zone) == .unsendable)
    guard case .keyChanged("n", let was) = try a.store.capture.faults().first else { throw Stuck() }
    #expect(was == "id text COLLATE RTRIM")
    // What was written meanwhile comes along.
    try a.run(Self.rebuild("id TEXT PRIMARY KEY NOT NULL COLLATE RTRIM, v TEXT"))
    try synchronize([a, b])
    #expect(try a.store.capture.faults().isEmpty && a.store.capture.unsent(Peer.zone) == .nothing)
    #expect(try b.rows("SELECT v FROM n WHERE id = 'new'") == ["\"7\""])
    #expect(
      try b.rows("SELECT * FROM n ORDER BY id") == a.rows("SELECT * FROM n ORDER BY id") && a.digest() == b.digest())
  }

  @Test("a table cannot be tracked again with another key form") func aTableThatIsTrackedAgainWithAnotherKeyIsRefused()
    throws
  {
    let a = try Peer(1, schema: Self.schema, track: ["n"])
    try a.run("INSERT INTO n VALUES ('x', '2')")
    try a.flush()
    try a.store.tables.untrack(["n"])
    try a.run(Self.rebuild("id TEXT PRIMARY KEY NOT NULL, v TEXT"))
    #expect(throws: StoreError.self) { try a.store.tables.track(tables: ["n"], now: a.now) }
    try a.run("DROP TABLE n; \(Self.schema)")
    _ = try a.store.tables.track(tables: ["n"], now: a.now)
  }

  @Test("keys of another type are held and never become one row")
  func keysOfAnotherType() throws {
    let a = try Peer(1, schema: "CREATE TABLE k (id TEXT PRIMARY KEY NOT NULL, v TEXT)", track: ["k"])
    let b = try Peer(2, schema: "CREATE TABLE k (id INTEGER PRIMARY KEY, v TEXT)", track: ["k"])
    try a.run("INSERT INTO k VALUES ('1', 'one'), ('01', 'zero one'), ('x', 'ex')")
    try b.run("INSERT INTO k VALUES (1, 'number one')")
    try synchronize([a, b])
    #expect(try a.rows("SELECT id, v FROM k ORDER BY id") == ["\"01\"|\"zero one\"", "\"1\"|\"one\"", "\"x\"|\"ex\""])
    #expect(try b.rows("SELECT id, v FROM k") == ["1|\"number one\""])
    #expect(try a.digest() == b.digest())
    #expect(try a.store.figures.status().held == [.constraint: 1] && b.store.figures.status().held == [.constraint: 3])
    try a.run("DELETE FROM k WHERE id = '01'")
    try synchronize([a, b])
    #expect(try b.rows("SELECT id, v FROM k") == ["1|\"number one\""] && a.digest() == b.digest())
  }

  @Test("a row that gets another key takes along the values in columns that this machine lacks")
  func whatIsNotHereGoesAlong() throws {
    let a = try Peer(
      1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT, more TEXT, image BLOB)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)", track: ["t"])
    try a.run("INSERT INTO t (id, v, more) VALUES ('k', 'v', 'kept'), ('l', 'v', 'stays'), ('m', 'v', NULL)")
    try b.pull(from: a)
    try b.run("UPDATE t SET id = 'new', v = 'w' WHERE id = 'k'; UPDATE t SET id = id || '2' WHERE id IN ('m', 'new')")
    try synchronize([a, b])
    #expect(
      try a.rows("SELECT id, v, more FROM t ORDER BY id")
        == ["\"l\"|\"v\"|\"stays\"", "\"m2\"|\"v\"|NULL", "\"new2\"|\"w\"|\"kept\""])
    try b.run("UPDATE t SET id = 'n' WHERE id = 'l'")
    try synchronize([a, b])
    #expect(try a.rows("SELECT id, v, more FROM t WHERE id = 'n'") == ["\"n\"|\"v\"|\"stays\""])
    try b.run("ALTER TABLE t ADD COLUMN more TEXT")
    try synchronize([a, b])
    #expect(try b.rows("SELECT more FROM t WHERE id = 'n'") == ["\"stays\""])
    #expect(try a.digest() == b.digest())
  }
}
