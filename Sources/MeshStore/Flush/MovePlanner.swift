import MeshCore

/// Moves records from one zone to another. A move first creates the record with the stamps that it has, so that all
/// devices that move the same record send the same. After all records that belong to it have moved too, the move
/// deletes it in the old zone.
struct MovePlanner {
  typealias State = ZoneRecords.State

  let planner: FlushPlanner

  private var records: ZoneRecords { planner.records }
  private var transaction: Transaction { planner.transaction }

  /// Moves a record here. If it is here already, because another device has moved it or because it comes back before it
  /// has left, the edits made meanwhile are added, and the values that are later where it was. If another record with
  /// the same key is here, it gets all values, as if the row had been written over it.
  func arrive(
    _ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]?, from zone: Int64
  ) throws -> Bool {
    guard let left = try transaction.counters.read(id: zone) else { return true }
    let source = ZoneRecords(transaction, zone: left)
    guard let record = try source.load(entry.ref), record.isAlive, zone != records.zone.id else {
      if let old, let isDone = try continueLateParts(entry, old, row) { return isDone }
      guard let row else { return true }
      return try old?.isAlive == true ? planner.edit(entry, old, row) : planner.birth(entry, old, row)
    }
    let isNew = old?.isAlive != true
    var state = try source.state(before: entry, record)
    let former = state.cells.filter { record.extra[$0.key] == nil && entry.before($0.key) != nil }.mapValues(\.value)
    var generation = (old?.generation ?? 0).nextGeneration
    var edits = try edits(entry, row, of: record, after: old)
    var losses = unseen(state, of: record, overwrittenBy: edits, entry)
    var later: [Int64: State.Cell] = [:]
    if let old, !isNew {
      let known = try records.state(entry.ref, old)
      transaction.reached(known.life == state.life ? .movedOntoItself : .movedOntoAnother)
      if known.life != state.life {
        edits = overwriting(state, with: edits, at: planner.time(entry.wall, after: old))
        if !old.isShown { losses += lost(known, to: edits, entry) }
      } else {
        // The record's values here may be those of the row that it gave up, which a program had edited by then. Such
        // edits are later where it was.
        later = state.cells.filter { column, cell in known.cells[column].map { $0.stamp < cell.stamp } ?? true }
      }
      (state, generation) = (known, old.generation)
    }
    var cells = state.cells.merging(later) { $1 }
    for edit in edits { cells[edit.column] = edit.cell }
    let life = state.life ?? planner.global(planner.time(entry.wall))
    state = State(generation: generation, life: life, cells: cells)
    let emitted = isNew ? cells : later.merging(edits.map { ($0.column, $0.cell) }) { $1 }
    // Only a birth may contain stamps of others.
    let isBirth = isNew || !later.isEmpty
    guard try emitted.isEmpty && !isNew || planner.emit(entry, emitted, generation, isBirth ? life : nil) else {
      return false
    }
    for cell in emitted.values { planner.plan.clock.witness(cell.stamp.time) }
    planner.plan.clock.witness(life.time)
    planner.plan.losses += losses
    planner.plan.arrivals.append(
      .init(
        ref: entry.ref, table: entry.table, state: state, former: former, zone: zone, to: records.zone.id))
    return true
  }

  /// Continues the parts that devices wrote in a zone before they knew that the record had moved here. Returns nil if
  /// there are none, or if the row belongs to another record.
  private func continueLateParts(
    _ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]?
  ) throws -> Bool? {
    let isWritten = entry.isInserted || entry.isDeleted || !entry.columns.isEmpty
    guard old.isAlive, old.isShown || !isWritten else { return nil }
    let late = try transaction.lateParts(entry.ref, in: records)
    if late.isEmpty { return isWritten ? nil : true }
    let known = try records.state(entry.ref, old)
    var cells = known.cells
    for part in late where cells[part.column].map({ $0.stamp < part.cell.stamp }) ?? true {
      cells[part.column] = part.cell
      planner.plan.clock.witness(part.cell.stamp.time)
    }
    let state = State(generation: known.generation, life: known.life, cells: cells)
    guard try RenamePlanner(planner: planner).follow(entry, old, old.isShown ? row : nil, with: state, after: known)
    else { return false }
    planner.plan.continued += late.map(\.conflict)
    return true
  }

  /// Deletes a record that has moved, with a stamp right after its birth. A delete that somebody made at the same time
  /// therefore keeps its own stamp, and can be distinguished from the move.
  func depart(_ entry: PendingSlice.Entry, _ old: StoredRecord?) throws -> Bool {
    guard let old, old.isAlive else { return true }
    let isMove = entry.wall == PendingSlice.moved
    let time = isMove ? (old.stamps.life ?? old.stamps.base).time.next : planner.time(planner.now)
    planner.plan.clock.witness(time)
    return try planner.emitDelete(entry, old, LocalStamp(author: planner.author, time: time), .departure)
  }

  /// Returns the edits made while the record moved.
  ///
  /// - Parameters:
  ///   - record: The record in the zone that it leaves. Its values are those that the program has changed.
  ///   - old: The record in this zone.
  private func edits(
    _ entry: PendingSlice.Entry, _ row: [Value]?, of record: StoredRecord, after old: StoredRecord?
  ) throws -> [(column: Int64, cell: State.Cell)] {
    guard var row else { return [] }
    let isWhole = entry.isInserted || entry.isDeleted
    var edited: [Int: HybridTime] = [:]
    for (index, column) in entry.table.columns.enumerated() {
      guard let wall = entry.columns[column.id] ?? (isWhole ? entry.wall : nil) else { continue }
      // An edit is later than what it replaces, although the clocks of the two zones differ.
      edited[index] = max(planner.time(wall, after: old), record.stamps.latest.next)
    }
    let parts = try PolicyPlanner(planner: planner).takeParts(entry, record, &row, &edited)
    let whole = try edited.sorted { $0.key < $1.key }.map { index, time in
      let value = try planner.value(entry, index, row[index])
      return (column: entry.table.columns[index].id, cell: State.Cell(stamp: planner.global(time), value: value))
    }
    return whole + parts.cells.map { ($0.column, State.Cell(stamp: planner.global($0.time), value: $0.value)) }
  }

  /// Returns the values of a hidden record that another one overwrites. No program here has seen them in a row.
  private func lost(
    _ hidden: State, to edits: [(column: Int64, cell: State.Cell)], _ entry: PendingSlice.Entry
  ) -> [FlushPlan.Loss] {
    edits.compactMap { edit in
      guard let loser = hidden.cells[edit.column], loser.value != edit.cell.value else { return nil }
      let loss = State.Loss(column: edit.column, loser: loser, winner: edit.cell.stamp, wasLocal: true)
      return .init(ref: entry.ref, loss: loss)
    }
  }

  /// Returns the values of the moved record that a program has overwritten without seeing them: its row was not in the
  /// table, or showed another value.
  private func unseen(
    _ state: State, of record: StoredRecord, overwrittenBy edits: [(column: Int64, cell: State.Cell)],
    _ entry: PendingSlice.Entry
  ) -> [FlushPlan.Loss] {
    let isBlind = planner.isBlind(entry, record)
    let unseen = edits.filter { edit in
      // If its table was not synchronized for a while, programs know what the row showed before.
      if isBlind { return record.held != .untracked || record.shown[edit.column] != nil }
      return record.isShown && record.hides(edit.column)
        && state.cells[edit.column]?.stamp.author.device != transaction.device
    }
    return lost(state, to: unseen, entry)
  }

  private func overwriting(
    _ state: State, with edits: [(column: Int64, cell: State.Cell)], at time: HybridTime
  ) -> [(column: Int64, cell: State.Cell)] {
    let cells = state.cells.mapValues { State.Cell(stamp: planner.global(time), value: $0.value) }
    return cells.merging(edits.map { ($0.column, $0.cell) }) { $1 }.map { (column: $0, cell: $1) }
  }
}

extension ZoneRecords {
  /// Returns the merged state of a record that programs have written. The row has the values of its shown columns, and so
  /// what programs wrote. For columns with a policy, the notes tell what was there before.
  func state(before entry: PendingSlice.Entry, _ record: StoredRecord) throws -> State {
    let state = try state(entry.ref, record)
    guard entry.hasFormerValues else { return state }
    var cells = state.cells
    for (column, cell) in cells where record.extra[column] == nil {
      guard let was = entry.before(column) else { continue }
      cells[column] = State.Cell(stamp: cell.stamp, value: was)
    }
    return State(generation: state.generation, life: state.life, cells: cells)
  }
}
