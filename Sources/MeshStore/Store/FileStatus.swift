import CSQLite
import Foundation

/// The status of a file, as the kernel reports it. It is in this module, and not in the one that uses it most, because
/// of SwiftNIO. If a file imports SwiftNIO too, the compiler picks one of two declarations of `stat`, depending on
/// their order.
package struct FileStatus: Sendable {
  package enum Kind: Sendable { case file, directory, symbolicLink, special }

  package let kind: Kind
  /// The permission bits, including set-id and sticky.
  package let mode: UInt32
  package let owner: UInt32
  /// The size in bytes.
  package let size: Int64
  package let inode: UInt64
  /// The number of names that the file has.
  package let links: Int

  /// Reads the status of the file at `path`. It doesn't follow a symbolic link. Returns nil on failure, with the reason
  /// in `errno`.
  package init?(path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Reads the status of an open file. Returns nil on failure, with the reason in `errno`.
  package init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Returns the time at which the file at `path` was created, in nanoseconds since 1970. A copy has another time,
  /// whatever tool makes it. Returns nil if the file system doesn't keep it.
  package static func birth(of path: String) -> Int64? {
    let time = mesh_birth_time(path)
    return time == 0 ? nil : time
  }

  private init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      default: .special
      }
    (mode, owner) = (status.st_mode & 0o7777, status.st_uid)
    (size, inode, links) = (Int64(status.st_size), UInt64(status.st_ino), Int(clamping: status.st_nlink))
  }
}
