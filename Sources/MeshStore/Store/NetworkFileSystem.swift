import CSQLite
import Foundation

/// File systems to which other machines also write. WAL needs memory that all users of the file share, and locks that
/// work. A network provides neither.
enum NetworkFileSystem {
  /// The types of mounts, as the kernel names them.
  private static let types: Set<String> = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "vboxsf", "afs", "ceph", "coda", "ncpfs", "gfs2",
    "ocfs2", "lustre", "beegfs", "orangefs", "fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse",
    "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.davfs", "fuse.curlftpfs", "fuse.vmhgfs-fuse",
    "fuse.smbnetfs", "fuse.juicefs", "fuse.blobfuse2",
  ]

  /// Throws if `directory`, the place of the database at `path`, is on a network file system. If the mount isn't found,
  /// the directory is considered local.
  static func refuse(directory: String, path: String) throws(StoreError) {
    var status = stat()
    guard stat(directory, &status) == 0,
      let table = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8),
      let type = refusedType(device: UInt64(status.st_dev), mountTable: table)
    else { return }
    throw StoreError(
      .networkFileSystem,
      "\(path) is on a network file system (\(type)), on which SQLite's locks do not hold; move it to a local disk")
  }

  /// Returns the type of the mount of `device`, if that type is refused.
  ///
  /// - Parameter mountTable: The text of /proc/self/mountinfo.
  static func refusedType(device: UInt64, mountTable: String) -> String? {
    let number = "\(major(device)):\(minor(device))"
    for line in mountTable.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 2, fields[2] == number, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
      else { continue }
      let type = String(fields[dash + 1])
      return types.contains(type) ? type : nil
    }
    return nil
  }

  // These functions split a device number as glibc's macros do. Swift can't import those macros.
  private static func major(_ device: UInt64) -> UInt64 { (device >> 8) & 0xFFF | (device >> 32) & 0xFFFF_F000 }
  private static func minor(_ device: UInt64) -> UInt64 { device & 0xFF | (device >> 12) & 0xFFFF_FF00 }
}
