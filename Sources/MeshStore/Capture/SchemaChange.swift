import MeshCore

/// Brings triggers and records in step with a schema that programs have changed.
struct SchemaChange: InTransaction {
  let transaction: Transaction

  /// Brings the triggers up to date, and requests the work that follows from the findings.
  ///
  /// - Parameter readded: The columns that were found before the write lock was taken. If the schema has changed since,
  ///   they are searched again.
  func note(_ readded: ReaddedColumns? = nil) throws -> (wasSilent: Bool, findings: [CaptureFinding]) {
    let wasSilent = try transaction.endSilence()
    let layouts = Dictionary(uniqueKeysWithValues: try TrackedTable.all(db).map { ($0.id, $0.layout ?? 0) })
    let isCurrent = readded?.schemaVersion == catalog.schemaVersion
    let readded = try isCurrent ? readded?.tables ?? [:] : ReaddedColumns.find(transaction).tables
    var findings = try Capture.update(db)
    for (table, columns) in readded.sorted(by: { $0.key < $1.key }) {
      let place = findings.firstIndex { $0.table == table } ?? findings.count
      if place == findings.count {
        guard let name = try TrackedTable.read(db, id: table)?.name else { continue }
        findings.append(CaptureFinding(table: table, name: name, reasons: []))
      }
      findings[place].noteReadded(columns)
    }
    findings.removeAll { $0.reasons.isEmpty }
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
    try transaction.updatePermissions()
    try work.requestShow()
    return (wasSilent, findings)
  }

  /// The columns that a table had before the change. One that was added again had no values in between. One that was
  /// renamed has none yet if its values are not flushed under the new name.
  private func layoutBefore(_ finding: CaptureFinding, _ layout: Int64) throws -> Int64 {
    guard finding.reasons.contains(.layoutChanged) else { return layout }
    let columns = try catalog.layout(layout)
    let renamed = try pending.renamedColumns(of: finding.table)
    let kept = columns.filter { finding.readded[$0] == nil && !renamed.contains($0) }
    return kept == columns ? layout : try catalog.layoutNumber(kept, of: finding.table)
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
    let isUnsure = finding.isUnsure || last?.isUnsure ?? false
    try work.requestRecall(finding.table, kept: kept, isUnsure: isUnsure)
  }

  /// Deletes notes of rows that were written and not flushed when their table was dropped. The rows are gone with it.
  /// Rows that were deleted before stay deleted, unless they were written again.
  private func forgetLostWrites(_ finding: CaptureFinding) throws {
    let schema = finding.isGone ? nil : try TableSchema.read(db, finding.name)
    try pending.removeLost(
      finding.table, here: schema.flatMap { schema in schema.keyColumn.map { (schema.name, $0.name) } })
    try transaction.run.endAll(transaction.counters)
  }
}
