import GRDB
public import MeshCore

/// What is to be put back.
public enum Restoration: Hashable, Sendable {
  /// Of a record that is deleted, all that it had last; of one that lives, what the values of these columns overwrote.
  case record(table: String, key: Value, columns: [String])
  /// The value, or the delete, that lost in a conflict, by its number.
  case conflict(Int64)
}

/// What was written to a table, as a program would: it is captured, and sent as an edit of now.
public struct RestoredRecord: Hashable, Sendable {
  public var table: String
  public var key: Value
  /// Nil where the record was deleted again.
  public var values: [String: Value]?
  /// Columns that are not restored: the history has them and this table lacks them, or they had a long BLOB that is gone.
  public var lacking: [String]
  /// Records that it refers to and that are not here: it is held till they are restored as well.
  public var waitsFor: [HeldRecord.Awaited]
}

/// Why nothing was restored.
public enum RestoreError: Error, Hashable, Sendable, CustomStringConvertible {
  case unknownRecord(table: String)
  case unknownConflict(Int64)
  case unknownColumn(table: String, column: String)
  /// It lives, and no column was named.
  case lives(table: String)
  /// Nobody overwrote anything in the column.
  case nothingBeaten(column: String)
  case held(HeldReason)
  /// Its last state is not in the log.
  case noHistory(table: String)
  /// Somebody wrote to it meanwhile.
  case changed
  /// Nothing but a long BLOB was to come back, and its bytes are not here any more.
  case assetGone(column: String)
  /// In SQLite's own words.
  case refused(String)

  public var description: String {
    switch self {
    case .unknownRecord(let table): "The table \(table) has no record with that key, and had none."
    case .unknownConflict(let id): "There is no conflict \(id), or it is too old to be kept: mesh conflicts lists them."
    case .unknownColumn(let table, let column): "\(table) has no column \(column) here: name one of the table's own."
    case .lives(let table):
      "The record is not deleted. Name the columns of \(table) whose former value is to come back, with --column; "
        + "mesh explain record shows what each has overwritten."
    case .nothingBeaten(let column): "Nobody has overwritten a value of \(column): there is none to put back."
    case .held(let reason):
      "The record is kept and not shown (\(reason.name)), so its values can't be written: mesh held says what would free it."
    case .noHistory(let table): "What the record of \(table) had before it was deleted is not in the log."
    case .assetGone(let column):
      "The BLOB of \(column) that was overwritten is not here any more: BLOBs of more than 16 KiB are kept in their rows alone."
    case .changed: "The record was written to meanwhile: look at it, and say it again."
    case .refused(let text): "The table refuses what was to be restored: \(text)."
    }
  }
}

extension Store {
  /// Throws `RestoreError` where there is nothing to restore, or the table refuses it. Reads the whole log of the record's zone.
  public func restore(
    _ wanted: Restoration, _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> RestoredRecord {
    let plan = try read { try $0.plan(wanted, reader) }
    return try write { try $0.carryOut(plan) }
  }
}

/// What a restoration writes, made from a snapshot.
private struct RestorePlan {
  let ref: RecordRef
  let zone: Int64
  /// As the plan was made from; another means that somebody wrote.
  let generation: UInt64
  /// Nil to delete the row.
  var values: [Int64: Value]?
}

extension Session {
  fileprivate func plan(
    _ wanted: Restoration, _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> RestorePlan {
    switch wanted {
    case .record(let name, let key, let columns):
      guard let number = catalog.knownTable(name) else {
        throw StoreError(.unknownTable, "no synchronized table is called \(name); mesh status lists them")
      }
      let ref = RecordRef(table: number, key: catalog.table(number)?.form.canonical(key) ?? key)
      guard let place = try placeToRestore(ref) else { throw RestoreError.unknownRecord(table: name) }
      let numbers = try columns.map { column in
        let known = catalog.table(number)?.index(named: column).flatMap { catalog.table(number)?.columns[$0].id }
        guard let known else { throw RestoreError.unknownColumn(table: name, column: column) }
        return known
      }
      return try plan(ref, place, numbers, reader)
    case .conflict(let id):
      let found = try sql.first("SELECT zone, tbl, key, col, value FROM mesh_conflict WHERE id = ?", [.integer(id)]) {
        (
          zone: $0.integer(0), ref: RecordRef(table: $0.integer(1), key: $0.value(2)), column: $0.integer(3),
          value: try ExtraValues.decodeValue($0.bytes(4))
        )
      }
      guard let found, let zone = try ZoneRow.read(id: found.zone, sql) else {
        throw RestoreError.unknownConflict(id)
      }
      let place = try placeToRestore(found.ref) ?? ZoneRecords(self, zone: zone)
      guard let record = try place.load(found.ref) else { throw RestoreError.unknownConflict(id) }
      var plan = RestorePlan(ref: found.ref, zone: place.zone.id, generation: record.generation, values: nil)
      if found.column == ZoneRecords.wholeRecord { return plan }
      if !record.isAlive { plan = try self.plan(found.ref, place, [], reader) }
      plan.values = (plan.values ?? [:]).merging([found.column: found.value]) { $1 }
      return plan
    }
  }

  /// The zone that shows the record; else that in which it was deleted last.
  private func placeToRestore(_ ref: RecordRef) throws -> ZoneRecords? {
    let zones = try sql.all(
      "SELECT zone FROM mesh_record WHERE tbl = ? AND key = ?", [.integer(ref.table), ref.key]
    ) { $0.integer(0) }
    let places = try zones.compactMap { try ZoneRow.read(id: $0, sql).map { ZoneRecords(self, zone: $0) } }
    let found = try places.compactMap { place in try place.load(ref).map { (place, $0) } }
    if let shown = found.first(where: { $0.1.isShown }) ?? found.first(where: { $0.1.isAlive }) { return shown.0 }
    return found.max { $0.1.stamps.latest < $1.1.stamps.latest }?.0
  }

  private func plan(
    _ ref: RecordRef, _ place: ZoneRecords, _ columns: [Int64], _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> RestorePlan {
    let name = try catalog.tableName(ref.table)
    guard let record = try place.load(ref) else { throw RestoreError.unknownRecord(table: name) }
    let log = LogReader(session: self, zone: place.zone.id, reader: try reader(place.zone.zone))
    let history = RecordHistory(log: log, ref: ref)
    var plan = RestorePlan(ref: ref, zone: place.zone.id, generation: record.generation, values: nil)
    if let reason = record.held { throw RestoreError.held(reason) }
    if record.isAlive {
      guard !columns.isEmpty else { throw RestoreError.lives(table: name) }
      let state = try place.state(ref, record)
      let beaten = try history.beaten(state)
      var values: [Int64: Value] = [:]
      for column in columns {
        guard let value = beaten[column] else {
          throw RestoreError.nothingBeaten(column: try catalog.column(column).name)
        }
        values[column] = value
      }
      plan.values = values
    } else {
      guard let last = try history.lastLife(before: record.generation) else {
        throw RestoreError.noHistory(table: name)
      }
      plan.values = last.cells.mapValues(\.value)
    }
    return plan
  }

  fileprivate func carryOut(_ plan: RestorePlan) throws -> RestoredRecord {
    let name = try catalog.tableName(plan.ref.table)
    guard let table = catalog.table(plan.ref.table), let zone = try ZoneRow.read(id: plan.zone, sql),
      let record = try ZoneRecords(self, zone: zone).load(plan.ref)
    else { throw RestoreError.held(.unknownTable) }
    if let reason = record.held { throw RestoreError.held(reason) }
    let hasRow = try sql.exists(table.selectKey, [plan.ref.key])
    guard record.generation == plan.generation, record.isAlive == hasRow else { throw RestoreError.changed }
    let (values, gone) = try withBytes(plan.values)
    if let column = gone.first, values?.isEmpty == true, record.isAlive { throw RestoreError.assetGone(column: column) }
    do {
      try writeAgain(plan.ref, values, table)
    } catch let error as DatabaseError where error.refusesRow && sql.isInTransaction {
      throw RestoreError.refused(error.reason)
    }
    let known = values?.filter { table.indexes[$0.key] != nil }
    let lacking = try (values ?? [:]).keys.filter { table.indexes[$0] == nil }.map { try catalog.column($0).name }
    return RestoredRecord(
      table: name, key: plan.ref.key, values: try known.map(named), lacking: (lacking + gone).sorted(),
      waitsFor: try missingParents(table, known ?? [:]))
  }

  /// Long BLOBs as such, as far as their bytes are here; and the columns of the others, without which the rest is restored.
  private func withBytes(_ values: [Int64: Value]?) throws -> (values: [Int64: Value]?, gone: [String]) {
    var (found, gone): ([Int64: Value]?, [String]) = (values, [])
    for (column, value) in values ?? [:] {
      guard let asset = value.asset else { continue }
      let content = try bytes(of: asset, cells(showing: asset.id).first)
      found?[column] = content.map(Value.blob)
      if content == nil { gone.append(try catalog.column(column).name) }
    }
    return (found, gone.sorted())
  }

  private func named(_ values: [Int64: Value]) throws -> [String: Value] {
    Dictionary(try values.map { (try catalog.column($0.key).name, $0.value) }, uniquingKeysWith: { $1 })
  }

  private func missingParents(_ table: TableForm, _ values: [Int64: Value]) throws -> [HeldRecord.Awaited] {
    try table.references.compactMap { reference in
      guard !reference.isReset, let value = values[table.columns[reference.column].id], value != .null,
        let parent = catalog.table(reference.parent), try !sql.exists(parent.selectKey, [value])
      else { return nil }
      return HeldRecord.Awaited(table: parent.schema.name, key: parent.parentKey(value), zone: nil)
    }
  }
}

/// What the log has of one record.
private struct RecordHistory {
  typealias State = ZoneRecords.State

  let log: LogReader
  let ref: RecordRef

  /// What it had when it lived last.
  func lastLife(before generation: UInt64) throws -> State? {
    var states: [UInt64: State] = [:]
    try forEachState { state in
      guard state.isAlive, state.generation < generation else { return }
      states[state.generation, default: State()].merge(state)
    }
    return states.max { $0.key < $1.key }?.value
  }

  /// The value that each column had before.
  func beaten(_ state: State) throws -> [Int64: Value] {
    var cells: [Int64: State.Cell] = [:]
    try forEachState { earlier in
      guard earlier.generation == state.generation else { return }
      for (column, cell) in earlier.cells where cell.stamp < state.cells[column]?.stamp ?? cell.stamp {
        if cells[column].map({ $0.stamp < cell.stamp }) ?? true { cells[column] = cell }
      }
    }
    return cells.mapValues(\.value)
  }

  private func forEachState(_ visit: (State) throws -> Void) throws {
    for head in try AuthorHead.all(log.session.sql, zone: log.zone) where head.merged > 0 {
      for number in 1...head.merged {
        let long = try log.longValues(head.author, number)
        try log.forEachRow(head.author, number) { other, change, columns, _ in
          if other == ref { try visit(State(change, columns: columns, long)) }
        }
      }
    }
  }
}
