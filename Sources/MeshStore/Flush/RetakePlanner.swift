import MeshCore

/// Handles rows whose records were merged while their table was not synchronized here, or before it ever was. The
/// merged values stay, because the other devices have them. A value that somebody wrote here meanwhile is an edit if no
/// newer value was merged. Otherwise it is kept as a conflict.
struct RetakePlanner {
  typealias State = ZoneRecords.State

  let planner: FlushPlanner

  private var records: ZoneRecords { planner.records }
  private var transaction: Transaction { planner.transaction }
  private var policies: PolicyPlanner { PolicyPlanner(planner: planner) }

  /// Handles a row of a table that is imported.
  func retake(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]) throws -> Bool {
    guard old.isAlive else { return try giveUp(entry, old, row) }
    let table = entry.table
    let stamped = Set(try records.columns(old.stamps).map(\.column))
    var cells: [(index: Int, time: HybridTime)] = []
    var (row, parts) = (row, ChangedParts())
    for index in table.columns.indices {
      let column = table.columns[index].id
      if try takeDifference(entry, index, old, &row, &cells, &parts) { continue }
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
    guard !cells.isEmpty || !parts.cells.isEmpty else { return true }
    return try planner.emit(
      entry, .edit, old: old, generation: old.generation, life: nil, cells, row, keeping: old.extra, isHeld: true,
      parts: parts)
  }

  /// Handles a column whose policy merges writes of several devices into one value. The difference from the value that
  /// the row showed when the table stopped being synchronized becomes a part of this author.
  ///
  /// - Returns: False if the column has no such policy, or if the row didn't show the column then.
  private func takeDifference(
    _ entry: PendingSlice.Entry, _ index: Int, _ old: StoredRecord, _ row: inout [Value],
    _ cells: inout [(index: Int, time: HybridTime)], _ parts: inout ChangedParts
  ) throws -> Bool {
    let (column, table) = (entry.table.columns[index].id, entry.table)
    // Without a base, the table may have got the column meanwhile, and a migration may have filled it.
    guard old.held == .untracked, let base = old.base(column), base != .null else { return false }
    let state = try records.state(entry.ref, old)
    guard try policies.addsUp(column, table, state.cells) else { return false }
    if row[index] == base { return true }
    let time = planner.time(entry.columns[column] ?? planner.now, after: old)
    var new = state.cells
    try policies.write(entry, index, row[index], at: time, over: base, &new)
    if let own = new[column], own != state.cells[column] {
      // The write is an assignment, such as one of NULL.
      let merged = try transaction.folded(table, state)[column] ?? state.cells[column]?.value
      if let merged, merged != base {
        try planner.lose(entry, index, row[index], at: time, to: old.stamps.stamp(of: column))
      } else {
        row[index] = own.value
        cells.append((index, time))
      }
      return true
    }
    for (number, cell) in new.sorted(by: { $0.key < $1.key }) where cell != state.cells[number] {
      parts.cells.append(
        .init(
          column: number, name: try transaction.catalog.column(number).name, time: cell.stamp.time, value: cell.value))
    }
    parts.written = max(parts.written, time)
    return true
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
