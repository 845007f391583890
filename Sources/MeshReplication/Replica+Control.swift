public import MeshCore

/// Control logs: kept, sent, learnt, added to.
extension Replica {
  func loadZone(_ id: ZoneID) throws {
    var zone = Zone(id)
    for bytes in try store.controlRecords(id) {
      guard let record = try? ControlRecord(bytes, cryptography), zone.isSound(record, accounts, cryptography) else {
        continue
      }
      zone.log.insert(record, cryptography)
    }
    zone.add(try vault.epochKeys(id))
    zones[id] = zone
    recompute(id)
    let limits = try cutLimits(id)
    zones[id]?.limits = limits
    if let reason = try reasonForNewInstance(id) {
      try renewInstance(id, because: reason)
    } else {
      if try vault.isCopy() { notify(Self.copied) }
      try raiseMark(id)
    }
  }

  /// A file has one private zone, and it is its account's. That the file knows an account says nothing: it knows everybody who
  /// takes part in its shares.
  func requireOwn(_ id: ZoneID) throws {
    for bytes in try store.controlRecords(id) {
      guard case .genesis(let owner, _)? = try? ControlRecord(bytes, cryptography).act, owner != account.id else {
        continue
      }
      throw ReplicaError.foreignDatabase
    }
  }

  /// Returns the epochs among the news whose keys are not here.
  @discardableResult
  func recompute(_ id: ZoneID) -> [EpochID] {
    zones[id]?.read(accounts, revision: accountChanges, cryptography) ?? []
  }

  // MARK: Control records

  /// Sends a peer what does not lead to the heads, once its account may be sent more. Of several requests the last counts.
  func giveControlRecords(_ link: LinkID, _ zone: ZoneID, beyond heads: [ControlID], now: Moment) throws {
    sessions[link]?.outflow.asked[zone] = heads
    try sendAskedRecords(link, now: now)
  }

  func sendAskedRecords(_ link: LinkID, now: Moment) throws {
    guard let asked = sessions[link]?.outflow.asked, let peer = sessions[link]?.peer else { return }
    for (id, heads) in asked.sorted(by: { $0.key < $1.key }) {
      guard let log = zones[id]?.log else { continue }
      let bound = max(Choices.controlSending, 2 * log.bytes)
      // To look what is lacking takes a visit of each record.
      guard
        sending[peer.account, default: Allowance()].take(
          Self.visit * log.count, bound: bound, rate: Choices.controlSendingPerMillisecond, now: now.steady)
      else { return }
      sessions[link]?.outflow.asked[id] = nil
      let bytes = try sendControlRecords(link, id, beyond: heads)
      _ = sending[peer.account]?.take(
        bytes, bound: .max, rate: Choices.controlSendingPerMillisecond, now: now.steady)
    }
  }

  /// As many bytes as are sent in the time that it takes to look at a record.
  private static let visit = 8

  /// Sends what does not lead to the heads, as far as the peer may know it: in pieces, as fast as the link takes them. What was left
  /// of an earlier answer is not sent. Returns how many bytes that is.
  ///
  /// - Parameter closing: Sent behind the last piece.
  @discardableResult
  func sendControlRecords(
    _ link: LinkID, _ zone: ZoneID, beyond heads: [ControlID], closing: Message? = nil
  ) throws -> Int {
    guard let log = zones[zone]?.log else { return 0 }
    let visible = sessions[link]?.peer.flatMap { zones[zone]?.visibleRecords(to: $0.account, here: account.id) }
    let lacking = log.records(beyond: heads).filter { visible?.contains($0.id) != false }
    sessions[link]?.outflow.records[zone] = Outflow.Records(left: lacking.map(\.id)[...], closing: closing)
    try pour(link)
    return lacking.reduce(0) { $0 + $1.size }
  }

  /// Tells a peer which records are here, for it to send others: at once if they are new, else after a while.
  func tellControlHeads(_ link: LinkID, _ zone: ZoneID, now: Moment) {
    let heads = zones[zone]?.state.heads ?? []
    if let told = sessions[link]?.toldHeads[zone], told.heads == heads, now.steady &- told.at < Self.tellingInterval {
      sessions[link]?.owedHeads.insert(zone)
      return
    }
    sessions[link]?.owedHeads.remove(zone)
    sessions[link]?.toldHeads[zone] = (heads, now.steady)
    send(link, .controlHeads(zone, heads))
  }

  /// Between two tellings of the same heads to a peer, in milliseconds.
  private static let tellingInterval: Int64 = 1_000

  func learnControl(_ link: LinkID, _ id: ZoneID, _ encoded: [[UInt8]], now: Moment) throws {
    guard let peer = sessions[link]?.peer, maySend(peer.account, id) else { return }
    let wasNew = zones[id] == nil
    let new = try take(encoded, id, link, now: now)
    guard !new.isEmpty else { return }
    for case .fork(let proof) in new.map(\.act) where !wasNew { notify(fork: proof) }
    passOn(new, id, besides: link)
    zones[id]?.hasUnread = true
    let people = zones[id]?.people
    zones[id]?.unreadAccounts.formUnion(new.compactMap { people?.account(of: $0.author, accounts) })
    try readNews(id, now: now)
    try share(id, link, now: now)
  }

  /// Computes the state of a log that has grown, as soon as one of those who wrote the news may have it read. Honest news are
  /// read at once; those of an account that sends on and on wait for one another.
  func readNews(_ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], zone.hasUnread else { return }
    let isDue = zone.unreadAccounts.sorted().reduce(zone.unreadAccounts.isEmpty) { isDue, account in
      // Each of them pays for its own part of the log: an honest account does not wait for what others filled it with.
      let cost = zone.log.isSettled(accountChanges) ? zone.log.unread : zone.log.use(of: account, accounts).records
      return reading[account, default: Allowance()].take(
        Self.reading + cost, bound: Choices.controlReading, rate: Choices.controlReadingPerMillisecond, now: now.steady)
        || isDue
    }
    if isDue { try controlChanged(id, now: now) }
  }

  /// As many records as are read in the time that it takes to act on what was read.
  private static let reading = 128

  /// Those that are new and stand, kept in one durable write. If that fails, none of them is known.
  private func take(_ encoded: [[UInt8]], _ id: ZoneID, _ link: LinkID, now: Moment) throws -> [ControlRecord] {
    let wasNew = zones[id] == nil
    var new: [ControlRecord] = []
    var known = accounts(known: link)
    var uses: [AccountID: ControlUse] = [:]
    do {
      for bytes in encoded {
        let record = try ControlRecord(bytes, cryptography)
        guard zones[id]?.log.contains(record.id) != true else { continue }
        // What came before a record that does not stand, stands.
        guard record.zone == id, hasRoom(for: record, known, &uses, link),
          try isAcceptable(record, known, link, now: now)
        else { break }
        zones[id, default: Zone(id)].log.insert(record, cryptography)
        new.append(record)
        guard let named = try meetPeople(of: record, link) else { continue }
        if let state = accounts[named] { known.set(state) }
        uses = [:]
      }
      if !new.isEmpty { try store.insertControlRecords(new.map { ($0.id, $0.encoded) }, zone: id) }
    } catch {
      if wasNew { zones[id] = nil } else { zones[id]?.log.removeLast(new.count, cryptography) }
      throw error
    }
    return new
  }

  /// Members tell what is new in a zone; that there is a zone, only devices of this account, or the link by which one joins.
  private func maySend(_ account: AccountID, _ id: ZoneID) -> Bool {
    guard let state = zones[id]?.state else { return account == self.account.id && zones.count < Limits.zones }
    return account == self.account.id || state.permission(account) != nil
      // Whose word has not come yet that lets the peer in; or that puts this account out, for which its own suffices.
      || state.owner == nil || state.permission(self.account.id) == nil
  }

  /// The states of accounts came before the records that name them. Returns the account that a record names.
  private func meetPeople(of record: ControlRecord, _ link: LinkID) throws -> AccountID? {
    let named: AccountID
    switch record.act {
    case .genesis(let account, _), .shareGenesis(let account, _, _), .participant(let account, _, _, _): named = account
    case .admission(let claim):
      named = claim.account
      if accounts[named] == nil, let state = claim.state(cryptography), try adopt(state) {
        gossip(named, besides: link)
      }
    default: return nil
    }
    if let offered = sessions[link]?.offered[named], try adopt(offered) { gossip(named, besides: link) }
    return named
  }

  /// An account that fills the log is refused, by whichever of its devices. Other accounts may pass on what they took within the
  /// bound, so that nobody lacks a parent of an honest record.
  ///
  /// - Parameter uses: Those that were counted already.
  private func hasRoom(
    for record: ControlRecord, _ known: Accounts, _ uses: inout [AccountID: ControlUse], _ link: LinkID
  ) -> Bool {
    let log = zones[record.zone]?.log
    let author = log?.people.account(of: record.author, known)
    let factor = author == sessions[link]?.peer?.account ? 1 : Choices.relayedControl
    // Of nobody's device no record is sound.
    var use = author.flatMap { uses[$0] ?? log?.use(of: $0, known) } ?? ControlUse()
    use.add(record)
    if let author { uses[author] = use }
    guard
      record.number > UInt64(Choices.controlRecords) || use.records > factor * Choices.controlRecordsOfAccount
        || use.bytes > factor * Choices.controlBytesOfAccount
    else { return true }
    refusals["control-over-quota", default: 0] += 1
    return false
  }

  /// Signed by a device of the account, after records that are here; a zone begins with a genesis that its id opens to.
  private func isAcceptable(
    _ record: ControlRecord, _ accounts: Accounts, _ link: LinkID, now: Moment
  ) throws -> Bool {
    let zone = zones[record.zone] ?? Zone(record.zone)
    guard record.leading.allSatisfy(zone.log.contains) else {
      tellControlHeads(link, record.zone, now: now)
      return false
    }
    guard zone.isSound(record, accounts, cryptography) else {
      end(
        link, .protocolViolation,
        "a control record is not signed by a device of the zone's people, lacks the proof of what it says, or is not theirs to say"
      )
      return false
    }
    if record.parents.isEmpty {
      switch record.act {
      case .genesis, .shareGenesis: return true
      default:
        end(link, .protocolViolation, "a zone's first record does not open its id")
        return false
      }
    }
    guard let previous = record.previous.flatMap({ zone.log[$0] }) else { return true }
    guard record.continues(previous) else {
      end(link, .protocolViolation, "a control record does not continue its author's")
      return false
    }
    return true
  }

  /// After records or accounts changed: the state anew, what this device is in the zone, cuts to be carried out, who is in and who
  /// is out, keys asked for, a key minted where none is current.
  func controlChanged(_ id: ZoneID, now: Moment) throws {
    zones[id]?.hasUnread = false
    zones[id]?.unreadAccounts = []
    let lacking = recompute(id)
    guard zones[id]?.state.owner != nil else { return }
    try endDropping(id, now: now)
    try updateStandings()
    try setLimits(id)
    // An epoch names 64 of the log's heads. If an account forks the log, it takes several to see all that they have to.
    for _ in 0..<Self.epochsAtOnce {
      guard let zone = zones[id], zone.state.currentEpoch == nil, mayWrite(zone) else { break }
      try mintEpoch(id, now: now)
      // It has seen all of the log: another would be no better.
      if zone.state.heads.count <= Limits.controlHeads { break }
    }
    try leaveThoseOut(id, now: now)
    try offer(id, now: now)
    for link in links(sharing: id) { requestKeys(link, id, lacking) }
    try askAgain(id, now: now)
    zones[id]?.needsApply = true
    needsFlush = true
  }

  /// They see 1,024 heads.
  private static let epochsAtOnce = 16

  /// What was refused, or taken back, may be welcome now.
  private func askAgain(_ id: ZoneID, now: Moment) throws {
    guard zones[id]?.hasRefused == true else { return }
    zones[id]?.hasRefused = false
    for link in links(sharing: id) {
      try handle(link, .lacking(id, stored: try store.storedVector(id)), now: now)
    }
  }

  public func reader(_ id: ZoneID) throws -> ChangeSetReader {
    let state = zones[id]?.state
    return ChangeSetReader(
      keys: zones[id]?.keys ?? [:], cuts: zones[id]?.limits ?? [:], unknown: { state?.limit(ofUnknown: $0) },
      cryptography: cryptography)
  }

  /// Appends a record of this device's to a zone's log and tells everybody.
  func append(_ act: ControlAct, _ id: ZoneID) throws { try publish(try record(act, id)) }

  func record(_ act: ControlAct, _ id: ZoneID) throws -> ControlRecord {
    let own = zones[id]?.log.last(of: device)
    return try ControlRecord(
      zone: id, parents: zones[id]?.state.heads ?? [], number: (own?.number ?? 0) + 1, previous: own?.id, act: act,
      secrets: secrets, cryptography)
  }

  func publish(_ record: ControlRecord) throws {
    let id = record.zone
    try store.insertControlRecord(record.encoded, id: record.id, zone: id)
    know(record)
    passOn([record], id, besides: nil)
  }

  /// A record of this device's that is kept, or about to be.
  func know(_ record: ControlRecord) {
    zones[record.zone, default: Zone(record.zone)].log.insert(record, cryptography)
    recompute(record.zone)
  }

  /// Sends what is new here to whoever hears of the zone.
  func passOn(_ records: [ControlRecord], _ id: ZoneID, besides source: LinkID?) {
    for start in stride(from: 0, to: records.count, by: Limits.controlBatch) {
      let slice = records[start..<min(start + Limits.controlBatch, records.count)].map(\.encoded)
      for link in links(hearing: id) where link != source { send(link, .controlRecords(id, slice)) }
    }
  }
}
