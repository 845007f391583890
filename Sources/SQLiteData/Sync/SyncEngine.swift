import Dependencies
public import GRDB
public import Logging
import MeshControl
import MeshCore
import MeshStore
public import Observation
public import SQLiteDataQueries
import Synchronization

/// Synchronizes tables of an app's database with other devices.
///
/// ```swift
/// try prepareDependencies {
///   $0.defaultDatabase = try appDatabase()
///   $0.defaultSyncEngine = try SyncEngine(
///     for: $0.defaultDatabase, tables: RemindersList.self, Reminder.self)
/// }
/// ```
///
/// The engine runs a node in the app's process. If another process holds the node's home, such as `mesh serve` or
/// another app with the same database, the engine uses that node. If that process ends, the engine runs the node
/// itself. If `mesh serve` starts later, the engine leaves the node to it.
///
/// Triggers in the file capture the app's writes, whether or not the engine runs.
///
/// Its properties can be observed with the Observation framework.
public final class SyncEngine: Observable, Sendable {
  let tables: SyncedTables
  let plan: NodePlan
  let logger: Logger
  let book: AppBook
  let watch: SyncWatch
  private let movedFileGuard: MovedFileGuard?
  private let delegate: (any SyncEngineDelegate)?
  private let news: AsyncStream<SyncNews>.Continuation
  private let registrar = ObservationRegistrar()
  private let state = Mutex(State())

  struct State: Sendable {
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

    /// The number of waiting calls of `sendChanges` and `fetchChanges`.
    var sends = 0
    var fetches = 0
    var streams: [Int: AsyncStream<SyncProgress>.Continuation] = [:]
    var lastStream = 0

    var isSending: Bool { sends > 0 || role != nil && progress.isSending }
    var isFetching: Bool { fetches > 0 || role != nil && progress.isFetching }

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

  /// Creates a sync engine, and starts it in a running app.
  ///
  /// Create it once, after the migrations. The tables may differ between versions of the app. A table that is new in
  /// the list is synchronized from then on, with its rows. A table that is no longer in the list stays in the file with
  /// its rows, and isn't synchronized from then on.
  ///
  /// - Parameters:
  ///   - database: The app's database, which is a file.
  ///   - tables: The tables to synchronize. Their primary key is one column with a text or a UUID.
  ///   - privateTables: More tables to synchronize, whose rows are never shared with other accounts.
  ///   - policies: The conflict policies of columns of these tables. They become part of what all devices of the mesh
  ///     know, like those of `mesh track --policy`. A column that you no longer list keeps its policy.
  ///   - node: The place of the node's keys, and the addresses for other devices.
  ///   - defaultZone: The name of the account's own zone, which is the account's name. It is used when the account is
  ///     created. Nil means the user's name.
  ///   - startImmediately: Whether to start the engine immediately. Nil means true in a running app, and false in a
  ///     test and in a preview.
  ///   - delegate: The object that is told about the account, shares, conflicts and held records.
  ///   - logger: The logger for the engine and its node. By default, it writes warnings and errors to standard error.
  /// - Throws: ``SyncError`` with every reason that the tables can't be synchronized.
  public convenience init<
    each T1: PrimaryKeyedTable, each T2: PrimaryKeyedTable
  >(
    for database: any DatabaseWriter, tables: repeat (each T1).Type, privateTables: repeat (each T2).Type,
    policies: [ConflictPolicy] = [],
    node: NodeConfiguration = NodeConfiguration(), defaultZone: String? = nil, startImmediately: Bool? = nil,
    delegate: (any SyncEngineDelegate)? = nil, logger: Logger? = nil
  ) throws
  where
    repeat (each T1).PrimaryKey.QueryOutput: IdentifierStringConvertible,
    repeat (each T2).PrimaryKey.QueryOutput: IdentifierStringConvertible
  {
    var (names, privateNames): ([String], [String]) = ([], [])
    for table in repeat (each T1).self { names.append(table.tableName) }
    for table in repeat (each T2).self { privateNames.append(table.tableName) }
    try self.init(
      tables: SyncedTables(
        database: database, shareable: names, privateTables: privateNames, chosen: policies), node: node,
      defaultZone: defaultZone, startImmediately: startImmediately, delegate: delegate, logger: logger)
  }

  init(
    tables: SyncedTables, node: NodeConfiguration, defaultZone: String?, startImmediately: Bool?,
    delegate: (any SyncEngineDelegate)? = nil, logger: Logger?
  ) throws {
    @Dependency(\.context) var context
    try tables.validate()
    do {
      // With the tables, queries of the metadata find nothing before the first start instead of failing.
      movedFileGuard = try tables.database.write { db in
        try Store.createTables(db)
        try db.attachMetadatabase()
        return MovedFileGuard(db, path: tables.database.path)
      }
    } catch let error as DatabaseError {
      throw SyncError(
        .database,
        "\(tables.database.path) can't be synchronized, because it can't be written: \(error.message ?? "\(error)"). Make the file "
          + "and its directory writable, open the database without readonly, and create the engine again.")
    }
    // Connections that were opened before have no metadata.
    (tables.database as? DatabasePool)?.invalidateReadOnlyConnections()
    self.tables = tables
    plan = try NodePlan(node, account: defaultZone, database: tables.database.path, context: context)
    self.logger = logger ?? Self.defaultLogger(context)
    self.delegate = delegate
    book = AppBook(database: tables.database)
    watch = SyncWatch(database: tables.database)
    let (stream, continuation) = AsyncStream.makeStream(of: SyncNews.self)
    news = continuation
    if delegate != nil {
      Task { [weak self] in
        for await item in stream { await self?.tell(item) }
      }
    }
    if startImmediately ?? (context == .live) { begin() }
  }

  deinit {
    news.finish()
    guard let keeper = state.withLock(\.keeper) else { return }
    Task { await keeper.stop() }
  }

  private static func defaultLogger(_ context: DependencyContext) -> Logger {
    guard context == .live else { return Logger(label: "SyncEngine") { _ in SwiftLogNoOpLogHandler() } }
    var logger = Logger(label: "SyncEngine") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    return logger
  }

  // MARK: Life cycle

  /// Starts the engine, and returns when its node works. If the engine is already running, it only waits for its node.
  ///
  /// - Throws: ``SyncError`` if no node can work for this database.
  public func start() async throws { _ = try await begin().control() }

  /// Stops the engine. The file captures later writes of the app, and the next start sends them.
  public func stop() {
    guard let keeper = end() else { return }
    Task { await keeper.stop() }
  }

  /// Stops the engine, and returns when its node is closed.
  func stopAndWait() async {
    guard let keeper = end() else { return }
    await keeper.stop()
    await keeper.ended()
  }

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
        try await Task.sleep(for: Self.look)
      } catch let error as Refusal where error.code == Refusal.stopping && ContinuousClock.now < deadline {
        // The node stopped while the request waited for other devices.
        try await Task.sleep(for: Self.look)
      } catch {
        throw SyncError.of(error)
      }
    }
  }

  /// Whether the engine runs the node or asks that of another process, or nil if neither.
  var role: NodeKeeper.Role? { state.withLock(\.role) }

  @discardableResult
  private func begin() -> NodeKeeper {
    var keepsRows: (@Sendable (String) -> Bool)?
    if delegate != nil { keepsRows = { [weak self] in self?.keepsRows(ofShare: $0) ?? false } }
    let (keeper, previous, isNew) = state.withLock { state in
      if let keeper = state.keeper, !state.isStopped, !state.isOver { return (keeper, NodeKeeper?.none, false) }
      state.number += 1
      (state.isStopped, state.isOver) = (false, false)
      let number = state.number
      let keeper = NodeKeeper(
        plan: plan, tables: tables, book: book, watch: watch,
        keepsRows: keepsRows, logger: logger
      ) { [weak self] in self?.note($0, number) }
      defer { state.keeper = keeper }
      return (keeper, state.keeper, true)
    }
    if isNew { Task { await keeper.begin(after: previous) } }
    return keeper
  }

  /// Ends the current keeper and returns it, so that the caller stops it.
  private func end() -> NodeKeeper? {
    let keeper = state.withLock { $0.keeper }
    change { state in
      state.isStopped = true
      state.role = nil
    }
    return keeper
  }

  private func note(_ event: NodeKeeper.Event, _ number: Int) {
    if case .news(let items) = event { return announce(items) }
    change { state in
      guard state.number == number, !state.isStopped else { return }
      switch event {
      case .connected(let role): state.role = role
      case .disconnected: state.role = nil
      case .progress(let progress, let asked): state.note(progress, asked: asked)
      case .news: break
      // The next start creates another keeper. Until then, requests get the reason that this one has ended.
      case .ended: (state.role, state.isOver) = (nil, true)
      }
    }
  }

  /// Asks the node for its progress at once, so that it fits what the caller has just been told.
  func renewProgress(_ control: any NodeControl) async throws {
    let asked = ContinuousClock.now
    let progress = SyncProgress(try await control.perform(StatusRequest()))
    change { $0.note(progress, asked: asked) }
  }

  // MARK: Delegate

  /// Notifies the delegate, one event after another.
  func announce(_ items: [SyncNews]) {
    guard delegate != nil else { return }
    for item in items { news.yield(item) }
  }

  private func tell(_ item: SyncNews) async {
    switch item {
    case .account(let change): await delegate?.syncEngine(self, accountChanged: change)
    case .shareReceived(let share): await delegate?.syncEngine(self, shareReceived: share)
    case .shareChanged(let share): await delegate?.syncEngine(self, shareChanged: share)
    case .shareRevoked(let share): await delegate?.syncEngine(self, shareRevoked: share)
    case .conflict(let conflict): await delegate?.syncEngine(self, foundConflict: conflict)
    case .held(let counts): await delegate?.syncEngine(self, heldRecordsChanged: counts)
    case .failed(let error): await delegate?.syncEngine(self, failedWith: error)
    }
  }

  private func keepsRows(ofShare id: String) -> Bool {
    guard let delegate, let share = watch.share(id) else { return false }
    return !delegate.syncEngine(self, shouldDeleteRowsOf: share)
  }

  // MARK: State

  /// Whether the engine's node is working.
  public var isRunning: Bool {
    registrar.access(self, keyPath: \.isRunning)
    return state.withLock { $0.role != nil }
  }

  /// Whether other devices are missing changes of this one, or a call of ``sendChanges(timeout:)`` is waiting.
  public var isSendingChanges: Bool {
    registrar.access(self, keyPath: \.isSendingChanges)
    return state.withLock(\.isSending)
  }

  /// Whether this device is missing changes of connected ones, or a call of ``fetchChanges(timeout:)`` is waiting.
  public var isFetchingChanges: Bool {
    registrar.access(self, keyPath: \.isFetchingChanges)
    return state.withLock(\.isFetching)
  }

  /// Whether changes are being sent or fetched.
  public var isSynchronizing: Bool { isSendingChanges || isFetchingChanges }

  /// The progress of the synchronization, as of the last check of the node. The engine checks twice a second, and ten
  /// times a second while changes are being exchanged.
  public var progress: SyncProgress {
    registrar.access(self, keyPath: \.progress)
    return state.withLock(\.progress)
  }

  /// The current progress, and the progress after each change. A slow consumer gets the latest value.
  public var progressUpdates: AsyncStream<SyncProgress> {
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
    if changes.isSending { registrar.willSet(self, keyPath: \.isSendingChanges) }
    if changes.isFetching { registrar.willSet(self, keyPath: \.isFetchingChanges) }
    if changes.progress { registrar.willSet(self, keyPath: \.progress) }
    state.withLock { state in
      body(&state)
      if changes.progress { for stream in state.streams.values { stream.yield(state.progress) } }
    }
    if changes.isRunning { registrar.didSet(self, keyPath: \.isRunning) }
    if changes.isSending { registrar.didSet(self, keyPath: \.isSendingChanges) }
    if changes.isFetching { registrar.didSet(self, keyPath: \.isFetchingChanges) }
    if changes.progress { registrar.didSet(self, keyPath: \.progress) }
  }

  /// Runs `body`, and counts it as sending or fetching while it runs.
  func counting<Result>(
    _ counter: any WritableKeyPath<State, Int> & Sendable, _ body: () async throws -> Result
  ) async rethrows -> Result {
    change { $0[keyPath: counter] += 1 }
    defer { change { $0[keyPath: counter] -= 1 } }
    return try await body()
  }
}
