package import MeshCore

/// Admits other accounts to shares with invites, and adds the shares that this account joined.
package final class ShareAdmission: Part {
  let context: Context
  private let logs: ControlLogs
  private let exchange: AccountExchange
  private let changes: ControlChanges
  /// The bytes of a share that devices with an invite may be shown before they claim it.
  private(set) var showing = Allowances<ControlID>(rate: Choices.controlSendingPerMillisecond)

  init(_ context: Context, _ logs: ControlLogs, _ exchange: AccountExchange, _ changes: ControlChanges) {
    (self.context, self.logs, self.exchange, self.changes) = (context, logs, exchange, changes)
  }

  func forgetUnused(now: Moment) { showing.forgetUnused(now: now) }

  /// Shows the share's log to a device of another account that proves an invite. Nothing is consumed yet.
  func welcomeClaimant(_ link: LinkID, _ certificate: Certificate, _ proof: InviteProof, now: Moment) throws {
    let invites = zones.values.flatMap { zone in zone.state.invites.values.map { (zone: zone, invite: $0) } }
    guard let (zone, invite) = invites.first(where: { $0.invite.terms.publicHalf == proof.publicHalf }),
      zone.state.permission(account.id) != nil
    else {
      return sessions.end(
        link, .inviteRefused, "the invite is not known here: ask its owner whether the share still exists")
    }
    if let reason = refusal(invite, certificate.account, zone.state, now: now) {
      return sessions.end(link, .inviteRefused, reason)
    }
    // A person with the text of an invite can create any number of accounts.
    let bound = max(Choices.controlSending, 2 * zone.log.bytes)
    func take(_ bytes: Int, bound: Int) -> Bool {
      showing.take(bytes, of: invite.id, bound: bound, now: now)
    }
    guard take(Choices.leastShown, bound: bound) else {
      return sessions.end(link, .elsewhere, "too many devices use the invite at this time: try again in a minute")
    }
    var claimant = Session.Claimant(
      zone: zone.state.zone, invite: invite.id, certificate: certificate, shown: zone.state.heads)
    sessions.identify(link, .claimant(claimant))
    sayHello(link)
    let states = zone.people.all.compactMap { book.encoding(of: $0)?.bytes }
    for state in states { sessions.send(link, .account(state)) }
    let bytes = try logs.send(
      link, zone.state.zone, beyond: [], closing: .controlHeads(zone.state.zone, zone.state.heads))
    let cost = states.reduce(bytes) { $0 + $1.count }
    _ = take(cost, bound: .max)
    claimant.cost = Choices.leastShown + cost
    sessions.identify(link, .claimant(claimant))
  }

  /// Returns the reason that an invite no longer admits an account, or nil if it does. For a member it is nil, because
  /// a member needs no invite.
  private func refusal(_ invite: InviteState, _ account: AccountID, _ state: ZoneState, now: Moment) -> String? {
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
    else { return sessions.end(link, .protocolViolation, "the claim is not one of this session's invite and device") }
    if let reason = refusal(invite, claim.account, state, now: now) {
      return sessions.end(link, .inviteRefused, reason)
    }
    var hasGrown = try book.adopt(known)
    if let offered = sessions[link]?.offers.states[claim.account] { hasGrown = try book.adopt(offered) || hasGrown }
    if hasGrown { try changes.accountChanged(claim.account, now: now) }
    if accounts[claim.account]?.isExcluded(claim.certificate.device) == true {
      return sessions.end(link, .revoked, "the account revoked this device")
    }
    if state.permission(claim.account) == nil {
      guard let act = grant(claim, invite.terms, state) else {
        return sessions.end(
          link, .elsewhere,
          invite.terms.use == .open
            ? "this account was a member before: only a device of the owner can admit it again"
            : "only the device that made the invite can admit an account with it, and another device answered")
      }
      try logs.append(act, id)
      // The allowance bounds devices that only look. An admitted account has quotas of its own.
      showing.giveBack(claimant.cost, of: claim.invite)
      outbox.log(.info, "let \(claim.account) into “\(printable(state.title))”")
      try changes.changed(id, now: now)
    }
    exchange.gossip(claim.account)
    // The log may also have grown meanwhile.
    for account in zones[id]?.people.all ?? [] { exchange.send(account, link) }
    try logs.send(
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
  package func adopt(_ joined: JoinedShare, now: Moment) throws {
    let new = joined.records.filter { zones[joined.zone]?.log.contains($0.id) != true }
    // The states are stored before the records that name them, and the records together. A start leaves out records
    // whose author's account it doesn't know.
    var grown: [AccountID] = []
    for account in joined.people.all where account != self.account.id {
      if let state = joined.accounts[account], try book.adopt(state) { grown.append(account) }
    }
    if !new.isEmpty { try store.control.insertControlRecords(new.map { ($0.id, $0.encoded) }, zone: joined.zone) }
    zones.open(joined.zone)
    for record in new { zones[joined.zone]?.insert(record, cryptography) }
    for account in grown { exchange.gossip(account) }
    logs.passOn(new, joined.zone)
    try changes.changed(joined.zone, now: now)
    for account in grown { try changes.accountCame(account, with: joined.zone, now: now) }
  }

  /// Returns the dialler's side of joining a share with an invite.
  package func joining(_ invite: ShareInviteContent, _ info: LinkInfo, claims: Bool) -> ShareJoining {
    ShareJoining(
      invite: invite, account: account, device: device, info: info, claims: claims, secrets: secrets,
      cryptography: cryptography)
  }
}
