import MeshCore

/// Keeps the states of accounts: this node's account, and those that a zone here names. They only grow, and go to peers
/// that share such a zone.
extension Replica {
  func loadAccounts() throws {
    for id in try store.accounts() {
      guard let bytes = try store.accountState(id) else { continue }
      var reader = ByteReader(bytes)
      let known = try? AccountState(from: &reader, cryptography)
      if id == account.id {
        guard let known, account.merge(known, cryptography) else { throw ReplicaError.foreignDatabase }
      } else if let known, known.id == id {
        accounts.set(known)
      }
    }
    try store.saveAccountStates([account.id: account.encoded])
  }

  /// Replaces the stored state of this or another account.
  func replace(_ state: AccountState) throws {
    try store.saveAccountStates([state.id: state.encoded])
    if state.id == account.id, state.revocations.count > account.revocations.count { clockWatch.forgetContradiction() }
    if state.id == account.id { account = state } else { accounts.set(state) }
  }

  /// Merges a state into the stored one. Returns true if the stored state grew.
  @discardableResult
  func adopt(_ state: AccountState) throws -> Bool {
    guard var known = accounts[state.id] else {
      try replace(state)
      return true
    }
    known.merge(state, cryptography)
    guard known != accounts[state.id] else { return false }
    try replace(known)
    return true
  }

  /// Returns all accounts, including those that the session's peer offered and no zone names yet.
  func accounts(known link: LinkID) -> Accounts {
    guard let session = sessions[link], !session.offered.states.isEmpty else { return accounts }
    if let known = session.withOffered, known.accountChanges == accountChanges { return known.accounts }
    let known = session.offered.states.values.reduce(into: accounts) { if $0[$1.id] == nil { $0.set($1) } }
    sessions[link]?.withOffered = (accountChanges, known)
    return known
  }

  /// Returns whether a zone here names the account. States of other accounts are not kept.
  func isNamed(_ id: AccountID) -> Bool {
    id == account.id || zones.values.contains { $0.people.has(id) }
  }

  /// Returns the accounts named by the logs that a peer's account may know. For a zone that the account has left, only
  /// the part of the log counts that it may still see.
  private func accounts(concerning peer: AccountID) -> Set<AccountID> {
    zones.values.reduce(into: []) { accounts, zone in
      guard peer == account.id || zone.state.accounts.contains(peer) else { return }
      accounts.formUnion(zone.visiblePeople(to: peer, here: account.id, cryptography).all)
    }
  }

  /// Returns whether a peer's account is told about changes of another account.
  ///
  /// It is told if a zone names both and sends the peer its news. A device is told about its own account before it has
  /// any zone, because no later message would tell it of devices that this node met meanwhile.
  private func hears(_ peer: AccountID, of other: AccountID) -> Bool {
    if peer == account.id, other == peer { return true }
    return zones.values.contains { zone in
      zone.people.has(other) && (peer == account.id || zone.state.permission(peer) != nil)
    }
  }

  func sendAccount(_ id: AccountID, _ link: LinkID) {
    if let state = accounts[id] { send(link, .account(state.encoded)) }
  }

  /// Sends the heads of all concerned accounts except this one, whose head is in the hello.
  func sendAccountHeads(_ link: LinkID, _ peer: AccountID) {
    let known = accounts(concerning: peer).subtracting([account.id]).sorted()
    let heads = known.compactMap { id in head(of: id).map { (id, $0) } }.prefix(Limits.accountHeads)
    send(link, .accountHeads(Dictionary(heads, uniquingKeysWith: { first, _ in first })))
  }

  func meetAccountHeads(_ link: LinkID, _ heads: [AccountID: [UInt8]]) {
    guard let peer = sessions[link]?.peer else { return }
    var concerned = accounts(concerning: peer.account)
    if peer.account == account.id { concerned.remove(account.id) }
    for id in concerned.sorted() where heads[id] != head(of: id) { sendAccount(id, link) }
  }

  /// Sends an account's state to all connected peers that it concerns.
  func gossip(_ id: AccountID, besides source: LinkID?) {
    for (link, session) in sessions.sorted(by: { $0.key < $1.key }) where link != source {
      guard session.conversation.isOpen, let peer = session.peer, hears(peer.account, of: id)
      else { continue }
      sendAccount(id, link)
    }
  }

  func learnAccount(_ link: LinkID, _ bytes: [UInt8], now: Moment) throws {
    var reader = ByteReader(bytes)
    let theirs = try AccountState(from: &reader, cryptography) { accounts[$0] ?? sessions[link]?.offered[$0] }
    guard isNamed(theirs.id) else {
      // The state arrives before the records that name the account.
      return offer(theirs, bytes: bytes.count, link)
    }
    guard try adopt(theirs) else { return }
    try accountChanged(theirs.id, besides: link, now: now)
  }

  /// Keeps the growing state of an account that no zone here names yet. The bound applies to all sessions of the peer's
  /// account together, and an honest log needs no more.
  private func offer(_ state: AccountState, bytes: Int, _ link: LinkID) {
    let peer = sessions[link]?.peer?.account
    let offered = sessions.values.reduce(0) { $1.peer?.account == peer ? $0 + $1.offeredBytes : $0 }
    guard offered + bytes <= Choices.offeredAccounts else { return }
    var known = sessions[link]?.offered[state.id] ?? state
    known.merge(state, cryptography)
    sessions[link]?.offered.set(known)
    sessions[link]?.offeredBytes += bytes
    sessions[link]?.withOffered = nil
  }

  static let dropped =
    "the account certified more devices than an account can have (\(Limits.devicesEver)), and this one does not count"

  /// Handles new certificates or revocations, and ends the sessions of devices that may no longer have one.
  func accountChanged(_ id: AccountID, besides link: LinkID?, now: Moment) throws {
    for zone in zones.keys.sorted() where zones[zone]?.people.has(id) == true {
      zones[zone]?.hasUnread = true
      zones[zone]?.unreadAccounts.insert(id)
      if id == account.id { try controlChanged(zone, now: now) } else { try readNews(zone, now: now) }
    }
    gossip(id, besides: link)
    for (other, session) in sessions.sorted(by: { $0.key < $1.key }) {
      guard let peer = session.peer, peer.account == id, let state = accounts[id] else { continue }
      if state.isRevoked(peer.device) {
        end(other, .revoked, "the account revoked this device")
      } else if state.certificates[peer.device] == nil {
        end(other, .notAdmitted, Self.dropped)
      }
    }
    if isRevoked {
      actions.append(.log(.warning, "the account revoked this device: it takes no further part"))
      for other in sessions.keys.sorted() { end(other, .revoked, "this device was revoked") }
    }
  }
}
