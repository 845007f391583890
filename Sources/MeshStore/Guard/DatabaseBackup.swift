import CSQLite
import Foundation
import GRDB

/// Copies a database, as it is at one moment, into another file while programs go on writing.
package enum DatabaseBackup {
  /// The number of pages that one step copies.
  private static let step: Int32 = 1_024

  /// Copies the database at `path` over a connection of its own. It blocks, and takes seconds per gigabyte.
  ///
  /// - Parameter target: A path without a file. A failed attempt removes the file that it has written.
  /// - Returns: The copy's size in bytes.
  /// - Throws: `StoreError`.
  package static func copy(databaseAt path: String, to target: String) throws -> Int64 {
    do {
      let source = try GuardConnection(path: path, vfs: nil)
      defer { source.close() }
      try source.beginReading()
      defer { source.endReading() }
      return try copy(source.handle, to: target)
    } catch let error as DatabaseError {
      throw StoreError(error, path: target)
    }
  }

  /// Copies the snapshot that a connection reads.
  ///
  /// - Parameter source: A connection inside a read transaction.
  static func copy(_ source: OpaquePointer, to target: String) throws -> Int64 {
    guard FileStatus(path: target) == nil else {
      throw StoreError(.cannotOpen, "\(target) exists already; name a file that does not")
    }
    try FilePlace(path: target).prepare(create: true)
    do {
      try copyPages(source, to: target)
      if let path = sqlite3_db_filename(source, "main") { copyPermissions(of: String(cString: path), to: target) }
    } catch {
      unlink(target)
      throw error
    }
    return FileStatus(path: target)?.size ?? 0
  }

  /// Gives the copy the group of a database that the group may write, so that its programs can open the copy in the
  /// database's place. Nobody else may open it, because a directory may hide the database and not the copy.
  private static func copyPermissions(of source: String, to target: String) {
    var (from, to) = (stat(), stat())
    guard stat(source, &from) == 0, stat(target, &to) == 0 else { return }
    guard from.st_mode & 0o060 == 0o060, from.st_gid == to.st_gid || chown(target, uid_t.max, from.st_gid) == 0 else {
      return
    }
    chmod(target, 0o660)
  }

  private static func copyPages(_ source: OpaquePointer, to target: String) throws {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(target, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
    defer { sqlite3_close_v2(opened) }
    guard code == SQLITE_OK, let backup = sqlite3_backup_init(opened, "main", source, "main") else {
      throw DatabaseError(
        resultCode: ResultCode(rawValue: opened.map(sqlite3_errcode) ?? code),
        message: opened.map { String(cString: sqlite3_errmsg($0)) })
    }
    var result = SQLITE_OK
    while result == SQLITE_OK { result = sqlite3_backup_step(backup, step) }
    let finished = sqlite3_backup_finish(backup)
    guard result == SQLITE_DONE, finished == SQLITE_OK else {
      throw DatabaseError(resultCode: ResultCode(rawValue: result == SQLITE_DONE ? finished : result))
    }
  }
}
