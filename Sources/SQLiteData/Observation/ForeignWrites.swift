import Dispatch
import GRDB
import MeshNode
import Synchronization

/// Notifies every observation of a database about commits of other processes and connections.
///
/// SQLite tells a connection only about its own commits. `PRAGMA data_version`, read on the writer's connection,
/// changes when another connection has committed.
final class ForeignWrites: Sendable {
  /// The watchers in use, by the identity of their database. Each holds its database, so an identity isn't used twice.
  private static let watchers = Mutex<[ObjectIdentifier: WeakReference<ForeignWrites>]>([:])

  private let watched: Watched
  private let events: WriteEvents

  /// Returns the watcher of a database. It watches as long as it has a reference.
  ///
  /// Returns nil for a database in memory, which no other process can write to.
  static func watching(_ database: any DatabaseWriter) -> ForeignWrites? {
    let path = database.path
    guard !path.isEmpty, path != ":memory:", !path.hasPrefix("file::memory:"), !path.contains("mode=memory") else {
      return nil
    }
    return watchers.withLock { watchers in
      if let watcher = watchers[ObjectIdentifier(database)]?.object { return watcher }
      let watcher = ForeignWrites(database, path: path)
      watchers = watchers.filter { $0.value.object != nil }
      watchers[ObjectIdentifier(database)] = WeakReference(watcher)
      return watcher
    }
  }

  private init(_ database: any DatabaseWriter, path: String) {
    let watched = Watched(database)
    self.watched = watched
    // The first check remembers a version. Observations start after it in the writer's queue, so they miss nothing.
    watched.look()
    events = WriteEvents(database: path) { watched.look() }
  }
}

private final class Watched: Sendable {
  private let database: any DatabaseWriter
  /// The number of failed notifications in a row. Only the writer's queue uses it, and the lock is for the compiler.
  private let failures = Mutex(0)
  /// Whether a check waits for the writer.
  private let isLooking = Atomic(false)
  /// The last version that was seen. Only the writer's queue writes it, and the lock is for the compiler.
  private let version = Mutex<Int?>(nil)

  init(_ database: any DatabaseWriter) {
    self.database = database
  }

  func look() {
    guard !isLooking.exchange(true, ordering: .acquiringAndReleasing) else { return }
    database.asyncWriteWithoutTransaction { [self] db in
      isLooking.store(false, ordering: .releasing)
      guard !db.isInsideTransaction, let now = try? Int.fetchOne(db, sql: "PRAGMA data_version") else {
        return lookLater()
      }
      let earlier = version.withLock { version in
        defer { version = now }
        return version
      }
      guard let earlier, earlier != now else { return }
      do {
        // It is deferred, so that it doesn't wait for other writers. GRDB notifies observers at the commit.
        try db.inTransaction(.deferred) {
          try notify(db)
          return .commit
        }
        failures.withLock { $0 = 0 }
      } catch {
        // The next check takes the commit for a new one.
        version.withLock { $0 = earlier }
        lookLater()
      }
    }
  }

  /// Checks again soon after a failure, and after growing waits while the failure lasts.
  private func lookLater() {
    let failures = failures.withLock { failures in
      failures += 1
      return failures
    }
    let delay = min(500, 10 << min(failures, 6))
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in self?.look() }
  }

  /// Tells the observers that every table may have changed.
  private func notify(_ db: Database) throws {
    do {
      try db.notifyChanges(in: .fullDatabase)
    } catch {
      // SQLite can't describe a virtual table if only another process has its module. The other tables are notified one
      // by one.
      for table in try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'") {
        try? db.notifyChanges(in: Table(table))
      }
    }
  }
}

/// A reference that doesn't keep its object alive.
final class WeakReference<Object: AnyObject & Sendable>: Sendable {
  private let reference: Mutex<Weak>

  private struct Weak {
    weak var object: Object?
  }

  init(_ object: Object) {
    reference = Mutex(Weak(object: object))
  }

  var object: Object? { reference.withLock { $0.object } }
}
