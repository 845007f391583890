import MeshCore

/// Rolls back local writes to zones that this device may not write. The triggers prevent such writes, unless a program
/// had begun to write before the permission was lost, or has removed the triggers.
extension StoreCapture {
  /// Resets a slice of these rows to the merged values, and keeps the writes as receipts.
  func rollBack(_ reader: (ZoneID) throws -> ChangeSetReader, now: Int64) throws {
    try writeRefusing(notingAt: now, reader) { transaction, refused in
      try transaction.applying { try transaction.rollBackSlice(reader, refused, now: now) }
    }
  }
}

extension Transaction {
  fileprivate func rollBackSlice(
    _ reader: (ZoneID) throws -> ChangeSetReader, _ refused: [RecordRef: String], now: Int64
  ) throws {
    let rows = try pending.forbidden(limit: Choices.slice)
    var merged: [Int64: Set<RecordRef>] = [:]
    var (written, deleted): (Set<WrittenRecord>, Set<WrittenRecord>) = ([], [])
    var former: [RecordRef: Set<Int64>] = [:]
    var notes: [WrittenRecord: [Int64]] = [:]
    for row in rows {
      guard let table = catalog.table(row.table) else { continue }
      let ref = RecordRef(table: row.table, key: table.form.canonical(row.key))
      // The record has moved to another zone, and also stays in its old one.
      if row.op == PendingSlice.Op.depart {
        merged[row.zone, default: []].insert(ref)
        continue
      }
      let place = WrittenRecord(zone: row.zone, ref: ref)
      written.insert(place)
      notes[place, default: []].append(row.id)
      switch row.op {
      case PendingSlice.Op.was: former[ref, default: []].insert(table.successors[row.word] ?? row.word)
      case PendingSlice.Op.delete:
        deleted.insert(place)
        former[ref] = nil
      case PendingSlice.Op.insert, PendingSlice.Op.update, PendingSlice.Op.importing: deleted.remove(place)
      default: break
      }
    }
    try run.endAll(counters)
    let before = try values(written.sorted(), deleted)
    let left = Set(written.subtracting(before.map(\.place)).flatMap { notes[$0] ?? [] })
    try pending.remove(rows.map(\.id).filter { !left.contains($0) })
    for (place, _) in before {
      if try held(place) != nil {
        merged[place.zone, default: []].insert(place.ref)
      } else if let owner = try self.place(of: place.ref) {
        merged[owner, default: []].insert(place.ref)
      } else {
        try remove(place.ref)
      }
    }
    for (zone, refs) in merged.sorted(by: { $0.key < $1.key }) {
      guard let row = try counters.read(id: zone) else { continue }
      // Only the rows had the merged values, so these are read back from the log.
      let ordered = refs.sorted { ($0.table, $0.key) < ($1.table, $1.key) }
      let reverter = try Reverter(self, row, try reader(row.zone), [:])
      try reverter.restate(ordered, reverter.replay(ordered, [:]), refused, [:], now: now)
    }
    for (place, was) in before {
      var room = StoreLimits.assetInMemory
      let merged = try values(place, &room)
      let lost = was?.filter { merged?[$0.key] != $0.value }
      // Nil means that the record was deleted.
      guard lost.map({ !$0.isEmpty }) ?? (merged != nil) else { continue }
      let kept = try lost.map { try counted($0, over: merged ?? [:], former[place.ref] ?? [], place) }
      try noteReceipt(place.ref, kept, zone: place.zone, .notPermitted, now: now)
    }
  }

  /// Reads the values of records that programs wrote. Those of records that would take up too much memory are left for
  /// the next slice.
  private func values(
    _ written: [WrittenRecord], _ deleted: Set<WrittenRecord>
  ) throws -> [(place: WrittenRecord, values: [Int64: Value]?)] {
    var found: [(place: WrittenRecord, values: [Int64: Value]?)] = []
    var bytes = 0
    for place in written where bytes < StoreLimits.assetInMemory / 4 {
      var room = StoreLimits.assetInMemory
      // A record whose row a program deleted may be held because the row is missing.
      let isGone = try deleted.contains(place) && row(place.ref, &room) == nil
      found.append((place, isGone ? nil : try values(place, &room)))
      bytes += StoreLimits.assetInMemory - room
    }
    return found
  }

  /// Replaces the values of counters with what programs added to them.
  ///
  /// - Parameter columns: The columns whose values before the writes are known. Other writes are assignments.
  func counted(
    _ values: [Int64: Value], over shown: [Int64: Value], _ columns: Set<Int64>, _ place: WrittenRecord
  ) throws -> [Int64: Value] {
    guard !columns.isEmpty, let table = catalog.table(place.ref.table), let device,
      let instance = try counters.read(id: place.zone)?.instance
    else { return values }
    let policies = catalog.policies(of: table, in: try catalog.zones().entries[place.zone]?.standing.owner)
    var counted = values
    for column in columns.sorted() where policies[column] == .counter {
      guard let index = table.indexes[column], case .integer(let new) = values[column],
        case .integer(let old) = shown[column]
      else { continue }
      let part = ColumnPart(
        .counter, author: Author(device: device, instance: instance), column: table.columns[index].name)
      counted[column] = nil
      counted[try catalog.columnNumber(part.name, of: table.id)] = .integer(Int64(clamping: Int128(new) - Int128(old)))
    }
    return counted
  }

  /// Returns the values that a program wrote to a record. They are in its row, or beside it if another zone's record
  /// now has the row.
  private func values(_ place: WrittenRecord, _ room: inout Int) throws -> [Int64: Value]? {
    try held(place)?.extra ?? row(place.ref, &room)
  }

  private func held(_ place: WrittenRecord) throws -> StoredRecord? {
    guard let zone = try counters.read(id: place.zone),
      let record = try ZoneRecords(self, zone: zone).load(place.ref), record.isAlive, record.held != nil
    else { return nil }
    return record
  }

  /// Returns the row's values by column, or nil if there is no row. Long BLOBs are included as far as they fit into
  /// `room` bytes.
  func row(_ ref: RecordRef, _ room: inout Int) throws -> [Int64: Value]? {
    guard let table = catalog.table(ref.table) else { return nil }
    var row = try sql.first(table.select, [ref.key]) { table.row($0) }
    for (index, value) in (row ?? []).enumerated() {
      let cell = RowCell(table: table, key: ref.key, index: index)
      guard let asset = value.asset, let bytes = try contents.bytes(of: asset, cell, limit: room) else { continue }
      row?[index] = .blob(bytes)
      room -= bytes.count
    }
    return row.map { Dictionary(zip(table.columns.map(\.id), $0), uniquingKeysWith: { first, _ in first }) }
  }

  /// Deletes a row that nobody has merged.
  private func remove(_ ref: RecordRef) throws {
    guard let table = catalog.table(ref.table),
      let zone = try catalog.zones().privateZone.flatMap({ try counters.read(id: $0) })
    else { return }
    let materialiser = try Materialiser(ZoneRecords(self, zone: zone), progress())
    try materialiser.rows.deleteRow(table, ref.key)
    try materialiser.leave(ref, table)
    try materialiser.settle()
  }
}

/// A record with pending notes that its zone no longer accepts.
struct WrittenRecord: Hashable, Comparable {
  let zone: Int64
  let ref: RecordRef
  static func < (left: WrittenRecord, right: WrittenRecord) -> Bool {
    (left.ref.table, left.ref.key, left.zone) < (right.ref.table, right.ref.key, right.zone)
  }
}
