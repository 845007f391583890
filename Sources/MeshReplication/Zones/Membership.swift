import MeshCore

/// Decides which zones are in common with a peer. All accounts that a zone lists get its log. Only members get its
/// change sets and keys.
struct Membership: Part {
  /// The milliseconds that a peer of another account may stay without a common zone.
  private static let outsiderPatience: Int64 = 10_000

  let context: Context
  let logs: ControlLogs
  let exchange: AccountExchange
  let schema: SchemaExchange
  let keys: KeyRing
  let acknowledgements: Acknowledgements
  let downloads: AssetDownloads

  /// Returns whether this account and the other are both members.
  private func isCommon(_ zone: ZoneID, with account: AccountID) -> Bool {
    zones.isCommon(zone, self.account.id, account)
  }

  // MARK: Beginning

  /// Tells a peer which zones it may have the logs of, by tags that only those who know the zones can read.
  func sendTags(_ link: LinkID, _ account: AccountID) {
    guard let info = sessions[link]?.info else { return }
    let tags = zones.ids.filter { zones.mayHaveLog(account, $0) }.map { zone in
      zoneTag(zone, sender: info.role, handshakeHash: info.handshakeHash, cryptography)
    }
    sessions.send(link, .zones(tags))
  }

  /// Compares the peer's tags with the zones here, to learn which of them it knows. Devices of one account tell each
  /// other about zones. Devices of other accounts learn about them by joining.
  func meetZones(_ link: LinkID, _ tags: [[UInt8]], now: Moment) throws {
    guard let info = sessions[link]?.info, let peer = sessions[link]?.peer else { return }
    let theirs = Set(tags)
    for zone in zones.ids where zones.mayHaveLog(peer.account, zone) {
      let tag = zoneTag(zone, sender: info.role.other, handshakeHash: info.handshakeHash, cryptography)
      let isKnown = theirs.contains(tag)
      if isKnown, isCommon(zone, with: peer.account) {
        sessions.send(link, .controlHeads(zone, zones[zone]?.state.heads ?? []))
      } else if isKnown || peer.account == account.id {
        if !isKnown { zones[zone]?.told([], by: peer.device) }
        try logs.give(link, zone, beyond: [], now: now)
      }
      try share(zone, link, now: now)
    }
    introduce(link, peer.account, theirs)
    // A peer that knows a share of this account which does not name it here shows next who let it in.
    let isIntroduced = zones.ids.contains { id in
      zones[id]?.state.owner == account.id && !zones.mayHaveLog(peer.account, id)
        && theirs.contains(zoneTag(id, sender: info.role.other, handshakeHash: info.handshakeHash, cryptography))
    }
    if !isIntroduced { endUnlessMember(link) }
  }

  /// Shows a device of a share's owner that does not list this account in the share who let the account in.
  private func introduce(_ link: LinkID, _ owner: AccountID, _ tags: Set<[UInt8]>) {
    guard owner != account.id, let info = sessions[link]?.info else { return }
    var room = Choices.introduction
    for id in zones.ids where zones[id]?.state.owner == owner {
      let tag = zoneTag(id, sender: info.role.other, handshakeHash: info.handshakeHash, cryptography)
      if !tags.contains(tag) { introduce(link, id, room: &room) }
    }
  }

  /// Shows a device of a share's owner who let this account in, once in a session.
  private func introduce(_ link: LinkID, _ id: ZoneID, room: inout Int) {
    guard let zone = zones[id], let grant = zone.state.participants[account.id]?.grant,
      sessions[link]?.membership.introduce(grant) == true,
      let batch = zone.introduction(of: account.id, room: &room)
    else { return }
    sessions.send(link, .controlRecords(id, batch))
  }

  /// Asks a peer for the change sets of a zone that is in common from now on.
  func share(_ zone: ZoneID, _ link: LinkID, now: Moment) throws {
    guard let session = sessions[link], session.machine.isOpen, let peer = session.peer,
      isCommon(zone, with: peer.account), !session.machine.commonZones.contains(zone)
    else { return }
    let want = try sessions.handle(link, .share(zone, stored: try store.log.storedVector(zone)), now: now)
    due.note(.assets)
    downloads.forgetAside()
    if case .want(_, let vector)? = want { try meet(zone, link, wanted: vector, now: now) }
  }

  /// Tells a peer what is here of a common zone, after its first `want` has shown that it knows the zone to be in
  /// common. It would have ignored this before.
  func meet(_ zone: ZoneID, _ link: LinkID, wanted: VersionVector, now: Moment) throws {
    guard let peer = sessions[link]?.peer else { return }
    if peer.account == account.id { try schema.sendOwnerPolicies(link) } else { try schema.send(link) }
    try acknowledgements.introduce(link, zone, now: now)
    // The peer may have been asked for keys before, and did not give them.
    sessions[link]?.keys.forgetRequests()
    keys.request(link)
    try sessions.handle(link, .met(zone, wanted: wanted), now: now)
  }

  /// Offers a zone to the open sessions, after a new zone or a new member appeared.
  func offer(_ id: ZoneID, now: Moment) throws {
    try tellThoseOut(id, now: now)
    for link in sessions.links {
      guard let session = sessions[link], session.machine.isOpen, let peer = session.peer,
        isCommon(id, with: peer.account), !session.machine.commonZones.contains(id)
      else { continue }
      for other in zones[id]?.people.all ?? [] where other != peer.account { exchange.send(other, link) }
      if peer.account == account.id {
        try logs.give(link, id, beyond: [], now: now)
      } else {
        // The device that let this account in may be gone before it could tell the owner's other devices.
        var room = Choices.introduction
        if peer.account == zones[id]?.state.owner { introduce(link, id, room: &room) }
        sessions.send(link, .controlHeads(id, zones[id]?.state.heads ?? []))
      }
      try share(id, link, now: now)
    }
  }

  func meetControlHeads(_ link: LinkID, _ id: ZoneID, _ heads: [ControlID], now: Moment) throws {
    guard let peer = sessions[link]?.peer, zones.mayHaveLog(peer.account, id) else { return }
    if peer.account == account.id { zones[id]?.told(heads, by: peer.device) }
    try logs.give(link, id, beyond: heads, now: now)
    // A peer that believes it is removed has not said which records it has. It may be a member again.
    if !isCommon(id, with: peer.account), heads.contains(where: { zones[id]?.log.contains($0) != true }) {
      logs.tellHeads(link, id, now: now)
    }
    try share(id, link, now: now)
  }

  // MARK: End

  /// Sends the log to accounts that were admitted and removed by records that arrived together. They have only heard of
  /// the admission.
  private func tellThoseOut(_ id: ZoneID, now: Moment) throws {
    for link in sessions.openLinks {
      guard let peer = sessions[link]?.peer, peer.account != account.id, zones.mayHaveLog(peer.account, id),
        !isCommon(id, with: peer.account), zones[id]?.state.permission(peer.account) == nil,
        sessions[link]?.membership.tell(id) == true
      else { continue }
      probe?(.admittedAndRemovedTogether)
      try logs.give(link, id, beyond: [], now: now)
    }
  }

  /// Ends the exchange of a zone that is no longer in common, after the peers were sent the records that say why.
  func leaveThoseOut(_ id: ZoneID, now: Moment) throws {
    for link in sessions.links(sharing: id) {
      guard let peer = sessions[link]?.peer, !isCommon(id, with: peer.account) else { continue }
      try sessions.handle(link, .unshare(id), now: now)
      endUnlessMember(link)
    }
  }

  /// Ends the session of an account that is no longer a member of any common zone, and gives the reason.
  private func endUnlessMember(_ link: LinkID) {
    guard let session = sessions[link], let peer = session.peer, peer.account != account.id,
      session.machine.commonZones.isEmpty, !session.outflow.owesRecords
    else { return }
    let reasons = zones.values.sorted { $0.state.zone < $1.state.zone }.compactMap { zone in
      zone.state.permission(peer.account) == nil ? zone.reasonOutside(peer.account) : nil
    }
    if !reasons.isEmpty { sessions.end(link, .noMember, reasons.joined(separator: "; ")) }
  }

  /// Ends sessions of accounts without a common zone, with the reason, after a while. Sessions are for members, and for
  /// a short time for former members.
  func endOutsiders(now: Moment) {
    for link in sessions.openLinks {
      guard let session = sessions[link], let peer = session.peer else { continue }
      let isOutside = peer.account != account.id && session.machine.commonZones.isEmpty
      let time = sessions[link]?.membership.noteOutside(isOutside, now: now)
      if let time, time > Self.outsiderPatience { endUnlessMember(link) }
    }
  }
}

/// The zones that a peer was told about as a former member, and those in which this account introduced itself to it.
struct MembershipProgress {
  /// Zones that the peer is removed from, and whose logs it was sent for that reason.
  private var told: Set<ZoneID> = []
  /// The records that let this account into shares, and that the peer was shown.
  private var introduced: Set<ControlID> = []
  /// The steady time since which a peer of another account has shown no common zone.
  private var outsideSince: Int64?

  /// Returns true if the peer was not told before.
  mutating func tell(_ zone: ZoneID) -> Bool { told.insert(zone).inserted }

  /// Returns true if the peer was not shown before who let this account in.
  mutating func introduce(_ grant: ControlID) -> Bool { introduced.insert(grant).inserted }

  /// Notes whether the peer has no common zone, and returns the milliseconds for which it has had none.
  mutating func noteOutside(_ isOutside: Bool, now: Moment) -> Int64? {
    outsideSince = isOutside ? outsideSince ?? now.steady : nil
    return outsideSince.map { now.steady.saturatingSubtracting($0) }
  }
}

extension Zone {
  /// Returns the reason that an account named by the log is not a member, in words for people. It is nil if the account
  /// is a member or was never let in.
  func reasonOutside(_ account: AccountID) -> String? {
    let name = "“\(printable(state.title))”"
    switch state.participants[account]?.status {
    case .removed: return "the owner removed the account from \(name)"
    case .left: return "the account has left \(name)"
    case .member: return state.isStopped ? "the owner has stopped sharing \(name)" : nil
    case nil where state.owner == nil || state.owner == account || !people.has(account): return nil
    case nil:
      return
        "the device, participant or invite that let the account into \(name) was revoked or removed at the same time: ask "
        + "the owner for a new invite"
    }
  }
}
