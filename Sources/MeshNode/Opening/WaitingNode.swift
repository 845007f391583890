import Logging
import MeshControl
import MeshCore
import MeshStore
import ServiceLifecycle

/// A daemon that can't open its database yet, because another program has it locked. It tries until it can, and then
/// runs the node.
///
/// Until then it refuses requests and says why. Requests with a timeout wait for the node.
actor WaitingNode: NodeControl {
  /// The reason, repeated every few seconds. It ends once the node runs.
  nonisolated let waits: AsyncStream<String>
  private let notice: AsyncStream<String>.Continuation
  private let opening: DaemonOpening
  private var node: Node?
  private var reason = ""

  /// The time between two attempts. A program may commit and begin its next transaction in a moment.
  private static let pause = Duration.milliseconds(20)
  /// The time between two notices of the same reason.
  private static let noticePause = Duration.seconds(5)

  init(_ opening: DaemonOpening) {
    self.opening = opening
    (waits, notice) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  func perform<Request: ControlRequest>(_ request: Request) async throws -> Request.Answer {
    if request is YieldRequest { throw YieldAnswers.daemon(opening.home) }
    guard let timed = request as? any TimedRequest else { return try await running().perform(request) }
    let deadline = ContinuousClock.now + timed.timeout
    while node == nil, ContinuousClock.now < deadline, !Task.isShuttingDownGracefully, !Task.isCancelled {
      // A shutdown ends the sleep, and the refusal below says what the daemon waited for.
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.pause) }
    }
    let rest = max(.zero, deadline - .now)
    return try await running().perform((timed.lasting(rest) as? Request) ?? request)
  }

  private func running() throws -> Node {
    if let node { return node }
    throw Refusal(code: "database.locked", message: reason.isEmpty ? describe() : reason)
  }

  /// Checks a new configuration, and applies it if the node runs. Otherwise, the next attempt reads it.
  func reload() async throws {
    let configuration = try opening.configuration()
    await node?.reload(configuration)
  }

  // MARK: Waiting

  /// Opens the node as soon as the lock is free. Returns nil if the daemon is told to stop before.
  private func open() async throws -> NodeService? {
    var told = (reason: "", at: ContinuousClock.now)
    while !Task.isShuttingDownGracefully {
      do {
        let service = try await opening.service()
        node = service.node
        notice.finish()
        return service
      } catch let error as StoreError where error.code == .locked {
        reason = describe()
        if reason != told.reason { opening.logger.notice("\(reason)") }
        if reason != told.reason || told.at + Self.noticePause < .now {
          notice.yield(reason)
          told = (reason, .now)
        }
      }
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.pause) }
    }
    return nil
  }

  private func describe() -> String {
    WriteLock.messageWithAdvice(
      unopened: (try? opening.configuration().database) ?? opening.home.path,
      "the daemon waits until the transaction ends, and goes on then.")
  }
}

extension WaitingNode: Service {
  nonisolated func run() async throws {
    guard let service = try await open() else { return }
    try await service.run()
  }
}
