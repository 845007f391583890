import MeshCore

/// The node's last transaction in the file. It consists of a random id, drawn whenever the file is opened, and the
/// number of transactions since. If the file is restored while the node runs, one of them differs.
struct FileHistory: Hashable {
  let life: [UInt8]
  private(set) var commits: Int64

  /// Counts one more transaction.
  mutating func advance(_ sql: Connection) throws {
    commits += 1
    try StateTable(sql: sql).save(self)
  }
}
