import MeshCore

/// Effects of `ON DELETE SET NULL` and `SET DEFAULT`.
extension FlushPlanner {
  /// References that SQLite set to NULL or default because their parent was deleted: derived, and so not sent. Column →
  /// merged value. The value is gone from the row; the parent's delete, which the log notes next, names it, and the
  /// record's hash proves it. Both are one statement's, which has one time: what a person wrote before deleting the parent is an
  /// edit. Where it cannot be proven, the NULL is sent as an edit.
  func derivedResets(
    _ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value], _ edited: Set<Int>
  ) throws -> [Int64: Value] {
    guard old.isShown, !entry.isInserted else { return [:] }
    var found: [Int64: Value] = [:]
    var values = try records.values(entry.ref, old, row: records.named(row, old, entry.table))
    for reference in entry.table.references where reference.isReset && edited.contains(reference.column) {
      let column = entry.table.columns[reference.column].id
      let shown = reference.action == .setDefault ? entry.table.defaultValue(reference.column) : .null
      guard row[reference.column] == shown, let wall = entry.columns[column],
        let parent = session.catalog.table(reference.parent)
      else { continue }
      let key = try session.sql.first(
        "SELECT key FROM mesh_pending WHERE id > ? AND tbl = ? AND op = \(PendingSlice.Op.delete) AND wall = ? ORDER BY id LIMIT 1",
        [.integer(entry.firstID), .integer(parent.id), .integer(wall)]
      ) { $0.value(0) }
      guard let key, try !records.hasRow(parent, key) else { continue }
      found[column] = key
      values[column] = key
    }
    guard !found.isEmpty else { return [:] }
    return try records.hash(entry.ref, old, values) == old.hash ? found : [:]
  }
}
