import Glibc

/// Held by whoever works on a home: one daemon, or one verb at a time. Given back by `release()`, when the value goes,
/// and by the operating system when the process ends, however it ends.
public final class HomeLock: Sendable {
  public enum Purpose: String, Sendable {
    /// Runs until it is told to stop; a verb talks to it.
    case daemon
    /// Done in a moment; a daemon that starts waits for it.
    case verb
  }

  public struct Holder: Hashable, Sendable {
    public let pid: Int32
    public let purpose: Purpose

    public init(pid: Int32, purpose: Purpose) {
      self.pid = pid
      self.purpose = purpose
    }
  }

  private let lock: FileLock

  /// - Throws: `HomeError` `.locked` at once where somebody else has it.
  fileprivate init(path: String, purpose: Purpose) throws(HomeError) {
    do throws(FileLock.Failure) {
      lock = try FileLock(path: path, note: "\(getpid()) \(purpose.rawValue)")
    } catch {
      switch error {
      case .taken(let note): throw Self.taken(path, by: Self.holder(note))
      case .system(let error): throw error
      }
    }
  }

  /// Idempotent.
  public func release() { lock.release() }

  /// What the file says; nil in the moment between taking the lock and writing the name.
  private static func holder(_ note: String) -> Holder? {
    let words = note.split(whereSeparator: \.isWhitespace)
    guard words.count == 2, let pid = Int32(words[0]), let purpose = Purpose(rawValue: String(words[1])) else {
      return nil
    }
    return Holder(pid: pid, purpose: purpose)
  }

  private static func taken(_ path: String, by holder: Holder?) -> HomeError {
    let home = path.dropLast(HomeFile.lock.name.utf8.count + 1)
    let message =
      switch holder?.purpose {
      case .daemon: "A daemon (process \(holder?.pid ?? 0)) serves \(home). Stop it first: kill \(holder?.pid ?? 0)"
      case .verb: "Another mesh command (process \(holder?.pid ?? 0)) works on \(home). Try again when it is done."
      case nil: "Another process works on \(home). Try again when it is done."
      }
    return HomeError(.locked, message, holder: holder)
  }
}

extension Home {
  /// Takes the lock, or says at once who has it.
  /// - Throws: `HomeError`, `.locked` with its `holder` among others.
  public func lock(as purpose: HomeLock.Purpose) throws(HomeError) -> HomeLock {
    try HomeLock(path: path(of: .lock), purpose: purpose)
  }

  /// Takes the lock, waiting for verbs that have it, but not for a daemon.
  ///
  /// - Parameters:
  ///   - patience: The longest wait. With nil it lasts until the verbs are done.
  ///   - waiting: Called once, after a wait of one second, with whoever has the lock.
  /// - Throws: `HomeError` `.locked` once `patience` has passed, or at once where a daemon has it; `CancellationError`.
  public func lock(
    as purpose: HomeLock.Purpose, patience: Duration?, waiting: (HomeLock.Holder?) -> Void = { _ in }
  ) async throws -> HomeLock {
    let start = ContinuousClock.now
    var isTold = false
    while true {
      do throws(HomeError) {
        return try lock(as: purpose)
      } catch {
        let waited = ContinuousClock.now - start
        guard error.code == .locked, error.holder?.purpose != .daemon, patience.map({ waited < $0 }) ?? true else {
          throw error
        }
        if !isTold, waited > Self.lockNotice {
          isTold = true
          waiting(error.holder)
        }
      }
      try await Task.sleep(for: Self.lockPoll)
    }
  }

  /// A wait this long is worth a word.
  static let lockNotice = Duration.seconds(1)

  /// Between two attempts: a verb on a local home takes some tens of milliseconds.
  static let lockPoll = Duration.milliseconds(20)
}
