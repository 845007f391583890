import Glibc
import MeshStore

/// The operations that a home needs from the file system, with the rules that keep it private and durable.
enum Disk {
  /// The maximum size of a file in bytes. The largest file of a home is the account's state, with 512 certificates of
  /// about 500 bytes. The rest is a reserve.
  static let readLimit = 16 << 20

  /// The mode bits that admit users other than the owner.
  private static let others: UInt32 = 0o077

  /// Returns the entry at `path` without following links, or nil if there is none.
  static func entry(_ path: String) throws(HomeError) -> FileStatus? {
    if let status = FileStatus(path: path) { return status }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw failure("look at", path)
  }

  /// Creates `path` and the missing directories above it, each with mode 0700.
  static func makeDirectories(_ path: String) throws(HomeError) {
    if try entry(path) != nil { return }
    if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      try makeDirectories(String(path[..<slash]))
    }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("make the directory", path) }
  }

  static func read(_ path: String, secret: Bool) throws(HomeError) -> [UInt8] {
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT {
        throw HomeError(.fileMissing, "\(path) is missing: restore it from a backup of the home.")
      }
      if errno == ELOOP { throw symlink(path) }
      throw failure("open", path)
    }
    defer { close(descriptor) }
    guard let status = FileStatus(descriptor: descriptor) else { throw failure("look at", path) }
    try check(status, path, is: .file, secret: secret)
    guard status.size <= readLimit else {
      throw HomeError(.kind, "\(path) has \(status.size) bytes; no file of a home is larger than \(readLimit).")
    }
    return try bytes(descriptor, path)
  }

  /// Writes a new file beside `path`, then renames it into place. A reader sees the old or the new bytes, even after a
  /// crash. After the return, it sees the new ones.
  ///
  /// - Parameter synchronize: `fsync`, called for the new file before it gets its name, and for the directory
  ///   afterwards.
  static func replace(
    _ path: String, with bytes: [UInt8], mode: UInt32, synchronize: (Int32) -> Int32 = fsync
  ) throws(HomeError) {
    if let old = try entry(path), old.kind == .symbolicLink { throw symlink(path) }
    let new = path + newSuffix
    // An interrupted write left this file, and no process reads it.
    guard unlink(new) == 0 || errno == ENOENT else { throw failure("remove", new) }
    let descriptor = Glibc.open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
    guard descriptor >= 0 else { throw failure("create", new) }
    do throws(HomeError) {
      defer { close(descriptor) }
      try write(bytes, to: descriptor, new)
      guard fchmod(descriptor, mode_t(mode)) == 0, synchronize(descriptor) == 0 else { throw failure("store", new) }
    } catch {
      unlink(new)
      throw error
    }
    guard rename(new, path) == 0 else { throw failure("replace", path) }
    try synchronizeDirectory(of: path, synchronize)
  }

  /// Overwrites bytes within a file in place, and syncs them.
  static func overwrite(
    _ path: String, with bytes: [UInt8], at offset: Int, synchronize: (Int32) -> Int32 = fdatasync
  ) throws(HomeError) {
    let descriptor = Glibc.open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw errno == ELOOP ? symlink(path) : failure("open", path) }
    defer { close(descriptor) }
    guard lseek(descriptor, off_t(offset), SEEK_SET) == offset else { throw failure("write", path) }
    try write(bytes, to: descriptor, path)
    guard synchronize(descriptor) == 0 else { throw failure("store", path) }
  }

  static func remove(_ path: String) throws(HomeError) {
    guard unlink(path) == 0 else {
      if errno == ENOENT { return }
      throw failure("remove", path)
    }
    try synchronizeDirectory(of: path)
  }

  /// Returns the names in a directory, except those that a write in progress uses.
  static func names(in path: String) throws(HomeError) -> [String] {
    guard let directory = opendir(path) else { throw failure("list", path) }
    defer { closedir(directory) }
    var names: [String] = []
    while let next = readdir(directory) {
      let name = withUnsafePointer(to: &next.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) { String(cString: $0) }
      }
      if name != ".", name != "..", !name.hasSuffix(newSuffix) { names.append(name) }
    }
    return names
  }

  private static let newSuffix = ".new"
}

// MARK: Rules

extension Disk {
  static func checkPrivateDirectory(_ path: String) throws(HomeError) {
    guard let status = try entry(path) else { throw HomeError(.missing, "\(path) is not there.") }
    try check(status, path, is: .directory, secret: true)
  }

  static func checkSecret(_ path: String) throws(HomeError) {
    guard let status = try entry(path) else { return }
    try check(status, path, is: .file, secret: true)
  }

  private static func check(_ status: FileStatus, _ path: String, is kind: FileStatus.Kind, secret: Bool)
    throws(HomeError)
  {
    let directory = kind == .directory
    if status.kind == .symbolicLink { throw symlink(path) }
    guard status.kind == kind else {
      throw HomeError(.kind, "\(path) is not a \(directory ? "directory" : "file"). Move it away.")
    }
    guard secret else { return }
    guard status.owner == geteuid() else {
      throw HomeError(
        .permissions,
        "\(path) belongs to the user \(user(status.owner)), and this is \(user(geteuid())). "
          + "Run the command as that user: sudo -u \(user(status.owner)) mesh …")
    }
    guard status.mode & others == 0 else {
      throw HomeError(
        .permissions,
        "\(path) can be opened by other users (mode \(octal(status.mode))), and it guards keys. "
          + "Fix it: chmod \(directory ? "700" : "600") \(path)")
    }
  }

  /// Returns a user's name as `sudo -u` takes it. A user without a name is named by the id.
  static func user(_ id: UInt32) -> String {
    getpwuid(id).map { String(cString: $0.pointee.pw_name) } ?? "'#\(id)'"
  }

  private static func symlink(_ path: String) -> HomeError {
    HomeError(
      .symlink, "\(path) is a symbolic link; a home has none. Name the place it leads to, or put the file itself there."
    )
  }

  private static func octal(_ mode: UInt32) -> String {
    "0" + String(mode, radix: 8)
  }

  /// Returns an error with the operating system's reason. Call it before `errno` changes.
  static func failure(_ verb: String, _ thing: String) -> HomeError {
    let number = errno
    if number == ENOSPC || number == EDQUOT {
      let file = thing.hasSuffix(newSuffix) ? String(thing.dropLast(newSuffix.count)) : thing
      return HomeError(.system, "no space left for \(file); make room, then try again")
    }
    let reason = String(cString: strerror(number))
    if number == ENOENT, let directory = thing.lastIndex(of: "/").map({ String(thing[..<$0]) }), !directory.isEmpty,
      FileStatus(path: directory) == nil
    {
      return HomeError(
        .system,
        "cannot \(verb) \(thing), because the directory \(directory) has disappeared. Put it back, and try again.")
    }
    let advice = number == EACCES || number == EPERM ? denied(thing) : ""
    return HomeError(.system, "cannot \(verb) \(thing): \(reason).\(advice)")
  }

  /// Returns whose file or directory is in the way, and what to do. This user can look at the last directory of the
  /// path that it may enter, and at what is in it.
  private static func denied(_ path: String) -> String {
    var place = path
    while FileStatus(path: place) == nil {
      guard let slash = place.lastIndex(of: "/"), slash > place.startIndex else { return "" }
      place = String(place[..<slash])
    }
    guard let owner = FileStatus(path: place)?.owner else { return "" }
    return owner == geteuid()
      ? " Change the permissions of \(place)."
      : " \(place) belongs to the user \(user(owner)), and this is \(user(geteuid())). Run the command as that user (sudo -u "
        + "\(user(owner)) mesh …), or name files of your own with --home and --database."
  }
}

// MARK: Bytes

extension Disk {
  private static func bytes(_ descriptor: Int32, _ path: String) throws(HomeError) -> [UInt8] {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count == 0 { return result }
      guard count > 0 else {
        if errno == EINTR { continue }
        throw failure("read", path)
      }
      result.append(contentsOf: buffer[..<count])
    }
  }

  static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(HomeError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count >= 0 else {
        if errno == EINTR { continue }
        throw failure("write", path)
      }
      rest = rest.dropFirst(count)
    }
  }

  /// Synchronizes a directory. A rename or removal is durable only after that.
  private static func synchronizeDirectory(
    of path: String, _ synchronize: (Int32) -> Int32 = fsync
  ) throws(HomeError) {
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open", directory) }
    defer { close(descriptor) }
    guard synchronize(descriptor) == 0 else { throw failure("store", directory) }
  }
}
