/// Who claims an invite: an account and one of its devices. The invite's secret and the device sign it, and it brings all that
/// is needed to verify it, so nobody is let in who did not ask, or by anybody without the secret.
public struct ShareClaim: Hashable, Sendable {
  public let invite: ControlID
  /// Of the invite.
  public let publicHalf: [UInt8]
  public let genesis: AccountGenesis
  public let certificate: Certificate
  public let byInvite: [UInt8]
  public let byDevice: [UInt8]

  public var account: AccountID { certificate.account }

  public init(
    _ invite: ControlID, zone: ZoneID, genesis: AccountGenesis, certificate: Certificate, seed: [UInt8],
    secrets: any DeviceSecrets, _ cryptography: any Cryptography
  ) {
    self.invite = invite
    self.genesis = genesis
    self.certificate = certificate
    publicHalf = cryptography.publicKey(seed: seed)
    let claimed = Self.claimed(invite, zone, certificate, cryptography)
    byInvite = cryptography.sign(claimed, seed: seed)
    byDevice = secrets.sign(claimed)
  }

  private static func claimed(
    _ invite: ControlID, _ zone: ZoneID, _ certificate: Certificate, _ cryptography: any Cryptography
  ) -> [UInt8] {
    var writer = ByteWriter()
    certificate.write(to: &writer)
    return signedBytes(.claim, invite.bytes + zone.bytes + cryptography.hash(writer.bytes))
  }

  /// Whether the account certified the device, and it and the invite's secret signed the claim for the zone.
  public func isSound(zone: ZoneID, _ cryptography: any Cryptography) -> Bool {
    let claimed = Self.claimed(invite, zone, certificate, cryptography)
    return state(cryptography) != nil && cryptography.verify(byInvite, of: claimed, by: publicHalf)
      && cryptography.verify(byDevice, of: claimed, by: certificate.device.bytes)
  }

  /// The account as far as the claim tells; nil where the account did not certify the device.
  public func state(_ cryptography: any Cryptography) -> AccountState? {
    guard var state = AccountState(genesis, cryptography), state.insert(certificate, cryptography) else { return nil }
    return state
  }

  func write(to writer: inout ByteWriter) {
    invite.write(to: &writer)
    writer.raw(publicHalf)
    genesis.write(to: &writer)
    certificate.write(to: &writer)
    writer.raw(byInvite)
    writer.raw(byDevice)
  }

  init(from reader: inout ByteReader) throws(DecodingError) {
    invite = try ControlID(from: &reader)
    publicHalf = try reader.raw(32)
    genesis = try AccountGenesis(from: &reader)
    certificate = try Certificate(from: &reader)
    byInvite = try reader.raw(64)
    byDevice = try reader.raw(64)
  }
}
