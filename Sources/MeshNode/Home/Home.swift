import Glibc
import MeshControl
import MeshStore

/// A node's home directory: keys, configuration, control socket, lock. The database is elsewhere.
///
/// The directory is 0700 and its key files 0600. A home that others can read, or that somebody else owns, is refused
/// with the command that mends it; so is a symbolic link in place of the directory or of one of its files.
/// Every write replaces the file as a whole and is on the disk when the call returns.
public struct Home: Hashable, Sendable {
  /// Absolute.
  public let path: String

  /// Makes the directory (and those above it), or takes up one whose making was not finished.
  ///
  /// `config.toml` is to be written last: a directory that has one is a complete home, and is refused here.
  /// - Throws: `HomeError`, `.exists` among others.
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

  /// What to say instead of making a node where one is.
  private func existing() throws(HomeError) -> String {
    let keys =
      try exists(.accountKey)
      ? "It holds the account's key and this device's keys: don't remove it. Without the account's key you can invite and "
        + "revoke no device, and only the recovery key replaces it."
      : "It holds this device's keys: don't remove it, or the device is lost to its account."
    return
      "\(path) is a node's home already. \(keys) Start this node with mesh serve, or make a second one in another directory: "
      + "mesh init --home DIR --database PATH"
  }

  /// Takes away a home in which there is no key yet; another stays, to be taken up again.
  public func discard() throws(HomeError) {
    guard try !exists(.deviceKey) else { return }
    try remove(.lock)
    // Those that somebody has put something into stay.
    for directory in Self.directories { rmdir("\(path)/\(directory)") }
    rmdir(path)
  }

  /// Removes the home's own files, with all keys, and then the directory if nothing else is in it. Nobody may use the home.
  ///
  /// Files that mesh didn't make stay, such as a database in the same directory.
  package func removeFiles() throws(HomeError) {
    // First, so that a removal that is cut short leaves no home that looks whole.
    for file in [HomeFile.configuration] + HomeFile.others { try remove(file) }
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

  /// Opens a complete home after checking who can read it.
  /// - Throws: `HomeError`: `.missing`, `.unfinished`, `.permissions`, `.symlink`, `.kind`, `.system`.
  public static func open(at path: String) throws(HomeError) -> Home {
    let home = Home(path: try absolute(path))
    try home.checkDirectories()
    try home.checkSecrets()
    guard try home.exists(.configuration) else {
      throw HomeError(
        .unfinished, "\(home.path) has no config.toml: making this home was not finished. Run mesh init again.")
    }
    return home
  }

  /// Another user's home that root looks at, unchecked, and the owner's name; nil unless this is root and the home is another's.
  ///
  /// Only its control socket is to be used: files that root wrote there would lock the owner out.
  public static func visited(at path: String) throws(HomeError) -> (home: Home, owner: String)? {
    let home = Home(path: try absolute(path))
    guard geteuid() == 0, let entry = try Disk.entry(home.path), entry.kind == .directory, entry.owner != 0 else {
      return nil
    }
    return (home, getpwuid(entry.owner).map { String(cString: $0.pointee.pw_name) } ?? "\(entry.owner)")
  }

  public func path(of file: HomeFile) -> String { "\(path)/\(file.name)" }

  public func exists(_ file: HomeFile) throws(HomeError) -> Bool {
    try file.checkName()
    return try Disk.entry(path(of: file)) != nil
  }

  /// The whole file, at most `Disk.readLimit` bytes.
  /// - Throws: `HomeError`: `.fileMissing`, `.permissions` where others can read a key, `.symlink`, `.kind`, `.system`.
  public func read(_ file: HomeFile) throws(HomeError) -> [UInt8] {
    try file.checkName()
    return try Disk.read(path(of: file), secret: file.isSecret)
  }

  /// The number that the file has on its disk (inode): a copy has another.
  func fileNumber(_ file: HomeFile) throws(HomeError) -> UInt64 {
    guard let entry = try Disk.entry(path(of: file)) else {
      throw HomeError(.fileMissing, "\(path(of: file)) is missing: restore it from a backup of the home.")
    }
    return entry.inode
  }

  /// Replaces the file atomically; when this returns, the bytes survive a loss of power.
  public func write(_ file: HomeFile, _ bytes: [UInt8], mode: UInt32 = 0o600) throws(HomeError) {
    try file.checkName()
    try Disk.replace(path(of: file), with: bytes, mode: file.isSecret ? 0o600 : mode)
  }

  /// Removes the file for good; one that is not there is no error.
  public func remove(_ file: HomeFile) throws(HomeError) {
    try file.checkName()
    try Disk.remove(path(of: file))
  }

  /// Ids of the zones whose keys are here, sorted.
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
        .missing, "There is no node's home at \(path). Make one with mesh init, or name another with --home.")
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

  /// A Unix socket's address holds 108 bytes with the closing zero; a longer path would fail only when serving.
  private func checkSocketPath() throws(HomeError) {
    let socket = path(of: .controlSocket)
    guard socket.utf8.count <= UnixSocket.pathLimit else {
      throw HomeError(
        .name,
        "\(socket) is too long for a socket: at most \(UnixSocket.pathLimit) bytes. Choose a shorter home with --home.")
    }
  }
}
