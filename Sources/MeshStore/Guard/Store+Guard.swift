public import MeshCore

// MARK: - The write-ahead log

extension Store {
  /// Keeps other programs from beginning the log anew, from now until the store is closed, and copies and empties it at a
  /// bounded size. A second call returns the same guard.
  ///
  /// - Parameter clock: For the pauses between attempts to empty a log that somebody reads.
  @discardableResult
  public func startGuard(clock: any Clock) throws -> WALGuard {
    if let walGuard { return walGuard }
    let walGuard = try guarding {
      let walGuard = try WALGuard(path: path, vfs: file.vfs, clock: clock)
      // From here on the guard copies, when it empties.
      try file.checkpointsItself(false)
      return walGuard
    }
    self.walGuard = walGuard
    try walGuard.look()
    return walGuard
  }

  public struct WALStatus: Hashable, Sendable {
    /// Others can't begin the log anew now.
    public var isGuarded: Bool
    /// Of the `-wal` file.
    public var bytes: Int64
    /// Beyond this the log should not be: somebody reads an old snapshot.
    public var alarm: Int64
    /// Since when it could not be emptied, in milliseconds since 1970.
    public var heldUpSince: Int64?
    /// Times it was begun anew since the guard began: by the guard, and by other programs.
    public var resets: Int
    public var foreignResets: Int
    /// Other processes that read from it now.
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
