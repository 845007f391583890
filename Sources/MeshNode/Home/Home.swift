import Glibc
import MeshControl
import MeshStore

/// A node's home directory, with its keys, configuration, control socket and lock. The database is elsewhere.
///
/// The directory has mode 0700 and its key files have mode 0600. A home that other users can read, or that another user
/// owns, is refused with the command that fixes it. A symbolic link in place of the directory or of one of its files is
/// also refused. A write is on the disk when the call returns.
public struct Home: Hashable, Sendable {
  /// The absolute path.
  public let path: String

  /// Creates the directory and those above it, or continues an unfinished home.
  ///
  /// Write `config.toml` last. A directory that contains it is a complete home, and is refused here.
  ///
  /// - Throws: A `HomeError`, for example `.exists`.
  public static func create(at path: String) throws(HomeError) -> Home {
    let home = Home(path: try absolute(path))
    try home.checkSocketPath()
    try Disk.makeDirectories(home.path)
    try home.checkDirectories()
    guard try !home.exists(.configuration) else {
      throw HomeError(.exists, try home.existing())
    }
    for directory in directories { try Disk.makeDirectories("\(home.path)/\(directory)") }
    try home.checkSecrets()
    return home
  }

  /// Returns the message for a directory that already has a node.
  private func existing() throws(HomeError) -> String {
    let keys = try exists(.accountKey) ? "the account's key" : "this device's keys"
    return
      "\(path) is a node's home already, with \(keys): don't remove it. Start its node: mesh serve. For a second node: mesh "
      + "init --home DIR --database PATH"
  }

  /// Removes a home that has no key yet. A home with a key stays, so that it can be continued.
  public func discard() throws(HomeError) {
    guard try !exists(.deviceKey) else { return }
    try remove(.lock)
    // Directories that contain other files stay.
    for directory in Self.directories { rmdir("\(path)/\(directory)") }
    rmdir(path)
  }

  /// Removes the home's own files, with all keys, and then the directory if it is empty. No process may use the home.
  ///
  /// Files that mesh didn't create stay, such as a database in the same directory.
  ///
  /// - Parameter keepsLock: Whether the lock's file stays, because the caller has the lock and continues with the home.
  package func removeFiles(keepingLock keepsLock: Bool = false) throws(HomeError) {
    // The configuration goes first, so that an interrupted removal leaves no home that looks complete.
    for file in [HomeFile.configuration] + HomeFile.others where file != .lock || !keepsLock { try remove(file) }
    for directory in Self.directories + [HomeFile.staging.name] {
      let place = "\(path)/\(directory)"
      guard try Disk.entry(place)?.kind == .directory else { continue }
      for name in try Disk.names(in: place) where HomeFile.isName(name, in: directory) {
        try Disk.remove("\(place)/\(name)")
      }
      rmdir(place)
    }
    rmdir(path)
  }

  /// Opens a complete home after checking its permissions.
  ///
  /// - Throws: A `HomeError`: `.missing`, `.unfinished`, `.permissions`, `.symlink`, `.kind` or `.system`.
  public static func open(at path: String) throws(HomeError) -> Home {
    let home = Home(path: try absolute(path))
    try home.checkDirectories()
    try home.checkSecrets()
    guard try home.exists(.configuration) else {
      throw HomeError(
        .unfinished,
        "\(home.path) has no config.toml: making this home was not finished, or the file was deleted. Run mesh init again "
          + "with the same --database.")
    }
    return home
  }

  /// Returns another user's home, unchecked, with the owner's name. Returns nil unless this process is root's and the
  /// home belongs to another user.
  ///
  /// Use only its control socket, because files that root wrote there would exclude the owner.
  public static func visited(at path: String) throws(HomeError) -> (home: Home, owner: String)? {
    let home = Home(path: try absolute(path))
    guard geteuid() == 0, let entry = try Disk.entry(home.path), entry.kind == .directory, entry.owner != 0 else {
      return nil
    }
    return (home, Disk.user(entry.owner))
  }

  /// Returns the path of a file in the home, whether or not the file exists.
  public func path(of file: HomeFile) -> String { "\(path)/\(file.name)" }

  /// Returns whether the home has the file. Throws a `HomeError` `.name` if the file's name can't be used.
  public func exists(_ file: HomeFile) throws(HomeError) -> Bool {
    try file.checkName()
    return try Disk.entry(path(of: file)) != nil
  }

  /// Returns the whole file, at most `Disk.readLimit` bytes.
  ///
  /// - Throws: A `HomeError`: `.fileMissing`, `.permissions` if other users can read a key, `.symlink`, `.kind` or
  ///   `.system`.
  public func read(_ file: HomeFile) throws(HomeError) -> [UInt8] {
    try file.checkName()
    return try Disk.read(path(of: file), secret: file.isSecret)
  }

  /// Returns the inode number of the file on its disk, and the time of its creation, or 0 if the file system doesn't
  /// keep it. A copy differs in one of them. A file system may give the number of a deleted file to a copy.
  func identity(of file: HomeFile) throws(HomeError) -> (number: UInt64, birth: Int64) {
    guard let entry = try Disk.entry(path(of: file)) else {
      throw HomeError(.fileMissing, "\(path(of: file)) is missing: restore it from a backup of the home.")
    }
    return (entry.inode, FileStatus.birth(of: path(of: file)) ?? 0)
  }

  /// Replaces the file atomically. When this returns, the bytes survive a power failure.
  public func write(_ file: HomeFile, _ bytes: [UInt8], mode: UInt32 = 0o600) throws(HomeError) {
    try file.checkName()
    try Disk.replace(path(of: file), with: bytes, mode: file.isSecret ? 0o600 : mode)
  }

  /// Overwrites a part of the file in place. When this returns, the bytes survive a power failure. A crash in between
  /// leaves old, new or any other bytes there.
  func overwrite(_ file: HomeFile, _ bytes: [UInt8], at offset: Int) throws(HomeError) {
    try Disk.overwrite(path(of: file), with: bytes, at: offset)
  }

  /// Removes the file durably. A missing file is not an error.
  public func remove(_ file: HomeFile) throws(HomeError) {
    try file.checkName()
    try Disk.remove(path(of: file))
  }

  /// Returns the ids of the zones whose keys are here, sorted.
  public func zones() throws(HomeError) -> [String] {
    try Disk.names(in: "\(path)/zones").filter { !$0.hasPrefix(".") }.sorted()
  }

  static let directories = ["account", "zones"]

  private init(path: String) { self.path = path }
}

extension Home {
  private func checkDirectories() throws(HomeError) {
    guard try Disk.entry(path) != nil else {
      throw HomeError(
        .missing, "there is no node's home at \(path). Make one with mesh init, or name another with --home.")
    }
    try Disk.checkPrivateDirectory(path)
    for directory in Self.directories where try Disk.entry("\(path)/\(directory)") != nil {
      try Disk.checkPrivateDirectory("\(path)/\(directory)")
    }
  }

  private func checkSecrets() throws(HomeError) {
    for file in [HomeFile.deviceKey, .accountKey, .recoveryKey] where try exists(file) {
      try Disk.checkSecret(path(of: file))
    }
    guard try Disk.entry("\(path)/zones") != nil else { return }
    for name in try zones() { try Disk.checkSecret("\(path)/zones/\(name)") }
  }

  /// Checks the length of the socket's path. A Unix socket's address holds 108 bytes with the closing zero, and a
  /// longer path would only fail when serving.
  private func checkSocketPath() throws(HomeError) {
    let socket = path(of: .controlSocket)
    guard socket.utf8.count <= UnixSocket.pathLimit else {
      throw HomeError(
        .name,
        "\(socket) is too long for a socket: at most \(UnixSocket.pathLimit) bytes. Choose a shorter home with --home.")
    }
  }
}
