/// The keys and the salt that make up an account. The account's id is their hash.
package struct AccountGenesis: Hashable, Sendable {
  /// The version in the first byte of the encoding.
  package static let version: UInt8 = 1
  /// The Ed25519 public key that signs for the account.
  package let signingKey: [UInt8]
  /// The Ed25519 public key that can replace the signing key.
  package let recoveryKey: [UInt8]
  /// 16 random bytes.
  package let salt: [UInt8]

  /// Creates a genesis.
  ///
  /// - Parameters:
  ///   - signingKey: 32 bytes.
  ///   - recoveryKey: 32 bytes.
  ///   - salt: 16 bytes.
  package init(signingKey: [UInt8], recoveryKey: [UInt8], salt: [UInt8]) {
    self.signingKey = signingKey
    self.recoveryKey = recoveryKey
    self.salt = salt
  }

  /// Writes version · signing key · recovery key · salt.
  package func write(to writer: inout ByteWriter) {
    writer.byte(Self.version)
    writer.raw(signingKey)
    writer.raw(recoveryKey)
    writer.raw(salt)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    guard try reader.byte() == Self.version else { throw .unknown("account version") }
    signingKey = try reader.raw(32)
    recoveryKey = try reader.raw(32)
    salt = try reader.raw(16)
  }

  /// Returns the account's id: the BLAKE2b-256 hash of the encoding. Returns nil only if the hash doesn't have 32
  /// bytes.
  package func id(_ cryptography: any Cryptography) -> AccountID? {
    var writer = ByteWriter()
    write(to: &writer)
    return AccountID(cryptography.hash(writer.bytes))
  }
}

/// A device's request to be certified by an account. The device signs it, so no account can claim another's device.
package struct CertificateRequest: Hashable, Sendable {
  /// The device, by the key that signs the request.
  package let device: DeviceID
  /// X25519 public keys: one for Noise sessions, one for sealing.
  package let sessionKey: [UInt8]
  /// The X25519 public key to which keys of epochs are sealed, 32 bytes.
  package let sealingKey: [UInt8]
  /// At most `Limits.deviceName` bytes, no control characters.
  package let name: String
  /// The Ed25519 signature by the device, 64 bytes. It also covers the account.
  package let signature: [UInt8]

  /// Creates and signs a request. Returns nil if the device's signing key is not 32 bytes long.
  package init?(name: String, for account: AccountID, secrets: any DeviceSecrets) {
    guard let device = DeviceID(secrets.signingKey) else { return nil }
    self.device = device
    sessionKey = secrets.sessionKey
    sealingKey = secrets.sealingKey
    self.name = name
    signature = secrets.sign(Self.signed(account, device, sessionKey, sealingKey, name))
  }

  private static func signed(
    _ account: AccountID, _ device: DeviceID, _ sessionKey: [UInt8], _ sealingKey: [UInt8], _ name: String
  ) -> [UInt8] {
    signedBytes(.request, account.bytes + unsigned(device, sessionKey, sealingKey, name))
  }

  private static func unsigned(
    _ device: DeviceID, _ sessionKey: [UInt8], _ sealingKey: [UInt8], _ name: String
  ) -> [UInt8] {
    var writer = ByteWriter()
    device.write(to: &writer)
    writer.raw(sessionKey)
    writer.raw(sealingKey)
    writer.text(name)
    return writer.bytes
  }

  /// Returns whether the device asked this account for a certificate.
  package func isSigned(for account: AccountID, _ cryptography: any Cryptography) -> Bool {
    cryptography.verify(
      signature, of: Self.signed(account, device, sessionKey, sealingKey, name), by: device.bytes)
  }

  /// Writes device · session key · sealing key · name · signature. The account is not written.
  package func write(to writer: inout ByteWriter) {
    writer.raw(Self.unsigned(device, sessionKey, sealingKey, name))
    writer.raw(signature)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    device = try DeviceID(from: &reader)
    sessionKey = try reader.raw(32)
    sealingKey = try reader.raw(32)
    name = try reader.text(Limits.deviceName, "device name")
    guard name == printable(name) else { throw .invalid("a device name has no control characters") }
    signature = try reader.raw(64)
  }
}

/// An account's signed statement that a device belongs to it.
package struct Certificate: Hashable, Sendable {
  /// The account that the device belongs to.
  package let account: AccountID
  /// The key that signed: the account's key or an administrator's.
  package let authority: Authority
  /// The device's own request, which carries its keys and its name.
  package let request: CertificateRequest
  /// 16 random bytes. A revocation names the certificate by them.
  package let serial: [UInt8]
  /// When it was signed, in milliseconds since 1970.
  package let issued: Int64
  /// The Ed25519 signature by the key of `authority`, 64 bytes.
  package let signature: [UInt8]

  /// The device that is certified.
  package var device: DeviceID { request.device }

  /// - Parameter sign: Signs with the key that `authority` proves.
  package init(
    account: AccountID, authority: Authority = Authority(), request: CertificateRequest, serial: [UInt8],
    issued: Int64, sign: ([UInt8]) -> [UInt8]
  ) {
    self.account = account
    self.authority = authority
    self.request = request
    self.serial = serial
    self.issued = issued
    var writer = ByteWriter()
    Self.write(account, authority, request, serial, issued, to: &writer)
    signature = sign(signedBytes(.certificate, writer.bytes))
  }

  private static func write(
    _ account: AccountID, _ authority: Authority, _ request: CertificateRequest, _ serial: [UInt8], _ issued: Int64,
    to writer: inout ByteWriter
  ) {
    authority.writeVersion(account, to: &writer)
    request.write(to: &writer)
    writer.raw(serial)
    writer.signedVarint(issued)
  }

  private var unsigned: [UInt8] {
    var writer = ByteWriter()
    Self.write(account, authority, request, serial, issued, to: &writer)
    return writer.bytes
  }

  /// Returns whether the device asked the account for the certificate, and a key that could sign for the account signed
  /// it. `AccountState` decides whether that key still counts.
  package func isSigned(_ genesis: AccountGenesis, _ cryptography: any Cryptography) -> Bool {
    guard let key = authority.signingKey(genesis, cryptography) else { return false }
    return cryptography.verify(signature, of: signedBytes(.certificate, unsigned), by: key)
      && request.isSigned(for: account, cryptography)
  }

  /// Returns whether an account state keeps this certificate of a device instead of the other one. The certificate of
  /// the later key wins, then the one that the account's key signed itself, then the one with the smaller serial and
  /// signature.
  func outranks(_ other: Certificate, _ cryptography: any Cryptography) -> Bool {
    if let order = authority.precedes(other.authority, cryptography) { return order }
    return (serial + signature).lexicographicallyPrecedes(other.serial + other.signature)
  }

  /// Writes version · account · authority · request · serial · time · signature.
  package func write(to writer: inout ByteWriter) {
    writer.raw(unsigned)
    writer.raw(signature)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    (account, authority) = try Authority.readVersion(&reader, "certificate version")
    request = try CertificateRequest(from: &reader)
    serial = try reader.raw(16)
    issued = try reader.signedVarint()
    signature = try reader.raw(64)
  }
}

/// An account's signed statement that a certificate is permanently void.
package struct Revocation: Hashable, Sendable {
  /// The account that excludes the device.
  package let account: AccountID
  /// The key that signed: the account's key or an administrator's.
  package let authority: Authority
  /// The device that is excluded, whatever certificate it has.
  package let device: DeviceID
  /// The serial of the certificate that the revocation was made for, 16 bytes.
  package let serial: [UInt8]
  /// When it was signed, in milliseconds since 1970.
  package let issued: Int64
  /// The Ed25519 signature by the key of `authority`, 64 bytes.
  package let signature: [UInt8]

  /// - Parameter sign: Signs with the key that `authority` proves.
  package init(
    _ certificate: Certificate, authority: Authority = Authority(), issued: Int64, sign: ([UInt8]) -> [UInt8]
  ) {
    self.init(
      account: certificate.account, authority: authority, device: certificate.device, serial: certificate.serial,
      issued: issued, sign: sign)
  }

  /// Signs the same revocation under another authority. This keeps a revocation valid when its earlier authority no
  /// longer counts.
  package init(_ other: Revocation, authority: Authority, sign: ([UInt8]) -> [UInt8]) {
    self.init(
      account: other.account, authority: authority, device: other.device, serial: other.serial, issued: other.issued,
      sign: sign)
  }

  private init(
    account: AccountID, authority: Authority, device: DeviceID, serial: [UInt8], issued: Int64,
    sign: ([UInt8]) -> [UInt8]
  ) {
    self.account = account
    self.authority = authority
    self.device = device
    self.serial = serial
    self.issued = issued
    signature = sign(signedBytes(.revocation, Self.unsigned(account, authority, device, serial, issued)))
  }

  private static func unsigned(
    _ account: AccountID, _ authority: Authority, _ device: DeviceID, _ serial: [UInt8], _ issued: Int64
  ) -> [UInt8] {
    var writer = ByteWriter()
    authority.writeVersion(account, to: &writer)
    device.write(to: &writer)
    writer.raw(serial)
    writer.signedVarint(issued)
    return writer.bytes
  }

  /// Returns whether a key that could sign for the account signed it.
  package func isSigned(_ genesis: AccountGenesis, _ cryptography: any Cryptography) -> Bool {
    guard let key = authority.signingKey(genesis, cryptography) else { return false }
    return cryptography.verify(
      signature, of: signedBytes(.revocation, Self.unsigned(account, authority, device, serial, issued)), by: key)
  }

  /// Writes version · account · authority · device · serial · time · signature.
  package func write(to writer: inout ByteWriter) {
    writer.raw(Self.unsigned(account, authority, device, serial, issued))
    writer.raw(signature)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    (account, authority) = try Authority.readVersion(&reader, "revocation version")
    device = try DeviceID(from: &reader)
    serial = try reader.raw(16)
    issued = try reader.signedVarint()
    signature = try reader.raw(64)
  }
}
