import GRDB
import MeshCore
import Synchronization

/// Keeps other programs from resetting the write-ahead log while a program checkpoints it.
///
/// SQLite 3.7.0 to 3.51.2 can lose commits in that case, except for 3.50.7 and later of 3.50, and 3.44.6 and later of
/// 3.44. A checkpoint may have read the log's index before a writer resets the log. It then goes on with the old
/// length, and counts the next commits as copied.
///
/// A writer resets the log when all of it is copied and nobody reads from it. Therefore the guard always reads from it,
/// with a read mark above zero. A reader gets such a mark if the log has a frame that is not copied when reading
/// begins. If it has none, the guard first writes one small row. Only the guard resets the log, at a bounded size. It
/// uses a checkpoint that holds the checkpoint lock and the write lock when the guard gives up its mark.
///
/// The guard is always on while a node works with the file, with any version of SQLite in this process. The versions in
/// other programs are not known, and one faulty version is enough. The cost is two idle connections, and one row for
/// each reset.
///
/// You may call it from any thread, whatever the store is doing. A program that waits for the guard makes others wait,
/// and possibly the store too.
package final class WALGuard: Sendable {
  private let path: String
  private let keeper: Mutex<WALKeeper>

  /// Opens the guard's connections. It guards from the first `look` on.
  init(path: String, vfs: String?, clock: any TimeSource) throws {
    self.path = path
    keeper = Mutex(try WALKeeper(path: path, vfs: vfs, clock: clock))
  }

  /// Moves the mark to the end of the log, gives way to a checkpoint that waits for it, and empties a log beyond its
  /// bound.
  ///
  /// Call it every few tens of milliseconds. It takes microseconds if nothing has changed, and does nothing after the
  /// store was closed.
  ///
  /// - Returns: False if nothing is happening, so the next look may come later.
  @discardableResult
  package func look() throws -> Bool {
    do {
      return try keeper.withLock { try $0.look() }
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    }
  }

  /// Empties a log beyond its bound, and does nothing else. If `look` is called regularly, long work is left to the
  /// next look, so that the store can go on meanwhile. Such work arises when a program has written much at once.
  ///
  /// - Parameter release: Called first, so that the caller can stop reading.
  func emptyBeyondBound(_ release: () -> Void) throws {
    _ = try keeper.withLockIfAvailable { keeper in
      guard try keeper.isBeyondBound() else { return }
      release()
      if try keeper.isLookedAfter && keeper.takesLong() { return }
      try keeper.emptyBeyondBound()
    }
  }

  /// Tells the guard that `look` is called regularly from now on.
  package func expectRegularLooks() { keeper.withLock { $0.isLookedAfter = true } }

  func close() { keeper.withLock { $0.close() } }

  struct Figures: Sendable {
    var isOn: Bool
    var heldUpSince: Int64?
    var resets: Int
    var foreignResets: Int
  }

  var figures: Figures {
    keeper.withLock {
      Figures(isOn: $0.isOn, heldUpSince: $0.heldUpSince, resets: $0.resets, foreignResets: $0.foreignResets)
    }
  }
}
