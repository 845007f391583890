import GRDB
import MeshCore

/// What one access to the file works with.
struct Session {
  let db: Database
  let sql: Connection
  let catalog: Catalog
  let cryptography: any Cryptography
  let run: PendingRun

  /// Rows in the pending log?
  func hasPending() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_pending LIMIT 1") }

  /// Capture is silent while `body` runs. A commit never sees the mark, and a rollback takes it back.
  func applying<T>(_ body: () throws -> T) throws -> T {
    try endSilence()
    try sql.run("UPDATE mesh_state SET applying = 1 WHERE id = 1")
    let watch = TriggerWatch(sql, catalog.allTables)
    sql.watch = watch
    watch?.begin()
    defer {
      watch?.end()
      sql.watch = nil
    }
    let result = try body()
    if let watch { sql.intruders.formUnion(watch.intruders) }
    try sql.run("UPDATE mesh_state SET applying = 0 WHERE id = 1")
    return result
  }

  /// We never commit the mark: whoever did kept all writers from being captured. What they wrote is to be found by values.
  ///
  /// - Returns: True where the mark was set.
  @discardableResult
  func endSilence() throws -> Bool {
    guard try sql.exists("SELECT 1 FROM mesh_state WHERE applying <> 0") else { return false }
    try sql.run("UPDATE mesh_state SET applying = 0")
    for table in try TrackedTable.all(db) { try request(.compare, table.id) }
    return true
  }
}
