import CSQLite
import GRDB
import Glibc
import MeshCore

/// Holds the read mark that guards a write-ahead log, and empties the log. It is protected by the lock of `WALGuard`.
final class WALKeeper {
  /// The size of the log in bytes at which it is copied and emptied. The node itself commits that much in some tenths
  /// of a second at its fastest. It is small enough to be copied within one lock budget, even if none of it was copied
  /// before.
  static let bound: Int64 = 16 << 20
  /// The size above which the log is in trouble: some program reads an old snapshot, or the disk is too slow.
  static let alarm: Int64 = 4 * bound
  /// Microseconds between two attempts to get a lock.
  private static let retryInterval: UInt32 = 500
  /// Attempts to get a lock that others hold before the guard leaves it to the next call: 50 ms.
  private static let patience = 100
  /// Attempts to wait for readers to end while writers wait for the guard. Together with copying the last frames, this
  /// stays below the lock budget of 50 ms.
  private static let patienceWhileLocked = 50
  /// Bytes of frames that may be left to copy under the write lock: the work of some milliseconds. Readers that come
  /// and go keep a copy without the lock from reaching the end.
  private static let leftUnderLock: Int64 = 1 << 20
  /// The value of `patienceWhileLocked` for a log beyond its alarm, if readers go on but not with one old snapshot.
  /// There is always a reader then, and the disk matters more than the budget. It is 1 s, at most once in `lastPause`.
  private static let patienceInTrouble = 2_000
  /// Milliseconds between two attempts to empty a log that a program reads. Each attempt costs writers up to
  /// `patienceWhileLocked`.
  private static let firstPause: Int64 = 100
  private static let lastPause: Int64 = 10_000
  /// Attempts to begin reading. Each fails only if another program copied the whole log in between.
  private static let attempts = 5

  private let clock: any TimeSource
  /// The connection that reads with a mark above zero while `mark` is not nil.
  private var holder: GuardConnection
  /// The connection that takes the next mark before the holder gives up its own.
  private var spare: GuardConnection
  private let checkpointer: GuardConnection
  /// The last frame that others may copy because of the holder.
  private var mark: UInt32?
  /// The log at the last look.
  private var last: WALIndex?
  private var isEmptying = false
  private var waits = 0
  /// The attempts to wait for the end of reading in this attempt to empty the log.
  private var lockedPatience = WALKeeper.patienceWhileLocked
  /// The number of copied frames at the last attempt to empty a log beyond its alarm.
  private var copiedInTrouble: UInt32?
  private var isOpen = true
  /// True if, at the last look, a checkpoint of another process was running with nothing left to copy.
  private var sawWaiting = false
  private var pause = WALKeeper.firstPause
  private var nextAttempt: Int64 = .min
  private(set) var heldUpSince: Int64?
  /// True if `look` is called regularly.
  var isLookedAfter = false
  /// How often another process has reset the log since the guard began, and how often the guard has.
  private(set) var foreignResets = 0
  private(set) var resets = 0

  /// Opens its connections. It guards from the first `look` on.
  init(path: String, vfs: String?, clock: any TimeSource) throws {
    self.clock = clock
    holder = try GuardConnection(path: path, vfs: vfs)
    spare = try GuardConnection(path: path, vfs: vfs)
    checkpointer = try GuardConnection(path: path, vfs: vfs)
    // SQLite opens the log's index with the first read.
    for connection in [holder, spare, checkpointer] {
      try connection.beginReading()
      connection.endReading()
    }
    sqlite3_busy_handler(
      checkpointer.handle,
      { context, _ in
        guard let context else { return 0 }
        return Unmanaged<WALKeeper>.fromOpaque(context).takeUnretainedValue().waitForLock() ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Whether other programs can't reset the log now.
  var isOn: Bool { mark != nil }

  /// Moves the mark to the end of the log, gives way to a checkpoint that waits for it, and empties a log beyond its
  /// bound. Call it every few tens of milliseconds. It takes microseconds if nothing has changed.
  ///
  /// - Returns: False if nothing is happening: the log is unchanged and guarded, and nobody checkpoints.
  @discardableResult
  func look() throws -> Bool {
    guard isOpen, let index = try checkpointer.index() else { return true }
    let isNews = index != last
    // The first frame of an empty log brings a new salt as well.
    if let last, last.frames > 0, last.salt != index.salt {
      foreignResets += 1
      release()
    }
    last = index
    let isCheckpointed = holder.isCheckpointed
    if mark != index.frames, mark != nil || !isCheckpointed { try take() }
    // If others have all read marks, the guard can't have a newer one.
    let isStuck = mark.map { $0 < index.frames } ?? false
    giveWay(isCheckpointed && (index.isCopied || isStuck))
    try emptyBeyondBound()
    return isNews || isCheckpointed || mark == nil
  }

  func isBeyondBound() throws -> Bool { try checkpointer.index().map { $0.bytes > Self.bound } ?? false }

  /// Returns whether there is more to copy than the log should ever contain.
  func takesLong() throws -> Bool { try checkpointer.index().map { $0.bytesLeft > Self.alarm } ?? false }

  /// Empties a log beyond its bound, and does nothing else.
  func emptyBeyondBound() throws {
    guard isOpen, mark != nil, let index = try checkpointer.index(), index.bytes > Self.bound else { return }
    let now = clock.milliseconds()
    // A clock that was set back must not end the guarding.
    guard now >= nextAttempt || now < nextAttempt - Self.lastPause else { return }
    switch try empty(index) {
    case .done: (pause, nextAttempt, heldUpSince, copiedInTrouble) = (Self.firstPause, .min, nil, nil)
    // Another attempt costs nobody anything.
    case .locked: break
    case .read:
      if heldUpSince == nil { heldUpSince = now }
      nextAttempt = now + pause
      pause = min(2 * pause, Self.lastPause)
    }
  }

  func close() {
    isOpen = false
    for connection in [holder, spare, checkpointer] { connection.close() }
    mark = nil
  }

  // MARK: The mark

  /// Reads from the end of the log, with a mark above zero. Keeps the current mark if all of the log is copied.
  private func take(afterFailure: Bool = false) throws {
    for _ in 0..<Self.attempts {
      guard var before = try checkpointer.index() else { return }
      if before.isCopied {
        if mark != nil { return }
        // Writing a row now might be the very reset that the guard has to prevent.
        if before.frames > 0, !afterFailure, try !empty() { return }
        guard try writeRow(), let written = try checkpointer.index() else { return }
        before = written
      }
      try spare.beginReading()
      // The salt is the same, so the count of copied frames has only grown. It was below the end when reading began.
      if let after = try checkpointer.index(), after.salt == before.salt, after.copied < before.frames {
        release()
        swap(&holder, &spare)
        (mark, last) = (after.newestMark, after)
        return
      }
      spare.endReading()
    }
  }

  private func release() {
    if mark != nil { holder.endReading() }
    mark = nil
  }

  /// Writes a row, so that the log has a frame. Returns false if the write lock is not available.
  private func writeRow() throws -> Bool {
    waits = 0
    do {
      try checkpointer.run("BEGIN IMMEDIATE")
      try StateTable.writeGuard(checkpointer, resets: resets)
      try checkpointer.run("COMMIT")
      return true
    } catch {
      // If the transaction did not begin, the rollback fails, and that can be ignored.
      try? checkpointer.run("ROLLBACK")
      guard (error as? DatabaseError)?.resultCode == .SQLITE_BUSY else { throw error }
      return false
    }
  }

  /// Gives up the mark for a checkpoint that waits for it.
  ///
  /// A program that checkpoints with FULL, RESTART or TRUNCATE waits for all readers, and makes writers wait meanwhile.
  /// When everything is copied, it waits for the guard. It holds both locks, so giving up the mark is as safe as in the
  /// guard's own checkpoint. The exception is RESTART, after which the next writer resets the log. That gap is left
  /// open on purpose: a node must not cost such programs their busy timeout, usually five seconds, each time.
  private func giveWay(_ isWaiting: Bool) {
    // The guard waits for two looks, because most checkpoints are over in a moment.
    if isWaiting, sawWaiting { release() }
    sawWaiting = isWaiting
  }

  // MARK: Emptying

  private enum Emptying {
    case done
    /// Another program checkpoints or writes.
    case locked
    /// Another program reads from the log.
    case read
  }

  private func empty(_ index: WALIndex) throws -> Emptying {
    try take()
    // This runs without the write lock, so that little is left to copy under it. If another checkpoint is running, that
    // one copies.
    _ = try checkpointer.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    guard let passed = try checkpointer.index() else { return .locked }
    let isBehind = passed.bytesLeft > Self.leftUnderLock
    if isBehind, holder.isCheckpointed { return .locked }
    // It isn't worth waiting for a reader that stays with an old snapshot.
    let isInTrouble = index.bytes > Self.alarm && passed.copied != copiedInTrouble
    guard !isBehind || isInTrouble else { return .read }
    if isInTrouble { copiedInTrouble = passed.copied }
    lockedPatience = isInTrouble ? Self.patienceInTrouble : Self.patienceWhileLocked
    let isDone = try empty()
    lockedPatience = Self.patienceWhileLocked
    if isDone {
      try take()
      return .done
    }
    // The mark is given up only if both locks were available.
    if mark != nil { return .locked }
    try take(afterFailure: true)
    return .read
  }

  /// Copies the rest and resets the log, holding both locks. The mark is given up inside.
  private func empty() throws -> Bool {
    (waits, isEmptying) = (0, true)
    defer { isEmptying = false }
    // SQLite doesn't wait for the checkpoint lock. Other programs hold it for some milliseconds at each commit.
    while try !checkpointer.checkpoint(SQLITE_CHECKPOINT_TRUNCATE) {
      guard waits < Self.patience, mark != nil else { return false }
      waits += 1
      usleep(Self.retryInterval)
    }
    resets += 1
    last = try checkpointer.index()
    return true
  }

  /// Handles a lock that is taken, for the checkpointer. Gives up the mark, or sleeps. Returns false to give up.
  private func waitForLock() -> Bool {
    waits += 1
    if isEmptying, mesh_wal_take_write_lock(checkpointer.handle) == SQLITE_OK {
      if mark != nil {
        // SQLite takes the checkpoint lock first, so both are held now. Nobody can write or checkpoint until this
        // checkpoint is done.
        release()
        waits = 0
        return true
      }
      guard waits < lockedPatience else { return false }
    } else {
      guard waits < Self.patience else { return false }
    }
    usleep(Self.retryInterval)
    return true
  }
}
