import MeshStore
import Synchronization

/// The guard of the write-ahead log of the currently open store. The task that maintains it doesn't wait for the node.
final class CurrentGuard: Sendable {
  private let current = Mutex<WALGuard?>(nil)

  /// Sets the guard.
  ///
  /// - Parameter walGuard: The guard, or nil while no store is guarded.
  func set(_ walGuard: WALGuard?) {
    walGuard?.expectRegularLooks()
    current.withLock { $0 = walGuard }
  }

  /// Calls `WALGuard.look` on the current guard.
  func look() throws -> Bool { try current.withLock { $0 }?.look() ?? false }
}
