import MeshReplication

/// One simulated TCP connection. Inside, nothing is lost and order is kept; it may be cut at any moment, and then everything
/// in flight is lost, both ways.
struct Wire {
  /// One side: the dialler's is 0, the listener's 1.
  struct End {
    let node: Int
    /// The life of the node that opened it: a later life knows nothing of it.
    let life: Int
    let link: LinkID
    var isOpen = true
    /// When the last byte written so far has left, and when the last message arrives.
    var busyUntil: Int64 = 0
    var lastArrival: Int64 = 0
    /// Bytes that this side sent and the other has not received.
    var inFlight = 0
  }

  enum State {
    case whole
    /// Nothing arrives any more; who has not noticed goes on sending.
    case cut
  }

  var ends: [End]
  var state = State.whole
  /// Its handshake is over.
  var isEstablished = false
  /// Nothing arrives before.
  private var stalledUntil: Int64 = 0
  let latency: Int64
  /// Bytes in a millisecond.
  let rate: Int

  /// Of a connection that is not slow.
  static let fullRate = 100_000
  var isSlow: Bool { rate < Self.fullRate }

  init(ends: [End], latency: Int64, rate: Int) {
    self.ends = ends
    self.latency = latency
    self.rate = rate
  }

  mutating func stall(until time: Int64) { stalledUntil = max(stalledUntil, time) }

  /// When a message written now arrives: after what was written before, whatever its jitter.
  mutating func send(from end: Int, bytes: Int, jitter: Int64, now: Int64) -> Int64 {
    let leaves = max(now, ends[end].busyUntil) + Int64(bytes / rate)
    ends[end].busyUntil = leaves
    ends[end].lastArrival = max(ends[end].lastArrival, stalledUntil, leaves + latency + jitter)
    ends[end].inFlight += bytes
    return ends[end].lastArrival
  }
}
