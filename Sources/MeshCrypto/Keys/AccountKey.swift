public import MeshCore

/// The signing key of an account, which certifies its devices. It stays on the machine that made the account.
public struct AccountKey: Sendable {
  private let seed: Secret
  private let pair: Ed25519

  /// A new key. `randomness` is the operating system's generator outside of simulations.
  public init(randomness: any Randomness) {
    self.init(seed: randomness.bytes(Ed25519.seedSize))
  }

  /// The key from the bytes of a key file; throws `.keyFile` where they are not what `encoded` gave.
  public init(encoded: [UInt8]) throws(CryptoError) {
    self.init(seed: try KeyFile.account.decode(encoded))
  }

  /// The bytes of a key file, the seed in them: to be written where only this user can read.
  public var encoded: [UInt8] { KeyFile.account.encode(seed.bytes) }

  /// Ed25519 public key, 32 bytes.
  public var publicKey: [UInt8] { pair.publicKey }

  /// Ed25519 signature, 64 bytes.
  public func sign(_ message: [UInt8]) -> [UInt8] { pair.sign(message) }

  private init(seed: [UInt8]) {
    self.seed = Secret(seed)
    pair = Ed25519(seed: seed)
  }
}
