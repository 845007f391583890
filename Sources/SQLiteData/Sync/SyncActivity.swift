import MeshControl
import Observation
import Synchronization

/// The keeper of a sync engine's node, and the progress of the engine.
///
/// Observers of the engine's properties observe the ones here.
final class SyncActivity: Observable, Sendable {
  private struct State: Sendable {
    var keeper: NodeKeeper?
    /// The number of the current keeper, which distinguishes its reports from those of an earlier one.
    var number = 0
    /// True if the current keeper was stopped.
    var isStopped = true
    /// True if the current keeper has ended without being stopped.
    var isOver = false
    var role: NodeKeeper.Role?
    var progress = SyncProgress()
    /// When the node was asked for the progress.
    private var asked: ContinuousClock.Instant?
    /// The number of waiting calls of each kind.
    var calls: [Call: Int] = [:]
    var streams: [Int: AsyncStream<SyncProgress>.Continuation] = [:]
    var lastStream = 0

    var isSending: Bool { calls[.send, default: 0] > 0 || role != nil && progress.isSending }
    var isFetching: Bool { calls[.fetch, default: 0] > 0 || role != nil && progress.isFetching }

    mutating func note(_ progress: SyncProgress, asked: ContinuousClock.Instant) {
      guard self.asked.map({ $0 <= asked }) ?? true else { return }
      (self.progress, self.asked) = (progress, asked)
    }
  }

  private struct Changes {
    let isRunning, isSending, isFetching, progress: Bool

    init(from before: State, to after: State) {
      isRunning = (before.role == nil) != (after.role == nil)
      isSending = before.isSending != after.isSending
      isFetching = before.isFetching != after.isFetching
      progress = before.progress != after.progress
    }
  }

  /// A call that waits for other devices.
  enum Call { case send, fetch }

  private let registrar = ObservationRegistrar()
  private let state = Mutex(State())

  // MARK: The keeper

  /// Returns the current keeper, or begins one if it was stopped or has ended.
  ///
  /// - Parameter make: Makes a keeper that reports with this number.
  func begin(_ make: (_ number: Int) -> NodeKeeper) -> NodeKeeper {
    let (keeper, previous, isNew) = state.withLock { state in
      if let keeper = state.keeper, !state.isStopped, !state.isOver { return (keeper, NodeKeeper?.none, false) }
      state.number += 1
      (state.isStopped, state.isOver) = (false, false)
      let keeper = make(state.number)
      defer { state.keeper = keeper }
      return (keeper, state.keeper, true)
    }
    if isNew { Task { await keeper.begin(after: previous) } }
    return keeper
  }

  /// The last keeper that was begun, which may have been stopped.
  var keeper: NodeKeeper? { state.withLock(\.keeper) }

  /// Ends the current keeper and returns it, so that the caller stops it.
  func end() -> NodeKeeper? {
    let keeper = keeper
    change { state in
      state.isStopped = true
      state.role = nil
    }
    return keeper
  }

  func note(_ event: NodeKeeper.Event, _ number: Int) {
    change { state in
      guard state.number == number, !state.isStopped else { return }
      switch event {
      case .connected(let role): state.role = role
      case .disconnected: state.role = nil
      case .progress(let progress, let asked): state.note(progress, asked: asked)
      // The delegate gets the news.
      case .news: break
      // The next start creates another keeper. Until then, requests get the reason that this one has ended.
      case .ended: (state.role, state.isOver) = (nil, true)
      }
    }
  }

  // MARK: Requests

  /// Returns the control interface that answers the engine's requests.
  func control() async throws -> any NodeControl {
    let keeper = state.withLock { $0.isStopped ? nil : $0.keeper }
    guard let keeper else { throw SyncError.notRunning }
    return try await keeper.control()
  }

  /// Performs a request on the engine's node.
  func perform<Request: ControlRequest>(_ request: Request) async throws -> Request.Answer {
    try await asking { try await $0.perform(request) }
  }

  /// Runs `body` with the engine's node. If another process ran the node and has just ended, the next node is asked.
  func asking<Answer>(_ body: (any NodeControl) async throws -> Answer) async throws -> Answer {
    let deadline = ContinuousClock.now + NodePlan.patience
    while true {
      do {
        return try await body(control())
      } catch let error as ControlClientError where error.code == .noDaemon && ContinuousClock.now < deadline {
        // The request wasn't performed, because there was no node.
        try await Task.sleep(for: SyncEngine.look)
      } catch let error as Refusal where error.code == Refusal.stopping && ContinuousClock.now < deadline {
        // The node stopped while the request waited for other devices.
        try await Task.sleep(for: SyncEngine.look)
      } catch {
        throw SyncError.of(error)
      }
    }
  }

  /// Asks the node for its progress at once, so that it fits what the caller has just been told.
  func renewProgress(_ control: any NodeControl) async throws {
    let asked = ContinuousClock.now
    let progress = SyncProgress(try await control.perform(StatusRequest()))
    change { $0.note(progress, asked: asked) }
  }

  /// Runs `body`, and counts it as sending or fetching while it runs.
  func counting<Result>(_ call: Call, _ body: () async throws -> Result) async rethrows -> Result {
    change { $0.calls[call, default: 0] += 1 }
    defer { change { $0.calls[call, default: 0] -= 1 } }
    return try await body()
  }

  // MARK: What observers see

  /// Whether the engine runs the node or asks that of another process, or nil if neither.
  var role: NodeKeeper.Role? { state.withLock(\.role) }

  var isRunning: Bool {
    registrar.access(self, keyPath: \.isRunning)
    return state.withLock { $0.role != nil }
  }

  var isSending: Bool {
    registrar.access(self, keyPath: \.isSending)
    return state.withLock(\.isSending)
  }

  var isFetching: Bool {
    registrar.access(self, keyPath: \.isFetching)
    return state.withLock(\.isFetching)
  }

  var progress: SyncProgress {
    registrar.access(self, keyPath: \.progress)
    return state.withLock(\.progress)
  }

  var progressUpdates: AsyncStream<SyncProgress> {
    let (stream, continuation) = AsyncStream.makeStream(of: SyncProgress.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.lastStream += 1
      state.streams[state.lastStream] = continuation
      continuation.yield(state.progress)
      return state.lastStream
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.streams.removeValue(forKey: number) }
    }
    return stream
  }

  /// Changes the state, and notifies the observers of the differences.
  private func change(_ body: (inout State) -> Void) {
    let changes = state.withLock { state in
      var after = state
      body(&after)
      return Changes(from: state, to: after)
    }
    // This is outside of the lock, because an observer may read the state.
    if changes.isRunning { registrar.willSet(self, keyPath: \.isRunning) }
    if changes.isSending { registrar.willSet(self, keyPath: \.isSending) }
    if changes.isFetching { registrar.willSet(self, keyPath: \.isFetching) }
    if changes.progress { registrar.willSet(self, keyPath: \.progress) }
    state.withLock { state in
      body(&state)
      if changes.progress { for stream in state.streams.values { stream.yield(state.progress) } }
    }
    if changes.isRunning { registrar.didSet(self, keyPath: \.isRunning) }
    if changes.isSending { registrar.didSet(self, keyPath: \.isSending) }
    if changes.isFetching { registrar.didSet(self, keyPath: \.isFetching) }
    if changes.progress { registrar.didSet(self, keyPath: \.progress) }
  }
}
