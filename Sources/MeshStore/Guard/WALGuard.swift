import GRDB
import MeshCore
import Synchronization

/// Sees to it that nobody begins the write-ahead log anew while somebody else checkpoints it.
///
/// SQLite 3.7.0 to 3.51.2 (not 3.50.7 and later of 3.50, not 3.44.6 and later of 3.44) can lose commits then: a checkpoint
/// that read the log's index before a writer reset the log goes on with the old length, and what is committed next counts as
/// copied. A writer resets the log when all of it is copied and nobody reads from it; so the guard always reads from it. Its
/// read mark must be above zero, which it is while the log has a frame that is not copied at the moment when reading begins:
/// if there is none, one small row is written first. The log is begun anew by the guard alone, at a bounded size, with a
/// checkpoint that holds the checkpoint lock and the write lock when the mark is given up.
///
/// It is always on while a node works with the file, whatever SQLite this process has: the versions of the programs beside it
/// are not known, one of them that has the fault is enough, and the cost is two idle connections and a row a reset.
///
/// Any thread may call it, whatever the store does meanwhile: a program that waits for the guard keeps others waiting, and may
/// keep the store waiting.
public final class WALGuard: Sendable {
  private let path: String
  private let keeper: Mutex<WALKeeper>

  /// It guards from the first `look` on.
  init(path: String, vfs: String?, clock: any Clock) throws {
    self.path = path
    keeper = Mutex(try WALKeeper(path: path, vfs: vfs, clock: clock))
  }

  /// Moves the mark to the end of the log, gives way to a checkpoint that waits for it, and empties a log beyond its bound.
  /// To be called every few tens of milliseconds; costs microseconds where nothing has changed, and nothing after the
  /// store was closed.
  ///
  /// - Returns: False where nothing happens: the next look may come later.
  @discardableResult
  public func look() throws -> Bool {
    do {
      return try keeper.withLock { try $0.look() }
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    }
  }

  /// Empties a log beyond its bound; nothing else. What takes long, because a program has written much at once, is left to the next
  /// look where somebody looks: until it is done the store goes on.
  ///
  /// - Parameter release: Called before, for the caller to stop reading.
  func emptyBeyondBound(_ release: () -> Void) throws {
    _ = try keeper.withLockIfAvailable { keeper in
      guard try keeper.isBeyondBound() else { return }
      release()
      if try keeper.isLookedAfter && keeper.takesLong() { return }
      try keeper.emptyBeyondBound()
    }
  }

  /// From now on somebody calls `look` all the time.
  public func willBeLookedAfter() { keeper.withLock { $0.isLookedAfter = true } }

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
