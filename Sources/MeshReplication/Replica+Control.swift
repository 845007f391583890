public import MeshCore

/// Keeps control logs: stores, sends, learns and appends records.
extension Replica {
  func loadZone(_ id: ZoneID) throws {
    var zone = Zone(id)
    for bytes in try store.controlRecords(id) {
      // A share may have been joined without the states of all accounts. Records of uncertified devices have no effect,
      // but without them the records that follow would be refused.
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

  /// Throws if the file's private zone belongs to another account.
  ///
  /// A file has one private zone, and it belongs to the file's account. A stored account state proves nothing, because
  /// a file also knows all participants of its shares.
  func requireOwn(_ id: ZoneID) throws {
    for bytes in try store.controlRecords(id) {
      guard case .genesis(let owner, _)? = try? ControlRecord(bytes, cryptography).act, owner != account.id else {
        continue
      }
      throw ReplicaError.foreignDatabase
    }
  }

  /// Reads new records into the zone's state, and returns the new epochs whose keys are missing here.
  @discardableResult
  func recompute(_ id: ZoneID) -> [EpochID] {
    // It was counted by the former state.
    zones[id]?.authorRoom = nil
    return zones[id]?.read(accounts, revision: accountChanges, cryptography) ?? []
  }

  // MARK: Control records

  /// Sends a peer the records that don't lead to the heads, once its account may be sent more. Only the last of several
  /// requests counts.
  func giveControlRecords(_ link: LinkID, _ zone: ZoneID, beyond heads: [ControlID], now: Moment) throws {
    sessions[link]?.outflow.asked[zone] = heads
    try sendAskedRecords(link, now: now)
  }

  func sendAskedRecords(_ link: LinkID, now: Moment) throws {
    guard let asked = sessions[link]?.outflow.asked, let peer = sessions[link]?.peer else { return }
    for (id, heads) in asked.sorted(by: { $0.key < $1.key }) {
      guard let log = zones[id]?.log else { continue }
      let bound = max(Choices.controlSending, 2 * log.bytes)
      // Finding the missing records takes a visit to each record.
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

  /// The bytes that can be sent in the time that it takes to visit a record.
  private static let visit = 8

  /// Sends the records that don't lead to the heads and that the peer may know, in pieces, as fast as the connection
  /// accepts them. The rest of an earlier answer is dropped.
  ///
  /// - Parameter closing: The message to send after the last piece.
  /// - Returns: The number of bytes.
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

  /// Tells a peer which records are here, so that it sends others. New heads are told immediately, and unchanged ones
  /// after an interval.
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

  /// The milliseconds between two announcements of the same heads to a peer.
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

  /// Computes the state of a log that has grown, as soon as the allowance of one of the authors permits it. Records of
  /// honest accounts are read immediately. Records of an account that sends without pause are read together.
  func readNews(_ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], zone.hasUnread else { return }
    let isDue = zone.unreadAccounts.sorted().reduce(zone.unreadAccounts.isEmpty) { isDue, account in
      // Each account pays for its own part of the log, so an honest account doesn't wait because others filled the log.
      let cost = zone.log.isSettled(accountChanges) ? zone.log.unread : zone.log.use(of: account, accounts).records
      return reading[account, default: Allowance()].take(
        Self.reading + cost, bound: Choices.controlReading, rate: Choices.controlReadingPerMillisecond, now: now.steady)
        || isDue
    }
    if isDue { try controlChanged(id, now: now) }
  }

  /// The number of records that can be read in the time that it takes to act on the result.
  private static let reading = 128

  /// Keeps the valid new records in one durable write, and returns them. If the write fails, none of them is kept in
  /// memory.
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
        // The records before an invalid record stay valid.
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

  /// Returns whether an account may send records of a zone. Members send the news of a zone. Only devices of this
  /// account, or the session in which a share is joined, introduce a zone.
  private func maySend(_ account: AccountID, _ id: ZoneID) -> Bool {
    guard let state = zones[id]?.state else { return account == self.account.id && zones.count < Limits.zones }
    return account == self.account.id || state.permission(account) != nil
      // The record that admits the peer may not have arrived yet, or this account is no longer a member.
      || state.owner == nil || state.permission(self.account.id) == nil
  }

  /// Returns the state of the account that a record names, if more of it arrived than is stored. States arrive before
  /// the records that name the accounts, and a claim contains one.
  ///
  /// - Parameter met: The states that earlier records of the message named.
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

  /// Returns whether there is room for a record. An account that fills the log is refused, on all its devices.
  ///
  /// Peers may pass on the records that they accepted, or honest records would lack a parent. From other participants,
  /// a participant accepts a fixed multiple of an account's quota. From devices of the owner and of its own account, it
  /// accepts everything that they have accepted. A device of the owner counts the records that each account brings, so
  /// it has room for everything that any honest participant accepted. All participants therefore converge on the
  /// records of the owner's devices.
  ///
  /// - Parameter uses: The uses that were already counted.
  private func hasRoom(
    for record: ControlRecord, _ known: Accounts, _ uses: inout [AccountID?: ControlUse], _ link: LinkID
  ) -> Bool {
    let zone = zones[record.zone]
    let author = zone?.people.account(of: record.author, known)
    let peer = sessions[link]?.peer?.account
    // Devices of unknown accounts share one bound.
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

  /// Returns whether a record is signed by a device of the zone's accounts and follows records that are here. The first
  /// record of a zone is a genesis that matches the zone's id.
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

  /// Acts on changed records or accounts: computes the state, updates this device's standing and the cuts, updates
  /// which peers are members, requests keys, and creates a key if none is current.
  func controlChanged(_ id: ZoneID, now: Moment) throws {
    zones[id]?.hasUnread = false
    zones[id]?.unreadAccounts = []
    let lacking = recompute(id)
    guard zones[id]?.state.owner != nil else { return }
    try endDropping(id, now: now)
    try updateStandings()
    try setLimits(id)
    // Accounts that are out learn of no later record, and so of no epoch that is created because of them.
    try leaveThoseOut(id, now: now)
    // An epoch names 64 of the log's heads. If an account forks the log, several epochs are needed to cover all heads.
    for _ in 0..<Self.epochsAtOnce {
      guard let zone = zones[id], zone.state.currentEpoch == nil, mayWrite(zone) else { break }
      try mintEpoch(id, now: now)
      // The epoch covers the whole log, so another would be no better.
      if zone.state.heads.count <= Limits.controlHeads { break }
    }
    try offer(id, now: now)
    for link in links(sharing: id) { requestKeys(link, id, lacking) }
    try askAgain(id, now: now)
    zones[id]?.needsApply = true
    needsFlush = true
  }

  /// The maximum number of epochs that are created at once. They cover 1,024 heads.
  private static let epochsAtOnce = 16

  /// Asks again for change sets that were refused or reverted and may be valid now.
  private func askAgain(_ id: ZoneID, now: Moment) throws {
    guard zones[id]?.hasRefused == true else { return }
    zones[id]?.hasRefused = false
    for link in links(sharing: id) { try ask(link, id, now: now) }
  }

  public func reader(_ id: ZoneID) throws -> ChangeSetReader {
    let state = zones[id]?.state
    return ChangeSetReader(
      keys: zones[id]?.keys ?? [:], cuts: zones[id]?.limits ?? [:], unknown: { state?.limit(ofUnknown: $0) },
      cryptography: cryptography)
  }

  /// Appends a record of this device to a zone's log and sends it to the peers.
  func append(_ act: ControlAct, _ id: ZoneID) throws { try publish(try record(act, id)) }

  func record(_ act: ControlAct, _ id: ZoneID) throws -> ControlRecord {
    guard zones[id].map(hasNumber) != false else { throw ReplicaError.notReady(usedUpNumbers(id)) }
    let own = zones[id]?.log.last(of: device)
    return try ControlRecord(
      zone: id, parents: zones[id]?.state.heads ?? [], number: (own?.number ?? 0) + 1, previous: own?.id, act: act,
      secrets: secrets, cryptography)
  }

  /// Returns whether this device can write one more record. All devices refuse a record with a higher number.
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

  /// Adds a record of this device that is stored, or about to be.
  func know(_ record: ControlRecord) {
    zones[record.zone, default: Zone(record.zone)].log.insert(record, cryptography)
    recompute(record.zone)
  }

  /// Sends new records to the peers that get the zone's news.
  func passOn(_ records: [ControlRecord], _ id: ZoneID, besides source: LinkID?) {
    for start in stride(from: 0, to: records.count, by: Limits.controlBatch) {
      let slice = records[start..<min(start + Limits.controlBatch, records.count)].map(\.encoded)
      for link in links(hearing: id) where link != source { send(link, .controlRecords(id, slice)) }
    }
  }
}
