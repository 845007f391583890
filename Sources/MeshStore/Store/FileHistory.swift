import MeshCore

/// How far the node has written the file: a life, drawn whenever the file is opened, and the number of transactions in it. A file
/// that was restored under the node's feet has another of the two.
struct FileHistory: Hashable {
  private var life: [UInt8]
  private var commits: Int64

  /// Draws another life.
  static func begin(_ sql: Connection) throws {
    try sql.run("UPDATE mesh_state SET life = randomblob(16), commits = 0 WHERE id = 1")
  }

  /// Nil where no life was begun.
  static func read(_ sql: Connection) throws -> FileHistory? {
    try sql.first("SELECT life, commits FROM mesh_state WHERE id = 1") {
      FileHistory(life: $0.bytes(0), commits: $0.integer(1))
    }
  }

  /// One transaction further.
  mutating func advance(_ sql: Connection) throws {
    commits += 1
    try sql.run("UPDATE mesh_state SET commits = ? WHERE id = 1", [.integer(commits)])
  }
}
