import CSodium
import Dispatch
package import MeshCore

/// The cryptographic primitives of mesh, based on libsodium.
///
/// The caller guarantees the sizes. Keys, nonces and seeds that its own code creates have fixed lengths, and a wrong
/// length is a defect that stops the process. Data from a peer (signatures, ciphertexts, public keys) may have any
/// length, and the returned value refuses it.
package struct Sodium: Cryptography, Randomness {
  private let randomness: any Randomness

  /// Creates the primitives.
  ///
  /// - Parameter randomness: The source of ephemeral keys. The default is the operating system's generator.
  package init(randomness: any Randomness = SystemRandomness()) throws(CryptoError) {
    guard Self.isReady else {
      throw CryptoError(.unavailable, "libsodium could not start on this machine; no key is safe to use")
    }
    self.randomness = randomness
  }

  /// Whether libsodium runs. Its result is zero at the first start, one if it is already running, and negative if it
  /// can't start. Before the start, libsodium works with its portable implementations, at a third of the speed.
  static let isReady = sodium_init() >= 0

  package func bytes(_ count: Int) -> [UInt8] { randomness.bytes(count) }

  package func hash(_ message: [UInt8], count: Int, key: [UInt8]) -> [UInt8] {
    Blake2b.hash(message, count: count, key: key)
  }

  package func hashes(_ messages: [[UInt8]], count: Int, key: [UInt8]) -> [[UInt8]] {
    Self.parallel(messages, repeating: []) { Blake2b.hash($0, count: count, key: key) }
  }

  /// Returns the results of a function for several elements, computed on all cores.
  private static func parallel<Element: Sendable, Result: Sendable>(
    _ elements: [Element], repeating empty: Result, _ function: @Sendable (Element) -> Result
  ) -> [Result] {
    guard elements.count > 1 else { return elements.map(function) }
    var results = [Result](repeating: empty, count: elements.count)
    results.withUnsafeMutableBufferPointer { results in
      // Each iteration writes its own element.
      nonisolated(unsafe) let results = results
      DispatchQueue.concurrentPerform(iterations: elements.count) { results[$0] = function(elements[$0]) }
    }
    return results
  }

  package func hash128(_ message: UnsafeRawBufferPointer) -> (UInt64, UInt64) { Blake2b.hash128(message) }

  package func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    Ed25519.verify(signature, of: message, by: key)
  }

  package func verify(_ messages: [SignedMessage]) -> [Bool] {
    Self.parallel(messages, repeating: false) { Ed25519.verify($0.signature, of: $0.message, by: $0.key) }
  }

  package func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8] { Ed25519(seed: seed).sign(message) }

  package func publicKey(seed: [UInt8]) -> [UInt8] { Ed25519(seed: seed).publicKey }

  package func encrypt(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8] {
    XChaCha20Poly1305.encrypt(plaintext, key: key, nonce: nonce, associated: associated)
  }

  package func decrypt(_ ciphertext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]? {
    XChaCha20Poly1305.decrypt(ciphertext, key: key, nonce: nonce, associated: associated)
  }

  package func seal(_ secret: [UInt8], to recipient: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]? {
    SealedSecret.seal(secret, to: recipient, epoch: epoch, context: context, ephemeral: X25519(randomness: self))
  }
}

/// The operating system's generator.
package struct SystemRandomness: Randomness {
  package init() { _ = Sodium.isReady }

  package func bytes(_ count: Int) -> [UInt8] {
    [UInt8](count: count) { randombytes_buf($0, count) }
  }
}
