import MeshCore

/// Who the peer is, and whether it is let in.
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
    case .controlHeads(let zone, let heads): sendControlRecords(link, zone, beyond: heads)
    case .controlRecords(let zone, let records): try learnControl(link, zone, records, now: now)
    case .keyRequest(let zone, let epochs): sendKeys(link, zone, epochs)
    case .keys(let zone, let sealed): try learnKeys(zone, sealed, from: link)
    case .changeSets(let zone, let changeSets): try learn(link, zone, changeSets, now: now)
    case .want: break
    case .upToDate(let zone, let vector), .have(let zone, let vector):
      if isCommon(zone, link) { sessions[link]?.merged[zone] = vector }
    case .acknowledgement(let acknowledgement): try learn(link, acknowledgement)
    case .digestRequest(let zone): try sendDigest(link, zone)
    case .digest(let zone, let vector, let digest):
      if isCommon(zone, link) { sessions[link]?.digests[zone] = (vector, digest) }
    case .schema(let tables):
      guard let peer = sessions[link]?.peer else { break }
      try store.saveForeignSchema(tables, device: peer.device)
      hasForeignSchema = true
    case .goodbye(_, let text):
      let name = sessions.removeValue(forKey: link)?.name ?? "a peer"
      let reason = printable(text)
      actions.append(.close(link, reason: reason))
      actions.append(.log(.info, "\(name) closed the session: \(reason)"))
    case .heads(let zone, let heads): try learnHeads(link, zone, heads)
    case .lineRequest(let zone, let author, let number): try sendLine(link, zone, author, through: number)
    case .line(let zone, let headers): try learnLine(link, zone, headers, now: now)
    case .clock(let milliseconds): sessions[link]?.clock = milliseconds &- now.steady
    case .accountHeads, .shareClaim: break
    case .admitted, .announceOnly, .credit, .ping, .pong: break
    }
  }

  /// What a peer says of other zones is not kept: it can name any number of them.
  private func isCommon(_ zone: ZoneID, _ link: LinkID) -> Bool {
    sessions[link]?.conversation.commonZones.contains(zone) ?? false
  }

  private func welcome(_ link: LinkID, _ hello: Hello, now: Moment) throws {
    guard let info = sessions[link]?.info else { return }
    let binding = SessionBinding(
      signer: info.role.other, handshakeHash: info.handshakeHash, peerStatic: secrets.sessionKey)
    guard hello.versions.contains(Hello.version) else {
      return end(link, .version, "this node speaks version \(Hello.version) of the protocol, and the peer does not")
    }
    guard hello.isSigned(binding, cryptography) else {
      return end(link, .protocolViolation, "the hello is not signed for this session")
    }
    guard let certificate = hello.certificate else { return welcomeJoiner(link, hello, info, now: now) }
    let isNews = account.certificates[certificate.device] == nil
    guard certificate.account == account.id, certificate.request.sessionKey == info.remoteStatic,
      account.certificates[certificate.device] == certificate || account.insert(certificate, cryptography)
    else {
      return end(link, .notAdmitted, "the peer is not a device of this node's account")
    }
    try saveAccount()
    if isNews {
      broadcastAccount()
      try askAgain(now: now)
    }
    sessions[link]?.peer = certificate
    if info.role == .listener { sayHello(link) }
    if account.isRevoked(certificate.device) {
      send(link, .account(account.encoded))
      return end(link, .revoked, "the account revoked this device")
    }
    guard !isRevoked else { return end(link, .revoked, "the account revoked this node's own device") }
    guard certificate.device != device else {
      return end(
        link, .notAdmitted, "both ends are the same device: this address is this node's own, or its home was copied")
    }
    guard keepsOver(link, certificate) else { return }
    try handle(link, .admitted, now: now)
    actions.append(
      .log(.info, "connected to \(printable(certificate.request.name)) (\(certificate.device)) at \(info.address)"))
    if hello.accountHead != account.head(cryptography) { send(link, .account(account.encoded)) }
    send(
      link,
      .zones(
        zones.keys.sorted().map { zoneTag($0, sender: info.role, handshakeHash: info.handshakeHash, cryptography) }))
    send(link, .schema(try store.schemaDescriptions()))
    send(link, .clock(now.wall))
  }

  /// One session per device. Of two that were dialled both ways at once, both sides keep the one that the lower id dialled; of two
  /// in one direction, the newer, since the older is dead and does not know it.
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

  /// A device without a certificate, with a link's proof. Nothing is consumed yet.
  private func welcomeJoiner(_ link: LinkID, _ hello: Hello, _ info: LinkInfo, now: Moment) {
    guard let proof = hello.proof, proof.isValid(handshakeHash: info.handshakeHash, cryptography) else {
      return end(link, .notAdmitted, "the peer has neither a certificate of this account nor a link")
    }
    guard let issued = links.first(where: { $0.publicHalf == proof.publicHalf }) else {
      return end(
        link, .linkRefused,
        "the link is not one of this node's, or it is over: make a new one with “mesh device invite”")
    }
    guard issued.expires > now.wall else {
      return end(link, .linkRefused, "the link has expired: make a new one with “mesh device invite”")
    }
    sessions[link]?.joiningBy = proof.publicHalf
    sayHello(link)
    send(link, .account(account.encoded))
  }

  private func admit(_ link: LinkID, _ claim: DeviceClaim, now: Moment) throws {
    guard let publicHalf = sessions[link]?.joiningBy, let info = sessions[link]?.info,
      let index = links.firstIndex(where: { $0.publicHalf == publicHalf && $0.expires > now.wall })
    else { return end(link, .linkRefused, "no link of this node's is being used in this session") }
    guard claim.isSigned(account: account.id, publicHalf: publicHalf, cryptography),
      claim.request.sessionKey == info.remoteStatic
    else {
      return end(link, .protocolViolation, "the claim is not signed by the link and by the device of this session")
    }
    guard let accountSigner else {
      return end(link, .linkRefused, "this machine does not hold the account's signing key")
    }
    if let usedBy = links[index].usedBy, usedBy != claim.request.device {
      return end(
        link, .linkRefused,
        "the link was used already: each lets in one device; make a new one with “mesh device invite”")
    }
    if let known = account.certificate(claim.request.device), known.request == claim.request {
      return send(link, .admitted(known))
    }
    guard !account.isRevoked(claim.request.device), account.hasRoom else {
      return end(
        link, .linkRefused,
        "the account revoked this device, or has \(Limits.liveDevices) devices: revoke one with “mesh device revoke”")
    }
    let certificate = Certificate(
      account: account.id, keyGeneration: 0, request: claim.request, serial: randomness.bytes(16), issued: now.wall,
      sign: accountSigner)
    links[index].usedBy = claim.request.device
    try vault.saveLinks(links)
    account.insert(certificate, cryptography)
    try saveAccount()
    send(link, .admitted(certificate))
    broadcastAccount()
    actions.append(.log(.info, "linked \(printable(claim.request.name)) (\(certificate.device))"))
  }

  // MARK: Account

  func loadAccount() throws {
    guard let bytes = try store.accountState(account.id) else { return try saveAccount() }
    var reader = ByteReader(bytes)
    guard let known = try? AccountState(from: &reader, cryptography), account.merge(known, cryptography) else {
      throw ReplicaError.foreignDatabase
    }
  }

  func saveAccount() throws { try store.saveAccountState(account.encoded, account: account.id) }

  func broadcastAccount() {
    for link in sessions.keys.sorted() where sessions[link]?.conversation.isOpen == true {
      send(link, .account(account.encoded))
    }
  }

  /// What was refused because its author was unknown may be welcome now.
  private func askAgain(now: Moment) throws {
    for zone in zones.keys.sorted() where zones[zone]?.hasRefused == true {
      zones[zone]?.hasRefused = false
      for link in links(sharing: zone) {
        try handle(link, .lacking(zone, stored: try store.storedVector(zone)), now: now)
      }
    }
  }

  private func learnAccount(_ link: LinkID, _ bytes: [UInt8], now: Moment) throws {
    var reader = ByteReader(bytes)
    let theirs = try AccountState(from: &reader, cryptography)
    guard theirs.id == account.id else { return }
    let before = account
    account.merge(theirs, cryptography)
    guard account != before else { return }
    try saveAccount()
    for zone in zones.keys.sorted() { try controlChanged(zone, now: now) }
    try askAgain(now: now)
    for other in sessions.keys.sorted() {
      guard let session = sessions[other], session.conversation.isOpen, let peer = session.peer else { continue }
      if other != link { send(other, .account(account.encoded)) }
      if account.isRevoked(peer.device) { end(other, .revoked, "the account revoked this device") }
    }
    if isRevoked {
      actions.append(.log(.warning, "the account revoked this device: it takes no further part"))
      for other in sessions.keys.sorted() { end(other, .revoked, "this device was revoked") }
    }
  }
}
