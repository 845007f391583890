import GRDB
import MeshCore

/// Makes the tables show the merged state of the records concerned, as far as the schema and the references allow it.
///
/// The tables show the greatest set of records in which every reference is valid. First, all candidates are written
/// (`place`, `show`). Then records that refer to a missing row are withdrawn, and the records that refer to those,
/// until nothing changes (`settle`). So records in a cycle of references are shown together, and the order of arrival
/// doesn't matter.
final class Materialiser {
  typealias State = ZoneRecords.State

  let records: ZoneRecords
  /// The part of the pending log that has been turned into records.
  let progress: Progress
  /// The records that an app's trigger refused by rolling back the transaction, with the trigger's message.
  let refused: [RecordRef: String]
  /// The shown records whose references have to be checked.
  private var unchecked: [RecordRef] = []
  /// How often each record has been tried in this run.
  private var tries: [RecordRef: Int] = [:]
  /// The current flush. It handles all notes of its records in the log.
  var flushing: FlushPlan?
  /// Computed on first use, because most flushes don't need it.
  private lazy var flushed = Set(flushing?.refs ?? [])
  /// True if some work was left for the flush of a record that has notes in the log.
  private(set) var hasPostponed = false
  /// The records that wait for rows that have appeared. They are processed without recursion, because a chain of
  /// references can be longer than the stack.
  private var appearing: [(RecordRef, zone: Int64, most: Int)] = []
  private var isAppearing = false
  private var hasWaiters: Bool
  /// References that are valid on no other device, of records that don't wait for their parents at the moment.
  var dangling: [RecordRef: Set<RecordRef>] = [:]
  /// Whether rows are shown here that other devices hold.
  lazy var hasDangling = Result { try transaction.held.has(.shownHereOnly) }
  /// The records that programs wrote and that are flushed now.
  lazy var written = flushing?.written ?? []
  /// The indexes of the columns that a list of columns lacks, by the list.
  var uncovered: [Int64: [Int]] = [:]
  /// The columns whose local values are listed already.
  var lost: [RecordRef: Set<Int64>] = [:]
  /// The scope of a share, or nil for the private zone.
  private var scope: ShareScope?
  /// The materialisers of the other zones, or nil if there are none.
  var others: Materialisers? { ownOthers ?? sharedOthers }
  private var ownOthers: Materialisers?
  private weak var sharedOthers: Materialisers?

  enum Progress {
    /// Nothing is pending. Rows differ from records only if a write went unnoticed.
    case clean
    /// A flush that reaches the end of the log.
    case flushedAll
    /// A flush that leaves notes in the log, and merges during it. If a row is gone while its record is alive, its
    /// delete is in the log. If a row exists while its record is held, its insert is in the log.
    case flushedPart
    /// A merge of others' changes or a new schema, beside rows that wait for their flush. The writes of programs are
    /// only in those rows.
    case besidePending
  }

  /// Whether notes in the log explain differences between records and tables.
  private var isPartial: Bool { progress == .flushedPart || progress == .besidePending }

  var transaction: Transaction { records.transaction }
  private var sql: Connection { records.transaction.sql }

  /// - Parameter others: The materialisers of the other zones, or nil for the zone that the access concerns.
  init(
    _ records: ZoneRecords, _ progress: Progress = .clean, refused: [RecordRef: String] = [:],
    others: Materialisers? = nil
  ) throws {
    self.records = records
    self.progress = progress
    self.refused = refused
    hasWaiters = try records.transaction.held.hasWaiters()
    scope = try ShareScope(records.zone.id, records.transaction.catalog)
    sharedOthers = others
    if try others == nil && records.transaction.catalog.zones().isRouted { ownOthers = Materialisers(self) }
  }

  // MARK: Candidates

  /// Writes a merged state to its table, as if all its references were valid, and to `mesh_record`.
  ///
  /// - Parameters:
  ///   - changed: The columns whose merged value has changed, or nil for all columns.
  ///   - chosen: The values that the row gets in place of merged values.
  /// - Throws: `StillRefused` if the table refuses the row with the chosen values.
  func place(
    _ ref: RecordRef, _ state: State, replacing old: StoredRecord?, changed: Set<Int64>?,
    choosing chosen: [Int64: Value] = [:]
  ) throws {
    var record = try records.pack(ref, state, previous: old)
    let values = state.cells.mapValues(\.value)
    if let old {
      // A row that is shown only here has a note, even if none of its values are kept beside it. If it still dangles, `settle`
      // notes it again.
      if try hasDangling.get() || old.held != nil || !old.extra.isEmpty { try stopWaiting(ref) }
    }
    guard let table = transaction.catalog.table(ref.table) else {
      record.held = state.isAlive ? .unknownTable : nil
      record.extra = state.isAlive ? values : [:]
      record.keepBase(of: old)
      return try records.save(ref, record, replacing: old)
    }
    guard table.keeps(ref.key) else { return try hold(ref, table, record, values, replacing: old) }
    let stays = old.map { $0.isShown && $0.generation == state.generation } ?? false
    let writes = stays && state.isAlive ? changed.map { $0.union(old?.extra.keys ?? [:].keys) } : nil
    let local = try takeLocal(ref, table, old, in: writes, to: state)
    guard state.isAlive else {
      if let old, old.isShown { try transaction.kept.keep(old.shown, ref) }
      try records.save(ref, record, replacing: old)
      if try old?.isShown ?? !isOthers(ref) { try vacate(ref, table) }
      return try leave(ref, table)
    }
    if scope?.has(ref, table) == false {
      if old?.isShown ?? false { try keep(values, from: ref, table) }
      record.held = .outsideShare
      record.extra = try aside(values, ref, table, old, record)
      try records.save(ref, record, replacing: old)
      if old?.isShown ?? false { try vacate(ref, table) }
      return try leave(ref, table)
    }
    if let message = refused[ref] ?? (table.isUTF16 ? unfit(values.merging(chosen) { $1 }, table, in: writes) : nil) {
      guard chosen.isEmpty else { throw StillRefused(message: message) }
      if try goOnShowing(old, ref, table, record, values, message) { return }
      return try refuse(ref, table, record, values, message, replacing: old)
    }
    var isFree = true
    if let others, let rival = try transaction.occupant(ref, besides: records.zone.id) {
      guard try others.mayTake(ref, from: rival, self) else {
        record.held = .slotTaken
        record.extra = try aside(values, ref, table, old, record)
        return try records.save(ref, record, replacing: old)
      }
      isFree = false
    }
    let before = old?.isShown ?? false ? old : nil
    var assets = try assets(ref, table, values, old: before, updates: changed != nil && stays)
    if let column = assets.required { return try lack(column, ref, table, record, values, replacing: old) }
    let folded = try transaction.folded(table, state)
    let base = old?.hasBase == true ? old : nil
    let written = assets.assigned(values).merging(local) { merged, _ in merged }.merging(folded) { $1 }
      .merging(chosen) { $1 }.merging(leftovers(base, table, values)) { written, _ in written }
    if let before { try keepReplaced(before, by: written, assets, ref) }
    do {
      // A row that is rewritten must still exist if the table refuses the new version.
      try wholly(table, isReplaced: changed == nil && stays) {
        if let changed, stays, let old {
          try update(table, ref.key, written, changed.union(old.extra.keys).union(folded.keys).union(chosen.keys))
          for (column, asset) in assets.patched { try patch(ref.key, column, asset, table) }
        } else {
          if !isFree || old?.isShown ?? false { try deleteRow(table, ref.key) }
          try insert(table, ref.key, written)
        }
      }
      try read(&assets, ref, table, old: changed == nil ? nil : before ?? base, isNew: before == nil)
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
    (record.extra, record.shown) = shown(table, values, folded, assets, before: before)
    if !chosen.isEmpty { try hide(values, behind: chosen, ref, table, &record, old) }
    if old?.held != nil { transaction.reached(.hiddenRowShown) }
    if !assets.patched.isEmpty { transaction.reached(.assetPatched) }
    try records.save(ref, record, replacing: old)
    if !table.references.isEmpty { unchecked.append(ref) }
    if stays { try release(ref, table) } else { try appear(ref) }
  }

  /// Returns the defaults of columns that nobody wrote in this life of a record, and that its row still has from an
  /// earlier one.
  private func leftovers(_ base: StoredRecord?, _ table: TableForm, _ values: [Int64: Value]) -> [Int64: Value] {
    (base?.shown ?? [:]).filter { values[$0.key] == nil && table.indexes[$0.key] != nil }.reduce(into: [:]) {
      $0[$1.key] = table.indexes[$1.key].map(table.defaultValue)
    }
  }

  /// Returns the merged values that a written row doesn't show, and the other values that it shows.
  private func shown(
    _ table: TableForm, _ values: [Int64: Value], _ folded: [Int64: Value], _ assets: Assets, before: StoredRecord?
  ) -> (extra: [Int64: Value], shown: [Int64: Value]) {
    var (extra, shown) = (
      unseen(table, values).merging(assets.missing.mapValues(Value.asset)) { $1 }, assets.shown
    )
    // The row still shows this value under a new name, because no flush has noticed the renaming yet.
    for (column, value) in before?.shown ?? [:] where value.asset == nil && shown[column] == nil {
      guard let successor = table.successors[column], values[successor] == nil, folded[successor] == nil else {
        continue
      }
      shown[column] = value
    }
    for (column, value) in folded {
      extra[column] = values[column] ?? table.indexes[column].map(table.defaultValue)
      shown[column] = value
    }
    return (extra, shown)
  }

  static let sameKey = "give the table the same key on every machine"

  /// Holds a record whose key the table would convert to another one, so that two records would share one row.
  private func hold(
    _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ values: [Int64: Value], replacing old: StoredRecord?
  ) throws {
    var held = record
    if record.isAlive { (held.held, held.extra) = (.constraint, values) }
    try records.save(ref, held, replacing: old)
    guard record.isAlive else { return }
    guard table.holds(ref.key) else { return try note(ref, .constraint, Self.unfit("the key")) }
    let (kind, made) = if case .text = ref.key { ("text", "number") } else { ("number", "text") }
    try note(
      ref, .constraint,
      "the key is a \(kind), and the column \(table.keyName) makes a \(made) of it here; \(Self.sameKey)")
  }

  /// Returns why a file in UTF-16 can't keep merged values, or nil if it can.
  ///
  /// - Parameter written: The columns to look at, or nil for all.
  private func unfit(_ values: [Int64: Value], _ table: TableForm, in written: Set<Int64>?) -> String? {
    let column = table.columns.first { column in
      written?.contains(column.id) != false && values[column.id].map { !table.holds($0) } ?? false
    }
    return column.map { Self.unfit("the value of the column \($0.name)") }
  }

  private static func unfit(_ what: String) -> String {
    "\(what) is no valid text, and this file, which is in UTF-16, can't keep it"
  }

  /// Holds a record whose table requires a BLOB that is not complete here.
  private func lack(
    _ column: String, _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ values: [Int64: Value],
    replacing old: StoredRecord?
  ) throws {
    var held = record
    held.held = .assetIncomplete
    held.extra = try aside(values, ref, table, old, record)
    try records.save(ref, held, replacing: old)
    if old?.isShown ?? false { try vacate(ref, table) }
    try note(
      ref, .assetIncomplete, "the BLOB of the column \(column) is not complete here; mesh asset list has its progress")
    try leave(ref, table)
  }

  /// Returns the values that a table can't show: those of columns that it lacks, and those that their column would
  /// convert.
  func unseen(_ table: TableForm, _ values: [Int64: Value]) -> [Int64: Value] {
    values.filter { column, value in
      guard let index = table.indexes[column] else { return true }
      return !table.columns[index].schema.affinity.keeps(value)
    }
  }

  /// Tries again to show a record that is held or partly shown.
  ///
  /// - Parameter overwriting: True to show it even if the row has other values.
  /// - Parameter most: How often it may have been tried in this run.
  func show(_ ref: RecordRef, overwriting: Bool = false, most: Int = 0) throws {
    guard tries[ref, default: 0] <= most, let record = try records.load(ref), record.isAlive else { return }
    // The record's flush shows it.
    if isPartial, !overwriting, try isPending(ref) { return }
    if isPartial, !overwriting, let table = transaction.catalog.table(ref.table),
      try (records.hasRow(table, ref.key) && !isOthers(ref)) != record.isShown
    {
      return
    }
    let state = try records.state(ref, record)
    if !overwriting { try requireNoticed(ref, record, state) }
    tries[ref, default: 0] += 1
    if record.isShown, record.extra.isEmpty { try stopWaiting(ref) }
    try place(ref, state, replacing: record, changed: [])
  }

  /// Handles a row that has appeared in its table. The records that wait for it become candidates, also those that were
  /// tried in this run. The row may have been another record's meanwhile.
  ///
  /// - Parameter isFree: True if the row is gone or has changed. Then only the records that it blocked may be shown.
  func appear(_ ref: RecordRef, isFree: Bool = false) throws {
    guard hasWaiters || others != nil else { return }
    let waiting = try transaction.held.waiters(for: ref, onlyRivals: isFree)
    // The lower keys come first, because they would displace the others.
    appearing += waiting.reversed().map { ($0.ref, zone: $0.zone, most: isFree ? .max : Self.mostTries) }
    guard !isAppearing else { return }
    isAppearing = true
    defer { (isAppearing, appearing) = (false, []) }
    while let (child, zone, most) = appearing.popLast() { try materialiser(ofZone: zone)?.show(child, most: most) }
  }

  /// Rows that refer to each other in a circle and can't exist together would otherwise take turns forever.
  private static let mostTries = 20

  /// Returns the materialiser of a zone, or nil if this file has never met the zone.
  func materialiser(ofZone zone: Int64) throws -> Materialiser? {
    zone == records.zone.id ? self : try others?.of(zone)
  }

  /// Handles a row that has left its table. The rows that refer to it have to be checked.
  func leave(_ ref: RecordRef, _ table: TableForm) throws {
    try release(ref, table)
    for reference in table.referrers {
      guard let child = transaction.catalog.table(reference.child) else { continue }
      let keys = try sql.all(child.keysReferring(reference.column), [ref.key]) { $0.value(0) }
      let children = keys.map { RecordRef(table: child.id, key: child.form.canonical($0)) }
      guard others != nil else {
        unchecked += children
        continue
      }
      for child in children { try transaction.occupant(child).flatMap(materialiser(ofZone:))?.check(child) }
    }
  }

  /// Adds a shown record whose references have to be checked.
  func check(_ ref: RecordRef) { unchecked.append(ref) }

  /// Returns whether any record of the table may be shown.
  func showsAll(_ table: TableForm) -> Bool { scope?.hasAll(table) ?? true }

  // MARK: Withdrawing

  /// Withdraws records that refer to missing rows, until nothing changes.
  func settle() throws {
    repeat {
      while let ref = unchecked.popLast() { try settle(ref) }
    } while try others?.settleNext() ?? false || !unchecked.isEmpty
    try ownOthers?.saveCounters()
  }

  /// Checks one record. Returns false if there is none.
  func settleNext() throws -> Bool {
    guard let ref = unchecked.popLast() else { return false }
    try settle(ref)
    return true
  }

  private func settle(_ ref: RecordRef) throws {
    guard let table = transaction.catalog.table(ref.table), let record = try records.load(ref), record.isShown,
      let row = try records.row(table, ref.key)
    else { return }
    let home = others == nil ? nil : scope == nil ? table.parent : scope?.anchor(of: table)
    var missing: [(reference: Reference, parent: RecordRef, value: Value)] = []
    var restored: Set<Int64> = []
    for reference in table.references {
      let column = table.columns[reference.column].id
      // If the table refuses the merged reference, the one in the row counts.
      let value = record.shown[column] != nil ? row[reference.column] : record.extra[column] ?? row[reference.column]
      guard value != .null, let parent = transaction.catalog.table(reference.parent) else { continue }
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
      let reason = try reason(lost)
      // The row may be about to move to that zone. A program that has just written it must find it until its flush.
      if reason == .parentElsewhere, isPartial, try isPending(ref) || isToBeRouted(ref) { return }
      return try withdraw(ref, table, record, reason)
    }
    // The reference in the row may not have been sent yet.
    if isPartial, try isPending(ref) { return }
    try requireNoticed(ref, record, records.state(ref, record))
    try reset(ref, table, record, row, missing.map { ($0.reference, $0.value) }, restored)
  }

  /// Returns whether notes in the log explain a difference between a record and its row.
  func isExplained(_ ref: RecordRef) throws -> Bool {
    try flushed.contains(ref) || isPartial && pending.get().contains(ref)
  }

  private func isPending(_ ref: RecordRef) throws -> Bool {
    guard try !flushed.contains(ref) && pending.get().contains(ref) else { return false }
    hasPostponed = true
    return true
  }

  /// Returns whether a program wrote the record after the notes that are flushed now.
  private func isToBeRouted(_ ref: RecordRef) throws -> Bool {
    guard try others != nil && unrouted.get().contains(ref) else { return false }
    hasPostponed = true
    return true
  }

  /// The records with notes whose zone is unknown. Computed on first use.
  private lazy var unrouted = Result { try canonical(transaction.pending.unrouted()) }

  /// The records with pending notes by programs, which may be moving to another zone. Computed on first use.
  private lazy var pending = Result { try canonical(transaction.pending.written(besidesLooks: records.zone.id)) }

  private func canonical(_ refs: [RecordRef]) -> Set<RecordRef> {
    Set(
      refs.compactMap { ref in
        transaction.catalog.table(ref.table).map { RecordRef(table: $0.id, key: $0.form.canonical(ref.key)) }
      })
  }

  /// Returns whether the parent is present.
  ///
  /// - Parameter child: The child, if the row has to belong to this zone. Otherwise changes to another zone's row would
  ///   affect the child.
  private func isPresent(_ ref: RecordRef, _ table: TableForm, _ value: Value, for child: RecordRef?) throws -> Bool {
    let hasRow = try records.hasRow(table, value)
    guard let child else {
      if hasRow || !isPartial { return hasRow }
      return try records.load(ref)?.isShown ?? false
    }
    if let record = try records.load(ref), record.isAlive {
      return record.held == nil && (hasRow || isPartial)
    }
    // A row that is not flushed yet belongs to no zone. Its flush determines whether it belongs to this one.
    guard try hasRow && isPartial && transaction.occupant(ref) == nil else { return false }
    try wait(child, for: ref)
    return true
  }

  /// Returns the parent that the reference's default names, if it is not here. The row can't be shown with the default
  /// then.
  private func lostDefault(_ reference: Reference, _ ref: RecordRef, _ home: Reference?) throws -> RecordRef? {
    guard reference.action == .setDefault, let table = transaction.catalog.table(ref.table),
      let parent = transaction.catalog.table(reference.parent)
    else { return nil }
    let value = table.defaultValue(reference.column)
    if value == .null { return nil }
    let parentRef = RecordRef(table: parent.id, key: parent.parentKey(value))
    if try isPresent(parentRef, parent, value, for: home == reference ? ref : nil) { return nil }
    try wait(ref, for: parentRef)
    return parentRef
  }

  func reason(_ parent: RecordRef) throws -> HeldReason {
    if others != nil, try transaction.isElsewhere(parent, besides: records.zone) { return .parentElsewhere }
    let record = try records.load(parent)
    return record != nil && record?.isAlive == false ? .parentDeleted : .missingParent
  }

  /// Removes the row from its table, and keeps its values.
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
    // A record that the moving device had not seen follows its parent.
    if reason == .parentElsewhere, try transaction.catalog.zones().privateZone == records.zone.id {
      try transaction.look(at: ref)
    }
  }

  /// Shows references to missing rows as NULL or default, and restores those to rows that have returned.
  private func reset(
    _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ row: [Value],
    _ missing: [(reference: Reference, value: Value)], _ restored: Set<Int64>
  ) throws {
    var shown = record
    var assignments: [Int64: Value] = [:]
    let stamped = Set(try records.columns(record.stamps).map(\.column))
    for (reference, value) in missing {
      let column = table.columns[reference.column].id
      // A column without a stamp has its default, which refers to nothing that is merged.
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
    held.extra = try aside(values, ref, table, old, record)
    held.shown = [:]
    try records.save(ref, held, replacing: old)
    try vacate(ref, table)
    try note(ref, .constraint, message)
    try leave(ref, table)
  }

  /// Removes a row from its table that another record needs.
  func holdShown(_ ref: RecordRef, _ table: TableForm, _ message: String) throws {
    guard let record = try records.load(ref), record.isShown else { return }
    try refuse(ref, table, record, try displaced(ref, record, table), message, replacing: record)
  }

  func note(_ ref: RecordRef, _ reason: HeldReason, _ message: String) throws {
    try transaction.held.note(ref, in: records.zone.id, reason, message)
  }

  func wait(_ ref: RecordRef, for parent: RecordRef) throws {
    hasWaiters = true
    try transaction.held.wait(ref, in: records.zone.id, for: parent)
  }

  func stopWaiting(_ ref: RecordRef) throws {
    try rememberDangling(ref)
    try transaction.held.remove(ref, in: records.zone.id)
  }
}

extension Transaction {
  /// Returns whether a record is alive in another zone.
  func isElsewhere(_ ref: RecordRef, besides zone: ZoneRow) throws -> Bool {
    try recordRows.exists(ref, .alive, besides: zone.id)
  }
}

// MARK: - Rows

extension Materialiser {
  func insert(_ table: TableForm, _ key: Value, _ values: [Int64: Value]) throws {
    let chosen = table.columns.indices.filter { values[table.columns[$0].id] != nil }
    let statement = try transaction.sql.statement(table.upsert(chosen))
    // If the key has a column of its own, its value is the key's spelling.
    statement.bind(table.keyColumn.flatMap { values[table.columns[$0].id] } ?? key, at: 1)
    for (place, index) in chosen.filter({ $0 != table.keyColumn }).enumerated() {
      try bind(values[table.columns[index].id] ?? .null, statement, at: place + 2, table, index)
    }
    if try sql.write(statement) == 0 { throw DatabaseError.ignored }
    try fill(key, values, table)
  }

  /// Updates a row. Inserts it if it disappeared unnoticed.
  func update(_ table: TableForm, _ key: Value, _ values: [Int64: Value], _ changed: Set<Int64>) throws {
    let chosen = table.columns.indices.filter {
      changed.contains(table.columns[$0].id) && values[table.columns[$0].id] != nil
    }
    guard !chosen.isEmpty else { return }
    let statement = try transaction.sql.statement(table.update(chosen))
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

  /// Deletes a row. Bypasses an app's trigger that refuses this, because a row that belongs to no merged record must
  /// not stay, nor block others.
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
  /// The error for `RAISE (IGNORE)`: SQLite reports nothing, but the row is missing.
  static let ignored = DatabaseError(
    resultCode: .SQLITE_CONSTRAINT_TRIGGER, message: "a trigger ignores the row: RAISE (IGNORE)")

  var isUnique: Bool { extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE }

  /// Whether SQLite refuses this row alone: because of a constraint, a type, its size, or an app's trigger that fails.
  var refusesRow: Bool {
    switch resultCode {
    case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_ERROR: true
    default: false
    }
  }
}
