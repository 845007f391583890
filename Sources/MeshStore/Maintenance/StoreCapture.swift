import GRDB
public import MeshCore

/// Capture: it keeps the triggers and the records in step with the schema, and looks for writes that no trigger saw.
public final class StoreCapture: CaptureStore, StorePart {
  let access: StoreAccess
  /// The faults that were found and repaired since the store was opened.
  public private(set) var repairs = Repairs()
  /// The columns that programs wrote in the table whose values are read back from the log.
  private var recallNotes: NotedColumns?
  /// The positions up to which comparisons read the log last.
  private var importPlaces = ImportPlaces()

  init(_ access: StoreAccess) { self.access = access }

  /// Notes that a commit had turned capture off when the file was opened.
  func noteSilence() { repairs.silences += 1 }

  /// Makes one bounded step of the work that follows from a changed schema, a commit that turned capture off, or a
  /// request to compare. Until it returns `.done`, nothing is flushed or merged, except after `.flushFirst`.
  public func upkeep(_ reader: (ZoneID) throws -> ChangeSetReader, now: Int64) throws -> UpkeepProgress {
    let due = try read { try $0.dueUpkeep() }
    if due != .recall { recallNotes = nil }
    switch due {
    case nil: return .done
    case .schema:
      let readded = try read { try $0.readdedColumns() }
      let (wasSilent, findings, faults) = try write { transaction in
        let (wasSilent, findings) = try transaction.noteSchema(readded)
        return (wasSilent, findings, try transaction.trackingFaults())
      }
      repairs.note(wasSilent: wasSilent, findings)
      return .schemaChanged(findings.compactMap(\.notice) + faults.map(\.notice))
    case .recall:
      // Programs don't wait while a million notes are read.
      try read { try Recall.readNotes($0, &recallNotes) }
      try write(isDurable: false) { try Recall.slice($0, reader, &recallNotes) }
      return .worked()
    case .forbidden:
      try rollBack(reader, now: now)
      return .worked()
    case .rows:
      guard try read({ try !$0.hasLongPending() }) else { return .flushFirst }
      let slice = try withoutActuallyEscaping(reader) { try noteSlice(.compare, $0, now: now) }
      guard let slice else { return .worked() }
      return .worked(compared: slice.rows, differences: slice.differences)
    }
  }

  /// Compares all rows with the merged values, slice by slice. Notes each difference as if a trigger had seen it.
  public func rescan(tables: [String] = []) throws {
    try write { transaction in
      for table in try tables.isEmpty ? TrackedTable.all(transaction.db) : tables.map({ try transaction.tracked($0) }) {
        try transaction.work.request(.compare, table.id)
      }
    }
  }

  public func unsent(_ zone: ZoneID) throws -> Unsent {
    try read { transaction in
      if try transaction.dueUpkeep() != nil { return .pending }
      let row = try transaction.zoneRows.read(zone)?.id ?? 0
      // Rows that are not routed yet may belong to the zone.
      if try transaction.pending.mayHave(row) { return .pending }
      return try transaction.held.hasUnsent(in: row) || transaction.tableList.hasUncaptured()
        ? .unsendable : .nothing
    }
  }

  /// Returns whether some writes of programs are not captured yet.
  public func isDue() throws -> Bool { try read { try $0.dueUpkeep() != nil } }

  /// Returns whether a table is being imported or compared.
  public func isComparing() throws -> Bool {
    try read { try $0.work.hasImports() }
  }

  /// Notes all rows of the tables that are to be imported. If another program changes the schema meanwhile, `upkeep`
  /// does the rest.
  func takeIn(now: Int64) throws {
    while try noteSlice(.takeIn, now: now) != nil {}
  }

  /// Notes the differences in the next slice. The comparison runs before the write lock is taken, because usually it
  /// finds nothing and has only its position to write.
  private func noteSlice(
    _ least: TableSlice.Task, _ reader: ((ZoneID) throws -> ChangeSetReader)? = nil, now: Int64
  ) throws -> TableSlice? {
    guard let slice = try read({ try TableSlice.next($0, least, importPlaces, reader) }) else { return nil }
    importPlaces = slice.places
    return try write { try slice.note($0, now: now) } ? slice : nil
  }
}

extension Transaction {
  fileprivate enum Upkeep {
    case schema, recall, forbidden, rows
  }

  fileprivate func dueUpkeep() throws -> Upkeep? {
    if try !isCurrent() { return .schema }
    if try work.hasRecalls() { return .recall }
    if try hasForbidden() { return .forbidden }
    return try work.hasImports() ? .rows : nil
  }

  /// Returns whether the triggers fit the current schema and no commit has turned capture off.
  func isCurrent() throws -> Bool {
    try state.capture().map { $0.schemaVersion == catalog.schemaVersion && !$0.isSilent } ?? false
  }

  /// Returns whether records and triggers fit the schema, so that rows can be flushed and records merged.
  func isInStep() throws -> Bool {
    try isCurrent() && !work.hasRecalls()
  }

  /// Returns whether more notes are waiting than one flush reads. Further notes would only take up space.
  fileprivate func hasLongPending() throws -> Bool {
    try pending.hasMore(than: StoreLimits.pendingRows)
  }

  fileprivate func tracked(_ name: String) throws -> TrackedTable {
    if let table = try TrackedTable.read(db, name: name) { return table }
    throw StoreError.unknownTable(name)
  }

  /// Brings the triggers up to date, and requests the work that follows from the findings.
  ///
  /// - Parameter readded: The columns that were found before the write lock was taken. If the schema has changed since,
  ///   they are searched again.
  func noteSchema(_ readded: ReaddedColumns? = nil) throws -> (wasSilent: Bool, findings: [CaptureFinding]) {
    let wasSilent = try endSilence()
    let layouts = Dictionary(uniqueKeysWithValues: try TrackedTable.all(db).map { ($0.id, $0.layout ?? 0) })
    let isCurrent = readded?.schemaVersion == catalog.schemaVersion
    let readded = try isCurrent ? readded?.tables ?? [:] : readdedColumns().tables
    var findings = try Capture.update(db)
    for (table, columns) in readded.sorted(by: { $0.key < $1.key }) {
      let place = findings.firstIndex { $0.table == table } ?? findings.count
      if place == findings.count {
        guard let name = try TrackedTable.read(db, id: table)?.name else { continue }
        findings.append(CaptureFinding(table: table, name: name, reasons: []))
      }
      findings[place].noteReadded(columns)
    }
    for finding in findings {
      let layout = try layoutBefore(finding, layouts[finding.table] ?? 0)
      if finding.reasons.contains(.recreated) || finding.isGone { try forgetLostWrites(finding) }
      if finding.needsRecall { try requestRecall(finding, before: layout) }
      if !finding.newColumns.isEmpty {
        try noteTouches(finding, before: layout)
        try assets.awaitAll(of: finding.newColumns, in: finding.table)
      }
      guard finding.needsRescan else { continue }
      // The table has its former name again, and the rows that it had.
      if try finding.reasons.contains(.returned) && recordRows.hasUntracked(finding.table) {
        try work.request(.takeIn, finding.table, layout: TableSlice.anew)
        continue
      }
      let isExchanged = finding.reasons.contains(.exchanged)
      try work.request(
        finding.reasons.contains(.returned)
          ? .compareReturned : finding.reasons.contains(.recreated) ? .compareRecreated : .compare, finding.table,
        layout: isExchanged || !finding.newColumns.isEmpty ? layout : 0, isExchanged: isExchanged)
      if finding.needsRecall { try compareReferrers(of: finding) }
    }
    try updatePermissions()
    try work.requestShow()
    return (wasSilent, findings)
  }

  /// The columns that a table had before the change. One that was added again had no values in between.
  private func layoutBefore(_ finding: CaptureFinding, _ layout: Int64) throws -> Int64 {
    guard !finding.readded.isEmpty else { return layout }
    return try catalog.layoutNumber(
      try catalog.layout(layout).filter { finding.readded[$0] == nil }, of: finding.table)
  }

  /// Notes the values that programs wrote to columns unknown to the triggers, which noted only the rows. Values that a
  /// migration filled in are older than every edit. But if a statement then wrote one row alone, that row was edited.
  private func noteTouches(_ finding: CaptureFinding, before: Int64) throws {
    guard let layout = try TrackedTable.read(db, id: finding.table)?.layout else { return }
    let columns = try catalog.layout(layout)
    let places = finding.newColumns.compactMap(columns.firstIndex(of:))
    for (word, places) in Dictionary(grouping: places, by: { $0 / Layout.wordSize }) {
      let mask = places.reduce(Int64(0)) { $0 | 1 << Int64($1 % Layout.wordSize) }
      try pending.noteTouches(
        of: finding.table, before: before, layout: layout, word: word, mask: mask,
        isOnly: finding.newColumns.count == 1)
    }
  }

  /// Handles a value that arrived for a column that was renamed in this table. The value belongs to the renamed column.
  func noteRenamed(_ ref: RecordRef, _ changed: Set<Int64>) throws {
    guard let table = catalog.table(ref.table), !table.successors.isEmpty else { return }
    var renamed = Set(changed.compactMap { table.successors[$0] })
    for number in changed {
      guard let part = try catalog.part(number), let whole = try catalog.knownColumn(part.column, of: table.id),
        let successor = table.successors[whole]
      else { continue }
      renamed.insert(successor)
    }
    for column in renamed.sorted() {
      let layout = try catalog.layoutNumber([column], of: ref.table)
      try pending.note(ref, PendingSlice.Op.update, layout: layout, mask: 1, wall: PendingSlice.renamed)
    }
  }

  /// Requests a comparison of the tables that refer to this one. Deletes that happened while this table was missing did
  /// not cascade to them.
  private func compareReferrers(of finding: CaptureFinding) throws {
    for table in try TrackedTable.all(db) where table.id != finding.table {
      let refers = table.schema?.foreignKeys.contains { $0.parent.folded == finding.name.folded }
      if refers == true { try work.request(.compare, table.id) }
    }
  }

  /// Requests reading values back from the log. A request that is already running began with the first of several
  /// changes, and rows that have returned since are lost all the same.
  private func requestRecall(_ finding: CaptureFinding, before: Int64) throws {
    let last = try work.recall(of: finding.table)
    let now = try TrackedTable.read(db, id: finding.table)?.layout ?? 0
    var kept: Int64 = 0
    if !finding.wasGone, last?.kept != 0 {
      let all = try [before, now, last?.kept ?? before].map { Set(try catalog.layout($0)) }
      let columns = all[0].intersection(all[1]).intersection(all[2])
      kept = try catalog.layoutNumber(columns.sorted(), of: finding.table)
    }
    let isUnsure = finding.isUnsure && last?.isUnsure ?? true
    try work.requestRecall(finding.table, kept: kept, isUnsure: isUnsure)
  }

  /// Deletes notes of rows that were written and not flushed when their table was dropped. The rows are gone with it.
  /// Rows that were deleted before stay deleted, unless they were written again.
  private func forgetLostWrites(_ finding: CaptureFinding) throws {
    let schema = finding.isGone ? nil : try TableSchema.read(db, finding.name)
    try pending.removeLost(
      finding.table, here: schema.flatMap { schema in schema.keyColumn.map { (schema.name, $0.name) } })
    try run.endAll()
  }
}
