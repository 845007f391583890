import MeshCore
import MeshReplication

/// One simulated TCP connection. It loses nothing and keeps the order of messages. It may be cut at any moment. Then
/// all messages in flight are lost, in both directions.
struct Wire {
  /// One side: 0 for the node that dialed, 1 for the listener.
  struct End {
    let node: Int
    /// The life of the node that opened it. A later life doesn't know the connection.
    let life: Int
    let link: LinkID
    var isOpen = true
    /// The time at which the last written byte has left, and the time at which the last message arrives.
    var busyUntil: Int64 = 0
    var lastArrival: Int64 = 0
    /// Bytes that this side has sent and the other side has not received.
    var inFlight = 0
  }

  enum State {
    case whole
    /// Nothing arrives any more. A side that has not noticed goes on sending.
    case cut
  }

  var ends: [End]
  var state = State.whole
  /// True if its handshake is complete.
  var isEstablished = false
  /// The number of the attempt to join a share that uses it, or nil. `ShareJoins` keeps it equal to the attempt's own note.
  var join: Int?
  /// The invite that the node that dialed proves on it, or nil. It stays with the connection when the attempt has another
  /// one, because a proof that is under way arrives all the same.
  let invite: ShareInviteContent?
  /// The time before which nothing arrives.
  private var stalledUntil: Int64 = 0
  let latency: Int64
  /// The speed in bytes per millisecond.
  let rate: Int

  /// The speed of a connection that is not slow.
  static let fullRate = 100_000
  var isSlow: Bool { rate < Self.fullRate }

  init(ends: [End], invite: ShareInviteContent?, latency: Int64, rate: Int) {
    self.ends = ends
    self.invite = invite
    self.latency = latency
    self.rate = rate
  }

  mutating func stall(until time: Int64) { stalledUntil = max(stalledUntil, time) }

  /// Returns the time at which a message written now arrives. It is after all earlier messages, whatever its jitter.
  mutating func send(from end: Int, bytes: Int, jitter: Int64, now: Int64) -> Int64 {
    let leaves = max(now, ends[end].busyUntil) + Int64(bytes / rate)
    ends[end].busyUntil = leaves
    ends[end].lastArrival = max(ends[end].lastArrival, stalledUntil, leaves + latency + jitter)
    ends[end].inFlight += bytes
    return ends[end].lastArrival
  }
}
