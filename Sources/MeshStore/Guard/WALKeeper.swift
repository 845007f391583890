import CSQLite
import GRDB
import Glibc
import MeshCore

/// Holds the read mark that guards a write-ahead log, and empties the log.
///
/// Guard: `WALGuard`'s lock.
final class WALKeeper {
  /// Of the log, in bytes, at which it is copied and emptied: what the node itself committed in some tenths of a second at
  /// its fastest, and small enough to be copied within one lock budget should none of it be copied before.
  static let bound: Int64 = 16 << 20
  /// Beyond it the log is in trouble: somebody reads an old snapshot, or the disk is too slow.
  static let alarm: Int64 = 4 * bound
  /// Between two looks for a lock, in microseconds.
  private static let retryInterval: UInt32 = 500
  /// Looks for a lock that others hold before the guard leaves it to the next call: 50 ms.
  private static let patience = 100
  /// Looks for the end of somebody's reading while writers wait for the guard: with the copying of what came last, below
  /// the lock budget of 50 ms.
  private static let patienceWhileLocked = 50
  /// Bytes of frames that may be left to copy under the write lock: some milliseconds' work. Readers that come and go keep a
  /// copying without the lock from reaching the end.
  private static let leftUnderLock: Int64 = 1 << 20
  /// Of `patienceWhileLocked` with a log beyond its alarm, if reading goes on but not from one old snapshot: there is always somebody who
  /// reads, and the disk is worth more than the budget. 1 s, at most once in `lastPause`.
  private static let patienceInTrouble = 2_000
  /// Between two attempts to empty a log that somebody reads: each costs writers up to `patienceWhileLocked`. Milliseconds.
  private static let firstPause: Int64 = 100
  private static let lastPause: Int64 = 10_000
  /// Of beginning to read; each fails only where another program copied the whole log in between.
  private static let attempts = 5

  private let clock: any Clock
  /// Reads with a mark above zero while `mark` is not nil.
  private var holder: GuardConnection
  /// Takes the next mark before the holder gives up its own.
  private var spare: GuardConnection
  private let checkpointer: GuardConnection
  /// The last frame that others may copy because of the holder.
  private var mark: UInt32?
  /// The log when it was last looked at.
  private var last: WALIndex?
  private var isEmptying = false
  private var waits = 0
  /// Looks for the end of reading in this attempt.
  private var lockedPatience = WALKeeper.patienceWhileLocked
  /// Frames that were copied at the last attempt to empty a log beyond its alarm.
  private var copiedInTrouble: UInt32?
  private var isOpen = true
  /// A checkpoint of another process was at work in the last look, with nothing left to copy.
  private var sawWaiting = false
  private var pause = WALKeeper.firstPause
  private var nextAttempt: Int64 = .min
  private(set) var heldUpSince: Int64?
  /// Somebody calls `look` all the time.
  var isLookedAfter = false
  /// How often another process began the log anew since the guard began, and how often the guard did.
  private(set) var foreignResets = 0
  private(set) var resets = 0

  /// Opens its connections. It guards from the first `look` on.
  init(path: String, vfs: String?, clock: any Clock) throws {
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
        return Unmanaged<WALKeeper>.fromOpaque(context).takeUnretainedValue().isToTryAgain() ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Whether the log can't be begun anew by others now.
  var isOn: Bool { mark != nil }

  /// Moves the mark to the end of the log, gives way to a checkpoint that waits for it, and empties a log beyond its bound.
  /// To be called every few tens of milliseconds; costs microseconds where nothing has changed.
  ///
  /// - Returns: False where nothing happens: the log is as it was, guarded, and nobody checkpoints.
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
    // Where others have all read marks, the guard cannot have a newer one.
    let isStuck = mark.map { $0 < index.frames } ?? false
    giveWay(isCheckpointed && (index.isCopied || isStuck))
    try emptyBeyondBound()
    return isNews || isCheckpointed || mark == nil
  }

  func isBeyondBound() throws -> Bool { try checkpointer.index().map { $0.bytes > Self.bound } ?? false }

  /// Whether more is to be copied than the log should ever have.
  func takesLong() throws -> Bool { try checkpointer.index().map { $0.bytesLeft > Self.alarm } ?? false }

  /// Empties a log beyond its bound; nothing else.
  func emptyBeyondBound() throws {
    guard isOpen, mark != nil, let index = try checkpointer.index(), index.bytes > Self.bound else { return }
    let now = clock.milliseconds()
    // A clock that was set back must not end the guarding.
    guard now >= nextAttempt || now < nextAttempt - Self.lastPause else { return }
    switch try empty(index) {
    case .done: (pause, nextAttempt, heldUpSince, copiedInTrouble) = (Self.firstPause, .min, nil, nil)
    // It costs nobody anything to try again.
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

  /// Reads from the end of the log, with a mark above zero. Stays with what it has where the log is all copied.
  private func take(afterFailure: Bool = false) throws {
    for _ in 0..<Self.attempts {
      guard var before = try checkpointer.index() else { return }
      if before.isCopied {
        if mark != nil { return }
        // To write a row now might be the very reset that is to be prevented.
        if before.frames > 0, !afterFailure, try !empty() { return }
        guard try writeRow(), let written = try checkpointer.index() else { return }
        before = written
      }
      try spare.beginReading()
      // The salt is the same, so the count of copied frames has only grown: it was below the end when reading began.
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

  /// So that the log has a frame. False where the write lock was not to be had.
  private func writeRow() throws -> Bool {
    waits = 0
    do {
      try checkpointer.run("BEGIN IMMEDIATE")
      try checkpointer.run("INSERT OR REPLACE INTO mesh_guard (id, resets) VALUES (1, ?)", [.count(resets)])
      try checkpointer.run("COMMIT")
      return true
    } catch {
      // Of a transaction that did not begin it says so, and that is no news.
      try? checkpointer.run("ROLLBACK")
      guard (error as? DatabaseError)?.resultCode == .SQLITE_BUSY else { throw error }
      return false
    }
  }

  /// A program that checkpoints with FULL, RESTART or TRUNCATE waits for all readers and keeps writers waiting meanwhile. With
  /// everything copied it waits for the guard. It has both locks, so giving up the mark is as safe as in our own checkpoint,
  /// but for RESTART: there the next writer begins the log anew. That moment is left open on purpose: a node must not cost
  /// such programs their busy time-out, usually five seconds, each time.
  private func giveWay(_ isWaiting: Bool) {
    // Twice, because most checkpoints are over in a moment.
    if isWaiting, sawWaiting { release() }
    sawWaiting = isWaiting
  }

  // MARK: Emptying

  private enum Emptying {
    case done
    /// Somebody else checkpoints or writes.
    case locked
    /// Somebody reads from it.
    case read
  }

  private func empty(_ index: WALIndex) throws -> Emptying {
    try take()
    // Without the write lock, so that little is left to copy under it. Where another checkpoint is at work, that one copies.
    _ = try checkpointer.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    guard let passed = try checkpointer.index() else { return .locked }
    let isBehind = passed.bytesLeft > Self.leftUnderLock
    if isBehind, holder.isCheckpointed { return .locked }
    // One that reads an old snapshot and stays with it is not worth any waiting.
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
    // The mark is given up where both locks were to be had.
    if mark != nil { return .locked }
    try take(afterFailure: true)
    return .read
  }

  /// Copies the rest and begins the log anew, with both locks. The mark is given up inside.
  private func empty() throws -> Bool {
    (waits, isEmptying) = (0, true)
    defer { isEmptying = false }
    // SQLite does not wait for the checkpoint lock, which others have for some milliseconds each time they commit.
    while try !checkpointer.checkpoint(SQLITE_CHECKPOINT_TRUNCATE) {
      guard waits < Self.patience, mark != nil else { return false }
      waits += 1
      usleep(Self.retryInterval)
    }
    resets += 1
    last = try checkpointer.index()
    return true
  }

  /// The checkpointer's busy handler.
  private func isToTryAgain() -> Bool {
    waits += 1
    if isEmptying, mesh_wal_has_write_lock(checkpointer.handle) == SQLITE_OK {
      if mark != nil {
        // The checkpoint lock comes first, so both are held: nobody can write or checkpoint until this one is done.
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
