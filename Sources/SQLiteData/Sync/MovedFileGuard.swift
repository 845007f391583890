import GRDB
import GRDBSQLite

/// Refuses the commits of an app while its database file isn't at its path, because another file was moved over it, or
/// it was deleted or moved away. Nobody would read them. SQLite itself refuses them without a write-ahead log only.
final class MovedFileGuard: TransactionObserver, Sendable {
  private let path: String
  nonisolated(unsafe) private let connection: OpaquePointer

  /// Creates the guard of a connection, and adds it to that. The connection holds it weakly.
  init?(_ db: Database, path: String) {
    guard let connection = db.sqliteConnection else { return nil }
    (self.path, self.connection) = (path, connection)
    db.add(transactionObserver: self, extent: .observerLifetime)
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}

  func databaseWillCommit() throws {
    // SQLite calls this on the connection's queue, while it is open. The check takes one system call.
    var isMoved: Int32 = 0
    guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_HAS_MOVED, &isMoved) == SQLITE_OK, isMoved != 0 else {
      return
    }
    throw DatabaseError(
      resultCode: .SQLITE_READONLY_DBMOVED,
      message:
        "\(path) was replaced, deleted or moved while this app had it open, so nobody would read this write. Start the app "
        + "again: it opens the file that is at the path then.")
  }
}
