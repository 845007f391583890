import GRDB
import MeshCore

/// The columns that were dropped and added again since the node last looked. Neither their names nor the layout tell:
/// the rows show the default, and the records have the former values.
struct ReaddedColumns {
  /// The `PRAGMA schema_version` of the look.
  let schemaVersion: Int64?
  /// Their names by number, for each table.
  fileprivate(set) var names: [Int64: [Int64: String]] = [:]
}

extension Session {
  /// Compares the rows of each table with the hashes of their records. If a column was added again in the last place,
  /// even the table's text is the same. A column of which a row has the merged value was not dropped, so a few rows
  /// decide about most tables.
  ///
  /// This may read whole tables, so it belongs into an access that only reads.
  func readdedColumns() throws -> ReaddedColumns {
    var found = ReaddedColumns(schemaVersion: catalog.schemaVersion)
    let present = try sql.all(
      """
      SELECT mesh_table.id FROM mesh_table JOIN main.sqlite_schema s ON s.type = 'table' AND s.rowid = mesh_table.schema_row
      WHERE tracked AND s.name = mesh_table.name COLLATE NOCASE
      """
    ) { $0.integer(0) }
    for id in present {
      guard let table = try TrackedTable.read(db, id: id), let form = try catalog.knownForm(table) else { continue }
      var search = try ReaddedColumnSearch(session: self, table: form)
      try search.run()
      if !search.found.isEmpty { found.names[id] = search.found }
    }
    return found
  }
}

/// Looks for columns of one table whose rows lost their values.
private struct ReaddedColumnSearch {
  let session: Session
  let table: TableForm
  /// The rows that programs wrote since the last flush, by canonical key.
  private let noted: [Value: Noted]
  /// The indexes of the columns that may have been added again.
  private var candidates: Set<Int>
  /// Those of them for which a row has another value than its record.
  private var lost: Set<Int> = []
  /// Those that somebody wrote to, in a row whose hash tells nothing because it was edited.
  private var edited: Set<Int> = []
  /// Those that somebody wrote to, in another row.
  private var compared: Set<Int> = []

  private enum Noted {
    case columns(Set<Int64>)
    /// The note doesn't tell which.
    case all
  }

  init(session: Session, table: TableForm) throws {
    (self.session, self.table) = (session, table)
    candidates = Set(table.columns.indices.filter { $0 != table.keyColumn })
    var noted: [Value: Noted] = [:]
    var layouts: [Int64: [Int64]] = [:]
    let notes = try session.sql.all(
      "SELECT key, op, layout, word, mask FROM mesh_pending WHERE tbl = ?", [.integer(table.id)]
    ) { (key: $0.value(0), op: $0.integer(1), layout: $0.integer(2), word: Int($0.integer(3)), mask: $0.integer(4)) }
    for note in notes {
      let key = table.form.canonical(note.key)
      guard note.op == PendingSlice.Op.update, note.mask != 0 else {
        noted[key] = .all
        continue
      }
      if layouts[note.layout] == nil { layouts[note.layout] = try session.catalog.layout(note.layout) }
      let layout = layouts[note.layout] ?? []
      let places = (0..<Layout.wordSize).filter { note.mask >> Int64($0) & 1 == 1 }
        .map { note.word * Layout.wordSize + $0 }.filter(layout.indices.contains)
      switch noted[key] ?? .columns([]) {
      case .columns(let columns): noted[key] = .columns(columns.union(places.map { layout[$0] }))
      case .all: break
      }
    }
    self.noted = noted
  }

  /// The names of the columns that were found, by number.
  var found: [Int64: String] {
    // If all rows were edited, none can be compared. Reading back values that were not lost changes nothing.
    let columns = candidates.intersection(lost.union(edited.subtracting(compared)))
    return Dictionary(
      columns.map { (table.columns[$0].id, table.columns[$0].name) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func run() throws {
    var zones: [Int64: ZoneRecords] = [:]
    var last: (key: Value, zone: Int64)?
    while !candidates.isEmpty {
      let page = try session.sql.all(
        """
        SELECT key, zone FROM mesh_record
        WHERE tbl = ?1 AND (?3 = 0 OR (key, zone) > (?2, ?3)) AND generation & 1 AND held IS NULL
        ORDER BY key, zone LIMIT \(Choices.slice)
        """, [.integer(table.id), last?.key ?? .null, .integer(last?.zone ?? 0)]
      ) { (key: $0.value(0), zone: $0.integer(1)) }
      for (key, zone) in page where !candidates.isEmpty {
        if zones[zone] == nil {
          zones[zone] = try ZoneRow.read(id: zone, session.sql).map { ZoneRecords(session, zone: $0) }
        }
        guard let records = zones[zone] else { continue }
        try look(at: RecordRef(table: table.id, key: key), records)
      }
      guard let end = page.last else { return }
      last = end
    }
  }

  private mutating func look(at ref: RecordRef, _ records: ZoneRecords) throws {
    let noted = noted[ref.key]
    if case .all = noted { return }
    guard let record = try records.load(ref) else { return }
    let stamped = try records.columns(record.stamps).map(\.column).filter { record.extra[$0] == nil }
    // A column that has its default since the row was inserted has no stamp.
    let written = candidates.intersection(stamped.compactMap { table.indexes[$0] })
    guard !written.isEmpty, let row = try records.row(table, ref.key) else { return }
    if case .columns(let columns) = noted {
      for index in written where !columns.contains(table.columns[index].id) {
        if showsDefault(row, index) { edited.insert(index) }
      }
      return
    }
    compared.formUnion(written)
    let isSame = try records.matches(ref, record, table, row: records.named(row, record, table))
    for index in written {
      switch (isSame, showsDefault(row, index)) {
      case (true, false): candidates.remove(index)
      case (false, true): lost.insert(index)
      default: break
      }
    }
  }

  private func showsDefault(_ row: [Value], _ index: Int) -> Bool { row[index] == table.defaultValue(index) }
}
