import MeshCore

/// Decides which peers may connect now, as a value: a token bucket for each address, and the places of strangers and of
/// known peers.
///
/// A connection is a stranger's until its peer has proven its identity. If all places for strangers are taken, a new
/// connection takes the oldest place of the address that has the most. Silent connections therefore exclude no other
/// peer.
struct Admission {
  /// The network part of a peer's address, as bytes.
  typealias Origin = [UInt8]

  /// One connection. Later connections have higher places.
  struct Place: Hashable, Comparable, Sendable {
    fileprivate let number: UInt64
    static func < (left: Place, right: Place) -> Bool { left.number < right.number }
  }

  private struct Bucket {
    var tokens: Double
    var filled: Int64
  }

  /// The number of addresses remembered at one time, about 400 kB. If there are more, those that have all their tokens
  /// are forgotten. If none has, all are forgotten, and the limit on strangers still holds.
  private static let addresses = 4_096

  private let limits: TransportLimits
  private var buckets: [Origin: Bucket] = [:]
  private var strangers: [Place: Origin] = [:]
  private var known: Set<Place> = []
  private var next: UInt64 = 0

  init(limits: TransportLimits) { self.limits = limits }

  /// Takes a place among the strangers for a connection, or throws the reason that there is none.
  ///
  /// - Parameter now: The time in milliseconds, which may jump in either direction.
  /// - Returns: The connection's place, and the place of a connection that has to be closed for it.
  mutating func admit(_ origin: Origin, now: Int64) throws(TransportError) -> (place: Place, evicted: Place?) {
    guard takeToken(origin, now: now) else {
      throw TransportError(.tooMany, "the address opens over \(limits.connectionsPerSecond) connections per second")
    }
    guard known.count < limits.acceptedLinks else { throw TransportError(.tooMany, "all links are taken") }
    let evicted = placeToLeave(for: origin)
    if let evicted { strangers[evicted] = nil }
    next += 1
    let place = Place(number: next)
    strangers[place] = origin
    return (place, evicted)
  }

  /// Notes that the peer has proven its identity. Returns false if the connection has lost its place.
  mutating func met(_ place: Place) -> Bool {
    guard strangers.removeValue(forKey: place) != nil else { return known.contains(place) }
    known.insert(place)
    return true
  }

  /// Notes that the connection has ended.
  mutating func left(_ place: Place) {
    strangers[place] = nil
    known.remove(place)
  }

  /// Returns the place that a new connection takes, or nil if one is free.
  private func placeToLeave(for origin: Origin) -> Place? {
    func oldest(_ origin: Origin) -> Place? { strangers.filter { $0.value == origin }.keys.min() }
    let counts = strangers.values.reduce(into: [origin: 1]) { $0[$1, default: 0] += 1 }
    if counts[origin, default: 0] > limits.strangersPerAddress { return oldest(origin) }
    guard strangers.count >= limits.strangers, let most = counts.values.max() else { return nil }
    return counts.filter { $0.value == most }.keys.compactMap(oldest).min()
  }

  private mutating func takeToken(_ origin: Origin, now: Int64) -> Bool {
    var bucket = filled(buckets[origin] ?? Bucket(tokens: Double(limits.connectionBurst), filled: now), now: now)
    let isGranted = bucket.tokens >= 1
    if isGranted { bucket.tokens -= 1 }
    if buckets[origin] == nil { makeRoom(now: now) }
    buckets[origin] = bucket
    return isGranted
  }

  /// Returns the bucket with the tokens that have accrued. A clock that jumped back adds none.
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
