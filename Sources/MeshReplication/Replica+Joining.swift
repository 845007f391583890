import MeshCore

/// Admits a device to this account with a device invite, and another account to a share with an invite.
extension Replica {
  // MARK: Devices

  /// Shows the account to a device that has no certificate but an invite's proof. Nothing is consumed yet.
  func welcomeJoiner(_ link: LinkID, _ hello: Hello, _ info: LinkInfo, now: Moment) {
    guard let proof = hello.proof, proof.isValid(handshakeHash: info.handshakeHash, cryptography) else {
      return end(link, .notAdmitted, "the peer has neither a certificate of this account nor an invite")
    }
    guard let issued = links.first(where: { $0.publicHalf == proof.publicHalf }) else {
      return end(
        link, .linkRefused,
        "the invite is not one of this node's, or it is over: make a new one with “mesh device invite”")
    }
    guard issued.expires > now.wall else {
      return end(link, .linkRefused, "the invite has expired: make a new one with “mesh device invite”")
    }
    sessions[link]?.joiningBy = proof.publicHalf
    sayHello(link)
    send(link, .account(account.encoded))
  }

  func admit(_ link: LinkID, _ claim: DeviceClaim, now: Moment) throws {
    guard let publicHalf = sessions[link]?.joiningBy, let info = sessions[link]?.info,
      let index = links.firstIndex(where: { $0.publicHalf == publicHalf && $0.expires > now.wall })
    else { return end(link, .linkRefused, "no invite of this node's is being used in this session") }
    guard claim.isSigned(account: account.id, publicHalf: publicHalf, cryptography),
      claim.request.sessionKey == info.remoteStatic
    else {
      return end(link, .protocolViolation, "the claim is not signed by the invite and by the device of this session")
    }
    guard let power else {
      return end(link, .linkRefused, "this machine neither holds the account's key nor is it an administrator any more")
    }
    if let usedBy = links[index].usedBy, usedBy != claim.request.device {
      return end(
        link, .linkRefused,
        "the invite was used already: each lets in one device; make a new one with “mesh device invite”")
    }
    if let known = account.certificate(claim.request.device), known.request == claim.request {
      return send(link, .admitted(known))
    }
    guard account.revocations[claim.request.device] == nil, account.hasRoom else {
      return end(
        link, .linkRefused,
        "the account revoked this device, or has \(Limits.liveDevices) devices: revoke one with “mesh device revoke”")
    }
    guard account.hasRoom(under: power.authority) else { return end(link, .linkRefused, usedUpPromotion) }
    let certificate = Certificate(
      account: account.id, authority: power.authority, request: claim.request, serial: randomness.bytes(16),
      issued: now.wall, sign: power.sign)
    links[index].usedBy = claim.request.device
    try vault.saveLinks(links)
    var grown = account
    grown.insert(certificate, cryptography)
    try replace(grown)
    send(link, .admitted(certificate))
    try accountChanged(account.id, besides: nil, now: now)
    actions.append(.log(.info, "linked \(printable(claim.request.name)) (\(certificate.device))"))
  }

  // MARK: Accounts

  /// Shows the share's log to a device of another account that proves an invite. Nothing is consumed yet.
  func welcomeClaimant(_ link: LinkID, _ certificate: Certificate, _ proof: LinkProof, now: Moment) throws {
    let invites = zones.values.flatMap { zone in zone.state.invites.values.map { (zone: zone, invite: $0) } }
    guard let (zone, invite) = invites.first(where: { $0.invite.terms.publicHalf == proof.publicHalf }),
      zone.state.permission(account.id) != nil
    else {
      return end(link, .linkRefused, "the invite is not known here: ask its owner whether the share still exists")
    }
    if let reason = refusal(invite, certificate.account, zone.state, now: now) {
      return end(link, .linkRefused, reason)
    }
    // A person with the text of an invite can create any number of accounts.
    let bound = max(Choices.controlSending, 2 * zone.log.bytes)
    func takes(_ bytes: Int, bound: Int) -> Bool {
      showing[invite.id, default: Allowance()].take(
        bytes, bound: bound, rate: Choices.controlSendingPerMillisecond, now: now.steady)
    }
    guard takes(Choices.leastShown, bound: bound) else {
      return end(link, .elsewhere, "too many devices use the invite at this time: try again in a minute")
    }
    sessions[link]?.claimant = Claimant(
      zone: zone.state.zone, invite: invite.id, certificate: certificate, shown: zone.state.heads)
    sayHello(link)
    let states = zone.people.all.compactMap { accounts[$0]?.encoded }
    for state in states { send(link, .account(state)) }
    let bytes = try sendControlRecords(
      link, zone.state.zone, beyond: [], closing: .controlHeads(zone.state.zone, zone.state.heads))
    let cost = states.reduce(bytes) { $0 + $1.count }
    _ = takes(cost, bound: .max)
    sessions[link]?.claimant?.cost = Choices.leastShown + cost
  }

  /// Returns the reason that an invite no longer admits an account, or nil if it does. For a member it is nil, because
  /// a member needs no invite.
  private func refusal(_ invite: Invite, _ account: AccountID, _ state: ZoneState, now: Moment) -> String? {
    if state.isStopped { return "the owner has stopped sharing “\(printable(state.title))”" }
    if state.permission(account) != nil { return nil }
    if let bound = invite.terms.account, !bound.names(account) { return "the invite is for another account, \(bound)" }
    if invite.isRevoked { return "the invite was revoked: ask the owner for a new one" }
    if invite.terms.isOver(at: now.wall) { return "the invite has expired: ask the owner for a new one" }
    if invite.usesLeft == 0 { return "the invite was used already: ask the owner for a new one" }
    if state.participants[account]?.status == .removed, invite.terms.account?.names(account) != true {
      return
        "the owner removed this account from the share: ask for an invite for it alone (mesh share invite --for \(account))"
    }
    // Accounts admitted by other participants take no places from those that the owner admits. Accounts that come by
    // open invites take no places from those that the owner invites individually.
    let present = state.participants.values.count { participant in
      guard let admitter = participant.admittedBy else { return true }
      return invite.terms.use == .open && (admitter == state.owner || admitter == self.account.id)
    }
    guard present < Limits.participants else { return "the share has as many accounts as it can have" }
    return nil
  }

  func redeem(_ link: LinkID, _ id: ZoneID, _ claim: ShareClaim, now: Moment) throws {
    guard let claimant = sessions[link]?.claimant, claimant.zone == id, claimant.invite == claim.invite,
      claimant.certificate == claim.certificate, let state = zones[id]?.state, let invite = state.invites[claim.invite],
      invite.terms.publicHalf == claim.publicHalf, claim.isSound(zone: id, cryptography),
      let known = claim.state(cryptography)
    else { return end(link, .protocolViolation, "the claim is not one of this session's invite and device") }
    if let reason = refusal(invite, claim.account, state, now: now) { return end(link, .linkRefused, reason) }
    try adopt(known)
    if let offered = sessions[link]?.offered[claim.account] { try adopt(offered) }
    if accounts[claim.account]?.isRevoked(claim.certificate.device) == true {
      return end(link, .revoked, "the account revoked this device")
    }
    if state.permission(claim.account) == nil {
      guard let act = grant(claim, invite.terms, state) else {
        return end(
          link, .elsewhere,
          invite.terms.use == .open
            ? "only a device of the owner's can let back in whom the owner once let in"
            : "only the device that made the invite can let in by it, and another device answered")
      }
      try append(act, id)
      // The allowance bounds devices that only look. An admitted account has quotas of its own.
      showing[claim.invite]?.giveBack(claimant.cost)
      actions.append(.log(.info, "let \(claim.account) into “\(printable(state.title))”"))
      try controlChanged(id, now: now)
    }
    gossip(claim.account, besides: nil)
    // The log may also have grown meanwhile.
    for account in zones[id]?.people.all ?? [] { sendAccount(account, link) }
    try sendControlRecords(
      link, id, beyond: claimant.shown, closing: .controlHeads(id, zones[id]?.state.heads ?? []))
  }

  /// Returns the control record that admits an account, or nil if another device has to admit it. An admission can't
  /// override a statement of the owner about the account. Such an account returns only by a record of the owner, and an
  /// open invite gives it no more than it had.
  private func grant(_ claim: ShareClaim, _ terms: InviteTerms, _ state: ZoneState) -> ControlAct? {
    let known = state.participants[claim.account]
    switch terms.use {
    case .open where known == nil || known?.admittedBy != nil: return .admission(claim)
    case .open where state.owner == account.id:
      let permission = known?.granted == .readOnly ? .readOnly : terms.permission
      return .participant(claim.account, permission, invite: claim.invite, cuts: [:])
    case .limited(_, device): return .participant(claim.account, terms.permission, invite: claim.invite, cuts: [:])
    case .open, .limited: return nil
    }
  }

  /// Adds a share that this account has joined. Every signature in it was verified, and is verified again at every
  /// start.
  public func adopt(_ joined: JoinedShare, now: Moment) throws {
    let new = joined.records.filter { zones[joined.zone]?.log.contains($0.id) != true }
    for record in new {
      try store.insertControlRecord(record.encoded, id: record.id, zone: joined.zone)
      zones[joined.zone, default: Zone(joined.zone)].log.insert(record, cryptography)
    }
    for account in zones[joined.zone]?.people.all ?? [] where account != self.account.id {
      if let state = joined.accounts[account], try adopt(state) { gossip(account, besides: nil) }
    }
    passOn(new, joined.zone, besides: nil)
    try controlChanged(joined.zone, now: now)
  }
}
