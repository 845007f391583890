import MeshCore

/// The values that lost against writes whose authors had not seen them (`mesh_conflict`).
struct ConflictTable {
  let sql: Connection

  struct Entry {
    let id: Int64
    let zone: ZoneID
    let ref: RecordRef
    /// The column, or `ZoneRecords.wholeRecord` if the lost write is a delete.
    let column: Int64
    let value: Value
    let loser: LocalStamp
    let winner: LocalStamp?
    let wasLocal: Bool
    let noted: Int64
    let isDismissed: Bool
    /// Whether the value lost to another value of the same life of the record.
    let isByWrite: Bool
  }

  // MARK: Reading

  func count() throws -> Int { Int(try sql.integer("SELECT count(*) FROM mesh_conflict") ?? 0) }

  /// Returns how many conflicts are no longer kept: those whose numbers are missing below the newest one.
  func dropped() throws -> Int { Int(try sql.integer("SELECT max(id) - count(*) FROM mesh_conflict") ?? 0) }

  /// Returns the number of the newest conflict, or 0 if there is none.
  func newest() throws -> Int64 { try sql.integer("SELECT max(id) FROM mesh_conflict") ?? 0 }

  /// Returns the conflicts that match a filter, newest first, without regard to its `after` and `limit`.
  ///
  /// - Parameter table: The number of the filter's table.
  func list(_ filter: ConflictFilter, table: Int64?) throws -> [Entry] {
    var (conditions, arguments): ([String], [Value]) = ([Self.isOpen], [])
    func require(_ condition: String, _ argument: Value) {
      arguments.append(argument)
      conditions.append(condition.replacing("?", with: "?\(arguments.count)"))
    }
    if let table { require("tbl = ?", .integer(table)) }
    if let zone = filter.zone { require("mesh_zone.zone = ?", .blob(zone.bytes)) }
    if let since = filter.since { require("noted >= ?", .integer(since)) }
    if let device = filter.device {
      let authors = "(SELECT id FROM mesh_author WHERE device = ?)"
      require("(loser_author IN \(authors) OR winner_author IN \(authors))", .blob(device.bytes))
    }
    return try sql.all(
      """
      SELECT mesh_zone.zone, tbl, key, col, value, loser_author, loser_time, winner_author, winner_time, was_local, noted,
        mesh_conflict.id, dismissed, by_write
      FROM mesh_conflict JOIN mesh_zone ON mesh_zone.id = mesh_conflict.zone
      WHERE \(conditions.joined(separator: " AND ")) ORDER BY mesh_conflict.id DESC
      """, arguments
    ) { row -> Entry? in
      guard let zone = ZoneID(row.bytes(0)) else { return nil }
      return Entry(
        id: row.integer(11), zone: zone, ref: row.ref(1), column: row.integer(3),
        value: try ExtraValues.decodeValue(row.bytes(4)),
        loser: LocalStamp(author: row.integer(5), time: HybridTime(row.bits(6))),
        winner: row.optional(7).map { LocalStamp(author: $0, time: HybridTime(row.bits(8))) },
        wasLocal: row.integer(9) == 1, noted: row.integer(10), isDismissed: row.integer(12) == 1,
        isByWrite: row.integer(13) == 1)
    }.compactMap(\.self)
  }

  /// Whether a conflict isn't over.
  private static let isOpen = "dismissed < 2"

  func find(_ id: Int64) throws -> (zone: Int64, ref: RecordRef, column: Int64, value: Value)? {
    try sql.first(
      "SELECT zone, tbl, key, col, value FROM mesh_conflict WHERE id = ? AND \(Self.isOpen)", [.integer(id)]
    ) {
      ($0.integer(0), $0.ref(1), $0.integer(3), try ExtraValues.decodeValue($0.bytes(4)))
    }
  }

  /// Returns the last lost values of a record's columns.
  func lastValues(of ref: RecordRef, in zone: Int64) throws -> [Int64: Value] {
    let lost = try sql.all(
      """
      SELECT col, value FROM mesh_conflict WHERE zone = ? AND tbl = ? AND key = ? AND col <> ? AND \(Self.isOpen) ORDER BY id
      """,
      [.integer(zone)] + ref.place + [.integer(ZoneRecords.wholeRecord)]
    ) { ($0.integer(0), try ExtraValues.decodeValue($0.bytes(1))) }
    return Dictionary(lost, uniquingKeysWith: { $1 })
  }

  /// Returns the lost values of a record in all zones.
  func lost(of ref: RecordRef) throws -> [(zone: Int64, id: Int64, column: Int64, value: Value, stamp: LocalStamp)] {
    try sql.all(
      """
      SELECT zone, id, col, value, loser_author, loser_time FROM mesh_conflict WHERE tbl = ? AND key = ? AND \(Self.isOpen)
      """, ref.place
    ) { row in
      (
        row.integer(0), row.integer(1), row.integer(2), try ExtraValues.decodeValue(row.bytes(3)),
        LocalStamp(author: row.integer(4), time: HybridTime(row.bits(5)))
      )
    }
  }

  /// Returns the lost values that only a row had (see `LocalValues`), oldest first.
  func localValues(of zone: Int64) throws -> [(ref: RecordRef, column: Int64, value: Value)] {
    try sql.all(
      "SELECT tbl, key, col, value FROM mesh_conflict WHERE zone = ? AND was_local AND loser_time = 0 ORDER BY id",
      [.integer(zone)]
    ) { ($0.ref(0), $0.integer(2), try ExtraValues.decodeValue($0.bytes(3))) }
  }

  /// Returns the records of which parts of columns lost.
  func recordsWithLostParts() throws -> Set<RecordRef> {
    Set(
      try sql.all(
        """
        SELECT DISTINCT c.tbl, c.key FROM mesh_conflict c JOIN mesh_column n ON n.id = c.col
        WHERE n.name LIKE 'mesh\\_%' ESCAPE '\\' AND \(Self.isOpen)
        """
      ) { $0.ref(0) })
  }

  /// Returns the number of values that a device had before it tracked their tables, and that lost here.
  func lostImports(of device: DeviceID) throws -> Int {
    let count = try sql.integer(
      """
      SELECT count(*) FROM mesh_conflict WHERE was_local AND loser_time BETWEEN 0 AND ?
        AND loser_author IN (SELECT id FROM mesh_author WHERE device = ?)
      """, [.integer(Int64(HybridTime.lastImport.value)), .blob(device.bytes)])
    return Int(count ?? 0)
  }

  /// Returns the devices that wrote a lost value or a kept value.
  func devices() throws -> [DeviceID] {
    try sql.all(
      """
      SELECT DISTINCT device FROM mesh_author
      WHERE id IN (SELECT loser_author FROM mesh_conflict UNION SELECT winner_author FROM mesh_conflict)
      """
    ) { DeviceID($0.bytes(0)) }.compactMap(\.self)
  }

  // MARK: Writing

  /// Adds a lost value. A zone that has too many loses its old ones.
  ///
  /// - Parameters:
  ///   - isByWrite: Whether it lost to another value of the same life of the record.
  ///   - cause: The account whose change set caused the conflict, or nil if none did.
  func insert(
    _ ref: RecordRef, in zone: Int64, column: Int64, _ value: Value, _ loser: LocalStamp, winner: LocalStamp?,
    wasLocal: Bool, isByWrite: Bool, cause: [UInt8]?, now: Int64
  ) throws {
    try sql.run(
      """
      INSERT INTO mesh_conflict (zone, tbl, key, col, value, loser_author, loser_time, winner_author, winner_time,
        was_local, by_write, noted, cause) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(zone), .integer(ref.table), ref.key, .integer(column), .blob(ExtraValues.encode(value)),
        .integer(loser.author), .bits(loser.time.value), .optional(winner?.author),
        winner.map { .bits($0.time.value) } ?? .null, .integer(wasLocal ? 1 : 0), .integer(isByWrite ? 1 : 0),
        .integer(now), .optional(cause),
      ])
    if sql.lastInsertedID % StoreLimits.conflictsBetweenLooks == 0 { try removeOld() }
  }

  /// Removes old conflicts of a zone that has too many. Those that have the most later conflicts of the same account
  /// are removed first, so nobody displaces the conflicts of others.
  private func removeOld() throws {
    try sql.run(
      """
      DELETE FROM mesh_conflict WHERE id IN (
        SELECT id FROM (
          SELECT id, row_number() OVER (PARTITION BY zone ORDER BY later, id DESC) AS place FROM (
            SELECT id, zone, row_number() OVER (PARTITION BY zone, cause ORDER BY id DESC) AS later
            FROM mesh_conflict))
        WHERE place > ?)
      """, [.integer(StoreLimits.conflicts)])
  }

  /// Marks a conflict as dismissed.
  ///
  /// - Returns: Whether there is a conflict with that number.
  func dismiss(_ id: Int64) throws -> Bool {
    try sql.run("UPDATE mesh_conflict SET dismissed = 1 WHERE id = ? AND \(Self.isOpen)", [.integer(id)])
    return sql.changes > 0
  }

  /// Marks the conflicts with these and lower numbers as dismissed.
  ///
  /// - Returns: How many were not dismissed before.
  func dismiss(through id: Int64) throws -> Int {
    try sql.run("UPDATE mesh_conflict SET dismissed = 1 WHERE id <= ? AND NOT dismissed", [.integer(id)])
    return sql.changes
  }

  /// Marks a conflict as over. It keeps its number, because a missing number is one of a conflict that was dropped.
  func end(_ id: Int64) throws { try sql.run("UPDATE mesh_conflict SET dismissed = 2 WHERE id = ?", [.integer(id)]) }

  func removeAll(of zone: Int64) throws { try sql.run("DELETE FROM mesh_conflict WHERE zone = ?", [.integer(zone)]) }
}
