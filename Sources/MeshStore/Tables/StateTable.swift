import Foundation
import GRDB
import MeshCore

/// The state of the file (`mesh_state`, `mesh_guard`).
struct StateTable {
  let sql: Connection

  // MARK: Capture

  /// Turns capture off or on.
  func setApplying(_ isApplying: Bool) throws {
    try sql.run(isApplying ? Self.begin : Self.end)
  }

  private static let begin = "UPDATE mesh_state SET applying = 1 WHERE id = 1"
  private static let end = "UPDATE mesh_state SET applying = 0"

  /// Returns whether a commit has turned capture off.
  func isSilent() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_state WHERE applying <> 0") }

  /// Returns the schema for which the triggers were made, and whether a commit has turned capture off.
  func capture() throws -> (schemaVersion: Int64, isSilent: Bool)? {
    try sql.first("SELECT schema_version, applying FROM mesh_state WHERE id = 1") {
      ($0.integer(0), $0.integer(1) != 0)
    }
  }

  /// Returns the version of the schema for which the triggers were made.
  static func schemaVersion(_ db: Database) throws -> Int64? {
    try Int64.fetchOne(try db.cachedStatement(sql: "SELECT schema_version FROM mesh_state WHERE id = 1"))
  }

  static func note(schemaVersion: Int64?, _ db: Database) throws {
    try db.execute(sql: "UPDATE mesh_state SET schema_version = ? WHERE id = 1", arguments: [schemaVersion])
  }

  // MARK: History

  /// Draws a new id of the file's history, and starts counting its transactions.
  func beginHistory() throws {
    try sql.run("UPDATE mesh_state SET life = randomblob(16), commits = 0 WHERE id = 1")
  }

  /// Returns the file's history, or nil if no id was ever drawn.
  func history() throws -> FileHistory? {
    try sql.first("SELECT life, commits FROM mesh_state WHERE id = 1") {
      FileHistory(life: $0.bytes(0), commits: $0.integer(1))
    }
  }

  /// Returns the id of the file's history, or nil if none was ever drawn.
  static func life(_ db: Database) throws -> Data? {
    try Data.fetchOne(db.cachedStatement(sql: "SELECT life FROM mesh_state WHERE id = 1"))
  }

  func save(_ history: FileHistory) throws {
    try sql.run("UPDATE mesh_state SET commits = ? WHERE id = 1", [.integer(history.commits)])
  }

  // MARK: Guard

  /// Writes a row, so that the write-ahead log has a frame.
  static func writeGuard(_ connection: GuardConnection, resets: Int) throws {
    try connection.run("INSERT OR REPLACE INTO mesh_guard (id, resets) VALUES (1, ?)", [.count(resets)])
  }
}
