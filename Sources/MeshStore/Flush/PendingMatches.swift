import MeshCore

/// The pending rows of some records, found before the write lock is taken. Rows that arrive until then are checked
/// under the lock. With it, others' changes can be merged even if more is pending than one transaction flushes.
struct PendingMatches {
  let refs: Set<RecordRef>
  private(set) var ids: [Int64] = []
  /// The last row that was checked.
  private var last: Int64 = 0

  static let all =
    "SELECT id, tbl, layout, key, op, word, mask, wall, was FROM mesh_pending WHERE ?1 = 0 OR zone = ?1 ORDER BY id"
  private static let one =
    "SELECT id, tbl, layout, key, op, word, mask, wall, was FROM mesh_pending WHERE id = ? AND (?2 = 0 OR zone = ?2)"
  private static let later =
    "SELECT id, tbl, layout, key, op, word, mask, wall, was FROM mesh_pending WHERE id > ? ORDER BY id"

  init(_ session: Session, _ refs: Set<RecordRef>) throws {
    self.refs = refs
    try lookOn(session)
  }

  /// Checks the rows that arrived since.
  mutating func lookOn(_ session: Session) throws {
    let statement = try session.sql.statement(Self.later)
    statement.bind(last, at: 1)
    defer { statement.reset() }
    while try statement.step() {
      last = statement.integer(0)
      guard let table = session.catalog.table(ofNoted: statement.integer(4), statement.integer(1)), !statement.isNull(3)
      else { continue }
      if refs.contains(RecordRef(table: table.id, key: table.form.canonical(statement.value(3)))) { ids.append(last) }
    }
  }

  func forEachRow(_ session: Session, zone: Int64, _ visit: (Statement) throws -> Bool) throws {
    let statement = try session.sql.statement(Self.one)
    for id in ids {
      statement.bind(id, at: 1)
      statement.bind(zone, at: 2)
      defer { statement.reset() }
      guard try statement.step() else { continue }
      guard try visit(statement) else { return }
    }
  }
}
