import MeshCore
package import MeshReplication
import Synchronization

/// One node's wall clock in virtual time: the simulation's time plus an offset, which may be wrong and may jump.
package final class VirtualClock: TimeSource {
  /// The start of virtual time, so that every run has the same dates: 2026-01-01T00:00:00Z.
  package static let epoch: Int64 = 1_767_225_600_000

  private let time: VirtualTime
  /// Milliseconds by which this clock is ahead, protected by the mutex.
  private let ahead: Mutex<Int64>

  init(_ time: VirtualTime, ahead: Int64) {
    self.time = time
    self.ahead = Mutex(ahead)
  }

  package func milliseconds() -> Int64 { Self.epoch + time.now + ahead.withLock { $0 } }

  /// The current wall time and steady time.
  package var moment: Moment { Moment(wall: milliseconds(), steady: time.now) }

  func jump(toAhead milliseconds: Int64) {
    ahead.withLock { $0 = milliseconds }
  }
}
