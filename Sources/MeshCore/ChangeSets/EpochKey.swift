/// The symmetric key of one epoch of a zone. It has 32 bytes, and the keys of bodies and nonces are derived from it.
package struct EpochKey: Sendable {
  /// The secret: 32 bytes.
  package let bytes: [UInt8]

  /// Creates a key. Returns nil unless there are exactly 32 bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Returns BLAKE2b-256(`mesh/1/commit` ‖ key). It is checked whenever a key arrives, because the cipher doesn't
  /// commit to its key.
  package func commitment(_ cryptography: any Cryptography) -> [UInt8] {
    cryptography.hash(Array("mesh/1/commit".utf8) + bytes)
  }

  func body(_ cryptography: any Cryptography) -> [UInt8] {
    cryptography.hash(Array("mesh/1/body".utf8), count: 32, key: bytes)
  }

  /// Derives the nonce from the encrypted content and never from (author, number), because restored backups repeat
  /// numbers.
  func nonce(header: [UInt8], plaintext: [UInt8], _ cryptography: any Cryptography) -> [UInt8] {
    let subkey = cryptography.hash(Array("mesh/1/nonce".utf8), count: 32, key: bytes)
    return cryptography.hash(header + plaintext, count: ChangeSet.nonceSize, key: subkey)
  }
}
