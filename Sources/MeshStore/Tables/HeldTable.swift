import MeshCore

/// The notes about held records (`mesh_held`), and the records that they wait for (`mesh_wait`).
struct HeldTable {
  let sql: Connection

  struct Note {
    let reason: HeldReason?
    /// SQLite's message, or one from mesh.
    let message: String
    let since: Int64?
  }

  /// A record in one zone, by the zone's number.
  typealias Place = (zone: Int64, ref: RecordRef)

  // MARK: Notes

  func note(of ref: RecordRef, in zone: Int64) throws -> Note? {
    try sql.first(
      "SELECT reason, message, since FROM mesh_held WHERE tbl = ? AND key = ? AND zone = ?", ref.place(in: zone)
    ) {
      Note(reason: HeldReason(rawValue: $0.integer(0)), message: $0.text(1), since: $0.optional(2))
    }
  }

  /// Notes why a record is held. The time of an earlier note with the same reason stays.
  func note(_ ref: RecordRef, in zone: Int64, _ reason: HeldReason, _ message: String) throws {
    try sql.run(Self.insert, ref.place(in: zone) + [.integer(reason.rawValue), .text(message)])
  }

  private static let insert = """
    INSERT INTO mesh_held (tbl, key, zone, reason, message, since) VALUES (?, ?, ?, ?, ?, \(CaptureTriggers.wall))
    ON CONFLICT DO UPDATE SET since = iif(reason = excluded.reason, since, excluded.since),
      reason = excluded.reason, message = excluded.message
    """

  /// Returns the message about a record with a value that is too long to be sent, in any zone.
  func tooLong(_ ref: RecordRef) throws -> String? {
    try sql.first(
      "SELECT message FROM mesh_held WHERE tbl = ? AND key = ? AND reason = ?",
      ref.place + [.integer(HeldReason.valueTooLong.rawValue)]
    ) { $0.text(0) }
  }

  /// Returns the zone that has a note that the record's row is not sent.
  func zoneOfUnsent(_ ref: RecordRef) throws -> Int64? {
    try sql.first(
      "SELECT zone FROM mesh_held WHERE tbl = ? AND key = ? AND reason IN (\(Self.unsent)) LIMIT 1", ref.place
    ) { $0.integer(0) }
  }

  func has(_ reason: HeldReason) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_held WHERE reason = ? LIMIT 1", [.integer(reason.rawValue)])
  }

  /// Returns whether rows of the zone are not sent.
  func hasUnsent(in zone: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_held WHERE reason IN (\(Self.unsent)) AND zone = ? LIMIT 1", [.integer(zone)])
  }

  /// Returns whether there are notes about records that have a row.
  func hasShown() throws -> Bool { try sql.exists(Self.someShown) }

  private static let someShown = "SELECT 1 FROM mesh_held WHERE reason IN (\(shownReasons)) LIMIT 1"

  func countOfUnsent() throws -> Int {
    Int(
      try sql.integer(
        "SELECT count(*) FROM mesh_held WHERE reason IN (\(Self.unsent)) AND tbl NOT IN (\(TableList.untracked))") ?? 0)
  }

  func count(_ reason: HeldReason) throws -> Int {
    Int(
      try sql.integer(
        "SELECT count(*) FROM mesh_held WHERE reason = ? AND tbl NOT IN (\(TableList.untracked))",
        [.integer(reason.rawValue)]) ?? 0)
  }

  /// Returns the number of noted records that have a row, by reason.
  func countsOfShown() throws -> [HeldReason: Int] {
    let counts = try sql.all(
      """
      SELECT reason, count(*) FROM mesh_held
      WHERE reason IN (\(Self.shownReasons)) AND tbl NOT IN (\(TableList.untracked)) GROUP BY reason
      """
    ) { row in HeldReason(rawValue: row.integer(0)).map { ($0, Int(row.integer(1))) } }
    return Dictionary(counts.compactMap(\.self), uniquingKeysWith: +)
  }

  /// Returns at most `limit` held records. Those that have a row come last.
  func list(limit: Int) throws -> [Place] {
    try sql.all(
      """
      SELECT r.zone, r.tbl, r.key FROM mesh_record r
      WHERE r.extra IS NOT NULL AND r.held IS NOT NULL AND r.tbl NOT IN (\(TableList.untracked))
      UNION ALL SELECT zone, tbl, key FROM mesh_held WHERE reason IN (\(Self.shownReasons)) LIMIT ?
      """, [.count(limit)]
    ) { ($0.integer(0), $0.ref(1)) }
  }

  func list(_ reason: HeldReason, limit: Int) throws -> [Place] {
    try sql.all(
      "SELECT zone, tbl, key FROM mesh_held WHERE reason = ? LIMIT ?", [.integer(reason.rawValue), .count(limit)]
    ) { ($0.integer(0), $0.ref(1)) }
  }

  /// The reasons of held records that have a row, as a list in SQL.
  private static let shownReasons = list(\.isShown)
  /// The reasons of rows that are not sent, as a list in SQL.
  static let unsent = list(\.isUnsent)

  private static func list(_ isIncluded: (HeldReason) -> Bool) -> String {
    HeldReason.allCases.filter(isIncluded).map { "\($0.rawValue)" }.joined(separator: ", ")
  }

  // MARK: Waiting

  /// Returns whether any record waits for another one.
  func hasWaiters() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_wait LIMIT 1") }

  /// Notes that a record waits for another one.
  func wait(_ ref: RecordRef, in zone: Int64, for parent: RecordRef) throws {
    try sql.run(
      "INSERT OR IGNORE INTO mesh_wait (parent_tbl, parent_key, tbl, key, zone) VALUES (?, ?, ?, ?, ?)",
      parent.place + ref.place(in: zone))
  }

  /// Returns the records that a record waits for.
  func awaited(by ref: RecordRef, in zone: Int64) throws -> [RecordRef] {
    try sql.all(
      "SELECT parent_tbl, parent_key FROM mesh_wait WHERE tbl = ? AND key = ? AND zone = ?", ref.place(in: zone)
    ) { $0.ref(0) }
  }

  /// Returns the records that wait for a record.
  ///
  /// - Parameter onlyRivals: True for only those that their table refuses because of it.
  func waiters(for ref: RecordRef, onlyRivals: Bool) throws -> [Place] {
    try sql.all(onlyRivals ? Self.rivals : Self.waiters, ref.place) { ($0.integer(2), $0.ref(0)) }
  }

  private static let waiters = "SELECT tbl, key, zone FROM mesh_wait WHERE parent_tbl = ? AND parent_key = ?"
  private static let rivals = """
    SELECT w.tbl, w.key, w.zone FROM mesh_wait w JOIN mesh_record r ON r.tbl = w.tbl AND r.key = w.key AND r.zone = w.zone
    WHERE w.parent_tbl = ? AND w.parent_key = ? AND r.held = \(HeldReason.constraint.rawValue)
    ORDER BY w.tbl, w.key, w.zone
    """

  /// Returns the missing records to which the row of a record refers all the same.
  func danglingParents(of ref: RecordRef, in zone: Int64) throws -> [RecordRef] {
    try sql.all(Self.dangling, ref.place(in: zone)) { $0.ref(0) }
  }

  private static let dangling = """
    SELECT w.parent_tbl, w.parent_key FROM mesh_held h
    JOIN mesh_wait w ON w.tbl = h.tbl AND w.key = h.key AND w.zone = h.zone
    WHERE h.tbl = ? AND h.key = ? AND h.zone = ? AND h.reason = \(HeldReason.shownHereOnly.rawValue)
    """

  // MARK: Removing

  /// Removes the note about a record, and the list of the records that it waits for.
  func remove(_ ref: RecordRef, in zone: Int64) throws {
    let place = ref.place(in: zone)
    try sql.run("DELETE FROM mesh_wait WHERE tbl = ? AND key = ? AND zone = ?", place)
    try sql.run("DELETE FROM mesh_held WHERE tbl = ? AND key = ? AND zone = ?", place)
  }

  func removeAll(of zone: Int64) throws {
    try sql.run("DELETE FROM mesh_wait WHERE zone = ?", [.integer(zone)])
    try sql.run("DELETE FROM mesh_held WHERE zone = ?", [.integer(zone)])
  }
}
