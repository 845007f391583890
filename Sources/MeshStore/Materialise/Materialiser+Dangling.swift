import MeshCore

/// Handles rows that a program on this machine wrote with foreign keys off, which is the default in many languages.
/// They refer to a row that is not here yet, or that has just got another key. Without mesh, they would be in the
/// table, and the program may be about to write to them again. Therefore they stay in this machine's table, and are
/// noted. The other machines hold them until the reference is valid.
extension Materialiser {
  /// Returns whether the row stays although the parent is missing.
  func mayDangle(_ ref: RecordRef, _ parent: RecordRef) throws -> Bool {
    if try reason(parent) == .parentElsewhere { return try isToFollow(ref, parent) }
    if let flushing, flushing.rekeyed.contains(parent) || written.contains(ref) {
      if flushing.rekeyed.contains(parent) { transaction.reached(.keyRenamed) }
      return true
    }
    if dangling[ref]?.contains(parent) == true { return true }
    return try hasDangling.get() && transaction.held.danglingParents(of: ref, in: records.zone.id).contains(parent)
  }

  /// Returns whether a noted row stays until it moves to the zone in which its parent has appeared. The program must find
  /// it meanwhile. A row doesn't follow another record that happens to have the key of an earlier parent.
  private func isToFollow(_ ref: RecordRef, _ parent: RecordRef) throws -> Bool {
    let zones = try transaction.catalog.zones()
    guard zones.privateZone == records.zone.id, try records.load(parent) == nil,
      let zone = try transaction.occupant(parent, besides: records.zone.id), zones.mayWrite(zone),
      try dangling[ref]?.contains(parent) == true
        || transaction.held.danglingParents(of: ref, in: records.zone.id).contains(parent)
    else { return false }
    try transaction.look(at: ref)
    return true
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
