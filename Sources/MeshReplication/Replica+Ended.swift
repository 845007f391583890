import MeshCore

/// Handles shares that have ended for this account, because it left, was removed, or the share was stopped.
extension Replica {
  /// Deletes the remaining rows of ended shares, once the writes to them are handled. Returns true if more is to do.
  func dropEnded(now: Moment) throws -> Bool {
    for standing in standings where standing.role == .ended && !dropped.contains(standing.zone) {
      guard try store.pendingCount() == 0 else { return false }
      probe?(.shareEnded)
      let hasMore = try drop(standing.zone, now: now)
      try noticePending()
      if hasMore { return true }
      dropped.insert(standing.zone)
      needsFlush = true
      return true
    }
    return false
  }

  /// Finishes the deletion for an account that is admitted again while its rows are being deleted. It begins with no
  /// rows, because the rest would be taken for the complete share.
  func endDropping(_ id: ZoneID, now: Moment) throws {
    guard dropping.contains(id), zones[id]?.state.permission(account.id) != nil else { return }
    probe?(.readmittedWhileEnding)
    while try drop(id, now: now) {}
    for link in links(sharing: id) { try ask(link, id, now: now) }
  }

  /// Finishes interrupted deletions before peers are told which change sets are here.
  func resumeDropping(now: Moment) throws {
    for id in dropping.sorted() where zones[id]?.state.permission(account.id) != nil {
      try controlChanged(id, now: now)
    }
  }

  private func drop(_ id: ZoneID, now: Moment) throws -> Bool {
    dropping.insert(id)
    let hasMore = try store.dropZone(id, keepingCopy: keepsCopies, now: now.wall)
    if !hasMore { dropping.remove(id) }
    return hasMore
  }
}
