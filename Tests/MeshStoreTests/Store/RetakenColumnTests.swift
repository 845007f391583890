import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Tables that are untracked while their columns change, here and on other machines.
@Suite struct RetakenColumnTests {
  private static let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT)"

  private func peers() throws -> (Peer, Peer) {
    let a = try Peer(1, schema: Self.schema, track: ["t"])
    let b = try Peer(2, schema: Self.schema, track: ["t"])
    try a.run("INSERT INTO t VALUES ('x', 'one'), ('y', 'two')")
    try synchronize([a, b])
    return (a, b)
  }

  private func retrack(_ peer: Peer) throws {
    try peer.store.tables.track(tables: ["t"], now: peer.now)
    try peer.flush()
  }

  enum Order: CaseIterable {
    /// The other machine's values are merged before the table is untracked, meanwhile, or after it is tracked again.
    case before, meanwhile, after
  }

  @Test("a default of a column that was added while the table was untracked beats no value", arguments: Order.allCases)
  func addedColumn(_ order: Order) throws {
    let (a, b) = try peers()
    func edit() throws {
      try b.run("ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 0")
      try b.flush()
      try b.run("UPDATE t SET n = 5 WHERE id = 'x'")
      try b.run("UPDATE t SET n = 6 WHERE id = 'y'")
      try b.flush()
    }
    if order == .before {
      try edit()
      try a.pull(from: b)
    }
    try a.flush()
    try a.store.tables.untrack(["t"])
    if order != .before { try edit() }
    if order == .meanwhile { try a.pull(from: b) }
    try a.run("ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 0")
    try retrack(a)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, n FROM t ORDER BY id", ["\"x\"|5", "\"y\"|6"])
    try expectNoConflicts([a, b])
  }

  @Test("if a program has written to one of several tables, none of them is untracked")
  func untrackingSeveral() throws {
    let schema = Self.schema + "; CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let a = try Peer(1, schema: schema, track: ["t", "u"])
    try a.run("INSERT INTO u VALUES ('x', 'v')")
    #expect(throws: PendingWrites.self) { try a.store.tables.untrack(["t", "u"]) }
    for table in ["t", "u"] { #expect(try a.store.tables.isTracked(table)) }
    try a.flush()
    try a.store.tables.untrack(["t", "u"])
    for table in ["t", "u"] { #expect(try !a.store.tables.isTracked(table)) }
  }

  @Test(
    "what programs write while a table is being untracked and tracked reaches the other machine",
    arguments: TestSeeds.through(12))
  func writesWithinUntrack(seed: Int) throws {
    var generator = SplitMix64(seed: UInt64(seed))
    let a = try Peer(1, schema: Self.schema, track: ["t"])
    let b = try Peer(2, schema: Self.schema, track: ["t"])
    var written: [String: String] = [:]
    var isWriting = false
    func write() throws {
      a.now += 1
      let (id, value) = ("k\(Int.random(in: 0..<30, using: &generator))", "v\(a.now)")
      try a.run("INSERT INTO t VALUES ('\(id)', '\(value)') ON CONFLICT DO UPDATE SET a = excluded.a")
      written[id] = value
    }
    try a.store.close()
    a.store = try Store(
      path: a.path, cryptography: a.cryptography,
      probe: { branch in
        guard branch == .transactionBegins, isWriting, Int.random(in: 0..<2, using: &generator) == 0 else { return }
        do { try write() } catch { Issue.record("a program can't write: \(error)") }
      })
    a.store.control.setAccounts(Accounts(), device: a.author.device)
    for _ in 0..<4 {
      for _ in 0..<20 { try write() }
      isWriting = true
      while true {
        try a.flush()
        do {
          try a.store.tables.untrack(["t"])
          break
        } catch is PendingWrites {
          continue
        }
      }
      try retrack(a)
      isWriting = false
      try synchronize([a, b])
    }
    try expectEqual(
      [a, b], "SELECT id, a FROM t ORDER BY id",
      written.sorted { $0.key < $1.key }.map { "\"\($0.key)\"|\"\($0.value)\"" })
    #expect(try a.store.zones.digest(Peer.zone) == b.store.zones.digest(Peer.zone))
    try expectNoConflicts([a, b])
  }

  @Test("a column that both rename, one while the table is untracked, keeps the newer edit")
  func renamedColumn() throws {
    let (a, b) = try peers()
    try b.run("UPDATE t SET a = 'I2' WHERE id = 'x'")
    try synchronize([a, b])
    try a.store.tables.untrack(["t"])
    try b.run("ALTER TABLE t RENAME COLUMN a TO u")
    try b.flush()
    try b.run("UPDATE t SET u = 'I3' WHERE id = 'x'")
    try b.flush()
    try a.pull(from: b)
    try a.run("ALTER TABLE t RENAME COLUMN a TO u")
    try retrack(a)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, u FROM t ORDER BY id", ["\"x\"|\"I3\"", "\"y\"|\"two\""])
  }

  @Test("what a person wrote to a column that was added meanwhile is listed if it loses")
  func editedMeanwhile() throws {
    let (a, b) = try peers()
    try a.store.tables.untrack(["t"])
    try b.run("ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 0")
    try b.flush()
    try b.run("UPDATE t SET n = 5 WHERE id = 'x'")
    try b.flush()
    try a.pull(from: b)
    try a.run("ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 0; UPDATE t SET n = 3 WHERE id = 'x'")
    try retrack(a)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, n FROM t WHERE id = 'x'", ["\"x\"|5"])
    #expect(try a.store.conflicts.list(limit: 9).map(\.loserValue) == [.integer(3)])
  }

  @Test("what was written while the table was untracked is sent, also if the column is renamed before the flush")
  func renamedBeforeFlush() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t ADD COLUMN n INTEGER; INSERT INTO t VALUES ('z', 'three', 1)")
    try a.run("ALTER TABLE t RENAME COLUMN a TO u")
    try synchronize([a, b])
    try a.store.tables.untrack(["t"])
    try b.run("UPDATE t SET a = 'theirs' WHERE id IN ('y', 'z')")
    try b.flush()
    try a.pull(from: b)
    try a.run("UPDATE t SET u = 'mine' WHERE id IN ('x', 'y'); UPDATE t SET n = 2 WHERE id = 'z'")
    try a.store.tables.track(tables: ["t"], now: a.now)
    try a.run("ALTER TABLE t RENAME COLUMN u TO a")
    try synchronize([a, b])
    try expectEqual(
      [a, b], "SELECT id, a FROM t ORDER BY id", ["\"x\"|\"mine\"", "\"y\"|\"theirs\"", "\"z\"|\"theirs\""])
    #expect(try a.rows("SELECT n FROM t WHERE id = 'z'") == ["2"])
    #expect(try a.store.conflicts.list(limit: 9).map(\.loserValue) == [.text(Array("mine".utf8))])
  }

  @Test("what was written while the table was untracked is sent or listed, also if a column is added before the flush")
  func columnAddedBeforeFlush() throws {
    let (a, b) = try peers()
    try a.store.tables.untrack(["t"])
    try b.run("UPDATE t SET a = 'theirs' WHERE id = 'x'")
    try b.flush()
    try a.pull(from: b)
    try a.run("UPDATE t SET a = 'mine'")
    try a.store.tables.track(tables: ["t"], now: a.now)
    try a.run("ALTER TABLE t ADD COLUMN z TEXT")
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, a FROM t ORDER BY id", ["\"x\"|\"theirs\"", "\"y\"|\"mine\""])
    #expect(try a.store.conflicts.list(limit: 9).map(\.loserValue) == [.text(Array("mine".utf8))])
  }

  @Test("what both wrote while their table was untracked is sent or listed", arguments: [false, true], [false, true])
  func bothUntracked(isAltered: Bool, isNocase: Bool) throws {
    let schema =
      isNocase
      ? "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, a TEXT, c INTEGER) WITHOUT ROWID"
      : "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT, c INTEGER)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('K', 'old', 1)")
    try synchronize([a, b])
    try b.store.tables.untrack(["t"])
    try b.run("UPDATE t SET a = 'theirs'")
    try a.store.tables.untrack(["t"])
    try a.run("UPDATE t SET a = 'mine', c = 2")
    try b.store.tables.track(tables: ["t"], now: b.now)
    try b.flush()
    try a.pull(from: b)
    try a.run("UPDATE t SET c = 3; UPDATE t SET a = 'mine again'")
    try a.store.tables.track(tables: ["t"], now: a.now)
    if isAltered { try a.run("ALTER TABLE t ADD COLUMN z TEXT; ALTER TABLE t ADD COLUMN y TEXT") }
    try synchronize([a, b])
    #expect(try a.rows("SELECT id, a, c FROM t") == b.rows("SELECT id, a, c FROM t"))
    #expect(try a.rows("SELECT c FROM t") == ["3"])
    let shown = try a.rows("SELECT a FROM t")
    let lost = shown == ["\"theirs\""] ? "mine again" : "theirs"
    #expect(lost == "mine again" || shown == ["\"mine again\""])
    let listed = try [a, b].flatMap { try $0.store.conflicts.list(limit: 9) }.map(\.loserValue)
    #expect(listed.contains(.text(Array(lost.utf8))), "\(shown), and listed: \(listed)")
    #expect(try a.store.held.list(limit: 9).isEmpty)
  }
}
