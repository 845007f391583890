import CSQLite
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// What a bulk takes of the process's memory, and for how long.
@Suite struct MemoryTests {
  private static let schema = "CREATE TABLE item (id INTEGER PRIMARY KEY NOT NULL, title TEXT)"

  private func pages(_ store: Store) throws -> Int {
    try store.access.file.queue.writeWithoutTransaction { db in
      var (now, most): (Int32, Int32) = (0, 0)
      try #require(
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_CACHE_USED, &now, &most, 0) == SQLITE_OK)
      return Int(now)
    }
  }

  @Test("a store that releases its page cache goes on working") func pagesAreGivenBackAndWorkGoesOn() throws {
    let (a, b) = (try Peer(1, schema: Self.schema, track: ["item"]), try Peer(2, schema: Self.schema, track: ["item"]))
    try a.run(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
      INSERT INTO item SELECT i, hex(randomblob(40)) FROM n
      """)
    try b.pull(from: a)
    for peer in [a, b] {
      let taken = try pages(peer.store)
      peer.store.releaseMemory()
      #expect(try pages(peer.store) < taken / 10)
    }
    try a.run("UPDATE item SET title = 'later' WHERE id % 2")
    try b.pull(from: a)
    #expect(try a.digest() == b.digest())
    #expect(try b.rows("SELECT count(*) FROM item WHERE title = 'later'") == ["1500"])
  }
}
