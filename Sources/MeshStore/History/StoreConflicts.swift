package import MeshCore

/// The conflicts to list. Without any condition, all conflicts.
package struct ConflictFilter: Hashable, Sendable {
  package var table: String?
  package var zone: ZoneID?
  /// The device that wrote the lost value or the kept value.
  package var device: DeviceID?
  /// The earliest time at which the conflict was found, in milliseconds since 1970.
  package var since: Int64?
  /// Only conflicts with a lower number. Pass the last number of a page to get the next one.
  package var after: Int64?
  package var limit: Int
  /// Whether conflicts that somebody dismissed are listed as well.
  package var includesDismissed: Bool

  package init(
    table: String? = nil, zone: ZoneID? = nil, device: DeviceID? = nil, since: Int64? = nil, after: Int64? = nil,
    limit: Int, includesDismissed: Bool = false
  ) {
    (self.table, self.zone, self.device, self.since, self.after) = (table, zone, device, since, after)
    (self.limit, self.includesDismissed) = (limit, includesDismissed)
  }
}

/// One page of a list of conflicts.
package struct ConflictPage: Hashable, Sendable {
  /// The conflicts, newest first.
  package var conflicts: [Conflict]
  /// The number of conflicts that match the filter, without regard to its `after` and `limit`.
  package var total: Int
  /// The number of conflicts that this file no longer keeps, whether they would match the filter or not.
  package var dropped: Int
  /// The number of conflicts that match the filter and are not listed because somebody dismissed them.
  package var dismissed: Int
  /// True if there are more pages.
  package var hasMore: Bool
}

/// The conflicts: values that lost against a write whose author had not seen them.
package struct StoreConflicts: StorePart {
  let access: StoreAccess

  /// The number of conflicts of a zone that the file keeps.
  package static var bound: Int64 { StoreLimits.conflicts }

  /// Returns at most `limit` conflicts, newest first.
  package func list(limit: Int) throws -> [Conflict] { try list(ConflictFilter(limit: limit)).conflicts }

  /// Returns the conflicts that match a filter.
  ///
  /// - Throws: `StoreError` (`unknownTable`) if no table with that name was ever synchronized.
  package func list(_ filter: ConflictFilter) throws -> ConflictPage {
    try read { transaction in
      var page = ConflictPage(
        conflicts: [], total: 0, dropped: try transaction.conflicts.dropped(), dismissed: 0, hasMore: false)
      let current = CurrentConflicts(transaction: transaction)
      for entry in try current.rows(filter) {
        guard let conflict = try current.current(entry) else { continue }
        if conflict.isDismissed, !filter.includesDismissed {
          page.dismissed += 1
          continue
        }
        page.total += 1
        if let after = filter.after, conflict.id >= after { continue }
        if page.conflicts.count < filter.limit { page.conflicts.append(conflict) } else { page.hasMore = true }
      }
      return page
    }
  }

  /// Takes conflicts off the list. They are still kept, and can be restored.
  ///
  /// - Throws: `RestoreError` (`unknownConflict`) if there is none with one of the numbers. Then nothing changes.
  /// - Returns: How many there are.
  package func dismiss(_ ids: Set<Int64>) throws -> Int {
    try write { transaction in
      for id in ids.sorted() where try !transaction.conflicts.dismiss(id) { throw RestoreError.unknownConflict(id) }
      return ids.count
    }
  }

  /// Takes the conflicts with this number and lower ones off the list.
  ///
  /// - Returns: How many were not dismissed before.
  package func dismiss(through id: Int64) throws -> Int { try write { try $0.conflicts.dismiss(through: id) } }

  /// Returns the number of the newest conflict, or 0 if there is none.
  package func newest() throws -> Int64 {
    try read { try $0.conflicts.newest() }
  }

  /// Returns the number of conflicts that this file no longer keeps.
  package func dropped() throws -> Int { try read { try $0.conflicts.dropped() } }

  /// Returns the number of values that a device had before it tracked their tables, and that lost here.
  package func lostImports(of device: DeviceID) throws -> Int {
    try read { try $0.conflicts.lostImports(of: device) }
  }

  /// Returns the devices that wrote a lost value or a kept value.
  package func devices() throws -> [DeviceID] { try read { try $0.conflicts.devices() } }
}

/// Compares lost values with those of today.
private struct CurrentConflicts: InTransaction {
  let transaction: Transaction

  typealias Entry = (lost: Conflict, ref: RecordRef, column: Int64, isByWrite: Bool)

  func rows(_ filter: ConflictFilter) throws -> [Entry] {
    let table = try filter.table.map { name in
      guard let table = catalog.knownTable(name) else { throw StoreError.unknownTable(name) }
      return table
    }
    return try conflicts.list(filter, table: table).map { (try conflict($0), $0.ref, $0.column, $0.isByWrite) }
  }

  /// Returns the conflict with the record's current values, or nil if no value is lost any more.
  func current(_ entry: Entry) throws -> Conflict? {
    var conflict = entry.lost
    let state = try state(entry.ref, conflict.zone)
    var (isAlive, zone) = (state.isAlive, conflict.zone)
    if entry.column == ZoneRecords.wholeRecord {
      // The record is gone now, as the delete that lost would have left it.
      guard isAlive else { return nil }
      // Its last edit is what keeps it.
      conflict.winner = state.cells.values.reduce(conflict.winner) { max($0, $1.stamp) }
      return conflict
    }
    if try !isAlive && isWrittenElsewhere(entry, deleted: state.life) { return nil }
    // A record that has moved to another zone is there with the value that was kept.
    if !isAlive, let place = try Restorer(transaction: transaction).placeToRestore(entry.ref),
      try place.load(entry.ref)?.isAlive == true
    {
      (isAlive, zone) = (true, place.zone.zone)
    }
    conflict.isReverted = !isAlive && state.generation == 0
    conflict.isWinnerDelete = !isAlive && !conflict.isReverted
    if conflict.isWinnerDelete, let delete = state.life { conflict.winner = max(conflict.winner, delete) }
    // For a row that has no columns except its key, the conflict is over when the row exists again. If the key's
    // spelling is itself a value of the row, it is compared like any other value.
    if isAlive, conflict.loserValue == conflict.key, let table = catalog.table(entry.ref.table),
      table.keyName == conflict.column, !table.form.keyIsColumn
    {
      return nil
    }
    // The lost part continues in the zone to which the record has moved.
    if try hasContinued(entry) { return nil }
    conflict.hasBytes = try conflict.loserValue.asset.map {
      try assets.isKept($0.id) || !contents.cells(showing: $0.id).isEmpty
    }
    conflict.winnerValue = try value(entry.ref, entry.column, zone)
    if isAlive, let row = try counters.read(zone) {
      conflict.winner = max(
        conflict.winner, try ZoneRecords(transaction, zone: row).stamp(entry.ref, entry.column) ?? conflict.winner)
    }
    // The lost value is the current one again: its device wrote it again, or somebody wrote the same value.
    return conflict.winnerValue == conflict.loserValue && isAlive ? nil : conflict
  }

  /// Returns whether the lost value's device has written the column in another zone since. When a record follows its
  /// parent, each of the account's devices brings its own edits along. If the device has deleted the record there, nobody
  /// can tell whether it brought a value along that lost to the move, and this returns true. It returns false for a
  /// value that lost to another device's write.
  ///
  /// - Parameter deleted: The stamp of the record's delete in the zone of the conflict, if it is in that zone.
  private func isWrittenElsewhere(_ entry: Entry, deleted: Stamp?) throws -> Bool {
    guard let row = try counters.read(entry.lost.zone) else { return false }
    return try transaction.recordRows.zones(of: entry.ref, besides: row.id).contains { id in
      guard let other = try counters.read(id: id) else { return false }
      let state = try state(entry.ref, other.zone)
      if state.isAlive { return isLater(state.cells[entry.column]?.stamp, entry) }
      let wasBeaten = entry.isByWrite && entry.lost.beatenBy?.author.device != entry.lost.loser.author.device
      guard !wasBeaten else { return false }
      return isLater(state.life, entry) || isLater(deleted, entry)
    }
  }

  /// Returns whether the lost value's device has made another write after it.
  private func isLater(_ write: Stamp?, _ entry: Entry) -> Bool {
    guard let write else { return false }
    return write.author.device == entry.lost.loser.author.device && write.time >= entry.lost.loser.time
  }

  /// Returns whether the lost value is a part that another device has continued in the record's new zone.
  private func hasContinued(_ entry: Entry) throws -> Bool {
    guard try catalog.part(entry.column) != nil,
      let place = try Restorer(transaction: transaction).placeToRestore(entry.ref),
      let record = try place.load(entry.ref), record.isAlive,
      let cell = try place.state(entry.ref, record).cells[entry.column], cell.stamp >= entry.lost.loser
    else { return false }
    return try transaction.lateParts(entry.ref, in: place).contains { $0.conflict == entry.lost.id }
  }

  /// Returns the conflict with the names of its table and column, and without the winner's value.
  private func conflict(_ entry: ConflictTable.Entry) throws -> Conflict {
    let (loser, winner) = (try transaction.stamp(entry.loser), try entry.winner.map(transaction.stamp))
    return Conflict(
      id: entry.id, zone: entry.zone, table: try catalog.tableName(entry.ref.table), key: entry.ref.key,
      column: entry.column == ZoneRecords.wholeRecord ? nil : try catalog.displayedName(entry.column),
      loserValue: entry.value, loser: loser, winnerValue: .null, isWinnerDelete: false, isReverted: false,
      winner: winner ?? loser, beatenBy: winner, hasBytes: nil, wasLocal: entry.wasLocal,
      found: entry.noted, isDismissed: entry.isDismissed)
  }

  /// Returns the merged state of a record. Its generation is 0 if the record isn't in the zone.
  private func state(_ ref: RecordRef, _ zone: ZoneID) throws -> ZoneRecords.State {
    guard let row = try counters.read(zone) else { return ZoneRecords.State() }
    let records = ZoneRecords(transaction, zone: row)
    return try records.load(ref).map { try records.state(ref, $0) } ?? ZoneRecords.State()
  }

  /// Returns a column's merged value.
  private func value(_ ref: RecordRef, _ column: Int64, _ zone: ZoneID) throws -> Value {
    guard let row = try counters.read(zone) else { return .null }
    let records = ZoneRecords(transaction, zone: row)
    return try records.load(ref).map { try records.values(ref, $0)[column] ?? .null } ?? .null
  }
}
