import CSQLite
import Foundation
import GRDB

// MARK: - A log that was deleted while the store had the file open

extension StoreFile {
  /// Gives up a log that is no longer at its path, so that the file can be opened again. If it is given up, the store
  /// writes nothing from then on, not even when it is closed.
  ///
  /// - Parameters:
  ///   - target: A path without a file, for the database as the store sees it.
  ///   - isShared: True if other parts of this process may have the file open. SQLite shares the old log's index among
  ///     all connections of a process, so then the file can't be opened again before they have closed theirs.
  /// - Throws: `StoreError` if the log could neither be copied nor saved. It exists as long as the store is open.
  package func leaveLog(savingTo target: String, isShared: Bool = false) throws -> LogRescue {
    access.closeOthers()
    guard file.users.isEmpty else { return .used(file.users) }
    let isCopied = try guarding {
      // The check can take seconds, so other programs are not kept out meanwhile.
      guard try file.whileAlone(isShared, { true }), (try? file.quickCheck()) != nil else { return false }
      return try file.whileAlone(isShared) { try !file.hasOtherLog && checkpoint(truncate: true) }
    }
    return try leaveLog(isCopied, savingTo: target)
  }

  private func leaveLog(_ isCopied: Bool, savingTo target: String) throws -> LogRescue {
    if !isCopied { _ = try backUp(to: target) }
    // Each device sends its own acknowledgement again.
    access.unsaved = [:]
    try guarding { try file.leaveLog() }
    return isCopied ? .copied : .saved
  }
}

// MARK: - A file that was moved, without its log

extension StoreFile {
  /// Gives up a file that was moved, as `leaveLog` gives up a log, and leaves no log at its former path. Programs that
  /// open the file at `path` don't find the log, and begin another one.
  package func leaveFile(movedTo path: String, savingTo target: String) throws -> LogRescue {
    access.closeOthers()
    // The log may have been moved along.
    if file.logIdentity != nil && FileIdentity(at: path + "-wal") == file.logIdentity {
      return try leaveLog(true, savingTo: target)
    }
    guard file.users.isEmpty else { return .used(file.users) }
    let isCopied = try guarding {
      try !MovedFile.hasLog(path)
        && file.whileAlone(false) { try !MovedFile.hasLog(path) && checkpoint(truncate: true) }
    }
    let rescue = try leaveLog(isCopied, savingTo: target)
    file.removeLog()
    return rescue
  }
}

extension DatabaseFile {
  /// The processes that use the opened index. Its locks are listed after it was deleted, too.
  fileprivate var users: [LockHolder] { LockHolder.all(LockHolder.Lock.open, ofIndex: indexIdentity?.inode) }

  /// Whether the log and its index are the ones that were opened.
  var hasItsLog: Bool {
    vfs != nil
      || logIdentity != nil && FileIdentity(at: place + "-wal") == logIdentity
        && indexIdentity != nil && FileIdentity(at: place + "-shm") == indexIdentity
  }

  /// Whether another program may have committed to another log than the opened one, or with another index.
  fileprivate var hasOtherLog: Bool {
    let log = FileStatus(path: place + "-wal")
    if log != nil, FileIdentity(at: place + "-wal") == logIdentity {
      return FileIdentity(at: place + "-shm").map { $0 != indexIdentity } ?? false
    }
    return log.map { $0.size > 0 } ?? false
  }

  /// Runs `body` while no other connection can open the file.
  ///
  /// - Returns: False also if another program has it open, with a log of its own.
  /// - Throws: `StoreError` if another connection has it open, and that may be one of this process.
  fileprivate func whileAlone(_ isShared: Bool, _ body: () throws -> Bool) throws -> Bool {
    let code = try queue.writeWithoutTransaction { mesh_lock_database(try $0.openConnection, 1) }
    switch code {
    case SQLITE_OK:
      defer { _ = try? queue.writeWithoutTransaction { mesh_lock_database(try $0.openConnection, 0) } }
      return try body()
    case SQLITE_BUSY:
      let index = FileIdentity(at: place + "-shm")
      guard !isShared, index != indexIdentity, !LockHolder.all(LockHolder.Lock.open, ofIndex: index?.inode).isEmpty
      else {
        throw StoreError(.locked, "another program has \(path) open")
      }
      return false
    default: throw DatabaseError(resultCode: ResultCode(rawValue: code))
    }
  }

  /// Removes the log and its index, unless other files have taken their places.
  fileprivate func removeLog() {
    for (name, identity) in [("-wal", logIdentity), ("-shm", indexIdentity)]
    where identity != nil && FileIdentity(at: place + name) == identity {
      unlink(place + name)
    }
  }

  /// Makes closing leave the files at the log's paths as they are, and forbids further writes.
  fileprivate func leaveLog() throws {
    try queue.writeWithoutTransaction { db in
      let code = mesh_sqlite3_leave_log(try db.openConnection)
      guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
      try db.execute(sql: "PRAGMA query_only = ON")
    }
  }
}
