import Glibc
import Synchronization

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

  /// The open lock file; nil once released.
  private let descriptor: Mutex<Int32?>

  /// The lock is an advisory one on the open file (`flock`), so a crash leaves nothing behind.
  /// - Throws: `HomeError` `.locked` at once where somebody else has it.
  fileprivate init(path: String, purpose: Purpose) throws(HomeError) {
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
    guard descriptor >= 0 else { throw Disk.failure("open", path) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      defer { close(descriptor) }
      guard errno == EWOULDBLOCK else { throw Disk.failure("lock", path) }
      throw Self.taken(path, by: Self.holder(descriptor))
    }
    self.descriptor = Mutex(descriptor)
    guard ftruncate(descriptor, 0) == 0 else { throw Disk.failure("write", path) }
    try Disk.write(Array("\(getpid()) \(purpose.rawValue)\n".utf8), to: descriptor, path)
  }

  deinit { release() }

  /// Idempotent.
  public func release() {
    descriptor.withLock { descriptor in
      if let open = descriptor { close(open) }
      descriptor = nil
    }
  }

  /// What the file says; nil in the moment between taking the lock and writing the name.
  private static func holder(_ descriptor: Int32) -> Holder? {
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = pread(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return nil }
    let words = String(decoding: buffer[..<count], as: UTF8.self).split(whereSeparator: \.isWhitespace)
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
  /// - Throws: `HomeError` `.locked` once `patience` has passed, or at once where a daemon has it; `CancellationError`.
  public func lock(as purpose: HomeLock.Purpose, patience: Duration) async throws -> HomeLock {
    let deadline = ContinuousClock.now + patience
    while true {
      do throws(HomeError) {
        return try lock(as: purpose)
      } catch {
        guard error.code == .locked, error.holder?.purpose != .daemon, ContinuousClock.now < deadline else {
          throw error
        }
      }
      try await Task.sleep(for: Self.lockPoll)
    }
  }

  /// Between two attempts: a verb on a local home takes some tens of milliseconds.
  static let lockPoll = Duration.milliseconds(20)
}
