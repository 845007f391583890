import CSodium
import MeshCore

/// A key pair for agreements (RFC 7748).
struct X25519: Sendable {
  static let size = 32

  let publicKey: [UInt8]
  private let scalar: Secret

  init(secret: [UInt8]) {
    precondition(secret.count == Self.size, "an X25519 secret has 32 bytes")
    var publicKey = [UInt8](repeating: 0, count: Self.size)
    _ = crypto_scalarmult_base(&publicKey, secret)
    self.publicKey = publicKey
    self.scalar = Secret(secret)
  }

  init(randomness: any Randomness) { self.init(secret: randomness.bytes(Self.size)) }

  /// Returns the shared secret. Returns nil if it would be all zero, because the peer's key has small order, or if the
  /// key is not 32 bytes.
  func agree(with peer: [UInt8]) -> [UInt8]? {
    guard peer.count == Self.size else { return nil }
    var shared = [UInt8](repeating: 0, count: Self.size)
    guard crypto_scalarmult(&shared, scalar.bytes, peer) == 0 else { return nil }
    return shared
  }
}
