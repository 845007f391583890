/// The chaining key, the hash of all messages so far, and the current cipher, as in section 5.2 of the Noise
/// specification.
struct SymmetricState: Sendable {
  private var chainingKey: Secret
  private(set) var hash: [UInt8]
  private var cipher: CipherState?

  /// Creates the state. The name must not be longer than a hash, and is padded with zeros.
  init(protocolName: String) {
    let name = Array(protocolName.utf8)
    hash = name + [UInt8](repeating: 0, count: Blake2b.longest - name.count)
    chainingKey = Secret(hash)
  }

  mutating func mixHash(_ data: [UInt8]) { hash = Blake2b.hash(hash + data) }

  mutating func mixKey(_ input: [UInt8]) {
    let (next, key) = Blake2b.hkdf(chainingKey: chainingKey.bytes, input: input)
    chainingKey = Secret(next)
    cipher = CipherState(key: Array(key.prefix(CipherState.keySize)))
  }

  /// Encrypts the plaintext, or returns it unchanged while there is no key.
  mutating func encryptAndHash(_ plaintext: [UInt8]) throws(CryptoError) -> [UInt8] {
    let ciphertext = try cipher?.encrypt(plaintext, associated: hash) ?? plaintext
    mixHash(ciphertext)
    return ciphertext
  }

  mutating func decryptAndHash(_ ciphertext: [UInt8]) throws(CryptoError) -> [UInt8] {
    let plaintext = try cipher?.decrypt(ciphertext, associated: hash) ?? ciphertext
    mixHash(ciphertext)
    return plaintext
  }

  /// Returns the ciphers from the initiator to the responder, and back.
  func split() -> (CipherState, CipherState) {
    let (first, second) = Blake2b.hkdf(chainingKey: chainingKey.bytes, input: [])
    return (
      CipherState(key: Array(first.prefix(CipherState.keySize))),
      CipherState(key: Array(second.prefix(CipherState.keySize)))
    )
  }
}
