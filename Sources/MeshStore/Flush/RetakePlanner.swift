import MeshCore

/// Handles rows whose records were merged while their table was not synchronized here, or before it ever was. The
/// merged values stay, because the other devices have them. A value that somebody wrote here meanwhile is an edit if no
/// newer value was merged. Otherwise it is kept as a conflict.
struct RetakePlanner {
  typealias State = ZoneRecords.State

  let planner: FlushPlanner

  private var records: ZoneRecords { planner.records }
  private var transaction: Transaction { planner.transaction }

  /// Handles a row of a table that is imported.
  func retake(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]) throws -> Bool {
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
        if let shown = old.shown[column], try planner.isSame(entry, index, row[index], shown) { continue }
        if !isDefault, row[index] != .null, index != table.keyColumn || row[index] != entry.ref.key {
          cells.append((index, planner.importTime))
        }
        continue
      }
      if try planner.isSame(entry, index, row[index], old.extra[column]) { continue }
      guard old.held == .untracked else {
        try planner.lose(entry, index, row[index], at: planner.importTime, to: old.stamps.stamp(of: column))
        continue
      }
      if let shown = old.shown[column] {
        if isDefault && shown == .null { continue }
        if try !planner.isSame(entry, index, row[index], shown) {
          try planner.lose(
            entry, index, row[index], at: planner.time(entry.columns[column] ?? planner.now),
            to: old.stamps.stamp(of: column))
        }
      } else {
        cells.append((index, planner.time(entry.columns[column] ?? planner.now, after: old)))
      }
    }
    planner.plan.reshown.append(entry.ref)
    guard !cells.isEmpty else { return true }
    return try planner.emit(
      entry, .edit, old: old, generation: old.generation, life: nil, cells, row, keeping: old.extra, isHeld: true)
  }

  /// Handles a row whose record's delete is merged. The row is deleted, and values that others can't have seen are kept
  /// as conflicts.
  private func giveUp(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]) throws -> Bool {
    let stamp = old.stamps.life ?? old.stamps.base
    for index in entry.table.columns.indices where row[index] != .null && index != entry.table.keyColumn {
      if try planner.isSame(entry, index, row[index], old.shown[entry.table.columns[index].id]) {
        // The bytes are kept, as those of every row that others delete.
        if row[index].isUnread, let size = row[index].asset?.size, let found = try planner.content(entry, index, size) {
          planner.plan.manifests.append(found.manifest)
        }
        continue
      }
      try planner.lose(
        entry, index, row[index], at: old.hasBase ? planner.time(planner.now) : planner.importTime, to: stamp)
    }
    planner.plan.vacated.append(.init(ref: entry.ref, table: entry.table, old: old))
    return true
  }

  /// Handles a record whose row was deleted while the table was not synchronized, and that others edited. They had not
  /// seen the delete, and the program that deleted it had not seen the edit.
  func keepEdited(_ entry: PendingSlice.Entry, _ old: StoredRecord) throws -> Bool {
    try planner.loseDelete(entry, to: old.stamps.base)
    planner.plan.reshown.append(entry.ref)
    return true
  }
}
