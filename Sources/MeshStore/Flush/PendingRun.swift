import MeshCore

/// A stretch of the pending log that is too long for one part, sorted by record. Tables come in the order of their
/// first notes, so that parents mostly come before children. Within a table, rows are sorted by key.
///
/// Keys are random in most apps. In the order of writing, each part would touch nearly every page of `mesh_record` and
/// of the key's index, here and on every node that merges it. In the order of keys, it touches a few pages.
///
/// `mesh_zone` stores the end of the run and how far it is flushed. The order is computed from the log, whose rows stay
/// until the run is done, so a crash costs only the sorting. The order doesn't depend on the schema, which may change
/// meanwhile. Two spellings of one key may end up apart, which means the same as edits that are noted apart in the log.
final class PendingRun {
  private let sql: Connection
  /// The last row of the run that `temp.mesh_run` contains.
  private var sortedThrough: Int64?
  /// The `mesh_zone.id` of the zone whose run it is.
  private var sortedFor: Int64 = 0

  init(_ sql: Connection) { self.sql = sql }

  /// Begins a run at the oldest row of the log. Call it in a write transaction. The caller saves the zone.
  ///
  /// - Parameter filter: The `mesh_zone.id` of the zone whose rows to take, or 0 for all rows.
  func begin(_ zone: inout ZoneRow, filter: Int64) throws {
    try end(&zone)
    guard
      let first = try sql.integer("SELECT min(id) FROM mesh_pending WHERE ?1 = 0 OR zone = ?1", [.integer(filter)]),
      let last = try sql.integer("SELECT max(id) FROM mesh_pending")
    else { return }
    sql.probe?(.runBegun)
    zone.runLast = min(last, first + StoreLimits.runRows - 1)
  }

  func end(_ zone: inout ZoneRow) throws {
    if sortedThrough != nil { try sql.run("DELETE FROM temp.mesh_run") }
    sortedThrough = nil
    zone.runLast = 0
    zone.runRows = 0
  }

  /// Ends all runs, because rows were taken from the log out of turn. The rest is sorted again. Rows that were handled
  /// already lead to the same changes again.
  func endAll() throws {
    sortedThrough = nil
    if let probe = sql.probe, try sql.exists("SELECT 1 FROM mesh_zone WHERE run_last > 0") { probe(.runEndedByRouting) }
    try sql.run("UPDATE mesh_zone SET run_last = 0, run_rows = 0")
  }

  /// Sorts the run. Call it before the run is read, and outside of the write lock.
  func sort(_ zone: ZoneRow, filter: Int64) throws {
    guard zone.runLast > 0, sortedThrough != zone.runLast || sortedFor != zone.id else { return }
    sortedThrough = nil
    try sql.run(Self.table)
    try sql.run("DELETE FROM temp.mesh_run")
    try sql.run(try hasOneTable(zone) ? Self.fillOfOne : Self.fill, [.integer(zone.runLast), .integer(filter)])
    (sortedThrough, sortedFor) = (zone.runLast, zone.id)
  }

  private static let table = """
    CREATE TEMP TABLE IF NOT EXISTS mesh_run (
      place INTEGER PRIMARY KEY,                  -- from 1
      id, tbl, layout, key, op, word, mask, wall, was  -- as in mesh_pending
    )
    """

  private func hasOneTable(_ zone: ZoneRow) throws -> Bool {
    try !sql.exists(
      "SELECT 1 FROM main.mesh_pending WHERE id <= ? AND tbl <> (SELECT tbl FROM main.mesh_pending ORDER BY id LIMIT 1)",
      [.integer(zone.runLast)])
  }

  /// Sorts in half the time, because SQLite compares leading texts without unpacking the rest.
  private static let fillOfOne = "\(into) WHERE id <= ?1 AND (?2 = 0 OR zone = ?2) ORDER BY key, id"

  private static let fill = """
    \(into) CROSS JOIN (SELECT tbl AS known, min(id) AS first FROM main.mesh_pending WHERE id <= ?1 GROUP BY tbl) ON known = tbl
    WHERE id <= ?1 AND (?2 = 0 OR zone = ?2) ORDER BY first, key, id
    """

  private static let into = """
    INSERT INTO temp.mesh_run (id, tbl, layout, key, op, word, mask, wall, was)
    SELECT id, tbl, layout, key, op, word, mask, wall, was FROM main.mesh_pending
    """

  /// Selects the rows after those that were handled.
  static let rest =
    "SELECT id, tbl, layout, key, op, word, mask, wall, was FROM temp.mesh_run WHERE place > ? ORDER BY place"
}
