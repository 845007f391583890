import Foundation
import MeshCore
import MeshReplication

/// The machine's clocks. No other part of a node reads them.
struct SystemTime: MeshCore.Clock {
  private static let start = ContinuousClock.now

  func milliseconds() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

  var now: Moment {
    Moment(wall: milliseconds(), steady: Int64((ContinuousClock.now - Self.start) / .milliseconds(1)))
  }
}
