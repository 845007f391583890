import MeshCore

/// Makes a `FlushPlan` from the oldest rows of the pending log, or from the next rows of a run. It only reads. If a
/// list of columns has no number yet, it throws `PlanObstacle.readOnly`, and the plan is made under the lock.
///
/// Records that move, are renamed, belong to tables that are synchronized again, or have columns with policies have
/// planners of their own, which add to this one's plan.
final class FlushPlanner {
  typealias State = ZoneRecords.State

  let records: ZoneRecords
  let source: PendingSlice.Source
  /// A filter from `Transaction.pendingFilter`.
  let filter: Int64
  let writer: ChangeSetWriter
  /// The author's number in this file.
  let author: Int64
  let now: Int64
  /// The zone's clock when the unit began.
  let base: HybridTime
  /// The bytes available for the part's changes.
  let room: Int
  /// Long values that have already been sent in this unit.
  let sent: [Value: UInt64]
  let hasher: AssetHasher

  var plan = FlushPlan()
  var layout = PartLayout()
  var shapes: [BirthForm: BirthShape] = [:]
  private var cascades: CascadeFinder
  private var carried: CarriedValues
  /// The former instances that may have sent what was noted before they ended. Read on first use.
  private(set) lazy var formerInstances = Result { try transaction.pending.formerInstances(in: records.zone.id) }

  var transaction: Transaction { records.transaction }
  private var renames: RenamePlanner { RenamePlanner(planner: self) }
  private var moves: MovePlanner { MovePlanner(planner: self) }
  private var retakes: RetakePlanner { RetakePlanner(planner: self) }
  private var policies: PolicyPlanner { PolicyPlanner(planner: self) }

  init(
    _ records: ZoneRecords, _ source: PendingSlice.Source, filter: Int64, writer: ChangeSetWriter, author: Int64,
    now: Int64, base: HybridTime, room: Int, sent: [Value: UInt64], hasher: AssetHasher
  ) {
    self.records = records
    carried = CarriedValues(records)
    cascades = CascadeFinder(records.transaction)
    self.source = source
    self.filter = filter
    self.writer = writer
    self.author = author
    self.now = now
    self.base = base
    self.room = room
    self.sent = sent
    self.hasher = hasher
  }

  /// Returns the plan, or nil if the source is more than one part, and must first be made a run.
  func make() throws -> FlushPlan? {
    let slice = try PendingSlice.read(transaction, source, zone: filter)
    guard fits(slice.isWhole) else { return nil }
    plan = FlushPlan(
      source: source, consumed: slice.count, isWhole: slice.isWhole, lastID: slice.lastID,
      schemaVersion: transaction.catalog.schemaVersion, clock: records.zone.clock)
    for entry in slice.entries {
      guard try add(entry) else {
        plan.isWhole = false
        plan.consumed = entry.start
        break
      }
    }
    guard fits(plan.isWhole) else { return nil }
    plan.tables = layout.tables
    return plan
  }

  private func fits(_ isWhole: Bool) -> Bool {
    if case .run = source { return true }
    return isWhole
  }

  /// Returns the stamp for a note's time. All changes with one trigger time share it, in any part of the unit. The
  /// stamp is later than all that the zone knew when the unit began. Notes with an earlier time get the time right
  /// after that.
  ///
  /// - Parameter old: A record that was in an earlier part of the unit. Its stamps are before this one.
  func time(_ wall: Int64, after old: StoredRecord? = nil) -> HybridTime {
    let noted = HybridTime(milliseconds: wall == 0 ? now : min(wall, now))
    let time = max(noted, base.next, old?.stamps.latest.next ?? .zero)
    plan.clock.witness(time)
    return time
  }

  /// Adds the changes of one record. Returns false if the part is full.
  private func add(_ entry: PendingSlice.Entry) throws -> Bool {
    let old = try records.load(entry.ref)
    if entry.isDeparting { return try moves.depart(entry, old) }
    let row = try records.row(entry.table, entry.ref.key)
    var entry = entry
    if let row { entry.addUnnotedColumns(of: row) }
    if entry.isRestored, entry.columns.isEmpty { plan.restored.insert(entry.ref) }
    if let zone = entry.arrivesFrom { return try moves.arrive(entry, old, row, from: zone) }
    if let table = entry.adopts { return try renames.adopt(entry, old, row, from: table) }
    if let table = entry.follows { return try renames.follow(entry, old, row, from: table) }
    return try addWritten(entry, old, row)
  }

  /// Adds the changes that programs here made to a record.
  func addWritten(
    _ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]?
  ) throws -> Bool {
    if let old, try isRenamed(entry, old) {
      return try renames.rename(entry, old, row)
    }
    if let row {
      if let old, isRetaken(entry, old) { return try retakes.retake(entry, old, row) }
      let isNew = old == nil || old?.isAlive == false || entry.isDeleted
      return try isNew ? birth(entry, old, row) : edit(entry, old, row)
    }
    guard let old, old.isAlive else {
      if entry.isUnreadable, !entry.isDeleted {
        plan.unsent.append((entry.ref, .keyUnreadable, TextEncoding.keyAdvice))
      } else {
        plan.gone.append(entry.ref)
      }
      return true
    }
    if old.held != nil, !entry.isDeleted { return try editHeld(entry, old) }
    if old.held == .untracked, old.isEditedMeanwhile { return try retakes.keepEdited(entry, old) }
    return try delete(entry, old)
  }

  /// Returns whether columns take on the values merged under their former names, or values that were written before
  /// they did.
  private func isRenamed(_ entry: PendingSlice.Entry, _ old: StoredRecord) throws -> Bool {
    guard old.isAlive, !entry.isInserted, !entry.isDeleted, !entry.table.origins.isEmpty else { return false }
    if try entry.hasRenamed || renames.hasRenamedParts(entry, old) { return true }
    return try entry.columns.keys.contains { column in
      guard entry.table.origins[column]?.contains(where: { old.extra[$0] != nil }) == true else { return false }
      return try old.extra[column] != nil || !isStamped(column, old)
    }
  }

  /// Returns whether an imported row already has a record that the table here never showed.
  private func isRetaken(_ entry: PendingSlice.Entry, _ old: StoredRecord) -> Bool {
    guard entry.isImported, !entry.isInserted, !entry.isDeleted else { return false }
    // The row was deleted before the table stopped being synchronized, and was written again since.
    return old.isAlive ? old.held != nil : old.hasBase || !entry.isRetaken
  }

  // MARK: Births

  func birth(_ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]) throws -> Bool {
    let generation = (old?.generation ?? 0).nextLife
    let base = entry.isImported && !entry.isInserted && !entry.isDeleted ? importTime : time(entry.wall)
    var cells: [(index: Int, time: HybridTime)] = []
    for index in entry.table.columns.indices {
      if index == entry.table.keyColumn, !entry.table.sendsSpelling(row[index], of: entry.ref.key) { continue }
      let edited = base.isImport ? entry.columns[entry.table.columns[index].id].map { time($0) } : nil
      cells.append((index, edited ?? base))
    }
    let awaited = try old.map { try self.awaited(entry, $0, row) } ?? [:]
    var row = row
    var parts = base.isImport ? ChangedParts() : try policies.firstParts(entry, &row, at: base)
    parts.cells += try carried.of(entry, at: base)
    return try emit(
      entry, .birth, old: old, generation: generation, life: base, cells, row, keeping: [:], awaited: awaited,
      parts: parts)
  }

  /// Returns the columns whose asset is not here, in a row that was written as a whole or recreated. Such a column has
  /// exactly the value that the row shows in place of the asset. The program had read no other value, so it means to
  /// keep the merged one.
  private func awaited(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]) throws -> [Int: Asset] {
    guard old.isShown, old.extra.contains(where: { $0.value.asset != nil }) else { return [:] }
    let named = try records.named(row, old, entry.table) { index, asset in
      guard let manifest = try transaction.contents.manifest(asset.id) else { return false }
      return try content(entry, index, asset.size, key: manifest.key)?.asset == asset
    }
    var awaited: [Int: Asset] = [:]
    for (column, value) in old.extra {
      guard let asset = value.asset, let index = entry.table.indexes[column], entry.columns[column] == nil,
        named[index] == old.shown[column] ?? .null
      else { continue }
      awaited[index] = asset
    }
    return awaited
  }

  // MARK: Edits

  func edit(_ entry: PendingSlice.Entry, _ old: StoredRecord?, _ row: [Value]) throws -> Bool {
    guard let old else { return true }
    // If a record is only imported, its edits are noted elsewhere in the log, if there are any.
    let isOnlyCompared = !entry.isInserted && entry.columns.isEmpty
    let isExact = isOnlyCompared || entry.firstID > records.zone.ahead
    let different =
      try isExact && old.held == nil
      ? differences(entry, old, row) : Array(entry.table.columns.indices)
    // A value that was changed and set back was written later than what others wrote in between.
    let isWritten = entry.columns.contains { $1 != PendingSlice.renamed && entry.table.indexes[$0] != nil }
    if different.isEmpty, !isWritten {
      // A program may have written a reference again whose parent is still missing.
      if !old.extra.isEmpty { plan.reshown.append(entry.ref) }
      if !entry.table.references.isEmpty { plan.rechecked.append(entry.ref) }
      return true
    }
    let table = entry.table
    var edited: [Int: HybridTime] = [:]
    if entry.isInserted || (entry.isImported && old.held == nil) {
      for index in entry.isInserted ? Array(table.columns.indices) : different {
        edited[index] = time(entry.wall, after: old)
      }
      if let key = table.keyColumn, !table.sendsSpelling(row[key], of: entry.ref.key),
        try !isStamped(table.columns[key].id, old)
      {
        edited[key] = nil
      }
    }
    for (column, wall) in entry.columns {
      guard let index = table.indexes[column] else { continue }
      // Values that a migration filled in are older than every edit, like values that existed before the table was
      // synchronized.
      if !isFilled(entry, index, row) {
        edited[index] = time(wall, after: old)
      } else if try !isStamped(column, old) {
        edited[index] = importTime
      }
    }
    try loseUnseen(entry, old, row, &edited)
    if entry.isInserted { for index in try awaited(entry, old, row).keys { edited[index] = nil } }
    let derived = try records.derivedResets(entry, old, row, Set(edited.keys))
    for index in derived.keys { edited[table.columns.firstIndex { $0.id == index } ?? -1] = nil }
    var row = row
    let parts = try policies.takeParts(entry, old, &row, &edited)
    let cells = edited.sorted { $0.key < $1.key }.map { (index: $0.key, time: $0.value) }
    return try emit(
      entry, .edit, old: old, generation: old.generation, life: nil, cells, row, keeping: derived, parts: parts)
  }

  private func differences(_ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value]) throws -> [Int] {
    let isNoted = !entry.isInserted && !entry.isImported
    // A write to a column whose merged value is not shown is an edit, even if the row shows the same as before.
    let written = old.extra.keys.filter { old.hides($0) && entry.columns[$0] != nil }
    if isNoted, !written.isEmpty { return written.compactMap { entry.table.indexes[$0] } }
    return try records.differences(entry.ref, old, entry.table, row: row) { index, asset in
      // Triggers saw no change of the BLOB, so it isn't read.
      if isNoted, entry.columns[entry.table.columns[index].id] == nil { return true }
      guard let manifest = try transaction.contents.manifest(asset.id) else { return false }
      return try content(entry, index, asset.size, key: manifest.key)?.asset == asset
    }
  }

  /// Returns the long BLOB in a column of the row, given its size. Returns nil if there is none.
  func content(
    _ entry: PendingSlice.Entry, _ index: Int, _ size: Int, key: [UInt8]? = nil
  ) throws -> (asset: Asset, manifest: AssetManifest)? {
    try hasher.content(
      entry.ref, RowCell(table: entry.table, key: entry.ref.key, index: index), size: size,
      key: key ?? AssetManifest.key(of: writer.zone, transaction.cryptography), transaction)
  }

  func isStamped(_ column: Int64, _ old: StoredRecord) throws -> Bool {
    try records.columns(old.stamps).contains { $0.column == column }
  }

  /// Handles writes to columns whose merged values the row didn't show yet. The written values give way to the merged
  /// ones, and are kept as conflicts.
  private func loseUnseen(
    _ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value], _ edited: inout [Int: HybridTime]
  ) throws {
    for index in entry.table.columns.indices {
      let column = entry.table.columns[index].id
      guard edited[index] != nil || entry.columns[column] != nil, !entry.retaken.contains(column),
        let merged = old.unseen(index, entry.table)
      else { continue }
      // The row had shown the default until the write, and so the merged value.
      if edited[index] != nil, merged == entry.table.defaultValue(index) { continue }
      if row[index] != merged, row[index] != entry.table.defaultValue(index) || entry.columns[column] != nil,
        try !isCarried(row[index], column, entry, old)
      {
        try lose(
          entry, index, row[index],
          at: isFilled(entry, index, row) ? importTime : time(entry.columns[column] ?? entry.wall),
          to: old.stamps.stamp(of: column))
      }
      edited[index] = nil
      plan.reshown.append(entry.ref)
    }
  }

  /// Returns whether a column only shows the value that is merged under its former name, which another column has now.
  private func isCarried(
    _ value: Value, _ column: Int64, _ entry: PendingSlice.Entry, _ old: StoredRecord
  ) throws -> Bool {
    guard entry.columns[column] == PendingSlice.migrated, let former = entry.table.formerNames[column] else {
      return false
    }
    return try records.state(entry.ref, old).cells[former]?.value == value
  }

  /// Returns whether a migration wrote the column's value, as far as its notes tell.
  private func isFilled(_ entry: PendingSlice.Entry, _ index: Int, _ row: [Value]) -> Bool {
    let column = entry.table.columns[index].id
    return entry.columns[column] == PendingSlice.migrated
      || entry.unsure.contains(column) && row[index] == entry.table.defaultValue(index)
  }

  /// Handles an edit whose record was withdrawn from its table before the edit was flushed. The values were kept then.
  private func editHeld(_ entry: PendingSlice.Entry, _ old: StoredRecord) throws -> Bool {
    var row = entry.table.columns.indices.map { old.extra[entry.table.columns[$0].id] ?? .null }
    if let key = entry.table.keyColumn, row[key] == .null { row[key] = entry.ref.key }
    let cells = try entry.columns.compactMap { column, wall -> (index: Int, time: HybridTime)? in
      guard old.extra[column] != nil, let index = entry.table.indexes[column] else { return nil }
      if wall != PendingSlice.migrated { return (index: index, time: time(wall, after: old)) }
      return try isStamped(column, old) ? nil : (index: index, time: importTime)
    }.sorted { $0.index < $1.index }
    guard !cells.isEmpty else { return true }
    return try emit(
      entry, .edit, old: old, generation: old.generation, life: nil, cells, row, keeping: old.extra, isHeld: true)
  }

  // MARK: Values that are not sent

  /// The time of values that nobody edited. Like every time of the unit, it is later than all times that the zone knew
  /// when the unit began.
  var importTime: HybridTime {
    let noted = max(HybridTime(milliseconds: now), base.next).wholeMilliseconds
    plan.clock.witness(noted)
    return HybridTime(importedAt: noted)
  }

  /// Returns whether a column of the row has a merged value.
  func isSame(_ entry: PendingSlice.Entry, _ index: Int, _ value: Value, _ merged: Value?) throws -> Bool {
    guard value.isUnread, let asset = merged?.asset, asset.size == value.asset?.size else { return value == merged }
    guard let manifest = try transaction.contents.manifest(asset.id) else { return false }
    return try content(entry, index, asset.size, key: manifest.key)?.asset == asset
  }

  /// Keeps a value of the row that is not sent, as a conflict.
  func lose(
    _ entry: PendingSlice.Entry, _ index: Int, _ value: Value, at time: HybridTime, to winner: LocalStamp
  ) throws {
    var value = value
    if value.isUnread, let size = value.asset?.size, let found = try content(entry, index, size) {
      plan.manifests.append(found.manifest)
      value = .asset(found.asset)
    }
    plan.losses.append(
      .init(
        ref: entry.ref,
        loss: State.Loss(
          column: entry.table.columns[index].id, loser: .init(stamp: global(time), value: value),
          winner: try stamp(winner), wasLocal: true)))
  }

  func loseDelete(_ entry: PendingSlice.Entry, to winner: LocalStamp) throws {
    let loser = State.Cell(stamp: global(time(entry.wall)), value: .null)
    plan.losses.append(
      .init(
        ref: entry.ref,
        loss: State.Loss(
          column: ZoneRecords.wholeRecord, loser: loser, winner: try stamp(winner), wasLocal: true)))
  }

  // MARK: Deletes

  private func delete(_ entry: PendingSlice.Entry, _ old: StoredRecord) throws -> Bool {
    let isRekeyed = entry.isDeleted && !entry.isGone
    if isRekeyed { plan.rekeyed.insert(entry.ref) }
    for reference in entry.table.referrers where reference.action == .cascade && !isRekeyed {
      let cascade = FlushPlan.Cascade(
        reference: reference, parent: entry.ref.key, note: entry.goneID ?? .max)
      if try !cascades.deletedKeys(cascade, limit: 1).isEmpty { plan.cascades.append(cascade) }
      try plan.staying.formUnion(cascades.stayingRecords(cascade))
    }
    let stamp = LocalStamp(author: author, time: time(entry.wall))
    return try emitDelete(entry, old, stamp, .delete)
  }

  func emitDelete(
    _ entry: PendingSlice.Entry, _ old: StoredRecord, _ stamp: LocalStamp, _ kind: FlushPlan.Change.Kind
  ) throws -> Bool {
    guard layout.take(entry.ref.key.encodedBound + 24, fields: 0, long: 0, of: room, for: entry.table) else {
      return false
    }
    let place = layout.place(of: entry.table)
    layout.tables[place].rows.append(
      RowChange(
        key: entry.ref.key, generation: old.generation.nextGeneration, isLife: true, stamp: global(stamp.time),
        fields: []))
    let record = StoredRecord(
      generation: old.generation.nextGeneration, hash: nil,
      stamps: RecordStamps(base: stamp, layout: try transaction.catalog.layoutNumber([], of: entry.ref.table)))
    plan.changes.append(
      .init(ref: entry.ref, table: entry.table, record: record, old: old, kind: kind, isBlind: isBlind(entry, old)))
    return true
  }

  /// Returns whether a program inserted a row whose record is alive but held here. The program had not seen that
  /// record.
  func isBlind(_ entry: PendingSlice.Entry, _ old: StoredRecord?) -> Bool {
    guard entry.isInserted, !entry.isRestored, let old, old.isAlive, let held = old.held else { return false }
    return switch held {
    case .constraint, .missingParent, .parentDeleted, .parentElsewhere, .assetIncomplete, .unknownTable, .untracked,
      .slotTaken:
      true
    default: false
    }
  }

  /// The account that owns the zone, or nil if it is this account.
  var owner: AccountID? {
    get throws { try transaction.catalog.zones().entries[records.zone.id]?.standing.owner }
  }

  func global(_ time: HybridTime) -> Stamp { Stamp(time: time, author: writer.author) }
}
