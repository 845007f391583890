import MeshCore

/// Checks and keeps the control records that peers send.
struct ControlIntake: Part {
  let context: Context
  let logs: ControlLogs
  let exchange: AccountExchange

  /// Returns whether an account may send records of a zone. Members send the news of a zone. Only devices of this
  /// account, or the session in which a share is joined, introduce a zone.
  func maySend(_ account: AccountID, _ id: ZoneID) -> Bool {
    guard let state = zones[id]?.state else { return account == self.account.id && zones.count < Limits.zones }
    return account == self.account.id || state.permission(account) != nil
      // The record that admits the peer may not have arrived yet, or this account is no longer a member.
      || state.owner == nil || state.permission(self.account.id) == nil
  }

  /// Keeps the valid new records in one durable write. If the write fails, none of them is kept in memory.
  ///
  /// - Returns: The new records, and the accounts of whose states more is here now.
  func take(
    _ encoded: [[UInt8]], _ id: ZoneID, _ link: LinkID, now: Moment
  ) throws -> (new: [ControlRecord], grown: [AccountID]) {
    let wasNew = zones[id] == nil
    var new: [ControlRecord] = []
    var known = exchange.accounts(known: link)
    var uses: [AccountID?: ControlUse] = [:]
    var met: [AccountID: AccountState] = [:]
    // The accounts that the zone did not name before.
    var introduced: Set<AccountID> = []
    do {
      for bytes in encoded {
        let record = try ControlRecord(bytes, cryptography)
        guard zones[id]?.log.contains(record.id) != true else { continue }
        // The records before an invalid record stay valid.
        guard record.zone == id, count(record, known, &uses, link) else { break }
        let verdict = judge(record, known)
        guard verdict == .sound else {
          answer(verdict, id, link, now: now)
          break
        }
        zones.open(id)
        noteRelayed(record, known, link)
        if let account = record.act.namedAccount, zones[id]?.people.has(account) != true { introduced.insert(account) }
        zones[id]?.insert(record, cryptography)
        new.append(record)
        guard let state = named(by: record, link, met) else { continue }
        met[state.id] = state
        known.set(state)
        uses = [:]
      }
      if !met.isEmpty { try store.control.saveAccountStates(met.mapValues(\.encoded)) }
      if !new.isEmpty { try store.control.insertControlRecords(new.map { ($0.id, $0.encoded) }, zone: id) }
    } catch {
      if wasNew { zones.remove(id) } else { zones[id]?.removeLast(new.count, cryptography) }
      throw error
    }
    book.know(met.values)
    // Peers of this zone may not know accounts that this node knows from another one.
    for id in introduced.union(met.keys).sorted() { exchange.gossip(id, besides: link) }
    return (new, met.keys.sorted())
  }

  /// Returns the state of the account that a record names, if more of it arrived than is stored. States arrive before
  /// the records that name the accounts, and a claim contains one.
  ///
  /// - Parameter met: The states that earlier records of the message named.
  private func named(by record: ControlRecord, _ link: LinkID, _ met: [AccountID: AccountState]) -> AccountState? {
    guard let id = record.act.namedAccount else { return nil }
    var shown: [AccountState] = []
    if case .admission(let claim) = record.act, accounts[id] == nil, let state = claim.state(cryptography) {
      shown.append(state)
    }
    if let offered = sessions[link]?.offers.states[id] { shown.append(offered) }
    let before = met[id] ?? accounts[id]
    guard id != account.id, var state = before ?? shown.first else { return nil }
    for other in shown { state.merge(other, cryptography) }
    return state == before ? nil : state
  }

  /// Counts a record, if there is room for it. An account that fills the log is refused, on all its devices.
  ///
  /// Peers may pass on the records that they accepted, or honest records would lack a parent. From other participants,
  /// a participant accepts a fixed multiple of an account's quota. From devices of the owner and of its own account, it
  /// accepts everything that they have accepted. A device of the owner counts the records that each account brings, so
  /// it has room for everything that any honest participant accepted. All participants therefore converge on the
  /// records of the owner's devices.
  ///
  /// - Parameter uses: The uses that were already counted.
  /// - Returns: False if there is no room.
  private func count(
    _ record: ControlRecord, _ known: Accounts, _ uses: inout [AccountID?: ControlUse], _ link: LinkID
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
      if zone?.people.owner == account.id, let peer {
        use = zone?.news.use(of: author, broughtBy: peer) ?? ControlUse()
      }
    }
    use.add(record)
    uses[author] = use
    guard
      record.number > UInt64(Choices.controlRecords) || use.records > factor * Choices.controlRecordsOfAccount
        || use.bytes > factor * Choices.controlBytesOfAccount
    else { return true }
    incidents.refuse("control-over-quota")
    return false
  }

  /// Counts a record for the account that brought it. Only a device of the zone's owner does.
  private func noteRelayed(_ record: ControlRecord, _ known: Accounts, _ link: LinkID) {
    guard let people = zones[record.zone]?.people, people.owner == account.id, let peer = sessions[link]?.peer?.account
    else { return }
    zones[record.zone]?.news.note(record, of: people.account(of: record.author, known), broughtBy: peer)
  }

  private enum Verdict: Equatable {
    case sound
    case lacksParents
    case violation(String)
  }

  /// Judges whether a record is signed by a device of the zone's accounts and follows records that are here. The first
  /// record of a zone is a genesis that matches the zone's id.
  private func judge(_ record: ControlRecord, _ accounts: Accounts) -> Verdict {
    let zone = zones[record.zone] ?? Zone(record.zone)
    guard record.leading.allSatisfy(zone.log.contains) else { return .lacksParents }
    guard zone.isSound(record, accounts, cryptography) else {
      return .violation(
        "a control record has a wrong signature, lacks its proof, or its author may not write it"
      )
    }
    if record.parents.isEmpty {
      switch record.act {
      case .genesis, .shareGenesis: return .sound
      default: return .violation("a zone's first record does not open its id")
      }
    }
    guard let previous = record.previous.flatMap({ zone.log[$0] }), !record.continues(previous) else { return .sound }
    return .violation("a control record does not continue its author's")
  }

  private func answer(_ verdict: Verdict, _ id: ZoneID, _ link: LinkID, now: Moment) {
    switch verdict {
    case .sound: break
    // An account that only introduces itself is told nothing: it may be a stranger to the zone.
    case .lacksParents:
      guard let session = sessions[link], session.machine.isOpen, let peer = session.peer,
        maySend(peer.account, id)
      else { return }
      logs.tellHeads(link, id, now: now)
    case .violation(let text): sessions.end(link, .protocolViolation, text)
    }
  }
}

extension ControlAct {
  /// The account whose devices the zone knows from this act on.
  fileprivate var namedAccount: AccountID? {
    switch self {
    case .genesis(let account, _), .shareGenesis(let account, _, _), .participant(let account, _, _, _): account
    case .admission(let claim): claim.account
    default: nil
    }
  }
}

/// The control records that arrived since the state was read.
struct ControlNews {
  /// The control records of other accounts that each account brought since the start, by author and then by the account
  /// that brought them. Only a device of the zone's owner counts them.
  private var relayed: [AccountID?: [AccountID: ControlUse]] = [:]
  /// True if records came that the state doesn't include yet, or on which this node has not acted.
  private(set) var hasUnread = false
  /// The accounts of peers' records among them.
  private(set) var accounts: Set<AccountID> = []

  func use(of author: AccountID?, broughtBy peer: AccountID) -> ControlUse? { relayed[author]?[peer] }

  mutating func note(_ record: ControlRecord, of author: AccountID?, broughtBy peer: AccountID) {
    relayed[author, default: [:]][peer, default: ControlUse()].add(record)
  }

  mutating func note(_ accounts: some Sequence<AccountID>) {
    hasUnread = true
    self.accounts.formUnion(accounts)
  }

  mutating func read() { (hasUnread, accounts) = (false, []) }
}
