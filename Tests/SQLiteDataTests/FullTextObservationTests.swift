import Dependencies
import DependenciesTestSupport
import GRDB
import SQLiteData
import Testing

@Suite("Observation beside a full-text index", .dependency(\.defaultDatabase, try indexedDatabase()))
struct FullTextObservationTests {
  @Dependency(\.defaultDatabase) var database

  @Test("writes of this and of other connections arrive, for tables and for the index")
  func writes() async throws {
    @FetchAll(Item.order(by: \.id)) var items
    @Fetch(Found(text: "lamp")) var found = []
    try await database.write { db in try Item.insert { Item.Draft(title: "Lamp") }.execute(db) }
    #expect(await eventually { items.map(\.title) == ["Lamp"] && found == ["Lamp"] })
    let other = try DatabaseQueue(path: database.path)
    try await other.write { db in try Item.insert { Item.Draft(title: "Lamp oil") }.execute(db) }
    #expect(await eventually { items.map(\.title) == ["Lamp", "Lamp oil"] })
    #expect(await eventually { found == ["Lamp", "Lamp oil"] })
    try await database.write { db in try Item.find(1).delete().execute(db) }
    #expect(await eventually { items.map(\.title) == ["Lamp oil"] && found == ["Lamp oil"] })
  }

  @Test("a virtual table that only another process can read doesn't hide that process's writes")
  func unknownModule() async throws {
    let other = try DatabaseQueue(path: database.path)
    try await other.write { db in
      try db.execute(
        sql: """
          PRAGMA writable_schema = ON;
          INSERT INTO sqlite_schema VALUES ('table', 'a', 'a', 0, 'CREATE VIRTUAL TABLE a USING unknown_module(b)');
          PRAGMA writable_schema = RESET;
          """)
    }
    let own = try DatabasePool(path: database.path)
    @FetchAll(Item.order(by: \.id), database: own) var items
    try await other.write { db in try db.execute(sql: "INSERT INTO items (title) VALUES ('Lamp')") }
    #expect(await eventually { items.map(\.title) == ["Lamp"] })
  }
}

private struct Found: FetchKeyRequest {
  let text: String

  func fetch(_ db: Database) throws -> [String] {
    try String.fetchAll(
      db, sql: "SELECT title FROM texts WHERE texts MATCH ? ORDER BY rowid", arguments: [text])
  }
}

/// Returns a database with an empty table of items, and an index of their titles that triggers keep up to date.
private func indexedDatabase() throws -> any DatabaseWriter {
  let database = try itemsDatabase()
  try database.write { db in
    try db.execute(
      sql: """
        CREATE VIRTUAL TABLE texts USING fts5(title);
        CREATE TRIGGER item_inserted AFTER INSERT ON items BEGIN
          INSERT INTO texts (rowid, title) VALUES (new.id, new.title);
        END;
        CREATE TRIGGER item_deleted AFTER DELETE ON items BEGIN
          DELETE FROM texts WHERE rowid = old.id;
        END;
        """)
  }
  return database
}
