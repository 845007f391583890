public import MeshCore

/// Control logs: kept, sent, learnt, added to.
extension Replica {
  func loadZone(_ id: ZoneID) throws {
    var zone = Zone(id)
    for bytes in try store.controlRecords(id) {
      // A share may have been joined without the states of all accounts. Records of devices that nobody certified have no effect, and
      // without them those that follow would be refused.
      guard let record = try? ControlRecord(bytes, cryptography),
        zone.isSound(record, accounts, isLacking: true, cryptography)
      else { continue }
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
    zones[id]?.unreadAccounts.formUnion(new.map { people?.account(of: $0.author, accounts) ?? peer.account })
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
    var uses: [AccountID?: ControlUse] = [:]
    var met: [AccountID: AccountState] = [:]
    do {
      for bytes in encoded {
        let record = try ControlRecord(bytes, cryptography)
        guard zones[id]?.log.contains(record.id) != true else { continue }
        // What came before a record that does not stand, stands.
        guard record.zone == id, hasRoom(for: record, known, &uses, link),
          try isAcceptable(record, known, link, now: now)
        else { break }
        noteRelayed(record, known, link)
        zones[id, default: Zone(id)].log.insert(record, cryptography)
        new.append(record)
        guard let state = named(by: record, link, met) else { continue }
        met[state.id] = state
        known.set(state)
        uses = [:]
      }
      if !met.isEmpty { try store.saveAccountStates(met.mapValues(\.encoded)) }
      if !new.isEmpty { try store.insertControlRecords(new.map { ($0.id, $0.encoded) }, zone: id) }
    } catch {
      if wasNew { zones[id] = nil } else { zones[id]?.log.removeLast(new.count, cryptography) }
      throw error
    }
    guard !met.isEmpty else { return new }
    var grown = accounts
    for state in met.values { grown.set(state) }
    accounts = grown
    for id in met.keys.sorted() { gossip(id, besides: link) }
    return new
  }

  /// Members tell what is new in a zone; that there is a zone, only devices of this account, or the link by which one joins.
  private func maySend(_ account: AccountID, _ id: ZoneID) -> Bool {
    guard let state = zones[id]?.state else { return account == self.account.id && zones.count < Limits.zones }
    return account == self.account.id || state.permission(account) != nil
      // Whose word has not come yet that lets the peer in; or that puts this account out, for which its own suffices.
      || state.owner == nil || state.permission(self.account.id) == nil
  }

  /// The state of the account that a record names, if more of it came than is kept: states come before the records that name
  /// them, and a claim brings one.
  ///
  /// - Parameter met: Those that records before it named.
  private func named(by record: ControlRecord, _ link: LinkID, _ met: [AccountID: AccountState]) -> AccountState? {
    let id: AccountID
    var shown: [AccountState] = []
    switch record.act {
    case .genesis(let account, _), .shareGenesis(let account, _, _), .participant(let account, _, _, _): id = account
    case .admission(let claim):
      id = claim.account
      if accounts[id] == nil, let state = claim.state(cryptography) { shown.append(state) }
    default: return nil
    }
    if let offered = sessions[link]?.offered[id] { shown.append(offered) }
    let before = met[id] ?? accounts[id]
    guard id != account.id, var state = before ?? shown.first else { return nil }
    for other in shown { state.merge(other, cryptography) }
    return state == before ? nil : state
  }

  /// An account that fills the log is refused, by whichever of its devices.
  ///
  /// Others may pass on what they took, or an honest record would lack a parent. A participant takes so much of an account from
  /// other participants, and whatever devices of the owner and of its own account have taken. An owner's device counts what each
  /// account brings, so it has room for what any honest participant took. So all meet in what the owner's devices have.
  ///
  /// - Parameter uses: Those that were counted already.
  private func hasRoom(
    for record: ControlRecord, _ known: Accounts, _ uses: inout [AccountID?: ControlUse], _ link: LinkID
  ) -> Bool {
    let zone = zones[record.zone]
    let author = zone?.people.account(of: record.author, known)
    let peer = sessions[link]?.peer?.account
    // Nobody's devices share a bound.
    var use = uses[author] ?? zone?.log.use(of: author, known) ?? ControlUse()
    let factor: Int
    if author == peer {
      factor = 1
    } else if peer == account.id || peer == zone?.people.owner {
      factor = Choices.relayedControl * (1 + (zone?.people.others.count ?? 0))
    } else {
      factor = Choices.relayedControl
      if zone?.people.owner == account.id, let peer { use = zone?.relayed[author]?[peer] ?? ControlUse() }
    }
    use.add(record)
    uses[author] = use
    guard
      record.number > UInt64(Choices.controlRecords) || use.records > factor * Choices.controlRecordsOfAccount
        || use.bytes > factor * Choices.controlBytesOfAccount
    else { return true }
    refusals["control-over-quota", default: 0] += 1
    return false
  }

  private func noteRelayed(_ record: ControlRecord, _ known: Accounts, _ link: LinkID) {
    guard let people = zones[record.zone]?.people, people.owner == account.id, let peer = sessions[link]?.peer?.account
    else { return }
    zones[record.zone]?.relayed[people.account(of: record.author, known), default: [:]][peer, default: ControlUse()]
      .add(record)
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
    guard zones[id].map(hasNumber) != false else { throw ReplicaError.notReady(usedUpNumbers(id)) }
    let own = zones[id]?.log.last(of: device)
    return try ControlRecord(
      zone: id, parents: zones[id]?.state.heads ?? [], number: (own?.number ?? 0) + 1, previous: own?.id, act: act,
      secrets: secrets, cryptography)
  }

  /// Whether this device can write one more record. Everybody refuses one with a higher number.
  func hasNumber(_ zone: Zone) -> Bool { zone.log.last(of: device)?.number ?? 0 < Choices.controlRecords }

  func usedUpNumbers(_ id: ZoneID) -> String {
    let title = printable(title(id))
    let zone = title.isEmpty ? "the account's private zone" : "the share “\(title)”"
    return
      "this device has written \(Choices.controlRecords) records to the control log of \(zone), as many as a device can: do it on "
      + "another device of the account, or link one (mesh device invite shows how)"
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
