public import Dependencies
import IssueReporting

extension DependencyValues {
  /// The sync engine of the app.
  ///
  /// Set it when the program starts, after the database:
  ///
  /// ```swift
  /// try prepareDependencies {
  ///   $0.defaultDatabase = try appDatabase()
  ///   $0.defaultSyncEngine = try SyncEngine(for: $0.defaultDatabase, tables: RemindersList.self)
  /// }
  /// ```
  ///
  /// Then read it:
  ///
  /// ```swift
  /// @Dependency(\.defaultSyncEngine) var syncEngine
  /// ```
  public var defaultSyncEngine: SyncEngine {
    get { self[SyncEngine.self] }
    set { self[SyncEngine.self] = newValue }
  }
}

extension SyncEngine: DependencyKey {
  /// An engine without tables. In a running app, it reports an issue, because the app hasn't set its engine.
  public static var liveValue: SyncEngine {
    if !DependencyValues.isChanging {
      reportIssue(
        """
        The default sync engine isn't set, so one without tables stands in for it. Set it when the program starts:

            try prepareDependencies {
              $0.defaultDatabase = try appDatabase()
              $0.defaultSyncEngine = try SyncEngine(for: $0.defaultDatabase, tables: …)
            }
        """)
    }
    return blank
  }

  /// An engine without tables.
  public static var previewValue: SyncEngine { blank }
  /// An engine without tables.
  public static var testValue: SyncEngine { blank }

  /// An engine without tables, with a temporary database, because every engine needs one.
  private static var blank: SyncEngine {
    do {
      return try withDependencies {
        $0.context = .test
      } operation: {
        try SyncEngine(
          tables: SyncedTables(database: try defaultDatabase(), shareable: [], privateTables: []),
          node: NodeConfiguration(), defaultZone: nil, startImmediately: false, logger: nil)
      }
    } catch {
      // The property can't throw, and there is no replacement for an engine.
      fatalError(
        "The default sync engine isn't set, and a temporary database can't be opened to stand in for it: \(error)")
    }
  }
}
