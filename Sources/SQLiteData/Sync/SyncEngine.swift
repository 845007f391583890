import Dependencies
public import GRDB
public import Logging
import MeshControl
import MeshCore
import MeshStore
public import Observation
public import SQLiteDataQueries

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
  private let notifier: DelegateNotifier?
  /// The engine's node, and what observers see of it.
  let activity = SyncActivity()

  /// Creates a sync engine, and starts it in a running app.
  ///
  /// Create it once, after the migrations. The tables may differ between versions of the app. A table that is new in
  /// the list is synchronized from then on, with its rows. A table that is no longer in the list stays in the file with
  /// its rows, and isn't synchronized from then on.
  ///
  /// - Parameters:
  ///   - database: The app's database, which is a file.
  ///   - tables: The tables to synchronize. Their primary key is one column with a text or a UUID.
  ///   - privateTables: More tables to synchronize, whose rows are never shared. A table that was among them stays
  ///     private, until a person runs `mesh untrack` and `mesh track --shareable`.
  ///   - policies: The conflict policies of columns of these tables. They become part of what all devices of the mesh
  ///     know, like those of `mesh track --policy`. A column that you no longer list keeps its policy.
  ///   - node: The place of the node's keys, and the addresses for other devices.
  ///   - defaultZone: The name of the account's own zone, which is the account's name. It is used when the account is
  ///     created. Nil means the user's name.
  ///   - startImmediately: Whether to start the engine at once. Nil means true, except in a test or a preview.
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
    notifier = delegate.map(DelegateNotifier.init)
    book = AppBook(database: tables.database)
    watch = SyncWatch(database: tables.database)
    notifier?.begin(for: self)
    if startImmediately ?? (context == .live) { begin() }
  }

  deinit {
    notifier?.end()
    guard let keeper = activity.keeper else { return }
    Task { await keeper.stop() }
  }

  static func defaultLogger(_ context: DependencyContext) -> Logger {
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
    guard let keeper = activity.end() else { return }
    Task { await keeper.stop() }
  }

  /// Stops the engine, and returns when its node is closed.
  func stopAndWait() async {
    guard let keeper = activity.end() else { return }
    await keeper.stop()
    await keeper.ended()
  }

  /// Performs a request on the engine's node.
  func perform<Request: ControlRequest>(_ request: Request) async throws -> Request.Answer {
    try await activity.perform(request)
  }

  @discardableResult
  private func begin() -> NodeKeeper {
    let keepsRows = notifier.map { notifier in
      { @Sendable [weak self] (id: String) in
        guard let self, let share = watch.share(id) else { return false }
        return notifier.keepsRows(of: share, self)
      }
    }
    return activity.begin { number in
      NodeKeeper(plan: plan, tables: tables, book: book, watch: watch, keepsRows: keepsRows, logger: logger) {
        [weak self] event in
        if case .news(let items) = event { self?.announce(items) } else { self?.activity.note(event, number) }
      }
    }
  }

  /// Notifies the delegate.
  func announce(_ items: [SyncNews]) { notifier?.announce(items) }

  // MARK: State

  /// Whether the engine's node is working.
  public var isRunning: Bool { activity.isRunning }

  /// Whether other devices are missing changes of this one, or a call of ``sendChanges(timeout:)`` is waiting.
  public var isSendingChanges: Bool { activity.isSending }

  /// Whether this device is missing changes of connected ones, or a call of ``fetchChanges(timeout:)`` is waiting.
  public var isFetchingChanges: Bool { activity.isFetching }

  /// Whether changes are being sent or fetched.
  public var isSynchronizing: Bool { isSendingChanges || isFetchingChanges }

  /// The progress of the synchronization, as of the last check of the node. The engine checks twice a second, and ten
  /// times a second while changes are being exchanged.
  public var progress: SyncProgress { activity.progress }

  /// The current progress, and the progress after each change. A slow consumer gets the latest value.
  public var progressUpdates: AsyncStream<SyncProgress> { activity.progressUpdates }
}
