import CSQLite
import Foundation
import GRDB
import Synchronization

/// The one SQLite file of a node: the app's tables and ours, on one connection.
///
/// Nothing else in this process may open the file: closing any other descriptor of it drops the process's POSIX locks.
final class DatabaseFile: Sendable {
  /// How long a statement waits for another process's lock: longer than any lock we hold, short enough to be told.
  static let busyTimeout: TimeInterval = 5

  /// Of SQLite's pages, in KiB. Keys are random, so a bulk touches pages all over; with SQLite's own 2 MiB most are read
  /// anew for every row. A quarter of what an idle node may take.
  private static let cacheSize = 16 << 10

  /// Pages in the WAL after which our commit copies them: 16 MiB of the usual size. A page that several transactions in
  /// a row write (and in a bulk many do) is copied once.
  private static let checkpointPages = 4_096

  let path: String
  /// The name of a registered SQLite VFS; nil for the operating system's.
  let vfs: String?
  /// The connection. WAL, `synchronous=NORMAL` (see `settle`), foreign keys not enforced, defensive.
  let queue: DatabaseQueue
  /// The path without symbolic links, as it was when the file was opened: SQLite keeps the log and its index beside it.
  let place: String
  /// The file that was opened, and the index of its log; nil with a VFS of its own.
  let identity: FileIdentity?
  let indexIdentity: FileIdentity?
  private let patience: Patience
  /// A durable transaction was committed, and the log was not synced since.
  private let owesSync = Mutex(false)

  /// Opens the database, and makes it (readable by its owner only) where it is missing and `create` is true.
  ///
  /// - Parameters:
  ///   - vfs: The name of a registered SQLite VFS; nil for the operating system's, with its checks of the file.
  ///   - busyTimeout: In seconds.
  /// - Throws: `StoreError`, one code for each way in which a file is unfit.
  init(
    path: String, create: Bool = true, vfs: String? = nil, busyTimeout: TimeInterval = DatabaseFile.busyTimeout
  ) throws(StoreError) {
    try Self.requireLibrary(version: sqlite3_libversion_number())
    if vfs == nil { try FilePlace(path: path).prepare(create: create) }
    self.path = path
    self.vfs = vfs
    patience = Patience(busyTimeout)
    do {
      queue = try DatabaseQueue(
        path: try Self.name(path: path, vfs: vfs), configuration: Self.configuration(path: path, patience))
      try Self.finishOpening(queue, path: path)
      place = Self.place(of: path)
      identity = vfs == nil ? FileIdentity(at: place) : nil
      indexIdentity = vfs == nil ? FileIdentity(at: place + "-shm") : nil
    } catch let error as StoreError {
      throw error
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    } catch {
      throw StoreError(.cannotOpen, "\(path) cannot be opened: \(error)")
    }
  }

  /// Runs `body` in an immediate transaction, which commits if it returns. The commit does not wait for the disk, so that the
  /// write lock is not held meanwhile: `settle` does that.
  ///
  /// - Parameter isDurable: False for what nobody relies on yet: a power cut may take it back, and `settle` does not wait for it.
  func write<T>(isDurable: Bool = true, _ body: (Database) throws -> T) throws -> T {
    try queue.writeWithoutTransaction { db in
      try db.run("BEGIN IMMEDIATE")
      do {
        let result = try body(db)
        try db.run("COMMIT")
        if isDurable { owesSync.withLock { $0 = true } }
        return result
      } catch {
        if db.isInsideTransaction { try db.rollback() }
        throw error
      }
    }
  }

  /// Returns once every durable transaction that was committed survives a power cut. What fails is tried again by the next call,
  /// and nothing may be told to others before one has returned.
  func settle() throws {
    guard owesSync.withLock({ $0 }) else { return }
    try queue.writeWithoutTransaction { db in
      let code = mesh_wal_sync(db.sqliteConnection)
      guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
    owesSync.withLock { $0 = false }
  }

  /// Runs `body` with statements that wait for another process's lock for `limit` seconds at most.
  func waiting<T>(atMost limit: TimeInterval, _ body: () throws -> T) rethrows -> T {
    let usual = patience.set(limit)
    defer { _ = patience.set(usual) }
    return try body()
  }

  /// Whether another connection has the write lock now.
  func isWriteLocked() throws -> Bool {
    queue.writeWithoutTransaction { mesh_wal_try_write_lock($0.sqliteConnection) == SQLITE_BUSY }
  }

  /// Runs `body` in a read transaction.
  ///
  /// Not by GRDB's own `read`: it sets `query_only` before and after, and SQLite then prepares every statement of the
  /// connection anew, which costs more than most reads.
  func read<T>(_ body: (Database) throws -> T) throws -> T {
    try queue.writeWithoutTransaction { db in
      try db.run("BEGIN")
      defer { try? db.run("COMMIT") }
      return try body(db)
    }
  }

  private static func place(of path: String) -> String {
    guard let place = realpath(path, nil) else { return path }
    defer { free(place) }
    return String(cString: place)
  }

  /// Whether commits of ours copy a long WAL into the database.
  func checkpointsItself(_ isOn: Bool) throws {
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA wal_autocheckpoint = \(isOn ? Self.checkpointPages : 0)")
    }
  }

  /// Closes the connection; a second call does nothing.
  func close() throws { try queue.close() }

  /// Reads the whole file and its indexes' structure: seconds per gigabyte, so only on request.
  func quickCheck() throws {
    do {
      let finding = try queue.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
      guard finding == "ok" else {
        throw StoreError(
          .corrupt, "\(path) is damaged (SQLite: \(finding ?? "")); restore it from a copy or use sqlite3 .recover")
      }
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    }
  }
}

extension Database {
  /// Without what GRDB does for each statement: most transactions of a node are short.
  fileprivate func run(_ sql: String) throws {
    guard sqlite3_exec(sqliteConnection, sql, nil, nil, nil) != SQLITE_OK else { return }
    throw DatabaseError(
      resultCode: ResultCode(rawValue: sqlite3_extended_errcode(sqliteConnection)),
      message: sqliteConnection.map { String(cString: sqlite3_errmsg($0)) }, sql: sql)
  }
}

extension DatabaseFile {
  /// 3.37.0 brought STRICT tables and `PRAGMA table_list`.
  static let oldestLibrary: Int32 = 3_037_000

  static func requireLibrary(version: Int32) throws(StoreError) {
    guard version < oldestLibrary else { return }
    let text = "\(version / 1_000_000).\(version / 1_000 % 1_000).\(version % 1_000)"
    throw StoreError(.libraryTooOld, "the SQLite library is \(text); install 3.37.0 or newer")
  }

  /// GRDB names no VFS, so another than the default is chosen through a URI.
  private static func name(path: String, vfs: String?) throws -> String {
    guard let vfs else { return path }
    let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "/._-"))
    guard let file = path.addingPercentEncoding(withAllowedCharacters: allowed),
      let name = vfs.addingPercentEncoding(withAllowedCharacters: allowed)
    else { throw StoreError(.cannotOpen, "\(path) is not a path") }
    return "file:\(file)?vfs=\(name)"
  }

  private static func configuration(path: String, _ patience: Patience) -> Configuration {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.busyMode = .callback { patience.isToTryAgain(after: $0) }
    // Rows arrive in an order that references do not follow, and what a delete does to children is derived from
    // the merged state: materialisation decides, SQLite's own cascades would do it a second time.
    configuration.foreignKeysEnabled = false
    configuration.prepareDatabase { db in
      mesh_sqlite3_set_defensive(db.sqliteConnection, 1)
      // Apps keep a full-text index by triggers, and before SQLite 3.41 an untrusted schema may not name FTS5 there
      // ("unsafe use of virtual table"): every apply to such a table would fail. Trust costs nothing here: this
      // connection has no functions with side effects and loads no extensions, and no peer's text becomes schema.
      mesh_sqlite3_set_trusted_schema(db.sqliteConnection, 1)
      try FileHeader.check(db, path: path)
      // Tables of apps that use SQLiteData name it in the default of their key, and SQLite looks it up even where a row has its key.
      if try Bool.fetchOne(db, sql: "SELECT 1 FROM pragma_function_list WHERE name = 'uuid' AND narg <= 0") != true {
        db.add(function: DatabaseFunction("uuid", argumentCount: 0) { _ in UUID().uuidString.lowercased() })
      }
    }
    return configuration
  }

  private static func finishOpening(_ queue: DatabaseQueue, path: String) throws {
    try queue.writeWithoutTransaction { db in
      guard sqlite3_db_readonly(db.sqliteConnection, "main") == 0 else {
        throw StoreError(.readOnly, "\(path) cannot be written; make file and directory writable")
      }
      // A commit does not sync the log under the write lock: `settle` does it afterwards.
      try db.execute(sql: "PRAGMA synchronous = NORMAL")
      try db.execute(sql: "PRAGMA cache_size = -\(cacheSize)")
      try db.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpointPages)")
      // What is sorted beside the log is small, and gives its memory back.
      try db.execute(sql: "PRAGMA temp_store = MEMORY")
      try db.execute(sql: "PRAGMA temp.auto_vacuum = FULL")
      // A mapped page changes under a reader when another process truncates the file.
      try db.execute(sql: "PRAGMA mmap_size = 0")
    }
  }
}

/// How long statements wait for another process's lock. It looks for the lock at short and even intervals: SQLite's own handler
/// soon sleeps 100 ms at a time, and never meets the moment between two commits of a program that writes without a pause.
private final class Patience: Sendable {
  private let limit: Mutex<TimeInterval>

  init(_ limit: TimeInterval) { self.limit = Mutex(limit) }

  /// - Returns: The limit before, in seconds.
  func set(_ new: TimeInterval) -> TimeInterval {
    limit.withLock { limit in
      defer { limit = new }
      return limit
    }
  }

  func isToTryAgain(after attempts: Int) -> Bool {
    let tries = Int(limit.withLock { $0 } * 1_000_000 / Double(Self.interval))
    guard attempts < tries else { return false }
    usleep(Self.interval)
    return true
  }

  /// Between two looks, in microseconds: costs a hundredth of a core while it lasts.
  private static let interval: useconds_t = 500
}
