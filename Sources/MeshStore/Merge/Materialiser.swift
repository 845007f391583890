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
  let progress: Phase
  let rows: RowWriter
  /// The shown records whose references have to be checked.
  private var unchecked: [RecordRef] = []
  /// How often each record has been tried in this run.
  private var tries: [RecordRef: Int] = [:]
  /// The current flush.
  let flushing: FlushPlan?
  let notes: NotedWrites
  let local: LocalValues
  private let dangling: DanglingRows
  /// The records that wait for rows that have appeared. They are processed without recursion, because a chain of
  /// references can be longer than the stack.
  private var appearing: [(RecordRef, zone: Int64, most: Int)] = []
  private var isAppearing = false
  private var hasWaiters: Bool
  /// The scope of a share, or nil for the private zone.
  private var scope: ShareScope?
  /// The materialisers of the other zones, or nil if there are none.
  var others: Materialisers? { ownOthers ?? sharedOthers }
  private var ownOthers: Materialisers?
  private weak var sharedOthers: Materialisers?

  enum Phase {
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

  var transaction: Transaction { records.transaction }
  var refused: [RecordRef: String] { rows.refused }
  private var sql: Connection { records.transaction.sql }

  /// - Parameter others: The materialisers of the other zones, or nil for the zone that the access concerns.
  init(
    _ records: ZoneRecords, _ progress: Phase = .clean, refused: [RecordRef: String] = [:],
    flushing: FlushPlan? = nil, others: Materialisers? = nil
  ) throws {
    self.records = records
    self.progress = progress
    self.flushing = flushing
    notes = NotedWrites(records, progress, flushing: flushing)
    local = LocalValues(records, isFlushing: flushing != nil)
    dangling = DanglingRows(records, flushing: flushing)
    rows = RowWriter(records: records, refused: refused)
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
  /// - Throws: `ResolveError.refused` if the table refuses the row with the chosen values.
  func place(
    _ ref: RecordRef, _ state: State, replacing old: StoredRecord?, changed: Set<Int64>?,
    choosing chosen: [Int64: Value] = [:]
  ) throws {
    var record = try records.pack(ref, state, previous: old)
    let values = state.cells.mapValues(\.value)
    if let old {
      // A row that is shown only here has a note, even if none of its values are kept beside it. If it still dangles, `settle`
      // notes it again.
      if try dangling.areThereAny() || old.held != nil || !old.extra.isEmpty { try stopWaiting(ref) }
    }
    guard let table = transaction.catalog.table(ref.table) else {
      record.held = state.isAlive ? .unknownTable : nil
      record.extra = state.isAlive ? values : [:]
      record.keepBase(of: old)
      return try records.save(ref, record, replacing: old)
    }
    guard table.keeps(ref.key) else { return try hold(ref, table, record, values, replacing: old) }
    var version = RecordVersion(
      ref: ref, state: state, table: table, old: old, changed: changed, chosen: chosen, values: values, record: record)
    let kept = try local.take(ref, table, old, in: version.writes, to: state)
    if try withhold(&version) { return }
    var isFree = true
    if let others, let rival = try transaction.occupant(ref, besides: records.zone.id) {
      guard try others.take(ref, from: rival, self) else {
        version.record.held = .slotTaken
        version.record.extra = try local.aside(values, ref, table, old, record)
        return try records.save(ref, version.record, replacing: old)
      }
      isFree = false
    }
    try write(version, keeping: kept, isFree: isFree)
  }

  /// Handles a version that the table doesn't get: the record is dead or outside of the share, or its row is known to be
  /// refused.
  ///
  /// - Returns: False if it is none of them.
  private func withhold(_ version: inout RecordVersion) throws -> Bool {
    let (ref, table, old, values) = (version.ref, version.table, version.old, version.values)
    guard version.state.isAlive else {
      if let old, old.isShown { try transaction.kept.keep(old.shown, ref) }
      try records.save(ref, version.record, replacing: old)
      if try old?.isShown ?? !isOthers(ref) { try vacate(ref, table) }
      try leave(ref, table)
      return true
    }
    if scope?.has(ref, table) == false {
      if version.isShown { try records.keepAssets(of: values, from: ref, table) }
      version.record.held = .outsideShare
      version.record.extra = try local.aside(values, ref, table, old, version.record)
      try records.save(ref, version.record, replacing: old)
      if version.isShown { try vacate(ref, table) }
      try leave(ref, table)
      return true
    }
    let all = values.merging(version.chosen) { $1 }
    guard let message = refused[ref] ?? (table.isUTF16 ? unfit(all, table, in: version.writes) : nil) else {
      return false
    }
    guard version.chosen.isEmpty else { throw ResolveError.refused(message) }
    if try !finish(refusal.goOnShowing(old, ref, table, version.record, values, message), ref, table) {
      try refuse(ref, table, version.record, values, message, replacing: old)
    }
    return true
  }

  /// Writes a version to its table.
  ///
  /// - Parameters:
  ///   - kept: The local values that the row keeps.
  ///   - isFree: False if the row shows another zone's record.
  private func write(_ version: RecordVersion, keeping kept: [Int64: Value], isFree: Bool) throws {
    let (ref, table, old, values) = (version.ref, version.table, version.old, version.values)
    let (changed, chosen, stays) = (version.changed, version.chosen, version.stays)
    let before = version.isShown ? old : nil
    var assets = try RowAssets(records, ref, table, values, old: before, updates: changed != nil && stays)
    if let column = assets.required { return try lack(column, ref, table, version.record, values, replacing: old) }
    let folded = try transaction.folded(table, version.state)
    let base = old?.hasBase == true ? old : nil
    let written = assets.assigned(values).merging(kept) { merged, _ in merged }.merging(folded) { $1 }
      .merging(chosen) { $1 }.merging(version.leftovers(base)) { written, _ in written }
    if let before { try assets.keepReplaced(before, by: written) }
    do {
      // A row that is rewritten must still exist if the table refuses the new version.
      try rows.wholly(table, isReplaced: changed == nil && stays) {
        if let changed, stays, let old {
          try rows.update(table, ref.key, written, changed.union(old.extra.keys).union(folded.keys).union(chosen.keys))
          for (column, asset) in assets.patched { try rows.patch(ref.key, column, asset, table) }
        } else {
          if !isFree || version.isShown { try rows.deleteRow(table, ref.key) }
          try rows.insert(table, ref.key, written)
        }
      }
      try assets.readMissing(old: changed == nil ? nil : before ?? base, isNew: before == nil, rows)
    } catch let error as DatabaseError where error.refusesRow {
      return try handle(error, version, written, assets)
    }
    var record = version.record
    (record.extra, record.shown) = version.shown(folded, assets, before: before)
    if !chosen.isEmpty { try refusal.hide(values, behind: chosen, ref, table, &record, old) }
    if old?.held != nil { transaction.reached(.hiddenRowShown) }
    if !assets.patched.isEmpty { transaction.reached(.assetPatched) }
    try records.save(ref, record, replacing: old)
    if !table.references.isEmpty { unchecked.append(ref) }
    if stays { try release(ref, table) } else { try appear(ref) }
  }

  /// Handles a version that the table refuses. Makes way for it, shows as much of it as the table accepts, or holds the
  /// record.
  private func handle(
    _ error: DatabaseError, _ version: RecordVersion, _ written: [Int64: Value], _ assets: RowAssets
  ) throws {
    let (ref, table, old, values) = (version.ref, version.table, version.old, version.values)
    guard sql.isInTransaction else { throw RecordFailure(ref: ref, cause: .rolledBack(error.reason)) }
    guard version.chosen.isEmpty else { throw ResolveError.refused(error.reason) }
    if error.isUnique {
      if try makeWay(ref, table, values, error.reason) {
        return try place(ref, version.state, replacing: old, changed: nil)
      }
    } else {
      let outcome = try refusal.retry(
        old, ref, table, version.record, values, changed: version.changed, written, assets, error.reason)
      if try finish(outcome, ref, table) { return }
    }
    try refuse(ref, table, version.record, values, error.reason, replacing: old)
  }

  private var refusal: RefusedVersion { RefusedVersion(records: records, rows: rows) }

  /// Returns false if no row is left to show.
  private func finish(_ outcome: RefusedVersion.Outcome, _ ref: RecordRef, _ table: TableForm) throws -> Bool {
    guard outcome != .absent else { return false }
    if !table.references.isEmpty { check(ref) }
    if outcome == .appears { try appear(ref) }
    return true
  }

  static let otherKey = "the table has another key on the machine that wrote the record"

  /// Holds a record whose key the table would convert to another one, so that two records would share one row.
  private func hold(
    _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ values: [Int64: Value], replacing old: StoredRecord?
  ) throws {
    var held = record
    if record.isAlive { (held.held, held.extra) = (.constraint, values) }
    try records.save(ref, held, replacing: old)
    guard record.isAlive else { return }
    try note(ref, .constraint, Self.unfitKey(ref.key, table))
  }

  /// Returns why a table can't have a row with the key, which its key column doesn't keep unchanged.
  static func unfitKey(_ key: Value, _ table: TableForm) -> String {
    guard table.holds(key) else { return unfit("the key") }
    let (kind, made) = if case .text = key { ("text", "number") } else { ("number", "text") }
    return "the key is a \(kind), and the column \(table.keyName) makes a \(made) of it here; \(otherKey)"
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
    held.extra = try local.aside(values, ref, table, old, record)
    try records.save(ref, held, replacing: old)
    if old?.isShown ?? false { try vacate(ref, table) }
    try note(
      ref, .assetIncomplete, "the BLOB of the column \(column) is not complete here; mesh asset list has its progress")
    try leave(ref, table)
  }

  /// Tries again to show a record that is held or partly shown.
  ///
  /// - Parameter overwriting: True to show it even if the row has other values.
  /// - Parameter most: How often it may have been tried in this run.
  func show(_ ref: RecordRef, overwriting: Bool = false, most: Int = 0) throws {
    guard tries[ref, default: 0] <= most, let record = try records.load(ref), record.isAlive else { return }
    // The record's flush shows it.
    if notes.isPartial, !overwriting, try notes.postponeIfPending(ref) { return }
    if notes.isPartial, !overwriting, let table = transaction.catalog.table(ref.table),
      try (records.hasRow(table, ref.key) && !isOthers(ref)) != record.isShown
    {
      return
    }
    let state = try records.state(ref, record)
    if !overwriting { try notes.requireNoticed(ref, record, state) }
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
    try ownOthers?.noteAhead()
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
      if try findParent(parentRef, parent, value, for: home == reference ? ref : nil) {
        if reference.isReset, record.extra[column] != nil, row[reference.column] != value { restored.insert(column) }
      } else if row[reference.column] == value, try dangling.letStay(ref, parentRef) {
        try wait(ref, for: parentRef)
        try dangling.keep(ref)
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
      let reason = try records.reason(missing: lost)
      // The row may be about to move to that zone. A program that has just written it must find it until its flush.
      if reason == .parentElsewhere, notes.isPartial, try notes.postponeIfPending(ref) || notes.postponeIfUnrouted(ref)
      {
        return
      }
      return try withdraw(ref, table, record, reason)
    }
    // The reference in the row may not have been sent yet.
    if notes.isPartial, try notes.postponeIfPending(ref) { return }
    try notes.requireNoticed(ref, record, records.state(ref, record))
    try reset(ref, table, record, row, missing.map { ($0.reference, $0.value) }, restored)
  }

  /// Looks for the parent. Lets the child wait for a parent that is not flushed yet.
  ///
  /// - Parameter child: The child, if the row has to belong to this zone. Otherwise changes to another zone's row would
  ///   affect the child.
  /// - Returns: True if the parent is present.
  private func findParent(_ ref: RecordRef, _ table: TableForm, _ value: Value, for child: RecordRef?) throws -> Bool {
    let hasRow = try table.hasParent(value, sql)
    guard let child else {
      if hasRow || !notes.isPartial { return hasRow }
      return try records.load(ref)?.isShown ?? false
    }
    if let record = try records.load(ref), record.isAlive {
      return record.held == nil && (hasRow || notes.isPartial)
    }
    // A row that is not flushed yet belongs to no zone. Its flush determines whether it belongs to this one.
    guard try hasRow && notes.isPartial && transaction.occupant(ref) == nil else { return false }
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
    if try findParent(parentRef, parent, value, for: home == reference ? ref : nil) { return nil }
    try wait(ref, for: parentRef)
    return parentRef
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

  /// Returns the merged values of a record whose row is about to be removed. They include unflushed writes of programs.
  /// Afterwards, the assets are in the staging.
  func displaced(_ ref: RecordRef, _ record: StoredRecord, _ table: TableForm) throws -> [Int64: Value] {
    try notes.requireNoticed(ref, record, records.state(ref, record))
    guard var row = try records.row(table, ref.key) else { return try records.values(ref, record) }
    let key = AssetManifest.key(of: records.zone.zone, transaction.cryptography)
    var shown = records.named(row, record, table)
    for index in row.indices where row[index].isUnread {
      let (cell, column) = (RowCell(table: table, key: ref.key, index: index), table.columns[index].id)
      if record.extra[column] != nil, shown[index] == record.shown[column] { continue }
      if let asset = shown[index].asset, !asset.isUnread, let manifest = try transaction.contents.manifest(asset.id) {
        try transaction.contents.keep(asset, manifest, from: cell)
        if try transaction.staged.isComplete(asset, manifest) { continue }
      }
      guard let size = row[index].asset?.size,
        let manifest = try transaction.contents.manifest(of: cell, size: size, key: key)
      else { continue }
      let asset = try transaction.contents.remember(manifest)
      try transaction.contents.keep(asset, manifest, from: cell)
      shown[index] = .asset(asset)
    }
    row = shown
    var values = try records.values(ref, record, row: row)
    for column in try local.of(ref, table, record).keys where values[column] == nil {
      values[column] = table.indexes[column].map { row[$0] }
    }
    // A program may have written another value in place of a merged value that the row doesn't show.
    for column in record.extra.keys where record.hides(column) {
      guard let index = table.indexes[column], row[index] != record.shown[column] ?? .null else { continue }
      // Increments that are noted and not sent yet are part of the column's own value from now on.
      if case .integer(let new) = row[index], case .integer(let before) = record.shown[column],
        case .integer(let base) = record.extra[column], record.heldSince == nil
      {
        values[column] = .integer(Int64(clamping: Int128(base) + Int128(new) - Int128(before)))
      } else {
        values[column] = row[index]
      }
    }
    return values
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
      if !assignments.isEmpty { try rows.update(table, ref.key, assignments, Set(assignments.keys)) }
    } catch let error as DatabaseError where error.refusesRow {
      guard sql.isInTransaction else { throw RecordFailure(ref: ref, cause: .rolledBack(error.reason)) }
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
    if old?.isShown ?? false { try records.keepAssets(of: values, from: ref, table) }
    var held = record
    held.held = .constraint
    held.extra = try local.aside(values, ref, table, old, record)
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
    try dangling.remember(ref)
    try transaction.held.remove(ref, in: records.zone.id)
  }
}

extension Transaction {
  /// Returns whether a record is alive in another zone.
  func isElsewhere(_ ref: RecordRef, besides zone: ZoneCounters) throws -> Bool {
    try recordRows.exists(ref, .alive, besides: zone.id)
  }
}
