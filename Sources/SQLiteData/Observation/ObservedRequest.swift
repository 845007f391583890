import GRDB
import Synchronization

/// A request with the information that its observation needs.
struct ObservedRequest<Value: Sendable>: Sendable {
  let request: any FetchKeyRequest<Value>
  /// Whether the request reads the same tables each time. GRDB then fetches outside of the writer.
  let readsSameTables: Bool

  init(_ request: some FetchKeyRequest<Value>, readsSameTables: Bool = false) {
    self.request = request
    self.readsSameTables = readsSameTables
  }

  func fetch(_ db: Database) throws -> Value { try request.fetch(db) }

  /// Returns whether two results are known to be the same, so that the later one needn't be delivered.
  ///
  /// GRDB delivers the first value twice, and it fetches everything after a commit of another process.
  func isSame(_ lhs: Result<Value, any Error>, _ rhs: Result<Value, any Error>) -> Bool {
    guard case .success(let lhs) = lhs, case .success(let rhs) = rhs else { return false }
    if let lhs = lhs as? any ComparableFetch { return lhs.isSame(as: rhs) }
    if let lhs = lhs as? any Equatable { return lhs.isEqual(to: rhs) }
    return false
  }
}

/// A fetched value that can be compared, although its type may not be `Equatable`.
protocol ComparableFetch {
  func isSame(as other: Any) -> Bool
}

extension Equatable {
  func isEqual(to other: Any) -> Bool { other as? Self == self }
}

/// The observations that are in use, by their request, database and scheduler.
enum SharedObservations {
  private struct Key: Hashable, Sendable {
    let request: any FetchKeyRequest
    let database: ObjectIdentifier
    let scheduler: any ValueObservationScheduler

    static func == (lhs: Key, rhs: Key) -> Bool {
      lhs.database == rhs.database && AnyHashable(lhs.request) == AnyHashable(rhs.request)
        && lhs.comparableScheduler == rhs.comparableScheduler
    }

    var comparableScheduler: AnyHashable? { (scheduler as? any Hashable).map { AnyHashable($0) } }

    func hash(into hasher: inout Hasher) {
      hasher.combine(AnyHashable(request))
      hasher.combine(database)
      hasher.combine(comparableScheduler)
    }
  }

  private struct Entries {
    var references: [Key: any ObservationReference] = [:]
    /// The number of entries at which the entries of released observations are removed.
    var sweepCount = 64
  }

  private static let entries = Mutex(Entries())

  /// Returns the observation of a request, which may already be running.
  static func observation<Value: Sendable>(
    of request: ObservedRequest<Value>, in database: any DatabaseReader, scheduler: any ValueObservationScheduler
  ) -> SharedObservation<Value> {
    func make() -> SharedObservation<Value> { SharedObservation(request, in: database, scheduler: scheduler) }
    // Schedulers that can't be compared may deliver in different places.
    let key = Key(request: request.request, database: ObjectIdentifier(database), scheduler: scheduler)
    guard key.comparableScheduler != nil else { return make() }
    return entries.withLock { entries in
      if let reference = entries.references[key] as? WeakReference<SharedObservation<Value>>,
        let observation = reference.object
      {
        return observation
      }
      let observation = make()
      entries.references[key] = WeakReference(observation)
      if entries.references.count >= entries.sweepCount {
        entries.references = entries.references.filter { $0.value.isInUse }
        entries.sweepCount = max(64, entries.references.count * 2)
      }
      return observation
    }
  }
}

private protocol ObservationReference: Sendable {
  var isInUse: Bool { get }
}

extension WeakReference: ObservationReference {
  var isInUse: Bool { object != nil }
}
