import Foundation

/// What the kernel says of a file. Here and not in the module that needs it most, because where SwiftNIO is imported too the
/// compiler takes `stat` for its own, or the C library's, by the order in which it meets them.
public struct FileStatus: Sendable {
  public enum Kind: Sendable { case file, directory, symbolicLink, special }

  public let kind: Kind
  /// Permission bits, those of set-id and sticky included.
  public let mode: UInt32
  public let owner: UInt32
  /// Bytes.
  public let size: Int64
  public let inode: UInt64

  /// Of what is at `path`, a symbolic link itself. Nil where nothing can be said; `errno` has the reason.
  public init?(path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Of an open file. Nil where nothing can be said; `errno` has the reason.
  public init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
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
    (size, inode) = (Int64(status.st_size), UInt64(status.st_ino))
  }
}
