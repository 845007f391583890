import MeshCore

/// Acts on changed control logs and accounts.
final class ControlChanges: Part {
  /// The maximum number of epochs that are created at once. They cover 1,024 heads.
  private static let epochsAtOnce = 16
  /// The number of records that can be read in the time that it takes to act on the result.
  private static let reading = 128

  let context: Context
  private let logs: ControlLogs
  private let intake: ControlIntake
  private let exchange: AccountExchange
  private let standings: StandingBook
  private let reverts: Reverts
  private let keys: KeyRing
  private let membership: Membership
  /// The records of control logs that the news of each account may make this node read.
  private var reading = Allowances<AccountID>(rate: Choices.controlReadingPerMillisecond)

  init(
    _ context: Context, _ logs: ControlLogs, _ exchange: AccountExchange, _ standings: StandingBook,
    _ reverts: Reverts, _ keys: KeyRing, _ membership: Membership
  ) {
    (self.context, self.logs, self.exchange, self.standings) = (context, logs, exchange, standings)
    (self.reverts, self.keys, self.membership) = (reverts, keys, membership)
    intake = ControlIntake(context: context, logs: logs, exchange: exchange)
  }

  func forgetUnused(now: Moment) { reading.forgetUnused(now: now) }

  // MARK: Control logs

  /// True if a log has grown, and its state is not computed yet.
  var hasUnread: Bool { zones.values.contains(where: \.news.hasUnread) }

  func learn(_ link: LinkID, _ id: ZoneID, _ encoded: [[UInt8]], now: Moment) throws {
    guard let peer = sessions[link]?.peer,
      try intake.maySend(peer.account, id) || isIntroduction(encoded, id, of: peer.account)
    else { return }
    guard try take(encoded, id, link, from: peer.account, now: now) else { return }
    try membership.share(id, link, now: now)
  }

  /// Returns whether records show that a device or participant let an account into a share of this account, which does
  /// not name it here. That device may be away or revoked, and no other may have the records. They may have no effect.
  /// The account then hears why.
  private func isIntroduction(_ encoded: [[UInt8]], _ id: ZoneID, of stranger: AccountID) throws -> Bool {
    guard let people = zones[id]?.people, people.owner == account.id, !people.has(stranger), let last = encoded.last
    else { return false }
    return try ControlRecord(last, cryptography).act.admitted == stranger
  }

  /// Keeps the records with which an account that no zone here names introduces itself.
  func meetIntroduced(_ link: LinkID, _ stranger: AccountID, now: Moment) throws {
    guard let introduction = sessions[link]?.introduction, stranger != account.id, !zones.names(stranger) else {
      return
    }
    var reader = ByteReader(introduction.account)
    guard (try? AccountGenesis(from: &reader))?.id(cryptography) == stranger else { return }
    for (id, encoded) in introduction.records.sorted(by: { $0.key < $1.key }) {
      guard try isIntroduction(encoded, id, of: stranger) else { continue }
      _ = try exchange.learn(link, introduction.account)
      _ = try take(encoded, id, link, from: stranger, now: now)
    }
  }

  /// Keeps records that an account sent, and acts on them. Returns false if none of them is new.
  private func take(
    _ encoded: [[UInt8]], _ id: ZoneID, _ link: LinkID, from sender: AccountID, now: Moment
  ) throws -> Bool {
    let wasNew = zones[id] == nil
    let (new, grown) = try intake.take(encoded, id, link, now: now)
    guard !new.isEmpty else { return false }
    for case .fork(let proof) in new.map(\.act) where !wasNew { notify(proof) }
    logs.passOn(new, id, besides: link)
    let people = zones[id]?.people
    zones[id]?.news.note(new.map { people?.account(of: $0.author, accounts) ?? sender })
    try readNews(id, now: now)
    for account in grown { try accountCame(account, with: id, now: now) }
    return true
  }

  func notify(_ proof: ForkProof) {
    incidents.notify(proof, isOwn: account.certificates[proof.author.device] != nil)
  }

  func readNews(now: Moment) throws {
    for zone in zones.ids { try readNews(zone, now: now) }
  }

  /// Computes the state of a log that has grown, as soon as the allowance of one of the authors permits it. Records of
  /// honest accounts are read immediately. Records of an account that sends without pause are read together.
  private func readNews(_ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], zone.news.hasUnread else { return }
    let isDue = zone.news.accounts.sorted().reduce(zone.news.accounts.isEmpty) { isDue, account in
      // Each account pays for its own part of the log, so an honest account doesn't wait because others filled the log.
      let cost = zone.log.isSettled(book.changes) ? zone.log.unread : zone.log.use(of: account, accounts).records
      return reading.take(Self.reading + cost, of: account, bound: Choices.controlReading, now: now) || isDue
    }
    if isDue { try changed(id, now: now) }
  }

  /// Acts on changed records or accounts. If it fails halfway, for instance because the disk does, it is done again.
  func changed(_ id: ZoneID, now: Moment) throws {
    zones[id]?.news.note([])
    try act(on: id, now: now)
    zones[id]?.news.read()
  }

  /// Computes the state, updates this device's standing and the cuts, updates which peers are members, requests keys,
  /// and creates a key if none is current.
  private func act(on id: ZoneID, now: Moment) throws {
    let lacking = logs.recompute(id)
    guard zones[id]?.state.owner != nil else { return }
    // Accounts that are out learn of no later record, and so of no epoch that is created because of them. This comes
    // before all that can fail with the disk.
    try membership.leaveThoseOut(id, now: now)
    try standings.endDropping(id, now: now)
    try standings.update()
    try reverts.setLimits(id)
    // An epoch names 64 of the log's heads. If an account forks the log, several epochs are needed to cover all heads.
    for _ in 0..<Self.epochsAtOnce {
      guard let zone = zones[id], zone.state.currentEpoch == nil, mayWrite(zone) else { break }
      try keys.mint(id, now: now)
      // The epoch covers the whole log, so another would be no better.
      if zone.state.heads.count <= Limits.controlHeads { break }
    }
    try membership.offer(id, now: now)
    let links = sessions.links(sharing: id)
    for link in links { keys.request(link, id, lacking) }
    // Change sets that were refused or reverted may be valid now.
    if zones[id]?.intake.takeRefused() == true { try sessions.ask(links, id, now: now) }
    due.note(.merge(id))
    due.note(.flush)
  }

  /// Appends a record of this device to a zone's log, and acts on it.
  func append(_ act: ControlAct, _ id: ZoneID, now: Moment) throws {
    try logs.append(act, id)
    try changed(id, now: now)
  }

  /// Finishes interrupted deletions before peers are told which change sets are here.
  func resumeDropping(now: Moment) throws {
    for id in standings.readmitted { try changed(id, now: now) }
  }

  // MARK: Accounts

  func learnAccount(_ link: LinkID, _ bytes: [UInt8], now: Moment) throws {
    if let id = try exchange.learn(link, bytes) { try accountChanged(id, besides: link, now: now) }
  }

  /// Handles new certificates or revocations, and ends the sessions of devices that may no longer have one.
  func accountChanged(_ id: AccountID, besides link: LinkID? = nil, now: Moment) throws {
    try readZones(naming: id, now: now)
    exchange.gossip(id, besides: link)
    endSessions(of: id)
  }

  /// Handles new certificates or revocations that arrived together with a zone's records. The zone is read for these
  /// records, and peers were told of the account before the records were passed on.
  func accountCame(_ id: AccountID, with zone: ZoneID, now: Moment) throws {
    try readZones(naming: id, besides: zone, now: now)
    endSessions(of: id)
  }

  private func readZones(naming id: AccountID, besides read: ZoneID? = nil, now: Moment) throws {
    for zone in zones.ids where zone != read && zones[zone]?.people.has(id) == true {
      zones[zone]?.news.note([id])
      if id == account.id { try changed(zone, now: now) } else { try readNews(zone, now: now) }
    }
  }

  /// Ends the sessions of an account's devices that may no longer have one.
  private func endSessions(of id: AccountID) {
    for (other, session) in sessions.sorted {
      guard let peer = session.peer, peer.account == id, let state = accounts[id] else { continue }
      if state.isExcluded(peer.device) {
        sessions.end(other, .revoked, "the account revoked this device")
      } else if state.certificates[peer.device] == nil {
        sessions.end(other, .notAdmitted, Self.dropped)
      }
    }
    if account.isExcluded(device) {
      outbox.log(.warning, "the account revoked this device: it takes no further part")
      for other in sessions.links { sessions.end(other, .revoked, "this device was revoked") }
    }
  }

  static let dropped =
    "the account certified more devices than an account can have (\(Limits.devicesEver)), and this one does not count"
}

extension ControlAct {
  /// The account that the act lets in.
  fileprivate var admitted: AccountID? {
    switch self {
    case .participant(let account, .some, _, _): account
    case .admission(let claim): claim.account
    default: nil
    }
  }
}
