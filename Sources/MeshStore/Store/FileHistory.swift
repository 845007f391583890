import MeshCore

/// The node's last transaction in the file. It consists of a random id, drawn whenever the file is opened, and the
/// number of transactions since. If the file is restored while the node runs, one of them differs.
struct FileHistory: Hashable {
  private var life: [UInt8]
  private var commits: Int64

  /// Draws a new id and starts counting.
  static func begin(_ sql: Connection) throws {
    try sql.run("UPDATE mesh_state SET life = randomblob(16), commits = 0 WHERE id = 1")
  }

  /// Reads the history, or returns nil if no id was ever drawn.
  static func read(_ sql: Connection) throws -> FileHistory? {
    try sql.first("SELECT life, commits FROM mesh_state WHERE id = 1") {
      FileHistory(life: $0.bytes(0), commits: $0.integer(1))
    }
  }

  /// Counts one more transaction.
  mutating func advance(_ sql: Connection) throws {
    commits += 1
    try sql.run("UPDATE mesh_state SET commits = ? WHERE id = 1", [.integer(commits)])
  }
}
