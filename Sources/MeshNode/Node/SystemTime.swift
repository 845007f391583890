import Foundation
import MeshCore
import MeshReplication
import MeshTransport

/// The machine's clocks. No other part of a node reads them. A network inside the process can have a wall clock of its
/// own.
struct SystemTime: TimeSource {
  private static let start = ContinuousClock.now
  private let wallClock: (@Sendable () -> Int64)?

  init(_ network: LocalNetwork? = nil) { wallClock = network?.wallClock }

  func milliseconds() -> Int64 { wallClock?() ?? Int64(Date().timeIntervalSince1970 * 1_000) }

  var now: Moment {
    Moment(wall: milliseconds(), steady: Int64((ContinuousClock.now - Self.start) / .milliseconds(1)))
  }
}
