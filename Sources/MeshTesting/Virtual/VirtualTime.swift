import Synchronization

/// The simulation's time, in milliseconds since its start. Only the simulation moves it.
///
/// The mutex protects it, because SQLite reads it through a node's file system on the thread of any connection.
final class VirtualTime: Sendable {
  private let milliseconds = Mutex<Int64>(0)

  var now: Int64 { milliseconds.withLock { $0 } }

  func advance(to time: Int64) {
    milliseconds.withLock { $0 = max($0, time) }
  }
}
