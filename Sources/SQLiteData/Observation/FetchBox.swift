import Dependencies
import GRDB
import Observation
import Synchronization

/// The state of a fetching property: its value, and the observation that keeps the value up to date.
final class FetchBox<Value: Sendable>: Observable, Sendable {
  /// A request, with the database to run it and the scheduler to deliver its results.
  struct Source: Sendable {
    let request: ObservedRequest<Value>
    let database: any DatabaseReader
    let scheduler: any ValueObservationScheduler

    var observation: SharedObservation<Value> {
      SharedObservations.observation(of: request, in: database, scheduler: scheduler)
    }
  }

  private struct State {
    var value: Value
    var loadError: (any Error)?
    /// The number of calls of `load` that are waiting.
    var loads = 0
    /// Whether the first value hasn't arrived yet.
    var awaitsFirst = false
    var source: Source?
    /// The number of calls of `load`. The latest call decides which request is observed.
    var ticket = 0
    /// The ticket of the call whose observation delivers.
    var observed = 0
    var observation: SharedObservation<Value>?
    var subscription: ObservationSubscription?
    /// The latest call of `load` with a request, while its fetch runs.
    var pending: PendingLoad?
    var order: SharedObservation<Value>.Order?
    var streams: [Int: AsyncStream<Value>.Continuation] = [:]
    var lastStream = 0

    var isLoading: Bool { loads > 0 || awaitsFirst }

    /// Returns whether an outcome comes from the box's observation and is newer than the box's value.
    func expects(_ order: SharedObservation<Value>.Order, from observation: ObjectIdentifier) -> Bool {
      self.observation.map(ObjectIdentifier.init) == observation && self.order.map { $0 < order } ?? true
    }
  }

  private let defaultDatabase = Dependency(\.defaultDatabase)
  private let registrar = ObservationRegistrar()
  private let state: Mutex<State>

  /// Creates a box that observes nothing yet.
  init(_ value: Value) {
    state = Mutex(State(value: value))
  }

  /// Creates a box that observes a request.
  convenience init(
    _ value: Value, _ request: ObservedRequest<Value>, database: (any DatabaseReader)?,
    scheduler: (any ValueObservationScheduler)?
  ) {
    self.init(value)
    guard let source = source(request, database, scheduler) else { return }
    let observation = source.observation
    let ticket = state.withLock { state in
      state.source = source
      state.ticket += 1
      state.awaitsFirst = true
      return state.ticket
    }
    adopt(observation, source, ticket)
    observation.startIfNeeded()
    if let outcome = observation.latest { receive(outcome, from: ObjectIdentifier(observation)) }
  }

  deinit {
    for stream in state.withLock({ $0.streams }).values { stream.finish() }
  }

  // MARK: State

  var value: Value {
    registrar.access(self, keyPath: \.value)
    return state.withLock { $0.value }
  }

  var loadError: (any Error)? {
    registrar.access(self, keyPath: \.loadError)
    return state.withLock { $0.loadError }
  }

  var isLoading: Bool {
    registrar.access(self, keyPath: \.isLoading)
    return state.withLock { $0.isLoading }
  }

  /// The current value, and each later one. A slow reader skips outdated values.
  var values: AsyncStream<Value> {
    let (stream, continuation) = AsyncStream<Value>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.lastStream += 1
      state.streams[state.lastStream] = continuation
      if !state.awaitsFirst { continuation.yield(state.value) }
      return state.lastStream
    }
    // The stream holds the box, and therefore the observation, until it has no reader any more.
    continuation.onTermination = { [self] _ in
      _ = state.withLock { $0.streams.removeValue(forKey: id) }
    }
    return stream
  }

  /// The observation that delivers to the box, for tests.
  var observation: SharedObservation<Value>? { state.withLock { $0.observation } }

  var observationIdentity: ObjectIdentifier? { observation.map(ObjectIdentifier.init) }

  // MARK: Loading

  /// Fetches again. Returns immediately if there is no request.
  func load() async throws {
    guard let (source, ticket) = state.withLock({ state in state.source.map { ($0, state.observed) } }) else { return }
    _ = try await load(source, ticket)
  }

  /// Fetches and observes another request.
  func load(
    _ request: ObservedRequest<Value>, database: (any DatabaseReader)?, scheduler: (any ValueObservationScheduler)?
  ) async throws -> FetchSubscription {
    guard let source = source(request, database, scheduler) else { return FetchSubscription {} }
    let ticket = state.withLock { state in
      state.ticket += 1
      return state.ticket
    }
    return try await load(source, ticket)
  }

  /// Observes the same request as another box, starting with its current value.
  func follow(_ other: FetchBox) {
    guard other !== self else { return }
    let (source, value) = other.state.withLock { ($0.source, $0.value) }
    let ticket = state.withLock { state in
      state.ticket += 1
      return state.ticket
    }
    guard let source else {
      stop(state.withLock { $0.observed })
      registrar.withMutation(of: self, keyPath: \.value) {
        state.withLock { state in
          state.source = nil
          state.value = value
          for stream in state.streams.values { stream.yield(value) }
        }
      }
      return
    }
    let observation = source.observation
    adopt(observation, source, ticket)
    observation.startIfNeeded()
    if let outcome = observation.latest { receive(outcome, from: ObjectIdentifier(observation)) }
  }

  private func load(_ source: Source, _ ticket: Int) async throws -> FetchSubscription {
    let observation = source.observation
    registrar.withMutation(of: self, keyPath: \.isLoading) { state.withLock { $0.loads += 1 } }
    defer { registrar.withMutation(of: self, keyPath: \.isLoading) { state.withLock { $0.loads -= 1 } } }
    let subscription = FetchSubscription { [weak self] in self?.stop(ticket) }
    let outcome: SharedObservation<Value>.Outcome
    do {
      // If the task is cancelled, this throws, and the box continues with its former request.
      outcome = try await refresh(observation, ticket)
    } catch is CancellationError where !Task.isCancelled {
      // A later call replaced this one.
      return subscription
    }
    adopt(observation, source, ticket)
    receive(outcome, from: ObjectIdentifier(observation))
    _ = try outcome.result.get()
    return subscription
  }

  /// Fetches the value of an observation. It throws a `CancellationError` if the task is cancelled, or if a later call
  /// of `load` asks for another request. Nobody needs the value in these cases, and the query is interrupted.
  private func refresh(
    _ observation: SharedObservation<Value>, _ ticket: Int
  ) async throws -> SharedObservation<Value>.Outcome {
    let load = PendingLoad(ticket: ticket, observation: observation, waiter: observation.announceWaiter())
    let replaced: PendingLoad? = state.withLock { state in
      // A call without a request fetches the observed one again, and replaces nothing.
      guard state.observed < ticket else { return nil }
      // The calls may arrive here in another order than they were made.
      let later = state.pending.map { $0.ticket > ticket } ?? false
      let earlier = state.pending
      if !later { state.pending = load }
      guard let earlier, earlier.observation !== observation else { return nil }
      return later ? load : earlier
    }
    if let replaced { replaced.observation.cancelWaiter(replaced.waiter) }
    defer {
      let ended: PendingLoad? = state.withLock { state in
        guard let pending = state.pending, pending.ticket == ticket else { return nil }
        state.pending = nil
        return pending
      }
      // It is released outside of the lock, because this may be its last reference.
      _ = ended
    }
    return try await observation.refresh(load.waiter)
  }

  private struct PendingLoad {
    let ticket: Int
    let observation: SharedObservation<Value>
    let waiter: Int
  }

  private func source(
    _ request: ObservedRequest<Value>, _ database: (any DatabaseReader)?, _ scheduler: (any ValueObservationScheduler)?
  ) -> Source? {
    let database = database ?? state.withLock { $0.source?.database } ?? defaultDatabase.wrappedValue
    guard !database.isUnset else { return nil }
    return Source(request: request, database: database, scheduler: scheduler ?? ImmediateScheduler())
  }

  /// Lets an observation deliver to the box, unless a request that was loaded later already does.
  private func adopt(_ observation: SharedObservation<Value>, _ source: Source, _ ticket: Int) {
    let identity = ObjectIdentifier(observation)
    let subscription = observation.subscribe { [weak self] in self?.receive($0, from: identity) }
    let unused: Observed? = state.withLock { state in
      guard state.observed <= ticket, state.observation !== observation else {
        state.observed = max(state.observed, ticket)
        return Observed(observation: observation, subscription: subscription)
      }
      let earlier = Observed(observation: state.observation, subscription: state.subscription)
      state.source = source
      state.observed = ticket
      state.observation = observation
      state.subscription = subscription
      state.order = nil
      return earlier
    }
    // It is released outside of the lock, because this may be its last reference.
    _ = unused
  }

  private func stop(_ ticket: Int) {
    let unused: Observed? = state.withLock { state in
      guard state.observed == ticket else { return nil }
      let earlier = Observed(observation: state.observation, subscription: state.subscription)
      state.subscription = nil
      state.observation = nil
      return earlier
    }
    _ = unused
  }

  private struct Observed {
    let observation: SharedObservation<Value>?
    let subscription: ObservationSubscription?
  }

  private func receive(_ outcome: SharedObservation<Value>.Outcome, from observation: ObjectIdentifier) {
    let changes: (value: Bool, error: Bool, loading: Bool)? = state.withLock { state in
      guard state.expects(outcome.order, from: observation) else { return nil }
      if case .success = outcome.result { return (true, state.loadError != nil, state.awaitsFirst) }
      return (false, true, state.awaitsFirst)
    }
    guard let changes else { return }
    if changes.value { registrar.willSet(self, keyPath: \.value) }
    if changes.error { registrar.willSet(self, keyPath: \.loadError) }
    if changes.loading { registrar.willSet(self, keyPath: \.isLoading) }
    state.withLock { state in
      guard state.expects(outcome.order, from: observation) else { return }
      state.order = outcome.order
      state.awaitsFirst = false
      switch outcome.result {
      case .success(let value):
        state.value = value
        state.loadError = nil
        for stream in state.streams.values { stream.yield(value) }
      case .failure(let error):
        // The value stays unchanged.
        state.loadError = error
      }
    }
    if changes.value { registrar.didSet(self, keyPath: \.value) }
    if changes.error { registrar.didSet(self, keyPath: \.loadError) }
    if changes.loading { registrar.didSet(self, keyPath: \.isLoading) }
  }
}
