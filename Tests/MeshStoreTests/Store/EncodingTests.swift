import CSQLite
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Texts that a database file can't hold in its encoding, and texts that are no valid text there.
@Suite struct EncodingTests {
  private static let schema = """
    CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, n INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL, t TEXT REFERENCES t(id) ON DELETE CASCADE)
    """
  private static let rows = "SELECT id, a, n FROM t UNION ALL SELECT id, t, 0 FROM u ORDER BY 1"

  private func peer(_ seed: UInt8, isUTF16: Bool) throws -> Peer {
    try Peer(seed, schema: Self.schema, track: ["t", "u"], isUTF16: isUTF16)
  }

  /// Compares every row with its record. Returns the number of change sets that were written because of that.
  private func rescan(_ peer: Peer) throws -> Int {
    try peer.store.capture.rescan(tables: ["t", "u"])
    return try peer.flush()
  }

  /// Invalid bytes, a surrogate, an overlong form, a number beyond Unicode, an unfinished character and a code point that
  /// SQLite replaces.
  private static let invalid = ["ff", "6100ff", "eda080", "c080", "f4908080", "e282", "efbfbf"]
  /// An empty text, NULs, a byte order mark and a character of two code units.
  private static let valid = ["", "00", "610062", "efbbbf61", "f09f9880"]

  // MARK: UTF-8 to UTF-16

  @Test("a file in UTF-16 holds records with values and keys that it can't keep", arguments: invalid)
  func heldInUTF16(_ bytes: String) throws {
    let (a, b) = (try peer(1, isUTF16: false), try peer(2, isUTF16: true))
    try a.run(
      """
      INSERT INTO t VALUES ('shown', 'x', 1), ('value', CAST(x'\(bytes)' AS TEXT), 1), (CAST(x'\(bytes)' AS TEXT), 'x', 1);
      INSERT INTO u VALUES ('child', CAST(x'\(bytes)' AS TEXT))
      """)
    let written = try a.rows(Self.rows)
    try synchronize([a, b])
    try a.run("UPDATE t SET a = CAST(x'\(bytes)' AS TEXT), n = 2 WHERE id = 'shown'")
    try synchronize([a, b])
    #expect(try b.rows(Self.rows) == ["\"shown\"|\"x\"|1"])
    let held = try b.store.held.list(limit: 9)
    #expect(held.count == 4 && held.allSatisfy { $0.message?.contains("this file, which is in UTF-16") == true })
    // Nothing is taken for an edit, on either side.
    for peer in [a, b] { #expect(try rescan(peer) == 0) }
    try synchronize([a, b])
    #expect(try a.rows(Self.rows).count == written.count && a.digest() == b.digest())
    #expect(try a.rows("SELECT hex(a) FROM t WHERE id = 'value'") == ["\"\(bytes.uppercased())\""])
    // With another text, it is shown.
    try a.run(
      """
      UPDATE t SET a = 'valid' WHERE a <> 'x'; UPDATE u SET t = 'shown';
      DELETE FROM t WHERE id = CAST(x'\(bytes)' AS TEXT)
      """)
    try synchronize([a, b])
    try expectEqual(
      [a, b], Self.rows, ["\"child\"|\"shown\"|0", "\"shown\"|\"valid\"|2", "\"value\"|\"valid\"|1"])
    #expect(try b.store.held.list(limit: 9).isEmpty)
  }

  @Test("files of both encodings have the same texts", arguments: valid)
  func sameText(_ bytes: String) throws {
    let (a, b) = (try peer(1, isUTF16: false), try peer(2, isUTF16: true))
    try a.run(
      """
      INSERT INTO t VALUES (CAST(x'\(bytes)' AS TEXT), CAST(x'\(bytes)' AS TEXT), 1);
      INSERT INTO u VALUES ('child', CAST(x'\(bytes)' AS TEXT))
      """)
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rescan(peer) == 0) }
    try b.run("UPDATE t SET n = n + 1")
    try synchronize([a, b])
    // The encodings order texts differently.
    for sql in ["SELECT * FROM t", "SELECT * FROM u"] { try expectEqual([a, b], sql, try a.rows(sql)) }
    #expect(try a.rows("SELECT hex(id), hex(a), n FROM t") == ["\"\(bytes.uppercased())\"|\"\(bytes.uppercased())\"|2"])
    #expect(try b.store.held.list(limit: 9).isEmpty)
  }

  @Test("files in UTF-8 have the same bytes, valid or not", arguments: invalid)
  func sameBytes(_ bytes: String) throws {
    let (a, b) = (try peer(1, isUTF16: false), try peer(2, isUTF16: false))
    try a.run(
      """
      INSERT INTO t VALUES (CAST(x'\(bytes)' AS TEXT), CAST(x'\(bytes)' AS TEXT), 1);
      INSERT INTO u VALUES ('child', CAST(x'\(bytes)' AS TEXT))
      """)
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rescan(peer) == 0) }
    let hex = "\"\(bytes.uppercased())\""
    try expectEqual([a, b], "SELECT hex(id), hex(a), n FROM t", ["\(hex)|\(hex)|1"])
    try expectEqual([a, b], "SELECT hex(t) FROM u", [hex])
  }

  // MARK: UTF-16

  /// Lone surrogates, alone, before and after a character, twice, and a code unit that SQLite replaces.
  private static let lone = ["00d8", "00d86100", "00dc6100", "00d800d8", "feff0061"]

  @Test("a file in UTF-16 refuses keys that are no valid text", arguments: lone)
  func brokenKey(_ units: String) throws {
    let a = try peer(1, isUTF16: true)
    try a.run("INSERT INTO t VALUES ('k', 'x', 1)")
    for sql in ["INSERT INTO t (id) VALUES (CAST(x'\(units)' AS TEXT))", "UPDATE t SET id = CAST(x'\(units)' AS TEXT)"]
    {
      let error = #expect(throws: DatabaseError.self) { try a.run(sql) }
      #expect(error?.message == CaptureTriggers.textRefusal)
    }
    try a.run("INSERT INTO t (id) VALUES (x'\(units)')")
    #expect(try a.rows("SELECT typeof(id) FROM t ORDER BY id") == ["\"text\"", "\"blob\""])
    // A table that has such keys can't be tracked.
    try a.run("CREATE TABLE v (id TEXT PRIMARY KEY NOT NULL); INSERT INTO v VALUES (CAST(x'\(units)' AS TEXT)), ('k')")
    let refusal = #expect(throws: StoreError.self) { try a.store.tables.track(tables: ["v"], now: a.now) }
    #expect(refusal?.reasons == ["v: 1 of its keys are no valid UTF-16 text; give these rows other keys"])
  }

  private static let table = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, n INTEGER NOT NULL DEFAULT 0)"

  @Test(
    "a row whose key became no valid text while triggers were missing is listed until it gets another", arguments: lone,
    [false, true])
  func brokenKeyUnnoticed(_ units: String, hasShare: Bool) throws {
    let (a, b) = (try peer(1, isUTF16: true), try peer(2, isUTF16: false))
    if hasShare { try a.standBesideShare() }
    try a.run("INSERT INTO t VALUES ('k', 'x', 1)")
    try synchronize([a, b])
    let broken = "CAST(x'\(units)' AS TEXT)"
    try a.run(
      "DROP TABLE t; \(Self.table); INSERT INTO t VALUES ('k', 'x', 1), (\(broken), 'y', 2), ('z', 'z', 3)")
    try synchronize([a, b])
    #expect(try b.rows("SELECT * FROM t ORDER BY id") == ["\"k\"|\"x\"|1", "\"z\"|\"z\"|3"])
    for _ in 1...2 {
      let held = try a.store.held.list(limit: 9)
      #expect(held.map(\.reason) == [.keyUnreadable] && held.first?.message == TextEncoding.keyAdvice)
      #expect(try a.store.capture.unsent(Peer.zone) == .unsendable && a.store.figures.unsentCount() == 1)
      #expect(try rescan(a) == 0)
    }
    try a.run("UPDATE t SET id = 'good' WHERE hex(id) = '\(units.uppercased())'")
    try synchronize([a, b])
    #expect(try a.store.held.list(limit: 9).isEmpty && a.store.capture.unsent(Peer.zone) == .nothing)
    for peer in [a, b] { #expect(try peer.rows("SELECT n FROM t WHERE id = 'good'") == ["2"]) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a comparison goes on after a key that is no valid text")
  func comparisonAfterBrokenKey() throws {
    let (a, b) = (try peer(1, isUTF16: true), try peer(2, isUTF16: false))
    // In this order, the invalid key is the last one of the first slice, and is read as a key after the others.
    try a.run(
      """
      DROP TABLE t; \(Self.table);
      WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < \(Choices.slice))
        INSERT INTO t (id) SELECT iif(i < \(Choices.slice), char(256) || i, CAST(x'00d8' AS TEXT)) FROM i;
      INSERT INTO t (id) VALUES ('b1'), ('b2')
      """)
    try synchronize([a, b])
    #expect(try b.rows("SELECT count(*), max(id = 'b1'), max(id = 'b2') FROM t") == ["\(Choices.slice + 1)|1|1"])
    try a.run("DELETE FROM t WHERE hex(id) = '00D8'")
    try synchronize([a, b])
    #expect(try a.store.held.list(limit: 9).isEmpty && a.digest() == b.digest())
  }

  @Test("mesh has a value that is no valid UTF-16 as programs read it in UTF-8", arguments: lone, [true, false])
  func brokenValue(_ units: String, _ isUTF16: Bool) throws {
    let (a, b) = (try peer(1, isUTF16: true), try peer(2, isUTF16: isUTF16))
    try a.run("INSERT INTO t VALUES ('k', CAST(x'\(units)' AS TEXT), 1)")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rescan(peer) == 0) }
    try a.run("UPDATE t SET n = 2")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rescan(peer) == 0) }
    #expect(try a.digest() == b.digest() && a.rows("SELECT hex(a), n FROM t") == ["\"\(units.uppercased())\"|2"])
    if try b.store.held.list(limit: 9).isEmpty {
      #expect(try b.rows("SELECT a FROM t") == a.rows("SELECT a FROM t"))
    } else {
      #expect(try isUTF16 && b.rows(Self.rows).isEmpty)
    }
  }

  // MARK: Names

  /// Executes SQL that is no valid UTF-8, as a program in C can.
  private func run(_ sql: [UInt8], _ peer: Peer) throws {
    try peer.other.writeWithoutTransaction { db in
      let code = (sql + [0]).withUnsafeBytes {
        sqlite3_exec(db.sqliteConnection, $0.bindMemory(to: CChar.self).baseAddress, nil, nil, nil)
      }
      guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
  }

  @Test("a column whose name is no valid text is left out and reported, and the others are synchronized")
  func unreadableColumn() throws {
    let (a, b) = (try peer(1, isUTF16: false), try peer(2, isUTF16: false))
    let name = Array("\"x".utf8) + [0xff] + Array("\"".utf8)
    try run(Array("ALTER TABLE t ADD COLUMN ".utf8) + name + Array(" TEXT DEFAULT 'd'".utf8), a)
    try a.run("INSERT INTO t (id, a) VALUES ('k', 'x')")
    try run(Array("UPDATE t SET n = 5, ".utf8) + name + Array(" = 'mine'".utf8), a)
    try synchronize([a, b])
    try b.run("UPDATE t SET a = 'y'")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, a, n FROM t", ["\"k\"|\"y\"|5"])
    #expect(try a.rows("SELECT * FROM t") == ["\"k\"|\"y\"|5|\"mine\""])
    #expect(try rescan(a) == 0)
    let reason = "the names of 1 of its columns are no valid text; rename these columns"
    #expect(try a.store.access.read { try $0.trackingFaults().map(\.text) } == [reason])
    try run(Array("CREATE TABLE v (id TEXT PRIMARY KEY NOT NULL, ".utf8) + name + Array(")".utf8), a)
    let refusal = #expect(throws: StoreError.self) { try a.store.tables.track(tables: ["v"], now: a.now) }
    #expect(refusal?.reasons == ["v: \(reason)"])
    // With another name, it is synchronized with the value that the row has.
    try run(Array("ALTER TABLE t RENAME COLUMN ".utf8) + name + Array(" TO x".utf8), a)
    try b.run("ALTER TABLE t ADD COLUMN x TEXT DEFAULT 'd'")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT * FROM t", ["\"k\"|\"y\"|5|\"mine\""])
  }
}
