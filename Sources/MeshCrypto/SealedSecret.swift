/// The form in which a zone's key reaches one device: a 32-byte secret, encrypted under an agreement with a key pair
/// that is used once.
///
/// | field | bytes |
/// |---|---|
/// | ephemeral X25519 public key | 32 |
/// | XChaCha20-Poly1305 of the secret | 32 |
/// | its tag | 16 |
///
/// The encryption key is BLAKE2b-256(key: agreement; `mesh/1/seal` ‖ ephemeral ‖ recipient ‖ epoch id). It encrypts
/// only one message, so the nonce is zero. The associated data is the caller's context.
enum SealedSecret {
  static let secretSize = 32
  static let size = X25519.size + secretSize + XChaCha20Poly1305.tagSize

  private static let label = Array("mesh/1/seal".utf8)
  private static let nonce = [UInt8](repeating: 0, count: XChaCha20Poly1305.nonceSize)

  /// Seals a secret. Returns nil if the recipient's key has small order or is not 32 bytes.
  static func seal(
    _ secret: [UInt8], to recipient: [UInt8], epoch: [UInt8], context: [UInt8], ephemeral: X25519
  ) -> [UInt8]? {
    precondition(secret.count == secretSize, "a sealed secret has 32 bytes")
    guard let agreement = ephemeral.agree(with: recipient) else { return nil }
    let key = key(agreement, ephemeral: ephemeral.publicKey, recipient: recipient, epoch: epoch)
    return ephemeral.publicKey
      + XChaCha20Poly1305.encrypt(secret, key: key, nonce: nonce, associated: context)
  }

  /// Opens a sealed secret. Returns nil if it was altered, or not sealed to this recipient, epoch and context.
  static func open(_ sealed: [UInt8], by recipient: X25519, epoch: [UInt8], context: [UInt8]) -> [UInt8]? {
    guard sealed.count == size else { return nil }
    let ephemeral = Array(sealed.prefix(X25519.size))
    guard let agreement = recipient.agree(with: ephemeral) else { return nil }
    let key = key(agreement, ephemeral: ephemeral, recipient: recipient.publicKey, epoch: epoch)
    return XChaCha20Poly1305.decrypt(
      Array(sealed.dropFirst(X25519.size)), key: key, nonce: nonce, associated: context)
  }

  private static func key(
    _ agreement: [UInt8], ephemeral: [UInt8], recipient: [UInt8], epoch: [UInt8]
  ) -> [UInt8] {
    Blake2b.hash(label + ephemeral + recipient + epoch, count: XChaCha20Poly1305.keySize, key: agreement)
  }
}
