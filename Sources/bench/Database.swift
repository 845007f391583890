import CSQLite

/// A database with SQLite's own interface. Both sides of a figure use the same statements and calls.
final class Database {
  let handle: OpaquePointer
  let path: String

  /// Opens a database in WAL mode, as programs usually do.
  init(_ path: String) throws {
    var opened: OpaquePointer?
    guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else { throw Trouble("cannot open \(path)") }
    handle = opened
    self.path = path
    sqlite3_busy_timeout(handle, 30_000)
    try run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
  }

  deinit { sqlite3_close_v2(handle) }

  func run(_ sql: String) throws {
    try check(sqlite3_exec(handle, sql, nil, nil, nil))
  }

  func integer(_ sql: String) throws -> Int64 {
    let statement = try Prepared(self, sql)
    guard try statement.step() else { throw Trouble("no row: \(sql)") }
    return sqlite3_column_int64(statement.handle, 0)
  }

  func check(_ code: Int32) throws {
    guard code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE else {
      throw Trouble("\(path): \(String(cString: sqlite3_errmsg(handle)))")
    }
  }
}

/// A prepared statement.
final class Prepared {
  let handle: OpaquePointer
  private let database: Database

  init(_ database: Database, _ sql: String) throws {
    var prepared: OpaquePointer?
    try database.check(sqlite3_prepare_v2(database.handle, sql, -1, &prepared, nil))
    guard let prepared else { throw Trouble("empty statement: \(sql)") }
    handle = prepared
    self.database = database
  }

  deinit { sqlite3_finalize(handle) }

  /// Steps once. Returns true if there is a row.
  func step() throws -> Bool {
    let code = sqlite3_step(handle)
    try database.check(code)
    return code == SQLITE_ROW
  }

  /// Steps once and resets.
  func execute() throws {
    _ = try step()
    sqlite3_reset(handle)
  }

  /// Returns the first column of the first row, or nil if there is none.
  func integer() throws -> Int64? {
    defer { sqlite3_reset(handle) }
    return try step() ? sqlite3_column_int64(handle, 0) : nil
  }

  func bind(_ text: String, at index: Int32) {
    // The value -1 is SQLITE_TRANSIENT: SQLite takes a copy.
    sqlite3_bind_text(handle, index, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
  }
}
