import MeshCore

/// A private key that signs an account's statements.
package struct AccountSigner: Sendable {
  /// The Ed25519 public key, 32 bytes.
  package let publicKey: [UInt8]
  package let sign: @Sendable ([UInt8]) -> [UInt8]

  package init(publicKey: [UInt8], sign: @escaping @Sendable ([UInt8]) -> [UInt8]) {
    self.publicKey = publicKey
    self.sign = sign
  }
}

/// The statements that a device may sign for its account: none, those of an administrator, or all.
struct AccountPower {
  let authority: Authority
  let sign: @Sendable ([UInt8]) -> [UInt8]

  /// Creates the power of a device, or returns nil if the device may sign nothing.
  ///
  /// - Parameters:
  ///   - signer: The account's key, if this machine holds one. A key that was replaced counts for nothing.
  ///   - secrets: The device's own secrets, which sign as an administrator.
  init?(_ account: AccountState, _ device: DeviceID, signer: AccountSigner?, secrets: any DeviceSecrets) {
    if let signer, signer.publicKey == account.signingKey {
      (authority, sign) = (account.keyAuthority, signer.sign)
    } else if let administrator = account.administratorAuthority(device) {
      (authority, sign) = (administrator, { secrets.sign($0) })
    } else {
      return nil
    }
  }

  var isKey: Bool { authority.promotion == nil }

  static let isUsedUp =
    "this administrator has signed for \(Limits.administratorSignatures) devices, as many as one promotion is good for: on the "
    + "machine that holds the account's key, run mesh device demote and mesh device promote"

  /// Returns the same certificate, signed with this power.
  func confirm(_ certificate: Certificate) -> Certificate {
    Certificate(
      account: certificate.account, authority: authority, request: certificate.request, serial: certificate.serial,
      issued: certificate.issued, sign: sign)
  }

  /// Signs certificates and revocations again whose signers no longer count, or are about to stop counting.
  ///
  /// Certificates and revocations that count in `known` remain valid because of this power. Nothing else that those
  /// signers signed remains valid.
  ///
  /// - Parameters:
  ///   - known: The account as it was while the signers counted.
  ///   - readmitted: Devices whose revocations are not signed again.
  func confirm(
    _ known: AccountState, in account: inout AccountState, readmitted: Set<DeviceID> = [],
    _ cryptography: any Cryptography, where signer: (Authority) -> Bool
  ) {
    for (device, revocation) in known.revocations.sorted(by: { $0.key < $1.key })
    where signer(revocation.authority) && !readmitted.contains(device) {
      account.insert(Revocation(revocation, authority: authority, sign: sign), cryptography)
    }
    for (_, certificate) in known.certificates.sorted(by: { $0.key < $1.key })
    where signer(certificate.authority) && known.counts(certificate.authority) {
      account.insert(confirm(certificate), cryptography)
    }
  }
}
