import Foundation

/// The fate of a log that a store gave up.
public enum LogRescue: Hashable, Sendable {
  /// The file has everything that the log had.
  case copied
  /// Another log belongs to the file, and the two must not be mixed. The database as the store saw it is saved.
  case saved
  /// These processes still use the old log. The file can't be opened again before they have closed it.
  case used([LockHolder])
}

/// A file that was moved while programs had it open, and the log that they have begun for it at its other path.
public enum MovedFile {
  public enum LogReturn: Hashable, Sendable {
    /// The file has all that programs wrote to it at the other path.
    case complete
    /// Commits that programs made at the other path are left there, because a new log has begun since.
    case left
    /// These processes still have the file open at the other path.
    case used([LockHolder])
  }

  /// Brings the log along that programs have begun for a file at another path, before the file is opened again at this
  /// one.
  public static func bringLog(to path: String, from other: String) throws -> LogReturn {
    let users = LockHolder.all(LockHolder.Lock.open, ofIndex: FileIdentity(at: other + "-shm")?.inode)
    guard users.isEmpty else { return .used(users) }
    // A log beside another file is that file's.
    guard FileIdentity(at: other) == nil, hasLog(other) else { return .complete }
    let place = DatabaseFile.place(of: path)
    guard !hasLog(place) else { return .left }
    guard rename(other + "-wal", place + "-wal") == 0 else {
      throw StoreError(.cannotOpen, "\(other)-wal can't be moved to \(place)-wal; move it there")
    }
    // SQLite makes the indexes again from the log.
    for index in [other + "-shm", place + "-shm"] { unlink(index) }
    return .complete
  }

  static func hasLog(_ path: String) -> Bool { FileStatus(path: path + "-wal").map { $0.size > 0 } ?? false }
}
