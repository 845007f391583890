import MeshCore

/// Makes a `FlushPlan` from the oldest rows of the pending log. Reads only; where a list of columns has no number yet it
/// throws `NeedsWriteLock`, and the plan is made under the lock.
struct FlushPlanner {
  typealias State = ZoneRecords.State

  let records: ZoneRecords
  let writer: ChangeSetWriter
  /// The author's number in this file.
  let author: Int64
  let now: Int64
  /// Bytes that the part's changes may take.
  let room: Int
  /// Long values that have been sent in this unit already.
  let sent: [Value: UInt64]

  private var plan = FlushPlan()
  private var size = 0
  private var places: [Int64: Int] = [:]
  private var columnPlaces: [[Int64: Int]] = []
  private var times: [Int64: HybridTime] = [:]
  private var longBytes = 0

  private var session: Session { records.session }

  init(
    _ records: ZoneRecords, writer: ChangeSetWriter, author: Int64, now: Int64, room: Int, sent: [Value: UInt64]
  ) {
    self.records = records
    self.writer = writer
    self.author = author
    self.now = now
    self.room = room
    self.sent = sent
  }

  mutating func make() throws -> FlushPlan {
    let slice = try PendingSlice.read(session)
    plan = FlushPlan(
      consumed: slice.strays, isWhole: slice.isWhole, lastID: slice.lastID,
      schemaVersion: session.catalog.schemaVersion,
      clock: records.zone.clock)
    giveTimes(slice.entries)
    for entry in slice.entries {
      guard try add(entry) else {
        plan.isWhole = false
        break
      }
      plan.consumed += entry.ids
    }
    return plan
  }

  /// One time serves all that one trigger time touched.
  private mutating func giveTimes(_ entries: [PendingSlice.Entry]) {
    var walls = Set(entries.map(\.wall))
    for entry in entries { walls.formUnion(entry.columns.values) }
    for wall in walls.sorted() { times[wall] = plan.clock.tick(noted: wall == 0 ? now : wall, now: now) }
  }

  private func time(_ wall: Int64) -> HybridTime { times[wall] ?? .zero }

  /// False where the part is full.
  private mutating func add(_ entry: PendingSlice.Entry) throws -> Bool {
    let old = try records.load(entry.ref)
    let row = try records.row(entry.table, entry.ref.key)
    if let row {
      let isNew = old == nil || old?.isAlive == false || entry.isDeleted
      return try isNew ? birth(entry, old, row) : edit(entry, old, row)
    }
    guard let old, old.isAlive else { return true }
    if old.held != nil, !entry.isDeleted { return try editHeld(entry, old) }
    return try delete(entry, old)
  }

  // MARK: Births

  private mutating func birth(_ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]) throws -> Bool {
    let generation = (old?.generation ?? 0) + (old?.isAlive ?? false ? 2 : 1)
    let base = entry.isImported && !entry.isInserted && !entry.isDeleted ? HybridTime.zero : time(entry.wall)
    var cells: [(index: Int, time: HybridTime)] = []
    for index in entry.table.columns.indices {
      // The key's spelling is a column only where it is not the canonical one.
      if index == entry.table.keyColumn, row[index] == entry.ref.key { continue }
      let edited = base == .zero ? entry.columns[entry.table.columns[index].id].map(time) : nil
      cells.append((index, edited ?? base))
    }
    return try emit(entry, .birth, old: old, generation: generation, life: base, cells, row, keeping: [:])
  }

  // MARK: Edits

  private mutating func edit(_ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]) throws -> Bool {
    guard let old else { return true }
    // What is only taken in has its edits noted elsewhere in the log, if there are any.
    let isOnlyCompared = !entry.isInserted && entry.columns.isEmpty
    let isExact = isOnlyCompared || (entry.ids.first ?? 0) > records.zone.ahead
    let different =
      try isExact && old.held == nil
      ? records.differences(entry.ref, old, entry.table, row: row) : Array(entry.table.columns.indices)
    // Whatever was noted may have been taken back by a later write.
    if different.isEmpty {
      // A reference may have been written again whose parent is still gone.
      if !old.extra.isEmpty { plan.reshown.append(entry.ref) }
      return true
    }
    let table = entry.table
    var edited: [Int: HybridTime] = [:]
    if entry.isInserted || (entry.isImported && old.held == nil) {
      for index in entry.isInserted ? Array(table.columns.indices) : different { edited[index] = time(entry.wall) }
      if let key = table.keyColumn, row[key] == entry.ref.key, try !isStamped(table.columns[key].id, old) {
        edited[key] = nil
      }
    }
    for (column, wall) in entry.columns {
      // What a migration filled in is older than every edit, as what was there before the table was synchronized.
      if let index = table.indexes[column] { edited[index] = wall == PendingSlice.migrated ? .zero : time(wall) }
    }
    if entry.isImported, old.held != nil, edited.isEmpty { return try importHeld(entry, old, row) }
    let derived = try derivedResets(entry, old, row, Set(edited.keys))
    for index in derived.keys { edited[table.columns.firstIndex { $0.id == index } ?? -1] = nil }
    let cells = edited.sorted { $0.key < $1.key }.map { (index: $0.key, time: $0.value) }
    return try emit(
      entry, .edit, old: old, generation: old.generation, life: nil, cells, row, keeping: derived)
  }

  private func isStamped(_ column: Int64, _ old: StoredRecord) throws -> Bool {
    try records.columns(old.stamps).contains { $0.column == column }
  }

  /// Rows of a table that is synchronized again meet records that came meanwhile: whatever is merged wins over them.
  private mutating func importHeld(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]) throws -> Bool {
    let stamped = Set(try records.columns(old.stamps).map(\.column))
    let cells = entry.table.columns.indices
      .filter { !stamped.contains(entry.table.columns[$0].id) && $0 != entry.table.keyColumn && row[$0] != .null }
      .map { (index: $0, time: HybridTime.zero) }
    plan.reshown.append(entry.ref)
    guard !cells.isEmpty else { return true }
    return try emit(
      entry, .edit, old: old, generation: old.generation, life: nil, cells, row, keeping: old.extra, isHeld: true)
  }

  /// An edit whose record was withdrawn from its table before the edit was flushed: the values were kept then.
  private mutating func editHeld(_ entry: PendingSlice.Entry, _ old: StoredRecord) throws -> Bool {
    var row = entry.table.columns.indices.map { old.extra[entry.table.columns[$0].id] ?? .null }
    if let key = entry.table.keyColumn, row[key] == .null { row[key] = entry.ref.key }
    let cells = entry.columns.compactMap { column, wall in
      old.extra[column] == nil ? nil : entry.table.indexes[column].map { (index: $0, time: time(wall)) }
    }.sorted { $0.index < $1.index }
    guard !cells.isEmpty else { return true }
    return try emit(
      entry, .edit, old: old, generation: old.generation, life: nil, cells, row, keeping: old.extra, isHeld: true)
  }

  // MARK: Deletes

  private mutating func delete(_ entry: PendingSlice.Entry, _ old: StoredRecord) throws -> Bool {
    for reference in entry.table.referrers where reference.action == .cascade {
      guard let child = session.catalog.table(reference.child) else { continue }
      if try session.sql.exists(child.keysReferring(reference.column) + " LIMIT 1", [entry.ref.key]) {
        plan.cascades.append(FlushPlan.Cascade(reference: reference, parent: entry.ref.key))
      }
    }
    let stamp = LocalStamp(author: author, time: time(entry.wall))
    let bytes = entry.ref.key.encodedBound + 24
    guard fits(bytes, entry) else { return false }
    let place = tablePlace(entry.table)
    plan.tables[place].rows.append(
      RowChange(
        key: entry.ref.key, generation: old.generation + 1, isLife: true, stamp: global(stamp.time), fields: []))
    let record = StoredRecord(
      generation: old.generation + 1, hash: nil,
      stamps: RecordStamps(base: stamp, layout: try session.catalog.layoutNumber([], of: entry.ref.table)))
    plan.changes.append(.init(ref: entry.ref, table: entry.table, record: record, old: old, kind: .delete))
    return true
  }

  private func global(_ time: HybridTime) -> Stamp { Stamp(time: time, author: writer.author) }
}

// MARK: - Effects of ON DELETE SET NULL

extension FlushPlanner {
  /// References that SQLite set to NULL or default because their parent was deleted: derived, and so not sent. Column →
  /// merged value. The value is gone from the row; the parent's delete, which the log notes next, names it, and the
  /// record's hash proves it. Where it cannot be proven, the NULL is sent as an edit.
  private func derivedResets(
    _ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value], _ edited: Set<Int>
  ) throws -> [Int64: Value] {
    guard old.isShown, !entry.isInserted, let first = entry.ids.first else { return [:] }
    var found: [Int64: Value] = [:]
    var values = try records.values(entry.ref, old, row: row)
    for reference in entry.table.references where reference.isReset && edited.contains(reference.column) {
      let column = entry.table.columns[reference.column].id
      let shown = reference.action == .setDefault ? entry.table.defaultValue(reference.column) : .null
      guard row[reference.column] == shown, let parent = session.catalog.table(reference.parent) else { continue }
      let key = try session.sql.first(
        "SELECT key FROM mesh_pending WHERE id > ? AND tbl = ? AND op = 3 ORDER BY id LIMIT 1",
        [.integer(first), .integer(parent.id)]
      ) { $0.value(0) }
      guard let key, try !records.hasRow(parent, key) else { continue }
      found[column] = key
      values[column] = key
    }
    guard !found.isEmpty else { return [:] }
    return try records.hash(entry.ref, old, values) == old.hash ? found : [:]
  }
}

// MARK: - Emitting

extension FlushPlanner {
  /// Adds a birth or an edit. False where the part is full.
  ///
  /// - Parameters:
  ///   - life: Of a birth.
  ///   - cells: The columns that get a new stamp.
  ///   - keeping: Merged values that the row does not show.
  ///   - isHeld: The record stays out of its table.
  private mutating func emit(
    _ entry: PendingSlice.Entry, _ kind: FlushPlan.Change.Kind, old: StoredRecord?, generation: UInt64,
    life: HybridTime?, _ cells: [(index: Int, time: HybridTime)], _ row: [Value], keeping: [Int64: Value],
    isHeld: Bool = false
  ) throws -> Bool {
    let table = entry.table
    guard cells.allSatisfy({ row[$0.index].byteCount <= Limits.longValue }) else {
      plan.tooLong.append(entry.ref)
      return true
    }
    let rowTime = life ?? cells.map(\.time).max() ?? .zero
    let threshold = longThreshold(cells.map { row[$0.index].byteCount })
    let long = cells.filter { row[$0.index].byteCount > threshold }.map { row[$0.index] }
    let inline = cells.reduce(0) { $0 + ($1.time == rowTime ? 2 : 12) + min(row[$1.index].encodedBound, threshold + 6) }
    guard fits(entry.ref.key.encodedBound + 24 + inline, entry, long: long.reduce(0) { $0 + $1.byteCount }) else {
      return false
    }
    let record = try self.record(entry.ref, table, old: old, generation, life, cells, row, keeping, isHeld)
    plan.changes.append(.init(ref: entry.ref, table: table, record: record, old: old, kind: kind))
    guard !cells.isEmpty || kind == .birth else { return true }
    let place = tablePlace(table)
    let fields = cells.map { cell in
      let value = row[cell.index]
      return RowChange.Field(
        column: columnPlace(cell.index, table, place), stamp: cell.time == rowTime ? nil : global(cell.time),
        value: value.byteCount > threshold ? reference(to: value) : .value(value))
    }
    plan.tables[place].rows.append(
      RowChange(
        key: entry.ref.key, generation: generation, isLife: kind == .birth, stamp: global(rowTime),
        fields: fields.sorted { $0.column < $1.column }))
    return true
  }

  /// Longer values travel in pieces, so that the row's change fits into a part with others.
  private func longThreshold(_ sizes: [Int]) -> Int {
    for threshold in [StoreLimits.inlineValue, StoreLimits.inlineValue / 16, StoreLimits.inlineValue / 1_024]
    where sizes.reduce(0, { $0 + min($1, threshold) }) <= room / 2 {
      return threshold
    }
    return 0
  }

  private mutating func reference(to value: Value) -> FieldValue {
    let ordinal: UInt64
    if let known = sent[value] ?? plan.longValues.first(where: { $0.value == value })?.ordinal {
      ordinal = known
    } else {
      ordinal = records.zone.flushValues + UInt64(plan.longValues.count)
      plan.longValues.append(FlushPlan.LongValue(ordinal: ordinal, value: value))
    }
    if case .text = value { return .long(ordinal: ordinal, size: value.byteCount, isText: true) }
    return .long(ordinal: ordinal, size: value.byteCount, isText: false)
  }

  /// The first record of a part always fits.
  private mutating func fits(_ bytes: Int, _ entry: PendingSlice.Entry, long: Int = 0) -> Bool {
    let names = places[entry.table.id] == nil ? entry.table.columns.reduce(300) { $0 + $1.name.utf8.count + 3 } : 0
    guard plan.changes.isEmpty || (size + bytes + names <= room && longBytes + long <= Limits.longValue) else {
      return false
    }
    size += bytes + names
    longBytes += long
    return true
  }

  private mutating func tablePlace(_ table: TableForm) -> Int {
    if let known = places[table.id] { return known }
    plan.tables.append(TableChanges(table: table.schema.name, columns: []))
    columnPlaces.append([:])
    places[table.id] = plan.tables.count - 1
    return plan.tables.count - 1
  }

  private mutating func columnPlace(_ index: Int, _ table: TableForm, _ place: Int) -> Int {
    let id = table.columns[index].id
    if let known = columnPlaces[place][id] { return known }
    plan.tables[place].columns.append(table.columns[index].name)
    columnPlaces[place][id] = plan.tables[place].columns.count - 1
    return plan.tables[place].columns.count - 1
  }

  /// The row of `mesh_record` after the change.
  private func record(
    _ ref: RecordRef, _ table: TableForm, old: StoredRecord?, _ generation: UInt64, _ life: HybridTime?,
    _ cells: [(index: Int, time: HybridTime)], _ row: [Value], _ keeping: [Int64: Value], _ isHeld: Bool
  ) throws -> StoredRecord {
    var stamps: [Int64: LocalStamp] = [:]
    var born = life.map { LocalStamp(author: author, time: $0) }
    var extra = keeping
    if let old, life == nil {
      for (column, stamp) in try records.columns(old.stamps) { stamps[column] = stamp }
      let known = old.stamps.life ?? old.stamps.base
      born = known.author == 0 ? nil : known
      // What the row shows by derivation stays as it was merged; what is edited now is in the row.
      for (column, value) in old.extra where table.indexes[column] == nil || old.held == nil {
        extra[column] = extra[column] ?? value
      }
    }
    for cell in cells {
      let column = table.columns[cell.index].id
      stamps[column] = LocalStamp(author: author, time: cell.time)
      if isHeld { extra[column] = row[cell.index] } else { extra[column] = nil }
    }
    let sorted = stamps.map { (column: $0.key, stamp: $0.value) }.sorted { $0.column < $1.column }
    let kept = try old.flatMap { life == nil ? try session.catalog.layout($0.stamps.layout) : nil }
    let packed = try RecordStamps(sorted, life: born, previous: kept) {
      try session.catalog.layoutNumber($0, of: ref.table)
    }
    let named = try sorted.map { entry in
      let value = extra[entry.column] ?? table.indexes[entry.column].map { row[$0] } ?? .null
      return (
        name: try session.catalog.column(entry.column).folded, stamp: try stamp(entry.stamp), value: value
      )
    }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    let hash = RecordHash(
      table: Array(table.schema.name.asciiLowercased.utf8), key: ref.key, generation: generation, cells: named,
      session.cryptography)
    return StoredRecord(
      generation: generation, hash: hash, stamps: packed, extra: extra, held: isHeld ? old?.held : nil)
  }

  private func stamp(_ local: LocalStamp) throws -> Stamp {
    local.author == author ? global(local.time) : try records.global(local)
  }
}

extension Value {
  /// Of a text or BLOB; 0 of others.
  var byteCount: Int {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes.count
    case .null, .integer, .real: 0
    }
  }
}
