import MeshCore
import MeshStore

/// The write lock of a database, which another program may have.
struct WriteLock {
  static let wayOut = "End the transaction, or the program."

  private let store: Store

  init(_ store: Store) { self.store = store }

  /// The message about a program that currently has the lock, or nil if none has.
  var message: String? {
    guard store.isWriteLocked else { return nil }
    let names = store.writers.map { "process \($0.pid) (\(printable($0.program)))" }
    let who = names.isEmpty ? "another program" : names.joined(separator: ", ")
    return "\(store.path) is locked by \(who): nothing is flushed or merged before its transaction ends."
  }

  /// The message with what to do.
  var messageWithAdvice: String? { message.map { "\($0) \(Self.wayOut)" } }
}
