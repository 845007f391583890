import MeshCore
import Testing

@testable import MeshStore

/// An app's triggers run for merged rows too. What they write to synchronized tables is taken back; the rest is theirs.
@Suite struct AppTriggerTests {
  private static let schema = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, items INTEGER NOT NULL DEFAULT 0, price REAL);
    CREATE TABLE item (
      id INTEGER PRIMARY KEY NOT NULL, list TEXT REFERENCES list ON DELETE CASCADE, title TEXT,
      upper TEXT AS (upper(title)), changed TEXT);
    CREATE TABLE history (id TEXT PRIMARY KEY NOT NULL, text) WITHOUT ROWID;
    CREATE TABLE audit (item INTEGER, what TEXT);
    """

  private func peers(_ triggers: String, onlyHere: Bool = false) throws -> (Peer, Peer) {
    let tables = ["list", "item", "history"]
    let a = try Peer(1, schema: Self.schema, track: tables)
    let b = try Peer(2, schema: Self.schema, track: tables)
    try b.run(triggers)
    if !onlyHere { try a.run(triggers) }
    for peer in [a, b] { try peer.upkeep() }
    return (a, b)
  }

  private func rows(_ peer: Peer) throws -> [[String]] {
    try ["list", "item", "history"].map { try peer.rows("SELECT * FROM \($0) ORDER BY id") }
  }

  private func check(_ a: Peer, _ b: Peer) throws {
    #expect(try rows(a) == rows(b))
    #expect(try a.digest() == b.digest())
    #expect(try a.flush() == 0)
    #expect(try b.flush() == 0)
  }

  @Test("a merge undoes a trigger's own timestamp and keeps the one of the writing device")
  func aTimeOfChangeIsTheOneOfTheMachineThatChangedTheRow() throws {
    let (a, b) = try peers(
      """
      CREATE TRIGGER stamp AFTER UPDATE OF title ON item
        BEGIN UPDATE item SET changed = 'at ' || hex(randomblob(8)) WHERE id = NEW.id; END
      """)
    try a.run(
      "INSERT INTO list (id) VALUES ('l'); INSERT INTO item (id, list, title) VALUES (1, 'l', 'one'), (2, 'l', 'two')")
    try b.pull(from: a)
    try a.run("UPDATE item SET title = title || '!'")
    try b.pull(from: a)
    try check(a, b)
    #expect(try b.store.figures.intrudingTriggers() == ["stamp": "item"])
    #expect(try a.store.figures.intrudingTriggers().isEmpty)
    // On its own machine the trigger is the app's.
    try b.run("UPDATE item SET title = 'by b' WHERE id = 2")
    try a.pull(from: b)
    try check(a, b)
  }

  @Test("a counter that triggers keep is not counted again when rows are merged") func countersAreNotCountedTwice()
    throws
  {
    let (a, b) = try peers(
      """
      CREATE TRIGGER more AFTER INSERT ON item BEGIN UPDATE list SET items = items + 1, price = 1 WHERE id = NEW.list; END;
      CREATE TRIGGER fewer AFTER DELETE ON item BEGIN UPDATE list SET items = items - 1 WHERE id = OLD.list; END;
      """)
    try a.run("INSERT INTO list VALUES ('l', 0, 2), ('m', 0, 2.5)")
    try a.run("INSERT INTO item (id, list, title) VALUES (1, 'l', 'one'), (2, 'l', 'two'), (3, 'm', 'three')")
    try b.pull(from: a)
    #expect(try b.rows("SELECT items FROM list ORDER BY id") == ["2", "1"])
    try check(a, b)
    try a.run("DELETE FROM item WHERE id < 3")
    try b.pull(from: a)
    #expect(try b.rows("SELECT items FROM list ORDER BY id") == ["0", "1"])
    try check(a, b)
    #expect(try b.store.figures.intrudingTriggers()["more"] == "list")
  }

  @Test("a merge undoes synchronized rows that a chain of triggers inserted, deleted or updated")
  func rowsThatATriggerInsertsOrDeletesAreTakenBackThroughAChainOfThem() throws {
    let (a, b) = try peers(
      """
      CREATE TRIGGER keep AFTER INSERT ON item
        BEGIN INSERT INTO history VALUES ('h' || NEW.id, NEW.title); DELETE FROM list WHERE id = 'gone'; END;
      CREATE TRIGGER chain AFTER INSERT ON history BEGIN UPDATE list SET items = items + 7; END;
      """, onlyHere: true)
    try a.run("INSERT INTO list VALUES ('l', 1, NULL), ('gone', 1, 9.0)")
    try b.pull(from: a)
    try a.run("INSERT INTO item (id, list, title) VALUES (1, 'l', 'one'), (2, 'l', 'two')")
    try b.pull(from: a)
    try check(a, b)
    #expect(try b.rows("SELECT * FROM history").isEmpty)
    #expect(try b.rows("SELECT id, items, price FROM list ORDER BY id") == ["\"gone\"|1|9.0", "\"l\"|1|NULL"])
  }

  @Test("a merge keeps what triggers write to tables that are not synchronized")
  func tablesThatAreNotSynchronizedAreLeftToTheTriggers() throws {
    let (a, b) = try peers(
      """
      CREATE TRIGGER log AFTER INSERT ON item BEGIN INSERT INTO audit VALUES (NEW.id, NEW.title); END;
      CREATE VIRTUAL TABLE words USING fts5 (title, content = 'item', content_rowid = 'id');
      CREATE TRIGGER words_insert AFTER INSERT ON item BEGIN INSERT INTO words (rowid, title) VALUES (NEW.id, NEW.title); END;
      """)
    try a.run("INSERT INTO item (id, title) VALUES (1, 'green tea')")
    try b.pull(from: a)
    try check(a, b)
    #expect(try b.rows("SELECT item FROM audit") == ["1"])
    #expect(try b.rows("SELECT rowid FROM words WHERE words MATCH 'tea'") == ["1"])
    #expect(try b.store.figures.intrudingTriggers().isEmpty)
  }

  @Test("a trigger that only raises errors is not blamed for another trigger's writes")
  func aTriggerThatOnlyRefusesIsNotNamedForWhatAnotherWrote() throws {
    let (a, b) = try peers(
      """
      CREATE TRIGGER no AFTER UPDATE ON list WHEN NEW.items < 0 BEGIN SELECT RAISE(ABORT, 'no update of list'); END;
      CREATE TRIGGER never BEFORE INSERT ON item WHEN NOT EXISTS (SELECT 1 FROM list) BEGIN SELECT RAISE(IGNORE); END;
      CREATE TRIGGER more AFTER INSERT ON item BEGIN UPDATE list SET items = items + 1; END;
      """)
    try a.run("INSERT INTO list VALUES ('l', 0, 2); INSERT INTO item (id, list, title) VALUES (1, 'l', 'one')")
    try b.pull(from: a)
    try check(a, b)
    #expect(try b.store.figures.intrudingTriggers() == ["more": "list"])
  }

  @Test("a trigger that checks the applying flag does not fire for merged rows")
  func aTriggerWithTheGuardIsNotRunAndNotNamed() throws {
    let (a, b) = try peers(
      """
      CREATE TRIGGER more AFTER INSERT ON item WHEN (SELECT applying FROM mesh_state WHERE id = 1) IS NOT 1
        BEGIN UPDATE list SET items = items + 1 WHERE id = NEW.list; END
      """)
    try a.run("INSERT INTO list VALUES ('l', 0, 2); INSERT INTO item (id, list, title) VALUES (1, 'l', 'one')")
    try b.pull(from: a)
    try check(a, b)
    #expect(try b.rows("SELECT items FROM list") == ["1"])
    #expect(try b.store.figures.intrudingTriggers().isEmpty)
  }

  @Test("a full-text index that triggers keep finds the same rows on both peers")
  func aFullTextIndexKeptByTriggersFindsTheSameOnBothSides() throws {
    let schema = """
      CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list ON DELETE CASCADE, text TEXT CHECK (text <> 'no'));
      CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
      CREATE VIRTUAL TABLE search USING fts5 (text, content=note);
      CREATE TRIGGER note_in AFTER INSERT ON note BEGIN INSERT INTO search (rowid, text) VALUES (NEW.rowid, NEW.text); END;
      CREATE TRIGGER note_out AFTER DELETE ON note
        BEGIN INSERT INTO search (search, rowid, text) VALUES ('delete', OLD.rowid, OLD.text); END;
      CREATE TRIGGER note_up AFTER UPDATE ON note BEGIN
        INSERT INTO search (search, rowid, text) VALUES ('delete', OLD.rowid, OLD.text);
        INSERT INTO search (rowid, text) VALUES (NEW.rowid, NEW.text);
      END;
      """
    let a = try Peer(1, schema: schema, track: ["list", "note"], foreignKeys: true)
    let b = try Peer(2, schema: schema, track: ["list", "note"], foreignKeys: true)
    func found(_ word: String) throws -> [[String]] {
      try [a, b].map {
        try $0.rows(
          "SELECT note.id FROM search JOIN note ON note.rowid = search.rowid WHERE search MATCH '\(word)' ORDER BY 1")
      }
    }
    try b.run("INSERT INTO note VALUES ('own', NULL, 'local words')")
    try a.run("INSERT INTO list VALUES ('l'); INSERT INTO note VALUES ('n', 'l', 'first words'), ('m', NULL, 'other')")
    try synchronize([a, b])
    #expect(try found("words") == [["\"n\"", "\"own\""], ["\"n\"", "\"own\""]])
    try b.run("UPDATE note SET text = 'edited text' WHERE id = 'n'; DELETE FROM note WHERE id = 'm'")
    try synchronize([a, b])
    #expect(try found("words") == [["\"own\""], ["\"own\""]] && found("edited") == [["\"n\""], ["\"n\""]])
    // What leaves the table for its parent, and comes back with it, leaves the index and comes back.
    try a.run("DELETE FROM list")
    try b.run("UPDATE note SET text = 'edited again' WHERE id = 'n'")
    try synchronize([a, b])
    #expect(try found("edited") == [[], []] && found("other") == [[], []])
    #expect(try a.store.figures.intrudingTriggers().isEmpty && b.store.figures.intrudingTriggers().isEmpty)
    for peer in [a, b] { try peer.run("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)") }
  }
}
