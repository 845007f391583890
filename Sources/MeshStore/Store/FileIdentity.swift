import CSQLite
import Foundation

/// The file that a path leads to. Another file that is moved to the path is a different one, whatever it contains.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) { (self.device, self.inode) = (device, inode) }

  /// Follows symbolic links. Returns nil if there is no file.
  package init?(at path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
  }
}

extension FileIdentity {
  /// The path that the file has now, if this process has it open. Nil if it was deleted, or if the kernel doesn't tell.
  var openPath: String? {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return descriptors.lazy.map { "/proc/self/fd/\($0)" }.filter { FileIdentity(at: $0) == self }
      .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: $0) }
      .first { FileIdentity(at: $0) == self }
  }
}
