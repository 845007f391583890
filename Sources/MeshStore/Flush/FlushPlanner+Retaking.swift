import MeshCore

/// Handles rows whose records were merged while their table was not synchronized here, or before it ever was. The
/// merged values stay, because the other devices have them. A value that somebody wrote here meanwhile is an edit if no
/// newer value was merged. Otherwise it is kept as a conflict.
extension FlushPlanner {
  /// Handles a row of a table that is imported.
  mutating func retake(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]) throws -> Bool {
    guard old.isAlive else { return try giveUp(entry, old, row) }
    let table = entry.table
    let stamped = Set(try records.columns(old.stamps).map(\.column))
    var cells: [(index: Int, time: HybridTime)] = []
    for index in table.columns.indices {
      let column = table.columns[index].id
      // A column that was added meanwhile has its default in each row. Nobody wrote that value.
      let isDefault = row[index] == table.defaultValue(index)
      guard stamped.contains(column) else {
        // The value of an earlier life of the record, which ended while the table was not synchronized.
        if let shown = old.shown[column], try isSame(entry, index, row[index], shown) { continue }
        if !isDefault, row[index] != .null, index != table.keyColumn || row[index] != entry.ref.key {
          cells.append((index, importTime))
        }
        continue
      }
      if try isSame(entry, index, row[index], old.extra[column]) { continue }
      guard old.held == .untracked else {
        try lose(entry, index, row[index], at: importTime, to: old.stamps.stamp(of: column))
        continue
      }
      if let shown = old.shown[column] {
        if isDefault && shown == .null { continue }
        if try !isSame(entry, index, row[index], shown) {
          try lose(entry, index, row[index], at: time(entry.columns[column] ?? now), to: old.stamps.stamp(of: column))
        }
      } else {
        cells.append((index, time(entry.columns[column] ?? now, after: old)))
      }
    }
    plan.reshown.append(entry.ref)
    guard !cells.isEmpty else { return true }
    return try emit(
      entry, .edit, old: old, generation: old.generation, life: nil, cells, row, keeping: old.extra, isHeld: true)
  }

  /// Handles a row whose record's delete is merged. The row is deleted, and values that others can't have seen are kept
  /// as conflicts.
  private mutating func giveUp(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]) throws -> Bool {
    let stamp = old.stamps.life ?? old.stamps.base
    for index in entry.table.columns.indices where row[index] != .null && index != entry.table.keyColumn {
      if try isSame(entry, index, row[index], old.shown[entry.table.columns[index].id]) {
        // The bytes are kept, as those of every row that others delete.
        if row[index].isUnread, let size = row[index].asset?.size, let found = try content(entry, index, size) {
          plan.manifests.append(found.manifest)
        }
        continue
      }
      try lose(entry, index, row[index], at: old.hasBase ? time(now) : importTime, to: stamp)
    }
    plan.vacated.append(.init(ref: entry.ref, table: entry.table, old: old))
    return true
  }

  /// Handles a record whose row was deleted while the table was not synchronized, and that others edited. They had not
  /// seen the delete, and the program that deleted it had not seen the edit.
  mutating func keepEdited(_ entry: PendingSlice.Entry, _ old: StoredRecord) throws -> Bool {
    try loseDelete(entry, to: old.stamps.base)
    plan.reshown.append(entry.ref)
    return true
  }

  /// The time of values that nobody edited. Like every time of the unit, it is later than all times that the zone knew
  /// when the unit began.
  var importTime: HybridTime {
    mutating get {
      let noted = max(HybridTime(milliseconds: now), base.next).wholeMilliseconds
      plan.clock.witness(noted)
      return HybridTime(importedAt: noted)
    }
  }

  /// Returns whether a column of the row has a merged value.
  func isSame(_ entry: PendingSlice.Entry, _ index: Int, _ value: Value, _ merged: Value?) throws -> Bool {
    guard value.isUnread, let asset = merged?.asset, asset.size == value.asset?.size else { return value == merged }
    guard let manifest = try transaction.contents.manifest(asset.id) else { return false }
    return try content(entry, index, asset.size, key: manifest.key)?.asset == asset
  }

  /// Keeps a value of the row that is not sent, as a conflict.
  mutating func lose(
    _ entry: PendingSlice.Entry, _ index: Int, _ value: Value, at time: HybridTime, to winner: LocalStamp
  ) throws {
    var value = value
    if value.isUnread, let size = value.asset?.size, let found = try content(entry, index, size) {
      plan.manifests.append(found.manifest)
      value = .asset(found.asset)
    }
    plan.losses.append(
      .init(
        ref: entry.ref,
        loss: State.Loss(
          column: entry.table.columns[index].id, loser: .init(stamp: global(time), value: value),
          winner: try stamp(winner), wasLocal: true)))
  }

  mutating func loseDelete(_ entry: PendingSlice.Entry, to winner: LocalStamp) throws {
    let loser = State.Cell(stamp: global(time(entry.wall)), value: .null)
    plan.losses.append(
      .init(
        ref: entry.ref,
        loss: State.Loss(
          column: ZoneRecords.wholeRecord, loser: loser, winner: try stamp(winner), wasLocal: true)))
  }
}
