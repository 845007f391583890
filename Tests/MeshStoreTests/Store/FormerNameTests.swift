import MeshCore
import MeshCrypto
import MeshTesting
import Testing

@testable import MeshStore

/// Devices that learn from others which of two names is the later one.
@Suite struct FormerNameTests {
  private static let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT)"
  private static let rename = "ALTER TABLE t RENAME COLUMN a TO b"

  private func peers() throws -> (Peer, Peer) {
    let (a, b) = (try Peer(1, schema: Self.schema, track: ["t"]), try Peer(2, schema: Self.schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('k', 'old'), ('l', 'other')")
    try synchronize([a, b])
    return (a, b)
  }

  /// A device that begins without a table, and creates what others describe.
  private func joiner(_ seed: UInt8, hears peers: [Peer]) throws -> Peer {
    let joiner = try Peer(seed)
    for peer in peers { try tell(joiner, of: peer) }
    try joiner.store.schema.adopt(joiner.store.schema.foreign(), now: joiner.now)
    return joiner
  }

  /// What a device says of its tables, as another hears it.
  private func tell(_ listener: Peer, of speaker: Peer) throws {
    _ = try listener.store.schema.saveForeignSchema(
      try speaker.store.schema.schemaDescriptions(), device: speaker.author.device, isOwn: true)
  }

  private func columns(_ peer: Peer) throws -> [String] { try peer.rows("SELECT name FROM pragma_table_info('t')") }

  @Test("a device that created a table under its present names isn't told to rename it back", arguments: [false, true])
  func joinsAmongBoth(hearsBoth: Bool) throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try a.flush()
    let c = try joiner(3, hears: hearsBoth ? [b, a] : [a])
    #expect(try columns(c) == ["\"id\"", "\"b\""])
    try synchronize([a, b, c])
    try tell(c, of: b)
    #expect(try c.store.schema.missing() == [])
    // It has learned the direction, and tells it: the device that renamed the column may be gone.
    try tell(b, of: c)
    #expect(try b.store.schema.missing().first?.renamed == ["a": "b"])
    // What is still written under the former name goes on under the present one.
    try b.run("UPDATE t SET a = 'late' WHERE id = 'k'")
    try synchronize([b, c])
    #expect(try c.rows("SELECT b FROM t WHERE id = 'k'") == ["\"late\""])
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    try synchronize([a, b, c])
    try expectEqual([a, b, c], "SELECT id, b FROM t ORDER BY id", ["\"k\"|\"late\"", "\"l\"|\"other\""])
  }

  @Test("a table that is created again after a column was renamed has the column once")
  func createdAgain() throws {
    let (a, b) = try peers()
    try a.run(Self.rename)
    try synchronize([a, b])
    let c = try joiner(3, hears: [a])
    try synchronize([a, c])
    for other in [b, c] { try tell(a, of: other) }
    try a.run("DROP TABLE t")
    try a.flush()
    try a.store.schema.adopt(a.store.schema.foreign(), now: a.now)
    #expect(try columns(a) == ["\"id\"", "\"b\""])
    try synchronize([a, b, c])
    #expect(try a.rows("SELECT id, b FROM t ORDER BY id") == ["\"k\"|\"old\"", "\"l\"|\"other\""])
  }

  @Test("a new column that takes the former name of another one is missing elsewhere", arguments: [false, true])
  func reusedName(hearsBoth: Bool) throws {
    let (a, b) = try peers()
    let early = try joiner(3, hears: [a])
    for peer in [a, b] { try peer.run(Self.rename) }
    try a.run("ALTER TABLE t ADD COLUMN a TEXT DEFAULT 'new'")
    try synchronize([a, b, early])
    try tell(b, of: a)
    #expect(try b.store.schema.missing().first?.columns == ["a"])
    let late = try joiner(4, hears: hearsBoth ? [early, b, a] : [a])
    #expect(try Set(columns(late)) == ["\"id\"", "\"a\"", "\"b\""])
    try synchronize([a, late])
    #expect(try late.rows("SELECT id, b FROM t ORDER BY id") == ["\"k\"|\"old\"", "\"l\"|\"other\""])
  }

  @Test(
    "a column that one device renames and a table that another one renames are one column and one table",
    arguments: [false, true])
  func columnAndTableRenamed(isTableFirst: Bool) throws {
    let (a, b) = try peers()
    func renameTable() throws {
      try a.run("ALTER TABLE t RENAME TO u")
      try a.flush()
      try a.store.tables.untrack(["t"])
      try a.store.tables.track(tables: ["u"], now: a.now)
    }
    if isTableFirst { try renameTable() } else { try b.run(Self.rename) }
    try synchronize([a, b])
    if isTableFirst { try b.run(Self.rename) } else { try renameTable() }
    try synchronize([a, b])
    // As 'mesh schema --apply' does it, on B and then on A.
    try tell(b, of: a)
    #expect(try b.store.schema.renameTables(b.store.schema.foreign()) == ["t"])
    try b.store.tables.untrack(["t"])
    try b.store.schema.adopt(b.store.schema.foreign(), now: b.now)
    #expect(try b.rows("SELECT name FROM pragma_table_info('u')") == ["\"id\"", "\"b\""])
    try synchronize([a, b])
    try tell(a, of: b)
    #expect(try a.store.schema.missing().first?.renamed == ["a": "b"])
    // What was still written under the former name goes on under the present one.
    try a.run("UPDATE u SET a = 'late' WHERE id = 'k'")
    try synchronize([a, b])
    try a.store.schema.adopt(a.store.schema.foreign(), now: a.now)
    try synchronize([a, b])
    #expect(try a.rows("SELECT name FROM pragma_table_info('u')") == ["\"id\"", "\"b\""])
    try expectEqual([a, b], "SELECT id, b FROM u ORDER BY id", ["\"k\"|\"late\"", "\"l\"|\"other\""])
    try expectNoConflicts([a, b])
  }

  @Test("a device that joins after a table was renamed holds nothing under the former name", arguments: [false, true])
  func joinsAfterTableWasRenamed(hearsBoth: Bool) throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t RENAME TO u")
    try a.flush()
    try a.store.tables.untrack(["t"])
    try a.store.tables.track(tables: ["u"], now: a.now)
    try a.flush()
    let c = try joiner(3, hears: hearsBoth ? [b, a] : [a])
    try synchronize([a, b, c])
    #expect(try c.rows("SELECT name FROM sqlite_schema WHERE name IN ('t', 'u')") == ["\"u\""])
    #expect(try c.store.held.list(limit: 9).isEmpty)
    let key = Value.text(Array("k".utf8))
    #expect(throws: DiscardError.untracked(table: "t", heir: "u")) {
      try c.store.held.discard(table: "t", keys: [[key]], now: c.now)
    }
    #expect(throws: RestoreError.untracked(table: "t", heir: "u")) {
      try c.store.history.restore(.record(table: "t", key: key, columns: [])) { _ in c.reader }
    }
    try tell(c, of: b)
    #expect(try c.store.schema.missing() == [])
    try b.run("UPDATE t SET a = 'late' WHERE id = 'k'; DELETE FROM t WHERE id = 'l'")
    try synchronize([b, c])
    #expect(try c.rows("SELECT id, a FROM u ORDER BY id") == ["\"k\"|\"late\""])
  }

  @Test("a device that joins after a table was renamed twice learns both former names, and tells them")
  func tableRenamedTwice() throws {
    let (a, b) = try peers()
    for (former, name) in [("t", "u"), ("u", "v")] {
      try a.run("ALTER TABLE \(former) RENAME TO \(name)")
      try a.flush()
      try a.store.tables.untrack([former])
      try a.store.tables.track(tables: [name], now: a.now)
      try a.flush()
    }
    let c = try joiner(3, hears: [a])
    try synchronize([a, b, c])
    for peer in [a, c] {
      #expect(try peer.store.schema.schemaDescriptions().map(\.formerNames.tables) == [["u", "t"]])
    }
    try b.run("UPDATE t SET a = 'late' WHERE id = 'k'")
    try synchronize([b, c])
    #expect(try c.rows("SELECT id, a FROM v ORDER BY id") == ["\"k\"|\"late\"", "\"l\"|\"other\""])
  }

  @Test("a held record of a renamed table is not discarded, because that would delete the row under the new name")
  func discardedFormerName() throws {
    let (a, b) = try peers()
    try a.run("ALTER TABLE t RENAME TO u")
    try a.flush()
    try a.store.tables.untrack(["t"])
    try a.store.tables.track(tables: ["u"], now: a.now)
    try synchronize([a, b])
    // This one was created by hand, and nobody has told it that the table was renamed.
    let c = try Peer(3, schema: "CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL, a TEXT)", track: ["u"])
    try synchronize([a, c])
    let key = Value.text(Array("k".utf8))
    #expect(throws: DiscardError.renamed(table: "t", key: key, to: "u")) {
      try c.store.held.discard(table: "t", keys: [[key]], now: c.now)
    }
  }

  @Test("a file of the format before learns former names once they are told again")
  func formerFormat() throws {
    let (a, _) = try peers()
    try a.run(Self.rename)
    try a.flush()
    let c = try Peer(3)
    try tell(c, of: a)
    try c.run("ALTER TABLE mesh_foreign_schema DROP COLUMN names; UPDATE mesh_state SET format = 22")
    try c.reopen()
    #expect(try c.store.schema.foreign().map(\.formerNames) == [FormerNames()])
    try tell(c, of: a)
    #expect(try c.store.schema.foreign().first?.formerNames.columns == [.init(name: "b", former: "a")])
  }

  @Test("names that another account tells change nothing")
  func ofAnotherAccount() throws {
    let (a, b) = try peers()
    var descriptions = try b.store.schema.schemaDescriptions()
    descriptions[0].formerNames = FormerNames(tables: ["diary"], columns: [.init(name: "a", former: "secret")])
    _ = try a.store.schema.saveForeignSchema(descriptions, device: b.author.device, isOwn: false)
    #expect(try a.store.schema.schemaDescriptions()[0].formerNames == FormerNames())
  }

  @Test("a table that is adopted from another account has no former names")
  func adoptedFromAnotherAccount() throws {
    let (a, b) = try peers()
    let others = try TestAccount(devices: 1, seed: 2)
    let device = DeviceID(others.devices[0].signingKey).unsafe
    a.store.control.setAccounts(Accounts([others.state]), device: a.author.device)
    var descriptions = try b.store.schema.schemaDescriptions()
    descriptions[0].name = "u"
    descriptions[0].formerNames = FormerNames(tables: ["diary"], columns: [.init(name: "a", former: "secret")])
    _ = try a.store.schema.saveForeignSchema(descriptions, device: device, isOwn: false)
    try a.store.schema.adopt(a.store.schema.foreign { $0 != device }, trusts: { $0 != device }, now: a.now)
    #expect(try a.store.schema.schemaDescriptions().map(\.name) == ["t", "u"])
    #expect(try a.store.schema.schemaDescriptions().allSatisfy(\.formerNames.isEmpty))
  }

  @Test("names that another device tells neither change what is known here, nor replace a column or table")
  func unbelieved() throws {
    let (a, b) = try peers()
    func hear(_ names: FormerNames) throws {
      var descriptions = try b.store.schema.schemaDescriptions()
      descriptions[0].formerNames = names
      _ = try a.store.schema.saveForeignSchema(descriptions, device: b.author.device, isOwn: true)
    }
    try a.run("ALTER TABLE t ADD COLUMN c TEXT; CREATE TABLE v (x)")
    try a.flush()
    let endless = (0..<2 * FormerNames.columnLimit).map { FormerNames.Column(name: "n\($0)", former: "n\($0 + 1)") }
    for columns in [
      [.init(name: "a", former: "c")], [.init(name: "c", former: "c")], [.init(name: "x", former: "y")],
      [.init(name: "y", former: "z"), .init(name: "z", former: "y")],
    ] as [[FormerNames.Column]] {
      try hear(FormerNames(tables: ["v", "t"], columns: columns))
    }
    #expect(try a.store.schema.schemaDescriptions()[0].formerNames == FormerNames())
    try hear(FormerNames(columns: [.init(name: "a", former: "n0")] + endless))
    let known = try a.store.schema.schemaDescriptions()[0].formerNames
    #expect(known.columns.count == FormerNames.columnLimit && known.columns.first?.former == "n0")
    try hear(FormerNames(columns: [.init(name: "a", former: "other")]))
    #expect(try a.store.schema.schemaDescriptions()[0].formerNames == known)
    try a.run("UPDATE t SET a = 'goes on' WHERE id = 'k'")
    try synchronize([a, b])
    #expect(try b.rows("SELECT a FROM t WHERE id = 'k'") == ["\"goes on\""])
  }
}
