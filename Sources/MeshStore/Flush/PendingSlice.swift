import MeshCore

/// The oldest rows of the pending log, or the next rows of a run, grouped by record.
struct PendingSlice {
  /// The value of a column before a write, and the time of the write.
  struct Former {
    let value: Value
    let wall: Int64
  }

  /// The notes of one record.
  struct Entry {
    let ref: RecordRef
    let table: TableForm
    /// The id of the row that was noted first.
    var firstID: Int64
    /// The number of rows that were read before its first row.
    let start: Int
    var isInserted: Bool { insertID != nil }
    /// The id of the last note of an insert.
    var insertID: Int64?
    var isDeleted = false
    /// The id of the last note of a delete, if it was deleted in any way except by getting another key. Rows that refer to
    /// it are deleted with it.
    var goneID: Int64?
    var isGone: Bool { goneID != nil }
    /// True if mesh inserted it because a person wanted to restore it. No program on this machine wrote the row.
    var isRestored = false
    /// True if it was imported, and no edit was noted since.
    var isImported = false
    /// True if it was synchronized before.
    var isRetaken = false
    /// True if a comparison found a row with a key that is no valid text, and that is read as this one.
    var isUnreadable = false
    /// The `mesh_table.id` of the table whose record it continues.
    var adopts: Int64?
    /// The `mesh_table.id` for a record that was adopted before. More was merged under the former name.
    var follows: Int64?
    /// True if rows that this table lacks were deleted from it.
    var isComplete = false
    /// True if it has moved to another zone, which already has its record.
    var isDeparting = false
    /// The `mesh_zone.id` of the zone that it moves here from.
    var arrivesFrom: Int64?
    /// The time of the last row, in milliseconds.
    var wall: Int64 = 0
    /// The changed columns and their times. A time may also be `migrated` or `renamed`.
    var columns: [Int64: Int64] = [:]
    /// The columns that a program may have set back to their default. They may also have had it since they were added.
    var unsure: Set<Int64> = []
    /// The columns whose former names have later values. Parts continue even if a program has written the column.
    var renamed: Set<Int64> = []
    /// Columns that reuse a renamed column's former name. Merged values under that name belong to the renamed column.
    var retaken: Set<Int64> = []
    /// The values that columns with a policy had before each noted write, by the ids of those notes.
    fileprivate var was: [Int64: [Int64: Former]] = [:]
    /// Whether columns take on the values of their former names.
    var hasRenamed: Bool { columns.values.contains(PendingSlice.renamed) }
  }

  /// The values of `mesh_pending.op`. Triggers write 1, 2 and 3.
  enum Op {
    static let insert: Int64 = 1
    static let update: Int64 = 2
    static let delete: Int64 = 3
    static let importing: Int64 = 4
    /// The record's zone loses it to another zone, which already has it.
    static let depart: Int64 = 5
    /// The record moves here from the zone `word`.
    static let arrive: Int64 = 6
    /// Nothing was written. The zone to which the record belongs may have changed.
    static let look: Int64 = 7
    /// The record continues the record with the same key in the table `word`, which is the table's former name.
    static let adopt: Int64 = 8
    /// The value that the column `word` had before a write.
    static let was: Int64 = 9
    /// The zone got another instance here. The author `mask` may have sent what was noted before.
    static let instance: Int64 = 10
  }

  /// The `mesh_pending.word` for the delete of a row that got another key.
  static let rekeyed: Int64 = 1

  /// The `mesh_pending.word` for the insert of a restored record.
  static let restored: Int64 = 1

  /// The `mesh_pending.word` of an update without columns, for a row whose key is no valid text.
  static let unreadable: Int64 = -1

  /// The `mesh_pending.mask` for an adoption that is not the record's first.
  static let adoptedBefore: Int64 = 2

  /// The `mesh_pending.wall` for the departure of a record that has moved. A departure that discards a record has a
  /// time.
  static let moved: Int64 = 0

  /// The `mesh_pending.wall` for rows that existed before anybody noted a time.
  static let migrated: Int64 = 0
  /// The `mesh_pending.wall` for columns that take on the merged value of the column that was renamed to them.
  static let renamed: Int64 = -1

  /// The source of the rows.
  enum Source {
    /// The log itself, in the order of writing.
    case log
    /// The run that is being flushed, after this many of its rows.
    case run(after: Int64)
    /// The rows of some records, out of turn.
    case matches(PendingMatches)

    /// Whether the rows of a record are next to each other. In the log they may be anywhere.
    fileprivate var isSorted: Bool { if case .run = self { true } else { false } }
  }

  /// The records in the order of their first notes.
  var entries: [Entry] = []
  /// The number of rows that were read. It includes rows of tables that are no longer synchronized.
  var count = 0
  /// The greatest id in the log when it was read, or 0 if the log is empty.
  var lastID: Int64 = 0
  /// True if nothing is left of the source.
  var isWhole = true

  /// Reads the rows of at most `Choices.slice` records.
  ///
  /// - Parameter zone: The `mesh_zone.id` of the zone whose rows to read, or 0 for all rows.
  static func read(_ transaction: Transaction, _ source: Source, zone: Int64) throws -> PendingSlice {
    var slice = PendingSlice()
    slice.lastID = try transaction.pending.last()
    guard slice.lastID > 0 else { return slice }
    var places: [RecordRef: Int] = [:]
    try source.forEachRow(transaction, zone: zone) { row in
      slice.isWhole =
        try slice.count < StoreLimits.pendingRows && slice.add(row, source, &places, transaction.catalog)
      return slice.isWhole
    }
    return slice
  }

  /// Adds a row. Returns false if its record is one too many.
  private mutating func add(
    _ row: PendingTable.Row, _ source: Source, _ places: inout [RecordRef: Int], _ catalog: Catalog
  ) throws -> Bool {
    guard let table = catalog.table(ofNoted: row.op, row.table), row.hasKey else {
      count += 1
      return true
    }
    let ref = RecordRef(table: table.id, key: table.form.canonical(row.key))
    let place: Int
    if let last = entries.indices.last, entries[last].ref == ref {
      place = last
    } else if let known = places[ref] {
      place = known
    } else {
      guard entries.count < Choices.slice else { return false }
      place = entries.count
      // In a run, the rows of a record are next to each other, unless their key can be spelled in several ways.
      if !source.isSorted || table.form.keyIsColumn { places[ref] = place }
      entries.append(Entry(ref: ref, table: table, firstID: row.id, start: count))
    }
    try entries[place].note(row, catalog)
    count += 1
    return true
  }
}

extension PendingSlice.Source {
  /// Calls `visit` for each row.
  ///
  /// - Parameter visit: Returns false to stop.
  fileprivate func forEachRow(_ transaction: Transaction, zone: Int64, _ visit: (PendingTable.Row) throws -> Bool)
    throws
  {
    switch self {
    case .log: try transaction.pending.forEach(zone, visit)
    case .run(let dealtWith): try transaction.pending.forEachOfRun(after: dealtWith, visit)
    case .matches(let matches): try transaction.pending.forEach(ids: matches.ids, zone, visit)
    }
  }
}

extension PendingSlice.Entry {
  /// Adds the columns that have another value than before. The note of the write itself may be in the next slice. An
  /// insert notes the values of the row that it may replace, and writes none of them if it is ignored or becomes an
  /// update of other columns.
  mutating func addUnnotedColumns(of row: [Value]) {
    for column in was.keys where columns[column] == nil {
      guard let index = table.indexes[column], row[index] != before(column) else { continue }
      columns[column] = wall
    }
  }

  /// Returns the value that a column with a policy had before the first noted write, or nil if that is unknown.
  func before(_ column: Int64) -> Value? { was[column]?.min { $0.key < $1.key }?.value.value }

  /// Returns what each noted write added to a column, in the order of writing. Returns nil if it is unknown, because
  /// one of the values is no integer.
  ///
  /// - Parameter last: The value that the row has.
  func increments(_ column: Int64, _ last: Value) -> [(note: Int64, wall: Int64, difference: Int128)]? {
    var next = last
    var increments: [(note: Int64, wall: Int64, difference: Int128)] = []
    for (note, former) in (was[column] ?? [:]).sorted(by: { $0.key > $1.key }) {
      guard case .integer(let after) = next, case .integer(let before) = former.value else { return nil }
      increments.append((note, former.wall, Int128(after) - Int128(before)))
      next = former.value
    }
    return increments.reversed()
  }

  /// Returns the values that programs wrote to a column with a policy, in their order, as far as they are known.
  ///
  /// - Parameters:
  ///   - last: The value that the row has.
  ///   - shown: The value that it had before, if no note has one.
  func written(_ column: Int64, _ last: Value, over shown: Value) -> [Value] {
    let noted = (was[column] ?? [:]).sorted { $0.key < $1.key }.map(\.value.value)
    var (written, previous) = ([Value](), noted.first ?? shown)
    for value in noted.dropFirst() + [last] where value != previous {
      written.append(value)
      previous = value
    }
    return written
  }

  /// Whether the values before some writes are known.
  var hasFormerValues: Bool { !was.isEmpty }

  fileprivate mutating func note(_ row: PendingTable.Row, _ catalog: Catalog) throws {
    firstID = min(firstID, row.id)
    if row.op == PendingSlice.Op.was {
      let column = table.successors[row.word] ?? row.word
      was[column, default: [:]][row.id] = PendingSlice.Former(value: row.was, wall: row.wall)
      wall = max(wall, row.wall)
      return
    }
    let noted = row.wall
    wall = max(wall, noted)
    switch row.op {
    case PendingSlice.Op.insert:
      insertID = max(insertID ?? 0, row.id)
      isRestored = row.word == PendingSlice.restored
    case PendingSlice.Op.delete:
      isDeleted = true
      was = [:]
      if row.word != PendingSlice.rekeyed { goneID = max(goneID ?? 0, row.id) }
    case PendingSlice.Op.importing:
      isImported = true
      isRetaken = isRetaken || row.word != 0
    case PendingSlice.Op.adopt:
      if row.mask == PendingSlice.adoptedBefore {
        follows = row.word
      } else {
        adopts = row.word
        isComplete = row.mask != 0
      }
    case PendingSlice.Op.depart: isDeparting = true
    case PendingSlice.Op.arrive: arrivesFrom = row.word
    case PendingSlice.Op.look: break
    case PendingSlice.Op.update where row.word == PendingSlice.unreadable: isUnreadable = true
    default:
      let layout = try catalog.layout(row.layout)
      let (word, mask) = (Int(row.word), row.mask)
      for bit in 0..<Layout.wordSize where mask >> Int64(bit) & 1 == 1 {
        let index = word * Layout.wordSize + bit
        guard layout.indices.contains(index) else { continue }
        // These notes were made before the column was renamed.
        let column = table.successors[layout[index]] ?? layout[index]
        columns[column] = max(columns[column] ?? noted, noted)
        if noted == PendingSlice.migrated { unsure.insert(column) } else { unsure.remove(column) }
        if noted == PendingSlice.renamed { renamed.insert(column) }
        if row.was != .null { retaken.insert(column) }
      }
    }
  }
}
