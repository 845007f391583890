import MeshCore

/// A synchronized table: as it is listed, and its form in this file.
struct TrackedTable: Hashable, Sendable {
  /// The `mesh_table.id`.
  let id: Int64
  let name: String
  let isPrivate: Bool
  let allowsIntegerKeys: Bool
  /// The `mesh_layout.id` that its triggers write, or nil before they were first created.
  let layout: Int64?
  /// Its rowid in `sqlite_schema` when its triggers were last checked, or nil if it was missing then.
  let schemaRow: Int64?
  /// The collation of its key when its triggers were last checked.
  let keyCollation: String?
  /// The name of its key column, and the class of values that the column makes of keys, at that time.
  let keyName: String?
  let keyClass: String?
  /// The table's schema, or nil if the file doesn't have the table now.
  let schema: TableSchema?

  /// The form of its key. Nil if there is no table, if its key is not one column with a built-in collation, or if the
  /// key has changed.
  var form: KeyForm? { hasAnotherKey ? nil : schema.flatMap(KeyForm.init) }

  /// Whether the table's rows have other identities than before, so that two rows that were one record are now two, or
  /// the reverse. A column that was only renamed is the same key.
  var hasAnotherKey: Bool {
    guard let schema, let key = schema.keyColumn else { return false }
    if let keyCollation, keyCollation.folded != key.collation.folded { return true }
    if let keyClass, keyClass != key.affinity.keyClass { return true }
    guard let keyName else { return false }
    return keyName.folded != key.name.folded && schema.column(keyName) != nil
  }
}

/// A table whose capture was found to be incomplete.
struct CaptureFinding: Hashable, Sendable {
  struct Reasons: OptionSet, Hashable, Sendable {
    let rawValue: Int
    /// A trigger was missing, and has been restored.
    static let triggersMissing = Reasons(rawValue: 1)
    /// A trigger was altered, and has been restored. A column was added or renamed, or somebody edited the trigger.
    static let triggersAltered = Reasons(rawValue: 2)
    /// The table's columns have changed.
    static let layoutChanged = Reasons(rawValue: 4)
    /// The file has no such table. Nothing is captured until it returns.
    static let tableMissing = Reasons(rawValue: 8)
    /// The key is no longer one column with a built-in collation. Nothing is captured until it is.
    static let keyUnfit = Reasons(rawValue: 16)
    /// The table was dropped, and a table with its name exists again.
    static let recreated = Reasons(rawValue: 32)
    /// The table had been missing, and a table with its name exists again.
    static let returned = Reasons(rawValue: 128)
    /// It lacks columns that it had.
    static let columnsLost = Reasons(rawValue: 64)
    /// Synchronized tables exchanged their names, and this is one of them. All their rows are there.
    static let exchanged = Reasons(rawValue: 1024)
    /// The triggers for `UNIQUE` indexes were made for other indexes.
    static let indexesChanged = Reasons(rawValue: 256)
    /// Its key is another column, or is compared differently. Nothing is captured until the key is restored.
    static let keyChanged = Reasons(rawValue: 512)
  }

  /// The `mesh_table.id`.
  let table: Int64
  let name: String
  var reasons: Reasons
  /// The table's current name, if it was renamed.
  var newName: String?
  /// The `mesh_column.id` of the columns that it did not have before.
  var newColumns: [Int64] = []
  /// The columns that have the name of another one, which is still there under a third name.
  var reused: Set<Int64> = []
  /// The names of the columns that it lacks now.
  var lostColumns: [String] = []
  /// The columns that were dropped and added again since the last look, by number, with their names.
  var readded: [Int64: String] = [:]
  /// Those of them of which a row shows the default, although the merged value is another one and no trigger noted a
  /// write.
  var defaulted: Set<Int64> = []
  /// True if it may have kept some of those.
  var isUnsure = false

  /// Whether it is missing, or doesn't have its key.
  var isGone: Bool { !reasons.isDisjoint(with: [.tableMissing, .keyUnfit, .keyChanged]) }
  /// Whether writes may have gone unnoticed, and the table can be compared with the records by values.
  var needsRescan: Bool { !isGone && !reasons.isEmpty }
  /// Whether it is missing, or was missing.
  var wasGone: Bool { isGone || reasons.contains(.returned) }
  /// Whether the table no longer shows all values that it showed.
  var needsRecall: Bool { isGone || !reasons.isDisjoint(with: [.recreated, .returned, .columnsLost]) }

  /// Notes columns that were dropped and added again, as if they had been missing in between.
  mutating func noteReadded(_ columns: ReaddedColumns.Columns) {
    // Another column has gone on with the former values of a name that is used again.
    readded = columns.names.filter { !reused.contains($0.key) }
    guard !readded.isEmpty else { return }
    (defaulted, isUnsure) = (columns.lost, columns.areUnsure)
    reasons.formUnion([.layoutChanged, .columnsLost])
    newColumns += readded.keys.sorted().filter { !newColumns.contains($0) }
  }

  /// A message for the log about the event and its meaning, or nil if nobody needs to know.
  var notice: String? {
    if let newName {
      return """
        The table \(name) was renamed to \(newName) here; other machines know it as \(name), so nothing of it is synchronized \
        now. Rename it back, or run mesh untrack \(name) and mesh track \(newName) on every machine.
        """
    }
    if reasons.contains(.tableMissing) {
      return """
        The synchronized table \(name) was dropped here. Its records stay in the mesh, and are shown when the table is \
        created again; to delete them everywhere, delete its rows before. mesh untrack \(name) ends its synchronization.
        """
    }
    if reasons.contains(.keyUnfit) {
      return """
        The table \(name) has no single-column primary key with a built-in collation any more, so nothing of it is \
        synchronized now. Give it its key again, or run mesh untrack \(name).
        """
    }
    if reasons.contains(.keyChanged) {
      return """
        The table \(name) has another key than when it joined the mesh, or one that is compared otherwise, so its rows would be \
        other records and nothing of it is synchronized now. Give it its key again; for another key make a table of another \
        name, copy the rows, and mesh track that on every machine.
        """
    }
    if reasons.contains(.exchanged) {
      return """
        The table \(name) has the rows of another synchronized table now, because tables exchanged their names here. Other \
        machines get the same rows in \(name), and rows that are not in it any more are deleted.
        """
    }
    if reasons.contains(.recreated) {
      return """
        The table \(name) was created again here. If it has at least half of its rows, the missing ones count as deleted. \
        Otherwise they come back from the mesh.
        """
    }
    if isUnsure {
      let columns = readded.filter { defaulted.contains($0.key) }.values.sorted().joined(separator: ", ")
      if !columns.isEmpty {
        return """
          Rows of the table \(name) show the defaults of columns although other values were merged, and no trigger noted it: \
          \(columns). These columns were probably dropped and added again, so their values come back from the mesh. If a program \
          wrote the defaults, write them again.
          """
      }
    } else if !readded.isEmpty {
      return
        "The table \(name) lost columns and got them again: \(readded.values.sorted().joined(separator: ", ")). Their values come "
        + "back from the mesh."
    }
    if !lostColumns.isEmpty {
      return
        "The table \(name) lacks columns that it had: \(lostColumns.joined(separator: ", ")). Their values stay in the mesh for "
        + "the machines that have them."
    }
    return nil
  }
}
