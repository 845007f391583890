import MeshCore

/// Handles rows that a program on this machine wrote with foreign keys off, which is the default in many languages.
/// They refer to a row that is not here yet, or that has just got another key. Without mesh, they would be in the
/// table, and the program may be about to write to them again. Therefore they stay in this machine's table, and are
/// noted. The other machines hold them until the reference is valid.
extension Materialiser {
  /// Returns whether the row stays although the parent is missing.
  func mayDangle(_ ref: RecordRef, _ parent: RecordRef) throws -> Bool {
    guard try reason(parent) != .parentElsewhere else { return false }
    if let flushing, flushing.rekeyed.contains(parent) || written.contains(ref) {
      if flushing.rekeyed.contains(parent) { transaction.reached(.keyRenamed) }
      return true
    }
    if dangling[ref]?.contains(parent) == true { return true }
    return try hasDangling.get() && transaction.held.danglingParents(of: ref, in: records.zone.id).contains(parent)
  }

  func keepDangling(_ ref: RecordRef, _ parent: RecordRef) throws {
    transaction.reached(.rowShownHereOnly)
    try wait(ref, for: parent)
    try note(ref, .shownHereOnly, "written here while foreign keys were off")
    hasDangling = .success(true)
  }

  /// Keeps the references of a noted row. The note is deleted together with the list of awaited records. Afterwards,
  /// `settle` determines whether the references still dangle.
  func rememberDangling(_ ref: RecordRef) throws {
    guard try hasDangling.get() else { return }
    let parents = try transaction.held.danglingParents(of: ref, in: records.zone.id)
    if !parents.isEmpty { dangling[ref, default: []].formUnion(parents) }
  }
}
