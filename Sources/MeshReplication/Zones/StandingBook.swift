import MeshCore

/// Knows what each zone is to this device, and removes the rows of shares that have ended for this account, because it
/// left, was removed, or the share was stopped.
final class StandingBook: Part {
  let context: Context
  /// True to keep the rows of every share that ends for this account, as records of this account.
  var keepsCopies = false
  /// Decides for each share that others end for this account whether its rows stay.
  var keepsRows: (@Sendable (ZoneID) -> Bool)?
  /// The standings of the zones on this device, as the store was told.
  private(set) var standings: [ZoneStanding] = []
  /// Whether the account's private zone is known. Rows that no share has belong there, so nothing is written before.
  var hasPrivateZone: Bool { standings.contains { $0.role == .privateZone } }
  /// Shares that this device stopped itself, with what it had merged.
  private var stoppedHere: Set<ZoneID> = []
  /// Ended shares whose rows are no longer in the file.
  private var dropped: Set<ZoneID> = []
  /// Ended shares whose rows may be partly deleted.
  private var dropping: Set<ZoneID> = []
  /// Of these, the shares whose unsent changes are kept as receipts beside the copy.
  private var withReceipts: Set<ZoneID> = []

  init(_ context: Context) { self.context = context }

  /// Computes the standings of the zones that were loaded.
  func load() throws {
    // An earlier deletion may have begun, and this account may have been admitted again.
    dropping = try store.zones.endedZones()
    try update()
    dropping.formUnion(standings.filter { $0.role == .ended }.map(\.zone))
  }

  /// Tells the store the standing of each zone on this device, if it has changed.
  func update() throws {
    let now = try zones.values.compactMap(standing).sorted { $0.zone < $1.zone }
    guard now != standings else { return }
    let mayKeep = keepsCopies || keepsRows != nil
    let ended = try mayKeep ? store.zones.endedZones() : []
    try store.zones.setStandings(now)
    // The copy is kept before the pending writes to the share are handled.
    if mayKeep {
      for standing in now where standing.role == .ended && !ended.contains(standing.zone) {
        if keepsCopies || isKeptWhenEnded(standing.zone) { try store.zones.keepCopy(of: standing.zone) }
      }
    }
    standings = now
    // An account that was admitted again has the rows again.
    dropped.formIntersection(now.filter { $0.role == .ended }.map(\.zone))
  }

  /// Returns whether a share's rows stay after it ended. The user isn't asked about a share that this account leaves,
  /// because the choice was already made.
  private func isKeptWhenEnded(_ zone: ZoneID) -> Bool {
    guard let state = zones[zone]?.state, state.participants[account.id]?.status != .left else { return false }
    return keepsRows?(zone) ?? false
  }

  private func standing(_ zone: Zone) throws -> ZoneStanding? {
    let state = zone.state
    guard let owner = state.owner else { return nil }
    let role: ZoneStanding.Role =
      if owner == account.id {
        state.root == nil ? .privateZone : .owned
      } else {
        // Until its old rows are gone, the share has ended, even if the account was admitted again.
        switch dropping.contains(state.zone) ? nil : state.permission(account.id) {
        // If this device can no longer write, programs are told immediately.
        case .readWrite: zone.isBarred ? .readOnly : .readWrite
        case .readOnly: .readOnly
        case nil: .ended
        }
      }
    let isStopped = try role == .owned && state.isStopped && (hasEnded(state.zone) || isCaughtUp(state.zone))
    return ZoneStanding(
      zone: state.zone, role: role, root: state.root, owner: owner == account.id ? nil : owner, isStopped: isStopped)
  }

  // MARK: Stopped shares

  /// Notes that this device stops a share, so that its records become private at once.
  func noteStop(_ zone: ZoneID) { stoppedHere.insert(zone) }

  /// Makes the records of stopped shares private once this device has merged what its peers have.
  func endPostponed() throws {
    guard standings.contains(where: isPostponed) else { return }
    try update()
    try noticePending()
  }

  private func isPostponed(_ standing: ZoneStanding) -> Bool {
    standing.role == .owned && !standing.isStopped && zones[standing.zone]?.state.isStopped == true
  }

  private func hasEnded(_ zone: ZoneID) -> Bool { standings.contains { $0.zone == zone && $0.isStopped } }

  /// Returns whether this device has merged what the account's connected devices have of a zone. Another device may have
  /// stopped the share because a program deleted its root there. If the records became private before the deletes are
  /// merged, they would stay.
  private func isCaughtUp(_ zone: ZoneID) throws -> Bool {
    let links = sessions.links(sharing: zone).filter { sessions[$0]?.peer?.account == account.id }
    guard !links.isEmpty, !stoppedHere.contains(zone) else { return true }
    let merged = try store.log.mergedVector(zone)
    return try store.log.storedVector(zone).isCovered(by: merged)
      && links.allSatisfy { sessions[$0]?.progress.merged[zone]?.isCovered(by: merged) ?? false }
  }

  // MARK: Ended shares

  /// True if rows of ended shares may be partly deleted.
  var isDropping: Bool { !dropping.isEmpty }

  /// Deletes the remaining rows of ended shares, once the writes to them are handled. Returns true if more is to do.
  func dropEnded(now: Moment) throws -> Bool {
    for standing in standings where standing.role == .ended && !dropped.contains(standing.zone) {
      guard try store.localWrites.pendingCount() == 0 else { return false }
      probe?(.shareEnded)
      let hasMore = try drop(standing.zone, now: now)
      try noticePending()
      if hasMore { return true }
      dropped.insert(standing.zone)
      due.note(.flush)
      return true
    }
    return false
  }

  /// Returns the shares to which this account is admitted again while its rows are being deleted.
  var readmitted: [ZoneID] { dropping.sorted().filter { zones[$0]?.state.permission(account.id) != nil } }

  /// Finishes the deletion for an account that is admitted again while its rows are being deleted. It begins with no
  /// rows, because the rest would be taken for the complete share.
  func endDropping(_ id: ZoneID, now: Moment) throws {
    guard dropping.contains(id), zones[id]?.state.permission(account.id) != nil else { return }
    probe?(.readmittedWhileEnding)
    while try drop(id, now: now) {}
    try sessions.ask(sessions.links(sharing: id), id, now: now)
  }

  private func drop(_ id: ZoneID, now: Moment) throws -> Bool {
    dropping.insert(id)
    let keepsCopy = try keepsCopies || store.zones.keepsCopy(of: id)
    let unsent = keepsCopy ? try UnsentChanges(context: context).limits(id) : [:]
    if !unsent.isEmpty, withReceipts.insert(id).inserted {
      // Without its key, a change set could not be restored from a receipt either.
      do { try store.merges.keepUnsent(unsent, zone: id, changeSetReader(id), now: now.wall) } catch is MissingKey {}
    }
    let hasMore = try store.zones.dropZone(id, keepingCopy: keepsCopy, unsent: unsent, now: now.wall)
    if !hasMore {
      dropping.remove(id)
      withReceipts.remove(id)
      zones[id]?.acknowledgements.forget()
    }
    return hasMore
  }
}
