import CSodium

/// A signing key pair (RFC 8032), opened from its 32-byte seed.
struct Ed25519: Sendable {
  static let seedSize = 32
  static let publicKeySize = 32
  static let signatureSize = 64

  let publicKey: [UInt8]
  private let expanded: Secret

  init(seed: [UInt8]) {
    precondition(seed.count == Self.seedSize, "an Ed25519 seed has 32 bytes")
    var publicKey = [UInt8](repeating: 0, count: Self.publicKeySize)
    var expanded = [UInt8](repeating: 0, count: 64)
    _ = crypto_sign_seed_keypair(&publicKey, &expanded, seed)
    self.publicKey = publicKey
    self.expanded = Secret(expanded)
  }

  func sign(_ message: [UInt8]) -> [UInt8] {
    [UInt8](count: Self.signatureSize) {
      _ = crypto_sign_detached($0, nil, message, UInt64(message.count), expanded.bytes)
    }
  }

  /// Verifies a signature. libsodium refuses keys of small order and scalars that are not canonical.
  static func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    guard signature.count == signatureSize, key.count == publicKeySize else { return false }
    return crypto_sign_verify_detached(signature, message, UInt64(message.count), key) == 0
  }
}
