import Foundation

/// The file that a path leads to. Another file that is moved to the path is a different one, whatever it contains.
public struct FileIdentity: Hashable, Sendable {
  public let device: UInt64
  public let inode: UInt64

  /// Follows symbolic links. Returns nil if there is no file.
  public init?(at path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
  }
}
