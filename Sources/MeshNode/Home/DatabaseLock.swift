import Foundation
import MeshControl
import MeshCore

/// Held by the node that works with a database: two nodes on one file would each take the other's writes for an app's, and
/// sign them a second time.
///
/// The lock is on a file of its own beside the database, `NAME-mesh-lock`. The database itself is never opened but by SQLite,
/// since closing any other descriptor of it drops the locks that SQLite has on it.
struct DatabaseLock: Sendable {
  private let lock: FileLock
  static let suffix = "-mesh-lock"

  /// - Parameter home: Of the node, so that whoever comes second is told which it is.
  /// - Throws: `Refusal` `database.inUse` or `database.ofOriginal`; `HomeError`.
  init(database: String, home: Home) throws {
    // One lock by whatever name the file is called.
    let place = Self.place(of: database)
    try Self.refuseOriginal(database, (place ?? database) + Self.suffix, home)
    do throws(FileLock.Failure) {
      lock = try FileLock(path: (place ?? database) + Self.suffix, note: "\(getpid()) \(home.path)")
    } catch {
      switch error {
      case .taken(let note): throw Self.refusal(database, note, home)
      case .system(let error): throw error
      }
    }
  }

  func release() { lock.release() }

  /// The home of the node that worked with a database last, if it is there and still names that database.
  static func lastHome(of database: String) -> Home? {
    guard let place = place(of: database), let path = noted(in: place + suffix), let home = try? Home.open(at: path),
      let configuration = try? home.configuration(), Self.place(of: configuration.database) == place
    else { return nil }
    return home
  }

  /// The home that the lock's file names.
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

  /// A home that was copied names the database of the one that it was copied from. The lock's file says which home had it last.
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
    let words = note.split(separator: " ", maxSplits: 1)
    let process = words.first.map { " (process \($0))" } ?? ""
    let other = words.count == 2 ? " of the home \(printable(String(words[1])))" : ""
    return Refusal(
      code: "database.inUse",
      message:
        "\(database) is used by another node\(other)\(process), and a file has one node at a time. Stop that one, "
        + "or give \(home.path) a database of its own (database in config.toml).")
  }
}
