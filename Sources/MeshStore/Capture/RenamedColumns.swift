import GRDB

/// The columns of a table that were renamed since the last look. SQLite has put their new names into the trigger, so they
/// can be told from columns that were dropped and added.
struct RenamedColumns {
  /// The renamed columns whose former name no column has now, and whose name none had.
  private(set) var names: [(old: String, new: String)] = []
  /// The columns that have the name of another column of the last look, which is still there under a third name.
  private(set) var reused: Set<Int64> = []

  /// Finds them, and notes their former names.
  ///
  /// - Parameters:
  ///   - before: The columns for which the trigger was made.
  ///   - layout: The columns that the table has now.
  init(_ db: Database, _ table: Int64, _ before: Layout, _ layout: Layout) throws {
    let sql = try String.fetchOne(
      db.cachedStatement(sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?"),
      arguments: [CaptureTriggers.name(table, .update)])
    let found = sql.map(CaptureTriggers.columns(ofUpdate:)) ?? []
    guard found.count == before.columns.count else { return }
    for (old, name) in zip(before.columns, found) {
      let new = try Layout.columnID(db, table: table, name: name)
      guard new != old, layout.columns.contains(new) else { continue }
      try Layout.setOrigin(db, old, of: new)
      if layout.columns.contains(old) {
        reused.insert(old)
      } else if !before.columns.contains(new), let former = try Layout.columnName(db, id: old) {
        names.append((former, name))
      }
    }
  }
}
