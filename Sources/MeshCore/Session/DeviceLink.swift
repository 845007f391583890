/// What `mesh device invite` prints: a secret that lets one more device into an account, and where to dial.
/// Text: `mesh-device-`, then base32 of the content and its CRC-32. Blanks around it and upper case are read too.
public struct DeviceLink: Hashable, Sendable {
  public static let prefix = "mesh-device-"

  /// 32 bytes; the Ed25519 key that it opens to is the link's.
  public let seed: [UInt8]
  public let account: AccountID
  /// Milliseconds since 1970.
  public let expires: Int64
  /// `HOST:PORT`, at most `Limits.linkAddresses`, each at most `Limits.name` bytes: more and longer ones are left out.
  public let addresses: [String]

  public init(seed: [UInt8], account: AccountID, expires: Int64, addresses: [String]) {
    self.seed = seed
    self.account = account
    self.expires = expires
    self.addresses = Array(addresses.filter { $0.utf8.count <= Limits.name }.prefix(Limits.linkAddresses))
  }

  public var text: String {
    var writer = ByteWriter()
    writer.byte(1)
    writer.raw(seed)
    account.write(to: &writer)
    writer.signedVarint(expires)
    writer.list(addresses) { $0.text($1) }
    let content = writer.bytes
    writer.uint32(checksum(content))
    return Self.prefix + Base32.encode(writer.bytes)
  }

  /// Why a text is not a device link; each says what to do about it.
  public enum Fault: Error, Equatable, Sendable, CustomStringConvertible {
    case notALink
    /// What it is instead, in words.
    case otherKind(String)
    case damaged
    case version(UInt8)
    case malformed

    public var description: String {
      switch self {
      case .notALink: "this is not a link: one begins with “mesh-device-” and is a single line"
      case .otherKind(let kind):
        "this is \(kind), not a link for a device: “mesh device invite” prints one, which begins with “mesh-device-”"
      case .damaged: "the link is damaged: a character was lost or changed on the way; copy the whole line again"
      case .version(let version): "the link is of version \(version), which this program does not know: update it"
      case .malformed: "the link's content is not what a device link holds: ask for a new one with “mesh device invite”"
      }
    }
  }

  public init(text: String) throws(Fault) {
    let text = trimmed(text).asciiLowercased
    guard text.hasPrefix(Self.prefix) else {
      if let kind = kind(ofDisplayed: text) { throw .otherKind(kind) }
      throw .notALink
    }
    guard let bytes = Base32.decode(text.dropFirst(Self.prefix.count)), bytes.count > 4 else { throw .damaged }
    let content = Array(bytes.dropLast(4))
    var writer = ByteWriter()
    writer.uint32(checksum(content))
    guard writer.bytes == Array(bytes.suffix(4)) else { throw .damaged }
    guard content.first == 1 else { throw .version(content.first ?? 0) }
    do {
      var reader = ByteReader(content[1...])
      seed = try reader.raw(32)
      account = try AccountID(from: &reader)
      expires = try reader.signedVarint()
      addresses = try reader.list(Limits.linkAddresses, "addresses") {
        (reader: inout ByteReader) throws(DecodingError) in
        try reader.text(Limits.name, "address")
      }
      try reader.end()
    } catch {
      throw .malformed
    }
  }
}

/// A joining device's claim: the link's secret and the device each sign what the claim is for.
public struct DeviceClaim: Hashable, Sendable {
  public let request: CertificateRequest
  public let byLink: [UInt8]
  public let byDevice: [UInt8]

  public init(
    request: CertificateRequest, account: AccountID, seed: [UInt8], secrets: any DeviceSecrets,
    _ cryptography: any Cryptography
  ) {
    self.request = request
    let claimed = Self.claimed(request, account, publicHalf: cryptography.publicKey(seed: seed))
    byLink = cryptography.sign(claimed, seed: seed)
    byDevice = secrets.sign(claimed)
  }

  private static func claimed(_ request: CertificateRequest, _ account: AccountID, publicHalf: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(publicHalf)
    account.write(to: &writer)
    request.write(to: &writer)
    return signedBytes(.claim, writer.bytes)
  }

  public func isSigned(account: AccountID, publicHalf: [UInt8], _ cryptography: any Cryptography) -> Bool {
    let claimed = Self.claimed(request, account, publicHalf: publicHalf)
    return cryptography.verify(byLink, of: claimed, by: publicHalf)
      && cryptography.verify(byDevice, of: claimed, by: request.device.bytes)
  }

  func write(to writer: inout ByteWriter) {
    request.write(to: &writer)
    writer.raw(byLink)
    writer.raw(byDevice)
  }

  init(from reader: inout ByteReader) throws(DecodingError) {
    request = try CertificateRequest(from: &reader)
    byLink = try reader.raw(64)
    byDevice = try reader.raw(64)
  }
}
