import Logging
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// The database of a node. It is opened at the start, and again whenever the file was restored or replaced.
final class NodeDatabase {
  /// The reason that the file can't be used now, with the remedy, or nil while it can.
  private(set) var suspension: Refusal?
  /// The number of times that the database was opened again.
  private(set) var openings = 0
  let currentGuard = CurrentGuard()
  private var current: OpenDatabase
  /// False once the store is closed and no other could be opened. Then the store must not be used.
  private var isOpen = true
  /// The time before which a file that could not be opened isn't tried again.
  private var nextAttempt = ContinuousClock.now
  private let home: Home
  private let keys: NodeKeys
  private let settings: Settings
  private let app: NodeApp?
  private let time: SystemTime
  private let logger: Logger

  init(
    home: Home, keys: NodeKeys, account: AccountState, settings: Settings, app: NodeApp?, time: SystemTime,
    logger: Logger
  ) throws {
    (self.home, self.keys, self.settings, self.app) = (home, keys, settings, app)
    (self.time, self.logger) = (time, logger)
    current = try OpenDatabase(
      settings.configuration.database, home: home, keys: keys, account: account,
      prepareConnection: app?.prepareConnection)
    try applySettings()
  }

  var store: Store { current.store }
  var replica: Replica { current.replica }
  private var path: String { settings.configuration.database }

  private func applySettings() throws {
    replica.keepsCopies = settings.configuration.keepsCopies
    replica.keepsRows = app?.keepsRowsOfZone
    try store.keepOverwrittenBlobs(upTo: settings.configuration.keptBlobs)
  }

  /// Applies settings that have changed.
  func settingsChanged() {
    do {
      try applySettings()
    } catch {
      logger.warning("keep-blobs takes effect when the daemon is started again: \(error)")
    }
  }

  /// Prevents other programs from restarting the write-ahead log until the node is closed. The daemon does it from its
  /// start. A command on the home alone does it if it writes more than a row or two.
  func beginGuard() throws { currentGuard.set(try store.startGuard(clock: time)) }

  func close() throws {
    currentGuard.set(nil)
    try current.close()
  }

  /// Copies the open file, for a file that no path leads to any more.
  func backUp(to target: String) throws -> Int64 {
    guard !isOpen else { return try store.backUp(to: target) }
    throw suspension ?? Refusal(code: "database.replaced", message: "\(path) is not open")
  }

  // MARK: The file at the path

  enum Change {
    /// Another store and another replica are in use now. The knowledge of the former ones is invalid.
    case reopened(String)
    /// The database must not be used. `suspension` has the reason.
    case suspended
  }

  /// Checks whether the open file is the one at the path, and opens the one at the path if it isn't.
  ///
  /// - Parameter error: The store's error if the open file has another history than the store knows.
  /// - Returns: The change since the last call, or nil if there is none.
  func follow(because error: StoreError? = nil) -> Change? {
    switch store.whereabouts {
    case .here where suspension == nil && error == nil: return nil
    case _ where ContinuousClock.now < nextAttempt: return nil
    case .here:
      return reopen(isReplacement: suspension != nil, error?.message ?? "\(path) is there again")
    case .gone:
      // The log is emptied, so that it does no harm to the file that follows.
      if suspension == nil { _ = try? store.abandon() }
      return suspend(
        "database.gone",
        "\(path) was deleted or moved away while the node had it open, so nothing is synchronized. Put the file there again, or "
          + "a copy of it: the node opens it by itself. What the node had open can be saved before: mesh backup FILE")
    case .replaced:
      do {
        let others = isOpen ? try store.abandon() : []
        guard others.isEmpty else { return suspend(because: others) }
      } catch {
        return suspend(
          "database.replaced",
          "another file was moved to \(path), and the log of the one before can't be emptied, so nothing is synchronized: "
            + "\(error.userMessage) The node tries again by itself.")
      }
      return reopen(
        isReplacement: true, "another file was moved to \(path) while the node had it open; the node opens it")
    }
  }

  private func reopen(isReplacement: Bool, _ what: String) -> Change? {
    let account = replica.account
    if isOpen { try? current.close() }
    isOpen = false
    do {
      current = try OpenDatabase(
        path, home: home, keys: keys, account: account, prepareConnection: app?.prepareConnection,
        isReplacement: isReplacement)
    } catch {
      return suspend(
        "database.replaced",
        "\(path) was replaced while the node had it open, and the node can't use what is there now, so nothing is "
          + "synchronized. Put the right file there: the node opens it by itself. The reason: \(error.userMessage)")
    }
    (isOpen, suspension, openings) = (true, nil, openings + 1)
    settingsChanged()
    return .reopened(what)
  }

  private func suspend(because others: [LockHolder]) -> Change? {
    let names = others.map { "process \($0.pid) (\(printable($0.program)))" }.joined(separator: ", ")
    return suspend(
      "database.replaced",
      "another file was moved to \(path), and \(names) still has the one before open, so nothing is synchronized. What is "
        + "written there goes to the replaced file and is lost. End that program, or have it open the database again: the "
        + "node opens the new file by itself then.")
  }

  private func suspend(_ code: String, _ message: String) -> Change? {
    nextAttempt = .now + Self.pause
    let refusal = Refusal(code: code, message: message)
    guard refusal != suspension else { return nil }
    suspension = refusal
    currentGuard.set(nil)
    return .suspended
  }

  /// The time between two attempts to open the file at the path.
  private static let pause = Duration.milliseconds(300)
}
