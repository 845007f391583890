import GRDB
package import MeshCore

/// Capture: it keeps the triggers and the records in step with the schema, and looks for writes that no trigger saw.
package final class StoreCapture: CaptureStore, StorePart {
  let access: StoreAccess
  /// The faults that were found and repaired since the store was opened.
  package private(set) var repairs = Repairs()
  /// The columns that programs wrote in the table whose values are read back from the log.
  private var recallNotes: NotedColumns?
  /// The positions up to which comparisons read the log last.
  private var importPlaces = ImportPlaces()

  init(_ access: StoreAccess) { self.access = access }

  /// Notes that a commit had turned capture off when the file was opened.
  func noteSilence() { repairs.silences += 1 }

  /// Makes one bounded step of the work that follows from a changed schema, a commit that turned capture off, or a
  /// request to compare. Until it returns `.done`, nothing is flushed or merged, except after `.flushFirst`.
  package func upkeep(_ reader: (ZoneID) throws -> ChangeSetReader, now: Int64) throws -> UpkeepProgress {
    let due = try read { try $0.dueUpkeep() }
    if due != .recall { recallNotes = nil }
    switch due {
    case nil: return .done
    case .schema:
      let readded = try read { try ReaddedColumns.find($0) }
      let (wasSilent, findings) = try write { try SchemaChange(transaction: $0).note(readded) }
      repairs.note(wasSilent: wasSilent, findings)
      // The change is told even if its faults can't be read now.
      let faults = (try? read { try $0.trackingFaults() }) ?? []
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
  package func rescan(tables: [String] = []) throws {
    try write { transaction in
      for table in try tables.isEmpty
        ? TrackedTable.all(transaction.db) : tables.map({ try TrackedTable.named($0, transaction.db) })
      {
        try transaction.work.request(.compare, table.id)
      }
    }
  }

  package func unsent(_ zone: ZoneID) throws -> Unsent {
    try read { transaction in
      if try transaction.dueUpkeep() != nil { return .pending }
      let row = try transaction.counters.read(zone)?.id ?? 0
      // Rows that are not routed yet may belong to the zone.
      if try transaction.pending.mayHave(row) { return .pending }
      return try transaction.held.hasUnsent(in: row) || !transaction.tableList.uncaptured().isEmpty
        ? .unsendable : .nothing
    }
  }

  /// Returns the tables whose writes are not captured, because their keys don't fit or they were renamed.
  package func uncapturedTables() throws -> [String] { try read { try $0.tableList.uncaptured() } }

  /// Returns the tables that lack rows of records that they show, with the number of these rows, if no write is
  /// pending. SQLite calls no trigger for a row that a program replaces by its `rowid`.
  package func vanishedRows() throws -> [(table: String, rows: Int)] {
    try read { transaction in
      guard try transaction.dueUpkeep() == nil, try transaction.pending.isEmpty() else { return [] }
      return try transaction.tableList.inPlace().compactMap { id in
        guard let table = transaction.catalog.table(id) else { return nil }
        let here = (table.schema.name, table.keyName)
        let rows = try transaction.recordRows.countWithoutRow(.shown, of: id, here: here)
        return rows == 0 ? nil : (table.schema.name, rows)
      }
    }
  }

  /// Returns whether some writes of programs are not captured yet.
  package func isDue() throws -> Bool { try read { try $0.dueUpkeep() != nil } }

  /// Returns whether a table is being imported or compared.
  package func isComparing() throws -> Bool {
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
    _ least: TableSlice.Purpose, _ reader: ((ZoneID) throws -> ChangeSetReader)? = nil, now: Int64
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
}

extension TrackedTable {
  fileprivate static func named(_ name: String, _ db: Database) throws -> TrackedTable {
    if let table = try read(db, name: name) { return table }
    throw StoreError.unknownTable(name)
  }
}
