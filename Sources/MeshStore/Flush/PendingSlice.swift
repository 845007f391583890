import MeshCore

/// The oldest rows of the pending log, or the next of a run, by record.
struct PendingSlice {
  /// What was noted of one record.
  struct Entry {
    let ref: RecordRef
    let table: TableForm
    /// Of the row that was noted first.
    var firstID: Int64
    /// Rows that were read before its first.
    let start: Int
    var isInserted = false
    var isDeleted = false
    /// It was deleted otherwise than by getting another key: what refers to it goes with it.
    var isGone = false
    /// mesh inserted it for somebody who wanted a former version back: no program of this machine goes on with it.
    var isRestored = false
    /// Taken in, with no edit noted since.
    var isImported = false
    /// It was synchronized before.
    var isRetaken = false
    /// `mesh_table.id` of the table whose record it goes on with.
    var adopts: Int64?
    /// The same of a record that was adopted before: more was merged under the former name.
    var follows: Int64?
    /// Rows that this table lacks were deleted from it.
    var isComplete = false
    /// It has moved to another zone, where its record is by now.
    var isDeparting = false
    /// `mesh_zone.id` of the zone that it moves here from.
    var arrivesFrom: Int64?
    /// Of the last row, in milliseconds.
    var wall: Int64 = 0
    /// Changed columns and when; or `migrated`, or `renamed`.
    var columns: [Int64: Int64] = [:]
    /// Columns take on the values that they have under their former names.
    var hasRenamed: Bool { columns.values.contains(PendingSlice.renamed) }
  }

  /// `mesh_pending.op`, beside the triggers' 1, 2 and 3.
  enum Op {
    static let insert: Int64 = 1
    static let update: Int64 = 2
    static let delete: Int64 = 3
    static let importing: Int64 = 4
    /// The record's zone loses it to another, which has it already.
    static let depart: Int64 = 5
    /// The record moves here from the zone `word`.
    static let arrive: Int64 = 6
    /// Nothing was written; where the record belongs may have changed.
    static let look: Int64 = 7
    /// The record goes on with what is merged of the same key in the table `word`, which is the table's former name.
    static let adopt: Int64 = 8
  }

  /// `mesh_pending.word` of the delete of a row that got another key.
  static let rekeyed: Int64 = 1

  /// `mesh_pending.word` of the insert of a former version.
  static let restored: Int64 = 1

  /// `mesh_pending.mask` of an adoption that is not the record's first.
  static let adoptedBefore: Int64 = 2

  /// `mesh_pending.wall` of the departure of a record that has moved; a departure that discards a record has a time.
  static let moved: Int64 = 0

  /// `mesh_pending.wall` of rows that were there before anybody noted when.
  static let migrated: Int64 = 0
  /// The same of columns whose merged value is to be that of the column that was renamed to them.
  static let renamed: Int64 = -1

  /// Where the rows are read.
  enum Source {
    /// The log itself, in the order of writing.
    case log
    /// The run that is being flushed, after so many of its rows.
    case run(after: Int64)
    /// Those of some records, out of turn.
    case matches(PendingMatches)

    /// In their turn the rows of a record may be anywhere.
    fileprivate var isSorted: Bool { if case .run = self { true } else { false } }
  }

  /// In the order in which they were first met.
  var entries: [Entry] = []
  /// Rows that were read, those of tables that are not synchronized any more among them.
  var count = 0
  /// The greatest id in the log when it was read; 0 where it is empty.
  var lastID: Int64 = 0
  /// Nothing is left of the source.
  var isWhole = true

  /// At most `Choices.slice` records.
  ///
  /// - Parameter zone: `mesh_zone.id` of whose rows are meant; 0 for all.
  static func read(_ session: Session, _ source: Source, zone: Int64) throws -> PendingSlice {
    var slice = PendingSlice()
    slice.lastID = try session.sql.integer("SELECT max(id) FROM mesh_pending") ?? 0
    guard slice.lastID > 0 else { return slice }
    var places: [RecordRef: Int] = [:]
    try source.forEachRow(session, zone: zone) { row in
      slice.isWhole =
        try slice.count < StoreLimits.pendingRows && slice.add(row, source, &places, session.catalog)
      return slice.isWhole
    }
    return slice
  }

  /// False where the row belongs to one record too many.
  private mutating func add(
    _ row: Statement, _ source: Source, _ places: inout [RecordRef: Int], _ catalog: Catalog
  ) throws -> Bool {
    guard let table = catalog.table(ofNoted: row.integer(4), row.integer(1)), !row.isNull(3) else {
      count += 1
      return true
    }
    let ref = RecordRef(table: table.id, key: table.form.canonical(row.value(3)))
    let place: Int
    if let last = entries.indices.last, entries[last].ref == ref {
      place = last
    } else if let known = places[ref] {
      place = known
    } else {
      guard entries.count < Choices.slice else { return false }
      place = entries.count
      // In a run the rows of a record follow each other, unless their key can be spelled in several ways.
      if !source.isSorted || table.form.keyIsColumn { places[ref] = place }
      entries.append(Entry(ref: ref, table: table, firstID: row.integer(0), start: count))
    }
    try entries[place].note(row, catalog)
    count += 1
    return true
  }
}

extension PendingSlice.Source {
  /// - Parameter visit: Returns false where it has enough.
  fileprivate func forEachRow(_ session: Session, zone: Int64, _ visit: (Statement) throws -> Bool) throws {
    let statement: Statement
    switch self {
    case .log:
      statement = try session.sql.statement(PendingMatches.all)
      statement.bind(zone, at: 1)
    case .run(let dealtWith):
      statement = try session.sql.statement(PendingRun.rest)
      statement.bind(dealtWith, at: 1)
    case .matches(let matches): return try matches.forEachRow(session, zone: zone, visit)
    }
    defer { statement.reset() }
    while try statement.step(), try visit(statement) {}
  }
}

extension PendingSlice.Entry {
  fileprivate mutating func note(_ row: Statement, _ catalog: Catalog) throws {
    firstID = min(firstID, row.integer(0))
    let noted = row.integer(7)
    wall = max(wall, noted)
    switch row.integer(4) {
    case PendingSlice.Op.insert:
      isInserted = true
      isRestored = row.integer(5) == PendingSlice.restored
    case PendingSlice.Op.delete:
      isDeleted = true
      if row.integer(5) != PendingSlice.rekeyed { isGone = true }
    case PendingSlice.Op.importing:
      isImported = true
      isRetaken = isRetaken || row.integer(5) != 0
    case PendingSlice.Op.adopt:
      if row.integer(6) == PendingSlice.adoptedBefore {
        follows = row.integer(5)
      } else {
        adopts = row.integer(5)
        isComplete = row.integer(6) != 0
      }
    case PendingSlice.Op.depart: isDeparting = true
    case PendingSlice.Op.arrive: arrivesFrom = row.integer(5)
    case PendingSlice.Op.look: break
    default:
      let layout = try catalog.layout(row.integer(2))
      let (word, mask) = (Int(row.integer(5)), row.integer(6))
      for bit in 0..<Layout.wordSize where mask >> Int64(bit) & 1 == 1 {
        let index = word * Layout.wordSize + bit
        guard layout.indices.contains(index) else { continue }
        // What was noted before the column was renamed.
        let column = table.successors[layout[index]] ?? layout[index]
        columns[column] = max(columns[column] ?? noted, noted)
      }
    }
  }
}
