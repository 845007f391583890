import Synchronization

/// The simulation's time, in milliseconds since its start. Only the simulation moves it.
///
/// Guard: the mutex; SQLite reads it through a node's file system on whatever thread a connection runs.
final class VirtualTime: Sendable {
  private let milliseconds = Mutex<Int64>(0)

  var now: Int64 { milliseconds.withLock { $0 } }

  func advance(to time: Int64) {
    milliseconds.withLock { $0 = max($0, time) }
  }
}
