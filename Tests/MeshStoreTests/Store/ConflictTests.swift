import MeshCore
import Testing

@testable import MeshStore

/// What lost is told with what won.
@Suite struct ConflictTests {
  @Test("a conflict tells whether a delete or a NULL won") func aDeleteThatWonIsToldFromANullThatWon() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('deleted', 'v'), ('null', 'v')")
    try b.pull(from: a)
    try b.run("UPDATE t SET v = 'lost'")
    try b.flush()
    // A's clock is ahead of b's from here on: what it writes wins.
    a.now = b.now + 10_000
    try a.run("INSERT INTO t VALUES ('other', 'v')")
    try a.flush()
    try a.run("DELETE FROM t WHERE id = 'deleted'; UPDATE t SET v = NULL WHERE id = 'null'")
    try synchronize([a, b])
    for peer in [a, b] {
      let conflicts = try peer.store.conflicts.list(limit: 9)
      #expect(conflicts.count == 2 && conflicts.allSatisfy { $0.winnerValue == .null && $0.column == "v" })
      let deletes = Dictionary(conflicts.map { ($0.key, $0.isWinnerDelete) }, uniquingKeysWith: { $1 })
      #expect(deletes == [.text("deleted"): true, .text("null"): false])
    }
  }

  @Test("a lost delete names the edit that kept the record")
  func editThatKeptTheRecord() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('x', 'v')")
    try synchronize([a, b])
    try a.store.tables.untrack(["t"])
    try a.run("DELETE FROM t")
    try b.run("UPDATE t SET v = 'kept'")
    try b.flush()
    try a.pull(from: b)
    try a.store.tables.track(tables: ["t"], now: a.now)
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT v FROM t", ["\"kept\""])
    let conflict = try #require(try a.store.conflicts.list(limit: 9).first)
    #expect(conflict.column == nil && conflict.loser.author == a.author && conflict.winner.author == b.author)
  }

  @Test("a conflict tells to which write the value lost, and which value has replaced that since")
  func replacedWinner() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('k', 'v'), ('deleted', 'v')")
    try synchronize([a, b])
    try a.run("UPDATE t SET v = 'x'")
    try a.flush()
    b.now = a.now + 1_000
    try b.run("UPDATE t SET v = 'y'")
    try synchronize([a, b])
    let before = try a.store.conflicts.list(limit: 9)
    #expect(before.count == 2 && before.allSatisfy { $0.beatenBy == $0.winner && $0.winner.author == b.author })
    a.now = b.now + 1_000
    try a.run("UPDATE t SET v = 'z' WHERE id = 'k'; DELETE FROM t WHERE id = 'deleted'")
    try synchronize([a, b])
    let conflicts = try a.store.conflicts.list(limit: 9)
    #expect(conflicts.count == 2)
    for conflict in conflicts {
      #expect(conflict.loserValue == .text("x") && conflict.loser.author == a.author)
      #expect(conflict.beatenBy?.author == b.author && conflict.winner.author == a.author)
      #expect(conflict.isWinnerDelete == (conflict.key == .text("deleted")))
      #expect(conflict.winnerValue == (conflict.isWinnerDelete ? .null : .text("z")))
    }
  }

  @Test("a dismissed conflict is counted and can be restored, and a restored one is not listed again")
  func dismissed() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('1', 'v'), ('2', 'v'), ('3', 'v'), ('4', 'v')")
    try synchronize([a, b])
    try a.run("UPDATE t SET v = 'lost'")
    try a.flush()
    b.now = a.now + 1_000
    try b.run("UPDATE t SET v = 'kept'")
    try synchronize([a, b])
    a.now = b.now + 1_000
    let conflicts = a.store.conflicts
    func listed(includesDismissed: Bool = false) throws -> [Int64] {
      try conflicts.list(ConflictFilter(limit: 9, includesDismissed: includesDismissed)).conflicts.map(\.id)
    }
    #expect(try listed() == [4, 3, 2, 1])
    // Nothing changes if one of them doesn't exist.
    #expect(throws: RestoreError.unknownConflict(9)) { try conflicts.dismiss([4, 9]) }
    #expect(try listed() == [4, 3, 2, 1])
    #expect(try conflicts.dismiss([2, 4]) == 2 && listed() == [3, 1])
    let page = try conflicts.list(ConflictFilter(limit: 1))
    #expect(page.total == 2 && page.dismissed == 2 && page.dropped == 0 && page.hasMore)
    #expect(try listed(includesDismissed: true) == [4, 3, 2, 1])
    #expect(
      try conflicts.list(ConflictFilter(limit: 9, includesDismissed: true)).conflicts.map(\.isDismissed)
        == [true, false, true, false])
    // The restored value becomes an edit of now, and is edited again.
    for id in [Int64(3), 4] { _ = try a.store.history.restore(.conflict(id)) { _ in a.reader } }
    try synchronize([a, b])
    #expect(try a.rows("SELECT v FROM t WHERE v = 'lost'").count == 2)
    try a.run("UPDATE t SET v = 'later'")
    try synchronize([a, b])
    #expect(try listed() == [1] && b.store.conflicts.list(limit: 9).count == 4)
    #expect(try conflicts.dismiss(through: 0) == 0 && listed() == [1])
    #expect(try conflicts.dismiss(through: 1) == 1 && listed().isEmpty)
    #expect(try conflicts.dismiss(through: 4) == 0)
    // A file of the format before has no dismissed conflicts.
    try a.run("ALTER TABLE mesh_conflict DROP COLUMN dismissed; UPDATE mesh_state SET format = 23")
    try a.reopen()
    #expect(try a.store.conflicts.list(limit: 9).map(\.id) == [4, 3, 2, 1])
    #expect(try a.store.conflicts.dismiss([4]) == 1)
  }

  @Test("a conflict about a record that was reverted says that no record is kept")
  func revertedRecord() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try b.run("INSERT INTO t VALUES ('x', 'v')")
    try synchronize([a, b])
    a.cuts = [b.author: 0]
    try a.store.merges.revert(a.cuts, aftermath: [b.author: .kept], zone: Peer.zone, a.reader, now: a.now)
    #expect(try a.rows("SELECT * FROM t") == [])
    let conflict = try #require(try a.store.conflicts.list(limit: 9).first)
    #expect(conflict.isReverted && !conflict.isWinnerDelete && conflict.loserValue == .text("v"))
  }

  @Test("no account's conflicts displace those of other accounts")
  func bounds() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let peers = try [1, 2, 3].map { try Peer($0, schema: schema, track: ["t"]) }
    let (a, b, c) = (peers[0], peers[1], peers[2])
    let many = StoreLimits.conflicts + StoreLimits.conflictsBetweenLooks
    try a.run(
      """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(many))
      INSERT INTO t SELECT 'k' || i, 'v' FROM n; INSERT INTO t VALUES ('honest', 'v')
      """)
    try synchronize(peers)
    try a.run("UPDATE t SET v = 'a'")
    try a.flush()
    b.now = a.now + 1_000
    try b.run("UPDATE t SET v = 'b' WHERE id = 'honest'")
    try synchronize([a, b])
    #expect(try a.store.conflicts.list(ConflictFilter(limit: 1)).total == 1)
    c.now = b.now + 1_000
    try c.run("UPDATE t SET v = 'c' WHERE id <> 'honest'")
    try synchronize([a, c])
    let kept = try a.store.conflicts.list(ConflictFilter(limit: .max))
    #expect(kept.total < many && kept.total >= Int(StoreLimits.conflicts) - 1)
    #expect(kept.conflicts.contains { $0.key == .text("honest") })
  }

  @Test("conflicts are listed page by page, and by table, device and time")
  func pages() throws {
    let schema = """
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT); CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL, v TEXT)
      """
    let a = try Peer(1, schema: schema, track: ["t", "u"])
    let b = try Peer(2, schema: schema, track: ["t", "u"])
    let numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30)"
    try a.run("INSERT INTO t \(numbers) SELECT 'k' || i, 'v' FROM n; INSERT INTO u VALUES ('k', 'v')")
    try synchronize([a, b])
    try a.run("UPDATE t SET v = 'a'; UPDATE u SET v = 'a'")
    try b.run("UPDATE t SET v = 'b'; UPDATE u SET v = 'b'")
    try synchronize([a, b])
    var (found, after): ([Int64], Int64?) = ([], nil)
    repeat {
      let page = try a.store.conflicts.list(ConflictFilter(table: "T", after: after, limit: 7))
      #expect(page.total == 30 && page.conflicts.count <= 7)
      found += page.conflicts.map(\.id)
      after = page.hasMore ? page.conflicts.last?.id : nil
    } while after != nil
    #expect(found.count == 30 && found == found.sorted(by: >) && Set(found).count == 30)
    func total(_ filter: ConflictFilter) throws -> Int { try a.store.conflicts.list(filter).total }
    #expect(try total(ConflictFilter(limit: 1)) == 31 && total(ConflictFilter(table: "u", limit: 1)) == 1)
    #expect(try total(ConflictFilter(zone: Peer.zone, device: a.author.device, limit: 1)) == 31)
    let stranger = try Peer(3)
    #expect(try total(ConflictFilter(device: stranger.author.device, limit: 1)) == 0)
    #expect(try total(ConflictFilter(since: a.now + 1, limit: 1)) == 0)
    #expect(try Set(a.store.conflicts.devices()) == [a.author.device, b.author.device])
    #expect(throws: StoreError.self) { try total(ConflictFilter(table: "none", limit: 1)) }
  }

  @Test("the oldest conflicts are dropped first, those of the account with the most before others, and counted")
  func order() throws {
    let peer = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)", track: ["t"])
    let (looks, bound) = (StoreLimits.conflictsBetweenLooks, StoreLimits.conflicts)
    let many = (bound / looks + 1) * looks
    /// Notes conflicts, each caused by the account that `cause` returns for its number.
    func note(_ count: Int64, _ cause: @escaping (Int64) -> UInt8) throws {
      try peer.store.access.write { transaction in
        let records = ZoneRecords(transaction, zone: try transaction.counters.obtain(Peer.zone))
        let table = try transaction.catalog.tableNumber("t")
        let column = try transaction.catalog.columnNumber("v", of: table)
        let first = try transaction.sql.integer("SELECT max(id) FROM mesh_conflict") ?? 0
        for id in first + 1...first + count {
          let stamp = Stamp(time: HybridTime(milliseconds: id), author: peer.author)
          try records.noteConflict(
            RecordRef(table: table, key: .integer(id)),
            .init(column: column, loser: .init(stamp: stamp, value: .integer(id)), winner: stamp, wasLocal: true),
            by: [cause(id)], now: id)
        }
      }
    }
    func ids() throws -> [Int64] {
      try peer.store.access.read { try $0.sql.all("SELECT id FROM mesh_conflict ORDER BY id") { $0.integer(0) } }
    }
    // Three accounts cause equally many, and their numbers are no multiple of the bound.
    try note(many) { UInt8($0 % 3) }
    #expect(try ids() == Array(many - bound + 1...many))
    // Another account has few, so the oldest of the others go.
    try note(looks) { _ in 9 }
    let kept = try ids()
    #expect(kept.count == Int(bound))
    #expect(Array(kept.suffix(Int(looks))) == Array(many + 1...many + looks))
    #expect(kept.first == many - bound + 1 + looks)
    #expect(try peer.store.conflicts.list(ConflictFilter(limit: 1)).dropped == Int(many + looks - bound))
  }
}
