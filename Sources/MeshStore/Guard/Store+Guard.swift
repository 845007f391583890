public import MeshCore

// MARK: - The write-ahead log

extension Store {
  /// Starts the guard, which keeps other programs from resetting the log until the store is closed. The guard also
  /// copies and empties the log at a bounded size. A second call returns the same guard.
  ///
  /// - Parameter clock: The clock for the pauses between attempts to empty a log that a program reads.
  @discardableResult
  public func startGuard(clock: any Clock) throws -> WALGuard {
    if let walGuard { return walGuard }
    let walGuard = try guarding {
      let walGuard = try WALGuard(path: path, vfs: file.vfs, clock: clock)
      // From here on, the guard copies when it empties the log.
      try file.checkpointsItself(false)
      return walGuard
    }
    self.walGuard = walGuard
    try walGuard.look()
    return walGuard
  }

  public struct WALStatus: Hashable, Sendable {
    /// True if other programs can't reset the log now.
    public var isGuarded: Bool
    /// The size of the `-wal` file.
    public var bytes: Int64
    /// The size that the log should never exceed. If it does, some program is reading an old snapshot.
    public var alarm: Int64
    /// The time since which it could not be emptied, in milliseconds since 1970.
    public var heldUpSince: Int64?
    /// How often it was reset since the guard began: by the guard, and by other programs.
    public var resets: Int
    public var foreignResets: Int
    /// The other processes that read from it now.
    public var readers: [LockHolder]
  }

  public func walStatus() -> WALStatus {
    let figures = walGuard?.figures
    return WALStatus(
      isGuarded: figures?.isOn ?? false, bytes: FileStatus(path: file.place + "-wal")?.size ?? 0,
      alarm: WALKeeper.alarm,
      heldUpSince: figures?.heldUpSince, resets: figures?.resets ?? 0, foreignResets: figures?.foreignResets ?? 0,
      readers: LockHolder.all(LockHolder.Lock.marks, ofIndex: file.indexIdentity?.inode))
  }
}
