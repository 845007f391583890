import MeshCore

/// Handles columns and tables that were renamed here. A renaming is not an edit: each value continues under the new
/// name with its stamp. All devices that rename therefore send the same. A later edit under the old name is also later
/// under the new one.
struct RenamePlanner {
  typealias State = ZoneRecords.State

  let planner: FlushPlanner

  private var records: ZoneRecords { planner.records }
  private var transaction: Transaction { planner.transaction }
  private var policies: PolicyPlanner { PolicyPlanner(planner: planner) }

  /// A renamed record on the way to its cells under the new names.
  private struct Renaming {
    let entry: PendingSlice.Entry
    let old: StoredRecord
    let before: State
    var news: [Int64: State.Cell]
    /// The columns that programs wrote.
    var written: [Int64] = []
  }

  /// A column of a renamed record, and the merged cell that it had under a former name.
  private struct Column {
    let id: Int64
    let index: Int
    let former: Int64?
    let cell: State.Cell?
  }

  /// Copies the merged values of former names to columns that were renamed.
  func rename(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]?) throws -> Bool {
    transaction.reached(.columnRenamed)
    let before = try records.state(before: entry, old)
    var renaming = Renaming(entry: entry, old: old, before: before, news: try renamedParts(entry, before))
    for (id, wall) in entry.columns.sorted(by: { $0.key < $1.key }) {
      guard let index = entry.table.indexes[id] else { continue }
      let former = entry.table.origins[id]?.first { before.cells[$0] != nil && old.extra[$0] != nil }
      let column = Column(id: id, index: index, former: former, cell: former.flatMap { before.cells[$0] })
      switch wall {
      case PendingSlice.renamed: try follow(column, &renaming)
      case PendingSlice.migrated:
        guard let row, before.cells[id] == nil else { continue }
        renaming.news[id] = State.Cell(
          stamp: planner.global(planner.importTime), value: try planner.value(entry, index, row[index]))
        renaming.written.append(id)
      default:
        guard let row else { continue }
        try write(row[index], at: wall, column, &renaming)
      }
    }
    return try go(on: entry, before, old, with: renaming.news, renaming.written)
  }

  /// Continues a column with the cell that it had under its former name.
  private func follow(_ column: Column, _ renaming: inout Renaming) throws {
    let (entry, old, before) = (renaming.entry, renaming.old, renaming.before)
    guard let cell = column.cell else { return }
    if let known = before.cells[column.id] {
      let moved = moved(entry, column.id, before.cells.merging(renaming.news) { $1 }, known)
      if let moved, cell.stamp <= known.stamp, cell.value != known.value {
        if moved.value != known.value {
          loseCell(entry, column.id, known, to: planner.global(planner.time(planner.now, after: old)))
        }
        let shown = column.former.flatMap { old.shown[$0] } ?? cell.value
        renaming.news[column.id] = State.Cell(
          stamp: planner.global(planner.time(planner.now, after: old)),
          value: try PolicyPlanner.own(shown, policies.increments(column.id, entry.table, before.cells)))
        return
      }
      guard cell.stamp != known.stamp else {
        // One statement wrote both columns. The program knows only the former name, in a table that has both.
        if known.value == .null, cell.value != .null {
          renaming.news[column.id] = State.Cell(
            stamp: planner.global(planner.time(planner.now, after: old)), value: cell.value)
        }
        return
      }
      if try isOtherColumn(entry, column.id, cell) { return }
      if moved?.value != known.value { try settle(entry, column.id, cell, known) }
      if cell.stamp < known.stamp { return }
    }
    renaming.news[column.id] = cell
  }

  /// Adds a program's write to a column that has a former name.
  private func write(_ value: Value, at wall: Int64, _ column: Column, _ renaming: inout Renaming) throws {
    let (entry, old, before) = (renaming.entry, renaming.old, renaming.before)
    let isBase = old.held == .untracked
    let isShown =
      try !isBase && (old.hides(column.id) || old.extra[column.id] == nil && planner.isStamped(column.id, old))
    var cells = before.cells.merging(renaming.news) { $1 }
    if try policies.hasPolicy(column.id, entry.table, cells) {
      if !isShown, let cell = column.cell {
        if let known = before.cells[column.id], known.stamp != cell.stamp {
          try settle(entry, column.id, cell, known)
        }
        if before.cells[column.id].map({ $0.stamp < cell.stamp }) ?? true { cells[column.id] = cell }
      }
      let shown =
        isShown
        ? old.shown[column.id] ?? before.cells[column.id]?.value
        : entry.table.origins[column.id]?.lazy.compactMap { old.shown[$0] ?? old.extra[$0] }.first
          ?? entry.before(column.id)
      try policies.write(entry, column.index, value, at: planner.time(wall, after: old), over: shown, &cells)
      renaming.news = cells.filter { before.cells[$0.key] != $0.value }
      renaming.written.append(column.id)
      return
    }
    if isBase, let merged = column.cell ?? before.cells[column.id] {
      let base = old.base(column.former ?? column.id)
      let isEdited = try !planner.isSame(entry, column.index, value, base)
      // Others wrote a value while the table was not synchronized here, and the program had not seen it.
      if !isEdited || base != merged.value {
        if isEdited {
          try planner.lose(entry, column.index, value, at: planner.time(wall), to: records.local(merged.stamp))
        }
        if let cell = column.cell, before.cells[column.id].map({ $0.stamp < cell.stamp }) ?? true {
          renaming.news[column.id] = cell
        }
        return
      }
    }
    // Somebody wrote a value under the new name that this row never showed.
    if let known = before.cells[column.id], let cell = column.cell, !isShown, known.stamp > cell.stamp,
      !entry.retaken.contains(column.id), moved(entry, column.id, before.cells, known) == nil
    {
      try planner.lose(entry, column.index, value, at: planner.time(wall), to: records.local(known.stamp))
    } else {
      renaming.news[column.id] = State.Cell(
        stamp: planner.global(planner.time(wall, after: old)), value: try planner.value(entry, column.index, value))
      renaming.written.append(column.id)
    }
  }

  /// Returns the parts that continue under the new names of their columns.
  private func renamedParts(_ entry: PendingSlice.Entry, _ before: State) throws -> [Int64: State.Cell] {
    var news: [Int64: State.Cell] = [:]
    for (number, cell) in before.cells where entry.table.indexes[number] == nil {
      guard try transaction.catalog.part(number) != nil,
        let successor = try transaction.catalog.successor(of: number, in: entry.table)
      else { continue }
      let known = news[successor] ?? before.cells[successor]
      if known.map({ $0.stamp < cell.stamp }) ?? true { news[successor] = cell }
    }
    return news
  }

  /// Returns whether parts under a former name of a column are later than those under its name.
  func hasRenamedParts(_ entry: PendingSlice.Entry, _ old: StoredRecord) throws -> Bool {
    try !entry.renamed.isEmpty && !renamedParts(entry, records.state(entry.ref, old)).isEmpty
  }

  /// Notes the lesser of a column's values under its two names as a conflict, if the author of the other value had not
  /// seen it.
  private func settle(
    _ entry: PendingSlice.Entry, _ column: Int64, _ renamed: State.Cell, _ known: State.Cell
  ) throws {
    let (loser, winner) = renamed.stamp < known.stamp ? (renamed, known) : (known, renamed)
    guard loser.value != winner.value else { return }
    // If the name was another column's, who has seen a value under it may have seen that column's.
    let isReused = entry.table.leftTo[column] != nil
    guard try isReused || records.mayBeUnseen(loser.stamp, by: winner.stamp.author) else { return }
    loseCell(entry, column, loser, to: winner.stamp)
  }

  private func loseCell(_ entry: PendingSlice.Entry, _ column: Int64, _ loser: State.Cell, to winner: Stamp) {
    planner.plan.losses.append(
      .init(ref: entry.ref, loss: State.Loss(column: column, loser: loser, winner: winner, wasLocal: true)))
  }

  /// Returns the cell of the column that had this column's name before, if the merged value under the name is still that
  /// column's. The value has gone on with it, so it is not in the way of the value that comes to the name now.
  private func moved(
    _ entry: PendingSlice.Entry, _ column: Int64, _ cells: [Int64: State.Cell], _ known: State.Cell
  ) -> State.Cell? {
    entry.table.leftTo[column].flatMap { cells[$0] }.flatMap { $0.stamp >= known.stamp ? $0 : nil }
  }

  /// Returns whether the author of a value under a former name uses the present name, too. For that author the former name
  /// is the name of another column by now.
  private func isOtherColumn(_ entry: PendingSlice.Entry, _ column: Int64, _ cell: State.Cell) throws -> Bool {
    guard cell.stamp.author != planner.writer.author, entry.table.leftTo[column] == nil,
      let author = try transaction.catalog.knownAuthor(cell.stamp.author)
    else { return false }
    return try records.hasNamed(author, entry.table.id, column)
  }

  /// Gives the record these cells and sends them. It uses the row of a birth, which may contain stamps of others. The
  /// time of the birth doesn't change.
  private func go(
    on entry: PendingSlice.Entry, _ before: State, _ old: StoredRecord?, with news: [Int64: State.Cell],
    _ written: [Int64]
  ) throws -> Bool {
    if news.isEmpty {
      if old != nil { planner.plan.reshown.append(entry.ref) }
      return true
    }
    let life = before.life ?? Stamp(time: .zero, author: planner.writer.author)
    guard try planner.emit(entry, news, before.generation, life) else { return false }
    let after = State(
      generation: before.generation, life: before.life, cells: before.cells.merging(news) { $1 })
    planner.plan.placed.append(.init(ref: entry.ref, table: entry.table, state: after, old: old, written: written))
    return true
  }

  // MARK: Tables

  /// Continues a record of a renamed table with the values that were merged under the table's former name.
  func adopt(
    _ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]?, from table: Int64
  ) throws -> Bool {
    guard let source = try records.load(RecordRef(table: table, key: entry.ref.key)) else { return true }
    transaction.reached(.tableRenamed)
    let known = try old.map { try records.state(entry.ref, $0) } ?? State()
    let (former, base) = try former(source, table, in: entry.table.id)
    var state = known
    for loss in state.merge(former) {
      guard let winner = loss.winner, try records.mayBeUnseen(loss.loser.stamp, by: winner.author),
        state.cells[loss.column]?.value != loss.loser.value
      else { continue }
      planner.plan.losses.append(.init(ref: entry.ref, loss: loss))
    }
    guard state.isAlive else { return try adoptDeleted(entry, state, old, row, base, source) }
    var cells = state.cells
    if let row {
      try writeAgain(entry, row, &cells, former, base: source.held == .untracked ? base : [:])
    } else if source.held == .untracked, entry.isComplete {
      // The row was deleted under the new name.
      if state == former, !source.isEditedMeanwhile {
        guard try adoptDelete(entry, state.generation.nextGeneration, old) else { return false }
        try loseHidden(entry, state, base)
        return true
      }
      try planner.loseDelete(entry, to: records.local(state.life ?? planner.global(.zero)))
    }
    return try place(entry, State(generation: state.generation, life: state.life, cells: cells), old, known)
  }

  /// Adds changes that others wrote under the table's former name after the record was adopted. A program's write here
  /// at the same time is later, because nobody has merged it yet.
  func follow(
    _ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]?, from table: Int64
  ) throws -> Bool {
    let known = try old.map { try records.state(before: entry, $0) } ?? State()
    var state = known
    if let source = try records.load(RecordRef(table: table, key: entry.ref.key)) {
      _ = state.merge(try former(source, table, in: entry.table.id).0)
    }
    return try follow(entry, old, row, with: state, after: known)
  }

  /// Adds changes that others wrote elsewhere, and those that programs wrote here.
  ///
  /// - Parameters:
  ///   - state: The record with the changes of others.
  ///   - known: The record as it is merged here.
  func follow(
    _ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]?, with state: State, after known: State
  ) throws -> Bool {
    guard state != known else { return try planner.addWritten(entry, old, row) }
    let wasWritten = entry.isInserted || entry.isDeleted || !entry.columns.isEmpty
    let written = entry.table.columns.indices.filter { index in
      let column = entry.table.columns[index].id
      if entry.isInserted { return index != entry.table.keyColumn }
      return (entry.columns[column] ?? PendingSlice.migrated) > PendingSlice.migrated
    }
    guard let row else {
      guard wasWritten else { return try place(entry, state, old, known) }
      for (column, cell) in state.cells where known.cells[column] != cell && cell.value != .null {
        let loss = State.Loss(
          column: column, loser: cell, winner: planner.global(planner.time(entry.wall)), wasLocal: true)
        planner.plan.losses.append(.init(ref: entry.ref, loss: loss))
      }
      return try planner.addWritten(entry, old, row)
    }
    guard state.isAlive else {
      for index in written {
        try planner.lose(
          entry, index, row[index], at: planner.time(entry.wall), to: records.local(state.life ?? planner.global(.zero))
        )
      }
      return try adoptDelete(entry, state.generation, old)
    }
    var cells = state.cells
    for index in written {
      let column = entry.table.columns[index].id
      let time = planner.time(entry.columns[column] ?? entry.wall, after: old)
      if try policies.hasPolicy(column, entry.table, cells) {
        let shown = old?.shown[column] ?? known.cells[column]?.value
        try policies.write(entry, index, row[index], at: time, over: shown, &cells)
        continue
      }
      let cell = State.Cell(stamp: planner.global(time), value: try planner.value(entry, index, row[index]))
      if let theirs = state.cells[column], theirs != known.cells[column], theirs.value != cell.value {
        let loss = State.Loss(column: column, loser: theirs, winner: cell.stamp, wasLocal: true)
        planner.plan.losses.append(.init(ref: entry.ref, loss: loss))
      }
      cells[column] = cell
    }
    return try place(
      entry, State(generation: state.generation, life: state.life, cells: cells), old, known,
      written.map { entry.table.columns[$0].id })
  }

  /// Gives the record this state, and sends the new parts.
  private func place(
    _ entry: PendingSlice.Entry, _ state: State, _ old: StoredRecord?, _ known: State, _ written: [Int64] = []
  ) throws -> Bool {
    guard state.isAlive else { return try adoptDelete(entry, state.generation, old) }
    let news = state.cells.filter { known.cells[$0.key] != $0.value || known.generation != state.generation }
    let life = state.life ?? Stamp(time: .zero, author: planner.writer.author)
    if !news.isEmpty || known.generation != state.generation {
      guard try planner.emit(entry, news, state.generation, life) else { return false }
    }
    planner.plan.placed.append(.init(ref: entry.ref, table: entry.table, state: state, old: old, written: written))
    return true
  }

  /// Returns the state merged under the former name, and the values that the rows showed when the table was renamed.
  private func former(
    _ source: StoredRecord, _ table: Int64, in new: Int64
  ) throws -> (State, base: [Int64: Value]) {
    let state = try records.state(RecordRef(table: table, key: .null), source)
    var (cells, base): ([Int64: State.Cell], [Int64: Value]) = ([:], [:])
    var successors: [Int64: Value] = [:]
    for (column, cell) in state.cells {
      let number = try transaction.catalog.columnNumber(transaction.catalog.column(column).name, of: new)
      // The column may also have another name here.
      let successor = try transaction.catalog.table(new).flatMap {
        try transaction.catalog.successor(of: number, in: $0)
      }
      for number in [number, successor].compactMap(\.self)
      where cells[number].map({ $0.stamp < cell.stamp }) ?? true {
        cells[number] = cell
      }
      base[number] = source.base(column)
      if let successor { successors[successor] = source.base(column) }
    }
    // The row showed the column under one of its names.
    for (column, value) in successors where base[column] ?? .null == .null { base[column] = value }
    for (column, value) in source.shown where !state.isAlive || state.cells[column] == nil {
      base[try transaction.catalog.columnNumber(transaction.catalog.column(column).name, of: new)] = value
    }
    return (State(generation: state.generation, life: state.life, cells: cells), base)
  }

  /// Adds the changes that somebody wrote to the row while its table was not synchronized.
  private func writeAgain(
    _ entry: PendingSlice.Entry, _ row: [Value], _ cells: inout [Int64: State.Cell], _ former: State,
    base: [Int64: Value]
  ) throws {
    for index in entry.table.columns.indices {
      let column = entry.table.columns[index].id
      // Without a base, the table may have got the column meanwhile, and a migration may have filled it.
      if let shown = base[column], shown != .null, try policies.addsUp(column, entry.table, cells) {
        if row[index] != shown { try writeDifference(entry, index, row[index], over: shown, &cells, former) }
        continue
      }
      let shown = try planner.value(entry, index, row[index])
      // A column that was added meanwhile has its default in each row. Nobody wrote that value.
      let isDefault = row[index] == entry.table.defaultValue(index)
      guard let known = cells[column] else {
        if !isDefault, row[index] != .null, index != entry.table.keyColumn || row[index] != entry.ref.key {
          cells[column] = State.Cell(stamp: planner.global(planner.importTime), value: shown)
        }
        continue
      }
      if shown == known.value || shown == base[column] { continue }
      if isDefault, former.cells[column] == nil || base[column] == .null && known.value != .null { continue }
      if known == former.cells[column], base[column] == known.value {
        cells[column] = State.Cell(
          stamp: planner.global(planner.time(entry.columns[column] ?? planner.now)), value: shown)
      } else {
        try planner.lose(entry, index, row[index], at: planner.time(planner.now), to: records.local(known.stamp))
      }
    }
  }

  /// Adds a program's write to a column whose policy merges writes of several devices into one value. A write that is an
  /// assignment, such as one of NULL, loses if another value was merged meanwhile.
  private func writeDifference(
    _ entry: PendingSlice.Entry, _ index: Int, _ new: Value, over shown: Value, _ cells: inout [Int64: State.Cell],
    _ former: State
  ) throws {
    let column = entry.table.columns[index].id
    let time = planner.time(entry.columns[column] ?? planner.now)
    var written = cells
    try policies.write(entry, index, new, at: time, over: shown, &written)
    if written[column] != cells[column] {
      let state = State(generation: former.generation, life: former.life, cells: cells)
      let merged = try transaction.folded(entry.table, state)[column] ?? cells[column]?.value
      if let merged, merged != shown {
        let winner = cells[column]?.stamp ?? former.life ?? planner.global(.zero)
        return try planner.lose(entry, index, new, at: time, to: records.local(winner))
      }
    }
    cells = written
  }

  /// Notes the merged values that a deleted row never showed, as conflicts.
  ///
  /// - Parameter base: The values that the row showed.
  private func loseHidden(_ entry: PendingSlice.Entry, _ state: State, _ base: [Int64: Value]) throws {
    let folded = try transaction.folded(entry.table, state)
    for (column, cell) in state.cells.sorted(by: { $0.key < $1.key }) where entry.table.indexes[column] != nil {
      guard let shown = base[column], shown != folded[column] ?? cell.value, cell.stamp.author != planner.writer.author
      else { continue }
      loseCell(entry, column, cell, to: planner.global(planner.time(planner.now)))
    }
  }

  /// Handles a record that was deleted under one of the names. If its row is still here, the row is deleted. Values
  /// that nobody has seen are kept as conflicts.
  private func adoptDeleted(
    _ entry: PendingSlice.Entry, _ state: State, _ old: StoredRecord?, _ row: [Value]?, _ base: [Int64: Value],
    _ source: StoredRecord
  ) throws -> Bool {
    if let row {
      // The row was written again after the delete.
      if !source.isAlive, base.isEmpty { return try planner.birth(entry, old ?? source, row) }
      for index in entry.table.columns.indices where row[index] != .null && index != entry.table.keyColumn {
        if try planner.value(entry, index, row[index]) == base[entry.table.columns[index].id] { continue }
        try planner.lose(
          entry, index, row[index], at: planner.time(planner.now),
          to: records.local(state.life ?? planner.global(.zero)))
      }
    }
    return try adoptDelete(entry, state.generation, old)
  }

  /// Sends the delete of an adopted record.
  ///
  /// - Parameter generation: The generation of the delete.
  private func adoptDelete(
    _ entry: PendingSlice.Entry, _ generation: UInt64, _ old: StoredRecord?
  ) throws -> Bool {
    let place = planner.layout.place(of: entry.table)
    guard planner.layout.take(entry.ref.key.encodedBound + 24, fields: 0, long: 0, of: planner.room, for: entry.table)
    else {
      return false
    }
    let stamp = planner.global(planner.time(planner.now, after: old))
    planner.layout.tables[place].rows.append(
      RowChange(key: entry.ref.key, generation: generation, isLife: true, stamp: stamp, fields: []))
    planner.plan.placed.append(
      .init(ref: entry.ref, table: entry.table, state: State(generation: generation, life: stamp), old: old))
    return true
  }
}
