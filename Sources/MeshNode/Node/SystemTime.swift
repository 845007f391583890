import Glibc
import MeshCore
import MeshReplication

/// The machine's clocks: the only place in a node that reads them.
struct SystemTime: Clock {
  func milliseconds() -> Int64 { Self.read(CLOCK_REALTIME) }

  var now: Moment { Moment(wall: milliseconds(), steady: Self.read(CLOCK_BOOTTIME)) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }
}
