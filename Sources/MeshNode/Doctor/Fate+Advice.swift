import MeshStore

/// The texts about a table that disappeared, for the checks of its records and of the table itself.
extension StoreCapture.Fate {
  var said: String {
    switch self {
    case .renamed(let name): "it was renamed to \(name)"
    case .dropped: "it was dropped"
    case .notKnown: "it was renamed or dropped"
    @unknown default: "it has gone"
    }
  }

  /// Returns the advice for a table that was synchronized here. If it was renamed, `mesh schema --apply` would create
  /// an empty table beside it.
  func wayOut(of table: String) -> String {
    switch self {
    case .renamed(let name):
      "Rename \(name) back to \(table), or run mesh untrack \(table) and mesh track \(name) on every machine."
    case .dropped:
      "Create \(table) again, by itself or with mesh schema --apply, and its records are shown; or run mesh untrack \(table)."
    case .notKnown:
      "Renamed: rename it back to \(table), or run mesh untrack \(table) and mesh track with the new name on every machine. "
        + "Dropped: create it again, and its records are shown, or run mesh untrack \(table)."
    @unknown default: "Create \(table) again, or run mesh untrack \(table)."
    }
  }
}
