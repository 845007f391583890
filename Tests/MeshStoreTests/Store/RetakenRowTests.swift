import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Deletes and counts that programs make while a table is untracked, with its name or with a new one.
@Suite struct RetakenRowTests {
  private static let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, n INTEGER, best INTEGER, title TEXT)"

  /// Returns three peers whose rows show sums of counts.
  private func peers() throws -> [Peer] {
    let peers = try (1...3).map { try Peer($0, schema: Self.schema, track: ["item"]) }
    for peer in peers {
      try peer.store.schema.setPolicies(["item": ["n": .counter, "best": .greatest]], now: peer.now)
    }
    try peers[0].run("INSERT INTO item VALUES ('a', 5, 5, 't'), ('b', 5, 5, 't'), ('c', 5, 5, 't')")
    try synchronize(peers)
    for peer in peers { try peer.run("UPDATE item SET n = n + 1, best = best + n") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["8", "8", "8"])
    return peers
  }

  /// Untracks the table, and tracks it again after the change.
  ///
  /// - Parameters:
  ///   - name: The name that the table has then.
  ///   - change: Is called while the table is not synchronized.
  private func retrack(_ peer: Peer, as name: String, _ change: () throws -> Void) throws {
    try peer.flush()
    if name != "item" {
      try peer.run("ALTER TABLE item RENAME TO \(name)")
      try peer.flush()
    }
    try peer.store.tables.untrack(["item"])
    try change()
    try peer.store.tables.track(tables: [name], now: peer.now)
  }

  @Test(
    "a row with counts that is deleted while its table is untracked is deleted everywhere", arguments: ["item", "post"])
  func deleted(name: String) throws {
    let peers = try peers()
    try retrack(peers[0], as: name) {
      try peers[0].run("DELETE FROM \(name) WHERE id = 'a'")
      // A column that only gets another name was not edited.
      try peers[1].run("ALTER TABLE item RENAME COLUMN title TO name; UPDATE item SET name = 'u' WHERE id = 'b'")
      try peers[1].flush()
      try peers[0].pull(from: peers[1])
    }
    try synchronize(peers)
    for peer in peers[1...] where name != "item" { try retrack(peer, as: name) {} }
    try synchronize(peers)
    for peer in peers { #expect(try peer.rows("SELECT id, n FROM \(name) ORDER BY id") == ["\"b\"|8", "\"c\"|8"]) }
    #expect(try Set(peers.map { try $0.digest() }).count == 1)
    try expectNoConflicts(peers)
  }

  @Test(
    "an edit or a count of another device beats a delete that was made while the table was untracked",
    arguments: ["item", "post"])
  func editedElsewhere(name: String) throws {
    let peers = try peers()
    try retrack(peers[0], as: name) {
      try peers[1].run("UPDATE item SET n = n + 100 WHERE id = 'a'; UPDATE item SET title = 'u' WHERE id = 'b'")
      try peers[1].flush()
      try peers[0].pull(from: peers[1])
      // The same values under another name of a column are no later edits, and don't hide the first ones.
      try peers[1].run("ALTER TABLE item RENAME COLUMN title TO name")
      try peers[1].flush()
      try peers[0].pull(from: peers[1])
      try peers[0].run("DELETE FROM \(name)")
    }
    try synchronize(peers)
    #expect(try peers[0].rows("SELECT id, n, title FROM \(name) ORDER BY id") == ["\"a\"|108|\"t\"", "\"b\"|8|\"u\""])
    let lost = try peers[0].store.conflicts.list(limit: 9)
    #expect(Set(lost.map(\.key)) == [.text([97]), .text([98])] && lost.allSatisfy { $0.column == nil })
    for peer in peers[1...] where name != "item" { try retrack(peer, as: name) {} }
    try synchronize(peers)
    try expectEqual(peers, "SELECT id, n FROM \(name) ORDER BY id", ["\"a\"|108", "\"b\"|8"])
  }

  @Test("what programs count while a table is untracked adds to what others count", arguments: ["item", "post"])
  func counted(name: String) throws {
    let peers = try peers()
    try retrack(peers[0], as: name) {
      try peers[0].run(
        "UPDATE \(name) SET n = n + 10, best = 500 WHERE id = 'a'; UPDATE \(name) SET best = 1 WHERE id = 'b'")
      try peers[1].run("UPDATE item SET n = n + 100, best = 400 WHERE id = 'a'")
      try peers[1].flush()
      try peers[0].pull(from: peers[1])
      try peers[2].run("UPDATE item SET n = n + 1000 WHERE id = 'a'")
      try peers[0].run("UPDATE \(name) SET n = n + 10 WHERE id = 'a'")
    }
    try synchronize(peers)
    for peer in peers[1...] where name != "item" { try retrack(peer, as: name) {} }
    try synchronize(peers)
    try expectEqual(
      peers, "SELECT id, n, best FROM \(name) ORDER BY id", ["\"a\"|1128|500", "\"b\"|8|10", "\"c\"|8|10"])
    try expectNoConflicts(peers)
    for peer in peers { try peer.run("UPDATE \(name) SET n = n + 1") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM \(name) ORDER BY id", ["1131", "11", "11"])
  }

  @Test(
    "a NULL that replaces a count while its table is untracked loses to counts that are merged meanwhile",
    arguments: ["item", "post"])
  func countReplaced(name: String) throws {
    let peers = try peers()
    try retrack(peers[0], as: name) {
      try peers[1].run("UPDATE item SET n = n + 100 WHERE id = 'a'")
      try peers[1].flush()
      try peers[0].pull(from: peers[1])
      try peers[0].run("UPDATE \(name) SET n = NULL WHERE id <> 'c'")
    }
    try synchronize(peers)
    for peer in peers[1...] where name != "item" { try retrack(peer, as: name) {} }
    try synchronize(peers)
    try expectEqual(peers, "SELECT id, n FROM \(name) ORDER BY id", ["\"a\"|108", "\"b\"|NULL", "\"c\"|8"])
    let lost = try peers[0].store.conflicts.list(limit: 9)
    #expect(lost.map(\.key) == [.text([97])] && lost.map(\.loserValue) == [.null])
  }

  @Test(
    "machines that count in a row for the first time while their table is untracked lose no increment",
    arguments: ["item", "post"])
  func countedFirst(name: String) throws {
    let peers = try peers()
    try peers[0].run("INSERT INTO item VALUES ('d', 1, 1, 't')")
    try synchronize(peers)
    for (index, peer) in peers.enumerated() {
      try retrack(peer, as: name) { try peer.run("UPDATE \(name) SET n = n + \(index * 10) WHERE id = 'd'") }
    }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM \(name) WHERE id = 'd'", ["31"])
    try expectNoConflicts(peers)
  }

  @Test(
    "a value that a row never showed is listed if the row is deleted while its table is untracked",
    arguments: ["item", "post"])
  func hidden(name: String) throws {
    let a = try Peer(1, schema: Self.schema, track: ["item"])
    let b = try Peer(
      2, schema: "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, n INTEGER CHECK (n < 9), best INTEGER, title TEXT)",
      track: ["item"])
    try a.run("INSERT INTO item VALUES ('a', 5, 5, 't')")
    try synchronize([a, b])
    try a.run("UPDATE item SET n = 10")
    try synchronize([a, b])
    #expect(try b.rows("SELECT n FROM item") == ["5"])
    try retrack(b, as: name) { try b.run("DELETE FROM \(name)") }
    try synchronize([a, b])
    if name != "item" { try retrack(a, as: name) {} }
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id FROM \(name)", [])
    try expectNoConflicts([a])
    #expect(try b.store.conflicts.list(limit: 9).map(\.loserValue) == [.integer(10)])
  }

  @Test("a default of a counter that was added to a renamed table replaces no count")
  func addedCounter() throws {
    let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL)"
    let (a, b) = (try Peer(1, schema: schema, track: ["item"]), try Peer(2, schema: schema, track: ["item"]))
    try a.run("INSERT INTO item VALUES ('a')")
    try synchronize([a, b])
    try b.run("ALTER TABLE item ADD COLUMN n INTEGER DEFAULT 0")
    try b.flush()
    try b.store.schema.setPolicies(["item": ["n": .counter]], now: b.now)
    try b.run("INSERT INTO item VALUES ('b', 3); UPDATE item SET n = n + 5")
    try b.flush()
    try a.pull(from: b)
    a.now += 60_000
    try retrack(a, as: "post") {
      try b.run("UPDATE item SET n = n + 1")
      try b.flush()
      try a.pull(from: b)
      try a.run("ALTER TABLE post ADD COLUMN n INTEGER DEFAULT 0")
    }
    try a.store.schema.setPolicies(["post": ["n": .counter]], now: a.now)
    try synchronize([a, b])
    try retrack(b, as: "post") {}
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT n FROM post ORDER BY id", ["6", "9"])
    try expectNoConflicts([a, b])
  }

  @Test("the sum of a counter is not listed as a value that was never seen if its row is deleted or replaced")
  func deletedWhileTracked() throws {
    let peers = try peers()
    try peers[1].run("DELETE FROM item WHERE id = 'a'; DELETE FROM item WHERE id = 'b'")
    try peers[1].run("INSERT INTO item VALUES ('b', 0, 0, 'new')")
    try synchronize(peers)
    try expectEqual(peers, "SELECT id, n FROM item ORDER BY id", ["\"b\"|0", "\"c\"|8"])
    try expectNoConflicts(peers)
  }

  enum Moment: CaseIterable {
    /// The other machine's value is merged before the table gets another name, meanwhile, or after it has it.
    case before, meanwhile, after
  }

  @Test(
    "a default of a column that was added to a renamed table beats no value", arguments: Moment.allCases, [false, true])
  func addedColumn(_ moment: Moment, isFilled: Bool) throws {
    let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT)"
    let add = "ALTER TABLE item ADD COLUMN n INTEGER DEFAULT 0"
    let (a, b) = (try Peer(1, schema: schema, track: ["item"]), try Peer(2, schema: schema, track: ["item"]))
    try b.run("INSERT INTO item VALUES ('a', 't'), ('b', 't')")
    try synchronize([a, b])
    func edit() throws {
      try b.run(add)
      if !isFilled { try b.flush() }
      try b.run("UPDATE item SET n = 5 WHERE id = 'a'")
      try b.flush()
      if moment != .after { try a.pull(from: b) }
    }
    if moment == .before { try edit() }
    a.now += 60_000
    try retrack(a, as: "post") {
      if moment != .before { try edit() }
      try a.run("ALTER TABLE post ADD COLUMN n INTEGER DEFAULT 0")
    }
    try synchronize([a, b])
    try retrack(b, as: "post") {}
    try synchronize([a, b])
    try expectEqual([a, b], "SELECT id, n FROM post ORDER BY id", ["\"a\"|5", "\"b\"|0"])
    try expectNoConflicts([a, b])
    // A value of NULL that a program replaces by the default is an edit all the same.
    try b.run("UPDATE post SET n = NULL")
    try synchronize([a, b])
    try a.run("ALTER TABLE post RENAME TO item")
    try a.flush()
    try a.store.tables.untrack(["post"])
    try a.run("UPDATE item SET n = 0")
    try a.store.tables.track(tables: ["item"], now: a.now)
    try a.flush()
    #expect(try a.rows("SELECT n FROM item") == ["0", "0"])
  }
}
