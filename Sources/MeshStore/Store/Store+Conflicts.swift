public import MeshCore

/// The conflicts to list. Without any condition, all conflicts.
public struct ConflictFilter: Hashable, Sendable {
  public var table: String?
  public var zone: ZoneID?
  /// The device that wrote the lost value or the kept value.
  public var device: DeviceID?
  /// The earliest time at which the conflict was found, in milliseconds since 1970.
  public var since: Int64?
  /// Only conflicts with a lower number. Pass the last number of a page to get the next one.
  public var after: Int64?
  public var limit: Int

  public init(
    table: String? = nil, zone: ZoneID? = nil, device: DeviceID? = nil, since: Int64? = nil, after: Int64? = nil,
    limit: Int
  ) {
    (self.table, self.zone, self.device, self.since, self.after) = (table, zone, device, since, after)
    self.limit = limit
  }
}

/// One page of a list of conflicts.
public struct ConflictPage: Hashable, Sendable {
  /// The conflicts, newest first.
  public var conflicts: [Conflict]
  /// The number of conflicts that match the filter, without regard to its `after` and `limit`.
  public var total: Int
  /// True if there are more pages.
  public var hasMore: Bool
}

extension Store {
  /// Returns at most `limit` conflicts, newest first.
  public func conflicts(limit: Int) throws -> [Conflict] { try conflicts(ConflictFilter(limit: limit)).conflicts }

  /// Returns the conflicts that match a filter.
  ///
  /// - Throws: `StoreError` (`unknownTable`) if no table with that name was ever synchronized.
  public func conflicts(_ filter: ConflictFilter) throws -> ConflictPage {
    try read { session in
      var page = ConflictPage(conflicts: [], total: 0, hasMore: false)
      for entry in try session.rows(filter) {
        guard let conflict = try session.current(entry) else { continue }
        page.total += 1
        if let after = filter.after, conflict.id >= after { continue }
        if page.conflicts.count < filter.limit { page.conflicts.append(conflict) } else { page.hasMore = true }
      }
      return page
    }
  }

  /// Returns the number of the newest conflict, or 0 if there is none.
  public func newestConflict() throws -> Int64 {
    try read { try $0.sql.integer("SELECT max(id) FROM mesh_conflict") ?? 0 }
  }

  /// Returns the number of values that a device had before it tracked their tables, and that lost here.
  public func lostImports(of device: DeviceID) throws -> Int {
    try read { session in
      let count = try session.sql.integer(
        """
        SELECT count(*) FROM mesh_conflict WHERE was_local AND loser_time BETWEEN 0 AND ?
          AND loser_author IN (SELECT id FROM mesh_author WHERE device = ?)
        """, [.integer(Int64(HybridTime.lastImport.value)), .blob(device.bytes)])
      return Int(count ?? 0)
    }
  }

  /// Returns the devices that wrote a lost value or a kept value.
  public func conflictDevices() throws -> [DeviceID] {
    try read { session in
      try session.sql.all(
        """
        SELECT DISTINCT device FROM mesh_author
        WHERE id IN (SELECT loser_author FROM mesh_conflict UNION SELECT winner_author FROM mesh_conflict)
        """
      ) { DeviceID($0.bytes(0)) }.compactMap { $0 }
    }
  }
}

extension Session {
  fileprivate typealias Entry = (lost: Conflict, ref: RecordRef, column: Int64)

  fileprivate func rows(_ filter: ConflictFilter) throws -> [Entry] {
    var (conditions, arguments): ([String], [Value]) = ([], [])
    func require(_ condition: String, _ argument: Value) {
      arguments.append(argument)
      conditions.append(condition.replacing("?", with: "?\(arguments.count)"))
    }
    if let name = filter.table {
      guard let table = catalog.knownTable(name) else { throw StoreError.unknownTable(name) }
      require("tbl = ?", .integer(table))
    }
    if let zone = filter.zone { require("mesh_zone.zone = ?", .blob(zone.bytes)) }
    if let since = filter.since { require("noted >= ?", .integer(since)) }
    if let device = filter.device {
      let authors = "(SELECT id FROM mesh_author WHERE device = ?)"
      require("(loser_author IN \(authors) OR winner_author IN \(authors))", .blob(device.bytes))
    }
    return try sql.all(
      """
      SELECT mesh_zone.zone, tbl, key, col, value, loser_author, loser_time, winner_author, winner_time, was_local, noted,
        mesh_conflict.id
      FROM mesh_conflict JOIN mesh_zone ON mesh_zone.id = mesh_conflict.zone
      \(conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")) ORDER BY mesh_conflict.id DESC
      """, arguments
    ) { row in
      try conflict(row).map { ($0, RecordRef(table: row.integer(1), key: row.value(2)), row.integer(3)) }
    }.compactMap { $0 }
  }

  /// Returns the conflict with the record's current values, or nil if no value is lost any more.
  fileprivate func current(_ entry: Entry) throws -> Conflict? {
    var conflict = entry.lost
    var (isAlive, zone) = (try isAlive(entry.ref, conflict.zone), conflict.zone)
    // The record is gone now, as the delete that lost would have left it.
    if entry.column == ZoneRecords.wholeRecord { return isAlive ? conflict : nil }
    // A record that has moved to another zone is there with the value that was kept.
    if !isAlive, let place = try placeToRestore(entry.ref), try place.load(entry.ref)?.isAlive == true {
      (isAlive, zone) = (true, place.zone.zone)
    }
    conflict.isWinnerDelete = !isAlive
    // For a row that has no columns except its key, the conflict is over when the row exists again. If the key's
    // spelling is itself a value of the row, it is compared like any other value.
    if isAlive, conflict.loserValue == conflict.key, let table = catalog.table(entry.ref.table),
      table.keyName == conflict.column, !table.form.keyIsColumn
    {
      return nil
    }
    // The lost part continues in the zone to which the record has moved.
    if try hasContinued(entry) { return nil }
    conflict.hasBytes = try conflict.loserValue.asset.map { try isKept($0.id) || !cells(showing: $0.id).isEmpty }
    conflict.winnerValue = try value(entry.ref, entry.column, zone)
    if isAlive, let row = try ZoneRow.read(zone, sql) {
      conflict.winner = max(
        conflict.winner, try ZoneRecords(self, zone: row).stamp(entry.ref, entry.column) ?? conflict.winner)
    }
    // The lost value is the current one again: its device wrote it again, or somebody wrote the same value.
    return conflict.winnerValue == conflict.loserValue && isAlive ? nil : conflict
  }

  /// Returns whether the lost value is a part that another device has continued in the record's new zone.
  private func hasContinued(_ entry: Entry) throws -> Bool {
    guard try catalog.part(entry.column) != nil, let place = try placeToRestore(entry.ref),
      let record = try place.load(entry.ref), record.isAlive,
      let cell = try place.state(entry.ref, record).cells[entry.column], cell.stamp >= entry.lost.loser
    else { return false }
    return try lateParts(entry.ref, in: place).contains { $0.conflict == entry.lost.id }
  }
}
