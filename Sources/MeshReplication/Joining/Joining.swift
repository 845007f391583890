package import MeshCore

/// The dialler's side of joining an account with a device invite, as a value.
///
/// The steps are the hello with the invite's proof, the account's state, the claim, and the certificate. The other side
/// consumes nothing before the claim.
package struct Joining: Sendable {
  package enum Output: Sendable {
    case send(Message)
    /// The device is certified. The values are those that the new device keeps.
    case done(Certificate, AccountState)
    case refused(String)
  }

  private let invite: DeviceInviteContent
  private let request: CertificateRequest
  private let secrets: any DeviceSecrets
  private let cryptography: any Cryptography
  private let info: LinkInfo
  private var responder: Certificate?
  private var account: AccountState?

  package init(
    invite: DeviceInviteContent, request: CertificateRequest, info: LinkInfo, secrets: any DeviceSecrets,
    cryptography: any Cryptography
  ) {
    self.invite = invite
    self.request = request
    self.info = info
    self.secrets = secrets
    self.cryptography = cryptography
  }

  package func start() -> [Output] {
    let proof = InviteProof(seed: invite.seed, handshakeHash: info.handshakeHash, cryptography)
    return [.send(.hello(Hello(certificate: nil, accountHead: [UInt8](repeating: 0, count: 32), proof: proof)))]
  }

  package mutating func receive(_ message: Message) -> [Output] {
    switch message {
    case .hello(let hello):
      let binding = SessionBinding(
        signer: info.role.other, handshakeHash: info.handshakeHash, peerStatic: secrets.sessionKey)
      guard let certificate = hello.certificate, certificate.account == invite.account,
        certificate.request.sessionKey == info.remoteStatic, hello.isSigned(binding, cryptography)
      else { return [.refused("the node at \(info.address) is not a device of the account that made the invite")] }
      responder = certificate
      return []
    case .account(let bytes):
      return claim(bytes)
    case .admitted(let certificate):
      guard let account, certificate.request == request,
        certificate.isSigned(account.genesis, cryptography)
      else { return [.refused("the certificate that came is not the account's, or not for this device")] }
      var joined = account
      joined.insert(certificate, cryptography)
      return [.done(certificate, joined)]
    case .goodbye(_, let text):
      return [.refused(printable(text))]
    default:
      return []
    }
  }

  private mutating func claim(_ bytes: [UInt8]) -> [Output] {
    var reader = ByteReader(bytes)
    guard account == nil, let responder, let state = try? AccountState(from: &reader, cryptography),
      state.id == invite.account, state.certificate(responder.device) == responder
    else { return [.refused("the node at \(info.address) could not show that the account certified it")] }
    account = state
    return [
      .send(
        .claim(
          DeviceClaim(request: request, account: invite.account, seed: invite.seed, secrets: secrets, cryptography)))
    ]
  }
}
