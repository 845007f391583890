import MeshCore

/// The oldest rows of the pending log, by record.
struct PendingSlice {
  /// What was noted of one record.
  struct Entry {
    let ref: RecordRef
    let table: TableForm
    var ids: [Int64] = []
    var isInserted = false
    var isDeleted = false
    /// Taken in, with no edit noted since.
    var isImported = false
    /// Of the last row, in milliseconds.
    var wall: Int64 = 0
    /// Changed columns and when.
    var columns: [Int64: Int64] = [:]
  }

  /// `mesh_pending.op`, beside the triggers' 1, 2 and 3.
  enum Op {
    static let insert: Int64 = 1
    static let update: Int64 = 2
    static let delete: Int64 = 3
    static let importing: Int64 = 4
  }

  /// `mesh_pending.wall` of rows that were there before anybody noted when.
  static let migrated: Int64 = 0

  /// In the order in which they were first noted.
  var entries: [Entry] = []
  /// Rows whose table is not synchronized any more: consumed and not looked at.
  var strays: [Int64] = []
  /// The greatest id in the log when it was read; 0 where it is empty.
  var lastID: Int64 = 0
  /// Rows in the log.
  var isWhole = true

  /// At most `Choices.slice` records.
  static func read(_ session: Session) throws -> PendingSlice {
    var slice = PendingSlice()
    slice.lastID = try session.sql.integer("SELECT max(id) FROM mesh_pending") ?? 0
    guard slice.lastID > 0 else { return slice }
    var places: [RecordRef: Int] = [:]
    var count = 0
    let statement = try session.sql.statement(
      "SELECT id, tbl, layout, key, op, word, mask, wall FROM mesh_pending ORDER BY id")
    defer { statement.reset() }
    while try statement.step() {
      guard count < StoreLimits.pendingRows else {
        slice.isWhole = false
        break
      }
      count += 1
      guard let table = session.catalog.table(statement.integer(1)), !statement.isNull(3) else {
        slice.strays.append(statement.integer(0))
        continue
      }
      let ref = RecordRef(table: table.id, key: table.form.canonical(statement.value(3)))
      let place: Int
      if let known = places[ref] {
        place = known
      } else {
        guard slice.entries.count < Choices.slice else {
          slice.isWhole = false
          break
        }
        place = slice.entries.count
        places[ref] = place
        slice.entries.append(Entry(ref: ref, table: table))
      }
      try slice.entries[place].note(statement, session.catalog)
    }
    return slice
  }
}

extension PendingSlice.Entry {
  fileprivate mutating func note(_ row: Statement, _ catalog: Catalog) throws {
    ids.append(row.integer(0))
    let noted = row.integer(7)
    wall = max(wall, noted)
    switch row.integer(4) {
    case PendingSlice.Op.insert: isInserted = true
    case PendingSlice.Op.delete: isDeleted = true
    case PendingSlice.Op.importing: isImported = true
    default:
      let layout = try catalog.layout(row.integer(2))
      let (word, mask) = (Int(row.integer(5)), row.integer(6))
      for bit in 0..<Layout.wordSize where mask >> Int64(bit) & 1 == 1 {
        let index = word * Layout.wordSize + bit
        guard layout.indices.contains(index) else { continue }
        columns[layout[index]] = max(columns[layout[index]] ?? 0, noted)
      }
    }
  }
}
