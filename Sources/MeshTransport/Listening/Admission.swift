import MeshCore

/// Who may connect now, as a value: a token bucket for each address, and the places of half-open connections and of
/// links.
struct Admission {
  /// The network part of a peer's address, as bytes.
  typealias Origin = [UInt8]

  private struct Bucket {
    var tokens: Double
    var filled: Int64
  }

  /// Addresses remembered at one time, about 400 kB. When there are more, those that have all their tokens are
  /// forgotten, and if none has, all are: the limit on half-open connections holds without them.
  private static let addresses = 4_096

  private let limits: TransportLimits
  private var buckets: [Origin: Bucket] = [:]
  private var halfOpen: [Origin: Int] = [:]
  private var halfOpenTotal = 0
  private var links = 0

  init(limits: TransportLimits) { self.limits = limits }

  /// Takes a place among the half-open for a connection, or says why not.
  ///
  /// - Parameter now: milliseconds; may jump either way.
  mutating func admit(_ origin: Origin, now: Int64) throws(TransportError) {
    guard takeToken(origin, now: now) else {
      throw TransportError(.tooMany, "the address opens over \(limits.connectionsPerSecond) connections per second")
    }
    guard halfOpenTotal < limits.halfOpen, links < limits.acceptedLinks else {
      throw TransportError(.tooMany, "all \(halfOpenTotal < limits.halfOpen ? "links" : "handshakes") are taken")
    }
    guard halfOpen[origin, default: 0] < limits.halfOpenPerAddress else {
      throw TransportError(.tooMany, "the address has \(limits.halfOpenPerAddress) handshakes open")
    }
    // A few addresses that fill their places leave some to everybody else.
    guard halfOpen[origin] == nil || halfOpenTotal < limits.halfOpen - limits.halfOpen / 4 else {
      throw TransportError(.tooMany, "the last handshakes are for addresses that have none open")
    }
    halfOpen[origin, default: 0] += 1
    halfOpenTotal += 1
  }

  /// The handshake of an admitted connection is over.
  mutating func finished(_ origin: Origin, isLink: Bool) {
    halfOpenTotal -= 1
    let left = halfOpen[origin, default: 1] - 1
    halfOpen[origin] = left > 0 ? left : nil
    if isLink { links += 1 }
  }

  /// A link that came from an admitted connection has ended.
  mutating func ended() { links -= 1 }

  private mutating func takeToken(_ origin: Origin, now: Int64) -> Bool {
    var bucket = filled(buckets[origin] ?? Bucket(tokens: Double(limits.connectionBurst), filled: now), now: now)
    let isGranted = bucket.tokens >= 1
    if isGranted { bucket.tokens -= 1 }
    if buckets[origin] == nil { makeRoom(now: now) }
    buckets[origin] = bucket
    return isGranted
  }

  /// A clock that went back fills nothing.
  private func filled(_ bucket: Bucket, now: Int64) -> Bucket {
    let seconds = Double(max(0, now - bucket.filled)) / 1_000
    let tokens = bucket.tokens + seconds * Double(limits.connectionsPerSecond)
    return Bucket(tokens: min(tokens, Double(limits.connectionBurst)), filled: now)
  }

  private mutating func makeRoom(now: Int64) {
    guard buckets.count >= Self.addresses else { return }
    buckets = buckets.filter { filled($0.value, now: now).tokens < Double(limits.connectionBurst) }
    if buckets.count >= Self.addresses { buckets = [:] }
  }
}
