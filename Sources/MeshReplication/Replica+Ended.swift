import MeshCore

/// Shares that have ended for this account: it left, was put out, or they were stopped.
extension Replica {
  /// What is left of them goes, once what was written to them is dealt with.
  func dropEnded(now: Moment) throws -> Bool {
    for standing in standings where standing.role == .ended && !dropped.contains(standing.zone) {
      guard try store.pendingCount() == 0 else { return false }
      let hasMore = try drop(standing.zone, now: now)
      try noticePending()
      if hasMore { return true }
      dropped.insert(standing.zone)
      needsFlush = true
      return true
    }
    return false
  }

  /// Who is let in again while the rows go begins from nothing: what is left of them would be taken for all there is.
  func endDropping(_ id: ZoneID, now: Moment) throws {
    guard dropping.contains(id), zones[id]?.state.permission(account.id) != nil else { return }
    while try drop(id, now: now) {}
    for link in links(sharing: id) {
      try handle(link, .lacking(id, stored: try store.storedVector(id)), now: now)
    }
  }

  /// Before anybody is told what is here: of zones where that was cut short.
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
