package import MeshCore

/// The signing key of an account, which certifies its devices. It stays on the machine that created the account.
package struct AccountKey: Sendable {
  private let seed: Secret
  private let pair: Ed25519

  /// Creates a new key. Outside of simulations, `randomness` is the operating system's generator.
  package init(randomness: any Randomness) {
    self.init(seed: randomness.bytes(Ed25519.seedSize))
  }

  /// Reads the key from the bytes of a key file. Throws `.keyFile` if they don't come from `encoded`.
  package init(encoded: [UInt8]) throws(CryptoError) {
    self.init(seed: try KeyFile.account.decode(encoded))
  }

  /// The bytes of a key file, including the seed. Write them only to a place that only this user can read.
  package var encoded: [UInt8] { KeyFile.account.encode(seed.bytes) }

  /// The Ed25519 public key, 32 bytes.
  package var publicKey: [UInt8] { pair.publicKey }

  /// Returns the Ed25519 signature of a message, 64 bytes.
  package func sign(_ message: [UInt8]) -> [UInt8] { pair.sign(message) }

  private init(seed: [UInt8]) {
    self.seed = Secret(seed)
    pair = Ed25519(seed: seed)
  }
}
