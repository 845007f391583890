import MeshCore

/// Identifies the peer of a session and decides whether it is admitted.
extension Replica {
  func sayHello(_ link: LinkID) {
    guard let info = sessions[link]?.info else { return }
    var hello = Hello(certificate: account.certificates[device], accountHead: account.head(cryptography))
    hello.sign(
      secrets, SessionBinding(signer: info.role, handshakeHash: info.handshakeHash, peerStatic: info.remoteStatic))
    send(link, .hello(hello))
  }

  func deliver(_ link: LinkID, _ message: Message, now: Moment) throws {
    switch message {
    case .hello(let hello): try welcome(link, hello, now: now)
    case .account(let bytes): try learnAccount(link, bytes, now: now)
    case .claim(let claim): try admit(link, claim, now: now)
    case .zones(let tags): try meetZones(link, tags, now: now)
    case .controlHeads(let zone, let heads): try meetControlHeads(link, zone, heads, now: now)
    case .controlRecords(let zone, let records): try learnControl(link, zone, records, now: now)
    case .keyRequest(let zone, let epochs): sendKeys(link, zone, epochs)
    case .keys(let zone, let sealed): try learnKeys(zone, sealed)
    case .changeSets(let zone, let changeSets): try learn(link, zone, changeSets, now: now)
    case .want: break
    case .upToDate(let zone, let vector), .have(let zone, let vector):
      if isCommon(zone, link) { sessions[link]?.merged[zone] = vector }
    case .acknowledgement(let acknowledgement): try learn(link, acknowledgement, now: now)
    case .digestRequest(let zone): try sendDigest(link, zone)
    case .digest(let zone, let vector, let digest, let unsent):
      if isCommon(zone, link) { sessions[link]?.digests[zone] = (vector, digest, unsent) }
    case .schemaRules(let tables):
      guard let account = sessions[link]?.peer?.account, mayRule(account) else { break }
      sessions[link]?.rules = Dictionary(
        tables.map { ($0.table.folded, $0.rules) }, uniquingKeysWith: { first, _ in first })
    case .columnPolicies(let tables):
      guard let account = sessions[link]?.peer?.account, mayRule(account) else { break }
      sessions[link]?.policies = Dictionary(
        tables.map { ($0.table.folded, $0.policies) }, uniquingKeysWith: { first, _ in first })
    case .ownerPolicies(let owner, let tables): try learn(tables, of: owner, link, now: now)
    case .schema(let tables):
      guard let peer = sessions[link]?.peer else { break }
      let known = try store.ownerPolicies()
      let bringsPolicies = peer.account == account.id && sessions[link]?.policies.isEmpty == false
      let policies = bringsPolicies ? try ownPolicies() : []
      let isPrivate = try store.saveForeignSchema(
        try believed(of: peer.account, withRules(link, tables, now: now)), device: peer.device,
        isOwn: peer.account == account.id)
      for table in isPrivate {
        actions.append(
          .log(
            .warning,
            "the table \(printable(table)) is private on \(printable(peer.request.name)), and so it is here from now on; to share "
              + "it, untrack it on every device of the account, and track it again"))
      }
      hasForeignSchema = true
      // A device that isn't connected to the one that set a policy gets it from this one.
      if bringsPolicies, try ownPolicies() != policies {
        for other in openLinks where other != link { try sendSchema(other) }
      } else {
        try passOn(unless: known, besides: link)
      }
    case .goodbye(_, let text):
      let session = sessions.removeValue(forKey: link)
      let name = session?.name ?? "a peer"
      loseSource(link, session?.peer?.device)
      let reason = printable(text)
      actions.append(.close(link, reason: reason))
      actions.append(.log(.info, "\(name) closed the session: \(reason)"))
    case .heads(let zone, let heads): try learnHeads(link, zone, heads)
    case .lineRequest(let zone, let author, let number): try sendLine(link, zone, author, through: number)
    case .line(let zone, let headers): try learnLine(link, zone, headers, now: now)
    case .clock(let milliseconds):
      sessions[link]?.clock = HybridTime(milliseconds: milliseconds).milliseconds.saturatingSubtracting(now.steady)
    case .accountHeads(let heads): meetAccountHeads(link, heads)
    case .accountName(let name): try learnName(link, name)
    case .shareClaim(let zone, let claim): try redeem(link, zone, claim, now: now)
    case .assetWant(let zone, let asset, let chunks): try giveChunks(link, zone, asset, chunks)
    case .assetChunk(_, let asset, let index, let bytes): try learnChunk(link, index, asset, bytes, now: now)
    case .assetHas(_, let asset, let chunks): learnChunks(link, asset, chunks, now: now)
    case .assetBacklog(let zone, let backlog):
      if isCommon(zone, link) { sessions[link]?.backlogs[zone] = backlog }
    case .admitted, .announceOnly, .credit, .ping, .pong: break
    }
  }

  /// Returns whether a zone is in common with the peer. Statements about other zones are not kept, because a peer can
  /// name any number of them.
  func isCommon(_ zone: ZoneID, _ link: LinkID) -> Bool {
    sessions[link]?.conversation.commonZones.contains(zone) ?? false
  }

  private func welcome(_ link: LinkID, _ hello: Hello, now: Moment) throws {
    guard let info = sessions[link]?.info else { return }
    let binding = SessionBinding(
      signer: info.role.other, handshakeHash: info.handshakeHash, peerStatic: secrets.sessionKey)
    guard hello.versions.contains(Hello.version) else {
      let spoken = hello.versions.map(String.init).joined(separator: ", ")
      let older = hello.versions.last.map { $0 < Hello.version } ?? true
      return end(
        link, .version,
        "this node speaks version \(Hello.version) of the session protocol, and the peer version \(spoken.isEmpty ? "none" : spoken): "
          + "update mesh on \(older ? "the peer" : "this machine")")
    }
    guard hello.isSigned(binding, cryptography) else {
      return end(link, .protocolViolation, "the hello is not signed for this session")
    }
    guard let certificate = hello.certificate else { return welcomeJoiner(link, hello, info, now: now) }
    guard certificate.request.sessionKey == info.remoteStatic else {
      return end(link, .notAdmitted, "the certificate is that of another device")
    }
    if certificate.account != account.id, info.role == .listener, let proof = hello.proof,
      proof.isValid(handshakeHash: info.handshakeHash, cryptography)
    {
      return try welcomeClaimant(link, certificate, proof, now: now)
    }
    guard let state = try believing(certificate, now: now) else {
      return end(
        link, .notAdmitted,
        "this node knows the peer neither as a device of its account nor of one that shares with it; whom another participant "
          + "let into a share may join again with the invite")
    }
    guard state.certificates[certificate.device] != nil else { return end(link, .notAdmitted, Self.dropped) }
    try open(link, hello, certificate, state, info, now: now)
  }

  /// Returns the account of a certificate if it belongs to this account or to one that a zone here lists, or nil
  /// otherwise.
  private func believing(_ certificate: Certificate, now: Moment) throws -> AccountState? {
    let id = certificate.account
    guard id == account.id || zones.values.contains(where: { $0.state.accounts.contains(id) }),
      var state = accounts[id]
    else { return nil }
    let successor = state.successor
    if state.certificates[certificate.device] == certificate { return state }
    guard state.insert(certificate, cryptography) else { return nil }
    // A new key of the account is adopted with the complete state that follows, which says which devices stay. Alone,
    // it would exclude every other device until then.
    guard state.successor == successor else { return state }
    if try adopt(state) { try accountChanged(id, besides: nil, now: now) }
    return state
  }

  /// Opens the session with an identified peer, if the peer has a right to one.
  private func open(
    _ link: LinkID, _ hello: Hello, _ certificate: Certificate, _ state: AccountState, _ info: LinkInfo, now: Moment
  ) throws {
    sessions[link]?.peer = certificate
    if info.role == .listener { sayHello(link) }
    if state.isRevoked(certificate.device) {
      sendAccount(certificate.account, link)
      return end(
        link, .revoked,
        state.isUnconfirmed(certificate.device)
          ? "the account's key was replaced, and nobody has confirmed this device since: mesh device confirm, on a machine "
            + "that may" : "the account revoked this device")
    }
    // A later key of the account may have readmitted this device. The account's state, which comes next, says so.
    guard !isRevoked || certificate.account == account.id && state.successor != account.successor else {
      return end(link, .revoked, "the account revoked this node's own device")
    }
    guard certificate.device != device else {
      return end(
        link, .notAdmitted, "both ends are the same device: this address is this node's own, or its home was copied")
    }
    guard keepsOver(link, certificate), hasRoom(link, certificate.account, now: now) else { return }
    try handle(link, .admitted, now: now)
    actions.append(
      .log(.info, "connected to \(printable(certificate.request.name)) (\(certificate.device)) at \(info.address)"))
    if certificate.account == account.id, hello.accountHead != account.head(cryptography) {
      sendAccount(account.id, link)
    }
    sendAccountHeads(link, certificate.account)
    let common = zones.keys.sorted().filter { mayHaveLog(certificate.account, $0) }
    send(
      link,
      .zones(common.map { zoneTag($0, sender: info.role, handshakeHash: info.handshakeHash, cryptography) }))
    if certificate.account == account.id { try sendSchema(link) }
    send(link, .clock(now.wall))
    if certificate.account != account.id, let name = ownName { send(link, .accountName(name)) }
  }

  /// The name of this account, which is the title of its private zone. It is nil if the title is not here yet or is not
  /// a valid name.
  private var ownName: String? {
    let name = printable(privateZone.map(title) ?? "")
    return name.isEmpty || name.utf8.count > Limits.accountName ? nil : name
  }

  /// Stores the name of a peer's account, once in a session. The peer's device has proven that it belongs to the
  /// account.
  private func learnName(_ link: LinkID, _ name: String) throws {
    guard let peer = sessions[link]?.peer, peer.account != account.id, sessions[link]?.hasNamed == false else { return }
    try store.nameAccount(peer.account, name)
    // Not before the write: while a program holds the lock, the message is tried again.
    sessions[link]?.hasNamed = true
  }

  /// Ends sessions of other accounts if there are too many. A new session draws on its account's allowance. Devices of
  /// this account always find room.
  ///
  /// - Returns: False if this session has ended.
  private func hasRoom(_ link: LinkID, _ account: AccountID, now: Moment) -> Bool {
    if account != self.account.id,
      !opening[account, default: Allowance()].take(
        250, bound: 250 * Choices.sessionsOpened, rate: 1, now: now.steady)
    {
      end(link, .stalled, "the account has opened too many sessions with this node: try again in a minute")
      return false
    }
    let named = sessions.filter { $0.value.peer != nil }
    let others = Dictionary(
      grouping: named.filter { $0.value.peer?.account != self.account.id }.keys,
      by: { named[$0]?.peer?.account ?? account })
    if others[account]?.count ?? 0 > Choices.sessionsOfAccount {
      end(
        link, .stalled,
        "the account has as many sessions with this node as it can have: \(Choices.sessionsOfAccount)")
      return false
    }
    let newest = others.values.map { (count: $0.count, link: $0.max() ?? link) }
    guard named.count > sessionBound, let last = newest.max(by: { ($0.count, $0.link) < ($1.count, $1.link) })?.link
    else { return true }
    end(last, .stalled, "this node has as many sessions as it can have: \(sessionBound)")
    return last != link
  }

  /// Ends the oldest unidentified session if there are too many. Peers that have not identified themselves take no room
  /// from those that have.
  func makeRoomForUnnamed() {
    let unnamed = sessions.filter { $0.value.peer == nil && $0.value.info.role == .listener }.keys
    guard unnamed.count >= Choices.unnamedSessions, let oldest = unnamed.min() else { return }
    end(oldest, .stalled, "others came that had not said who they are either")
  }

  /// Keeps one session per device. If both devices dialled at once, both keep the session that the lower id dialled. If
  /// one device dialled twice, the newer session stays, because the older one is dead without having noticed it.
  private func keepsOver(_ link: LinkID, _ certificate: Certificate) -> Bool {
    guard let info = sessions[link]?.info else { return false }
    func diallerIsLower(_ role: SessionBinding.Role) -> Bool {
      role == .dialler ? device < certificate.device : certificate.device < device
    }
    for (other, session) in sessions.sorted(by: { $0.key < $1.key })
    where other != link && session.peer?.device == certificate.device {
      if session.info.role != info.role, diallerIsLower(session.info.role) {
        replaced[link] = certificate.device
        end(link, .replaced, "another session with this device is open")
        return false
      }
      end(other, .replaced, "another session with this device took over")
    }
    return true
  }
}
