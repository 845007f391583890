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

  private func drop(_ id: ZoneID, now: Moment) throws -> Bool {
    dropping.insert(id)
    let hasMore = try dropSlice(id, now: now)
    if !hasMore { dropping.remove(id) }
    return hasMore
  }

  private func dropSlice(_ id: ZoneID, now: Moment) throws -> Bool {
    do {
      if try !keepsCopies && store.keepUndelivered(id, beyond: delivered(id), reader(id), now: now.wall) { return true }
    } catch is MissingKey {
      // This device's own key is lost with its vault: what was written under it is in the rows alone, and goes with them.
    }
    return try store.dropZone(id, keepingCopy: keepsCopies, now: now.wall)
  }

  /// Of this device's authors, the last number that somebody is known to have who goes on with the share: of one that was stopped,
  /// its owner. Who put the account out cut it at what was merged there.
  private func delivered(_ id: ZoneID) throws -> [Author: UInt64] {
    guard let zone = zones[id] else { return [:] }
    let acknowledgements = try store.acknowledgements(id).values.compactMap { bytes in
      var reader = ByteReader(bytes)
      return try? Acknowledgement(from: &reader)
    }.filter { acknowledgement in
      let owner = zone.state.account(of: acknowledgement.device)
      return owner != account.id && (!zone.state.isStopped || owner == zone.state.owner)
    }
    let isRemoved = zone.state.participants[account.id]?.status == .removed
    var delivered: [Author: UInt64] = [:]
    for author in try store.storedVector(id).authors where author.device == device {
      let known = acknowledgements.map { $0.merged[author] }.max() ?? 0
      delivered[author] = max(known, isRemoved ? zone.limits[author] ?? 0 : 0)
    }
    return delivered
  }
}
