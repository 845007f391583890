import MeshCore

/// Identifies the peer of a session and decides whether it is admitted.
final class Greeting: Part {
  let context: Context
  private let exchange: AccountExchange
  private let schema: SchemaExchange
  private let membership: Membership
  private let changes: ControlChanges
  private let devices: DeviceAdmission
  private let shares: ShareAdmission
  /// The sessions that each other account may open.
  private var opening = Allowances<AccountID>(rate: 1)
  /// The session keys of devices that have refused this one as unknown since they were last shown who let it in.
  private var strangers: Set<[UInt8]> = []
  /// The maximum number of sessions with identified peers.
  var sessionBound = Choices.sessions

  init(
    _ context: Context, _ exchange: AccountExchange, _ schema: SchemaExchange, _ membership: Membership,
    _ changes: ControlChanges, _ devices: DeviceAdmission, _ shares: ShareAdmission
  ) {
    (self.context, self.exchange, self.schema, self.membership) = (context, exchange, schema, membership)
    (self.changes, self.devices, self.shares) = (changes, devices, shares)
  }

  func forgetUnused(now: Moment) { opening.forgetUnused(now: now) }

  func welcome(_ link: LinkID, _ hello: Hello, now: Moment) throws {
    guard let info = sessions[link]?.info else { return }
    let binding = SessionBinding(
      signer: info.role.other, handshakeHash: info.handshakeHash, peerStatic: secrets.sessionKey)
    guard hello.versions.contains(Hello.version) else {
      let spoken = hello.versions.map(String.init).joined(separator: ", ")
      let older = hello.versions.last.map { $0 < Hello.version } ?? true
      return sessions.end(
        link, .version,
        "this node speaks version \(Hello.version) of the session protocol, and the peer version \(spoken.isEmpty ? "none" : spoken): "
          + "update mesh on \(older ? "the peer" : "this machine")")
    }
    guard hello.isSigned(binding, cryptography) else {
      return sessions.end(link, .protocolViolation, "the hello is not signed for this session")
    }
    guard let certificate = hello.certificate else { return devices.welcomeJoiner(link, hello, info, now: now) }
    guard certificate.request.sessionKey == info.remoteStatic else {
      return sessions.end(link, .notAdmitted, "the certificate is that of another device")
    }
    if certificate.account != account.id, info.role == .listener, let proof = hello.proof,
      proof.isValid(handshakeHash: info.handshakeHash, cryptography)
    {
      return try shares.welcomeClaimant(link, certificate, proof, now: now)
    }
    try changes.meetIntroduced(link, certificate.account, now: now)
    sessions[link]?.introduction = Introduction()
    guard let state = try adopt(certificate, now: now) else {
      return sessions.end(
        link, .notAdmitted,
        "this node does not know the peer as a device of the account or as a member of a share; if another "
          + "participant let it into a share, it may join again with the invite")
    }
    guard state.certificates[certificate.device] != nil else {
      return sessions.end(link, .notAdmitted, ControlChanges.dropped)
    }
    try open(link, hello, certificate, state, info, now: now)
  }

  // MARK: Introductions

  /// Notes that the peer does not know this device's account.
  func noteRefusal(_ link: LinkID) {
    guard let key = sessions[link]?.info.remoteStatic, strangers.count < Choices.sessions else { return }
    strangers.insert(key)
  }

  /// Shows a device of a share's owner that has refused this one the records that let this account in. The device that
  /// wrote them may be gone before it could pass them on. A revoked device is shown nothing.
  func introduce(_ link: LinkID) {
    guard let key = sessions[link]?.info.remoteStatic, strangers.remove(key) != nil else { return }
    var room = Choices.introduction - book.own.bytes.count
    var batches: [(ZoneID, [[UInt8]])] = []
    for id in zones.ids {
      guard let zone = zones[id], let owner = zone.state.owner.flatMap({ accounts[$0] }),
        let device = owner.certificates.first(where: { $0.value.request.sessionKey == key })?.key,
        !owner.isExcluded(device),
        let batch = zone.introduction(of: account.id, room: &room)
      else { continue }
      batches.append((id, batch))
    }
    guard !batches.isEmpty else { return }
    sessions.send(link, .account(book.own.bytes))
    for (id, batch) in batches { sessions.send(link, .controlRecords(id, batch)) }
  }

  /// Adopts the certificate of a device that belongs to this account or to one that a zone here lists. Returns the
  /// account as the certificate shows it, or nil otherwise.
  private func adopt(_ certificate: Certificate, now: Moment) throws -> AccountState? {
    let id = certificate.account
    guard id == account.id || zones.ids.contains(where: { zones.mayHaveLog(id, $0) }),
      var state = accounts[id]
    else { return nil }
    let successor = state.successor
    if state.certificates[certificate.device] == certificate { return state }
    guard state.insert(certificate, cryptography) else { return nil }
    // A new key of the account is adopted with the complete state that follows, which says which devices stay. Alone,
    // it would exclude every other device until then.
    guard state.successor == successor else { return state }
    if try book.adopt(state) { try changes.accountChanged(id, now: now) }
    return state
  }

  /// Opens the session with an identified peer, if the peer has a right to one.
  private func open(
    _ link: LinkID, _ hello: Hello, _ certificate: Certificate, _ state: AccountState, _ info: LinkInfo, now: Moment
  ) throws {
    sessions.identify(link, .device(certificate))
    if info.role == .listener {
      introduce(link)
      sayHello(link)
    }
    if state.isExcluded(certificate.device) {
      exchange.send(certificate.account, link)
      return sessions.end(
        link, .revoked,
        state.isUnconfirmed(certificate.device)
          ? "the account's key was replaced, and nobody has confirmed this device since: mesh device confirm, on a machine "
            + "that may" : "the account revoked this device")
    }
    // A later key of the account may have readmitted this device. The account's state, which comes next, says so.
    guard !account.isExcluded(device) || certificate.account == account.id && state.successor != account.successor
    else {
      return sessions.end(link, .revoked, "the account revoked this node's own device")
    }
    guard certificate.device != device else {
      return sessions.end(
        link, .notAdmitted, "both ends are the same device: this address is this node's own, or its home was copied")
    }
    guard chooseSession(link, certificate), makeRoom(link, certificate.account, now: now) else { return }
    try sessions.handle(link, .admitted, now: now)
    outbox.log(
      .info, "connected to \(printable(certificate.request.name)) (\(certificate.device)) at \(info.address)")
    if certificate.account == account.id, hello.accountHead != book.own.head {
      exchange.send(account.id, link)
    }
    exchange.sendHeads(link, certificate.account)
    membership.sendTags(link, certificate.account)
    if certificate.account == account.id { try schema.send(link) }
    sessions.send(link, .clock(now.wall))
    if certificate.account != account.id, let name = ownName { sessions.send(link, .accountName(name)) }
  }

  /// The name of this account, which is the title of its private zone. It is nil if the title is not here yet or is not
  /// a valid name.
  private var ownName: String? {
    let name = printable(zones.privateZone(of: account.id).flatMap { zones[$0]?.state.title } ?? "")
    return name.isEmpty || name.utf8.count > Limits.accountName ? nil : name
  }

  /// Stores the name of a peer's account, once in a session. The peer's device has proven that it belongs to the
  /// account.
  func learnName(_ link: LinkID, _ name: String) throws {
    guard let peer = sessions[link]?.peer, peer.account != account.id, sessions[link]?.hasNamed == false else { return }
    try store.control.nameAccount(peer.account, name)
    // Not before the write: while a program holds the lock, the message is tried again.
    sessions[link]?.named()
  }

  /// Ends the oldest unidentified session if there are too many. Peers that have not identified themselves take no room
  /// from those that have.
  func makeRoomForUnnamed() {
    guard sessions.unnamed.count >= Choices.unnamedSessions, let oldest = sessions.unnamed.min() else { return }
    sessions.end(oldest, .stalled, "too many peers that have not identified themselves are connected")
  }

  /// Ends sessions of other accounts if there are too many. A new session draws on its account's allowance. Devices of
  /// this account always find room.
  ///
  /// - Returns: False if this session has ended.
  private func makeRoom(_ link: LinkID, _ account: AccountID, now: Moment) -> Bool {
    if account != self.account.id, !opening.take(250, of: account, bound: 250 * Choices.sessionsOpened, now: now) {
      sessions.end(link, .stalled, "the account has opened too many sessions with this node: try again in a minute")
      return false
    }
    let named = sessions.sorted.compactMap { link, session in session.peer.map { (link: link, account: $0.account) } }
    let others = Dictionary(grouping: named.filter { $0.account != self.account.id }, by: \.account)
    if others[account]?.count ?? 0 > Choices.sessionsOfAccount {
      sessions.end(
        link, .stalled,
        "the account has as many sessions with this node as it can have: \(Choices.sessionsOfAccount)")
      return false
    }
    let newest = others.values.map { (count: $0.count, link: $0.last?.link ?? link) }
    guard named.count > sessionBound, let last = newest.max(by: { ($0.count, $0.link) < ($1.count, $1.link) })?.link
    else { return true }
    sessions.end(last, .stalled, "this node has as many sessions as it can have: \(sessionBound)")
    return last != link
  }

  /// Ends all sessions with a device except one. If both devices dialled at once, both keep the session that the lower
  /// id dialled. If one device dialled twice, the newer session stays, because the older one is dead without having
  /// noticed it.
  ///
  /// - Returns: False if this session has ended.
  private func chooseSession(_ link: LinkID, _ certificate: Certificate) -> Bool {
    guard let info = sessions[link]?.info else { return false }
    func diallerIsLower(_ role: SessionBinding.Role) -> Bool {
      role == .dialler ? device < certificate.device : certificate.device < device
    }
    for (other, session) in sessions.sorted where other != link && session.peer?.device == certificate.device {
      if session.info.role != info.role, diallerIsLower(session.info.role) {
        sessions.replace(link, of: certificate.device)
        return false
      }
      sessions.end(other, .replaced, "another session with this device took over")
    }
    return true
  }
}

extension Part {
  func sayHello(_ link: LinkID) {
    guard let info = sessions[link]?.info else { return }
    var hello = Hello(certificate: account.certificates[device], accountHead: book.own.head)
    hello.sign(
      secrets, SessionBinding(signer: info.role, handshakeHash: info.handshakeHash, peerStatic: info.remoteStatic))
    sessions.send(link, .hello(hello))
  }
}
