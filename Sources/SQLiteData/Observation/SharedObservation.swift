import Dispatch
import GRDB
import GRDBSQLite
import Synchronization

/// The observation of one request, shared by all properties with the same request.
///
/// It fetches once, and again after each commit that may change the value. Errors don't end it.
final class SharedObservation<Value: Sendable>: Sendable {
  /// A value or error with its position among the others. An outcome with a later position was fetched later.
  struct Outcome: Sendable {
    let order: Order
    let result: Result<Value, any Error>
  }

  struct Order: Comparable, Sendable {
    /// The number of the observation's start.
    var start: Int
    /// The number of the fetch since that start.
    var fetch: Int

    static func < (lhs: Order, rhs: Order) -> Bool {
      (lhs.start, lhs.fetch) < (rhs.start, rhs.fetch)
    }
  }

  private struct State {
    var start = 0
    var running: AnyDatabaseCancellable?
    var interruption: FetchInterruption?
    var latest: Outcome?
    var subscribers: [Int: @Sendable (Outcome) -> Void] = [:]
    /// The callers that wait for a value fetched after their request.
    var waiters: [Int: (start: Int, continuation: CheckedContinuation<Outcome, any Error>)] = [:]
    /// The numbers of the callers that haven't begun to wait and aren't cancelled.
    var announced: Set<Int> = []
    var lastID = 0

    mutating func nextID() -> Int {
      lastID += 1
      return lastID
    }
  }

  private let request: ObservedRequest<Value>
  private let database: any DatabaseReader
  private let scheduler: any ValueObservationScheduler
  private let foreignWrites: ForeignWrites?
  private let state = Mutex(State())

  init(_ request: ObservedRequest<Value>, in database: any DatabaseReader, scheduler: any ValueObservationScheduler) {
    self.request = request
    self.database = database
    self.scheduler = scheduler
    foreignWrites = (database as? any DatabaseWriter).flatMap(ForeignWrites.watching)
  }

  deinit {
    state.withLock { $0.interruption?.interrupt() }
  }

  /// The latest value or error, or nil before the first.
  var latest: Outcome? { state.withLock { $0.latest } }

  /// Starts the observation if it isn't running. With a scheduler that delivers the first value immediately, that value
  /// is ``latest`` when this method returns.
  func startIfNeeded() {
    let start: Int? = state.withLock { state in
      guard state.start == 0 else { return nil }
      state.start = 1
      return 1
    }
    if let start { observe(start, scheduler) }
  }

  /// Fetches again and returns the result.
  ///
  /// The result is fetched after this call. If the task is cancelled, the method throws. The query is then interrupted
  /// if no other caller waits for it.
  ///
  /// - Parameter id: The number of the caller, from ``announceWaiter()``.
  func refresh(_ id: Int) async throws -> Outcome {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let start: Int? = state.withLock { state in
          // The cancellation may have come before the caller waits.
          guard state.announced.remove(id) != nil else { return nil }
          state.start += 1
          state.waiters[id] = (state.start, continuation)
          return state.start
        }
        guard let start else { return continuation.resume(throwing: CancellationError()) }
        observe(start, WithoutImmediateValue(scheduler))
      }
    } onCancel: {
      cancelWaiter(id)
    }
  }

  /// Returns a number for a caller that is about to fetch.
  func announceWaiter() -> Int {
    state.withLock { state in
      let id = state.nextID()
      state.announced.insert(id)
      return id
    }
  }

  /// Ends the wait of a caller, which then throws. The query is interrupted if no other caller and no property needs it.
  func cancelWaiter(_ id: Int) {
    let waiter = state.withLock { state in
      state.announced.remove(id)
      return state.waiters.removeValue(forKey: id)
    }
    waiter?.continuation.resume(throwing: CancellationError())
  }

  /// Calls a closure with each value and error from now on, until the returned subscription is released.
  func subscribe(_ deliver: @escaping @Sendable (Outcome) -> Void) -> ObservationSubscription {
    let id = state.withLock { state in
      let id = state.nextID()
      state.subscribers[id] = deliver
      return id
    }
    return ObservationSubscription { [self] in
      _ = state.withLock { $0.subscribers.removeValue(forKey: id) }
    }
  }

  private func observe(_ start: Int, _ scheduler: any ValueObservationScheduler) {
    let interruption = FetchInterruption()
    let earlier: (AnyDatabaseCancellable?, FetchInterruption?)? = state.withLock { state in
      guard state.start == start else { return nil }
      let earlier = (state.running, state.interruption)
      state.running = nil
      state.interruption = interruption
      return earlier
    }
    guard let earlier else { return }
    earlier.0?.cancel()
    // Its result would be ignored. Callers that waited for it wait for the new one.
    earlier.1?.interrupt()

    let counter = Counter()
    let fetch: @Sendable (Database) throws -> Outcome = { [request] db in
      let order = Order(start: start, fetch: counter.next())
      let result = try interruption.withConnection(of: db) { Result { try request.fetch(db) } }
      if case .failure(let error) = result, !(error is NotFound) {
        // It is unknown which tables the query would have read, so any commit may resolve the error.
        try db.registerAccess(to: .fullDatabase)
      }
      return Outcome(order: order, result: result)
    }
    let observation =
      request.readsSameTables
      ? ValueObservation.trackingConstantRegion(fetch) : ValueObservation.tracking(fetch)
    let running = observation.start(
      in: database,
      scheduling: scheduler,
      onError: { [weak self] error in
        self?.receive(Outcome(order: Order(start: start, fetch: .max), result: .failure(error)))
      },
      onChange: { [weak self] outcome in self?.receive(outcome) })
    let isCurrent = state.withLock { state in
      guard state.start == start else { return false }
      state.running = running
      return true
    }
    if !isCurrent { running.cancel() }
  }

  private func receive(_ outcome: Outcome) {
    let (subscribers, waiters) = state.withLock { state in
      guard state.start == outcome.order.start else {
        return ([@Sendable (Outcome) -> Void](), [CheckedContinuation<Outcome, any Error>]())
      }
      var waiters: [CheckedContinuation<Outcome, any Error>] = []
      for (id, waiter) in state.waiters where waiter.start <= outcome.order.start {
        waiters.append(waiter.continuation)
        state.waiters.removeValue(forKey: id)
      }
      if let latest = state.latest {
        guard latest.order < outcome.order else { return ([], waiters) }
        if request.isSame(latest.result, outcome.result) {
          state.latest = outcome
          return ([], waiters)
        }
      }
      state.latest = outcome
      return (Array(state.subscribers.values), waiters)
    }
    for deliver in subscribers { deliver(outcome) }
    for waiter in waiters { waiter.resume(returning: outcome) }
    if case .failure(let error) = outcome.result, RetryRule.mayPass(error) {
      retry(after: outcome.order.start)
    }
  }

  /// Starts again a little later, unless it was started in the meantime.
  private func retry(after start: Int) {
    DispatchQueue.global().asyncAfter(deadline: .now() + RetryRule.delay) { [weak self] in
      guard let self else { return }
      let next: Int? = state.withLock { state in
        guard state.start == start else { return nil }
        state.start += 1
        return state.start
      }
      if let next { observe(next, WithoutImmediateValue(scheduler)) }
    }
  }
}

/// The errors that disappear without a commit.
private enum RetryRule {
  static let delay = 0.5

  static func mayPass(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_INTERRUPT].contains(
      error.resultCode.primaryResultCode)
  }
}

/// Ends a subscription when it is released.
final class ObservationSubscription: Sendable {
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  deinit { end() }
}

/// Numbers fetches.
private final class Counter: Sendable {
  private let count = Atomic(0)
  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// A fetch that can be interrupted from another thread.
final class FetchInterruption: Sendable {
  private struct State {
    /// The connection that runs the fetch, as an integer because pointers aren't sendable.
    var connection: UInt?
    var isInterrupted = false
  }

  private let state = Mutex(State())

  func withConnection<T>(of db: Database, _ fetch: () throws -> T) throws -> T {
    let connection = db.sqliteConnection.map { UInt(bitPattern: $0) }
    try state.withLock { state in
      if state.isInterrupted { throw CancellationError() }
      state.connection = connection
    }
    defer { state.withLock { $0.connection = nil } }
    return try fetch()
  }

  func interrupt() {
    // The lock is held, so that the connection can't already be running something else.
    state.withLock { state in
      state.isInterrupted = true
      if let connection = state.connection.flatMap(OpaquePointer.init(bitPattern:)) { sqlite3_interrupt(connection) }
    }
  }
}
