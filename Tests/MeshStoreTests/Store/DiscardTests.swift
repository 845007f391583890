import MeshCore
import Testing

@testable import MeshStore

/// A record that is held is in no table, so no SQL deletes it: it is discarded.
@Suite struct DiscardTests {
  private static let schema = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list ON DELETE CASCADE, n INTEGER);
    """

  private func peers(_ here: String = schema) throws -> (Peer, Peer) {
    (
      try Peer(1, schema: Self.schema, track: ["list", "item"]),
      try Peer(2, schema: here, track: here.isEmpty ? [] : ["list", "item"])
    )
  }

  @discardableResult
  private func discard(_ peer: Peer, _ table: String, _ keys: String...) throws -> [DiscardedRecord] {
    try peer.store.held.discard(table: table, keys: keys.map { [.text(Array($0.utf8))] }, now: peer.now)
  }

  private func refusal(_ body: () throws -> Void) -> DiscardError? {
    do { try body() } catch { return error as? DiscardError }
    return nil
  }

  @Test("a discarded record is deleted on both peers and returns when it is restored")
  func itIsDeletedEverywhereAndComesBackWhenItIsRestored() throws {
    let (a, b) = try peers()
    try a.run("INSERT INTO item VALUES ('i', 'l', 1), ('j', 'l', 2), ('k', 'l', 3)")
    try synchronize([a, b])
    #expect(try discard(b, "ITEM", "i", "j").map(\.key) == [.text(Array("i".utf8)), .text(Array("j".utf8))])
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.store.held.list(limit: 9).map(\.key) == [.text(Array("k".utf8))]) }
    try a.run("INSERT INTO list VALUES ('l')")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT id FROM item") == ["\"k\""]) }
    _ = try a.store.history.restore(.record(table: "item", key: .text(Array("i".utf8)), columns: [])) { _ in a.reader }
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT id, n FROM item ORDER BY id") == ["\"i\"|1", "\"k\"|3"]) }
    #expect(try a.digest() == b.digest() && a.flush() == 0 && b.flush() == 0)
  }

  @Test("discarding a record that a CHECK refuses deletes it on the peer that shows it")
  func whatAConstraintRefusesHereGoesWhereItIsShownAsWell() throws {
    let (a, b) = try peers(Self.schema.replacing("n INTEGER", with: "n INTEGER CHECK (n < 10)"))
    try a.run("INSERT INTO list VALUES ('l'); INSERT INTO item VALUES ('i', 'l', 50), ('j', NULL, 1)")
    try synchronize([a, b])
    #expect(try b.store.held.list(limit: 9).map(\.reason) == [.constraint])
    try discard(b, "item", "i")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT id FROM item") == ["\"j\""]) }
    #expect(try a.digest() == b.digest() && b.store.figures.status().held.isEmpty)
  }

  @Test("a record whose table never existed on this device can be discarded") func aRecordWhoseTableWasNeverHereGoes()
    throws
  {
    let (a, b) = try peers("")
    try a.run("INSERT INTO list VALUES ('l'), ('m')")
    try b.pull(from: a)
    try discard(b, "list", "l")
    try a.pull(from: b)
    #expect(try a.rows("SELECT id FROM list") == ["\"m\""])
    // And after the file was opened again.
    try b.reopen()
    try discard(b, "list", "m")
    try a.pull(from: b)
    #expect(try a.rows("SELECT id FROM list").isEmpty && a.digest() == b.digest())
  }

  @Test("a record whose table was dropped on this device can be discarded") func aRecordWhoseTableWasDroppedGoes()
    throws
  {
    let (a, b) = try peers()
    try a.run("INSERT INTO list VALUES ('l'), ('m')")
    try synchronize([a, b])
    try b.run("DROP TABLE list")
    try b.flush()
    try discard(b, "list", "l")
    try a.pull(from: b)
    #expect(try a.rows("SELECT id FROM list") == ["\"m\""] && a.digest() == b.digest())
  }

  @Test("a record whose text the key column makes a number of is discarded beside the row of that number")
  func aRecordWithAnUnfitKeyGoesAlone() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
    try b.store.tables.track(tables: ["t"], integerKeys: true, now: b.now)
    try a.run("INSERT INTO t VALUES ('7', 'text')")
    try b.run("INSERT INTO t VALUES (7, 'number')")
    try synchronize([a, b])
    #expect(try b.store.held.list(limit: 9).map(\.key) == [.text(Array("7".utf8))])
    #expect(try b.store.tables.keys(written: "'7'", table: "t").first == .text(Array("7".utf8)))
    #expect(try b.store.tables.keys(written: "7", table: "t").first == .integer(7))
    try discard(b, "t", "7")
    try synchronize([a, b])
    #expect(try a.rows("SELECT v FROM t").isEmpty && b.rows("SELECT v FROM t") == ["\"number\""])
    #expect(try b.store.held.list(limit: 9).isEmpty)
    #expect(try a.digest() == b.digest())
    // Restoring it here would overwrite the row of the number.
    let wanted = Restoration.record(table: "t", key: .text(Array("7".utf8)), columns: [])
    #expect(throws: RestoreError.self) { try b.store.history.restore(wanted) { _ in b.reader } }
    #expect(try b.rows("SELECT v FROM t") == ["\"number\""])
  }

  @Test("a discard that names a record that is not held changes nothing")
  func whatIsNotHeldIsRefusedAndNothingOfTheRestIsDone() throws {
    let (a, _) = try peers()
    try a.run("INSERT INTO item VALUES ('i', 'l', 1), ('shown', NULL, 1), ('gone', NULL, 2)")
    try a.flush()
    try a.run("DELETE FROM item WHERE id = 'gone'")
    try a.flush()
    #expect(refusal { try discard(a, "item", "i", "shown") } == .notHeld(table: "item", key: .text("i")))
    #expect(refusal { try discard(a, "item", "gone") } == .notHeld(table: "item", key: .text("gone")))
    #expect(refusal { try discard(a, "item", "never") } == .unknownRecord(table: "item", key: .text("never")))
    #expect(throws: StoreError.self) { try discard(a, "nowhere", "i") }
    try a.store.tables.untrack(["item"])
    #expect(refusal { try discard(a, "item", "shown") } == .untracked(table: "item"))
    #expect(try a.store.localWrites.pendingCount() == 0)
  }

  // MARK: Shares

  @Test("discarding a record whose key another zone's row has leaves that row") func theRowOfAnotherZoneStaysWhereItIs()
    throws
  {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.run("INSERT INTO lists VALUES ('own', 'mine'); INSERT INTO reminders VALUES ('r1', 'own', 'bob', 0)")
    try bob.settle()
    try bob.pull(SharedList.share, from: alice)
    #expect(try bob.held().values.contains(.slotTaken))
    let wanted = try bob.store.held.discardable(table: "reminders", keys: [[.text("r1")]])
    #expect(try bob.store.localWrites.pendingCount() == 0)
    #expect(try bob.store.held.discard(table: "reminders", keys: [[.text("r1")]], now: bob.now) == wanted)
    #expect(wanted.map(\.reason) == [.slotTaken])
    try converge([alice, bob], { _ in [SharedList.share] })
    #expect(try bob.rows("SELECT id, title FROM reminders") == ["r1|bob"])
    #expect(try alice.rows("SELECT id FROM reminders ORDER BY id") == ["r2"])
    #expect(try alice.store.zones.digest(SharedList.share) == bob.store.zones.digest(SharedList.share))
  }

  @Test("a discarded record comes back by its zone, as soon as no other record has its key")
  func comesBackByItsZone() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.run("INSERT INTO lists VALUES ('own', 'mine'); INSERT INTO reminders VALUES ('r1', 'own', 'bob', 0)")
    try bob.settle()
    try bob.pull(SharedList.share, from: alice)
    _ = try bob.store.held.discard(table: "reminders", keys: [[.text("r1")]], now: bob.now)
    try converge([alice, bob], { _ in [SharedList.share] })
    func restore(in zone: ZoneID?) throws {
      let wanted = Restoration.record(table: "reminders", key: .text("r1"), columns: [], descendants: true, zone: zone)
      _ = try bob.store.history.restore(wanted, bob.reader)
    }
    #expect(throws: RestoreError.noDescendants(table: "reminders", key: .text("r1"))) { try restore(in: nil) }
    let taken = RestoreError.taken(table: "reminders", key: .text("r1"), by: SharedList.bobs)
    #expect(throws: taken) { try restore(in: SharedList.share) }
    // The other record leaves the key later than the discarded one.
    try bob.run("UPDATE reminders SET id = 'r9' WHERE id = 'r1'")
    try bob.settle()
    try restore(in: SharedList.share)
    try converge([alice, bob], { _ in [SharedList.share] })
    #expect(try bob.rows("SELECT id, title FROM reminders ORDER BY id") == ["r1|milk", "r9|bob"])
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["milk"])
    #expect(try bob.held().isEmpty && alice.held().isEmpty)
    for member in [alice, bob] { #expect(try member.rows("SELECT title FROM steps WHERE id = 's1'") == ["go"]) }
    #expect(try alice.store.zones.digest(SharedList.share) == bob.store.zones.digest(SharedList.share))
  }

  @Test("a record is not restored in the place of another zone's held record")
  func heldRecordsStay() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    let desk = try Member(10, [ZoneStanding(zone: SharedList.bobs, role: .privateZone)])
    try bob.run("INSERT INTO lists VALUES ('own', 'mine')")
    try bob.settle()
    try desk.pull(SharedList.bobs, from: bob)
    try desk.run("DELETE FROM lists WHERE id = 'own'")
    try desk.settle()
    try bob.run("INSERT INTO reminders VALUES ('r1', 'own', 'bob', 0)")
    try bob.settle()
    try bob.pull(SharedList.bobs, from: desk)
    try bob.pull(SharedList.share, from: alice)
    try alice.run("DELETE FROM reminders WHERE id = 'r1'")
    try alice.settle()
    try bob.pull(SharedList.share, from: alice)
    #expect(try bob.held().values.contains(.parentDeleted))
    let wanted = Restoration.record(table: "reminders", key: .text("r1"), columns: [], zone: SharedList.share)
    let taken = RestoreError.taken(table: "reminders", key: .text("r1"), by: SharedList.bobs)
    #expect(throws: taken) { _ = try bob.store.history.restore(wanted, bob.reader) }
    #expect(try bob.rows("SELECT id FROM reminders WHERE id = 'r1'").isEmpty)
  }

  @Test("the child of a record whose row another record has is told from one whose parent moved")
  func childOfACoveredParent() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.run("INSERT INTO lists VALUES ('own', 'mine'); INSERT INTO reminders VALUES ('r1', 'own', 'bob', 0)")
    try bob.settle()
    try bob.pull(SharedList.share, from: alice)
    let child = try #require(try bob.store.held.list(limit: 9).first { $0.table == "steps" })
    #expect(child.reason == .parentElsewhere && child.isParentCovered)
    try bob.run("DELETE FROM reminders")
    try bob.settle()
    #expect(try bob.rows("SELECT title FROM steps") == ["go"])
  }

  @Test("a read-only participant cannot discard records, and no participant the root")
  func whoMayOnlyReadDiscardsNothingAndNobodyTheRoot() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.run("INSERT INTO lists VALUES ('L', 'mine'); INSERT INTO reminders VALUES ('r1', 'L', 'bob', 0)")
    try bob.settle()
    try bob.pull(SharedList.share, from: alice)
    #expect(
      refusal { _ = try bob.store.held.discard(table: "lists", keys: [[.text("L")]], now: bob.now) } == .root)
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readOnly, root: SharedList.root))
    #expect(
      refusal { _ = try bob.store.held.discard(table: "reminders", keys: [[.text("r1")]], now: bob.now) }
        == .notPermitted)
    #expect(try bob.store.localWrites.pendingCount() == 0)
  }

  @Test("a held record is not discarded after a program wrote a row in its place")
  func writtenSince() throws {
    let a = try Peer(1, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v INTEGER)", track: ["t"])
    let b = try Peer(2, schema: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v INTEGER CHECK (v < 10))", track: ["t"])
    try a.run("INSERT INTO t VALUES ('k', 11)")
    try b.pull(from: a)
    #expect(try b.store.held.list(limit: 9).map(\.reason) == [.constraint])
    try b.run("INSERT INTO t VALUES ('k', 1)")
    #expect(throws: DiscardError.written(table: "t", key: .text("k"))) {
      try b.store.held.discard(table: "t", keys: [[.text("k")]], now: b.now)
    }
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT * FROM t") == ["\"k\"|1"]) }
  }
}
