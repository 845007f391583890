/// A change set without its body. It is enough to prove that the author signed the change set, and small enough to be
/// sent to all devices.
package struct SignedHeader: Hashable, Sendable {
  /// The header, which names zone, author and number.
  package let header: ChangeSetHeader
  private let headerBytes: [UInt8]
  /// BLAKE2b-256 of nonce, ciphertext and tag.
  private let bodyHash: [UInt8]
  private let signature: [UInt8]
  /// The id of the whole change set.
  package let id: ChangeSetID

  init(header: ChangeSetHeader, headerBytes: [UInt8], bodyHash: [UInt8], signature: [UInt8], id: ChangeSetID) {
    self.header = header
    self.headerBytes = headerBytes
    self.bodyHash = bodyHash
    self.signature = signature
    self.id = id
  }

  /// Returns whether the author's device signed the change set that has this header.
  package func isSigned(_ cryptography: any Cryptography) -> Bool {
    cryptography.verify(signature, of: signedBytes(.changeSet, id.bytes), by: header.author.device.bytes)
  }

  /// Writes header · hash of the body · signature.
  package func write(to writer: inout ByteWriter) {
    writer.raw(headerBytes)
    writer.raw(bodyHash)
    writer.raw(signature)
  }

  /// Parses without checking the signature. The `id` is computed.
  package init(from reader: inout ByteReader, _ cryptography: any Cryptography) throws(FormatError) {
    var bodySize = 0
    header = try ChangeSetHeader(from: &reader, bodySize: &bodySize)
    var writer = ByteWriter()
    header.write(to: &writer, bodySize: bodySize)
    headerBytes = writer.bytes
    bodyHash = try reader.raw(32)
    signature = try reader.raw(ChangeSet.signatureSize)
    id = try ChangeSet.id(headerBytes, bodyHash, cryptography)
  }
}
