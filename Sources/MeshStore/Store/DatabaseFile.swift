import CSQLite
import Foundation
import GRDB
import Synchronization

/// The one SQLite file of a node, with the app's tables and those of mesh, on one connection.
///
/// Nothing else in this process may open the file, because closing any other descriptor of it drops the process's POSIX
/// locks.
final class DatabaseFile: Sendable {
  /// Seconds that a statement waits for another process's lock. This is longer than mesh holds any lock, and short
  /// enough to report.
  static let busyTimeout: TimeInterval = 5

  /// The size of SQLite's page cache in KiB. Keys are random, so a bulk transfer touches pages everywhere. With
  /// SQLite's own 2 MiB, most pages would be read again for every row. The size is a quarter of the memory that an idle
  /// node may take.
  private static let cacheSize = 16 << 10

  /// The number of pages in the WAL after which a commit of mesh copies them: 16 MiB with the usual page size. If
  /// several consecutive transactions write a page, as in a bulk transfer, it is copied only once.
  private static let checkpointPages = 4_096

  let path: String
  /// The name of a registered SQLite VFS, or nil for the operating system's.
  let vfs: String?
  /// The connection. It uses WAL, `synchronous=NORMAL` (see `settle`) and the defensive mode, and doesn't enforce
  /// foreign keys.
  let queue: DatabaseQueue
  /// The path without symbolic links, at the time when the file was opened. SQLite keeps the log and its index beside
  /// it.
  let place: String
  /// The opened file, its log, and the index of the log. Nil with a custom VFS.
  let identity: FileIdentity?
  let logIdentity: FileIdentity?
  let indexIdentity: FileIdentity?
  private let patience: Patience
  /// True if a durable transaction may have been committed, and the log was not synced since. At opening, the last
  /// process may have died between the two.
  private let owesSync = Mutex(true)

  /// Opens the database. If it is missing and `create` is true, creates it with read permission only for its owner.
  ///
  /// - Parameters:
  ///   - vfs: The name of a registered SQLite VFS. With nil, the operating system's VFS is used, and the file is
  ///     checked.
  ///   - busyTimeout: The timeout in seconds.
  ///   - prepareConnection: Gives the connection, an `sqlite3 *`, the functions that the schema calls.
  /// - Throws: `StoreError`, with one code for each way in which a file can be unfit.
  init(
    path: String, create: Bool = true, vfs: String? = nil, busyTimeout: TimeInterval = DatabaseFile.busyTimeout,
    prepareConnection: (@Sendable (OpaquePointer) -> Void)? = nil
  ) throws(StoreError) {
    try Self.requireLibrary(version: sqlite3_libversion_number())
    if vfs == nil { try FilePlace(path: path).prepare(create: create) }
    self.path = path
    self.vfs = vfs
    patience = Patience(busyTimeout)
    do {
      queue = try DatabaseQueue(
        path: try Self.name(path: path, vfs: vfs),
        configuration: Self.configuration(path: path, patience, prepareConnection))
      try Self.finishOpening(queue, path: path)
      place = Self.place(of: path)
      identity = vfs == nil ? FileIdentity(at: place) : nil
      logIdentity = vfs == nil ? FileIdentity(at: place + "-wal") : nil
      indexIdentity = vfs == nil ? FileIdentity(at: place + "-shm") : nil
    } catch let error as StoreError {
      throw error
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    } catch {
      // GRDB looks at the log with Foundation.
      throw StoreError(
        .cannotOpen, "\(path) or \(path)-wal disappeared while it was opened; put it back, and try again")
    }
  }

  /// Runs `body` in an immediate transaction, which commits if it returns. The commit doesn't wait for the disk, to
  /// release the write lock early. `settle` does that.
  ///
  /// - Parameter isDurable: False for data that nobody relies on yet. A power cut may revert it, and `settle` doesn't
  ///   wait for it.
  func write<T>(isDurable: Bool = true, _ body: (Database) throws -> T) throws -> T {
    try transact(isDurable: isDurable) { .commit(try body($0)) }.result
  }

  /// Does the same as `write`, but `body` returns how the transaction ends.
  func transact<T>(isDurable: Bool = true, _ body: (Database) throws -> Ending<T>) throws -> Ending<T> {
    try queue.writeWithoutTransaction { db in
      try db.run("BEGIN IMMEDIATE")
      do {
        let ending = try body(db)
        switch ending {
        case .commit:
          try db.run("COMMIT")
          if isDurable { owesSync.withLock { $0 = true } }
        case .rollBack:
          // A trigger of an app may have rolled it back before.
          if db.isInsideTransaction { try db.rollback() }
        }
        return ending
      } catch {
        if db.isInsideTransaction { try db.rollback() }
        throw error
      }
    }
  }

  /// Returns once every committed durable transaction survives a power cut. If it fails, the next call tries again.
  /// Nothing may be sent to others before a call has returned.
  func settle() throws {
    guard owesSync.withLock({ $0 }) else { return }
    try queue.writeWithoutTransaction { db in
      let code = mesh_wal_sync(try db.openConnection)
      guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
    owesSync.withLock { $0 = false }
  }

  /// Runs `body` with statements that wait at most `limit` seconds for another process's lock.
  func waiting<T>(atMost limit: TimeInterval, _ body: () throws -> T) rethrows -> T {
    let usual = patience.set(limit)
    defer { _ = patience.set(usual) }
    return try body()
  }

  /// Makes statements wait for another process's lock as long as they usually do.
  func waitAsUsual() { _ = patience.set(Self.busyTimeout) }

  /// Returns whether another connection has the write lock now.
  func isWriteLocked() throws -> Bool {
    try queue.writeWithoutTransaction { mesh_wal_try_write_lock(try $0.openConnection) == SQLITE_BUSY }
  }

  /// Runs `body` in a read transaction.
  ///
  /// It doesn't use GRDB's own `read`, which sets `query_only` before and after. SQLite then prepares every statement
  /// of the connection again, which costs more than most reads.
  func read<T>(_ body: (Database) throws -> T) throws -> T {
    try queue.writeWithoutTransaction { db in
      try db.run("BEGIN")
      defer { try? db.run("COMMIT") }
      return try body(db)
    }
  }

  static func place(of path: String) -> String {
    guard let place = realpath(path, nil) else { return path }
    defer { free(place) }
    return String(cString: place)
  }

  /// Sets whether commits of mesh copy a long WAL into the database.
  func checkpointsItself(_ isOn: Bool) throws {
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA wal_autocheckpoint = \(isOn ? Self.checkpointPages : 0)")
    }
  }

  /// Closes the connection. A second call does nothing.
  func close() throws { try queue.close() }

  /// Checks the whole file and the structure of its indexes. It takes seconds per gigabyte, so it runs only on request.
  func quickCheck() throws {
    do {
      guard let fault = try read({ try IntegrityCheck.firstFault(in: Connection($0.openConnection)) }) else { return }
      throw StoreError(
        .corrupt, "\(path) is damaged (SQLite: \(fault)); restore it from a copy or use sqlite3 .recover")
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    }
  }
}

extension Database {
  /// The connection, for functions of SQLite that don't check whether there is one. Throws if it is closed.
  var openConnection: OpaquePointer {
    get throws {
      guard let sqliteConnection else {
        throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the database is closed")
      }
      return sqliteConnection
    }
  }

  /// Adds `uuid()`, unless the connection has it. Tables of apps that use SQLiteData name this function in the default of
  /// their key. SQLite looks it up even if a row has its key.
  fileprivate func addUUIDFunction() throws {
    guard
      try Bool.fetchOne(self, sql: "SELECT 1 FROM pragma_function_list WHERE name = 'uuid' AND narg <= 0") != true
    else { return }
    add(function: DatabaseFunction("uuid", argumentCount: 0) { _ in UUID().uuidString.lowercased() })
  }

  /// Runs a statement without GRDB's overhead for each statement, because most transactions of a node are short.
  fileprivate func run(_ sql: String) throws {
    guard sqlite3_exec(sqliteConnection, sql, nil, nil, nil) != SQLITE_OK else { return }
    throw DatabaseError(
      resultCode: ResultCode(rawValue: sqlite3_extended_errcode(sqliteConnection)),
      message: sqliteConnection.map { String(cString: sqlite3_errmsg($0)) }, sql: sql)
  }
}

extension DatabaseFile {
  /// 3.37.0 introduced STRICT tables and `PRAGMA table_list`.
  static let oldestLibrary: Int32 = 3_037_000

  static func requireLibrary(version: Int32) throws(StoreError) {
    guard version < oldestLibrary else { return }
    let text = "\(version / 1_000_000).\(version / 1_000 % 1_000).\(version % 1_000)"
    throw StoreError(.libraryTooOld, "the SQLite library is \(text); install 3.37.0 or newer")
  }

  /// Returns the name to open. GRDB has no parameter for a VFS, so a custom one is chosen with a URI.
  private static func name(path: String, vfs: String?) throws -> String {
    guard let vfs else { return path }
    guard let name = vfs.addingPercentEncoding(withAllowedCharacters: plainCharacters) else {
      throw StoreError(.cannotOpen, "\(path) is not a path")
    }
    return try uri(path, "vfs=\(name)")
  }

  /// Returns the URI that opens a file with an option of SQLite.
  static func uri(_ path: String, _ option: String) throws -> String {
    guard let file = path.addingPercentEncoding(withAllowedCharacters: plainCharacters) else {
      throw StoreError(.cannotOpen, "\(path) is not a path")
    }
    return "file:\(file)?\(option)"
  }

  private static let plainCharacters = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "/._-"))

  /// The configuration of a connection that only reads the schema, with what every node has.
  static var plainConfiguration: Configuration {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.prepareDatabase { db in
      mesh_sqlite3_set_trusted_schema(db.sqliteConnection, 1)
      try db.addUUIDFunction()
    }
    return configuration
  }

  private static func configuration(
    path: String, _ patience: Patience, _ prepare: (@Sendable (OpaquePointer) -> Void)?
  ) -> Configuration {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.busyMode = .callback { patience.waitForLock(after: $0) }
    // Rows arrive in an order that doesn't follow references, and the effect of a delete on children is derived from
    // the merged state. Materialisation decides both, and SQLite's own cascades would do it a second time.
    configuration.foreignKeysEnabled = false
    configuration.prepareDatabase { db in
      mesh_sqlite3_set_defensive(db.sqliteConnection, 1)
      // Apps maintain a full-text index with triggers, and before SQLite 3.41, an untrusted schema may not use FTS5 in
      // them ("unsafe use of virtual table"). Every merge into such a table would fail. Trusting the schema costs
      // nothing. This connection has no functions with side effects other than those of the app in its process, and loads
      // no extensions. No text of a peer becomes part of the schema.
      mesh_sqlite3_set_trusted_schema(db.sqliteConnection, 1)
      try FileHeader.check(db, path: path)
      if let prepare, let connection = db.sqliteConnection { prepare(connection) }
      try db.addUUIDFunction()
    }
    return configuration
  }

  private static func finishOpening(_ queue: DatabaseQueue, path: String) throws {
    try queue.writeWithoutTransaction { db in
      guard sqlite3_db_readonly(try db.openConnection, "main") == 0 else {
        throw StoreError(.readOnly, "\(path) cannot be written; make file and directory writable")
      }
      // A commit doesn't sync the log under the write lock. `settle` does it afterwards.
      try db.execute(sql: "PRAGMA synchronous = NORMAL")
      try db.execute(sql: "PRAGMA cache_size = -\(cacheSize)")
      try db.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpointPages)")
      // The data sorted outside of the log is small, and its memory is freed.
      try db.execute(sql: "PRAGMA temp_store = MEMORY")
      try db.execute(sql: "PRAGMA temp.auto_vacuum = FULL")
      // A mapped page changes under a reader when another process truncates the file.
      try db.execute(sql: "PRAGMA mmap_size = 0")
    }
  }
}

/// The time for which statements wait for another process's lock. They try at short and even intervals. SQLite's own
/// handler soon sleeps 100 ms at a time, and never hits the moment between two commits of a program that writes without
/// a pause.
private final class Patience: Sendable {
  private struct Limit {
    var seconds: TimeInterval
    /// The time at which the current statement began to wait.
    var begun = ContinuousClock.now
  }

  private let limit: Mutex<Limit>

  init(_ seconds: TimeInterval) { limit = Mutex(Limit(seconds: seconds)) }

  /// Sets the limit in seconds.
  ///
  /// - Returns: The limit before, in seconds.
  func set(_ new: TimeInterval) -> TimeInterval {
    limit.withLock { limit in
      defer { limit.seconds = new }
      return limit.seconds
    }
  }

  /// Sleeps until the next attempt. Returns false if the time is up.
  func waitForLock(after attempts: Int) -> Bool {
    let deadline = limit.withLock { limit in
      if attempts == 0 { limit.begun = .now }
      return limit.begun + .seconds(limit.seconds)
    }
    guard ContinuousClock.now < deadline else { return false }
    usleep(Self.interval)
    return true
  }

  /// Microseconds between two attempts. While waiting, they cost a hundredth of a core.
  private static let interval: useconds_t = 500
}
