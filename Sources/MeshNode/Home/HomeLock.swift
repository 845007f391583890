import Glibc

/// The lock of the process that works on a home: one daemon, or one command at a time. It is released by `release()`,
/// when the value is deinitialized, and by the operating system at any end of the process.
public final class HomeLock: Sendable {
  /// Why a process works on a home. The file of the lock names it.
  public enum Purpose: String, Sendable {
    /// The process runs until it is told to stop, and commands talk to it.
    case daemon
    /// The process ends in a moment, and a starting daemon waits for it.
    case verb
  }

  /// The process that has the lock.
  public struct Holder: Hashable, Sendable {
    /// The id of the process.
    public let pid: Int32
    /// Why it works on the home.
    public let purpose: Purpose

    /// Creates the holder from what the file of the lock says.
    public init(pid: Int32, purpose: Purpose) {
      self.pid = pid
      self.purpose = purpose
    }
  }

  private let lock: FileLock

  /// Takes the lock.
  ///
  /// - Throws: A `HomeError` `.locked` immediately if another process has it.
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

  /// Releases the lock. Further calls do nothing.
  public func release() { lock.release() }

  /// Returns the last holder of a home's lock, which may have released it.
  static func holder(of home: Home) -> Holder? {
    (try? home.read(.lock)).flatMap { holder(String(decoding: $0, as: UTF8.self)) }
  }

  /// Returns the holder according to the file, or nil in the moment between taking the lock and writing the note.
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
      case .daemon: "a daemon (process \(holder?.pid ?? 0)) serves \(home). Stop it first: kill \(holder?.pid ?? 0)"
      case .verb: "another mesh command (process \(holder?.pid ?? 0)) works on \(home). Try again when it is done."
      case nil: "another process works on \(home). Try again when it is done."
      }
    return HomeError(.locked, message, holder: holder)
  }
}

extension Home {
  /// Takes the lock, or says immediately which process has it.
  ///
  /// - Throws: A `HomeError`, for example `.locked` with its `holder`.
  public func lock(as purpose: HomeLock.Purpose) throws(HomeError) -> HomeLock {
    try HomeLock(path: path(of: .lock), purpose: purpose)
  }

  /// Takes the lock. It waits for commands that have it, but not for a daemon.
  ///
  /// - Parameters:
  ///   - patience: The longest wait, or nil to wait until the commands are done.
  ///   - waiting: Called once, after a wait of one second, with the process that has the lock.
  /// - Throws: A `HomeError` `.locked` once `patience` has passed, or immediately if a daemon has the lock. A
  ///   `CancellationError` if the task is cancelled.
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

  /// Runs `body` while no other app does so with this home, whichever process runs its node.
  ///
  /// Apps that use the node of another process change a file of the home that no node writes.
  package func exclusively<Result>(_ body: () async throws -> Result) async throws -> Result {
    let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw Disk.failure("open", path) }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw Disk.failure("lock", path) }
      try await Task.sleep(for: Self.lockPoll)
    }
    return try await body()
  }

  /// The wait after which the user is told.
  static let lockNotice = Duration.seconds(1)

  /// The time between two attempts. A command on a local home takes some tens of milliseconds.
  static let lockPoll = Duration.milliseconds(20)
}
