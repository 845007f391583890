/// The content of a device invite, which `mesh device invite` prints: a secret that lets one more device into an
/// account, and addresses to dial.
package struct DeviceInviteContent: Hashable, Sendable {
  /// The seed of the invite's Ed25519 key: 32 bytes.
  package let seed: [UInt8]
  /// The account that the device joins. The joining device accepts no other.
  package let account: AccountID
  /// When the invite expires, in milliseconds since 1970.
  package let expires: Int64
  /// Texts of the form `HOST:PORT`. More than `Limits.inviteAddresses`, and those longer than `Limits.name` bytes, are
  /// left out.
  package let addresses: [String]

  package init(seed: [UInt8], account: AccountID, expires: Int64, addresses: [String]) {
    self.seed = seed
    self.account = account
    self.expires = expires
    self.addresses = InviteText.bounded(addresses)
  }

  /// The line that people copy: `mesh-device-` and base32 (see `InviteText`).
  package var text: String {
    InviteText.encode(.device) { writer in
      writer.raw(seed)
      account.write(to: &writer)
      writer.signedVarint(expires)
      writer.list(addresses) { $0.text($1) }
    }
  }

  /// Reads an invite that a person pasted.
  ///
  /// - Throws: A `InviteFault` that says what is wrong with the text, and how to get a valid one.
  package init(text: String) throws(InviteFault) {
    self = try InviteText.decode(text, .device) { (reader: inout ByteReader) throws(FormatError) in
      DeviceInviteContent(
        seed: try reader.raw(32), account: try AccountID(from: &reader), expires: try reader.signedVarint(),
        addresses: try InviteText.addresses(&reader))
    }
  }
}

/// A joining device's claim. Both the invite's secret and the device sign its content.
package struct DeviceClaim: Hashable, Sendable {
  /// The device's own request for a certificate.
  package let request: CertificateRequest
  /// The Ed25519 signature with the invite's secret, 64 bytes.
  package let byInvite: [UInt8]
  /// The Ed25519 signature with the device's key, 64 bytes.
  package let byDevice: [UInt8]

  /// Creates and signs a claim.
  ///
  /// - Parameter seed: The secret of the invite.
  package init(
    request: CertificateRequest, account: AccountID, seed: [UInt8], secrets: any DeviceSecrets,
    _ cryptography: any Cryptography
  ) {
    self.request = request
    let claimed = Self.claimed(request, account, publicHalf: cryptography.publicKey(seed: seed))
    byInvite = cryptography.sign(claimed, seed: seed)
    byDevice = secrets.sign(claimed)
  }

  private static func claimed(_ request: CertificateRequest, _ account: AccountID, publicHalf: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(publicHalf)
    account.write(to: &writer)
    request.write(to: &writer)
    return signedBytes(.claim, writer.bytes)
  }

  /// Returns whether the secret with this public half and the device both signed the claim for the account.
  package func isSigned(account: AccountID, publicHalf: [UInt8], _ cryptography: any Cryptography) -> Bool {
    let claimed = Self.claimed(request, account, publicHalf: publicHalf)
    return cryptography.verify(byInvite, of: claimed, by: publicHalf)
      && cryptography.verify(byDevice, of: claimed, by: request.device.bytes)
  }

  func write(to writer: inout ByteWriter) {
    request.write(to: &writer)
    writer.raw(byInvite)
    writer.raw(byDevice)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    request = try CertificateRequest(from: &reader)
    byInvite = try reader.raw(64)
    byDevice = try reader.raw(64)
  }
}
