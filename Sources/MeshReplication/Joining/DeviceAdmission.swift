package import MeshCore

/// Admits devices to this account with device invites.
package final class DeviceAdmission: Part {
  let context: Context
  private let administration: Administration
  private let changes: ControlChanges
  private var issued: [IssuedInvite]

  init(_ context: Context, _ administration: Administration, _ changes: ControlChanges) throws {
    (self.context, self.administration, self.changes) = (context, administration, changes)
    issued = try context.vault.deviceInvites()
  }

  /// Creates an invite that admits one device to the account until `expires` (milliseconds since 1970).
  package func issueInvite(expires: Int64, addresses: [String], now: Moment) throws -> DeviceInviteContent {
    guard certificate != nil else {
      throw ReplicaError.notReady("the account revoked this device, so it can't invite another")
    }
    let power = try administration.power(to: "invite a device")
    guard account.hasRoom(under: power.authority) else { throw ReplicaError.notReady(AccountPower.isUsedUp) }
    guard expires > now.wall else {
      throw ReplicaError.notReady("an invite must expire later than now: give it a time that is longer than 0")
    }
    let seed = randomness.bytes(32)
    issued.removeAll { $0.expires <= now.wall }
    issued.append(IssuedInvite(publicHalf: cryptography.publicKey(seed: seed), expires: expires))
    try vault.saveDeviceInvites(issued)
    return DeviceInviteContent(seed: seed, account: account.id, expires: expires, addresses: addresses)
  }

  /// Shows the account to a device that has no certificate but an invite's proof. Nothing is consumed yet.
  func welcomeJoiner(_ link: LinkID, _ hello: Hello, _ info: LinkInfo, now: Moment) {
    guard let proof = hello.proof, proof.isValid(handshakeHash: info.handshakeHash, cryptography) else {
      return sessions.end(link, .notAdmitted, "the peer has neither a certificate of this account nor an invite")
    }
    guard let invite = issued.first(where: { $0.publicHalf == proof.publicHalf }) else {
      return sessions.end(
        link, .inviteRefused,
        "the invite is not one of this node's, or it is over: make a new one with mesh device invite")
    }
    guard invite.expires > now.wall else {
      return sessions.end(link, .inviteRefused, "the invite has expired: make a new one with mesh device invite")
    }
    sessions.identify(link, .joining(publicHalf: proof.publicHalf))
    sayHello(link)
    sessions.send(link, .account(book.own.bytes))
  }

  func admit(_ link: LinkID, _ claim: DeviceClaim, now: Moment) throws {
    guard case .joining(let publicHalf) = sessions[link]?.identity, let info = sessions[link]?.info,
      let index = issued.firstIndex(where: { $0.publicHalf == publicHalf && $0.expires > now.wall })
    else { return sessions.end(link, .inviteRefused, "no invite of this node's is being used in this session") }
    guard claim.isSigned(account: account.id, publicHalf: publicHalf, cryptography),
      claim.request.sessionKey == info.remoteStatic
    else {
      return sessions.end(
        link, .protocolViolation, "the claim is not signed by the invite and by the device of this session")
    }
    guard let power = book.power else {
      return sessions.end(
        link, .inviteRefused, "this machine neither holds the account's key nor is it an administrator any more")
    }
    if let usedBy = issued[index].usedBy, usedBy != claim.request.device {
      return sessions.end(
        link, .inviteRefused,
        "the invite was used already: each lets in one device; make a new one with mesh device invite")
    }
    if let known = account.certificate(claim.request.device), known.request == claim.request {
      return sessions.send(link, .admitted(known))
    }
    guard account.revocations[claim.request.device] == nil, account.hasRoom else {
      return sessions.end(
        link, .inviteRefused,
        "the account revoked this device, or has \(Limits.liveDevices) devices: revoke one with mesh device revoke")
    }
    guard account.hasRoom(under: power.authority) else {
      return sessions.end(link, .inviteRefused, AccountPower.isUsedUp)
    }
    let certificate = Certificate(
      account: account.id, authority: power.authority, request: claim.request, serial: randomness.bytes(16),
      issued: now.wall, sign: power.sign)
    issued[index].usedBy = claim.request.device
    try vault.saveDeviceInvites(issued)
    var grown = account
    grown.insert(certificate, cryptography)
    try book.replace(grown)
    sessions.send(link, .admitted(certificate))
    try changes.accountChanged(account.id, now: now)
    outbox.log(.info, "linked \(printable(claim.request.name)) (\(certificate.device))")
  }
}
