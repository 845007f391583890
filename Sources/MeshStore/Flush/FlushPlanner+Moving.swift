import MeshCore

/// Moves records from one zone to another. A move first creates the record with the stamps that it has, so that all
/// devices that move the same record send the same. After all records that belong to it have moved too, the move
/// deletes it in the old zone.
extension FlushPlanner {
  /// Moves a record here. If it is here already, because another device has moved it or because it comes back before it
  /// has left, the edits made meanwhile are added, and the values that are later where it was. If another record with
  /// the same key is here, it gets all values, as if the row had been written over it.
  mutating func arrive(
    _ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]?, from zone: Int64
  ) throws -> Bool {
    guard let left = try transaction.zoneRows.read(id: zone) else { return true }
    let source = ZoneRecords(transaction, zone: left)
    guard let record = try source.load(entry.ref), record.isAlive, zone != records.zone.id else {
      if let old, let isDone = try continueLateParts(entry, old, row) { return isDone }
      guard let row else { return true }
      return try old?.isAlive == true ? edit(entry, old, row) : birth(entry, old, row)
    }
    let isNew = old?.isAlive != true
    var state = try source.state(entry.ref, record)
    var generation = (old?.generation ?? 0).nextGeneration
    var edits = try edits(entry, row, of: record, after: old)
    var later: [Int64: State.Cell] = [:]
    if let old, !isNew {
      let known = try records.state(entry.ref, old)
      transaction.reached(known.life == state.life ? .movedOntoItself : .movedOntoAnother)
      if known.life != state.life {
        edits = overwriting(state, with: edits, at: time(entry.wall, after: old))
      } else {
        // The record's values here may be those of the row that it gave up, which a program had edited by then. Such
        // edits are later where it was.
        later = state.cells.filter { column, cell in known.cells[column].map { $0.stamp < cell.stamp } ?? true }
      }
      (state, generation) = (known, old.generation)
    }
    var cells = state.cells.merging(later) { $1 }
    for edit in edits { cells[edit.column] = edit.cell }
    let life = state.life ?? global(time(entry.wall))
    state = State(generation: generation, life: life, cells: cells)
    let emitted = isNew ? cells : later.merging(edits.map { ($0.column, $0.cell) }) { $1 }
    // Only a birth may contain stamps of others.
    let isBirth = isNew || !later.isEmpty
    guard try emitted.isEmpty && !isNew || emit(entry, emitted, generation, isBirth ? life : nil) else { return false }
    for cell in emitted.values { plan.clock.witness(cell.stamp.time) }
    plan.clock.witness(life.time)
    plan.arrivals.append(.init(ref: entry.ref, table: entry.table, state: state, zone: zone, to: records.zone.id))
    return true
  }

  /// Continues the parts that devices wrote in a zone before they knew that the record had moved here. Returns nil if
  /// there are none, or if the row belongs to another record.
  private mutating func continueLateParts(
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
      plan.clock.witness(part.cell.stamp.time)
    }
    let state = State(generation: known.generation, life: known.life, cells: cells)
    guard try follow(entry, old, old.isShown ? row : nil, with: state, after: known) else { return false }
    plan.continued += late.map(\.conflict)
    return true
  }

  /// Deletes a record that has moved, with a stamp right after its birth. A delete that somebody made at the same time
  /// therefore keeps its own stamp, and can be distinguished from the move.
  mutating func depart(_ entry: PendingSlice.Entry, _ old: StoredRecord?) throws -> Bool {
    guard let old, old.isAlive else { return true }
    let isMove = entry.wall == PendingSlice.moved
    let time = isMove ? (old.stamps.life ?? old.stamps.base).time.next : time(now)
    plan.clock.witness(time)
    return try emitDelete(entry, old, LocalStamp(author: author, time: time), .departure)
  }

  /// Returns the edits made while the record moved.
  ///
  /// - Parameters:
  ///   - record: The record in the zone that it leaves. Its values are those that the program has changed.
  ///   - old: The record in this zone.
  private mutating func edits(
    _ entry: PendingSlice.Entry, _ row: [Value]?, of record: StoredRecord, after old: StoredRecord?
  ) throws -> [(column: Int64, cell: State.Cell)] {
    guard var row else { return [] }
    let isWhole = entry.isInserted || entry.isDeleted
    var edited: [Int: HybridTime] = [:]
    for (index, column) in entry.table.columns.enumerated() {
      guard let wall = entry.columns[column.id] ?? (isWhole ? entry.wall : nil) else { continue }
      // An edit is later than what it replaces, although the clocks of the two zones differ.
      edited[index] = max(time(wall, after: old), record.stamps.latest.next)
    }
    let parts = try takeParts(entry, record, &row, &edited)
    let whole = try edited.sorted { $0.key < $1.key }.map { index, time in
      let value = try value(entry, index, row[index])
      return (column: entry.table.columns[index].id, cell: State.Cell(stamp: global(time), value: value))
    }
    return whole + parts.cells.map { ($0.column, State.Cell(stamp: global($0.time), value: $0.value)) }
  }

  /// Returns the value, with the name of a long BLOB.
  mutating func value(_ entry: PendingSlice.Entry, _ index: Int, _ value: Value) throws -> Value {
    guard value.isUnread, let size = value.asset?.size, let found = try content(entry, index, size) else {
      return value
    }
    plan.manifests.append(found.manifest)
    return .asset(found.asset)
  }

  private func overwriting(
    _ state: State, with edits: [(column: Int64, cell: State.Cell)], at time: HybridTime
  ) -> [(column: Int64, cell: State.Cell)] {
    let cells = state.cells.mapValues { State.Cell(stamp: global(time), value: $0.value) }
    return cells.merging(edits.map { ($0.column, $0.cell) }) { $1 }.map { (column: $0, cell: $1) }
  }

  mutating func emit(
    _ entry: PendingSlice.Entry, _ cells: [Int64: State.Cell], _ generation: UInt64, _ life: Stamp?
  ) throws -> Bool {
    let table = entry.table
    let sorted = cells.sorted { $0.key < $1.key }
    let threshold = longThreshold(sorted.map(\.value.value.byteCount))
    let long = sorted.filter { $0.value.value.byteCount > threshold }
    let names = try sorted.map { try transaction.catalog.column($0.key).name }
    let manifests = try sorted.map { try manifest($0.value.value) }
    let inline = sorted.indices.reduce(0) {
      $0 + 12 + names[$1].utf8.count
        + (manifests[$1].map { AssetManifest.encodedBound(size: $0.size) }
          ?? min(sorted[$1].value.value.encodedBound, threshold + 6))
    }
    // The names of these columns are not counted yet.
    let unknown = sorted.count { table.indexes[$0.key] == nil }
    guard
      layout.take(
        entry.ref.key.encodedBound + 24 + inline, fields: sorted.count + unknown,
        long: long.reduce(0) { $0 + $1.value.value.byteCount }, of: room,
        for: table)
    else { return false }
    let place = layout.place(of: table)
    let stamp = life ?? sorted.map(\.value.stamp).max() ?? global(time(entry.wall))
    var fields = sorted.indices.map { index in
      let (column, cell) = sorted[index]
      return RowChange.Field(
        column: layout.column(column, names[index], of: table, at: place),
        stamp: cell.stamp == stamp ? nil : cell.stamp,
        value: manifests[index].map(FieldValue.asset)
          ?? (cell.value.byteCount > threshold ? reference(to: cell.value) : .value(cell.value)))
    }
    fields.sort { $0.column < $1.column }
    layout.tables[place].rows.append(
      RowChange(key: entry.ref.key, generation: generation, isLife: life != nil, stamp: stamp, fields: fields))
    return true
  }

  /// Returns the manifest of an asset that was met before or is in the plan.
  private func manifest(_ value: Value) throws -> AssetManifest? {
    guard let asset = value.asset, !asset.isUnread else { return nil }
    if let known = try transaction.contents.manifest(asset.id) { return known }
    return try plan.manifests.first { try $0.asset(transaction.cryptography) == asset }
  }
}
