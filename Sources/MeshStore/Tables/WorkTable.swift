import MeshCore

/// The work that goes on slice by slice: importing and comparing rows (`mesh_import`), reading values back from the log
/// (`mesh_recall`), checking held records (`mesh_show`), and writing reverted values again (`mesh_rewrite`).
struct WorkTable {
  let sql: Connection

  // MARK: Importing and comparing

  struct Import {
    let table: Int64
    let task: TableSlice.Purpose?
    let layout: Int64
    /// The key of the last row, or NULL before the first.
    let after: Value
    let isExchanged: Bool
  }

  func hasImports() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_import LIMIT 1") }

  /// Returns the work on some table.
  ///
  /// - Parameter least: The lowest task to do.
  func nextImport(_ least: TableSlice.Purpose) throws -> Import? {
    try sql.first(
      "SELECT tbl, task, layout, after, exchanged FROM mesh_import WHERE task >= ? LIMIT 1", [.integer(least.rawValue)]
    ) {
      Import(
        table: $0.integer(0), task: TableSlice.Purpose(rawValue: $0.integer(1)), layout: $0.integer(2),
        after: $0.value(3), isExchanged: $0.integer(4) == 1)
    }
  }

  func imports() throws -> [(table: Int64, task: Int64, done: Int)] {
    try sql.all("SELECT tbl, task, done FROM mesh_import ORDER BY tbl") {
      ($0.integer(0), $0.integer(1), Int($0.integer(2)))
    }
  }

  /// Requests work on a table. A comparison that is already running began with the first of several changes. For an
  /// import, the layout means something else.
  func request(_ task: TableSlice.Purpose, _ table: Int64, layout: Int64 = 0, isExchanged: Bool = false) throws {
    try sql.run(
      """
      INSERT INTO mesh_import (tbl, task, layout, after, exchanged) VALUES (?1, ?2, ?3, NULL, ?4)
      ON CONFLICT (tbl) DO UPDATE SET task = max(task, ?2), exchanged = max(exchanged, ?4), after = NULL, done = 0,
        layout = CASE WHEN (task = ?5) <> (?2 = ?5) THEN iif(task = ?5, layout, ?3) WHEN layout = 0 THEN ?3 ELSE layout END
      """,
      [
        .integer(table), .integer(task.rawValue), .integer(layout), .integer(isExchanged ? 1 : 0),
        .integer(TableSlice.Purpose.takeIn.rawValue),
      ])
  }

  func isImporting(_ table: Int64, after key: Value) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_import WHERE tbl = ? AND after IS ?", [.integer(table), key])
  }

  func advanceImport(_ table: Int64, to key: Value, by rows: Int) throws {
    try sql.run(
      "UPDATE mesh_import SET after = ?, done = done + ? WHERE tbl = ?", [key, .count(rows), .integer(table)])
  }

  func endImport(_ table: Int64) throws { try sql.run("DELETE FROM mesh_import WHERE tbl = ?", [.integer(table)]) }

  // MARK: Recalling

  struct Recalling {
    let zone: ZoneID
    let table: Int64
    /// The author and number of the last change set that was read.
    let author: Int64
    let number: UInt64
    /// The list of columns whose values were there all the while, or 0 if the table was not.
    let kept: Int64
  }

  func hasRecalls() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_recall LIMIT 1") }

  /// Returns the table that is next, and whether perhaps nothing of it was lost.
  func nextRecalledTable() throws -> (table: Int64, isUnsure: Bool)? {
    try sql.first("SELECT tbl, unsure FROM mesh_recall ORDER BY tbl, zone LIMIT 1") {
      ($0.integer(0), $0.integer(1) == 1)
    }
  }

  func nextRecall() throws -> Recalling? {
    try sql.first(
      """
      SELECT mesh_zone.zone, mesh_recall.tbl, mesh_recall.author, mesh_recall.number, mesh_recall.kept FROM mesh_recall
      JOIN mesh_zone ON mesh_zone.id = mesh_recall.zone ORDER BY mesh_recall.tbl, mesh_recall.zone LIMIT 1
      """
    ) { row in
      ZoneID(row.bytes(0)).map {
        Recalling(zone: $0, table: row.integer(1), author: row.integer(2), number: row.bits(3), kept: row.integer(4))
      }
    } ?? nil
  }

  func recall(of table: Int64) throws -> (kept: Int64, isUnsure: Bool)? {
    try sql.first("SELECT kept, unsure FROM mesh_recall WHERE tbl = ? LIMIT 1", [.integer(table)]) {
      ($0.integer(0), $0.integer(1) == 1)
    }
  }

  /// Requests reading a table's values back, in all zones.
  func requestRecall(_ table: Int64, kept: Int64, isUnsure: Bool) throws {
    try sql.run(
      "INSERT OR REPLACE INTO mesh_recall (zone, tbl, author, number, kept, unsure) SELECT id, ?, 0, 0, ?, ? FROM mesh_zone",
      [.integer(table), .integer(kept), .integer(isUnsure ? 1 : 0)])
  }

  func advanceRecall(_ table: Int64, in zone: Int64, to author: Int64, _ number: UInt64) throws {
    try sql.run(
      "UPDATE mesh_recall SET author = ?3, number = ?4 WHERE zone = ?1 AND tbl = ?2",
      [.integer(zone), .integer(table), .integer(author), .bits(number)])
  }

  func endRecall(_ table: Int64, in zone: Int64) throws {
    try sql.run("DELETE FROM mesh_recall WHERE zone = ? AND tbl = ?", [.integer(zone), .integer(table)])
  }

  /// Returns the number of change sets that are read for each table and zone, and of all.
  func recalls() throws -> [(table: Int64, done: Int, total: Int)] {
    try sql.all(
      """
      SELECT tbl, (SELECT count(*) FROM mesh_log WHERE zone = r.zone AND (author, number) <= (r.author, r.number)),
        (SELECT count(*) FROM mesh_log WHERE zone = r.zone)
      FROM mesh_recall r ORDER BY tbl
      """
    ) { ($0.integer(0), Int($0.integer(1)), Int($0.integer(2))) }
  }

  // MARK: Showing

  func isShowing() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_show LIMIT 1") }

  /// Requests checking all held records, in all zones.
  func requestShow() throws {
    try sql.run("INSERT OR REPLACE INTO mesh_show (zone, tbl, key) SELECT id, 0, NULL FROM mesh_zone")
  }

  /// Returns the last record that was checked. Returns nil if none is to be checked.
  func lastShown(_ zone: ZoneID) throws -> RecordRef? {
    try sql.first(
      "SELECT tbl, key FROM mesh_show WHERE zone = (SELECT id FROM mesh_zone WHERE zone = ?)", [.blob(zone.bytes)]
    ) { $0.ref(0) }
  }

  func advanceShow(_ zone: Int64, to ref: RecordRef, by records: Int) throws {
    try sql.run(
      "UPDATE mesh_show SET tbl = ?, key = ?, done = done + ? WHERE zone = ?",
      ref.place + [.count(records), .integer(zone)])
  }

  func endShow(_ zone: Int64) throws { try sql.run("DELETE FROM mesh_show WHERE zone = ?", [.integer(zone)]) }

  /// Returns the number of records that are checked, and of those that remain, over all zones.
  func shows() throws -> (done: Int, left: Int) {
    try sql.all(
      """
      SELECT done, (SELECT count(*) FROM mesh_record WHERE zone = s.zone AND extra IS NOT NULL
        AND (mesh_record.tbl > s.tbl OR (mesh_record.tbl = s.tbl AND mesh_record.key > s.key)))
      FROM mesh_show s
      """
    ) { (Int($0.integer(0)), Int($0.integer(1))) }.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
  }

  // MARK: Writing again

  func hasRewrites() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_rewrite LIMIT 1") }

  func rewriteCount() throws -> Int { Int(try sql.integer("SELECT count(*) FROM mesh_rewrite") ?? 0) }

  func save(_ rewrite: Rewrite, zone: Int64) throws {
    try sql.run(
      "INSERT OR REPLACE INTO mesh_rewrite (zone, tbl, key, generation, life, times, extra) VALUES (?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(zone), .integer(rewrite.ref.table), rewrite.ref.key, .bits(rewrite.generation),
        rewrite.life.map { .bits($0.value) } ?? .null, .blob(rewrite.times),
        .optional(ExtraValues.encode(rewrite.cells.mapValues(\.value))),
      ])
  }

  func remove(_ rewrite: Rewrite, zone: Int64) throws {
    try sql.run(
      "DELETE FROM mesh_rewrite WHERE zone = ? AND tbl = ? AND key = ?", [.integer(zone)] + rewrite.ref.place)
  }

  /// Returns the next records to write again, ordered by table and key.
  func nextRewrites(_ zone: Int64, limit: Int) throws -> [Rewrite] {
    try sql.all(
      "SELECT tbl, key, generation, life, times, extra FROM mesh_rewrite WHERE zone = ? ORDER BY tbl, key LIMIT ?",
      [.integer(zone), .count(limit)]
    ) { row in
      try Rewrite(
        row.ref(0), generation: row.bits(2), life: row.isNull(3) ? nil : HybridTime(row.bits(3)), times: row.bytes(4),
        values: row.optionalBytes(5).map { try ExtraValues.decode($0) } ?? [:])
    }
  }

  // MARK: Removing

  func removeAll(of zone: Int64) throws {
    try endShow(zone)
    try sql.run("DELETE FROM mesh_recall WHERE zone = ?", [.integer(zone)])
    try sql.run("DELETE FROM mesh_rewrite WHERE zone = ?", [.integer(zone)])
  }
}
