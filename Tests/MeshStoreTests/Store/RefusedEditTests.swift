import MeshCore
import Testing

@testable import MeshStore

/// Valid edits that a table refuses once they are merged: the table keeps the last version that it accepted.
@Suite struct RefusedEditTests {
  private static let span = """
    CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, title TEXT, start INTEGER, stop INTEGER, CHECK (start < stop));
    CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, t TEXT NOT NULL REFERENCES t (id) ON DELETE CASCADE)
    """

  private func peers(_ count: UInt8 = 2) throws -> [Peer] {
    let peers = try (1...count).map { try Peer($0, schema: Self.span, track: ["t", "note"]) }
    try peers[0].run("INSERT INTO t VALUES ('e', 'walk', 5, 10); INSERT INTO note VALUES ('n', 'e')")
    try synchronize(peers)
    return peers
  }

  /// One moves the start and the other the stop: each fits, and both together don't.
  private func crossed() throws -> (Peer, Peer) {
    let peers = try peers()
    try peers[0].run("UPDATE t SET start = 8")
    try peers[1].run("UPDATE t SET stop = 7")
    try synchronize(peers)
    return (peers[0], peers[1])
  }

  private func rows(_ peer: Peer) throws -> [String] { try peer.rows("SELECT title, start, stop FROM t") }

  @Test("two valid edits that break a CHECK together leave the row and its children where they are")
  func crossedEditsKeepTheRow() throws {
    let (a, b) = try crossed()
    #expect(try rows(a) == ["\"walk\"|8|10"])
    #expect(try rows(b) == ["\"walk\"|5|7"])
    for peer in [a, b] {
      #expect(try peer.rows("SELECT id FROM note") == ["\"n\""])
      #expect(try peer.store.figures.status().held == [.editRefused: 1])
    }
    let held = try #require(try a.store.held.list(limit: 9).first)
    #expect(held.reason == .editRefused && held.since != nil)
    #expect(held.message?.contains("start < stop") == true)
    #expect(held.refused == [.init(column: "stop", merged: .integer(7), shown: .integer(10))])
    #expect(
      try b.store.held.list(limit: 9).first?.refused
        == [.init(column: "start", merged: .integer(8), shown: .integer(5))])
    #expect(try a.digest() == b.digest())
  }

  @Test("a rescan takes the shown version for no edit")
  func rescanFindsNothing() throws {
    let (a, b) = try crossed()
    for peer in [a, b] {
      try peer.store.capture.rescan()
      #expect(try peer.flush() == 0)
    }
    try synchronize([a, b])
    #expect(try rows(a) == ["\"walk\"|8|10"] && rows(b) == ["\"walk\"|5|7"])
    #expect(try a.digest() == b.digest())
  }

  @Test("edits of other columns reach a row whose merged version is refused")
  func otherColumnsGoOn() throws {
    let (a, b) = try crossed()
    try a.run("UPDATE t SET title = 'run'")
    try b.pull(from: a)
    #expect(try rows(b) == ["\"run\"|5|7"])
    #expect(
      try b.store.figures.status().held == [.editRefused: 1] && a.store.figures.status().held == [.editRefused: 1])
    #expect(try a.digest() == b.digest())
  }

  @Test("an edit of the shown row settles the record when the result fits")
  func anEditSettles() throws {
    let (a, b) = try crossed()
    try a.run("UPDATE t SET stop = 12")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"walk\"|8|12"] && peer.store.figures.status().held.isEmpty) }
    #expect(try a.digest() == b.digest())
    // Nobody who read the row had seen the refused value.
    #expect(try a.store.conflicts.list(limit: 9).map(\.loserValue) == [.integer(7)])
  }

  @Test("an edit that makes the merged values fit shows them")
  func anEditMakesRoom() throws {
    let (a, b) = try crossed()
    try a.run("UPDATE t SET start = 6")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"walk\"|6|7"] && peer.store.figures.status().held.isEmpty) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a value that is written over what the row shows is an edit though it is the same")
  func theSameValueIsAnEdit() throws {
    let (a, b) = try crossed()
    try a.run("UPDATE t SET stop = 11; UPDATE t SET stop = 10")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"walk\"|8|10"]) }
  }

  @Test("a third device that comes later shows a version that its table accepted")
  func aThirdDeviceShowsTheRecord() throws {
    let (a, b) = try crossed()
    let c = try Peer(3, schema: Self.span, track: ["t", "note"])
    try c.pull(from: a)
    #expect(try c.rows("SELECT id FROM t") == ["\"e\""] && c.rows("SELECT id FROM note") == ["\"n\""])
    #expect(try c.digest() == b.digest())
  }

  @Test("a refused record that lost its parent comes back with it as the table accepted it")
  func theParentGoesAndReturns() throws {
    let schema = """
      CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES list (id), v)
      """
    let a = try Peer(1, schema: schema, track: ["list", "t"])
    let b = try Peer(2, schema: schema.replacing(", v)", with: ", v CHECK (v < 10))"), track: ["list", "t"])
    try a.run("INSERT INTO list VALUES ('l'); INSERT INTO t VALUES ('e', 'l', 1)")
    try b.pull(from: a)
    try a.run("UPDATE t SET v = 11")
    try b.pull(from: a)
    try a.run("DELETE FROM list")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t").isEmpty)
    try a.run("INSERT INTO list VALUES ('l')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id, v FROM t") == ["\"e\"|1"])
    #expect(try b.store.held.list(limit: 9).map(\.reason) == [.editRefused])
    #expect(try a.digest() == b.digest())
  }

  @Test("a row stays if what is left after a cut is refused")
  func aCutLeavesARefusedVersion() throws {
    let peers = try peers(3)
    try peers[0].run("UPDATE t SET start = 8")
    try peers[1].run("UPDATE t SET stop = 7")
    // It makes both fit.
    try peers[2].run("UPDATE t SET start = 6")
    try synchronize(peers)
    let a = peers[0]
    #expect(try rows(a) == ["\"walk\"|6|7"])
    a.cuts = [peers[2].author: 0]
    try a.store.merges.revert(a.cuts, zone: Peer.zone, a.reader, now: a.now)
    #expect(try a.rows("SELECT id FROM t") == ["\"e\""] && a.rows("SELECT id FROM note") == ["\"n\""])
    #expect(try a.store.held.list(limit: 9).map(\.reason) == [.editRefused])
  }

  // MARK: Settling by a verb

  private func resolve(
    _ peer: Peer, _ values: [String: String], keepsShown: Bool = false, key: String = "e"
  ) throws -> ResolvedRecord {
    try peer.store.held.resolve(
      Resolution(table: "t", keys: [.text(Array(key.utf8))], values: values, keepsShown: keepsShown), now: peer.now)
  }

  @Test("a chosen value settles the record everywhere, and only that column is an edit")
  func aChosenValueSettles() throws {
    let (a, b) = try crossed()
    let resolved = try resolve(a, ["stop": "20"])
    #expect(resolved.values == ["stop": .integer(20)])
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"walk\"|8|20"] && peer.store.figures.status().held.isEmpty) }
    #expect(try a.digest() == b.digest())
    #expect(try b.store.conflicts.list(limit: 9).isEmpty, "nobody else's value was overwritten unseen")
  }

  @Test("a value for another column shows the merged value of the refused one")
  func theMergedValueIsTaken() throws {
    let (a, b) = try crossed()
    _ = try resolve(a, ["start": "6"])
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"walk\"|6|7"] && peer.store.figures.status().held.isEmpty) }
  }

  @Test("what the row shows can be kept")
  func theShownValuesAreKept() throws {
    let (a, b) = try crossed()
    _ = try resolve(b, [:], keepsShown: true)
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"walk\"|5|7"] && peer.store.figures.status().held.isEmpty) }
    #expect(try b.store.conflicts.list(limit: 9).map(\.loserValue) == [.integer(8)])
  }

  @Test("a choice that the table refuses as well changes nothing, and says what SQLite says")
  func aRefusedChoiceChangesNothing() throws {
    let (a, b) = try crossed()
    #expect(throws: ResolveError.refused("CHECK constraint failed: start < stop")) { try resolve(a, ["stop": "3"]) }
    #expect(throws: ResolveError.nothingChosen) { try resolve(a, [:]) }
    #expect(throws: ResolveError.unknownColumn(table: "t", column: "id")) { try resolve(a, ["id": "3"]) }
    #expect(try a.flush() == 0 && rows(a) == ["\"walk\"|8|10"])
    #expect(try a.store.figures.status().held == [.editRefused: 1] && a.digest() == b.digest())
    #expect(throws: ResolveError.notRefused(table: "t", key: .text("f"))) {
      try a.run("INSERT INTO t VALUES ('f', '', 1, 2)")
      try a.flush()
      _ = try resolve(a, ["stop": "9"], key: "f")
    }
  }

  @Test("a refused record can't be discarded, because its row is in the table, and the refusal says so")
  func aRefusedRecordIsNotDiscarded() throws {
    let (a, _) = try crossed()
    #expect(throws: DiscardError.shown(table: "t", key: .text("e"))) {
      try a.store.held.discard(table: "t", keys: [[.text(Array("e".utf8))]], now: a.now)
    }
  }

  @Test("a deleted record whose last version was refused is restored by an INSERT of the values that the refusal names")
  func aRestoreThatIsRefusedNamesTheValues() throws {
    let (a, b) = try crossed()
    try a.run("DELETE FROM t")
    try synchronize([a, b])
    let key = Value.text(Array("e".utf8))
    do {
      _ = try b.store.history.restore(.record(table: "t", key: key, columns: [])) { _ in b.reader }
      Issue.record("it fits")
    } catch let error as RestoreError {
      let values: [String: Value] = ["start": .integer(8), "stop": .integer(7), "title": .text(Array("walk".utf8))]
      #expect(error == .refused("CHECK constraint failed: start < stop", values: values))
      #expect(error.description.contains("start = 8, stop = 7, title = 'walk'"))
    }
    try b.run("INSERT INTO t VALUES ('e', 'walk', 7, 8)")
    try b.flush()
    _ = try b.store.history.restore(.record(table: "note", key: .text(Array("n".utf8)), columns: [])) { _ in b.reader }
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"walk\"|7|8"] && peer.rows("SELECT id FROM note") == ["\"n\""]) }
  }

  @Test("a record that never fitted is shown with chosen values")
  func aRecordThatNeverFittedIsSettled() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v, w)", track: ["t"])
    let b = try Peer(
      2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v CHECK (v < 10), w NOT NULL)", track: ["t"])
    try a.run("INSERT INTO t VALUES ('e', 11, NULL)")
    try b.pull(from: a)
    #expect(
      try b.store.held.list(limit: 9).first?.refused == [
        .init(column: "v", merged: .integer(11), shown: nil), .init(column: "w", merged: .null, shown: nil),
      ])
    #expect(throws: ResolveError.refused("NOT NULL constraint failed: t.w")) { try resolve(b, ["v": "9"]) }
    _ = try resolve(b, ["v": "9", "w": "'x'"])
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT * FROM t") == ["\"e\"|9|\"x\""]) }
    #expect(try b.store.figures.status().held.isEmpty && a.digest() == b.digest())
  }

  @Test("a row is refused since the first edit that its table refused")
  func sinceTheFirstEdit() throws {
    let (a, b) = try crossed()
    let since = try #require(try a.store.held.list(limit: 9).first?.since)
    for stop in [6, 7, 6] {
      try b.run("UPDATE t SET stop = \(stop)")
      try a.pull(from: b)
      #expect(try a.store.held.list(limit: 9).map(\.since) == [since])
    }
  }

  @Test("a version that the table refuses stays merged while the table is not synchronized for a while")
  func untrackedMeanwhile() throws {
    let (a, b) = try crossed()
    try a.store.tables.untrack(["note", "t"])
    try a.store.tables.track(tables: ["t", "note"], now: a.now)
    try synchronize([a, b])
    #expect(try rows(a) == ["\"walk\"|8|10"] && rows(b) == ["\"walk\"|5|7"])
    #expect(try a.digest() == b.digest())
    for peer in [a, b] { #expect(try peer.store.conflicts.list(limit: 9).isEmpty) }
    try a.run("UPDATE t SET stop = 20")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"walk\"|8|20"]) }
  }

  @Test("a decision doesn't overwrite what a program wrote since")
  func writtenSince() throws {
    let (a, b) = try crossed()
    try a.run("UPDATE t SET title = 'run', stop = 30")
    #expect(throws: ResolveError.written) {
      try a.store.held.resolve(Resolution(table: "t", keys: [.text("e")], values: ["stop": "20"]), now: a.now)
    }
    #expect(try rows(a) == ["\"run\"|8|30"])
    try synchronize([a, b])
    for peer in [a, b] { #expect(try rows(peer) == ["\"run\"|8|30"]) }
  }
}
