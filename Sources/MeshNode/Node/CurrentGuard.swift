import MeshStore
import Synchronization

/// The guard of the write-ahead log of the store that is open now: whoever looks after it does not wait for the node.
final class CurrentGuard: Sendable {
  private let current = Mutex<WALGuard?>(nil)

  /// - Parameter walGuard: Nil while no store is guarded.
  func set(_ walGuard: WALGuard?) {
    walGuard?.willBeLookedAfter()
    current.withLock { $0 = walGuard }
  }

  /// See `WALGuard.look`.
  func look() throws -> Bool { try current.withLock { $0 }?.look() ?? false }
}
