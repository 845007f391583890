import GRDB
package import MeshCore

/// The values to restore.
package enum Restoration: Hashable, Sendable {
  /// A record. If it is deleted, its last values are restored. If it is alive, the values that the given columns
  /// overwrote are restored.
  ///
  /// - Parameters:
  ///   - descendants: Also restores the records that were deleted with it because they refer to it. A live record for
  ///     which no column is given stays as it is.
  ///   - zone: The zone of the record. Nil for the zone that shows it, or else that in which it was deleted last.
  case record(table: String, key: Value, columns: [String], descendants: Bool = false, zone: ZoneID? = nil)
  /// The value or the delete that lost in the conflict with this number.
  case conflict(Int64)
}

/// The values that were written to a table as a program would. They are captured, and sent as an edit made now.
package struct RestoredRecord: Hashable, Sendable {
  package var table: String
  package var key: Value
  /// The values by column name, or nil if the record was deleted again.
  package var values: [String: Value]?
  /// True if the record is alive and stays as it is. Only records that refer to it were restored.
  package var isUnchanged = false
  /// Columns that are not restored because this table doesn't have them.
  package var lacking: [String]
  /// Columns that are not restored because the bytes of their long BLOB are no longer here.
  package var gone: [String]
  /// Records that it refers to and that are not here. It is held until they are restored as well.
  package var waitsFor: [HeldEntry.Awaited]
  /// The number of records that came back with it.
  package var descendants = 0
}

extension StoreHistory {
  /// Restores values. Reads the whole log of the record's zone.
  ///
  /// - Throws: `RestoreError` if there is nothing to restore or the table refuses it.
  package func restore(
    _ wanted: Restoration, _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> RestoredRecord {
    let (plan, descendants) = try read { transaction -> (RestorePlan, [RestorePlan]) in
      let restorer = Restorer(transaction: transaction)
      let plan = try restorer.plan(wanted, reader)
      guard case .record(_, _, _, true, _) = wanted else { return (plan, []) }
      return (plan, try restorer.descendants(of: plan, reader))
    }
    return try write { transaction in
      let restorer = Restorer(transaction: transaction)
      var restored = plan.isUnchanged ? try restorer.unchanged(plan) : try restorer.carryOut(plan)
      guard !restored.isUnchanged || !descendants.isEmpty else {
        throw RestoreError.noDescendants(table: restored.table, key: restored.key)
      }
      for descendant in descendants { _ = try restorer.carryOut(descendant) }
      // The list would have it again as soon as somebody edits the restored value.
      if case .conflict(let id) = wanted { _ = try transaction.conflicts.dismiss(id) }
      restored.descendants = descendants.count
      return restored
    }
  }
}

/// The writes of a restoration, planned from a snapshot.
struct RestorePlan {
  let ref: RecordRef
  let zone: Int64
  /// The generation at the time of planning. If it has changed, somebody wrote to the record.
  let generation: UInt64
  /// The values to write, or nil to delete the row.
  var values: [Int64: Value]?
  /// Whether nothing is written, because only the records that refer to this live one are wanted.
  var isUnchanged = false
}

/// Restores values that were overwritten or deleted.
struct Restorer: InTransaction {
  let transaction: Transaction

  func plan(
    _ wanted: Restoration, _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> RestorePlan {
    switch wanted {
    case .record(let name, let key, let columns, let descendants, let zone):
      guard let number = catalog.knownTable(name) else {
        throw StoreError.unknownTable(name)
      }
      let table = try form(number)
      let ref = RecordRef(table: number, key: table.form.canonical(key))
      guard let place = try placeToRestore(ref, in: zone) else {
        throw RestoreError.unknownRecord(table: name, key: key)
      }
      let numbers = try columns.map { column in
        guard let index = table.index(named: column) else {
          throw RestoreError.unknownColumn(table: name, column: column)
        }
        return table.columns[index].id
      }
      return try plan(ref, place, numbers, descendants: descendants, reader)
    case .conflict(let id):
      guard let found = try transaction.conflicts.find(id), let zone = try transaction.counters.read(id: found.zone)
      else {
        throw RestoreError.unknownConflict(id)
      }
      let place = try placeToRestore(found.ref) ?? ZoneRecords(transaction, zone: zone)
      let record = try place.load(found.ref)
      var plan = RestorePlan(ref: found.ref, zone: place.zone.id, generation: record?.generation ?? 0, values: nil)
      if found.column == ZoneRecords.wholeRecord {
        guard record != nil else { throw RestoreError.unknownConflict(id) }
        return plan
      }
      let last = record?.isAlive == true ? nil : try lastState(found.ref, place, record, reader)
      if let last {
        plan.values = try shownValues(found.ref, last)
      } else if record?.isAlive != true {
        plan.values = try lostValues(found.ref, zone)
      }
      // The value that the row showed already contains the lost value of a column with parts.
      if last?.cells[found.column]?.value != found.value {
        let column =
          try catalog.part(found.column).map {
            try columnToWrite($0, found.column, lostIn: id, found.ref, place, found.value)
          } ?? found.column
        plan.values = (plan.values ?? [:]).merging([column: found.value]) { $1 }
      }
      return plan
    }
  }

  /// Returns the table of the records to restore.
  ///
  /// - Throws: `RestoreError` if the table is not synchronized here.
  private func form(_ table: Int64) throws -> TableForm {
    if let form = catalog.table(table) { return form }
    let name = try catalog.tableName(table)
    throw try transaction.tableList.isUntracked(table)
      ? RestoreError.untracked(table: name, heir: catalog.heir(of: table)?.schema.name) : RestoreError.noTable(name)
  }

  /// Returns the column into which a lost part is written.
  ///
  /// - Throws: `RestoreError` if the record has the part in its new zone, if the part adds to a row that may contain it, or
  ///   if the column's value beats it.
  private func columnToWrite(
    _ part: ColumnPart, _ number: Int64, lostIn conflict: Int64, _ ref: RecordRef, _ place: ZoneRecords, _ value: Value
  ) throws -> Int64 {
    let name = try catalog.displayedName(number)
    if try transaction.lateParts(ref, in: place).contains(where: { $0.conflict == conflict }) {
      throw RestoreError.continues(column: name)
    }
    guard part.policy != .counter else {
      throw RestoreError.counted(column: name, in: part.column)
    }
    guard let table = catalog.table(ref.table), let (_, whole) = try catalog.part(number, in: table),
      let index = table.indexes[whole]
    else { throw RestoreError.unknownColumn(table: try catalog.tableName(ref.table), column: part.column) }
    if part.policy.isComparison, let shown = try place.row(table, ref.key)?[index], !part.policy.beats(value, shown) {
      throw RestoreError.outdone(column: part.column, policy: part.policy)
    }
    return whole
  }

  /// Returns the last state of a record that is not there, or nil if the log doesn't have it.
  private func lastState(
    _ ref: RecordRef, _ place: ZoneRecords, _ record: StoredRecord?, _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> ZoneRecords.State? {
    guard let record else { return nil }
    let log = LogReader(transaction: transaction, zone: place.zone.id, reader: try reader(place.zone.zone))
    return try log.lastLives(before: [ref: record.generation])[ref]
  }

  /// Returns the values that the row of a record showed. Columns have in them what their parts say.
  private func shownValues(_ ref: RecordRef, _ state: ZoneRecords.State) throws -> [Int64: Value] {
    let values = try state.cells.filter { try catalog.part($0.key) == nil }.mapValues(\.value)
    guard let table = catalog.table(ref.table) else { return values }
    return try values.merging(transaction.folded(table, state)) { $1 }
  }

  /// Returns the values of a record that lost. The log no longer has its last ones because of a cutoff.
  private func lostValues(_ ref: RecordRef, _ zone: ZoneCounters) throws -> [Int64: Value] {
    try transaction.conflicts.lastValues(of: ref, in: zone.id).filter { try catalog.part($0.key) == nil }
  }

  /// Returns the zone that shows the record, or else the zone in which it was deleted last.
  ///
  /// - Parameter zone: The only zone that counts, or nil for all.
  func placeToRestore(_ ref: RecordRef, in zone: ZoneID? = nil) throws -> ZoneRecords? {
    let places = try transaction.recordRows.zones(of: ref).compactMap { id in
      try transaction.counters.read(id: id).flatMap {
        zone == nil || zone == $0.zone ? ZoneRecords(transaction, zone: $0) : nil
      }
    }
    let found = try places.compactMap { place in try place.load(ref).map { (place, $0) } }
    if let shown = found.first(where: { $0.1.isShown }) ?? found.first(where: { $0.1.isAlive }) { return shown.0 }
    return found.max { $0.1.stamps.latest < $1.1.stamps.latest }?.0
  }

  private func plan(
    _ ref: RecordRef, _ place: ZoneRecords, _ columns: [Int64], descendants: Bool,
    _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> RestorePlan {
    let name = try catalog.tableName(ref.table)
    guard let record = try place.load(ref) else { throw RestoreError.unknownRecord(table: name, key: ref.key) }
    let log = LogReader(transaction: transaction, zone: place.zone.id, reader: try reader(place.zone.zone))
    var plan = RestorePlan(ref: ref, zone: place.zone.id, generation: record.generation, values: nil)
    if let reason = record.held { throw RestoreError.held(reason) }
    if record.isAlive {
      guard !columns.isEmpty else {
        guard descendants else { throw RestoreError.lives(table: name, key: ref.key) }
        plan.isUnchanged = true
        return plan
      }
      let state = try place.state(ref, record)
      let beaten = try log.beaten(ref, state)
      var former: [Int64: ZoneRecords.State.Cell] = [:]
      // A device that restored or created the record again may have had to leave out a value.
      if columns.contains(where: { beaten[$0] ?? .null == .null }) {
        former = try log.lastLives(before: [ref: record.generation])[ref]?.cells ?? [:]
      }
      plan.values = try columns.reduce(into: [:]) { values, column in
        let overwritten = beaten[column].flatMap { $0 == .null ? nil : $0 } ?? former[column]?.value
        let isBeaten = beaten[column] != nil
        let known = try overwritten ?? (isBeaten ? beaten[column] : lostValue(ref, column, place, state))
        guard let known else { throw RestoreError.nothingBeaten(column: try catalog.column(column).name) }
        values[column] = known
      }
    } else {
      // A write would take over another zone's record, also one that is held.
      let others = try transaction.recordRows.zones(of: ref, .alive).filter { $0 != place.zone.id }
      if let other = try others.first.flatMap({ try transaction.counters.read(id: $0) }) {
        throw RestoreError.taken(table: name, key: ref.key, by: other.zone)
      }
      guard let last = try log.lastLives(before: [ref: record.generation])[ref] else {
        throw RestoreError.noHistory(table: name)
      }
      plan.values = try shownValues(ref, last)
    }
    return plan
  }

  /// Returns the last value of a column that is listed as lost. The log of the zone that shows the record doesn't have
  /// it if the record was another zone's before. Where another zone has a living record with the key, it is another
  /// record.
  private func lostValue(
    _ ref: RecordRef, _ column: Int64, _ place: ZoneRecords, _ state: ZoneRecords.State
  ) throws -> Value? {
    let others = try transaction.recordRows.zones(of: ref, .alive).filter { $0 != place.zone.id }
    return try transaction.conflicts.lost(of: ref)
      .filter { $0.column == column && $0.value != state.cells[column]?.value && !others.contains($0.zone) }
      .max { $0.id < $1.id }?.value
  }

  /// Returns the records that were deleted with the record or after it, and that referred to it directly or through
  /// others. Parents come before children. The deletes that follow from a parent's delete have the same time or a later
  /// one. If the record was born again since, records that were written after its birth don't count.
  func descendants(
    of root: RestorePlan, _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> [RestorePlan] {
    guard let zone = try transaction.counters.read(id: root.zone) else { return [] }
    let records = ZoneRecords(transaction, zone: zone)
    guard let record = try records.load(root.ref) else { return [] }
    let log = LogReader(transaction: transaction, zone: zone.id, reader: try reader(zone.zone))
    let reborn = record.isAlive ? record.stamps.life ?? record.stamps.base : nil
    guard let deleted = try record.isAlive ? log.lastDelete(of: root.ref) : record.stamps.latest else { return [] }
    var generations: [RecordRef: UInt64] = [:]
    for table in closure(of: root.ref.table) {
      for ref in try transaction.recordRows.deleted(of: table.id, in: zone.id) where ref != root.ref {
        guard let record = try records.load(ref), record.stamps.latest >= deleted else { continue }
        generations[ref] = record.generation
      }
    }
    let lives = try log.lastLives(before: generations).filter { _, state in
      reborn.map { reborn in state.cells.values.allSatisfy { $0.stamp.time < reborn.time } } ?? true
    }
    var (found, parents): ([RestorePlan], [RecordRef]) = ([], [root.ref])
    while let parent = parents.popLast() {
      for reference in catalog.table(parent.table)?.referrers ?? [] {
        guard let child = catalog.table(reference.child), let form = catalog.table(parent.table) else { continue }
        let column = child.columns[reference.column].id
        for (ref, state) in lives.sorted(by: { $0.key.key < $1.key.key }) where ref.table == child.id {
          guard let generation = generations[ref], let value = state.cells[column]?.value,
            form.parentKey(value) == parent.key
          else { continue }
          generations[ref] = nil
          found.append(
            RestorePlan(ref: ref, zone: zone.id, generation: generation, values: try shownValues(ref, state)))
          parents.append(ref)
        }
      }
    }
    return found
  }

  /// Returns the tables whose rows can refer to rows of the table, directly or through others.
  private func closure(of table: Int64) -> [TableForm] {
    var (found, next): ([Int64: TableForm], [Int64]) = ([:], [table])
    while let id = next.popLast() {
      for reference in catalog.table(id)?.referrers ?? [] where found[reference.child] == nil {
        found[reference.child] = catalog.table(reference.child)
        next.append(reference.child)
      }
    }
    return found.values.sorted { $0.id < $1.id }
  }

  /// Returns the report of a live record of which nothing is restored.
  func unchanged(_ plan: RestorePlan) throws -> RestoredRecord {
    RestoredRecord(
      table: try catalog.tableName(plan.ref.table), key: plan.ref.key, values: [:], isUnchanged: true, lacking: [],
      gone: [], waitsFor: [])
  }

  func carryOut(_ plan: RestorePlan) throws -> RestoredRecord {
    let name = try catalog.tableName(plan.ref.table)
    let table = try form(plan.ref.table)
    guard let zone = try transaction.counters.read(id: plan.zone) else { throw RestoreError.changed }
    // There is no record if a cutoff reverted its birth.
    let record = try ZoneRecords(transaction, zone: zone).load(plan.ref)
    if let reason = record?.held { throw RestoreError.held(reason) }
    let (isAlive, hasRow) = (record?.isAlive ?? false, try table.hasRow(plan.ref.key, sql))
    guard record?.generation ?? 0 == plan.generation, isAlive == hasRow else { throw RestoreError.changed }
    let key = try catalog.columnNumber(table.keyName, of: plan.ref.table)
    let wanted = plan.values?.filter { table.form.keyIsColumn || $0.key != key }
    // A write of the value that the row shows anyway would change nothing that a trigger could see.
    for (column, value) in wanted ?? [:] where value.asset != nil && record?.extra[column]?.asset != nil {
      guard record?.shown[column] != value else {
        throw RestoreError.stillShown(column: try catalog.column(column).name)
      }
    }
    if isAlive, let wanted, !wanted.isEmpty, wanted.keys.allSatisfy({ table.indexes[$0] == nil }) {
      let columns = try wanted.keys.map { try catalog.column($0).name }.sorted()
      throw RestoreError.lacking(table: name, key: plan.ref.key, columns: columns)
    }
    let (values, gone) = try withBytes(wanted, plan.ref, table)
    if let column = gone.first, values?.isEmpty == true, isAlive { throw RestoreError.assetGone(column: column) }
    if !table.keeps(plan.ref.key) {
      throw RestoreError.refused(Materialiser.unfitKey(plan.ref.key, table), values: try named(values ?? [:]))
    }
    do {
      try ReceiptWriter(transaction: transaction).writeAgain(plan.ref, values, table)
    } catch let error as DatabaseError where error.refusesRow && sql.isInTransaction {
      let refused = try named(values ?? [:])
      throw error.message == ZoneStanding.refusal
        ? RestoreError.readOnly(values: refused) : RestoreError.refused(error.reason, values: refused)
    }
    // A long BLOB is given by its name, whatever its length.
    let known = wanted?.filter { table.indexes[$0.key] != nil && values?[$0.key] != nil }
    let lacking = try (values ?? [:]).keys.filter { table.indexes[$0] == nil }.map { try catalog.column($0).name }
    return RestoredRecord(
      table: name, key: plan.ref.key, values: try known.map(named), lacking: lacking.sorted(), gone: gone,
      waitsFor: try missingParents(table, values ?? [:]))
  }

  /// Returns the values with the bytes of long BLOBs in place of their names. A BLOB may be in any row, also in one
  /// that still shows a former BLOB, or among the kept ones. If the bytes of a BLOB are not here, its column is left
  /// out and listed in `gone`. The other columns are restored nevertheless.
  private func withBytes(
    _ values: [Int64: Value]?, _ ref: RecordRef, _ table: TableForm
  ) throws -> (values: [Int64: Value]?, gone: [String]) {
    var (found, gone): ([Int64: Value]?, [String]) = (values, [])
    for (column, value) in values ?? [:] {
      guard let asset = value.asset else { continue }
      let own = table.indexes[column].map { RowCell(table: table, key: ref.key, index: $0) }
      var content: [UInt8]?
      for cell in try transaction.contents.cells(showing: asset.id) + [own] where content == nil {
        content = try transaction.contents.bytes(of: asset, cell, limit: .max)
      }
      found?[column] = content.map(Value.blob)
      if content == nil { gone.append(try catalog.column(column).name) }
    }
    return (found, gone.sorted())
  }

  private func named(_ values: [Int64: Value]) throws -> [String: Value] {
    Dictionary(try values.map { (try catalog.column($0.key).name, $0.value) }, uniquingKeysWith: { $1 })
  }

  private func missingParents(_ table: TableForm, _ values: [Int64: Value]) throws -> [HeldEntry.Awaited] {
    try table.references.compactMap { reference in
      guard !reference.isReset, let value = values[table.columns[reference.column].id], value != .null,
        let parent = catalog.table(reference.parent), try !parent.hasParent(value, sql)
      else { return nil }
      return HeldEntry.Awaited(table: parent.schema.name, key: parent.parentKey(value), zone: nil)
    }
  }
}
