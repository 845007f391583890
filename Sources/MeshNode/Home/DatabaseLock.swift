import Glibc
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
  /// - Throws: `Refusal` `database.inUse`; `HomeError`.
  init(database: String, home: Home) throws {
    // One lock by whatever name the file is called.
    let place = realpath(database, nil).map { place in
      defer { free(place) }
      return String(cString: place)
    }
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
