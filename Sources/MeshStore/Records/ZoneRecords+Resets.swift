import MeshCore

/// Handles the effects of `ON DELETE SET NULL` and `SET DEFAULT`.
extension ZoneRecords {
  /// Returns the references that SQLite set to NULL or the default because their parent was deleted, by column with the
  /// merged value. Such values are derived and therefore not sent.
  ///
  /// The row no longer has the old value. The parent's delete, which the log notes next, names it, and the record's
  /// hash proves it. One statement causes both, so they have one time. If a person wrote NULL before deleting the
  /// parent, that is an edit. If the reset can't be proven, the NULL is sent as an edit.
  func derivedResets(
    _ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: [Value], _ edited: Set<Int>
  ) throws -> [Int64: Value] {
    guard old.isShown, !entry.isInserted else { return [:] }
    var found: [Int64: Value] = [:]
    var values = try values(entry.ref, old, row: named(row, old, entry.table))
    for reference in entry.table.references where reference.isReset && edited.contains(reference.column) {
      let column = entry.table.columns[reference.column].id
      let shown = reference.action == .setDefault ? entry.table.defaultValue(reference.column) : .null
      guard row[reference.column] == shown, let wall = entry.columns[column],
        let parent = transaction.catalog.table(reference.parent)
      else { continue }
      let key = try transaction.pending.deletedKey(of: parent.id, after: entry.firstID, at: wall)
      guard let key, try !hasRow(parent, key) else { continue }
      found[column] = key
      values[column] = key
    }
    guard !found.isEmpty else { return [:] }
    guard try hash(entry.ref, old, values) == old.hash else { return [:] }
    transaction.reached(.resetDerived)
    return found
  }
}
