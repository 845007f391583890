import MeshCore

/// Computes where authors end.
struct Cutoffs: Part {
  let context: Context
  let standings: StandingBook

  /// Returns the number of the last valid change set of an author, or nil if nothing ends the author. An author that
  /// this device has not begun to write will cite its current grant.
  func limit(_ author: Author, _ id: ZoneID, citing citation: ControlID?) -> UInt64? {
    guard let state = zones[id]?.state else { return 0 }
    let own = author.device == device ? state.citation(account.id) : nil
    return state.limit(author, citing: citation ?? own)
  }

  func limit(_ author: Author, _ id: ZoneID) throws -> UInt64? {
    limit(author, id, citing: try store.log.stored(id, author).citation)
  }

  /// Returns where the known authors end, for those that do.
  func limits(_ id: ZoneID) throws -> [Author: UInt64] {
    guard let state = zones[id]?.state else { return [:] }
    let citations = try store.log.citations(id)
    var authors = Set(try store.log.storedVector(id).authors).union(citations.keys).union(state.ends.keys)
    for (device, points) in state.cuts {
      authors.formUnion(points.keys.map { Author(device: device, instance: $0) })
    }
    var limits: [Author: UInt64] = [:]
    // A lost certificate is no reason to revert change sets that were valid while it was here, except for certificates
    // that all nodes drop alike.
    for author in authors where state.account(of: author.device) != nil || state.mayLackDevices {
      limits[author] = limit(author, id, state, citing: citations[author])
    }
    return try limits.merging(unsent(id, state)) { min($0, $1) }
  }

  func limit(_ author: Author, _ id: ZoneID, _ state: ZoneState, citing citation: ControlID?) -> UInt64? {
    // For an author whose first change set is missing, only the instance tells what it cites.
    let isUnknown = citation == nil && author.device != device
    return isUnknown ? state.limit(ofUnknown: author) : limit(author, id, citing: citation)
  }

  /// Returns where this device's authors end in a share that has ended for its account. If the rows stay as a copy,
  /// nothing is reverted.
  private func unsent(_ id: ZoneID, _ state: ZoneState) throws -> [Author: UInt64] {
    guard state.permission(account.id) == nil, try !standings.keepsCopies && !store.zones.keepsCopy(of: id) else {
      return [:]
    }
    return try UnsentChanges(context: context).limits(id)
  }

  /// Returns the reason that a change set is not stored at all, or nil if it may be.
  ///
  /// It may become valid later, when a missing certificate, grant or cut arrives. It is counted, and it arrives again
  /// after the control log has changed.
  func refusal(
    _ changeSet: ChangeSet, _ state: ZoneState, _ id: ZoneID, citing citation: ControlID?
  ) -> Refusal? {
    let author = changeSet.header.author
    guard let owner = state.account(of: author.device) else { return .notCertified }
    // A device that only hears of an instance could not judge one that belongs to another grant than the author cites.
    let badInstance: Refusal? = citation.map(author.instance.isUnder) == false ? .notPermitted : nil
    if let limit = limit(author, id, citing: citation) {
      guard changeSet.header.number > limit else { return badInstance }
      return state.lostPermission(author, citation) == nil ? .cut : .notPermitted
    }
    return accounts[owner]?.isExcluded(author.device) == true ? .revoked : badInstance
  }

  /// The reason that a change set is not stored, as it is counted.
  enum Refusal: String {
    case notCertified = "author-not-certified"
    case notPermitted = "not-permitted"
    case cut = "author-cut"
    case revoked = "author-revoked"

    /// True if a later control record may allow the change set.
    var mayEnd: Bool { self == .notCertified || self == .notPermitted }
  }
}

/// The numbers at which the authors of a zone end, and how far the store has reverted what is beyond.
struct ZoneLimits {
  /// The last valid numbers of authors that end, such as those of cut devices.
  private(set) var current: [Author: UInt64] = [:]
  /// The limits that the store has carried out since the start, or nil before it was asked to.
  private var carriedOut: [Author: UInt64]?
  private var pause = RevertPause()
  /// True if reverted change sets may be left to write again.
  private(set) var mayWriteAgain = true

  var areCarriedOut: Bool { current == carriedOut }

  /// Sets the limits, and returns the former limits that were lower.
  @discardableResult
  mutating func set(_ limits: [Author: UInt64]) -> [Author: UInt64] {
    defer { current = limits }
    return current.filter { limits[$0.key] ?? .max > $0.value }
  }

  /// Sets the limit of one author. Returns true if the former limit was lower.
  mutating func set(_ limit: UInt64?, of author: Author) -> Bool {
    let before = current[author]
    current[author] = limit
    return before.map { limit ?? .max > $0 } ?? false
  }

  // MARK: Carrying out

  /// Notes that the next piece of work has begun. Returns true if limits have to be carried out now.
  mutating func noteWork(now: Moment) -> Bool {
    pause.noteWork(now: now.steady)
    return !areCarriedOut && pause.isOver(now: now.steady)
  }

  mutating func beginRevert(now: Moment) { pause.begin(now: now.steady) }

  /// Notes that the limits are carried out. Returns false if nothing had to be: after a start, the step may only have
  /// looked for a cut that was interrupted.
  mutating func noteCarriedOut() -> Bool {
    let hasChanged = current != carriedOut ?? [:]
    carriedOut = current
    if hasChanged { mayWriteAgain = true }
    return hasChanged
  }

  mutating func noteWrittenAgain(hasMore: Bool) { mayWriteAgain = hasMore }
}
