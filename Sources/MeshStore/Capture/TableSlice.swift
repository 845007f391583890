import MeshCore

/// The next rows of a table that is imported, or compared with its records.
struct TableSlice {
  /// The values of `mesh_import.task`. If two are requested, the greater one is done.
  enum Purpose: Int64 {
    /// Notes each difference as if a trigger had seen it. Missing rows were deleted.
    case compare = 1
    /// Does the same for a table that was recreated. If most rows are there, a migration has copied them, and the
    /// missing rows were deleted. If most rows are missing, they come back, because nobody deleted them. If synchronized
    /// tables exchanged their names, all rows are in one of them.
    case compareRecreated = 2
    /// Does the same for a table that had been missing for a while. Missing rows come back.
    case compareReturned = 3
    /// Notes all rows, with the import stamp.
    case takeIn = 4
  }

  /// A value of `mesh_import.layout` for a table that is imported: it was synchronized before and is the same table. It
  /// is also the `word` of its notes.
  static let again: Int64 = 1
  /// A value of `mesh_import.layout` for a table that was recreated meanwhile, or may have been.
  static let anew: Int64 = 2

  /// One row of the pending log.
  private struct Note {
    let key: Value
    let op: Int64
    var layout: Int64 = 0
    var word = 0
    var mask: Int64 = 0
    /// The time of the write, or nil for the time of noting.
    var wall: Int64?
    /// True if what is merged under the columns' names belongs to other columns.
    var isRetaken = false
  }

  private let table: Int64
  private let after: Value
  private var notes: [Note] = []
  private var last: Value?
  private var read = 0
  /// The number of rows that were compared, and the number of those that differ or are missing.
  private(set) var rows = 0
  private(set) var differences = 0
  /// The positions up to which the log was read.
  private(set) var places = ImportPlaces()

  /// Returns the next slice, or nil if nothing is left.
  ///
  /// - Parameter least: The lowest task to do.
  static func next(
    _ transaction: Transaction, _ least: Purpose, _ places: ImportPlaces,
    _ reader: ((ZoneID) throws -> ChangeSetReader)?
  ) throws -> TableSlice? {
    guard let next = try transaction.work.nextImport(least) else { return nil }
    let (id, layout) = (next.table, next.layout)
    var slice = TableSlice(table: id, after: next.after)
    slice.places = places
    guard let table = transaction.catalog.table(id), let task = next.task else { return slice }
    let size = task == .takeIn ? StoreLimits.importSlice : Choices.slice
    let keys = try slice.keys(transaction, table, size)
    slice.read = keys.count
    if keys.count == size { slice.last = keys.last }
    switch task {
    case .takeIn:
      slice.notes = keys.map {
        Note(key: $0, op: PendingSlice.Op.importing, word: Int(layout), wall: PendingSlice.migrated)
      }
      if slice.last == nil, layout != 0 {
        slice.notes += try Self.deletedMeanwhile(transaction, table, isSame: layout == Self.again)
      }
    case .compare, .compareRecreated, .compareReturned:
      let merged = reader.map {
        LoggedValues(transaction, table: id, keys: Set(keys.map(table.form.canonical)), places, $0)
      }
      let before = try transaction.catalog.layout(layout)
      let comparison = try Comparison(transaction, table, before: before, merged)
      slice.rows = keys.count
      for key in keys {
        let notes = try comparison.notes(key)
        slice.notes += notes
        slice.differences += notes.isEmpty ? 0 : 1
      }
      if let merged { slice.places = merged.places }
      if slice.last == nil {
        slice.notes += try comparison.renamedAside()
        let missing = try comparison.deleted(task, isExchanged: next.isExchanged)
        let unreadable = try table.isUTF16 ? Self.unreadableKeys(transaction, table) : []
        slice.notes += missing
        slice.notes += unreadable.map { Note(key: $0, op: PendingSlice.Op.update, word: Int(PendingSlice.unreadable)) }
        slice.differences += missing.count + unreadable.count
      }
    }
    return slice
  }

  /// Creates a slice of one record, regardless of other work in progress.
  init(
    _ transaction: Transaction, _ table: TableForm, record key: Value, _ reader: ((ZoneID) throws -> ChangeSetReader)?
  ) throws {
    self.init(table: table.id, after: .null)
    let row = try transaction.sql.first(table.selectKey, [key]) { $0.value(0) }
    notes =
      try row.map {
        let merged = reader.map {
          LoggedValues(transaction, table: table.id, keys: [table.form.canonical(key)], ImportPlaces(), $0)
        }
        return try Comparison(transaction, table, before: [], merged).notes($0)
      } ?? [
        Note(key: key, op: PendingSlice.Op.delete)
      ]
  }

  /// Returns notes of records whose row was in the table when it stopped being synchronized, and is missing now. If the
  /// table was recreated, the rows were deleted only if most rows are there.
  private static func deletedMeanwhile(_ transaction: Transaction, _ table: TableForm, isSame: Bool) throws -> [Note] {
    let missing = try transaction.recordRows.keysWithoutRow(.untracked, of: table)
    guard try isSame || missing.count * 2 <= transaction.recordRows.count(.untracked, of: table.id) else { return [] }
    return missing.map { Note(key: $0, op: PendingSlice.Op.delete) }
  }

  private init(table: Int64, after: Value) {
    self.table = table
    self.after = after
  }

  private func keys(_ transaction: Transaction, _ table: TableForm, _ count: Int) throws -> [Value] {
    let key = table.keyName.quotedName
    var conditions = after == .null ? [] : ["\(key) > ?"]
    // The next slice could not begin after a key that is read as another one.
    if table.isUTF16 { conditions.append("NOT (\(TextEncoding.isBroken(key)))") }
    return try transaction.sql.all(
      "SELECT \(key) FROM main.\(table.schema.name.quotedName)"
        + (conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))")
        + " ORDER BY \(key) LIMIT \(count)", after == .null ? [] : [after]
    ) { $0.value(0) }
  }

  /// Returns the keys that are no valid text, as they are read. Triggers refuse such keys, but programs may have written
  /// them while there were none.
  private static func unreadableKeys(_ transaction: Transaction, _ table: TableForm) throws -> [Value] {
    let key = table.keyName.quotedName
    return try transaction.sql.all(
      "SELECT \(key) FROM main.\(table.schema.name.quotedName) WHERE \(TextEncoding.isBroken(key)) LIMIT \(Choices.slice)"
    ) { $0.value(0) }
  }

  /// Writes the notes. Returns false, and does nothing, if the table's task was restarted or changed meanwhile.
  func note(_ transaction: Transaction, now: Int64) throws -> Bool {
    guard try transaction.work.isImporting(table, after: after) && transaction.isCurrent() else { return false }
    try insertNotes(transaction.pending, now: now)
    if let last {
      try transaction.work.advanceImport(table, to: last, by: read)
    } else {
      try transaction.work.endImport(table)
    }
    return true
  }

  var isEmpty: Bool { notes.isEmpty }

  func insertNotes(_ pending: PendingTable, now: Int64) throws {
    for note in notes {
      try pending.note(
        RecordRef(table: table, key: note.key), note.op, layout: note.layout, word: Int64(note.word), mask: note.mask,
        wall: note.wall ?? now, was: note.isRetaken ? .integer(1) : .null)
    }
  }
}

extension TableSlice {
  /// A comparison of a table's rows with its records.
  private struct Comparison {
    let transaction: Transaction
    let table: TableForm
    /// The `mesh_layout.id` of the triggers.
    let layout: Int64
    /// The columns that the table had when its triggers were last correct. Empty if the columns have not changed.
    let before: Set<Int64>
    let zones: [ZoneRecords]
    let merged: LoggedValues?
    /// The columns that programs wrote since the last flush. Nil if the columns have not changed.
    private let noted: NotedColumns?

    init(_ transaction: Transaction, _ table: TableForm, before: [Int64], _ merged: LoggedValues?) throws {
      self.transaction = transaction
      self.table = table
      self.merged = merged
      self.before = Set(before)
      noted = before.isEmpty ? nil : try NotedColumns(transaction, table)
      layout = try TrackedTable.read(transaction.db, id: table.id)?.layout ?? 0
      zones = try transaction.zoneRows.all().compactMap(transaction.counters.read).map {
        ZoneRecords(transaction, zone: $0)
      }
    }

    /// Returns the notes that a trigger would have made of the row.
    func notes(_ key: Value) throws -> [Note] {
      let ref = RecordRef(table: table.id, key: table.form.canonical(key))
      guard let (records, record) = try live(ref) else { return [Note(key: key, op: PendingSlice.Op.insert)] }
      guard let row = try records.row(table, key) else { return [] }
      let changed = try records.differences(ref, record, table, row: row, merged: merged) { index, asset in
        try transaction.contents.manifest(asset.id).map {
          try transaction.contents.holds($0, RowCell(table: table, key: key, index: index))
        } ?? false
      }
      // A migration fills new columns on every machine by itself. These values are older than every edit, and merged
      // values already win over them.
      let isNew = { (index: Int) in !before.isEmpty && !before.contains(table.columns[index].id) }
      let retaken = try table.columns.indices.filter {
        try (isNew($0) || isKnown($0, record)) && isRetaken($0, row, record, records)
      }
      let renamed = table.columns.indices.filter {
        isNew($0) && !retaken.contains($0) && origin($0, record) != nil
      }
      // A column that was only taken for a new one may have been written, even its default.
      let filled = try changed.filter {
        try isNew($0) && !renamed.contains($0) && !retaken.contains($0) && !isNoted($0, ref.key)
          && !isOutdated($0, row, record, key)
      }
      let edited =
        try changed.filter { !isNew($0) && !retaken.contains($0) }
        + renamed.filter { try isEdited($0, row, record, key) }
      let notes =
        updates(key, edited, wall: nil) + updates(key, retaken, wall: nil, isRetaken: true)
        + updates(key, filled, wall: PendingSlice.migrated)
        + updates(key, renamed.filter { !edited.contains($0) }, wall: PendingSlice.renamed)
      // The foreign key may not have existed when the row arrived, so a flush checks it. It may also be the table's only
      // one since another was dropped, and then the row goes where its parent is.
      if notes.isEmpty, try hasDanglingReference(row) || isApartFromParent(row, record, records.zone) {
        return [Note(key: key, op: PendingSlice.Op.update, layout: layout)]
      }
      return notes
    }

    /// Returns whether a trigger noted that a program wrote the column.
    private func isNoted(_ index: Int, _ key: Value) -> Bool {
      guard case .columns(let columns)? = noted?[key] else { return false }
      return columns.contains(table.columns[index].id)
    }

    /// Returns whether a new column has the value that another column, now gone, showed while a newer BLOB was
    /// downloading. A device that has the newer BLOB fills the column.
    private func isOutdated(_ index: Int, _ row: [Value], _ record: StoredRecord, _ key: Value) throws -> Bool {
      guard record.held == nil else { return false }
      return try record.extra.contains { column, value in
        guard value.asset != nil, table.indexes[column] == nil, let shown = record.shown[column] else { return false }
        guard let asset = shown.asset else { return row[index] == shown }
        guard let manifest = try transaction.contents.manifest(asset.id), row[index].asset?.size == asset.size else {
          return false
        }
        return try transaction.contents.holds(manifest, RowCell(table: table, key: key, index: index))
      }
    }

    /// Returns the column that was renamed to a new one, if its merged value is in `extra`.
    private func origin(_ index: Int, _ record: StoredRecord) -> Int64? {
      table.origins[table.columns[index].id]?.first { before.contains($0) && record.extra[$0] != nil }
    }

    /// Returns whether the columns have changed, and the record knows a value that this column didn't show meanwhile.
    private func isKnown(_ index: Int, _ record: StoredRecord) -> Bool {
      let id = table.columns[index].id
      return !before.isEmpty && record.extra[id] != nil && !record.hides(id)
    }

    /// Returns whether a column has the former name of another one, and what is merged under the name is that other
    /// column's, so that the row's value is an edit.
    ///
    /// If nobody was renamed to the name, it is a new column, and a device that had the other name earlier than this one
    /// may have written values of the new column. If a column was renamed to it after the other one's values were flushed
    /// under the other name, its values continue.
    private func isRetaken(_ index: Int, _ row: [Value], _ record: StoredRecord, _ records: ZoneRecords) throws -> Bool
    {
      let id = table.columns[index].id
      guard let other = table.leftTo[id] else { return false }
      let stamps = Dictionary(
        try records.columns(record.stamps).map { ($0.column, $0.stamp) }, uniquingKeysWith: { first, _ in first })
      guard let stamp = stamps[id], record.extra[id] != row[index] else { return false }
      guard table.formerNames[id] == nil else { return stamps[other] == nil || origin(index, record) == nil }
      let isOwn = try records.global(stamp).author.device == transaction.device
      return try isOwn || !records.hasNamed(stamp.author, table.id, other)
    }

    /// Returns whether the row shows another value than it did under the column's former name.
    private func isEdited(_ index: Int, _ row: [Value], _ record: StoredRecord, _ key: Value) throws -> Bool {
      guard record.held == nil || record.held == .untracked, let origin = origin(index, record) else { return false }
      // The row may still be waiting for the BLOB. If a program wrote NULL over a BLOB that was here, a trigger noted
      // it.
      let isAwaited = record.held == nil && record.shown[origin] == nil && record.extra[origin]?.asset != nil
      if isAwaited, row[index] == .null { return false }
      let shown = record.shown[origin] ?? (record.extra[origin] ?? .null)
      guard let asset = shown.asset else { return row[index] != shown }
      guard let manifest = try transaction.contents.manifest(asset.id), row[index].asset?.size == asset.size else {
        return true
      }
      return try !transaction.contents.holds(manifest, RowCell(table: table, key: key, index: index))
    }

    /// Returns notes for records without a row, which take on the new names as well.
    func renamedAside() throws -> [Note] {
      let renamed = table.columns.indices.filter {
        !before.isEmpty && !before.contains(table.columns[$0].id) && table.origins[table.columns[$0].id] != nil
      }
      guard !renamed.isEmpty else { return [] }
      return try transaction.recordRows.keys(.held, of: table.id).flatMap {
        updates($0, renamed, wall: PendingSlice.renamed)
      }
    }

    private func hasDanglingReference(_ row: [Value]) throws -> Bool {
      try table.references.contains { reference in
        let value = row[reference.column]
        guard value != .null, let parent = transaction.catalog.table(reference.parent) else { return false }
        return try !parent.hasParent(value, transaction.sql)
      }
    }

    /// Returns whether another zone than the row's shows the parent that decides the row's zone.
    private func isApartFromParent(_ row: [Value], _ record: StoredRecord, _ zone: ZoneCounters) throws -> Bool {
      guard zones.count > 1, record.isShown, let reference = table.parent, row[reference.column] != .null,
        let parent = transaction.catalog.table(reference.parent)
      else { return false }
      let ref = RecordRef(table: parent.id, key: parent.parentKey(row[reference.column]))
      return try transaction.occupant(ref).map { $0 != zone.id } ?? false
    }

    private func live(_ ref: RecordRef) throws -> (ZoneRecords, StoredRecord)? {
      var held: (ZoneRecords, StoredRecord)?
      for records in zones {
        guard let record = try records.load(ref), record.isAlive else { continue }
        if record.isShown { return (records, record) }
        held = held ?? (records, record)
      }
      return held
    }

    private func updates(_ key: Value, _ columns: [Int], wall: Int64?, isRetaken: Bool = false) -> [Note] {
      Dictionary(grouping: columns, by: { $0 / Layout.wordSize }).sorted { $0.key < $1.key }.map { word, columns in
        Note(
          key: key, op: PendingSlice.Op.update, layout: layout, word: word,
          mask: columns.reduce(0) { $0 | 1 << Int64($1 % Layout.wordSize) }, wall: wall, isRetaken: isRetaken)
      }
    }

    /// Returns notes for records whose row is missing because it was deleted.
    func deleted(_ task: Purpose, isExchanged: Bool) throws -> [Note] {
      if task == .compareReturned { return [] }
      // Records of a table that was recreated are held until it is filled.
      let side = task == .compareRecreated ? RecordTable.Side.shownBefore : .shown
      let missing = try transaction.recordRows.keysWithoutRow(side, of: table)
      if task == .compareRecreated, !isExchanged,
        try missing.count * 2 > transaction.recordRows.count(side, of: table.id)
      {
        return []
      }
      return missing.map { Note(key: $0, op: PendingSlice.Op.delete) }
    }
  }
}
