import GRDB
import MeshCore

/// What one access to the file works with.
struct Session {
  let db: Database
  let sql: Connection
  let catalog: Catalog
  let cryptography: any Cryptography
  let run: PendingRun
  let staged: StagedAssets
  let server: BlobServer
  let pieces: PieceIndex

  /// Rows in the pending log?
  func hasPending() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_pending LIMIT 1") }

  /// Of whatever is shown outside of a flush.
  func progress() throws -> Materialiser.Progress { try hasPending() ? .besidePending : .clean }

  func hasRun() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_zone WHERE run_last > 0") }

  /// Rows of the zone?
  ///
  /// - Parameter filter: As `pendingFilter` has it.
  func hasPending(_ filter: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_pending WHERE ?1 = 0 OR zone = ?1 LIMIT 1", [.integer(filter)])
  }

  /// Which rows of the pending log are the zone's: 0, which is all, where there is no other zone. Then nobody looks where they
  /// belong, and it costs nothing.
  func pendingFilter(_ zone: Int64) throws -> Int64 { try catalog.zones().isRouted ? zone : 0 }

  /// The log has no rows but those of the zone.
  func hasOnly(_ zone: Int64) throws -> Bool {
    let filter = try pendingFilter(zone)
    return try filter == 0
      || !sql.exists("SELECT 1 FROM mesh_pending WHERE zone IS NOT ? LIMIT 1", [.integer(filter)])
  }

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
