import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Devices that claim an invite to the account of node 0.
@Suite struct DeviceInviteTests {
  private let mesh: TestMesh
  private let invite: DeviceInviteContent

  init() throws {
    mesh = try TestMesh(1)
    invite = try mesh.nodes[0].replica.devices.issueInvite(
      expires: mesh.now.wall + 60_000, addresses: [], now: mesh.now)
  }

  private func keys(_ seed: UInt64) -> DeviceKeys { DeviceKeys(randomness: SeededRandomness(seed: seed)) }

  /// Claims the invite for a device.
  ///
  /// - Parameter session: The device whose session it is, if that is another one.
  /// - Returns: The certificate, or the code with which the node ended the session.
  private func claim(_ keys: DeviceKeys, in session: DeviceKeys? = nil) throws -> (Certificate?, Message.Goodbye?) {
    let (wire, info) = try mesh.open(0, peer: (session ?? keys).sessionKey)
    var hello = mesh.hello(keys, nil, info, to: 0)
    hello.proof = InviteProof(seed: invite.seed, handshakeHash: info.handshakeHash, mesh.cryptography)
    hello.signature = []
    try mesh.give(.hello(hello), to: 0, wire)
    let account = mesh.account.state.id
    let request = try #require(CertificateRequest(name: "device", for: account, secrets: keys))
    let claim = DeviceClaim(
      request: request, account: account, seed: invite.seed, secrets: keys, mesh.cryptography)
    try mesh.give(.claim(claim), to: 0, wire)
    for case .admitted(let certificate) in mesh.nodes[0].sent[wire] ?? [] { return (certificate, nil) }
    return (nil, mesh.goodbye(0, wire))
  }

  @Test("an invite lets in one device, and that again") func oneDevice() throws {
    let first = try claim(keys(51)).0
    let other = try claim(keys(52))
    let again = try claim(keys(51)).0
    #expect(first != nil && again == first)
    #expect(other.0 == nil && other.1 == .inviteRefused)
  }

  @Test("a revoked device doesn't come back by the invite that let it in") func revokedDevice() throws {
    let certificate = try #require(try claim(keys(51)).0)
    try mesh.nodes[0].replica.administration.revoke(certificate.device, now: mesh.now)
    try mesh.pump()
    let again = try claim(keys(51))
    #expect(again.0 == nil && again.1 == .inviteRefused)
    #expect(mesh.nodes[0].replica.account.certificate(certificate.device) == nil)
  }

  @Test("a device claims an invite in its own session alone") func sessionOfAnother() throws {
    let answer = try claim(keys(51), in: keys(52))
    #expect(answer.0 == nil && answer.1 == .protocolViolation)
    #expect(mesh.nodes[0].replica.account == mesh.account.state)
  }
}
