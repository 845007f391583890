import GRDB
package import MeshCore

/// The file that the store has open, its write-ahead log, and the other processes that use them.
package struct StoreFile: StorePart {
  let access: StoreAccess

  var file: DatabaseFile { access.file }
  private var path: String { file.path }

  package var whereabouts: Whereabouts {
    guard let identity = file.identity else { return .here }
    guard let found = FileIdentity(at: path) else { return .gone }
    guard found == identity else { return .replaced(found) }
    return file.hasItsLog ? .here : .logLost
  }

  /// The path that the open file has now, if it was moved. Nil if it was deleted, or if the kernel doesn't tell.
  package var movedTo: String? { file.identity?.openPath }

  /// Gives up a file that is no longer at its path. Copies the rest of its log into it, and empties the log. Otherwise
  /// SQLite would take a log that is left at the path for the next file's log, and mix the two. For the same reason,
  /// the store writes nothing after a successful call, not even when it is closed.
  ///
  /// - Returns: The other processes that have the file open while their log is still at the path. The next file can't
  ///   be opened until they have closed theirs.
  /// - Throws: `StoreError` if the log could not be emptied. The next file can't be opened then, either.
  package func abandon() throws -> [LockHolder] {
    access.closeOthers()
    let isIndexLeft = file.indexIdentity != nil && FileIdentity(at: file.place + "-shm") == file.indexIdentity
    // A program that has already opened the next file found the old log's index there, and uses nothing of the old
    // file.
    let others = (isIndexLeft ? LockHolder.all(LockHolder.Lock.open, ofIndex: file.indexIdentity?.inode) : [])
      .filter { holder in file.identity.map(holder.hasOpen) ?? true }
    guard others.isEmpty else { return others }
    // Each device sends its own acknowledgement again.
    access.unsaved = [:]
    guard try file.waiting(atMost: Self.patience, { try checkpoint(truncate: true) }) else {
      throw StoreError(.locked, "the log of the file that was at \(path) is in use")
    }
    try file.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = ON") }
    return []
  }

  /// The seconds to wait for readers to end.
  private static let patience = 0.5

  /// Returns whether another program has the write lock now. It takes microseconds.
  package var isWriteLocked: Bool { (try? file.isWriteLocked()) ?? false }

  /// Checks the whole file. It takes seconds per gigabyte.
  package func quickCheck() throws { try file.quickCheck() }

  /// The other processes that hold the database's write lock now.
  package var writers: [LockHolder] {
    LockHolder.all(LockHolder.Lock.write, ofIndex: file.indexIdentity?.inode)
  }

  /// Copies the file over the store's own connection. This also works if no path leads to the file any more.
  package func backUp(to target: String) throws -> Int64 {
    try file.settle()
    return try guarding {
      try file.read { db in
        // A read transaction begins with the first read.
        _ = try Int.fetchOne(db, sql: "PRAGMA main.schema_version")
        guard let handle = db.sqliteConnection else { throw StoreError(.cannotOpen, "\(path) is closed") }
        return try DatabaseBackup.copy(handle, to: target)
      }
    }
  }

  // MARK: The write-ahead log

  /// Returns the log as it is now, by which a later process knows it again. Returns nil if the log is empty, or if the
  /// file can't be read without it now.
  package func knownLog() throws -> KnownLog? {
    try read { try $0.state.history() }.flatMap { KnownLog(file, life: $0.life) }
  }

  /// Starts the guard, which keeps other programs from resetting the log until the store is closed. The guard also
  /// copies and empties the log at a bounded size. A second call returns the same guard.
  ///
  /// - Parameter clock: The clock for the pauses between attempts to empty a log that a program reads.
  @discardableResult
  package func startGuard(clock: any TimeSource) throws -> WALGuard { try access.startGuard(clock: clock) }

  package struct WALStatus: Hashable, Sendable {
    /// True if other programs can't reset the log now.
    package var isGuarded: Bool
    /// The size of the `-wal` file.
    package var bytes: Int64
    /// The size that the log should never exceed. If it does, some program is reading an old snapshot.
    package var alarm: Int64
    /// The time since which it could not be emptied, in milliseconds since 1970.
    package var heldUpSince: Int64?
    /// How often it was reset since the guard began: by the guard, and by other programs.
    package var resets: Int
    package var foreignResets: Int
    /// The other processes that read from it now.
    package var readers: [LockHolder]
  }

  package func walStatus() -> WALStatus {
    let figures = access.walGuard?.figures
    return WALStatus(
      isGuarded: figures?.isOn ?? false, bytes: FileStatus(path: file.place + "-wal")?.size ?? 0,
      alarm: WALKeeper.alarm,
      heldUpSince: figures?.heldUpSince, resets: figures?.resets ?? 0, foreignResets: figures?.foreignResets ?? 0,
      readers: LockHolder.all(LockHolder.Lock.marks, ofIndex: file.indexIdentity?.inode))
  }

  /// Returns `PRAGMA data_version`. It changes when another connection has committed.
  package func dataVersion() throws -> Int { try read { try $0.dataVersion() } }

  /// Copies the WAL into the database.
  ///
  /// - Parameter truncate: Also empties the WAL. This waits for readers, up to the timeout of a busy database.
  /// - Returns: False if readers or writers kept it from copying everything.
  @discardableResult
  package func checkpoint(truncate: Bool) throws -> Bool {
    try access.checkpoint(truncate: truncate)
  }
}

/// The relation of the file that a store has open to the one at its path.
package enum Whereabouts: Hashable, Sendable {
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
