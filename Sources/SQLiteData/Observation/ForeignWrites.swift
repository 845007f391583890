import Dispatch
import GRDB
import Synchronization

/// Makes the commits of other processes and connections known to every observation of a database.
///
/// SQLite tells a connection about its own commits only. `PRAGMA data_version`, read on the writer's connection, changes
/// when another connection has committed.
final class ForeignWrites: Sendable {
  /// The watchers in use, by the identity of their database. Each holds its database, so an identity isn't used twice.
  private static let watchers = Mutex<[ObjectIdentifier: WeakReference<ForeignWrites>]>([:])

  private let watched: Watched
  private let events: WriteEvents

  /// Returns the watcher of a database. It watches as long as somebody holds it.
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
    // The first look remembers a version. Observations start after it in the writer's queue, so they miss nothing.
    watched.look()
    events = WriteEvents(database: path) { watched.look() }
  }
}

private final class Watched: Sendable {
  private let database: any DatabaseWriter
  /// How many notifications in a row have failed. Used in the writer's queue alone; the lock tells the compiler.
  private let failures = Mutex(0)
  /// Whether a look waits for the writer.
  private let isLooking = Atomic(false)
  /// The last version that was seen. Written in the writer's queue alone; the lock tells the compiler.
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
        // Deferred, so that it doesn't wait for other writers. GRDB notifies observers at the commit.
        try db.inTransaction(.deferred) {
          try notify(db)
          return .commit
        }
        failures.withLock { $0 = 0 }
      } catch {
        // The next look takes the commit for a new one.
        version.withLock { $0 = earlier }
        lookLater()
      }
    }
  }

  /// Looks again soon after a failure, and less and less soon while it lasts.
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
      // SQLite can't describe a virtual table whose module only another process has. The others are told one by one.
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
