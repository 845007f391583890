import MeshCore

/// Who may connect now, as a value: a token bucket for each address, and the places of strangers and of known peers.
///
/// A connection is a stranger's until its peer has proven who it is. When the strangers' places are all taken, a newcomer takes
/// the oldest place of the address that has the most. So connections that say nothing keep nobody out.
struct Admission {
  /// The network part of a peer's address, as bytes.
  typealias Origin = [UInt8]

  /// One connection; later ones have higher places.
  struct Place: Hashable, Comparable, Sendable {
    fileprivate let number: UInt64
    static func < (left: Place, right: Place) -> Bool { left.number < right.number }
  }

  private struct Bucket {
    var tokens: Double
    var filled: Int64
  }

  /// Addresses remembered at one time, about 400 kB. When there are more, those that have all their tokens are
  /// forgotten, and if none has, all are: the limit on strangers holds without them.
  private static let addresses = 4_096

  private let limits: TransportLimits
  private var buckets: [Origin: Bucket] = [:]
  private var strangers: [Place: Origin] = [:]
  private var known: Set<Place> = []
  private var next: UInt64 = 0

  init(limits: TransportLimits) { self.limits = limits }

  /// Takes a place among the strangers for a connection, or says why not.
  ///
  /// - Parameter now: milliseconds; may jump either way.
  /// - Returns: the connection's place, and the one that loses its own, which is to be closed.
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

  /// The peer has proven who it is. False if it has lost its place.
  mutating func met(_ place: Place) -> Bool {
    guard strangers.removeValue(forKey: place) != nil else { return known.contains(place) }
    known.insert(place)
    return true
  }

  /// The connection has ended.
  mutating func left(_ place: Place) {
    strangers[place] = nil
    known.remove(place)
  }

  /// Whose place a newcomer takes; nil if one is free.
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
