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
  /// The last logs that were deleted while the node had the file open, and what became of their commits.
  private(set) var notices: [String] = []
  private static let noticesKept = 10
  let currentGuard = CurrentGuard()
  private var current: OpenDatabase
  /// False once the store is closed and no other could be opened. Then the store must not be used.
  private var isOpen = true
  /// The path to which the file was moved while it was open, if it is no longer at its own.
  private var movedTo: String?
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
    lockPatience: Double?, logger: Logger
  ) throws {
    (self.home, self.keys, self.settings, self.app) = (home, keys, settings, app)
    (self.time, self.logger) = (time, logger)
    let path = settings.configuration.database
    notices = try Self.leaveOtherLog(at: path, home, app, time, logger)
    current = try OpenDatabase(
      path, home: home, keys: keys, account: account,
      prepareConnection: app?.prepareConnection, isAppOwned: app != nil, lockPatience: lockPatience)
    try applySettings()
  }

  var store: Store { current.store }
  var replica: Replica { current.replica }
  private var path: String { settings.configuration.database }

  private func applySettings() throws {
    replica.keepsCopies = settings.configuration.keepsCopies
    replica.keepsRows = app?.keepsRowsOfZone
    try store.assets.keepOverwritten(upTo: settings.configuration.keptBlobs)
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
  func beginGuard() throws { currentGuard.set(try store.file.startGuard(clock: time)) }

  func close() throws {
    currentGuard.set(nil)
    try current.close()
  }

  /// Copies the open file, for a file that no path leads to any more.
  func backUp(to target: String) throws -> Int64 {
    guard !isOpen else { return try store.file.backUp(to: target) }
    throw suspension ?? Refusal(code: "database.replaced", message: "\(path) is not open")
  }

  /// Moves a log that belongs to another file away, before the file at the path is opened. An app has opened its file
  /// before.
  ///
  /// - Returns: A notice of each log that was moved.
  private static func leaveOtherLog(
    at path: String, _ home: Home, _ app: NodeApp?, _ time: SystemTime, _ logger: Logger
  ) throws -> [String] {
    guard app == nil,
      let moved = try RememberedLog(home: home).leaveOtherLog(at: path, time: time.milliseconds())
    else { return [] }
    logger.warning("\(moved).")
    return [moved]
  }

  /// Remembers the write-ahead log in the home after it has begun again.
  func rememberLog() throws {
    if isOpen { try current.rememberLog(home) }
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
    switch store.file.whereabouts {
    case .here where suspension == nil && error == nil: return nil
    case _ where ContinuousClock.now < nextAttempt: return nil
    case .logLost where isOpen: return leaveLog()
    // A closed file has no log that could be lost.
    case .here, .logLost:
      do {
        if let refusal = try bringLog() { return suspend(refusal.code, refusal.message) }
      } catch {
        return suspend("database.gone", "\(path) is there again, without its log: \(error.userMessage)")
      }
      return reopen(isReplacement: suspension != nil, error?.message ?? "\(path) is there again")
    case .gone: return leaveFile()
    case .replaced:
      do {
        let others = isOpen ? try store.file.abandon() : []
        guard others.isEmpty else { return suspend(because: others) }
      } catch {
        return suspend(
          "database.replaced",
          "another file was moved to \(path), and the log of the one before can't be emptied, so nothing is synchronized: "
            + "\(error.userMessage) The node tries again by itself.")
      }
      // Two files that one process has open at one path share the name of a log, and damage each other.
      guard app == nil else {
        return suspend(
          "database.replaced",
          "another file was moved to \(path), and this app still has the one before open, so nothing is synchronized, and the "
            + "app can't write. Start the app again: it opens the new file then.")
      }
      return reopen(
        isReplacement: true, "another file was moved to \(path) while the node had it open; the node opens it")
    }
  }

  /// Gives up the file after it was deleted or moved away.
  private func leaveFile() -> Change? {
    // An app in this process may use the log.
    guard app == nil, let place = isOpen ? store.file.movedTo : movedTo else {
      // The log is emptied, so that it does no harm to the file that follows.
      if suspension == nil { _ = try? store.file.abandon() }
      return suspend(
        "database.gone",
        "\(path) was deleted or moved away while the node had it open, so nothing is synchronized. Put the file there again, or "
          + "a copy of it: the node opens it by itself. What the node had open can be saved before: mesh backup FILE")
    }
    guard isOpen else { return nil }
    movedTo = place
    let what = "\(path) was moved to \(place) while the node had it open"
    let target = "\(path)-saved-\(time.milliseconds())"
    do {
      switch try store.file.leaveFile(movedTo: place, savingTo: target) {
      case .copied: return leave("\(what). It has everything there, and nothing is synchronized.")
      case .saved:
        note(
          "\(what), and a program wrote to it there before it had the last commits, so the node has saved the database with "
            + "them as \(target)")
        return leave("\(notices.last ?? what). Nothing is synchronized.")
      case .used(let others):
        return suspend(
          "database.gone",
          "\(what), and \(names(others)) still uses it under the former name, so nothing is synchronized. Programs that open "
            + "it as \(place) don't see the last commits. End that program: the node puts them into the file by itself then."
        )
      }
    } catch {
      return suspend(
        "database.gone",
        "\(what), so nothing is synchronized, and it doesn't have the last commits: \(error.userMessage) Close all programs "
          + "that have it open. The node tries again by itself.")
    }
  }

  /// Closes the file that was moved. Programs that have it open at its new path can then put their log into it.
  private func leave(_ what: String) -> Change? {
    try? current.close()
    isOpen = false
    return suspend(
      "database.gone",
      "\(what) Move it back: the node opens it by itself. Or write its new path into config.toml (database), and start the "
        + "daemon again.")
  }

  /// Brings the log along that programs have begun while the file was at another path.
  ///
  /// - Returns: Why the file can't be opened yet, or nil.
  private func bringLog() throws -> Refusal? {
    guard let place = movedTo else { return nil }
    switch try MovedFile.bringLog(to: path, from: place, isOpen: isOpen) {
    case .complete: break
    case .left:
      note(
        "\(path) was at \(place) for a while, and programs wrote to it there. They left commits in \(place)-wal, and the "
          + "file doesn't have them, because another log was in use at \(path)")
    case .used(let others):
      return Refusal(
        code: "database.gone",
        message:
          "\(path) was at \(place) for a while, and \(names(others)) still has it open, so nothing is synchronized. What "
          + "programs wrote to it there may not be in the file. End that program: the node opens the file by itself then."
      )
    }
    movedTo = nil
    return nil
  }

  /// Opens the file again after its log was deleted.
  private func leaveLog() -> Change? {
    let what = "the log of \(path) (\(path)-wal or \(path)-shm) was deleted or replaced while programs had it open"
    let target = "\(path)-saved-\(time.milliseconds())"
    do {
      switch try store.file.leaveLog(savingTo: target, isShared: app != nil) {
      case .copied:
        let outcome = "\(what): the node has put its commits into the file, and nothing of it is lost"
        note(outcome)
        return reopen(isReplacement: false, outcome)
      case .saved:
        let outcome =
          "\(what): another program has begun a new log without the last commits, so the node has saved the "
          + "database with them as \(target), and goes on with the new log"
        note(outcome)
        return reopen(isReplacement: true, outcome)
      case .used(let others):
        return suspend(
          "database.log-lost",
          "\(what), and \(names(others)) still uses the old log, so nothing is synchronized. Programs that open the file now "
            + "see nothing of it. End that program: the node opens the file again by itself then.")
      }
    } catch {
      return suspend(
        "database.log-lost",
        "\(what), so nothing is synchronized: \(error.userMessage) Close all programs that have the file open. The node "
          + "tries again by itself.")
    }
  }

  private func note(_ notice: String) {
    notices = notices.suffix(Self.noticesKept - 1) + [notice]
  }

  private func reopen(isReplacement: Bool, _ what: String) -> Change? {
    let account = replica.account
    if isOpen { try? current.close() }
    isOpen = false
    do {
      try Self.leaveOtherLog(at: path, home, app, time, logger).forEach(note)
      current = try OpenDatabase(
        path, home: home, keys: keys, account: account, prepareConnection: app?.prepareConnection,
        isAppOwned: app != nil, isReplacement: isReplacement, lockPatience: Self.lockPatience)
    } catch let refusal as Refusal where ["database.other", "database.otherLog"].contains(refusal.code) {
      return suspend(refusal.code, refusal.message)
    } catch let error as StoreError where error.code == .locked {
      return suspend(
        "database.locked",
        WriteLock.messageWithAdvice(unopened: path, "the node opens it again when the transaction ends."))
    } catch {
      return suspend(
        "database.replaced",
        "the file at \(path) is not as the node had it open, and the node can't use it as it is now, so nothing is "
          + "synchronized. Put the right file there: the node opens it by itself. The reason: \(error.userMessage)")
    }
    (isOpen, suspension, openings, movedTo) = (true, nil, openings + 1, nil)
    settingsChanged()
    return .reopened(what)
  }

  private func suspend(because others: [LockHolder]) -> Change? {
    suspend(
      "database.replaced",
      "another file was moved to \(path), and \(names(others)) still has the one before open, so nothing is synchronized. What is "
        + "written there goes to the replaced file and is lost. End that program, or have it open the database again: the "
        + "node opens the new file by itself then.")
  }

  private func names(_ holders: [LockHolder]) -> String {
    holders.map(\.description).joined(separator: ", ")
  }

  private func suspend(_ code: String, _ message: String) -> Change? {
    nextAttempt = .now + Self.pause
    let refusal = Refusal(code: code, message: message)
    guard refusal != suspension else { return nil }
    suspension = refusal
    currentGuard.set(nil)
    return .suspended
  }

  /// The seconds that one attempt to open the file waits for another program's lock.
  private static let lockPatience = 0.1
  /// The time between two attempts to open the file at the path.
  private static let pause = Duration.milliseconds(300)
}
