import MeshCore
import Testing

@testable import MeshStore

/// What was overwritten, lost or deleted comes back as an edit of now.
@Suite struct RestoreTests {
  private static let schema = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, title TEXT);
    CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list ON DELETE CASCADE, a TEXT, b TEXT CHECK (b <> 'no'))
    """

  private func peers() throws -> (Peer, Peer) {
    let (a, b) = (
      try Peer(1, schema: Self.schema, track: ["list", "item"]),
      try Peer(2, schema: Self.schema, track: ["list", "item"])
    )
    try a.run("INSERT INTO list VALUES ('l', 'x'); INSERT INTO item VALUES ('i', 'l', 'a1', 'b1')")
    try b.pull(from: a)
    return (a, b)
  }

  @discardableResult
  private func restore(_ peer: Peer, _ table: String, _ key: String, _ columns: String...) throws -> RestoredRecord {
    try peer.store.history.restore(.record(table: table, key: .text(Array(key.utf8)), columns: columns)) { _ in
      peer.reader
    }
  }

  @Test("a restored column value reaches both peers and can be restored back")
  func whatAColumnHadBeforeComesBackEverywhere() throws {
    let (a, b) = try peers()
    try b.run("UPDATE item SET a = 'a2', b = 'b2'")
    try a.pull(from: b)
    #expect(try restore(a, "item", "i", "A").values == ["a": .text(Array("a1".utf8))])
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT a, b FROM item") == ["\"a1\"|\"b2\""]) }
    // It is an edit like any: again, and what it overwrote is back.
    try restore(b, "item", "i", "a")
    try synchronize([a, b])
    #expect(try a.rows("SELECT a FROM item") == ["\"a2\""] && a.digest() == b.digest())
    #expect(try a.store.conflicts.list(limit: 9).isEmpty)
  }

  @Test("a restored record has its last values and waits for its deleted parent")
  func aDeletedRecordComesBackWithAllThatItHadLast() throws {
    let (a, b) = try peers()
    try b.run("UPDATE item SET b = 'edited'")
    try a.pull(from: b)
    try a.run("DELETE FROM list")
    try synchronize([a, b])
    #expect(try b.rows("SELECT id FROM item").isEmpty)
    // The parent is gone as well: it is said, and the child comes with it.
    let child = try restore(b, "item", "i")
    #expect(child.waitsFor == [.init(table: "list", key: .text(Array("l".utf8)), zone: nil)])
    try synchronize([a, b])
    #expect(try b.store.held.list(limit: 9).map(\.reason) == [.parentDeleted])
    #expect(try restore(a, "list", "l").waitsFor.isEmpty)
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(
        try peer.rows("SELECT item.*, title FROM item JOIN list ON list.id = list") == [
          "\"i\"|\"l\"|\"a1\"|\"edited\"|\"x\""
        ])
    }
    #expect(try a.digest() == b.digest() && a.store.figures.status().held.isEmpty)
  }

  @Test("a restored record brings back the descendants that were deleted with it", arguments: [true, false])
  func whatWentWithARecordComesBackWithIt(foreignKeys: Bool) throws {
    let schema =
      Self.schema + "; CREATE TABLE step (id TEXT PRIMARY KEY NOT NULL, item TEXT REFERENCES item ON DELETE CASCADE)"
    let a = try Peer(1, schema: schema, track: ["list", "item", "step"], foreignKeys: foreignKeys)
    let b = try Peer(2, schema: schema, track: ["list", "item", "step"], foreignKeys: foreignKeys)
    try a.run(
      """
      INSERT INTO list VALUES ('l', 'x'), ('m', 'y');
      INSERT INTO item (id, list) VALUES ('i', 'l'), ('j', 'l'), ('gone before', 'l'), ('other', 'm');
      INSERT INTO step VALUES ('s', 'i'), ('t', 'other');
      """)
    try b.pull(from: a)
    try b.run("DELETE FROM item WHERE id = 'gone before'")
    try a.pull(from: b)
    a.now += 60_000
    try a.run("DELETE FROM list WHERE id = 'l'")
    try b.pull(from: a)
    #expect(try b.rows("SELECT id FROM item") == ["\"other\""])
    let restored = try b.store.history.restore(
      .record(table: "list", key: .text(Array("l".utf8)), columns: [], descendants: true)
    ) { _ in b.reader }
    #expect(restored.descendants == 3)
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(try peer.rows("SELECT id FROM item ORDER BY id") == ["\"i\"", "\"j\"", "\"other\""])
      #expect(try peer.rows("SELECT id FROM step ORDER BY id") == ["\"s\"", "\"t\""])
      #expect(try peer.store.figures.status().held.isEmpty)
    }
    #expect(try a.digest() == b.digest())
  }

  @Test("the descendants of a record that was deleted and inserted again are restored, and the record stays as it is")
  func descendantsOfALiveRecord() throws {
    let schema =
      Self.schema + "; CREATE TABLE step (id TEXT PRIMARY KEY NOT NULL, item TEXT REFERENCES item ON DELETE CASCADE)"
    let a = try Peer(1, schema: schema, track: ["list", "item", "step"], foreignKeys: false)
    let b = try Peer(2, schema: schema, track: ["list", "item", "step"], foreignKeys: false)
    let wanted = Restoration.record(table: "list", key: .text(Array("l".utf8)), columns: [], descendants: true)
    try a.run("INSERT INTO list VALUES ('l', 'x')")
    try a.run("INSERT INTO item (id, list) VALUES ('i', 'l'), ('gone before', 'l'); INSERT INTO step VALUES ('s', 'i')")
    try b.pull(from: a)
    let none = RestoreError.noDescendants(table: "list", key: .text(Array("l".utf8)))
    #expect(throws: none) { try b.store.history.restore(wanted) { _ in b.reader } }
    try b.run("DELETE FROM item WHERE id = 'gone before'")
    try a.pull(from: b)
    a.now += 60_000
    try a.run("DELETE FROM list")
    try a.flush()
    a.now += 1_000
    try a.run("INSERT INTO list VALUES ('l', 'new'); INSERT INTO item (id, list) VALUES ('gone since', 'l')")
    try a.flush()
    try a.run("DELETE FROM item WHERE id = 'gone since'")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT id FROM item UNION SELECT id FROM step").isEmpty) }
    let restored = try b.store.history.restore(wanted) { _ in b.reader }
    #expect(restored.descendants == 2 && restored.isUnchanged)
    try synchronize([a, b])
    for peer in [a, b] {
      #expect(try peer.rows("SELECT title FROM list") == ["\"new\""])
      #expect(try peer.rows("SELECT id FROM item UNION ALL SELECT id FROM step") == ["\"i\"", "\"s\""])
      #expect(try peer.store.figures.status().held.isEmpty)
    }
    #expect(try a.digest() == b.digest())
    #expect(throws: none) { try b.store.history.restore(wanted) { _ in b.reader } }
  }

  @Test("the lost value of a conflict is restored by the conflict's number")
  func theLoserOfAConflictComesBackByItsNumber() throws {
    let (a, b) = try peers()
    try a.run("UPDATE item SET a = 'by a'")
    try a.flush()
    b.now += 1_000
    try b.run("UPDATE item SET a = 'by b'")
    try synchronize([a, b])
    try b.run("UPDATE item SET a = 'later'")
    try synchronize([a, b])
    let conflict = try #require(try a.store.conflicts.list(limit: 9).first)
    #expect(try a.rows("SELECT a FROM item") == ["\"later\""])
    _ = try a.store.history.restore(.conflict(conflict.id)) { _ in a.reader }
    try synchronize([a, b])
    #expect(try b.rows("SELECT a FROM item") == ["\"by a\""] && a.digest() == b.digest())
    #expect(try a.store.conflicts.list(limit: 9).isEmpty, "it lost, and did not in the end")
    #expect(throws: RestoreError.unknownConflict(999)) { try a.store.history.restore(.conflict(999)) { _ in a.reader } }
  }

  @Test("restoring an edit that lost to a delete brings the record back")
  func anEditThatLostToADeleteBringsTheRecordBack() throws {
    let (a, b) = try peers()
    try a.run("DELETE FROM item")
    try b.run("UPDATE item SET a = 'edited meanwhile'")
    try synchronize([a, b])
    let conflict = try #require(try b.store.conflicts.list(limit: 9).first)
    _ = try b.store.history.restore(.conflict(conflict.id)) { _ in b.reader }
    try synchronize([a, b])
    for peer in [a, b] { #expect(try peer.rows("SELECT * FROM item") == ["\"i\"|\"l\"|\"edited meanwhile\"|\"b1\""]) }
    #expect(try a.digest() == b.digest())
  }

  @Test("a restore tells a BLOB without bytes from a missing column")
  func aBLOBWhoseBytesAreGoneIsToldFromAColumnThatTheTableLacks() throws {
    let a = try Peer.withPhotos(1)
    try a.insertPhoto("x", 50_000)
    try a.flush()
    try a.run("DELETE FROM photo")
    try a.flush()
    try a.run("ALTER TABLE photo RENAME COLUMN title TO name")
    try a.flush()
    let restored = try restore(a, "photo", "x")
    #expect(restored.gone == ["image"] && restored.lacking == ["title"])
    #expect(try a.rows("SELECT id = 'x', image FROM photo") == ["1|NULL"])
  }

  @Test("a restore that is impossible fails with the reason and changes nothing, and missing columns are named")
  func whatCannotBeRestoredIsSaidAndChangesNothing() throws {
    let (a, b) = try peers()
    /// What a restore could have changed.
    func state() throws -> [String] {
      let items = try a.rows("SELECT * FROM item ORDER BY id")
      return try items + ["\(a.digest())", "\(a.store.localWrites.pendingCount())", "\(a.flush())"]
    }
    var before = try state()
    #expect(throws: RestoreError.lives(table: "item", key: .text("i"))) { try restore(a, "item", "i") }
    #expect(throws: RestoreError.nothingBeaten(column: "a")) { try restore(a, "item", "i", "a") }
    #expect(throws: RestoreError.unknownColumn(table: "item", column: "z")) { try restore(a, "item", "i", "z") }
    #expect(throws: RestoreError.unknownRecord(table: "item", key: .text("j"))) { try restore(a, "item", "j") }
    #expect(throws: StoreError.self) { try restore(a, "nothing", "i") }
    #expect(try state() == before)
    // The table has become stricter since.
    try b.run("UPDATE item SET b = 'b2'")
    try a.pull(from: b)
    try a.run(
      """
      CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list ON DELETE CASCADE, a TEXT, b TEXT CHECK (b <> 'b1'));
      INSERT INTO n SELECT * FROM item; DROP TABLE item; ALTER TABLE n RENAME TO item
      """)
    try a.flush()
    let refused = RestoreError.refused("CHECK constraint failed: b <> 'b1'", values: ["b": .text(Array("b1".utf8))])
    before = try state()
    #expect(throws: refused) { try restore(a, "item", "i", "b") }
    #expect(try state() == before)
    // A column that is gone is not brought back, and is named.
    try a.run("DELETE FROM item; DROP TRIGGER mesh_capture_2_update; ALTER TABLE item DROP COLUMN a")
    try a.flush()
    #expect(try restore(a, "item", "i").lacking == ["a"])
    #expect(try a.rows("SELECT * FROM item") == ["\"i\"|\"l\"|\"b2\""])
    // What is held has no row to write to.
    try b.run("INSERT INTO item VALUES ('orphan', 'nowhere', 'a', 'b')")
    try a.pull(from: b)
    try a.flush()
    before = try state()
    #expect(throws: RestoreError.held(.missingParent)) { try restore(a, "item", "orphan", "b") }
    #expect(try state() == before)
  }

  @Test("a table that is not synchronized any more is named as such, and its records are counted")
  func untrackedTable() throws {
    let (a, _) = try peers()
    try a.run("DELETE FROM item; INSERT INTO item VALUES ('j', 'l', 'a', 'b')")
    try a.flush()
    #expect(try a.store.held.untracked().isEmpty)
    try a.store.tables.untrack(["item"])
    #expect(throws: RestoreError.untracked(table: "item")) { try restore(a, "item", "i") }
    #expect(throws: RestoreError.untracked(table: "item")) { try restore(a, "item", "j", "a") }
    #expect(try a.store.held.untracked() == ["item": 1])
    try a.store.tables.track(tables: ["item"], now: a.now)
    try a.flush()
    #expect(try a.store.held.untracked().isEmpty)
    try restore(a, "item", "i")
    #expect(try a.rows("SELECT id FROM item ORDER BY id") == ["\"i\"", "\"j\""])
  }

  @Test("a record is not restored if the file has no such table")
  func noTable() throws {
    let (a, _) = try peers()
    let b = try Peer(3)
    try a.run("DELETE FROM item")
    try b.pull(from: a)
    #expect(throws: RestoreError.noTable("item")) { try restore(b, "item", "i") }
  }

  @Test("a record whose row was deleted or inserted meanwhile is not restored over that")
  func changedMeanwhile() throws {
    let (a, b) = try peers()
    try b.run("UPDATE item SET a = 'a2'")
    try a.pull(from: b)
    try a.run("DELETE FROM item")
    #expect(throws: RestoreError.changed) { try restore(a, "item", "i", "a") }
    #expect(try a.rows("SELECT * FROM item").isEmpty)
    try a.flush()
    try a.run("INSERT INTO item VALUES ('i', 'l', 'new', 'new')")
    #expect(throws: RestoreError.changed) { try restore(a, "item", "i") }
    #expect(try a.rows("SELECT a FROM item") == ["\"new\""])
  }
}
