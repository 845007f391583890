import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

private let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, n INTEGER, best, low, title TEXT)"
private let rows = "SELECT id, n, best, low, title FROM item ORDER BY id"

/// Columns whose concurrent writes become one value by a policy.
@Suite struct PolicyTests {
  private static let policies: [String: [String: ColumnPolicy]] = [
    "item": ["n": .counter, "best": .greatest, "low": .least]
  ]

  private func peer(_ seed: UInt8, _ policies: [String: [String: ColumnPolicy]] = Self.policies) throws -> Peer {
    let peer = try Peer(seed, schema: schema, track: ["item"])
    try peer.store.schema.setPolicies(policies, now: peer.now)
    return peer
  }

  private func peers(_ count: UInt8 = 3, _ insert: String = "('a', 5, 5, 5, 't')") throws -> [Peer] {
    let peers = try (1...count).map { try peer($0) }
    try peers[0].run("INSERT INTO item VALUES \(insert)")
    try synchronize(peers)
    return peers
  }

  @Test("concurrent increments add up")
  func concurrentIncrements() throws {
    let peers = try peers()
    for (index, peer) in peers.enumerated() {
      for _ in 0...index { try peer.run("UPDATE item SET n = n + 1, best = best + \(index), low = low - 1") }
    }
    try peers[1].run("UPDATE item SET title = 'u'")
    try synchronize(peers)
    try expectEqual(peers, rows, ["\"a\"|11|11|2|\"u\""])
    try expectNoConflicts(peers)
    for peer in peers { try peer.run("UPDATE item SET n = n - 2") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["5"])
    #expect(
      try peers.allSatisfy { try $0.store.figures.heldCounts().isEmpty && $0.store.localWrites.pendingCount() == 0 })
  }

  @Test("an assignment counts as its difference, also if a program replaces or upserts the row")
  func assignments() throws {
    let peers = try peers()
    try peers[0].run("UPDATE item SET n = 105")
    try peers[1].run("INSERT OR REPLACE INTO item VALUES ('a', 15, 5, 5, 't')")
    try peers[2].run("INSERT INTO item (id, n) VALUES ('a', 0) ON CONFLICT (id) DO UPDATE SET n = n + 1")
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["116"])
  }

  @Test(
    "the sum of increments that a value which is no number hides is listed and comes back",
    arguments: ["NULL", "'many'"], [true, false])
  func hiddenIncrements(value: String, isIncrementLater: Bool) throws {
    let peers = try peers(2)
    let writes = ["UPDATE item SET n = \(value)", "UPDATE item SET n = n + 7"]
    for index in isIncrementLater ? [0, 1] : [1, 0] {
      peers[index].now += 1_000
      try peers[index].run(writes[index])
      try peers[index].flush()
    }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", [value == "NULL" ? "NULL" : "\"many\""])
    let listed = try peers[1].store.conflicts.list(limit: 9)
    let lost = try #require(listed.first)
    #expect(listed.count == 1 && lost.column == "n" && lost.loserValue == .integer(12))
    _ = try peers[1].store.history.restore(.conflict(lost.id)) { _ in peers[1].reader }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["12"])
    #expect(try peers[1].store.conflicts.list(limit: 9).isEmpty)
  }

  @Test("a sum is listed once, also if the own value of the counter was not seen either")
  func hiddenAssignment() throws {
    let peers = try peers(2, "('a', NULL, 5, 5, 't')")
    try peers[1].run("UPDATE item SET n = 100")
    try peers[1].flush()
    try peers[1].run("UPDATE item SET n = n + 7")
    try peers[1].flush()
    // Its clock is behind, so each write counts it up by one.
    for title in ["u", "v", "w"] {
      try peers[0].run("UPDATE item SET title = '\(title)'")
      try peers[0].flush()
    }
    try peers[0].run("UPDATE item SET n = 'many'")
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["\"many\""])
    #expect(try peers[1].store.conflicts.list(limit: 9).map(\.loserValue) == [.integer(107)])
  }

  @Test("a value that replaces a counter after its author saw all increments is no conflict", arguments: [0, 1])
  func seenIncrements(by index: Int) throws {
    let peers = try peers(2)
    try peers[index].run("UPDATE item SET n = n + 7")
    try synchronize(peers)
    try peers[0].run("UPDATE item SET n = NULL")
    try synchronize(peers)
    try expectNoConflicts(peers)
  }

  @Test("a flush between two writes loses nothing")
  func manyFlushes() throws {
    let peers = try peers()
    for round in 1...20 {
      for peer in peers {
        try peer.run("UPDATE item SET n = n + 1")
        if round % 3 == 0 { try peer.flush() }
        try peer.run("UPDATE item SET n = n + 1")
      }
      if round % 5 == 0 { try peers[round % 3].pull(from: peers[(round + 1) % 3]) }
    }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["125"])
  }

  @Test("the greatest and the least value win, and other values give way where they are written")
  func greatestAndLeast() throws {
    let peers = try peers()
    try peers[0].run("UPDATE item SET best = 9, low = 1")
    try peers[1].run("UPDATE item SET best = 7, low = 3")
    try peers[2].run("UPDATE item SET best = 2, low = 8")
    try peers[2].flush()
    #expect(try peers[2].rows("SELECT best, low FROM item") == ["5|5"])
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, low FROM item", ["9|1"])
    try expectNoConflicts(peers)
    try peers[1].run("UPDATE item SET best = 'text', low = 0.5")
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, low FROM item", ["\"text\"|0.5"])
  }

  @Test("a value that a program wrote over before the flush is kept if it beats the later one")
  func beatenBeforeFlush() throws {
    let peers = try peers()
    for value in [7, 9, 6] { try peers[1].run("UPDATE item SET best = \(value), low = -\(value)") }
    try peers[1].run("INSERT INTO item VALUES ('b', 5, 5, 5, 't')")
    for value in [9, 6] { try peers[1].run("UPDATE item SET best = \(value), low = -\(value) WHERE id = 'b'") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, low FROM item ORDER BY id", ["9|-9", "9|-9"])
    // NULL is an assignment, and only the values after it count.
    for value in ["12", "NULL", "4", "2"] { try peers[2].run("UPDATE item SET best = \(value), low = \(value)") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, low FROM item ORDER BY id", ["4|2", "4|2"])
    #expect(
      try peers.allSatisfy { try $0.store.figures.heldCounts().isEmpty && $0.store.localWrites.pendingCount() == 0 })
  }

  @Test("a replaced row whose value stays NULL hides no value of another device")
  func replacedWithNull() throws {
    let peers = try peers(2, "('a', NULL, NULL, NULL, 't')")
    try peers[0].run("UPDATE item SET best = 4, low = 5")
    try peers[0].flush()
    peers[1].now += 5
    try peers[1].run("INSERT OR REPLACE INTO item (id, title) VALUES ('a', 'u')")
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, low, title FROM item", ["4|5|\"u\""])
  }

  @Test("without the policy, a write is an assignment that hides greater parts")
  func loweredValues() throws {
    let peers = try peers()
    try peers[0].run("UPDATE item SET best = 9, n = 9")
    try synchronize(peers)
    try peers[1].store.schema.setPolicies(["item": ["best": .last, "n": .last]], now: peers[1].now)
    try peers[1].run("UPDATE item SET best = 3, n = 4")
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, n FROM item", ["3|4"])
    try peers[2].run("UPDATE item SET best = 4, n = n + 1")
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, n FROM item", ["4|5"])
    try peers[0].run("UPDATE item SET best = NULL, n = NULL")
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, n FROM item", ["NULL|NULL"])
    try peers[2].run("UPDATE item SET best = 1, n = 7")
    try synchronize(peers)
    try expectEqual(peers, "SELECT best, n FROM item", ["1|7"])
  }

  @Test("a row that is deleted and inserted again has no increments")
  func nextLife() throws {
    let peers = try peers()
    for peer in peers { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(peers)
    try peers[0].run("DELETE FROM item; INSERT INTO item VALUES ('a', 1, 1, 1, 't')")
    try peers[1].run("UPDATE item SET n = n + 100")
    try synchronize(peers)
    try expectEqual(peers, rows, ["\"a\"|1|1|1|\"t\""])
    for peer in peers { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["4"])
  }

  @Test("devices that insert the same row and count in one transaction lose no increment")
  func insertedTogether() throws {
    let peers = try (1...3).map { try peer($0) }
    for (index, peer) in peers.enumerated() {
      try peer.run(
        "INSERT OR IGNORE INTO item VALUES ('a', 0, 1, 1, 't'); UPDATE item SET n = n + \(index + 1), best = 0")
    }
    try synchronize(peers)
    try expectEqual(peers, rows, ["\"a\"|6|1|1|\"t\""])
    try peers[0].run("DELETE FROM item; INSERT INTO item VALUES ('a', 9, 1, 1, 't'); UPDATE item SET n = n + 1")
    try synchronize(peers)
    try expectEqual(peers, rows, ["\"a\"|10|1|1|\"t\""])
  }

  @Test(
    "an insert that is ignored or becomes an update writes no other column",
    arguments: [
      "INSERT OR IGNORE INTO item (id) VALUES ('a'); UPDATE item SET title = 'u'",
      "INSERT INTO item (id) VALUES ('a') ON CONFLICT DO NOTHING; UPDATE item SET title = 'u'",
      "INSERT INTO item (id, title) VALUES ('a', 'u') ON CONFLICT DO UPDATE SET title = excluded.title",
    ])
  func ignoredInserts(statement: String) throws {
    let peers = try peers(2, "('a', NULL, NULL, NULL, 't')")
    try peers[0].run("UPDATE item SET n = 3, best = 4, low = 5")
    try peers[0].flush()
    peers[1].now += 5
    try peers[1].run(statement)
    try synchronize(peers)
    try expectEqual(peers, rows, ["\"a\"|3|4|5|\"u\""])
    #expect(try peers.allSatisfy { try $0.store.localWrites.pendingCount() == 0 })
  }

  @Test("sums beyond 64 bits are limited, and no number traps")
  func limits() throws {
    let peers = try peers(3, "('a', 9223372036854775800, 5, 5, 't'), ('b', -9223372036854775800, 5, 5, 't')")
    for peer in peers {
      try peer.run("UPDATE item SET n = n + 7 WHERE id = 'a'; UPDATE item SET n = n - 7 WHERE id = 'b'")
    }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item ORDER BY id", ["9223372036854775807", "-9223372036854775808"])
    try peers[0].run("UPDATE item SET n = 3 WHERE id = 'a'")
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item ORDER BY id", ["3", "-9223372036854775808"])
    // The increments are −21, and the column's own value is at its limit.
    try peers[1].run("UPDATE item SET n = 9223372036854775807 WHERE id = 'b'")
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item ORDER BY id", ["3", "9223372036854775786"])
    // SQLite makes a real of it.
    try peers[2].run("UPDATE item SET n = n + 100 WHERE id = 'b'")
    try synchronize(peers)
    try expectEqual(peers, "SELECT typeof(n) FROM item ORDER BY id", ["\"integer\"", "\"real\""])
  }

  @Test("writes without triggers count from the value that the row showed")
  func uncapturedWrites() throws {
    let peers = try peers()
    for peer in peers { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(peers)
    try peers[0].run(
      "UPDATE mesh_state SET applying = 1; UPDATE item SET n = n + 10; UPDATE mesh_state SET applying = 0")
    try peers[1].run("UPDATE item SET n = n + 1")
    try peers[0].store.capture.rescan()
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["19"])
  }

  @Test("a policy for rows that exist begins with their values")
  func laterPolicy() throws {
    let peers = try (1...3).map { try peer($0, [:]) }
    try peers[0].run("INSERT INTO item VALUES ('a', 5, 5, 5, 't'), ('b', NULL, 5, 5, 't')")
    try synchronize(peers)
    for peer in peers { try peer.store.schema.setPolicies(Self.policies, now: peer.now) }
    for peer in peers { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item ORDER BY id", ["8", "NULL"])
    #expect(try peers[0].store.localWrites.pendingCount() == 0)
  }

  @Test("columns that can't have a policy are refused with the reason")
  func refusals() throws {
    let peer = try peer(1, [:])
    let error = #expect(throws: StoreError.self) {
      try peer.store.schema.setPolicies(
        ["item": ["id": .greatest, "title": .counter, "missing": .least, "n": .counter]], now: peer.now)
    }
    #expect(error?.reasons.count == 3)
    try peer.run("INSERT INTO item VALUES ('a', 5, 5, 5, 't'); UPDATE item SET n = n + 1")
    #expect(try peer.rows("SELECT count(*) FROM mesh_pending WHERE op = 9") == ["0"])
  }

  @Test("the later setting of a policy wins, and the account's own comes before an owner's")
  func settings() throws {
    let peer = try peer(1, ["item": ["n": .counter]])
    let device = Author(device: peer.author.device, instance: InstanceID(1)).device
    func learn(_ policy: ColumnPolicy, at time: Int64, isOwn: Bool) throws -> ColumnPolicy? {
      var description = try #require(try peer.store.schema.schemaDescriptions().first)
      description.policies = [ColumnPolicySetting(column: "N", policy: policy, time: time)]
      _ = try peer.store.schema.saveForeignSchema([description], device: device, isOwn: isOwn)
      return try peer.store.schema.schemaDescriptions().first?.policies.first?.policy
    }
    #expect(try learn(.greatest, at: peer.now - 1, isOwn: true) == .counter)
    #expect(try learn(.greatest, at: peer.now + 1, isOwn: false) == .counter)
    #expect(try learn(.greatest, at: peer.now + 1, isOwn: true) == .greatest)
    try peer.store.schema.setPolicies(["item": ["n": .last]], now: peer.now - 1_000)
    #expect(try peer.store.schema.schemaDescriptions().first?.policies.first?.policy == .last)
    #expect(try learn(.greatest, at: peer.now + 1, isOwn: true) == .last)
  }

  @Test(
    "random writes and exchanges end equal, and increments alone end exact",
    arguments: TestSeeds.through(20 as UInt64))
  func randomHistories(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let peers = try peers(3, "('a', 0, 0, 0, 't'), ('b', 0, 0, 0, 't'), ('c', 0, 0, 0, 't')")
    var sum = 0
    for _ in 0..<60 {
      let peer = peers[Int.random(in: 0..<3, using: &generator)]
      let number = Int.random(in: -9...9, using: &generator)
      switch Int.random(in: 0..<12, using: &generator) {
      case 0..<4:
        sum += number
        try peer.run("UPDATE item SET n = n + \(number) WHERE id = 'a'")
      case 4: try peer.run("UPDATE item SET n = n + \(number), best = \(number), low = \(number) WHERE id = 'b'")
      case 5: try peer.run("UPDATE item SET n = \(number), best = NULL WHERE id = 'b'")
      case 6: try peer.run("UPDATE item SET n = NULL, low = 'x' WHERE id = 'b'")
      case 7: try peer.run("DELETE FROM item WHERE id = 'c'")
      case 8: try peer.run("INSERT OR REPLACE INTO item VALUES ('c', \(number), \(number), \(number), 'x')")
      case 9: try peer.flush()
      default: try peer.pull(from: peers[Int.random(in: 0..<3, using: &generator)])
      }
    }
    try synchronize(peers)
    let shown = try peers[0].rows(rows)
    try expectEqual(peers, rows, shown)
    try expectEqual(peers, "SELECT n FROM item WHERE id = 'a'", ["\(sum)"])
    for peer in peers {
      #expect(try peer.store.localWrites.pendingCount() == 0 && peer.store.figures.heldCounts().isEmpty)
    }
    // A file that merges the same change sets from the beginning shows the same, whatever it knows of policies.
    let late = try peer(9, [:])
    try late.pull(from: peers[1])
    try expectEqual([late] + peers, rows, shown)
  }

  @Test("a cut takes the author's increments back and leaves those of others")
  func cut() throws {
    let peers = try peers()
    for peer in peers { try peer.run("UPDATE item SET n = n + 1, best = best + 1") }
    try peers[2].run("UPDATE item SET n = n + 100, best = 100")
    try synchronize(peers)
    try expectEqual(peers, "SELECT n, best FROM item", ["108|100"])
    for peer in peers[..<2] {
      peer.cuts = [peers[2].author: 0]
      try peer.store.merges.revert(
        peer.cuts, aftermath: [peers[2].author: .kept], zone: Peer.zone, peer.reader, now: peer.now)
    }
    try expectEqual(Array(peers[..<2]), "SELECT n, best FROM item", ["7|6"])
    for peer in peers[..<2] { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(Array(peers[..<2]))
    try expectEqual(Array(peers[..<2]), "SELECT n FROM item", ["9"])
  }

  @Test("a device that writes on as another instance loses no increment")
  func nextInstance() throws {
    let peers = try peers()
    for peer in peers { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(peers)
    try peers[0].renew(InstanceID(77))
    for peer in peers { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["11"])
  }

  @Test("a deleted row comes back with its counts")
  func restoredRow() throws {
    let peers = try peers()
    for peer in peers { try peer.run("UPDATE item SET n = n + 1, best = best + 1") }
    try synchronize(peers)
    try peers[0].run("DELETE FROM item")
    try synchronize(peers)
    let restored = try peers[1].store.history.restore(
      .record(table: "item", key: .text(Array("a".utf8)), columns: [])
    ) { _ in peers[1].reader }
    #expect(restored.lacking.isEmpty)
    try synchronize(peers)
    try expectEqual(peers, "SELECT n, best FROM item", ["8|6"])
    for peer in peers { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["11"])
  }

  @Test("counts that lost against a delete are listed by column and device, and come back")
  func lostCounts() throws {
    let peers = try peers()
    for peer in peers { try peer.run("UPDATE item SET n = n + 1") }
    try synchronize(peers)
    try peers[1].run("UPDATE item SET n = n + 10")
    try peers[1].flush()
    peers[0].now += 5
    try peers[0].run("DELETE FROM item")
    try synchronize(peers)
    let lost = try peers.flatMap { try $0.store.conflicts.list(limit: 9) }
    #expect(!lost.isEmpty)
    #expect(lost.allSatisfy { $0.column == "n (counted by \(peers[1].author))" })
    let conflict = try #require(try peers[1].store.conflicts.list(limit: 1).first)
    let restored = try peers[1].store.history.restore(.conflict(conflict.id)) { _ in peers[1].reader }
    #expect(restored.lacking.isEmpty)
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["18"])
    #expect(throws: RestoreError.counted(column: conflict.column ?? "", in: "n")) {
      try peers[1].store.history.restore(.conflict(conflict.id)) { _ in peers[1].reader }
    }
  }

  @Test("a part counts however its name is spelled, and whichever spelling came first")
  func spelledParts() throws {
    let peers = try peers()
    try peers[0].run("UPDATE item SET n = n + 1")
    try peers[0].flush()
    let name = ColumnPart(.counter, author: peers[0].author, column: "n").name
    // A file that merged another device's spelling first has that one.
    try peers[2].run("INSERT INTO mesh_column (tbl, name) SELECT id, upper('\(name)') FROM mesh_table")
    try peers[2].reopen()
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["6"])
  }

  /// Returns the kept values of item a's title that a peer explains.
  private func kept(_ peer: Peer) throws -> [Value] {
    let records = try peer.store.history.explain(table: "item", key: .text(Array("a".utf8))) { _ in peer.reader }
    return try #require(records.first).columns.filter { $0.name.hasPrefix("title (kept by ") }.map(\.value)
  }

  @Test("keepBoth shows the last edit, and every device has the values of each")
  func keptValues() throws {
    let peers = try (1...3).map { try peer($0, ["item": ["title": .keepBoth]]) }
    try peers[0].run("INSERT INTO item VALUES ('a', 5, 5, 5, 't')")
    try synchronize(peers)
    #expect(try kept(peers[0]).isEmpty)
    for (index, peer) in peers.enumerated() {
      try peer.run("UPDATE item SET title = 'first'")
      try peer.flush()
      peer.now += Int64(index)
      try peer.run("UPDATE item SET title = 'title \(index)', n = n + 1")
    }
    try synchronize(peers)
    let shown = try peers[0].rows("SELECT title FROM item")
    try expectEqual(peers, "SELECT title FROM item", shown)
    #expect(shown == ["\"title 2\""])
    for peer in peers {
      #expect(
        try Set(kept(peer)) == Set(["first", "title 0", "title 1", "title 2"].map { Value.text(Array($0.utf8)) }))
      #expect(try kept(peer).count == 6)
      #expect(try kept(peer) == kept(peers[0]))
    }
    try peers[1].run("UPDATE item SET title = NULL")
    try synchronize(peers)
    try expectEqual(peers, "SELECT title FROM item", ["NULL"])
    #expect(try kept(peers[2]).contains(.null) && kept(peers[2]).count == 7)
    #expect(
      try peers.allSatisfy { try $0.store.figures.heldCounts().isEmpty && $0.store.localWrites.pendingCount() == 0 })
    // Such values don't prevent other policies of the same column, and stay when the policy goes.
    for peer in peers { try peer.store.schema.setPolicies(["item": ["title": .greatest]], now: peer.now) }
    try peers[0].run("UPDATE item SET title = 'z'")
    try peers[1].run("UPDATE item SET title = 'y'")
    try synchronize(peers)
    try expectEqual(peers, "SELECT title FROM item", ["\"z\""])
    #expect(try kept(peers[0]).count == 7)
    // A longer text and a BLOB are assigned only.
    for peer in peers { try peer.store.schema.setPolicies(["item": ["title": .keepBoth]], now: peer.now) }
    try peers[0].run("UPDATE item SET title = x'00'")
    try synchronize(peers)
    try peers[1].run("UPDATE item SET title = printf('%.*c', 20000, 'x')")
    try synchronize(peers)
    try expectEqual(peers, "SELECT length(title) FROM item", ["20000"])
    #expect(try kept(peers[0]).count == 7)
  }

  @Test("keepBoth keeps a value that lost while its device writes again, up to the eighth of each device")
  func keptHistory() throws {
    let peers = try (1...2).map { try peer($0, ["item": ["title": .keepBoth]]) }
    try peers[0].run("INSERT INTO item VALUES ('a', 5, 5, 5, 't')")
    try synchronize(peers)
    try peers[0].run("UPDATE item SET title = 'lost'")
    peers[1].now += 10
    try peers[1].run("UPDATE item SET title = 'won'")
    try synchronize(peers)
    try expectEqual(peers, "SELECT title FROM item", ["\"won\""])
    func texts(_ texts: [String]) -> Set<Value> { Set(texts.map { .text(Array($0.utf8)) }) }
    for number in 1...9 {
      peers[0].now += 20
      try peers[0].run("UPDATE item SET title = 'title \(number)'")
      if number == 8 { try peers[0].reopen() }
      try synchronize(peers)
      let own = (["lost"] + (1...number).map { "title \($0)" }).suffix(ColumnPart.keptValues)
      for peer in peers { #expect(try Set(kept(peer)) == texts(own + ["won"])) }
      #expect(try kept(peers[0]).count == own.count + 1)
    }
    #expect(
      try peers.allSatisfy { try $0.store.figures.heldCounts().isEmpty && $0.store.localWrites.pendingCount() == 0 })
    // The values continue under a new name of the column.
    for peer in peers {
      try peer.run("ALTER TABLE item RENAME COLUMN title TO name")
      try peer.reopen()
    }
    try synchronize(peers)
    let columns = try #require(
      peers[1].store.history.explain(table: "item", key: .text([97])) { _ in peers[1].reader }.first
    )
    .columns.filter { $0.name.hasPrefix("name (kept by ") }
    #expect(Set(columns.map(\.value)) == texts((2...9).map { "title \($0)" } + ["won"]))
  }

  @Test("the older copy of a table that is synchronized again is not among the kept values")
  func keptValuesOfOlderCopy() throws {
    let peers = try (1...2).map { try peer($0, ["item": ["title": .keepBoth]]) }
    try peers[1].store.tables.untrack(["item"])
    try peers[0].run("INSERT INTO item VALUES ('a', 5, 5, 5, 't')")
    try peers[0].flush()
    try peers[0].run("UPDATE item SET title = 'now'")
    try peers[0].flush()
    try peers[1].run("INSERT INTO item VALUES ('a', 5, 5, 5, 'older')")
    try peers[1].pull(from: peers[0])
    peers[1].now = peers[0].now + 60_000
    try peers[1].store.tables.track(tables: ["item"], now: peers[1].now)
    try synchronize(peers)
    try expectEqual(peers, "SELECT title FROM item", ["\"now\""])
    for peer in peers { #expect(try kept(peer) == [.text(Array("now".utf8))]) }
    #expect(try peers[1].store.conflicts.list(limit: 9).map(\.loserValue) == [.text(Array("older".utf8))])
  }

  @Test("keepBoth needs no note of the former value")
  func keepingCostsNoNote() throws {
    let peer = try peer(1, ["item": ["title": .keepBoth]])
    try peer.run("INSERT INTO item VALUES ('a', 5, 5, 5, 't'); UPDATE item SET title = 'u'")
    #expect(try peer.rows("SELECT count(*) FROM mesh_pending WHERE op = 9") == ["0"])
  }
}
