package import MeshCore

/// The private keys of one device: for signing (Ed25519), for sessions and for sealing (X25519). They leave this value
/// only as the bytes of a key file.
package struct DeviceKeys: DeviceSecrets {
  private let seeds: Secret
  private let signing: Ed25519
  private let sealing: X25519
  /// The static key of Noise sessions. Only the handshake uses it for agreements.
  let noiseStatic: X25519

  /// Creates new keys. Outside of simulations, `randomness` is the operating system's generator.
  package init(randomness: any Randomness) {
    self.init(seeds: randomness.bytes(Self.seedCount * Self.seedSize))
  }

  /// Reads keys from the bytes of a key file. Throws `.keyFile` if they don't come from `encoded`.
  package init(encoded: [UInt8]) throws(CryptoError) {
    self.init(seeds: try KeyFile.device.decode(encoded))
  }

  /// The bytes of a key file, including all three seeds. Write them only to a place that only this user can read.
  package var encoded: [UInt8] { KeyFile.device.encode(seeds.bytes) }

  package var signingKey: [UInt8] { signing.publicKey }
  package var sealingKey: [UInt8] { sealing.publicKey }
  package var sessionKey: [UInt8] { noiseStatic.publicKey }

  package func sign(_ message: [UInt8]) -> [UInt8] { signing.sign(message) }

  package func open(_ sealed: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]? {
    SealedSecret.open(sealed, by: sealing, epoch: epoch, context: context)
  }

  static let seedSize = 32
  static let seedCount = 3

  private init(seeds: [UInt8]) {
    // Sessions may be the first to need libsodium. Code that creates a `Sodium` is told if it fails.
    _ = Sodium.isReady
    func seed(_ index: Int) -> [UInt8] { Array(seeds[index * Self.seedSize..<(index + 1) * Self.seedSize]) }
    self.seeds = Secret(seeds)
    signing = Ed25519(seed: seed(0))
    noiseStatic = X25519(secret: seed(1))
    sealing = X25519(secret: seed(2))
  }
}
