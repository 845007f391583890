public import Dependencies
import Foundation
public import GRDB
import IssueReporting
import MeshNode

/// Opens the database of the app.
///
/// - In a running app, a pool at `path`. Without a path, the file is `SQLiteData.db` in the app's own directory below
///   `$XDG_DATA_HOME`, which is `~/.local/share` if that variable isn't set. The directory is created.
/// - In a preview or test, a pool at a new temporary file. The path is ignored, so that tests don't share data.
///
/// Its connections have the SQL function `uuid()`, which creates a key for a row without one. They can read
/// ``SyncMetadata``.
///
/// If the app was killed and another file has taken the place of its synchronized database, SQLite would copy the former
/// file's log into it. This function moves the log away before, and prints its new path on standard error.
///
/// A writer waits up to 5 seconds for the writers of other processes, unless the configuration's busy mode is another
/// one than `.immediateError`.
///
/// ```swift
/// func appDatabase() throws -> any DatabaseWriter {
///   let database = try defaultDatabase()
///   var migrator = DatabaseMigrator()
///   migrator.registerMigration("Create tables") { db in … }
///   try migrator.migrate(database)
///   return database
/// }
/// ```
public func defaultDatabase(
  path: String? = nil, configuration: Configuration = Configuration()
) throws -> any DatabaseWriter {
  @Dependency(\.context) var context
  var configuration = configuration
  if case .immediateError = configuration.busyMode { configuration.busyMode = .timeout(5) }
  let place =
    switch context {
    case .live: try DatabasePlace.withoutOtherLog(path ?? DatabasePlace.ofApp())
    case .preview, .test: try DatabasePlace.temporary()
    }
  configuration.prepareDatabase { db in
    try db.addUUIDFunction()
    try db.attachMetadatabase()
  }
  return try DatabasePool(path: place, configuration: configuration)
}

extension Database {
  /// Adds the function `uuid()`, unless SQLite or the app already has it. Schemas use it in the default of a key.
  fileprivate func addUUIDFunction() throws {
    let isKnown = try Bool.fetchOne(self, sql: "SELECT 1 FROM pragma_function_list WHERE name = 'uuid' AND narg <= 0")
    guard isKnown != true else { return }
    add(function: GRDB.DatabaseFunction("uuid", argumentCount: 0) { _ in UUID().uuidString.lowercased() })
  }
}

enum DatabasePlace {
  /// Returns the path of the app's database and creates its directory.
  static func ofApp(
    environment: [String: String] = ProcessInfo.processInfo.environment,
    executable: String = ProcessInfo.processInfo.processName
  ) throws -> String {
    // The specification of XDG base directories tells programs to ignore relative paths.
    let data =
      environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
      ?? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/share")
    let directory = data.appending(path: executable)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    return directory.appending(path: "SQLiteData.db").path
  }

  /// Moves a log that belongs to another file away, before SQLite copies it into the file at the path.
  ///
  /// - Returns: The path.
  static func withoutOtherLog(_ path: String) throws -> String {
    if let notice = try Home.last(of: path)?.leaveOtherLog() {
      SyncEngine.defaultLogger(.live).warning("\(notice).")
    }
    return path
  }

  /// Returns a path for a new database, which is deleted when the process exits.
  static func temporary() throws -> String {
    try FileManager.default.createDirectory(at: temporaryDirectory, withIntermediateDirectories: true)
    return temporaryDirectory.appending(path: "\(UUID().uuidString).db").path
  }

  /// Returns a path for the home of a new node, which is deleted when the process exits.
  static func temporaryHome() -> String {
    // The name is short, because the path of a socket has at most 107 bytes.
    temporaryDirectory.appending(path: "home-\(UUID().uuidString.prefix(8))").path
  }

  private static let temporaryDirectory: URL = {
    atexit { try? FileManager.default.removeItem(at: DatabasePlace.temporaryDirectory) }
    return FileManager.default.temporaryDirectory.appending(path: "SQLiteData-\(UUID().uuidString)")
  }()
}

extension DependencyValues {
  /// The database that `FetchAll`, `FetchOne` and `Fetch` read, and that the app writes to.
  ///
  /// Set it when the program starts:
  ///
  /// ```swift
  /// try prepareDependencies {
  ///   $0.defaultDatabase = try appDatabase()
  /// }
  /// ```
  public var defaultDatabase: any DatabaseWriter {
    get { self[DefaultDatabaseKey.self] }
    set { self[DefaultDatabaseKey.self] = newValue }
  }
}

private enum DefaultDatabaseKey: DependencyKey {
  static var liveValue: any DatabaseWriter {
    unset(
      """
      Set it as the first thing that the program does:

          try prepareDependencies {
            $0.defaultDatabase = try defaultDatabase()
          }
      """)
  }

  static var previewValue: any DatabaseWriter {
    unset(
      """
      Set it in the preview:

          let _ = try! prepareDependencies {
            $0.defaultDatabase = try defaultDatabase()
          }
      """)
  }

  static var testValue: any DatabaseWriter {
    unset(
      """
      Set it with a trait of the test or suite:

          @Test(.dependency(\\.defaultDatabase, try defaultDatabase()))
      """)
  }

  private static func unset(_ help: String) -> any DatabaseWriter {
    // A closure that sets the database may read the earlier value in doing so.
    if !DependencyValues.isChanging {
      reportIssue("The default database isn't set, so a blank one in memory stands in for it.\n\n\(help)")
    }
    var configuration = Configuration()
    configuration.label = unsetLabel
    do {
      return try DatabaseQueue(configuration: configuration)
    } catch {
      // The property can't throw, and there is no replacement for a database.
      fatalError(
        """
        The default database isn't set, and SQLite can't open a blank one in memory to stand in for it: \(error)

        If the error says that memory is short, free some or raise the limit of the process. Otherwise set the database \
        yourself. \(help)
        """)
    }
  }

  static let unsetLabel = "SQLiteData.unset"
}

extension DatabaseReader {
  /// Whether the database only replaces a default database that isn't set.
  var isUnset: Bool { configuration.label == DefaultDatabaseKey.unsetLabel }
}
