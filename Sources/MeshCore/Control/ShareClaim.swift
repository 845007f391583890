/// An account's and its device's claim to an invite.
///
/// The invite's secret and the device both sign it, and it contains all data needed to verify it. Therefore nobody is
/// let in without asking, and nobody can let others in without the secret.
package struct ShareClaim: Hashable, Sendable {
  /// The id of the record that made the invite.
  package let invite: ControlID
  /// The public half of the invite's key.
  package let publicHalf: [UInt8]
  /// The keys of the account, from which its id is computed.
  package let genesis: AccountGenesis
  /// The account's certificate of the device.
  package let certificate: Certificate
  /// The Ed25519 signature with the invite's secret, 64 bytes.
  package let byInvite: [UInt8]
  /// The Ed25519 signature with the device's key, 64 bytes.
  package let byDevice: [UInt8]

  /// The account that asks to be let in.
  package var account: AccountID { certificate.account }

  /// Creates and signs a claim for the device that `secrets` belong to.
  ///
  /// - Parameter seed: The invite's secret.
  package init(
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

  /// Returns whether the account certified the device, and the device and the invite's secret signed the claim for the
  /// zone.
  package func isSound(zone: ZoneID, _ cryptography: any Cryptography) -> Bool {
    let claimed = Self.claimed(invite, zone, certificate, cryptography)
    return state(cryptography) != nil && cryptography.verify(byInvite, of: claimed, by: publicHalf)
      && cryptography.verify(byDevice, of: claimed, by: certificate.device.bytes)
  }

  /// Returns the account's state as far as the claim shows it, or nil if the account did not certify the device.
  package func state(_ cryptography: any Cryptography) -> AccountState? {
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

  init(from reader: inout ByteReader) throws(FormatError) {
    invite = try ControlID(from: &reader)
    publicHalf = try reader.raw(32)
    genesis = try AccountGenesis(from: &reader)
    certificate = try Certificate(from: &reader)
    byInvite = try reader.raw(64)
    byDevice = try reader.raw(64)
  }
}
