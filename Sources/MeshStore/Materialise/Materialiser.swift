import GRDB
import MeshCore

/// Makes the tables show the merged state of the records concerned, as far as the schema and the references let it.
///
/// What is shown is the greatest set in which every reference holds: all candidates are written first (`place`, `show`),
/// then what refers to a missing row is withdrawn, and what refers to that, until nothing changes (`settle`). So cycles
/// of references are shown together, and the order of arrival does not matter.
final class Materialiser {
  typealias State = ZoneRecords.State

  let records: ZoneRecords
  /// How far the pending log has been turned into records.
  let progress: Progress
  /// Records that an app's trigger refused by taking the transaction back, with its words.
  let refused: [RecordRef: String]
  /// As in `Store`.
  var believed: Set<RecordRef> = []
  /// Shown records whose references have to be looked at.
  private var unchecked: [RecordRef] = []
  /// How often records have been tried in this run.
  private var tries: [RecordRef: Int] = [:]
  /// The flush that is under way: what the log has of its records is dealt with.
  var flushing: FlushPlan?
  /// Found where one is asked for: most flushes ask for none.
  private lazy var flushed = Set(flushing?.refs ?? [])
  /// Something was left for the flush of a record that has rows in the log.
  private(set) var hasPostponed = false
  /// What waits for rows that have appeared. Not by recursion: a chain of references can be longer than the stack.
  private var appearing: [(RecordRef, zone: Int64, most: Int)] = []
  private var isAppearing = false
  private var hasWaiters: Bool
  /// References that hold nowhere else, of records that don't wait for their parents at the moment.
  var dangling: [RecordRef: Set<RecordRef>] = [:]
  /// Rows are shown here that others hold.
  lazy var hasDangling = Result {
    try sql.exists("SELECT 1 FROM mesh_held WHERE reason = \(HeldReason.shownHereOnly.rawValue) LIMIT 1")
  }
  /// What programs wrote that is flushed now.
  lazy var written = flushing?.written ?? []
  /// Nil of the private zone.
  private var scope: ShareScope?
  /// Those of the other zones; nil where there are none.
  var others: Materialisers? { ownOthers ?? sharedOthers }
  private var ownOthers: Materialisers?
  private weak var sharedOthers: Materialisers?

  enum Progress {
    /// Nothing is pending: rows differ from records only where a write went unnoticed.
    case clean
    /// A flush that reaches the end of the log.
    case flushedAll
    /// A flush that leaves rows in the log, and what is merged then: a row that is gone while its record lives has its delete there, a row that
    /// is there while its record is held has its insert there.
    case flushedPart
    /// Others' changes or a new schema, beside rows that wait for their flush: what programs wrote to them is in the rows alone.
    case besidePending
  }

  /// Rows in the log say that records and tables differ.
  private var isPartial: Bool { progress == .flushedPart || progress == .besidePending }

  var session: Session { records.session }
  private var sql: Connection { records.session.sql }

  /// - Parameter others: Nil for the zone that the access is about.
  init(
    _ records: ZoneRecords, _ progress: Progress = .clean, refused: [RecordRef: String] = [:],
    others: Materialisers? = nil
  ) throws {
    self.records = records
    self.progress = progress
    self.refused = refused
    hasWaiters = try records.session.sql.exists("SELECT 1 FROM mesh_wait LIMIT 1")
    scope = try ShareScope(records.zone.id, records.session.catalog)
    sharedOthers = others
    if try others == nil && records.session.catalog.zones().isRouted { ownOthers = Materialisers(self) }
  }

  // MARK: Candidates

  /// Writes a merged state to its table, as if all its references held, and to `mesh_record`.
  ///
  /// - Parameters:
  ///   - changed: The columns whose merged value is another than before; nil for all.
  ///   - chosen: What the row is to have in the place of merged values.
  /// - Throws: `StillRefused` if the table refuses the row with the chosen values.
  func place(
    _ ref: RecordRef, _ state: State, replacing old: StoredRecord?, changed: Set<Int64>?,
    choosing chosen: [Int64: Value] = [:]
  ) throws {
    var record = try records.pack(ref, state, previous: old)
    let values = state.cells.mapValues(\.value)
    if let old {
      // A row that is shown here only is noted though nothing of it is kept beside it.
      let isNoted = try !state.isAlive && hasDangling.get()
      if isNoted || old.held != nil || !old.extra.isEmpty { try stopWaiting(ref) }
    }
    guard let table = session.catalog.table(ref.table) else {
      record.held = state.isAlive ? .unknownTable : nil
      record.extra = state.isAlive ? values : [:]
      record.keepBase(of: old)
      return try records.save(ref, record, replacing: old)
    }
    guard table.keeps(ref.key) else { return try hold(ref, table, record, values, replacing: old) }
    guard state.isAlive else {
      if let old, old.isShown { try session.keepOverwritten(old.shown, ref) }
      try records.save(ref, record, replacing: old)
      if try old?.isShown ?? !isOthers(ref) { try vacate(ref, table) }
      return try leave(ref, table)
    }
    if scope?.has(ref, table) == false {
      if old?.isShown ?? false { try keep(values, from: ref, table) }
      record.held = .outsideShare
      record.extra = values
      try records.save(ref, record, replacing: old)
      if old?.isShown ?? false { try vacate(ref, table) }
      return try leave(ref, table)
    }
    if let message = refused[ref] {
      guard chosen.isEmpty else { throw StillRefused(message: message) }
      if try goOnShowing(old, ref, table, record, values, message) { return }
      return try refuse(ref, table, record, values, message, replacing: old)
    }
    var isFree = true
    if let others, let rival = try session.occupant(ref, besides: records.zone.id) {
      guard try others.mayTake(ref, from: rival, self) else {
        record.held = .slotTaken
        record.extra = values
        return try records.save(ref, record, replacing: old)
      }
      isFree = false
    }
    let stays = old.map { $0.isShown && $0.generation == state.generation } ?? false
    let before = old?.isShown ?? false ? old : nil
    var assets = try assets(ref, table, values, old: before, updates: changed != nil && stays)
    if let column = assets.required { return try lack(column, ref, table, record, values, replacing: old) }
    let written = values.filter { !assets.untouched.contains($0.key) && assets.missing[$0.key] == nil }
      .merging(chosen) { $1 }
    if let before {
      let replaced = before.shown.filter { column, value in
        value.asset != nil && assets.shown[column] != value && written[column] != nil
      }
      try session.keepOverwritten(replaced, ref)
    }
    do {
      // A row that is written anew must be there still if the table refuses the new one.
      try wholly(table, isReplaced: changed == nil && stays) {
        if let changed, stays, let old {
          try update(table, ref.key, written, changed.union(old.extra.keys).union(chosen.keys))
          for (column, asset) in assets.patched { try patch(ref.key, column, asset, table) }
        } else {
          if !isFree || old?.isShown ?? false { try deleteRow(table, ref.key) }
          try insert(table, ref.key, written)
        }
      }
      try read(&assets, ref, table, old: changed == nil ? nil : before)
    } catch let error as DatabaseError where error.refusesRow {
      guard sql.isInTransaction else { throw TakenBack(ref: ref, message: error.reason) }
      guard chosen.isEmpty else { throw StillRefused(message: error.reason) }
      if error.isUnique {
        if try makeWay(ref, table, values, error.reason) {
          return try place(ref, state, replacing: old, changed: nil)
        }
      } else if try retry(old, ref, table, record, values, changed: changed, written, assets, error.reason) {
        return
      }
      return try refuse(ref, table, record, values, error.reason, replacing: old)
    }
    record.extra = unseen(table, values).merging(assets.missing.mapValues(Value.asset)) { $1 }
    record.shown = assets.shown
    if !chosen.isEmpty { try hide(values, behind: chosen, ref, table, &record, old) }
    try records.save(ref, record, replacing: old)
    if !table.references.isEmpty { unchecked.append(ref) }
    if stays { try release(ref, table) } else { try appear(ref) }
  }

  /// The table would make another key of the record's, and so one row of two records.
  private func hold(
    _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ values: [Int64: Value], replacing old: StoredRecord?
  ) throws {
    var held = record
    if record.isAlive { (held.held, held.extra) = (.constraint, values) }
    try records.save(ref, held, replacing: old)
    guard record.isAlive else { return }
    let (kind, made) = if case .text = ref.key { ("text", "number") } else { ("number", "text") }
    try note(
      ref, .constraint,
      "the key is a \(kind), and the column \(table.keyName) makes a \(made) of it here; give the table the same key on every machine"
    )
  }

  /// The table does not do without a BLOB that is not complete here.
  private func lack(
    _ column: String, _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ values: [Int64: Value],
    replacing old: StoredRecord?
  ) throws {
    var held = record
    held.held = .assetIncomplete
    held.extra = values
    try records.save(ref, held, replacing: old)
    if old?.isShown ?? false { try vacate(ref, table) }
    try note(
      ref, .assetIncomplete, "the BLOB of the column \(column) is not complete here; mesh asset list has its progress")
    try leave(ref, table)
  }

  /// What a table cannot show of these values: columns it lacks, and values that their column would convert.
  func unseen(_ table: TableForm, _ values: [Int64: Value]) -> [Int64: Value] {
    values.filter { column, value in
      guard let index = table.indexes[column] else { return true }
      return !table.columns[index].schema.affinity.keeps(value)
    }
  }

  /// Tries again to show a record that is held, or that is shown in part.
  ///
  /// - Parameter overwriting: Even where the row says otherwise.
  /// - Parameter most: How often it may have been tried in this run.
  func show(_ ref: RecordRef, overwriting: Bool = false, most: Int = 0) throws {
    guard tries[ref, default: 0] <= most, let record = try records.load(ref), record.isAlive else { return }
    tries[ref, default: 0] += 1
    // Its flush shows it.
    if isPartial, !overwriting, try isPending(ref) { return }
    if isPartial, !overwriting, let table = session.catalog.table(ref.table),
      try (records.hasRow(table, ref.key) && !isOthers(ref)) != record.isShown
    {
      return
    }
    if record.isShown, record.extra.isEmpty { try stopWaiting(ref) }
    try place(ref, try records.state(ref, record), replacing: record, changed: [])
  }

  /// A row is in its table that was not there before: the records that wait for it are candidates. Also those that were tried in
  /// this run: the row may have been another's meanwhile.
  ///
  /// - Parameter isFree: It is not there, or another: only those that it was in the way of may be shown.
  func appear(_ ref: RecordRef, isFree: Bool = false) throws {
    guard hasWaiters || others != nil else { return }
    let waiting = try sql.all(isFree ? Self.rivals : Self.waiting, [.integer(ref.table), ref.key]) {
      (RecordRef(table: $0.integer(0), key: $0.value(1)), $0.integer(2))
    }
    // The lesser keys come first: they would displace the others.
    appearing += waiting.reversed().map { ($0.0, zone: $0.1, most: isFree ? .max : Self.mostTries) }
    guard !isAppearing else { return }
    isAppearing = true
    defer { (isAppearing, appearing) = (false, []) }
    while let (child, zone, most) = appearing.popLast() { try materialiser(ofZone: zone)?.show(child, most: most) }
  }

  /// Rows that refer to each other in a circle and can't be together would take turns for ever.
  private static let mostTries = 20

  private static let waiting = "SELECT tbl, key, zone FROM mesh_wait WHERE parent_tbl = ? AND parent_key = ?"
  private static let rivals = """
    SELECT w.tbl, w.key, w.zone FROM mesh_wait w JOIN mesh_record r ON r.tbl = w.tbl AND r.key = w.key AND r.zone = w.zone
    WHERE w.parent_tbl = ? AND w.parent_key = ? AND r.held = \(HeldReason.constraint.rawValue)
    ORDER BY w.tbl, w.key, w.zone
    """

  /// The materialiser of a zone; nil of one that was never met.
  func materialiser(ofZone zone: Int64) throws -> Materialiser? {
    zone == records.zone.id ? self : try others?.of(zone)
  }

  /// A row has left its table: the rows that refer to it have to be looked at.
  func leave(_ ref: RecordRef, _ table: TableForm) throws {
    try release(ref, table)
    for reference in table.referrers {
      guard let child = session.catalog.table(reference.child) else { continue }
      let keys = try sql.all(child.keysReferring(reference.column), [ref.key]) { $0.value(0) }
      let children = keys.map { RecordRef(table: child.id, key: child.form.canonical($0)) }
      guard others != nil else {
        unchecked += children
        continue
      }
      for child in children { try session.occupant(child).flatMap(materialiser(ofZone:))?.check(child) }
    }
  }

  /// The references of a shown record have to be looked at.
  func check(_ ref: RecordRef) { unchecked.append(ref) }

  /// Any record of the table may be shown.
  func showsAll(_ table: TableForm) -> Bool { scope?.hasAll(table) ?? true }

  // MARK: Withdrawing

  /// Withdraws what refers to missing rows, until nothing changes.
  func settle() throws {
    repeat {
      while let ref = unchecked.popLast() { try settle(ref) }
    } while try others?.settleNext() ?? false || !unchecked.isEmpty
    try ownOthers?.saveCounters()
  }

  /// One record, if there is one to look at.
  func settleNext() throws -> Bool {
    guard let ref = unchecked.popLast() else { return false }
    try settle(ref)
    return true
  }

  private func settle(_ ref: RecordRef) throws {
    guard let table = session.catalog.table(ref.table), let record = try records.load(ref), record.isShown,
      let row = try records.row(table, ref.key)
    else { return }
    let home = others == nil ? nil : scope == nil ? table.parent : scope?.anchor(of: table)
    var missing: [(reference: Reference, parent: RecordRef, value: Value)] = []
    var restored: Set<Int64> = []
    for reference in table.references {
      let column = table.columns[reference.column].id
      // If the table refuses the merged reference, the row's own counts.
      let value = record.shown[column] != nil ? row[reference.column] : record.extra[column] ?? row[reference.column]
      guard value != .null, let parent = session.catalog.table(reference.parent) else { continue }
      let parentRef = RecordRef(table: parent.id, key: parent.parentKey(value))
      if try isPresent(parentRef, parent, value, for: home == reference ? ref : nil) {
        if reference.isReset, record.extra[column] != nil, row[reference.column] != value { restored.insert(column) }
      } else if row[reference.column] == value, try mayDangle(ref, parentRef) {
        try keepDangling(ref, parentRef)
      } else {
        missing.append((reference, parentRef, value))
      }
    }
    if missing.isEmpty && restored.isEmpty { return }
    for entry in missing { try wait(ref, for: entry.parent) }
    for entry in missing {
      guard let lost = try entry.reference.isReset ? lostDefault(entry.reference, ref, home) : entry.parent else {
        continue
      }
      return try withdraw(ref, table, record, reason(lost))
    }
    // The reference in the row may be one that nobody has sent yet.
    if isPartial, try isPending(ref) { return }
    try reset(ref, table, record, row, missing.map { ($0.reference, $0.value) }, restored)
  }

  private func isPending(_ ref: RecordRef) throws -> Bool {
    guard try !flushed.contains(ref) && pending.get().contains(ref) else { return false }
    hasPostponed = true
    return true
  }

  /// Records that programs have written rows of the log for, which may be on their way to another zone; found where one is asked for.
  private lazy var pending = Result {
    Set(
      try sql.all(Self.written, [.integer(records.zone.id)]) { row in
        session.catalog.table(row.integer(0)).map { RecordRef(table: $0.id, key: $0.form.canonical(row.value(1))) }
      }.compactMap { $0 })
  }

  private static let written = """
    SELECT DISTINCT tbl, key FROM mesh_pending
    WHERE key IS NOT NULL AND op <> \(PendingSlice.Op.look) AND (op <> \(PendingSlice.Op.depart) OR abs(zone) = ?)
    """

  /// - Parameter child: Given where the row has to be this very zone's: what happens to another's would happen to the child.
  private func isPresent(_ ref: RecordRef, _ table: TableForm, _ value: Value, for child: RecordRef?) throws -> Bool {
    let hasRow = try records.hasRow(table, value)
    guard let child else {
      if hasRow || !isPartial { return hasRow }
      return try records.load(ref)?.isShown ?? false
    }
    if let record = try records.load(ref), record.isAlive {
      return record.held == nil && (hasRow || isPartial)
    }
    // A row that is not flushed yet is of no zone: its flush says whether it is of this one.
    guard try hasRow && isPartial && session.occupant(ref) == nil else { return false }
    try wait(child, for: ref)
    return true
  }

  /// The parent that the reference's default names, if it is not here: then the row can't be shown with the default.
  private func lostDefault(_ reference: Reference, _ ref: RecordRef, _ home: Reference?) throws -> RecordRef? {
    guard reference.action == .setDefault, let table = session.catalog.table(ref.table),
      let parent = session.catalog.table(reference.parent)
    else { return nil }
    let value = table.defaultValue(reference.column)
    if value == .null { return nil }
    let parentRef = RecordRef(table: parent.id, key: parent.parentKey(value))
    if try isPresent(parentRef, parent, value, for: home == reference ? ref : nil) { return nil }
    try wait(ref, for: parentRef)
    return parentRef
  }

  func reason(_ parent: RecordRef) throws -> HeldReason {
    if others != nil,
      try session.sql.exists(Self.elsewhere, [.integer(parent.table), parent.key, .integer(records.zone.id)])
    {
      return .parentElsewhere
    }
    let record = try records.load(parent)
    return record != nil && record?.isAlive == false ? .parentDeleted : .missingParent
  }

  private static let elsewhere = "SELECT 1 FROM mesh_record WHERE tbl = ? AND key = ? AND zone <> ? AND generation & 1"

  /// Takes the row out of its table, and keeps its values.
  private func withdraw(
    _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ reason: HeldReason
  ) throws {
    var held = record
    held.extra = try displaced(ref, record, table)
    held.shown = record.accepted
    held.held = reason
    try records.save(ref, held, replacing: record)
    try vacate(ref, table)
    try leave(ref, table)
    // What its mover had not seen follows its parent.
    if reason == .parentElsewhere, try session.catalog.zones().privateZone == records.zone.id {
      try session.look(at: ref)
    }
  }

  /// Shows references to missing rows as NULL or default, and those to rows that are back as they are.
  private func reset(
    _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ row: [Value],
    _ missing: [(reference: Reference, value: Value)], _ restored: Set<Int64>
  ) throws {
    var shown = record
    var assignments: [Int64: Value] = [:]
    let stamped = Set(try records.columns(record.stamps).map(\.column))
    for (reference, value) in missing {
      let column = table.columns[reference.column].id
      // A column without a stamp has its default, which refers to nothing that the merge knows.
      let substitute = reference.action == .setDefault ? table.defaultValue(reference.column) : .null
      if record.shown[column] != nil {
        shown.shown[column] = substitute
      } else if stamped.contains(column) {
        shown.extra[column] = value
      }
      assignments[column] = substitute
    }
    for column in restored {
      assignments[column] = record.extra[column]
      shown.extra[column] = nil
    }
    assignments = assignments.filter { column, value in table.indexes[column].map { row[$0] != value } ?? false }
    do {
      if !assignments.isEmpty { try update(table, ref.key, assignments, Set(assignments.keys)) }
    } catch let error as DatabaseError where error.refusesRow {
      guard sql.isInTransaction else { throw TakenBack(ref: ref, message: error.reason) }
      let values = try displaced(ref, record, table)
      if error.isUnique, try makeWay(ref, table, values.merging(assignments) { $1 }, error.reason) {
        return check(ref)
      }
      return try refuse(ref, table, record, values, error.reason, replacing: record)
    }
    if shown.extra != record.extra || shown.shown != record.shown { try records.save(ref, shown, replacing: record) }
    if !assignments.isEmpty { try release(ref, table) }
  }

  private func refuse(
    _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ values: [Int64: Value], _ message: String,
    replacing old: StoredRecord?
  ) throws {
    if old?.isShown ?? false { try keep(values, from: ref, table) }
    var held = record
    held.held = .constraint
    held.extra = values
    held.shown = [:]
    try records.save(ref, held, replacing: old)
    try vacate(ref, table)
    try note(ref, .constraint, message)
    try leave(ref, table)
  }

  /// Takes a row that another record needs out of its table.
  func holdShown(_ ref: RecordRef, _ table: TableForm, _ message: String) throws {
    guard let record = try records.load(ref), record.isShown else { return }
    try refuse(ref, table, record, try displaced(ref, record, table), message, replacing: record)
  }

  func note(_ ref: RecordRef, _ reason: HeldReason, _ message: String) throws {
    try sql.run(
      """
      INSERT INTO mesh_held (tbl, key, zone, reason, message, since) VALUES (?, ?, ?, ?, ?, \(CaptureTriggers.wall))
      ON CONFLICT DO UPDATE SET since = iif(reason = excluded.reason, since, excluded.since),
        reason = excluded.reason, message = excluded.message
      """,
      [.integer(ref.table), ref.key, .integer(records.zone.id), .integer(reason.rawValue), .text(message)])
  }

  func wait(_ ref: RecordRef, for parent: RecordRef) throws {
    hasWaiters = true
    try sql.run(
      "INSERT OR IGNORE INTO mesh_wait (parent_tbl, parent_key, tbl, key, zone) VALUES (?, ?, ?, ?, ?)",
      [.integer(parent.table), parent.key, .integer(ref.table), ref.key, .integer(records.zone.id)])
  }

  func stopWaiting(_ ref: RecordRef) throws {
    try rememberDangling(ref)
    let place: [Value] = [.integer(ref.table), ref.key, .integer(records.zone.id)]
    try sql.run("DELETE FROM mesh_wait WHERE tbl = ? AND key = ? AND zone = ?", place)
    try sql.run("DELETE FROM mesh_held WHERE tbl = ? AND key = ? AND zone = ?", place)
  }
}

// MARK: - Rows

extension Materialiser {
  func insert(_ table: TableForm, _ key: Value, _ values: [Int64: Value]) throws {
    let chosen = table.columns.indices.filter { values[table.columns[$0].id] != nil }
    let statement = try session.sql.statement(table.upsert(chosen))
    // The key's own column, where it has one, is its spelling.
    statement.bind(table.keyColumn.flatMap { values[table.columns[$0].id] } ?? key, at: 1)
    for (place, index) in chosen.filter({ $0 != table.keyColumn }).enumerated() {
      try bind(values[table.columns[index].id] ?? .null, statement, at: place + 2, table, index)
    }
    if try sql.write(statement) == 0 { throw DatabaseError.ignored }
    try fill(key, values, table)
  }

  /// Inserts where the row is gone unnoticed.
  func update(_ table: TableForm, _ key: Value, _ values: [Int64: Value], _ changed: Set<Int64>) throws {
    let chosen = table.columns.indices.filter {
      changed.contains(table.columns[$0].id) && values[table.columns[$0].id] != nil
    }
    guard !chosen.isEmpty else { return }
    let statement = try session.sql.statement(table.update(chosen))
    for (place, index) in chosen.enumerated() {
      try bind(values[table.columns[index].id] ?? .null, statement, at: place + 1, table, index)
    }
    statement.bind(key, at: chosen.count + 1)
    guard try sql.write(statement) == 0 else {
      return try fill(key, values.filter { changed.contains($0.key) }, table)
    }
    if try records.hasRow(table, key) { throw DatabaseError.ignored }
    if values.count > chosen.count { try insert(table, key, values) }
  }

  /// A trigger of an app's that refuses it is passed by: a row that is in no merged record must not stay, nor keep others back.
  func deleteRow(_ table: TableForm, _ key: Value) throws {
    let ref = RecordRef(table: table.id, key: table.form.canonical(key))
    let delete = {
      let statement = try self.sql.statement(table.delete)
      statement.bind(key, at: 1)
      try self.sql.write(statement)
    }
    guard !table.schema.triggers.isEmpty else {
      _ = try delete()
      return
    }
    do {
      if refused[ref] == nil { _ = try delete() }
    } catch let error as DatabaseError where error.refusesRow {
      guard sql.isInTransaction else { throw TakenBack(ref: ref, message: error.reason) }
    }
    if try records.hasRow(table, key) { try sql.withoutTriggers { _ = try delete() } }
  }
}

extension DatabaseError {
  /// `RAISE (IGNORE)`: SQLite reports nothing, and the row is not there.
  static let ignored = DatabaseError(
    resultCode: .SQLITE_CONSTRAINT_TRIGGER, message: "a trigger ignores the row: RAISE (IGNORE)")

  var isUnique: Bool { extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE }

  /// SQLite refuses this row and no other: a constraint, a type, its size, or an app's trigger that fails.
  var refusesRow: Bool {
    switch resultCode {
    case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_ERROR: true
    default: false
    }
  }
}
