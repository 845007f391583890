import Foundation
import MeshControl
import MeshCore

/// The lock of the node that works with a database. Two nodes on one file would each take the other's writes for those
/// of an app, and would sign them a second time.
///
/// The lock is on a separate file beside the database, `NAME-mesh-lock`. Only SQLite opens the database itself, because
/// closing any other descriptor of it drops SQLite's locks.
struct DatabaseLock: Sendable {
  private let lock: FileLock
  static let suffix = "-mesh-lock"

  /// Takes the lock.
  ///
  /// - Parameter home: The home of the node, which is named to any node that tries second.
  /// - Throws: A `Refusal` with code `database.inUse` or `database.ofOriginal`, or a `HomeError`.
  init(database: String, home: Home) throws {
    // All names of the file share one lock.
    let place = Self.place(of: database)
    try Self.refuseOriginal(database, (place ?? database) + Self.suffix, home)
    do throws(FileLock.Failure) {
      lock = try FileLock(path: (place ?? database) + Self.suffix, note: "\(getpid()) \(home.path)")
    } catch {
      switch error {
      case .taken(let note): throw Self.refusal(database, note, home)
      case .system(let error): throw HomeError(error.code, "\(database) can't be used: \(error.message)")
      }
    }
  }

  /// Releases the lock. The file names this home as the one that used the database last.
  func release() { lock.release() }

  /// Releases the lock of a home that didn't use the database. The file names the home that it named before.
  func withdraw() { lock.release(restoringNote: true) }

  /// Returns the home of the node that last worked with a database, if it exists and still names that database.
  static func lastHome(of database: String) -> Home? {
    guard let place = place(of: database), let path = noted(in: place + suffix), let home = try? Home.open(at: path),
      let configuration = try? home.configuration(), Self.place(of: configuration.database) == place
    else { return nil }
    return home
  }

  /// Returns whether a process that serves another home has the lock. A free lock has the note of its last holder, so
  /// ask this after the lock was refused.
  static func isServed(_ database: String, elsewhereThan path: String) -> Bool {
    guard let last = lastHome(of: database), place(of: last.path) != place(of: path),
      let lock = place(of: database).map({ $0 + suffix }),
      let note = try? String(contentsOfFile: lock, encoding: .utf8), let holder = HomeLock.holder(of: last)
    else { return false }
    return holder.purpose == .daemon && note.hasPrefix("\(holder.pid) ")
  }

  /// Returns the home that the lock file names.
  private static func noted(in lock: String) -> String? {
    guard let note = try? String(contentsOfFile: lock, encoding: .utf8).split(separator: "\n").first,
      let home = note.split(separator: " ", maxSplits: 1).last.map(String.init), home.hasPrefix("/")
    else { return nil }
    return home
  }

  private static func place(of database: String) -> String? {
    realpath(database, nil).map { place in
      defer { free(place) }
      return String(cString: place)
    }
  }

  /// Refuses a copied home, which names the database of the original home. The lock file says which home used it last.
  private static func refuseOriginal(_ database: String, _ lock: String, _ home: Home) throws {
    guard let last = noted(in: lock), place(of: last) != place(of: home.path), let original = try? Home.open(at: last),
      let configuration = try? original.configuration(), place(of: configuration.database) == place(of: database),
      let key = try? original.read(.deviceKey), try home.exists(.deviceKey), try home.read(.deviceKey) == key
    else { return }
    throw Refusal(
      code: "database.ofOriginal",
      message:
        "\(home.path) is a copy of the home \(printable(last)), and its config.toml names \(database), the database of that "
        + "one. Copy the database as well (mesh backup FILE) and name the copy in config.toml; or, if this home takes the place "
        + "of the other, move that one away.")
  }

  private static func refusal(_ database: String, _ note: String, _ home: Home) -> Refusal {
    let isMade = (try? home.exists(.configuration)) ?? false
    let way =
      isMade
      ? "give \(home.path) a database of its own (database in config.toml)" : "name another file with --database"
    let words = note.split(separator: " ", maxSplits: 1)
    let process = words.first.map { " (process \($0))" } ?? ""
    let other = words.count == 2 ? " of the home \(printable(String(words[1])))" : ""
    return Refusal(
      code: "database.inUse",
      message:
        "\(database) is used by another node\(other)\(process), and a file has one node at a time. Stop that one, "
        + "or \(way).")
  }
}
