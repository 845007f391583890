import MeshCore
import MeshStore

/// The write lock of a database, which another program may have.
struct WriteLock {
  static let wayOut = "End the transaction, or the program."

  private let store: Store

  init(_ store: Store) { self.store = store }

  /// The message about a program that currently has the lock, or nil if none has.
  var message: String? {
    guard store.file.isWriteLocked else { return nil }
    return Self.message(store.path, store.file.writers, "nothing is flushed or merged before its transaction ends.")
  }

  /// Returns the message if a program keeps the lock. A program that commits again and again doesn't.
  nonisolated(nonsending) func lastingMessage() async throws -> String? {
    let deadline = ContinuousClock.now + Self.lasting
    let version = try store.file.dataVersion()
    while let message {
      if try store.file.dataVersion() != version { return nil }
      guard ContinuousClock.now < deadline else { return message }
      try await Task.sleep(for: Self.look)
    }
    return nil
  }

  /// The time for which a program has to keep the lock to be reported.
  private static let lasting = Duration.seconds(1)
  private static let look = Duration.milliseconds(20)

  /// Returns the message about a database that could not be opened because another program has its lock, with what to
  /// do.
  static func messageWithAdvice(unopened path: String, _ consequence: String) -> String {
    "\(message(path, LockHolder.writers(ofDatabaseAt: path), consequence)) \(wayOut)"
  }

  private static func message(_ path: String, _ writers: [LockHolder], _ consequence: String) -> String {
    let who = writers.isEmpty ? "another program" : writers.map(\.description).joined(separator: ", ")
    return "\(path) is locked by \(who): \(consequence)"
  }

  /// The message with what to do.
  var messageWithAdvice: String? { message.map { "\($0) \(Self.wayOut)" } }
}
