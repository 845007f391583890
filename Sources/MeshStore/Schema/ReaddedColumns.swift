import GRDB
import MeshCore

/// The columns that were dropped and added again since the node last looked. Neither their names nor the layout tell:
/// the rows show the default, and the records have the former values.
struct ReaddedColumns {
  /// The `PRAGMA schema_version` of the look.
  let schemaVersion: Int64?
  /// For each table that has some.
  fileprivate(set) var tables: [Int64: Columns] = [:]

  struct Columns {
    /// Their names by number.
    let names: [Int64: String]
    /// True if no row proves for one of them that it was added again. Programs change the schema for other reasons, too,
    /// so the values that they wrote since the last flush stay then.
    let areUnsure: Bool
    /// The numbers of those of which a row that nobody edited shows the default instead of the merged value.
    let lost: Set<Int64>
  }
}

extension ReaddedColumns {
  /// Compares the rows of each table with the hashes of their records. If a column was added again in the last place,
  /// even the table's text is the same. A column of which a row has the merged value was not dropped, so a few rows
  /// decide about most tables.
  ///
  /// This may read whole tables, so it belongs into an access that only reads.
  static func find(_ transaction: Transaction) throws -> ReaddedColumns {
    var found = ReaddedColumns(schemaVersion: transaction.catalog.schemaVersion)
    // Each schema statement adds one to the version, and these columns take two.
    let seen = try transaction.state.capture()?.schemaVersion ?? 0
    if seen > 0, transaction.catalog.schemaVersion == seen || transaction.catalog.schemaVersion == seen &+ 1 {
      return found
    }
    for id in try transaction.tableList.inPlace() {
      guard let table = try TrackedTable.read(transaction.db, id: id),
        let form = try transaction.catalog.knownForm(table)
      else { continue }
      var search = try ReaddedColumnSearch(transaction: transaction, table: form)
      try search.run()
      if !search.columns.names.isEmpty { found.tables[id] = search.columns }
    }
    return found
  }
}

/// Looks for columns of one table whose rows lost their values.
private struct ReaddedColumnSearch {
  let transaction: Transaction
  let table: TableForm
  private let noted: NotedColumns
  /// The indexes of the columns that may have been added again.
  private var candidates: Set<Int>
  /// Those of them for which a row has another value than its record.
  private var lost: Set<Int> = []
  /// Those that somebody wrote to, in a row whose hash tells nothing because it was edited.
  private var edited: Set<Int> = []
  /// Those that somebody wrote to, in another row.
  private var compared: Set<Int> = []
  /// Those that were certainly added again. New columns are added behind all others. So if a row that nobody edited
  /// differs from its record, at least the last column that may differ was added again. Another column that shows its
  /// default may have had that value before.
  private var proven: Set<Int> = []

  init(transaction: Transaction, table: TableForm) throws {
    (self.transaction, self.table) = (transaction, table)
    candidates = Set(table.columns.indices.filter { $0 != table.keyColumn })
    noted = try NotedColumns(transaction, table)
  }

  /// The columns that were found.
  var columns: ReaddedColumns.Columns {
    // If all rows were edited, none can be compared.
    let found = candidates.intersection(lost.union(edited.subtracting(compared)))
    let names = found.map { (table.columns[$0].id, table.columns[$0].name) }
    return ReaddedColumns.Columns(
      names: Dictionary(names, uniquingKeysWith: { first, _ in first }), areUnsure: !found.isSubset(of: proven),
      lost: Set(found.intersection(lost).map { table.columns[$0].id }))
  }

  mutating func run() throws {
    var zones: [Int64: ZoneRecords] = [:]
    guard !candidates.isEmpty else { return }
    try transaction.recordRows.forEachShown(table.id) { key, zone in
      if zones[zone] == nil {
        zones[zone] = try transaction.counters.read(id: zone).map { ZoneRecords(transaction, zone: $0) }
      }
      if let records = zones[zone] { try look(at: RecordRef(table: table.id, key: key), records) }
      return !candidates.isEmpty
    }
  }

  private mutating func look(at ref: RecordRef, _ records: ZoneRecords) throws {
    let noted = noted[ref.key]
    if case .all = noted { return }
    guard let record = try records.load(ref) else { return }
    let stamped = try records.columns(record.stamps).map(\.column).filter { record.extra[$0] == nil }
    // A column that has its default since the row was inserted has no stamp.
    let valued = Set(stamped.compactMap { table.indexes[$0] })
    let written = candidates.intersection(valued)
    guard !written.isEmpty, let row = try records.row(table, ref.key) else { return }
    if case .columns(let columns) = noted {
      for index in written where !columns.contains(table.columns[index].id) {
        if showsDefault(row, index) { edited.insert(index) } else { keep(index) }
      }
      return
    }
    compared.formUnion(written)
    let isSame = try records.matches(ref, record, table, row: records.named(row, record, table))
    // A column without a stamp has its default in the record, so only one that shows something else can differ.
    let last = table.columns.indices.last { $0 != table.keyColumn && (valued.contains($0) || !showsDefault(row, $0)) }
    if !isSame, let last { proven.insert(last) }
    for index in written {
      switch (isSame, showsDefault(row, index)) {
      case (true, false): keep(index)
      case (false, true): lost.insert(index)
      default: break
      }
    }
  }

  /// Notes that a column has a value that nobody wrote since the last flush, so it was not added again. New columns are
  /// added behind all others, so neither were the columns before it.
  private mutating func keep(_ index: Int) { candidates = candidates.filter { $0 > index } }

  private func showsDefault(_ row: [Value], _ index: Int) -> Bool { row[index] == table.defaultValue(index) }
}

/// The columns that programs wrote since the last flush, by the canonical keys of their rows.
struct NotedColumns {
  enum Noted {
    case columns(Set<Int64>)
    /// The note doesn't tell which.
    case all
  }

  /// The columns that an update changed, as its note in the pending log tells.
  private struct Mask: Hashable {
    let layout: Int64
    let word: Int64
    let bits: Int64
  }

  static func columns(of layout: [Int64], word: Int64, mask: Int64) -> Set<Int64> {
    Set(
      layout.indices.filter { $0 / Layout.wordSize == word && mask >> Int64($0 % Layout.wordSize) & 1 == 1 }
        .map { layout[$0] })
  }

  let table: TableForm
  private var noted: [Value: Noted] = [:]
  // A million notes have a few masks, so they share their sets.
  private var sets: [Mask: Set<Int64>] = [:]
  /// The `mesh_pending.id` of the last note that was read.
  private var last: Int64 = 0

  init(_ transaction: Transaction, _ table: TableForm) throws {
    self.table = table
    try readOn(transaction)
  }

  /// Reads the notes that were written since the last call.
  mutating func readOn(_ transaction: Transaction) throws {
    try transaction.pending.forEach(of: table.id, after: last) { note in
      last = note.id
      // No program has written these.
      if note.wall == PendingSlice.renamed { return true }
      let key = table.form.canonical(note.key)
      let mask = Mask(layout: note.layout, word: note.word, bits: note.mask)
      guard note.op == PendingSlice.Op.update, mask.bits != 0 else {
        noted[key] = .all
        return true
      }
      if sets[mask] == nil {
        sets[mask] = Self.columns(
          of: try transaction.catalog.layout(mask.layout), word: mask.word, mask: mask.bits)
      }
      let columns = sets[mask] ?? []
      switch noted[key] {
      case nil: noted[key] = .columns(columns)
      case .columns(let known) where !columns.isSubset(of: known): noted[key] = .columns(known.union(columns))
      case .columns, .all: break
      }
      return true
    }
  }

  subscript(key: Value) -> Noted? { noted[key] }

  func isWritten(_ column: Int64, of key: Value) -> Bool {
    switch noted[key] {
    case nil: false
    case .columns(let columns): columns.contains(column)
    case .all: true
    }
  }
}
