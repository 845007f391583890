import Dispatch
import Logging
import MeshControl
import MeshCore
import MeshReplication
import MeshTransport
import ServiceLifecycle

/// One node, which owns its parts.
///
/// Every event of a node is a call to the actor. Calls run one at a time, and a request that takes long lets others in
/// between. Each call holds the database for a bounded time, on a thread of the node's own, because SQLite blocks.
actor Node {
  /// The node's thread. Tasks that only wait for events and call the node prefer it, because otherwise each event wakes a
  /// thread of the pool first.
  nonisolated let executor = ThreadExecutor(label: "mesh.node")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  let context: NodeContext
  nonisolated let transport: Transport
  /// The guard of the write-ahead log, which is maintained without waiting for the node.
  nonisolated let currentGuard: CurrentGuard
  private let wakeups: AsyncStream<Void>
  /// Decides which peer is served next.
  private let turns = Turns()
  /// True once the database is closed. Then requests are refused.
  private var isClosed = false

  /// Opens the home's keys and database. Nothing listens yet.
  ///
  /// - Parameter lockPatience: The seconds that each step waits for another program's lock, or nil for the usual time.
  init(
    home: Home, configuration: HomeConfiguration, network: LocalNetwork? = nil,
    app: NodeApp? = nil, lockPatience: Double? = nil, logger: Logger
  ) throws {
    let context = try NodeContext(
      home: home, configuration: configuration, network: network, app: app, lockPatience: lockPatience,
      logger: logger)
    transport = context.transport
    currentGuard = context.database.currentGuard
    wakeups = context.driver.wakeups
    self.context = context
  }

  /// Runs an action on the node's parts, when it is their turn.
  func withParts<Result: Sendable>(_ action: @Sendable (NodeContext) throws -> Result) rethrows -> Result {
    try action(context)
  }

  /// Runs an action that takes long on a thread of its own. The node has other turns meanwhile.
  static func outside<Result: Sendable>(_ action: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Swift.Result { try action() }) }
    }
  }

  // MARK: Services

  /// Serves a connection until it ends.
  @discardableResult
  nonisolated func serve(_ link: Link, dialled: HostPort?) async -> ConnectionEnd {
    await withTaskExecutorPreference(executor) { await serveHere(link, dialled: dialled) }
  }

  private nonisolated func serveHere(_ link: Link, dialled: HostPort?) async -> ConnectionEnd {
    let id = await withParts { $0.driver.opened(link, dialled: dialled) }
    for await message in link.messages {
      while await withParts({ $0.driver.holdBack(id) }), !Task.isCancelled {
        try? await Task.sleep(for: ReplicaDriver.lockLook)
      }
      let account = await withParts { $0.driver.noteWaiting(id) }
      let turn = await turns.take(account)
      let (spent, rests) = await withParts { parts in
        let begun = ContinuousClock.now
        let rests = parts.driver.received(id, message)
        let spent = ContinuousClock.now - begun
        parts.driver.workOn(atMost: spent)
        return (spent, rests)
      }
      await turns.end(turn, after: spent)
      if rests, let account { await turns.rest(account, for: spent) }
    }
    return await withParts { $0.driver.closed(id) }
  }

  /// Flushes and merges whenever there is work. A fault is reported, and the work is tried again after growing waits.
  nonisolated func runWork() async {
    await WorkLoop(backoff: .work).run(wakeups) { await withParts { $0.driver.workStep() } }
  }

  func listen(_ address: HostPort) async throws -> Listener {
    let listener = try await transport.listen(host: address.host, port: Int(address.port))
    context.addresses.listens(on: HostPort(host: listener.host, port: UInt16(clamping: listener.port)))
    context.logger.info("listening on \(listener.address)")
    return listener
  }

  /// Waits until every session is closed, or the time is over.
  func waitForLinks(atMost limit: Duration) async throws {
    let deadline = ContinuousClock.now + limit
    while !context.connections.isEmpty, ContinuousClock.now < deadline {
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Applies a new configuration. Peers and the advertised address take effect immediately. Another database or
  /// listening address needs a restart.
  func reload(_ new: HomeConfiguration) {
    if !context.settings.apply(new) {
      context.logger.warning("database and listen take effect when the daemon is started again")
    }
    context.database.settingsChanged()
  }

  /// Flushes what is pending, within a time limit, and says goodbye.
  func stop() async { await context.driver.stop() }

  func close() {
    isClosed = true
    context.driver.close()
  }
}

extension Node: NodeControl {
  /// Performs a request, in the daemon or on the home alone. If it may have changed something, the node's own work
  /// continues with that afterwards.
  func perform<Request: ControlRequest>(_ request: Request) async throws -> Request.Answer {
    guard let handler = Self.handlers[Request.self] else {
      throw Refusal(code: Refusal.noRoute, message: "there is no \(Request.route).", exit: .usage)
    }
    // The request wasn't performed, so the caller may ask the next node.
    guard !isClosed else { throw ControlClientError.noDaemon(context.home.path(of: .controlSocket)) }
    if handler.needsDatabase { try context.driver.requireDatabase() }
    defer { if Request.route.method == .post { context.driver.performActions() } }
    guard handler.endsWithDaemon else { return try await handler.run(context, request) }
    return try await cancelWhenGracefulShutdown { try await self.run(handler, request) }
  }

  private func run<Request: ControlRequest>(
    _ handler: RequestHandlers.Handler<Request>, _ request: Request
  ) async throws -> Request.Answer {
    try await handler.run(context, request)
  }
}
