import Foundation
import GRDB
import Logging
import MeshControl
import MeshNode

/// Connects a sync engine to a node, from `start` to `stop`. It runs the node itself, or uses the one that already
/// holds the home. If that one ends, the keeper runs the node. If a daemon starts, the keeper leaves the node to it.
actor NodeKeeper {
  /// The role of a keeper: it runs the node, or asks the node of another process.
  enum Role: Hashable, Sendable {
    /// The node runs in this process.
    case node
    /// Another process runs the node: `mesh serve`, or another app.
    case client
  }

  /// News for an engine.
  enum Event: Sendable {
    case connected(Role)
    case disconnected
    /// - Parameter asked: The time of the question, because a later answer may arrive first.
    case progress(SyncProgress, asked: ContinuousClock.Instant)
    case news([SyncNews])
    /// The keeper ended without being stopped. `control` throws the reason.
    case ended
  }

  private enum Holder {
    /// A node in this process, the home's lock, and the processes that ask for the node.
    case node(EmbeddedNode, HomeLock, AsyncStream<Int>)
    case client(ControlClient)

    var control: any NodeControl {
      switch self {
      case .node(let node, _, _): node.control
      case .client(let client): client
      }
    }

    var role: Role {
      switch self {
      case .node: .node
      case .client: .client
      }
    }
  }

  private enum State {
    case waiting
    case ready(any NodeControl)
    case ended(any Error)
  }

  let plan: NodePlan
  private let tables: SyncedTables
  private let book: AppBook
  private let watch: SyncWatch
  /// Decides for each share that ends, by its id, whether its rows stay.
  private let keepsRows: (@Sendable (String) -> Bool)?
  private let logger: Logger
  private let onEvent: @Sendable (Event) -> Void

  private var state = State.waiting
  private var waiters: [CheckedContinuation<any NodeControl, any Error>] = []
  private var work: Task<Void, Never>?
  private var node: EmbeddedNode?
  private var isStopping = false
  /// The process to which this one has left the node, until its node answers.
  private var successor: pid_t?
  private var hasMadeHome = false

  init(
    plan: NodePlan, tables: SyncedTables, book: AppBook, watch: SyncWatch, keepsRows: (@Sendable (String) -> Bool)?,
    logger: Logger,
    onEvent: @escaping @Sendable (Event) -> Void
  ) {
    (self.plan, self.tables, self.book, self.watch) = (plan, tables, book, watch)
    (self.keepsRows, self.logger, self.onEvent) = (keepsRows, logger, onEvent)
  }

  // MARK: Life cycle

  /// Begins after `previous` has ended.
  func begin(after previous: NodeKeeper?) {
    guard work == nil, !isStopping else { return }
    work = Task {
      await previous?.ended()
      await run()
    }
  }

  /// Ends the node after a flush and a goodbye. Rows that are written later stay captured in the file.
  func stop() async {
    isStopping = true
    settle(.ended(SyncError.notRunning))
    work?.cancel()
    await node?.stop()
  }

  /// Returns when the home is free again.
  func ended() async { await work?.value }

  /// Returns the control interface that answers requests, as soon as there is one.
  ///
  /// - Throws: The reason that the keeper has ended.
  func control() async throws -> any NodeControl {
    switch state {
    case .ready(let control): return control
    case .ended(let error): throw error
    case .waiting: return try await withCheckedThrowingContinuation { waiters.append($0) }
    }
  }

  private func settle(_ new: State) {
    if case .ended = state { return }
    state = new
    let result: Result<any NodeControl, any Error>
    switch new {
    case .waiting: return
    case .ready(let control): result = .success(control)
    case .ended(let error): result = .failure(error)
    }
    for waiter in waiters { waiter.resume(with: result) }
    waiters = []
  }

  private func run() async {
    do {
      while !isStopping {
        let holder = try await hold()
        do {
          try await serve(holder)
        } catch let error as ControlClientError where error.isOver {
          logger.info("the node of the home has ended, so this app runs it now")
          // A daemon that takes the node over from another app goes first.
          try await Task.sleep(for: Self.courtesy)
        }
        settle(.waiting)
        onEvent(.disconnected)
      }
    } catch {
      guard !isStopping else { return }
      let error = SyncError.of(error)
      logger.error("the sync engine has stopped: \(error)")
      settle(.ended(error))
      onEvent(.ended)
      onEvent(.news([.failed(error)]))
    }
  }

  private func serve(_ holder: Holder) async throws {
    switch holder {
    case .client: try await follow(holder)
    case .node(let node, let lock, let yields):
      defer { lock.release() }
      self.node = node
      defer { self.node = nil }
      // It isn't cancelled with this task, because a node closes its sessions and files when it is asked to stop.
      let running = Task { try await node.run() }
      if isStopping { await node.stop() }
      let yielding = Task {
        for await process in yields {
          yield(to: process)
          await node.stop()
        }
      }
      defer { yielding.cancel() }
      let following = Task {
        do {
          try await follow(holder)
        } catch {
          await node.stop()
          throw error
        }
      }
      let result = await running.result
      following.cancel()
      // A failure of the node for this app comes first, because it is the reason that the node was stopped.
      if case .failure(let error) = await following.result, !(error is CancellationError) { throw error }
      try result.get()
    }
  }

  /// Leaves the node to another process. Later requests wait for its node.
  private func yield(to process: Int) {
    logger.notice("process \(process) runs the node of this database from now on, and this app uses it")
    successor = pid_t(clamping: process)
    settle(.waiting)
  }

  // MARK: Finding a node

  private static let look = Duration.milliseconds(50)
  /// Longer than the time between two attempts of a daemon to take the home.
  private static let courtesy = Duration.milliseconds(100)

  /// The time that the node of another home may have the database.
  private static let otherHomePatience = Duration.seconds(3)

  /// Whether a process to which the node was left is still there.
  private var isWaitingForSuccessor: Bool { successor.map { kill($0, 0) == 0 } ?? false }

  /// Opens the node, or returns a client of the one that has the home.
  private func hold() async throws -> Holder {
    let start = ContinuousClock.now
    let deadline = start + NodePlan.patience
    try await watch.load()
    while true {
      try Task.checkCancellation()
      let home = try await home()
      let client = ControlClient(home: home.path)
      if plan.network == nil, client.isAnswered {
        successor = nil
        return .client(client)
      }
      if isWaitingForSuccessor, ContinuousClock.now < deadline {
        try await Task.sleep(for: Self.look)
        continue
      }
      do {
        let lock = try home.lock(as: .daemon)
        let (yields, continuation) = AsyncStream.makeStream(of: Int.self)
        do {
          let app = NodeApp(
            keepsRows: keepsRows, prepareConnection: { FunctionsOfFiles.install(on: $0) },
            onYield: { continuation.yield($0) })
          let node = try await EmbeddedNode.open(
            home: home, lock: lock, options: plan.options, network: plan.network, app: app, logger: logger)
          successor = nil
          return .node(node, lock, yields)
        } catch {
          lock.release()
          throw error
        }
      } catch let error as HomeError where error.code == .locked && ContinuousClock.now < deadline {
        // A daemon is starting or stopping, or a command is running.
      } catch let error as Refusal
        where error.code == "database.inUse" && !Home.isServed(plan.database, elsewhereThan: plan.home)
        && (plan.home != home.path || ContinuousClock.now < start + Self.otherHomePatience)
      {
        // Another app of the database is creating a home of its own, and will be refused.
      }
      try await Task.sleep(for: Self.look)
    }
  }

  /// Returns the home of the database's node, and creates it if there is none. If another process is creating it, this
  /// waits until that one is done.
  private func home() async throws -> Home {
    let deadline = ContinuousClock.now + NodePlan.patience
    while true {
      let path = plan.home
      do throws(HomeError) {
        return try Home.open(at: path)
      } catch {
        guard error.code == .missing || error.code == .unfinished else { throw error }
      }
      do {
        let (home, isNew) = try await plan.makeHome(logger: logger)
        hasMadeHome = isNew
        return home
      } catch let error as any Refusing
        where (error.isOfOtherCreator || plan.home != path) && ContinuousClock.now < deadline
        && !Home.isServed(plan.database, elsewhereThan: plan.home)
      {
        try await Task.sleep(for: Self.look)
      }
    }
  }

  // MARK: A running node

  /// Prepares the tables, then reports the progress until the task is cancelled.
  ///
  /// - Throws: A `ControlClientError` if the node has ended, or the reason that the node can't work for this app.
  private func follow(_ holder: Holder) async throws {
    let control = holder.control
    try await tables.prepare(on: control, home: try Home.open(at: plan.home), logger: logger)
    guard !isStopping else { return }
    settle(.ready(control))
    onEvent(.connected(holder.role))
    while true {
      let asked = ContinuousClock.now
      let (progress, news) = try await look(at: control)
      onEvent(.progress(progress, asked: asked))
      if !news.isEmpty { onEvent(.news(news)) }
      try await Task.sleep(for: progress.isSending || progress.isFetching ? Self.busyInterval : Self.idleInterval)
    }
  }

  /// Returns the progress and the news of a node. A node that can't answer now is still there, for example while its
  /// file is being replaced. Its reason is a problem to look into.
  private func look(at control: any NodeControl) async throws -> (SyncProgress, [SyncNews]) {
    do {
      let answer = try await book.update(from: control)
      var news = try await watch.news(in: answer, from: control)
      if hasMadeHome {
        hasMadeHome = false
        news.insert(.account(.signIn(currentUser: answer.status.account)), at: 0)
      }
      return (SyncProgress(answer.status), news)
    } catch let error as any Refusing where (error as? ControlClientError)?.isOver != true {
      var progress = SyncProgress()
      progress.problems = [error.refusal.message]
      return (progress, [])
    } catch let error as DatabaseError {
      var progress = SyncProgress()
      progress.problems = ["\(tables.database.path) can't be read or written now: \(error)"]
      return (progress, [])
    }
  }

  /// The time between two checks of the progress.
  private static let busyInterval = Duration.milliseconds(100)
  private static let idleInterval = Duration.milliseconds(500)
}

extension Refusing {
  /// Whether another process may be creating a home for the same database.
  fileprivate var isOfOtherCreator: Bool {
    if let error = self as? HomeError { return error.code == .locked || error.code == .exists }
    return refusal.code == "database.inUse"
  }
}

extension ControlClientError {
  /// Whether there is no node any more.
  var isOver: Bool { code == .noDaemon || code == .closed }
}
