/// A change set as it is signed, sent and stored: header ‖ nonce ‖ ciphertext ‖ signature. Its bytes are the same on
/// every device.
package struct ChangeSet: Hashable, Sendable {
  /// The part that is signed and not encrypted.
  package let header: ChangeSetHeader
  /// BLAKE2b-256 of the header and of the hash of the encrypted body. The signature covers it, and the next change set
  /// names it.
  package let id: ChangeSetID
  /// The whole encoding.
  package let bytes: [UInt8]
  private let headerSize: Int
  private let bodyHash: [UInt8]

  static let nonceSize = 24
  static let tagSize = 16
  static let signatureSize = 64
  /// The greatest number of bytes that header, nonce, tag and signature take.
  package static let overhead = 32 + 40 + 32 + 8 + 32 + 4 * 10 + 2 + nonceSize + tagSize + signatureSize

  /// Parses without checking the signature. The `id` is computed.
  package init(_ bytes: [UInt8], with cryptography: any Cryptography) throws(FormatError) {
    guard bytes.count <= Limits.changeSet else { throw .limit("change set") }
    var reader = ByteReader(bytes)
    var bodySize = 0
    header = try ChangeSetHeader(from: &reader, bodySize: &bodySize)
    headerSize = reader.consumed
    guard bodySize >= Self.nonceSize + Self.tagSize else { throw .truncated }
    guard reader.remaining >= bodySize + Self.signatureSize else { throw .truncated }
    guard reader.remaining == bodySize + Self.signatureSize else { throw .trailing }
    bodyHash = cryptography.hash(Array(bytes[headerSize..<bytes.count - Self.signatureSize]))
    id = try Self.id(Array(bytes[..<headerSize]), bodyHash, cryptography)
    self.bytes = bytes
  }

  /// Returns the id. The body is hashed first, so that the header and that hash prove the signed content without the
  /// body.
  static func id(
    _ header: [UInt8], _ bodyHash: [UInt8], _ cryptography: any Cryptography
  ) throws(FormatError) -> ChangeSetID {
    guard let id = ChangeSetID(cryptography.hash(header + bodyHash)) else { throw .invalid("a hash of 32 bytes") }
    return id
  }

  /// The change set without its body.
  package var signedHeader: SignedHeader {
    SignedHeader(
      header: header, headerBytes: Array(bytes[..<headerSize]), bodyHash: bodyHash,
      signature: Array(bytes.suffix(Self.signatureSize)), id: id)
  }

  /// Creates a change set: encrypts the body, and signs.
  package init(
    _ header: ChangeSetHeader, body: [UInt8], key: EpochKey, secrets: any DeviceSecrets,
    with cryptography: any Cryptography
  ) throws(FormatError) {
    var writer = ByteWriter(capacity: body.count + Self.overhead)
    header.write(to: &writer, bodySize: Self.nonceSize + body.count + Self.tagSize)
    let head = writer.bytes
    let nonce = key.nonce(header: head, plaintext: body, cryptography)
    writer.raw(nonce)
    writer.raw(cryptography.encrypt(body, key: key.body(cryptography), nonce: nonce, associated: head))
    let bodyHash = cryptography.hash(Array(writer.bytes[head.count...]))
    let id = try Self.id(head, bodyHash, cryptography)
    writer.raw(secrets.sign(signedBytes(.changeSet, id.bytes)))
    guard writer.bytes.count <= Limits.changeSet else { throw .limit("change set") }
    self.header = header
    self.headerSize = head.count
    self.bodyHash = bodyHash
    self.id = id
    self.bytes = writer.bytes
  }

  /// Its signature, and what the author signed.
  package var signed: SignedMessage {
    SignedMessage(
      signedBytes(.changeSet, id.bytes), signature: Array(bytes.suffix(Self.signatureSize)),
      key: header.author.device.bytes)
  }

  /// Returns whether the author's device signed the change set.
  package func isSigned(with cryptography: any Cryptography) -> Bool { cryptography.verify([signed]) == [true] }

  /// Returns the decrypted body. Returns nil if it was encrypted with another key, or the nonce doesn't belong to this
  /// body.
  package func body(key: EpochKey, with cryptography: any Cryptography) -> [UInt8]? {
    let head = Array(bytes[..<headerSize])
    let nonce = Array(bytes[headerSize..<headerSize + Self.nonceSize])
    let ciphertext = Array(bytes[(headerSize + Self.nonceSize)..<(bytes.count - Self.signatureSize)])
    guard
      let body = cryptography.decrypt(ciphertext, key: key.body(cryptography), nonce: nonce, associated: head),
      key.nonce(header: head, plaintext: body, cryptography) == nonce
    else { return nil }
    return body
  }
}
