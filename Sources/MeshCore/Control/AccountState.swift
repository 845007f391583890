/// An account as its devices and peers know it: a set of certificates and revocations, which only grows. Two states of one
/// account merge by union; a revocation beats its certificate for ever.
public struct AccountState: Hashable, Sendable {
  public let genesis: AccountGenesis
  public let id: AccountID
  public private(set) var certificates: [DeviceID: Certificate] = [:]
  public private(set) var revocations: [DeviceID: Revocation] = [:]

  /// Nil only where the hash is not of 32 bytes.
  public init?(_ genesis: AccountGenesis, _ cryptography: any Cryptography) {
    guard let id = genesis.id(cryptography) else { return nil }
    self.genesis = genesis
    self.id = id
  }

  /// The live certificate of a device: certified and not revoked.
  public func certificate(_ device: DeviceID) -> Certificate? {
    revocations[device] == nil ? certificates[device] : nil
  }

  public func isRevoked(_ device: DeviceID) -> Bool { revocations[device] != nil }

  /// Whether the account may certify one more device. The limits bind the signer: a set that lacks revocations which are on their
  /// way may show more live devices than an account ever has.
  public var hasRoom: Bool {
    liveDevices.count < Limits.liveDevices && certificates.count < Limits.devicesEver
  }

  public var liveDevices: [DeviceID] { certificates.keys.filter { revocations[$0] == nil }.sorted() }

  /// Adds a certificate that the account signed. A device has one for its life; a second one for the same device loses to
  /// the one with the smaller serial and signature, so that the set's order of arrival does not matter.
  @discardableResult
  public mutating func insert(_ certificate: Certificate, _ cryptography: any Cryptography) -> Bool {
    guard certificate.account == id, certificate.keyGeneration == 0,
      certificate.isSigned(by: genesis.signingKey, cryptography)
    else { return false }
    if let known = certificates[certificate.device] {
      let rank = certificate.serial + certificate.signature
      guard rank.lexicographicallyPrecedes(known.serial + known.signature) else { return true }
    } else if certificates.count >= Limits.devicesEver {
      return false
    }
    certificates[certificate.device] = certificate
    return true
  }

  /// Adds a revocation that the account signed. It holds for the device, whichever certificate it names.
  @discardableResult
  public mutating func insert(_ revocation: Revocation, _ cryptography: any Cryptography) -> Bool {
    guard revocation.account == id, revocation.keyGeneration == 0,
      revocation.isSigned(by: genesis.signingKey, cryptography)
    else { return false }
    if let known = revocations[revocation.device] {
      guard revocation.signature.lexicographicallyPrecedes(known.signature) else { return true }
    } else if revocations.count >= Limits.devicesEver {
      return false
    }
    revocations[revocation.device] = revocation
    return true
  }

  /// The union with what a peer knows of the same account. False where something in it is not signed by the account, or is over `Limits.devicesEver`.
  @discardableResult
  public mutating func merge(_ other: AccountState, _ cryptography: any Cryptography) -> Bool {
    guard other.id == id else { return false }
    var isSound = true
    for certificate in other.certificates.values where certificates[certificate.device] != certificate {
      isSound = insert(certificate, cryptography) && isSound
    }
    for revocation in other.revocations.values where revocations[revocation.device] != revocation {
      isSound = insert(revocation, cryptography) && isSound
    }
    return isSound
  }

  /// Equal heads, equal states.
  public func head(_ cryptography: any Cryptography) -> [UInt8] { cryptography.hash(encoded) }

  public var encoded: [UInt8] {
    var writer = ByteWriter()
    write(to: &writer)
    return writer.bytes
  }

  public func write(to writer: inout ByteWriter) {
    genesis.write(to: &writer)
    writer.list(certificates.keys.sorted()) { writer, device in certificates[device]?.write(to: &writer) }
    writer.list(revocations.keys.sorted()) { writer, device in revocations[device]?.write(to: &writer) }
  }

  /// Verifies every signature: bytes from a peer or a file are believed only by them.
  public init(from reader: inout ByteReader, _ cryptography: any Cryptography) throws(DecodingError) {
    let genesis = try AccountGenesis(from: &reader)
    guard let empty = AccountState(genesis, cryptography) else { throw .invalid("a hash of 32 bytes") }
    self = empty
    var previous: DeviceID?
    for _ in 0..<(try reader.count(Limits.devicesEver, "certificates")) {
      let certificate = try Certificate(from: &reader)
      try reader.ascend(&previous, to: certificate.device, "certificates")
      guard insert(certificate, cryptography) else { throw .invalid("certificate signature") }
    }
    previous = nil
    for _ in 0..<(try reader.count(Limits.devicesEver, "revocations")) {
      let revocation = try Revocation(from: &reader)
      try reader.ascend(&previous, to: revocation.device, "revocations")
      guard insert(revocation, cryptography) else { throw .invalid("revocation signature") }
    }
  }
}
