/// The recovery key's signed statement that another key signs for the account from now on.
///
/// If there are several successors, the one with the highest generation counts. Among those, the one with the lowest
/// hash counts.
package struct Successor: Hashable, Sendable {
  /// The account whose key is replaced.
  package let account: AccountID
  /// The number of the key: 1 for the one that follows the genesis key. Each further successor adds 1, up to
  /// `Limits.keyGeneration`.
  package let generation: UInt64
  /// The Ed25519 public key that signs for the account.
  package let signingKey: [UInt8]
  /// When it was signed, in milliseconds since 1970.
  package let issued: Int64
  /// The Ed25519 signature by the recovery key, 64 bytes.
  package let signature: [UInt8]

  /// - Parameter sign: Signs with the recovery key.
  package init(
    account: AccountID, generation: UInt64, signingKey: [UInt8], issued: Int64, sign: ([UInt8]) -> [UInt8]
  ) {
    self.account = account
    self.generation = generation
    self.signingKey = signingKey
    self.issued = issued
    signature = sign(signedBytes(.successor, Self.unsigned(account, generation, signingKey, issued)))
  }

  private static func unsigned(
    _ account: AccountID, _ generation: UInt64, _ signingKey: [UInt8], _ issued: Int64
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(1)
    account.write(to: &writer)
    writer.varint(generation)
    writer.raw(signingKey)
    writer.signedVarint(issued)
    return writer.bytes
  }

  func isSigned(_ genesis: AccountGenesis, _ cryptography: any Cryptography) -> Bool {
    cryptography.verify(
      signature, of: signedBytes(.successor, Self.unsigned(account, generation, signingKey, issued)),
      by: genesis.recoveryKey)
  }

  /// Returns whether this successor counts rather than another one of the same account.
  func outranks(_ other: Successor, _ cryptography: any Cryptography) -> Bool {
    guard generation == other.generation else { return generation > other.generation }
    return cryptography.hash(encoded).lexicographicallyPrecedes(cryptography.hash(other.encoded))
  }

  private var encoded: [UInt8] { Self.unsigned(account, generation, signingKey, issued) + signature }

  /// Writes version · account · generation · signing key · time · signature.
  package func write(to writer: inout ByteWriter) { writer.raw(encoded) }

  package init(from reader: inout ByteReader) throws(FormatError) {
    guard try reader.byte() == 1 else { throw .unknown("successor version") }
    account = try AccountID(from: &reader)
    generation = try reader.varint()
    guard 1...Limits.keyGeneration ~= generation else { throw .invalid("a key generation of a successor") }
    signingKey = try reader.raw(32)
    issued = try reader.signedVarint()
    signature = try reader.raw(64)
  }
}

/// An account's signed statement that one of its devices is an administrator. An administrator certifies and revokes
/// ordinary devices.
package struct Promotion: Hashable, Sendable {
  /// The account that promotes.
  package let account: AccountID
  /// The generation of the account key that signed. The promotion counts only while that key does.
  package let generation: UInt64
  /// The device that becomes an administrator.
  package let device: DeviceID
  /// 16 random bytes. A demotion names the promotion by them.
  package let serial: [UInt8]
  /// When it was signed, in milliseconds since 1970.
  package let issued: Int64
  /// The Ed25519 signature by the account's key, 64 bytes.
  package let signature: [UInt8]

  /// - Parameter sign: Signs with the account's key.
  package init(
    account: AccountID, generation: UInt64, device: DeviceID, serial: [UInt8], issued: Int64,
    sign: ([UInt8]) -> [UInt8]
  ) {
    self.account = account
    self.generation = generation
    self.device = device
    self.serial = serial
    self.issued = issued
    signature = sign(signedBytes(.promotion, Self.unsigned(account, generation, device, serial, issued)))
  }

  private static func unsigned(
    _ account: AccountID, _ generation: UInt64, _ device: DeviceID, _ serial: [UInt8], _ issued: Int64
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(1)
    account.write(to: &writer)
    writer.varint(generation)
    device.write(to: &writer)
    writer.raw(serial)
    writer.signedVarint(issued)
    return writer.bytes
  }

  func isSigned(by signingKey: [UInt8], _ cryptography: any Cryptography) -> Bool {
    cryptography.verify(
      signature, of: signedBytes(.promotion, Self.unsigned(account, generation, device, serial, issued)),
      by: signingKey)
  }

  /// Writes version · account · generation · device · serial · time · signature.
  package func write(to writer: inout ByteWriter) {
    writer.raw(Self.unsigned(account, generation, device, serial, issued))
    writer.raw(signature)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    guard try reader.byte() == 1 else { throw .unknown("promotion version") }
    account = try AccountID(from: &reader)
    generation = try reader.varint()
    guard generation <= Limits.keyGeneration else { throw .invalid("a key generation") }
    device = try DeviceID(from: &reader)
    serial = try reader.raw(16)
    issued = try reader.signedVarint()
    signature = try reader.raw(64)
  }
}

/// An account's signed statement that a promotion is permanently void.
package struct Demotion: Hashable, Sendable {
  /// The account that demotes.
  package let account: AccountID
  /// The generation of the account key that signed.
  package let generation: UInt64
  /// The serial of the promotion.
  package let serial: [UInt8]
  /// When it was signed, in milliseconds since 1970.
  package let issued: Int64
  /// The Ed25519 signature by the account's key, 64 bytes.
  package let signature: [UInt8]

  /// - Parameter sign: Signs with the account's key.
  package init(_ promotion: Promotion, issued: Int64, sign: ([UInt8]) -> [UInt8]) {
    account = promotion.account
    generation = promotion.generation
    serial = promotion.serial
    self.issued = issued
    signature = sign(signedBytes(.demotion, Self.unsigned(account, generation, serial, issued)))
  }

  private static func unsigned(
    _ account: AccountID, _ generation: UInt64, _ serial: [UInt8], _ issued: Int64
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(1)
    account.write(to: &writer)
    writer.varint(generation)
    writer.raw(serial)
    writer.signedVarint(issued)
    return writer.bytes
  }

  func isSigned(by signingKey: [UInt8], _ cryptography: any Cryptography) -> Bool {
    cryptography.verify(
      signature, of: signedBytes(.demotion, Self.unsigned(account, generation, serial, issued)), by: signingKey)
  }

  /// Writes version · account · generation · serial · time · signature.
  package func write(to writer: inout ByteWriter) {
    writer.raw(Self.unsigned(account, generation, serial, issued))
    writer.raw(signature)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    guard try reader.byte() == 1 else { throw .unknown("demotion version") }
    account = try AccountID(from: &reader)
    generation = try reader.varint()
    guard generation <= Limits.keyGeneration else { throw .invalid("a key generation") }
    serial = try reader.raw(16)
    issued = try reader.signedVarint()
    signature = try reader.raw(64)
  }
}

/// The proof that a key may sign for an account.
///
/// It is empty for the genesis key, has a successor for a later account key, and a promotion for an administrator's
/// key. It travels with the signed statement, so anybody can check it from the genesis alone.
package struct Authority: Hashable, Sendable {
  /// The statement that names the account's key, or nil for the genesis key.
  package let successor: Successor?
  /// The statement that names the administrator, or nil if the account's key signs.
  package let promotion: Promotion?

  package init(successor: Successor? = nil, promotion: Promotion? = nil) {
    self.successor = successor
    self.promotion = promotion
  }

  /// The generation of the account key that the proof starts from, 0 for the genesis key.
  package var generation: UInt64 { successor?.generation ?? 0 }
  /// The administrator that signs, or nil if the account's key signs.
  package var administrator: DeviceID? { promotion?.device }

  /// Returns the key that signs, or nil if the successor or the promotion is not valid.
  package func signingKey(_ genesis: AccountGenesis, _ cryptography: any Cryptography) -> [UInt8]? {
    guard let account = genesis.id(cryptography) else { return nil }
    if let successor {
      guard successor.account == account, successor.isSigned(genesis, cryptography) else { return nil }
    }
    let key = successor?.signingKey ?? genesis.signingKey
    guard let promotion else { return key }
    guard promotion.account == account, promotion.generation == generation, promotion.isSigned(by: key, cryptography)
    else { return nil }
    return promotion.device.bytes
  }

  /// Returns whether this authority takes precedence over the other one. The later key comes first, then the account's
  /// key before an administrator's. Returns nil if neither takes precedence.
  func precedes(_ other: Authority, _ cryptography: any Cryptography) -> Bool? {
    if successor != other.successor {
      guard let successor else { return false }
      guard let theirs = other.successor else { return true }
      return successor.outranks(theirs, cryptography)
    }
    guard (promotion == nil) != (other.promotion == nil) else { return nil }
    return promotion == nil
  }

  // MARK: Coding

  /// Writes the beginning of a certificate or revocation. If the genesis key signs, it is version 1, the account and a
  /// zero. Otherwise it is version 2, the account and the authority.
  func writeVersion(_ account: AccountID, to writer: inout ByteWriter) {
    let isGenesis = successor == nil && promotion == nil
    writer.byte(isGenesis ? 1 : 2)
    account.write(to: &writer)
    if isGenesis { writer.varint(UInt64(0)) } else { write(to: &writer) }
  }

  static func readVersion(
    _ reader: inout ByteReader, _ name: String
  ) throws(FormatError) -> (AccountID, Authority) {
    let version = try reader.byte()
    guard version == 1 || version == 2 else { throw .unknown(name) }
    let account = try AccountID(from: &reader)
    if version == 2 { return (account, try Authority(from: &reader)) }
    guard try reader.varint() == 0 else { throw .invalid("the key generation of a signature by the first key") }
    return (account, Authority())
  }

  private static let withSuccessor: UInt8 = 1
  private static let withPromotion: UInt8 = 2

  /// Writes a byte that says which parts follow, then the successor and the promotion.
  package func write(to writer: inout ByteWriter) {
    writer.byte((successor == nil ? 0 : Self.withSuccessor) | (promotion == nil ? 0 : Self.withPromotion))
    successor?.write(to: &writer)
    promotion?.write(to: &writer)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    let parts = try reader.byte()
    guard 1...(Self.withSuccessor | Self.withPromotion) ~= parts else { throw .unknown("authority") }
    successor = parts & Self.withSuccessor == 0 ? nil : try Successor(from: &reader)
    promotion = parts & Self.withPromotion == 0 ? nil : try Promotion(from: &reader)
  }
}
