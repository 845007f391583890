import Foundation

/// The fate of a log that a store gave up.
package enum LogRescue: Hashable, Sendable {
  /// The file has everything that the log had.
  case copied
  /// Another log belongs to the file, and the two must not be mixed. The database as the store saw it is saved.
  case saved
  /// These processes still use the old log. The file can't be opened again before they have closed it.
  case used([LockHolder])
}

/// A file that was moved while programs had it open, and the log that they have begun for it at its other path.
package enum MovedFile {
  package enum LogReturn: Hashable, Sendable {
    /// The file has all that programs wrote to it at the other path.
    case complete
    /// Commits that programs made at the other path are left there, because a new log has begun since.
    case left
    /// These processes have the file open at the other path, or at this one.
    case used([LockHolder])
  }

  /// Brings the log along that programs have begun for a file at another path, before the file is opened again at this
  /// one.
  ///
  /// - Parameter isOpen: True if the node still has the log open that the file had at this path.
  package static func bringLog(to path: String, from other: String, isOpen: Bool) throws -> LogReturn {
    var users = users(of: other)
    guard users.isEmpty else { return .used(users) }
    // A log beside another file is that file's.
    guard FileIdentity(at: other) == nil, hasLog(other) else { return .complete }
    let place = DatabaseFile.place(of: path)
    guard !isOpen, !hasLog(place) else { return .left }
    // A program that has only read has no log, and would keep its index.
    users = Self.users(of: place)
    guard users.isEmpty else { return .used(users) }
    guard rename(other + "-wal", place + "-wal") == 0 else {
      throw StoreError(.cannotOpen, "\(other)-wal can't be moved to \(place)-wal; move it there")
    }
    // SQLite makes the indexes again from the log.
    for index in [other + "-shm", place + "-shm"] { unlink(index) }
    return .complete
  }

  private static func users(of path: String) -> [LockHolder] {
    LockHolder.all(LockHolder.Lock.open, ofIndex: FileIdentity(at: path + "-shm")?.inode)
  }

  static func hasLog(_ path: String) -> Bool { FileStatus(path: path + "-wal").map { $0.size > 0 } ?? false }
}
