import CSQLite
import Foundation

/// The location of a database in the operating system's file system. Checks whether a database can be used there.
struct FilePlace {
  let path: String

  /// Creates an empty file with mode 0600 if there is none and `create` is true.
  func prepare(create: Bool) throws(StoreError) {
    try requireFile()
    try checkDirectory()
    var status = stat()
    if stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFREG else {
        let kind = status.st_mode & S_IFMT == S_IFDIR ? "a directory" : "not a file"
        throw StoreError(.cannotOpen, "\(path) is \(kind); name the database file itself")
      }
      try requireWritable(path)
      // SQLite gives new ones the database's permissions, and the old ones keep theirs.
      for suffix in ["-wal", "-shm"] where access(path + suffix, F_OK) == 0 { try requireWritable(path + suffix) }
      return
    }
    guard errno == ENOENT else { throw StoreError(.cannotOpen, "\(path) cannot be opened: \(Self.reason())") }
    guard create else { throw StoreError(.missing, "\(path) does not exist; name another file or create it first") }
    try refuseCompanion()
    // The file is new, so this process has no locks on it that closing the descriptor could drop.
    let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      Foundation.close(descriptor)
    } else if errno != EEXIST {
      throw StoreError(.cannotOpen, "\(path) cannot be created: \(Self.reason())")
    }
  }

  /// Refuses names that SQLite doesn't take for a path, such as `:memory:` and URIs. mesh needs a file that stays, and
  /// takes its name literally.
  private func requireFile() throws(StoreError) {
    let components = path.split(separator: "/")
    guard components.last == ":memory:" || components.contains(where: { $0.hasPrefix("file:") }) else { return }
    throw StoreError(
      .cannotOpen,
      "\(path) is not the path of a database file: a mesh needs a file on a disk. Name it without file: and without options, "
        + "for example --database notes.db")
  }

  /// Refuses to create a file that SQLite would read together with another file, and damage that one.
  private func refuseCompanion() throws(StoreError) {
    guard let suffix = Self.companions.first(where: path.hasSuffix) else { return }
    let database = String(path.dropLast(suffix.count))
    guard FileStatus(path: database)?.kind == .file else { return }
    throw StoreError(
      .cannotOpen,
      "\(path) is the name of a file that belongs to \(database), and would damage it if that is a database; choose another "
        + "name")
  }

  /// The ends of the names of files beside a database. SQLite and mesh read them together with it.
  private static let companions = ["-journal", "-wal", "-shm", "-mesh-lock"]

  private var directory: String {
    let parent = (path as NSString).deletingLastPathComponent
    return parent.isEmpty ? "." : parent
  }

  private func checkDirectory() throws(StoreError) {
    var status = stat()
    guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw StoreError(.cannotOpen, "\(path) cannot be opened: there is no directory \(directory); create it first")
    }
    try NetworkFileSystem.refuse(directory: directory, path: path)
    // The WAL and its index are created beside the file.
    try requireWritable(directory)
  }

  private func requireWritable(_ place: String) throws(StoreError) {
    guard access(place, R_OK | W_OK) == 0 else {
      throw StoreError(.readOnly, "\(place) cannot be written by this user (\(Self.reason())); change its permissions")
    }
  }

  private static func reason() -> String { String(cString: strerror(errno)) }
}
