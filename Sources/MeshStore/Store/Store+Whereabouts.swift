import GRDB

// MARK: - Is the open file the one at the path

extension Store {
  public var whereabouts: Whereabouts {
    guard let identity = file.identity else { return .here }
    guard let found = FileIdentity(at: path) else { return .gone }
    guard found == identity else { return .replaced(found) }
    return file.hasItsLog ? .here : .logLost
  }

  /// The path that the open file has now, if it was moved. Nil if it was deleted, or if the kernel doesn't tell.
  public var movedTo: String? { file.identity?.openPath }

  /// Gives up a file that is no longer at its path. Copies the rest of its log into it, and empties the log. Otherwise
  /// SQLite would take a log that is left at the path for the next file's log, and mix the two. For the same reason,
  /// the store writes nothing after a successful call, not even when it is closed.
  ///
  /// - Returns: The other processes that have the file open while their log is still at the path. The next file can't
  ///   be opened until they have closed theirs.
  /// - Throws: `StoreError` if the log could not be emptied. The next file can't be opened then, either.
  public func abandon() throws -> [LockHolder] {
    closeOthers()
    let isIndexLeft = file.indexIdentity != nil && FileIdentity(at: file.place + "-shm") == file.indexIdentity
    // A program that has already opened the next file found the old log's index there, and uses nothing of the old
    // file.
    let others = (isIndexLeft ? LockHolder.all(LockHolder.Lock.open, ofIndex: file.indexIdentity?.inode) : [])
      .filter { holder in file.identity.map(holder.hasOpen) ?? true }
    guard others.isEmpty else { return others }
    // Each device sends its own acknowledgement again.
    unsaved = [:]
    guard try waiting(atMost: Self.patience, { try checkpoint(truncate: true) }) else {
      throw StoreError(.locked, "the log of the file that was at \(path) is in use")
    }
    try file.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = ON") }
    return []
  }

  /// The seconds to wait for readers to end.
  private static let patience = 0.5

  /// Returns whether another program has the write lock now. It takes microseconds.
  public var isWriteLocked: Bool { (try? file.isWriteLocked()) ?? false }

  /// Checks the whole file. It takes seconds per gigabyte.
  public func quickCheck() throws { try file.quickCheck() }

  /// The other processes that hold the database's write lock now.
  public var writers: [LockHolder] {
    LockHolder.all(LockHolder.Lock.write, ofIndex: file.indexIdentity?.inode)
  }
}

/// The relation of the file that a store has open to the one at its path.
public enum Whereabouts: Hashable, Sendable {
  /// The path leads to the open file.
  case here
  /// The path leads nowhere: the file was deleted or moved away.
  case gone
  /// The path leads to another file. A file was moved there, or a directory or a symbolic link was replaced.
  case replaced(FileIdentity)
  /// The path leads to the open file, but its log or the log's index was deleted or replaced. SQLite does neither
  /// while the store has the file open. Programs that open the file from now on see nothing of the old log.
  case logLost
}
