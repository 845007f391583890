import MeshCore

/// Exchanges the states of accounts with peers that share a zone in which the accounts are named.
struct AccountExchange: Part {
  let context: Context

  /// Returns all accounts, including those that the session's peer offered and no zone names yet.
  func accounts(known link: LinkID) -> Accounts {
    sessions[link]?.offers.merge(into: accounts, changes: book.changes) ?? accounts
  }

  /// Returns the accounts named by the logs that a peer's account may know. For a zone that the account has left, only
  /// the part of the log counts that it may still see.
  private func accounts(concerning peer: AccountID) -> Set<AccountID> {
    zones.values.reduce(into: []) { accounts, zone in
      guard peer == account.id || zone.people.has(peer) else { return }
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

  func send(_ id: AccountID, _ link: LinkID) {
    if let state = book.encoding(of: id) { sessions.send(link, .account(state.bytes)) }
  }

  /// Sends the heads of all concerned accounts except this one, whose head is in the hello.
  func sendHeads(_ link: LinkID, _ peer: AccountID) {
    let known = accounts(concerning: peer).subtracting([account.id]).sorted()
    let heads = known.compactMap { id in book.encoding(of: id).map { (id, $0.head) } }.prefix(Limits.accountHeads)
    sessions.send(link, .accountHeads(Dictionary(heads, uniquingKeysWith: { first, _ in first })))
  }

  func meetHeads(_ link: LinkID, _ heads: [AccountID: [UInt8]]) {
    guard let peer = sessions[link]?.peer else { return }
    var concerned = accounts(concerning: peer.account)
    if peer.account == account.id { concerned.remove(account.id) }
    for id in concerned.sorted() where heads[id] != book.encoding(of: id)?.head { send(id, link) }
  }

  /// Sends an account's state to all connected peers that it concerns.
  func gossip(_ id: AccountID, besides source: LinkID? = nil) {
    for link in sessions.openLinks where link != source {
      if let peer = sessions[link]?.peer, hears(peer.account, of: id) { send(id, link) }
    }
  }

  /// Stores the state of an account that a zone here names, or keeps it until a record names the account.
  ///
  /// - Returns: The account, if its stored state has grown.
  func learn(_ link: LinkID, _ bytes: [UInt8]) throws -> AccountID? {
    var reader = ByteReader(bytes)
    let theirs = try AccountState(from: &reader, cryptography) { accounts[$0] ?? sessions[link]?.offers.states[$0] }
    guard theirs.id == account.id || zones.names(theirs.id) else {
      offer(theirs, bytes: bytes.count, link)
      return nil
    }
    let former = account
    guard try book.adopt(theirs) else { return nil }
    if theirs.id == account.id { noteReadmissions(since: former) }
    return theirs.id
  }

  /// Notes which revocations have no effect any more. The key that replaced their signer's may have come from a machine
  /// that had not heard of them.
  private func noteReadmissions(since former: AccountState) {
    for (device, certificate) in former.certificates.sorted(by: { $0.key < $1.key })
    where former.isExcluded(device) && !account.isExcluded(device) {
      let name = "“\(printable(certificate.request.name))” (\(device))"
      incidents.notify(
        "\(name) was revoked, and is a member of the account again, because the account's key was replaced. If it must "
          + "not take part, revoke it again: mesh device revoke \(device)")
    }
  }

  /// Keeps the growing state of an account that no zone here names yet. The bound applies to all sessions of the peer's
  /// account together, and an honest log needs no more.
  private func offer(_ state: AccountState, bytes: Int, _ link: LinkID) {
    let peer = sessions[link]?.peer?.account
    let offered = sessions.values.reduce(0) { $1.peer?.account == peer ? $0 + $1.offers.bytes : $0 }
    guard offered + bytes <= Choices.offeredAccounts else { return }
    sessions[link]?.offers.add(state, bytes: bytes, cryptography)
  }
}

/// The states of accounts that a peer offered and no zone here names yet. They arrive before the records that name them.
struct AccountOffers {
  private(set) var states = Accounts()
  private(set) var bytes = 0
  /// All accounts including the offered ones, with the number of account changes at which they were computed.
  private(set) var merged: (changes: Int, accounts: Accounts)?

  mutating func add(_ state: AccountState, bytes: Int, _ cryptography: any Cryptography) {
    var known = states[state.id] ?? state
    known.merge(state, cryptography)
    states.set(known)
    self.bytes += bytes
    merged = nil
  }

  /// Returns the accounts and those offered states that they don't include.
  ///
  /// - Parameter changes: The number of changes to the accounts so far.
  mutating func merge(into accounts: Accounts, changes: Int) -> Accounts {
    guard !states.states.isEmpty else { return accounts }
    if let merged, merged.changes == changes { return merged.accounts }
    let all = states.states.values.reduce(into: accounts) { if $0[$1.id] == nil { $0.set($1) } }
    merged = (changes, all)
    return all
  }
}
