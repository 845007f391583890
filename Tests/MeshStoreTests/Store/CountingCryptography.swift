import MeshCore

/// Counts what is decrypted.
final class CountingCryptography: Cryptography, @unchecked Sendable {
  private let base: any Cryptography
  /// Of one test, on one thread.
  private(set) var decryptions = 0

  init(base: any Cryptography) { self.base = base }

  func hash(_ message: [UInt8], count: Int, key: [UInt8]) -> [UInt8] { base.hash(message, count: count, key: key) }
  func hashes(_ messages: [[UInt8]], count: Int, key: [UInt8]) -> [[UInt8]] {
    base.hashes(messages, count: count, key: key)
  }
  func hash128(_ message: UnsafeRawBufferPointer) -> (UInt64, UInt64) { base.hash128(message) }
  func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    base.verify(signature, of: message, by: key)
  }
  func encrypt(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8] {
    base.encrypt(plaintext, key: key, nonce: nonce, associated: associated)
  }
  func decrypt(_ ciphertext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]? {
    decryptions += 1
    return base.decrypt(ciphertext, key: key, nonce: nonce, associated: associated)
  }
  func seal(_ secret: [UInt8], to recipient: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]? {
    base.seal(secret, to: recipient, epoch: epoch, context: context)
  }
  func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8] { base.sign(message, seed: seed) }
  func publicKey(seed: [UInt8]) -> [UInt8] { base.publicKey(seed: seed) }
}
